"""jit: trace once, run compiled; static arguments, donation, caches."""

from functools import partial

import jax
import jax.numpy as jnp

traces = []


@jax.jit
def selu(x, alpha=1.67, scale=1.05):
    """Trace and remember that it happened."""
    traces.append(x.shape)
    return scale * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


for size in (3, 3, 4):
    selu(jnp.arange(float(size))).block_until_ready()
assert traces == [(3,), (4,)]


@partial(jax.jit, static_argnames=("n",))
def power(x, n):
    """Unroll a loop over a static number."""
    for _ in range(n):
        x = x * x
    return x


assert power(2.0, n=3) == 256

donated = jax.jit(lambda x: x + 1, donate_argnums=0)
assert donated(jnp.zeros(3)).tolist() == [1, 1, 1]


@jax.jit
def branch(x):
    """Ask a traced value for its truth."""
    return x if x > 0 else -x


try:
    branch(1.0)
except jax.errors.TracerBoolConversionError as error:
    assert "jnp.where" in str(error)
with jax.disable_jit():
    assert branch(-1.0) == 1.0
