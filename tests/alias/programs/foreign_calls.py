"""Foreign functions: a call by a registered name, and what is said where there is none."""

import jax
import jax.numpy as jnp

call = jax.ffi.ffi_call(
    "nobody_registered_this", jax.ShapeDtypeStruct((3,), jnp.float32), vmap_method="sequential"
)
x = jnp.arange(3.0)
assert "nobody_registered_this" in jax.jit(call).lower(x).as_text()
assert jax.eval_shape(jax.vmap(call), jnp.ones((2, 3))).shape == (2, 3)
assert jax.ffi.include_dir()
try:
    jax.grad(lambda x: call(x).sum())(x)
except Exception as error:
    assert "custom_vjp" in str(error) or "custom_jvp" in str(error)
else:
    raise AssertionError("a foreign function has no derivative")
