"""The geometric distribution of trials up to the first success, from 1."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.scipy.special import xlog1py
from jxkernel.scipy.stats.families import (
    probabilities,
    shifted,
    whole,
)

__all__ = [
    "logpmf",
    "pmf",
]


def _logpmf(k: Any, p: Any) -> Any:
    inside = (k >= 1) & whole(k)
    safe = jnp.where(inside, k, 1)
    value = jnp.where(inside, xlog1py(safe - 1, -p) + jnp.log(p), -np.inf)
    return jnp.where((p > 0) & (p <= 1), value, np.nan)


@fused
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """Return the probabilities of the geometric distribution.

    Args:
      k: where to evaluate it: whole numbers, others have no weight.
      p: the probability of success.
      loc: the shift.

    >>> from jxkernel.scipy.stats import geom
    >>> geom.pmf(1, 0.5).round(4)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return probabilities("geom.pmf", _logpmf, k, p, loc=loc)


@fused
def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """Return the logarithms of the probabilities of the geometric distribution.

    Args:
      k: where to evaluate it: whole numbers, others have no weight.
      p: the probability of success.
      loc: the shift.

    >>> from jxkernel.scipy.stats import geom
    >>> geom.logpmf(1, 0.5).round(4)
    Array(-0.6931, dtype=float32, weak_type=True)
    """
    return shifted("geom.logpmf", _logpmf, k, p, loc=loc)
