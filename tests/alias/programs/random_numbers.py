"""Random numbers: explicit keys, the standard bits."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import random

key = random.PRNGKey(0)
assert key.tolist() == [0, 0]
key, subkey = random.split(key)
assert (random.normal(subkey, (3,)) == random.normal(subkey, (3,))).all()
assert not (random.normal(key, (3,)) == random.normal(subkey, (3,))).any()
typed = random.key(42)
assert jnp.issubdtype(typed.dtype, jax.dtypes.prng_key)
draws = jax.vmap(lambda k: random.uniform(k))(random.split(typed, 1000))
np.testing.assert_allclose(draws.mean(), 0.5, atol=0.05)
assert (jax.jit(random.bits)(typed) == random.bits(typed)).all()
assert sorted(random.permutation(typed, 5).tolist()) == list(range(5))
assert random.categorical(typed, jnp.log(jnp.array([0.0, 1.0]))) == 1
assert random.fold_in(key, 1).shape == key.shape
