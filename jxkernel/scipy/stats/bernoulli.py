"""The Bernoulli distribution of 0 and 1."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.scipy.special import xlog1py, xlogy
from jxkernel.scipy.stats.families import Discrete

__all__ = [
    "cdf",
    "logpmf",
    "pmf",
    "ppf",
]


def _logpmf(k: Any, p: Any) -> Any:
    inside = (k == 0) | (k == 1)
    safe, chance = jnp.where(inside, k, 0), jnp.where(inside, p, 0.5)
    value = jnp.where(inside, xlogy(safe, chance) + xlog1py(1 - safe, -chance), -np.inf)
    return jnp.where((p >= 0) & (p <= 1), value, np.nan)


def _pmf(k: Any, p: Any) -> Any:
    value = jnp.where(k == 1, p, jnp.where(k == 0, 1 - p, 0))
    return jnp.where((p >= 0) & (p <= 1), value, np.nan)


def _cdf(k: Any, p: Any) -> Any:
    value = jnp.where(k < 0, 0, jnp.where(k < 1, 1 - p, 1))
    return jnp.where((p >= 0) & (p <= 1), value, np.nan)


def _ppf(q: Any, p: Any) -> Any:
    valid = (q >= 0) & (q <= 1) & (p >= 0) & (p <= 1)
    value = jnp.where(q <= 1 - p, 0.0, 1.0).astype(q.dtype)
    return jnp.where(valid, value, np.nan)


_BERNOULLI = Discrete("bernoulli", "the Bernoulli distribution", p="the probability of 1.")
pmf = _BERNOULLI(
    "pmf",
    _pmf,
    at="1, 0.25",
    shows="Array(0.25, dtype=float32, weak_type=True)",
    linear=True,
)
logpmf = _BERNOULLI(
    "logpmf", _logpmf, at="1, 0.25", shows="Array(-1.3863, dtype=float32, weak_type=True)"
)
cdf = _BERNOULLI(
    "cdf", _cdf, at="0, 0.25", shows="Array(0.75, dtype=float32, weak_type=True)", located=()
)
ppf = _BERNOULLI(
    "ppf", _ppf, at="0.9, 0.25", shows="Array(1., dtype=float32, weak_type=True)", located=()
)
