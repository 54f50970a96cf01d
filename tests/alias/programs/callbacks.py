"""Callbacks: Python functions called by compiled programs, for results, effects and printing."""

import contextlib
import io

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback


@jax.jit
def host_sine(x):
    return jax.pure_callback(
        np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="sequential"
    )


x = jnp.arange(3.0)
np.testing.assert_allclose(host_sine(x), np.sin(x), rtol=1e-6)
np.testing.assert_allclose(jax.vmap(host_sine)(x), np.sin(x), rtol=1e-6)


@jax.custom_jvp
def sine(x):
    return host_sine(x)


sine.defjvp(lambda primals, tangents: (sine(*primals), jnp.cos(primals[0]) * tangents[0]))
np.testing.assert_allclose(jax.grad(sine)(1.0), np.cos(1.0), rtol=1e-6)

seen = []


@jax.jit
def logged(x):
    def body(i, total):
        io_callback(lambda i, t: seen.append((int(i), float(t))), None, i, total, ordered=True)
        return total + x

    return jax.lax.fori_loop(0, 3, body, 0.0)


assert logged(2.0) == 6.0
jax.effects_barrier()
assert seen == [(0, 0.0), (1, 2.0), (2, 4.0)]

values = []


@jax.jit
def watched(x):
    jax.debug.callback(lambda v: values.append(float(v)), x * 2)
    return x


watched(4.0).block_until_ready()
jax.effects_barrier()
assert values == [8.0]

printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    jax.jit(lambda x: jax.debug.print("x = {x}, twice {y}", x=x, y=2 * x, ordered=True))(3)
    jax.effects_barrier()
assert printed.getvalue() == "x = 3, twice 6\n"
