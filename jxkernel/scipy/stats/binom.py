"""The binomial distribution."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.scipy.special import betaln, xlog1py, xlogy
from jxkernel.scipy.stats.families import Discrete, whole

__all__ = [
    "logpmf",
    "pmf",
]


def _logpmf(k: Any, n: Any, p: Any) -> Any:
    inside = (k >= 0) & (k <= n) & whole(k)
    safe = jnp.where(inside, k, 0)
    ways = -jnp.log1p(n) - betaln(n - safe + 1, safe + 1)
    value = jnp.where(inside, ways + xlogy(safe, p) + xlog1py(n - safe, -p), -np.inf)
    return jnp.where((n >= 0) & whole(n) & (p >= 0) & (p <= 1), value, np.nan)


_BINOM = Discrete(
    "binom", "the binomial distribution", n="the number of trials.", p="the probability of success."
)
pmf = _BINOM(
    "pmf",
    _logpmf,
    at="1.0, 3, 0.5",
    shows="Array(0.375, dtype=float32, weak_type=True)",
    weakly=True,
)
logpmf = _BINOM(
    "logpmf",
    _logpmf,
    at="1.0, 3, 0.5",
    shows="Array(-0.9808, dtype=float32, weak_type=True)",
    weakly=True,
)
