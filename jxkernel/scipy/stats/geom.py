"""The geometric distribution of trials up to the first success, from 1."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.scipy.special import xlog1py
from jxkernel.scipy.stats.families import Discrete, whole

__all__ = [
    "logpmf",
    "pmf",
]


def _logpmf(k: Any, p: Any) -> Any:
    inside = (k >= 1) & (k < np.inf) & whole(k)
    safe = jnp.where(inside, k, 1)
    value = jnp.where(inside, xlog1py(safe - 1, -p) + jnp.log(p), -np.inf)
    return jnp.where((p > 0) & (p <= 1), value, np.nan)


def _pmf(k: Any, p: Any) -> Any:
    """Return the probabilities, which are powers of 1 - p where that is 0."""
    end = p == 1
    inner = jnp.exp(_logpmf(k, jnp.where(end, 0.5, p)))
    inside = (k >= 1) & (k < np.inf) & whole(k)
    at, fails = jnp.where(end, p, 0.5), jnp.where(inside & end, k - 1, 0)
    return jnp.where(end, jnp.where(inside, (1 - at) ** fails * at, 0), inner)


_GEOM = Discrete("geom", "the geometric distribution", p="the probability of success.")
pmf = _GEOM(
    "pmf", _pmf, at="1, 0.5", shows="Array(0.5, dtype=float32, weak_type=True)", linear=True
)
logpmf = _GEOM(
    "logpmf", _logpmf, at="1, 0.5", shows="Array(-0.6931, dtype=float32, weak_type=True)"
)
