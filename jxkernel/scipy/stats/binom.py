"""The binomial distribution."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.scipy.special import betaln, xlog1py, xlogy
from jxkernel.scipy.stats.families import Discrete, capped_exp, whole
from jxkernel.scipy.stats.saddle_point import LEAST, log_binomial

__all__ = [
    "logpmf",
    "pmf",
]


def _logpmf(k: Any, n: Any, p: Any) -> Any:
    """Return the logarithm of a probability, in two forms: one is for large counts."""
    inside = (k >= 0) & (k <= n) & whole(k)
    large = inside & (n >= LEAST) & (n < np.inf)
    few, rest = jnp.where(inside & ~large, k, 0), jnp.where(inside & ~large, n - k, 0)
    ways = -jnp.log1p(few + rest) - betaln(rest + 1, few + 1)
    direct = ways + xlogy(few, p) + xlog1py(rest, -p)
    many, more = (jnp.where(large, x, LEAST) for x in (k, n - k))
    saddle = log_binomial(many, more, jnp.where(large, p, 0.5))
    value = jnp.where(inside, jnp.where(large, saddle, direct), -np.inf)
    return jnp.where((n >= 0) & whole(n) & (p >= 0) & (p <= 1), value, np.nan)


def _pmf(k: Any, n: Any, p: Any) -> Any:
    """Return the probabilities, which are powers of p and 1 - p where one of them is 0."""
    end = (p == 0) | (p == 1)
    inner = jnp.exp(_logpmf(k, n, jnp.where(end, 0.5, p)))
    inside = (k >= 0) & (k <= n) & whole(k)
    few, rest = jnp.where(inside & end, k, 0), jnp.where(inside & end, n - k, 0)
    at = jnp.where(end, p, 0.5)
    ways = capped_exp(-jnp.log1p(few + rest) - betaln(rest + 1, few + 1))
    powers = jnp.where(inside, ways * at**few * (1 - at) ** rest, 0)
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
