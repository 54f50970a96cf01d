"""A primitive of one's own, with all its rules, under every transform."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

multiply_add_p = Primitive("tutorial_multiply_add")


def multiply_add(x, y, z):
    return multiply_add_p.bind(x, y, z)


multiply_add_p.def_impl(lambda x, y, z: np.add(np.multiply(x, y), z))
multiply_add_p.def_abstract_eval(lambda x, y, z: jax.core.ShapedArray(x.shape, x.dtype))
mlir.register_lowering(
    multiply_add_p, mlir.lower_fun(lambda x, y, z: x * y + z, multiple_results=False)
)


def push(primals, tangents):
    x, y, z = primals
    x_t, y_t, z_t = (ad.instantiate_zeros(t) for t in tangents)
    return multiply_add(x, y, z), multiply_add(x_t, y, multiply_add(x, y_t, z_t))


def pull(ct, x, y, z):
    assert ad.is_undefined_primal(x) or ad.is_undefined_primal(y) or ad.is_undefined_primal(z)
    x_ct = multiply_add(ct, y, jnp.zeros_like(ct)) if ad.is_undefined_primal(x) else None
    y_ct = multiply_add(x, ct, jnp.zeros_like(ct)) if ad.is_undefined_primal(y) else None
    return x_ct, y_ct, ct if ad.is_undefined_primal(z) else None


def batch(args, axes):
    size = next(a.shape[d] for a, d in zip(args, axes) if d is not None)
    full = [
        jnp.broadcast_to(a, (size, *jnp.shape(a))) if d is None else jnp.moveaxis(a, d, 0)
        for a, d in zip(args, axes)
    ]
    return multiply_add(*full), 0


ad.primitive_jvps[multiply_add_p] = push
ad.primitive_transposes[multiply_add_p] = pull
batching.primitive_batchers[multiply_add_p] = batch


def square_add(a, b):
    return multiply_add(a, a, b)


assert square_add(2.0, 10.0) == 14.0
assert jax.jit(square_add)(2.0, 10.0) == 14.0
assert "tutorial_multiply_add" in str(jax.make_jaxpr(square_add)(2.0, 10.0))
assert jax.jvp(square_add, (2.0, 10.0), (1.0, 1.0)) == (14.0, 5.0)
assert jax.jit(jax.grad(square_add))(2.0, 10.0) == 4.0
x = jnp.arange(3.0)
np.testing.assert_allclose(jax.vmap(square_add)(x, x), x * x + x)
np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(square_add)))(x, x), 2 * x)
