"""Arrays: asynchronous, immutable, on devices, and at home with NumPy."""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np

x = jnp.arange(10)
assert isinstance(x, jax.Array)
assert x.devices() == {jax.devices()[0]}
assert x.block_until_ready() is x

# Arrays do not change: `.at` gives an updated copy.
try:
    x[0] = 10
except TypeError as error:
    assert ".at[" in str(error)
y = x.at[0].set(10).at[jnp.array([1, 1])].add(5).at[-1].multiply(2)
assert y.tolist() == [10, 11, 2, 3, 4, 5, 6, 7, 8, 18]
assert x[0] == 0
assert x.at[20].get(mode="fill", fill_value=-1) == -1

# NumPy takes them, and they take NumPy's.
assert np.sum(x) == 45
assert isinstance(np.asarray(x), np.ndarray)
assert np.from_dlpack(x).dtype == np.int32
for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
    assert (other == x).all()
