"""The negative binomial distribution of failures before n successes."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special import xlog1py, xlogy
from jxkernel.scipy.special.gamma_functions import log_gammas
from jxkernel.scipy.stats.families import Discrete, capped_exp, whole
from jxkernel.scipy.stats.saddle_point import LEAST, few_of, log_binomial

__all__ = [
    "logpmf",
    "pmf",
]


def _logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Any:
    """Return the logarithm of a probability."""
    return _logarithm(k, n, p, *_ways(k, n, p))


def _forms(k: Any, n: Any, p: Any) -> Any:
    """Return where k counts, and where the form for large counts holds."""
    inside = (k >= 0) & whole(k)
    return inside, inside & (n + k >= LEAST) & (n + k < np.inf) & (p < 1)


def _ways(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Any:
    """Return the logarithms of C(n + k - 1, k), of n! and of k!, the last two of few.

    The first is meant where the form for large counts does not hold, the others where it does.
    """
    inside, large = _forms(k, n, p)
    fails = jnp.where(inside, few_of(k, large), 0)
    few = jnp.where(large, few_of(n) + 1, n)
    every, first, second = log_gammas(few + fails, few, fails + 1)
    return every - first - second, first, second


def _logarithm(k: Any, n: Any, p: Any, ways: Any, *factorials: Any) -> Any:
    """Return the logarithm of a probability, in two forms: one is for large counts."""
    inside, large = _forms(k, n, p)
    few, fails = jnp.where(large, 1, n), jnp.where(inside & ~large, k, 0)
    direct = ways + xlogy(few, p) + xlog1py(fails, -p)
    many, more = (jnp.where(large, x, LEAST) for x in (n, k))
    saddle = log_binomial(many, more, jnp.where(large, p, 0.5), *factorials)
    saddle = saddle + jnp.log(many / (many + more))
    value = jnp.where(inside, jnp.where(large, saddle, direct), -np.inf)
    return jnp.where((n > 0) & (p > 0) & (p <= 1), value, np.nan)


def _pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Any:
    """Return the probabilities, which are powers of 1 - p where that is 0."""
    ways, *factorials = _ways(k, n, p)
    end = p == 1
    inner = jnp.exp(_logarithm(k, n, jnp.where(end, 0.5, p), ways, *factorials))
    inside, _ = _forms(k, n, p)
    at, few, fails = (jnp.where(end & inside, x, y) for x, y in ((p, 0.5), (n, 1), (k, 0)))
    powers = jnp.where(inside, capped_exp(ways) * at**few * (1 - at) ** fails, 0)
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
