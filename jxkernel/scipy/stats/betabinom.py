"""The beta-binomial distribution."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.scipy.special import betaln
from jxkernel.scipy.stats.families import Discrete, whole
from jxkernel.scipy.stats.saddle_point import LEAST, log_poisson, log_stirling

__all__ = [
    "logpmf",
    "pmf",
]


def _logpmf(k: Any, n: Any, a: Any, b: Any) -> Any:
    """Return the logarithm of a probability, in two forms: one is for large counts."""
    inside = (k >= 0) & (k <= n) & whole(k)
    valid = (n >= 0) & whole(n) & (a > 0) & (b > 0)
    large = inside & valid & (n > 0) & (n + a + b >= LEAST) & (n + a + b < np.inf)
    few = jnp.where(inside & ~large, k, 0)
    ways = -jnp.log1p(n) - betaln(n - few + 1, few + 1)
    small, other = jnp.where(large, 1, a), jnp.where(large, 1, b)
    direct = ways + betaln(few + small, n - few + other) - betaln(small, other)
    saddle = _of_many(*(jnp.where(large, x, LEAST) for x in (k, n - k, a, b)))
    return jnp.where(valid, jnp.where(inside, jnp.where(large, saddle, direct), -np.inf), np.nan)


def _of_many(k: Any, rest: Any, a: Any, b: Any) -> Any:
    """Return the logarithm of C(n, k) B(k + a, n - k + b) / B(a, b), n = k + rest > 0.

    It is a product of three binomial probabilities, those of k and of a, and the inverse of that
    of k + a, whatever the probability of success is.  Here it is p = (k + a) / (n + a + b), with
    which k + a is where it is expected.
    """
    n, c = k + rest, a + b
    every, first, second = n + c, k + a, rest + b
    p, q = first / every, second / every
    apart = rest * (a / every) - k * (b / every)
    counts = log_poisson(k, n * p, apart) + log_poisson(rest, n * q, -apart)
    shapes = log_poisson(a, c * p, -apart) + log_poisson(b, c * q, apart)
    stirling = log_stirling(n) + log_stirling(c) - log_stirling(every)
    stirling = stirling + log_stirling(first) + log_stirling(second)
    return counts + shapes + stirling + jnp.log(a / first) + jnp.log(b / c) - jnp.log(q)


_BETABINOM = Discrete(
    "betabinom",
    "the beta-binomial distribution",
    n="the number of trials.",
    a="the first shape parameter, positive.",
    b="the second.",
)
pmf = _BETABINOM(
    "pmf",
    _logpmf,
    at="1, 3, 2.0, 2.0",
    shows="Array(0.29999998, dtype=float32, weak_type=True)",
    weakly=(0, 1),
)
logpmf = _BETABINOM(
    "logpmf",
    _logpmf,
    at="1, 3, 2.0, 2.0",
    shows="Array(-1.204, dtype=float32, weak_type=True)",
    weakly=(0, 1),
)
