"""Debugging: NaN checks, leaks, errors that say what to write."""

import jax
import jax.numpy as jnp

with jax.checking_leaks():
    jax.jit(lambda x: x + 1)(1.0)

leaked = []
jax.jit(lambda x: leaked.append(x) or x)(1.0)
try:
    leaked[0] + 1
except jax.errors.UnexpectedTracerError:
    pass
else:
    raise AssertionError("a tracer outlived its trace")

try:
    jax.jit(lambda n: jnp.zeros(n))(3)
except TypeError as error:
    assert "static" in str(error)

mask = jnp.array([True, False])
try:
    jax.jit(lambda x, m: x[m])(jnp.arange(2), mask)
except jax.errors.NonConcreteBooleanIndexError:
    pass

with jax.disable_jit():
    assert jax.jit(lambda x: x if x > 0 else -x)(-2.0) == 2.0
with jax.numpy_dtype_promotion("strict"):
    try:
        jnp.arange(2) + jnp.ones(2)
    except jax.errors.JaxRuntimeError:
        raise
    except Exception as error:
        assert "strict" in str(error)
