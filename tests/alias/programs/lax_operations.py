"""lax: strict operations close to XLA."""

import jax.numpy as jnp
from jax import lax

try:
    lax.add(jnp.ones(2), jnp.arange(2))
except TypeError:
    pass
else:
    raise AssertionError("lax does not promote")

image = jnp.ones((1, 1, 5, 5))
kernel = jnp.ones((1, 1, 3, 3))
assert lax.conv(image, kernel, (1, 1), "SAME").shape == (1, 1, 5, 5)
product = lax.dot_general(jnp.ones((2, 3)), jnp.ones((3, 4)), (((1,), (0,)), ((), ())))
assert product.shape == (2, 4)
assert lax.dynamic_slice(jnp.arange(5), (3,), (2,)).tolist() == [3, 4]
assert lax.top_k(jnp.array([1, 3, 2]), 2)[0].tolist() == [3, 2]
assert lax.cumsum(jnp.arange(4)).tolist() == [0, 1, 3, 6]
assert lax.reduce(jnp.arange(4), 0, lax.add, (0,)) == 6
window = lax.reduce_window(jnp.arange(4.0), -jnp.inf, lax.max, (2,), (1,), "VALID")
assert window.tolist() == [1, 2, 3]
assert lax.bitcast_convert_type(jnp.float32(1), jnp.int32) == 0x3F800000
