"""jax.scipy: special functions, linear algebra, statistics, signals, minimization."""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax.scipy import stats
from jax.scipy.optimize import minimize
from jax.scipy.special import expit, gammaln, logsumexp

np.testing.assert_allclose(gammaln(5.0), np.log(24.0), rtol=1e-6)
np.testing.assert_allclose(jax.grad(expit)(0.0), 0.25, rtol=1e-6)
assert logsumexp(jnp.array([-jnp.inf, 0.0])) == 0.0

a = jnp.array([[4.0, 1.0], [1.0, 3.0]])
b = jnp.array([1.0, 2.0])
factor = jsp.linalg.cho_factor(a)
solution = jsp.linalg.cho_solve(factor, b)
np.testing.assert_allclose(a @ solution, b, rtol=1e-5)
np.testing.assert_allclose(jsp.linalg.solve(a, b), solution, rtol=1e-5)
np.testing.assert_allclose(jsp.linalg.expm(jnp.zeros((2, 2))), np.eye(2), atol=1e-6)
found, _ = jsp.sparse.linalg.cg(lambda v: a @ v, b)
np.testing.assert_allclose(found, solution, rtol=1e-4)

np.testing.assert_allclose(stats.norm.cdf(0.0), 0.5, rtol=1e-6)
np.testing.assert_allclose(jax.grad(stats.norm.logpdf)(1.0), -1.0, rtol=1e-6)
np.testing.assert_allclose(
    jsp.signal.convolve(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0])), [1.0, 3.0, 2.0], rtol=1e-6
)


def bowl(x):
    return jnp.sum((x - jnp.array([1.0, -2.0])) ** 2)


result = minimize(bowl, jnp.zeros(2), method="BFGS")
assert result.success
np.testing.assert_allclose(result.x, [1.0, -2.0], atol=1e-4)
