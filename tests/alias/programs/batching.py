"""vmap: nested axes, and what it composes with."""

import jax
import jax.numpy as jnp
import numpy as np

mat = jnp.arange(6.0).reshape(2, 3)
batch = jnp.ones((5, 3))
np.testing.assert_allclose(jax.vmap(jnp.dot, in_axes=(None, 0))(mat, batch), batch @ mat.T)
outer = jax.vmap(jax.vmap(jnp.multiply, (None, 0)), (0, None))
np.testing.assert_allclose(
    outer(jnp.arange(3.0), jnp.ones(2)), np.repeat([[0.0], [1.0], [2.0]], 2, 1)
)
per_example = jax.jit(jax.vmap(jax.grad(lambda w, x: jnp.sum((w * x) ** 2)), in_axes=(None, 0)))
assert per_example(jnp.ones(3), batch).shape == (5, 3)
normalized = jax.vmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(jnp.arange(1.0, 5.0))
np.testing.assert_allclose(normalized.sum(), 1.0, rtol=1e-6)
tree = jax.vmap(lambda d: d["a"] + d["b"], in_axes=({"a": 0, "b": None},))
assert tree({"a": jnp.arange(3), "b": 1}).tolist() == [1, 2, 3]
