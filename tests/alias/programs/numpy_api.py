"""The NumPy API: promotion, broadcasting, reductions, einsum, statistics, fft."""

import jax.numpy as jnp
import numpy as np

A = jnp.linspace(0, 1, 12).reshape(3, 4)
b = jnp.ones(4)
assert (A @ b).shape == (3,)
np.testing.assert_allclose(jnp.einsum("ij,j->i", A, b), A.sum(axis=1), rtol=1e-6)
assert (jnp.arange(3) + 1.5).dtype == jnp.float32
assert (jnp.ones(2, jnp.bfloat16) * 2).dtype == jnp.bfloat16
assert jnp.where(A > 0.5, A, 0).max() == 1
assert A[:, None, ::2].shape == (3, 1, 2)
assert A[A > 0.5].ndim == 1
assert jnp.concatenate([A, A], axis=1).shape == (3, 8)
assert jnp.sort(jnp.array([3, 1, 2]))[::-1].tolist() == [3, 2, 1]
assert jnp.unique(jnp.array([1, 2, 2])).tolist() == [1, 2]
np.testing.assert_allclose(jnp.percentile(A, 50), 0.5, atol=1e-6)
np.testing.assert_allclose(jnp.fft.ifft(jnp.fft.fft(b)).real, b, atol=1e-6)
np.testing.assert_allclose(jnp.linalg.norm(b), 2.0)
np.testing.assert_allclose(jnp.polyval(jnp.array([1.0, 0.0, -1.0]), 3.0), 8.0)
assert jnp.vectorize(lambda u, v: u + v)(A, b).shape == A.shape
