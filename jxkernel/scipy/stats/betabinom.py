"""The beta-binomial distribution."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.scipy.special import betaln
from jxkernel.scipy.stats.families import Discrete, whole

__all__ = [
    "logpmf",
    "pmf",
]


def _logpmf(k: Any, n: Any, a: Any, b: Any) -> Any:
    inside = (k >= 0) & (k <= n) & whole(k)
    safe = jnp.where(inside, k, 0)
    ways = -jnp.log1p(n) - betaln(n - safe + 1, safe + 1)
    value = ways + betaln(safe + a, n - safe + b) - betaln(a, b)
    valid = (n >= 0) & whole(n) & (a > 0) & (b > 0)
    return jnp.where(valid, jnp.where(inside, value, -np.inf), np.nan)


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
