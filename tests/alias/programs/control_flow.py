"""Control flow: cond, switch, loops and scans, with derivatives."""

import jax
import jax.numpy as jnp
from jax import lax

assert lax.cond(True, lambda x: x + 1, lambda x: x - 1, 1) == 2
assert lax.switch(2, [jnp.sin, jnp.cos, jnp.square], 3.0) == 9
assert lax.while_loop(lambda x: x < 10, lambda x: x * 2, 1) == 16
assert lax.fori_loop(0, 5, lambda i, total: total + i, 0) == 10
total, sums = lax.scan(lambda c, x: (c + x, c + x), 0, jnp.arange(5))
assert (total, sums.tolist()) == (10, [0, 1, 3, 6, 10])
assert lax.map(lambda x: x + 1, jnp.arange(3)).tolist() == [1, 2, 3]
assert lax.associative_scan(jnp.add, jnp.arange(4)).tolist() == [0, 1, 3, 6]


def compound(rate):
    """Return what one unit is after three years."""
    return lax.scan(lambda c, _: (c * (1 + rate), None), 1.0, None, length=3)[0]


assert jax.grad(compound)(0.0) == 3.0
assert jax.grad(lambda x: lax.fori_loop(0, 3, lambda i, y: y * x, 1.0))(2.0) == 12.0
assert jax.vmap(lambda x: lax.cond(x > 0, lambda: x, lambda: -x))(jnp.array([-1, 2])).tolist() == [
    1,
    2,
]
try:
    lax.scan(lambda c, x: (c + 1.5, x), 0, jnp.arange(3))
except TypeError as error:
    assert "carry" in str(error)
