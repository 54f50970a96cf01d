"""The beta-binomial distribution."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.scipy.special.gamma_functions import log_beta, log_gammas
from jxkernel.scipy.stats.families import Discrete, whole
from jxkernel.scipy.stats.saddle_point import LEAST, few_of, log_poisson, log_stirling

__all__ = [
    "logpmf",
    "pmf",
]


def _logpmf(k: Any, n: Any, a: Any, b: Any) -> Any:
    """Return the logarithm of a probability, in two forms: one is for large counts."""
    inside = (k >= 0) & (k <= n) & whole(k)
    valid = (n >= 0) & whole(n) & (a > 0) & (b > 0)
    large = inside & valid & (n > 0) & (n + a + b >= LEAST) & (n + a + b < np.inf)
    few, rest = jnp.where(inside, k, 0), jnp.where(inside, n - k, n)
    first, second = few + a, rest + b
    numbers = few, rest, few + rest, first, second, first + second, a, b, a + b
    shifts = 1, 1, 2, 0, 0, 0, 0, 0, 0
    args = [
        jnp.where(large, few_of(x) + 1, x + shift) for x, shift in zip(numbers, shifts, strict=True)
    ]
    logs = log_gammas(*args)
    ways, both, shapes = (log_beta(args[i], args[i + 1], logs[i : i + 3]) for i in (0, 3, 6))
    direct = -jnp.log1p(n) - ways + both - shapes
    saddle = _of_many(logs, *(jnp.where(large, x, LEAST) for x in (k, n - k, a, b)))
    return jnp.where(valid, jnp.where(inside, jnp.where(large, saddle, direct), -np.inf), np.nan)


def _of_many(factorials: Any, k: Any, rest: Any, a: Any, b: Any) -> Any:
    """Return the logarithm of C(n, k) B(k + a, n - k + b) / B(a, b), n = k + rest > 0.

    The logarithms of factorials, where few, are those of k, n - k and n, of these with a, b and
    a + b added, and of a, b and a + b.

    It is a product of three binomial probabilities, those of k and of a, and the inverse of that
    of k + a, whatever the probability of success is.  Here it is p = (k + a) / (n + a + b), with
    which k + a is where it is expected.
    """
    of_k, of_rest, of_n, of_first, of_second, _, of_a, of_b, of_c = factorials
    n, c = k + rest, a + b
    every, first, second = n + c, k + a, rest + b
    p, q = first / every, second / every
    apart = rest * (a / every) - k * (b / every)
    counts = log_poisson(k, n * p, apart, of_k) + log_poisson(rest, n * q, -apart, of_rest)
    shapes = log_poisson(a, c * p, -apart, of_a) + log_poisson(b, c * q, apart, of_b)
    stirling = log_stirling(n, of_n) + log_stirling(c, of_c) - log_stirling(every)
    stirling = stirling + log_stirling(first, of_first) + log_stirling(second, of_second)
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
