"""The binomial distribution."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special import xlog1py, xlogy
from jxkernel.scipy.special.gamma_functions import log_beta, log_gammas
from jxkernel.scipy.stats.families import Discrete, capped_exp, whole
from jxkernel.scipy.stats.saddle_point import LEAST, few_of, log_binomial

__all__ = [
    "logpmf",
    "pmf",
]


def _logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Any:
    """Return the logarithm of a probability."""
    return _logarithm(k, n, p, *_ways(k, n, np.False_))


def _forms(k: Any, n: Any) -> Any:
    """Return where k counts, and where the form for large counts holds."""
    inside = (k >= 0) & (k <= n) & whole(k)
    return inside, inside & (n >= LEAST) & (n < np.inf)


def _ways(k: Any, n: Any, always: Any) -> Any:
    """Return log C(n, k), where counts are few or ``always``; log k! and log (n - k)! of few."""
    inside, large = _forms(k, n)
    few, rest = (jnp.where(inside, few_of(x, large & ~always), 0) for x in (k, n - k))
    logs = log_gammas(few + 1, rest + 1, few + rest + 2)
    return -jnp.log1p(few + rest) - log_beta(few + 1, rest + 1, logs), *logs[:2]


def _logarithm(k: Any, n: Any, p: Any, ways: Any, *factorials: Any) -> Any:
    """Return the logarithm of a probability, in two forms: one is for large counts."""
    inside, large = _forms(k, n)
    few, rest = (jnp.where(inside & ~large, x, 0) for x in (k, n - k))
    direct = ways + xlogy(few, p) + xlog1py(rest, -p)
    many, more = (jnp.where(large, x, LEAST) for x in (k, n - k))
    saddle = log_binomial(many, more, jnp.where(large, p, 0.5), *factorials)
    value = jnp.where(inside, jnp.where(large, saddle, direct), -np.inf)
    return jnp.where((n >= 0) & whole(n) & (p >= 0) & (p <= 1), value, np.nan)


def _pmf(k: Any, n: Any, p: Any) -> Any:
    """Return the probabilities, which are powers of p and 1 - p where one of them is 0."""
    end = (p == 0) | (p == 1)
    ways, *factorials = _ways(k, n, end)
    inner = jnp.exp(_logarithm(k, n, jnp.where(end, 0.5, p), ways, *factorials))
    inside, _ = _forms(k, n)
    few, rest = (jnp.where(inside & end, x, 0) for x in (k, n - k))
    at = jnp.where(end, p, 0.5)
    powers = jnp.where(inside, capped_exp(ways) * at**few * (1 - at) ** rest, 0)
    return jnp.where(jnp.isnan(inner), np.nan, jnp.where(end, powers, inner))


_BINOM = Discrete(
    "binom", "the binomial distribution", n="the number of trials.", p="the probability of success."
)
pmf = _BINOM(
    "pmf",
    _pmf,
    at="1.0, 3, 0.5",
    shows="Array(0.375, dtype=float32, weak_type=True)",
    weakly=True,
    linear=True,
)
logpmf = _BINOM(
    "logpmf",
    _logpmf,
    at="1.0, 3, 0.5",
    shows="Array(-0.9808, dtype=float32, weak_type=True)",
    weakly=True,
)
