"""The negative binomial distribution of failures before n successes."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.scipy.special import gammaln, xlog1py, xlogy
from jxkernel.scipy.stats.families import Discrete, whole

__all__ = [
    "logpmf",
    "pmf",
]


def _logpmf(k: Any, n: Any, p: Any) -> Any:
    inside = (k >= 0) & whole(k)
    safe = jnp.where(inside, k, 0)
    ways = gammaln(n + safe) - gammaln(n) - gammaln(safe + 1)
    value = jnp.where(inside, ways + xlogy(n, p) + xlog1py(safe, -p), -np.inf)
    return jnp.where((n > 0) & (p > 0) & (p <= 1), value, np.nan)


_NBINOM = Discrete(
    "nbinom",
    "the negative binomial distribution",
    n="the number of successes, positive.",
    p="the probability of success.",
)
pmf = _NBINOM("pmf", _logpmf, at="1, 2, 0.5", shows="Array(0.25, dtype=float32, weak_type=True)")
logpmf = _NBINOM(
    "logpmf", _logpmf, at="1, 2, 0.5", shows="Array(-1.3863, dtype=float32, weak_type=True)"
)
