"""Derivatives: grad, jvp, vjp, Jacobians, Hessians, custom rules, checkpointing."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp


def loss(w, x, y):
    """Return the mean squared error of a line."""
    return jnp.mean((x @ w["a"] + w["b"] - y) ** 2)


x = jnp.arange(6.0).reshape(3, 2)
w = {"a": jnp.ones(2), "b": 0.0}
value, gradient = value_and_grad(loss)(w, x, jnp.zeros(3))
assert set(gradient) == {"a", "b"}
np.testing.assert_allclose(gradient["b"], 2 * jnp.mean(x.sum(1)))
assert grad(grad(jnp.sin))(0.0) == 0
assert jvp(jnp.square, (3.0,), (1.0,)) == (9.0, 6.0)
out, pullback = vjp(jnp.sin, 0.0)
assert pullback(1.0) == (1.0,)
np.testing.assert_allclose(jacfwd(jnp.cumsum)(jnp.ones(3)), jacrev(jnp.cumsum)(jnp.ones(3)))
np.testing.assert_allclose(hessian(lambda z: (z**3).sum())(jnp.arange(2.0)), [[0, 0], [0, 6]])


@jax.custom_jvp
def log1pexp(z):
    """Return log(1 + exp(z))."""
    return jnp.log(1.0 + jnp.exp(z))


@log1pexp.defjvp
def log1pexp_jvp(primals, tangents):
    """Return the derivative that does not overflow."""
    (z,), (t,) = primals, tangents
    return log1pexp(z), (1 - 1 / (1 + jnp.exp(z))) * t


assert grad(log1pexp)(100.0) == 1.0


@jax.custom_vjp
def clipped(z):
    """Return z, whose gradient is clipped."""
    return z


clipped.defvjp(lambda z: (z, None), lambda _, g: (jnp.clip(g, -1, 1),))
assert grad(lambda z: 10 * clipped(z))(1.0) == 1.0
assert grad(jax.checkpoint(lambda z: jnp.sin(jnp.sin(z))))(0.0) == 1.0
assert grad(lambda z: jax.lax.stop_gradient(z) * z)(3.0) == 3.0
