"""The negative binomial distribution of failures before n successes."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.scipy.special import gammaln, xlog1py, xlogy
from jxkernel.scipy.stats.families import Discrete, capped_exp, whole
from jxkernel.scipy.stats.saddle_point import LEAST, log_binomial

__all__ = [
    "logpmf",
    "pmf",
]


def _logpmf(k: Any, n: Any, p: Any) -> Any:
    """Return the logarithm of a probability, in two forms: one is for large counts."""
    inside = (k >= 0) & whole(k)
    large = inside & (n + k >= LEAST) & (n + k < np.inf) & (p < 1)
    few, fails = jnp.where(large, 1, n), jnp.where(inside & ~large, k, 0)
    ways = gammaln(few + fails) - gammaln(few) - gammaln(fails + 1)
    direct = ways + xlogy(few, p) + xlog1py(fails, -p)
    many, more = (jnp.where(large, x, LEAST) for x in (n, k))
    within = jnp.where(large, p, 0.5)
    saddle = log_binomial(many, more, within) + jnp.log(many / (many + more))
    value = jnp.where(inside, jnp.where(large, saddle, direct), -np.inf)
    return jnp.where((n > 0) & (p > 0) & (p <= 1), value, np.nan)


def _pmf(k: Any, n: Any, p: Any) -> Any:
    """Return the probabilities, which are powers of 1 - p where that is 0."""
    end = p == 1
    inner = jnp.exp(_logpmf(k, n, jnp.where(end, 0.5, p)))
    inside = (k >= 0) & whole(k)
    at, few, fails = (jnp.where(end & inside, x, y) for x, y in ((p, 0.5), (n, 1), (k, 0)))
    ways = capped_exp(gammaln(few + fails) - gammaln(few) - gammaln(fails + 1))
    powers = jnp.where(inside, ways * at**few * (1 - at) ** fails, 0)
    return jnp.where(jnp.isnan(inner), np.nan, jnp.where(end, powers, inner))


_NBINOM = Discrete(
    "nbinom",
    "the negative binomial distribution",
    n="the number of successes, positive.",
    p="the probability of success.",
)
pmf = _NBINOM(
    "pmf", _pmf, at="1, 2, 0.5", shows="Array(0.25, dtype=float32, weak_type=True)", linear=True
)
logpmf = _NBINOM(
    "logpmf", _logpmf, at="1, 2, 0.5", shows="Array(-1.3863, dtype=float32, weak_type=True)"
)
