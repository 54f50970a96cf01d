"""The Bernoulli distribution of 0 and 1."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.scipy.special import xlog1py, xlogy
from jxkernel.scipy.stats.families import (
    probabilities,
    shifted,
)

__all__ = [
    "cdf",
    "logpmf",
    "pmf",
    "ppf",
]


def _logpmf(k: Any, p: Any) -> Any:
    inside = (k == 0) | (k == 1)
    safe = jnp.where(inside, k, 0)
    value = jnp.where(inside, xlogy(safe, p) + xlog1py(1 - safe, -p), -np.inf)
    return jnp.where((p >= 0) & (p <= 1), value, np.nan)


def _cdf(k: Any, p: Any) -> Any:
    value = jnp.where(k < 0, 0, jnp.where(k < 1, 1 - p, 1))
    return jnp.where((p >= 0) & (p <= 1), value, np.nan)


def _ppf(q: Any, p: Any) -> Any:
    valid = (q >= 0) & (q <= 1) & (p >= 0) & (p <= 1)
    value = jnp.where(q <= 1 - p, 0.0, 1.0).astype(q.dtype)
    return jnp.where(valid, value, np.nan)


@fused
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """Return the probabilities of the Bernoulli distribution.

    Args:
      k: where to evaluate it: whole numbers, others have no weight.
      p: the probability of 1.
      loc: the shift.

    >>> from jxkernel.scipy.stats import bernoulli
    >>> bernoulli.pmf(1, 0.25).round(4)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return probabilities("bernoulli.pmf", _logpmf, k, p, loc=loc)


@fused
def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """Return the logarithms of the probabilities of the Bernoulli distribution.

    Args:
      k: where to evaluate it: whole numbers, others have no weight.
      p: the probability of 1.
      loc: the shift.

    >>> from jxkernel.scipy.stats import bernoulli
    >>> bernoulli.logpmf(1, 0.25).round(4)
    Array(-1.3863, dtype=float32, weak_type=True)
    """
    return shifted("bernoulli.logpmf", _logpmf, k, p, loc=loc)


@fused
def cdf(k: Any, p: Any) -> Any:
    """Return the distribution function of the Bernoulli distribution.

    Args:
      k: where to evaluate it: whole numbers, others have no weight.
      p: the probability of 1.

    >>> from jxkernel.scipy.stats import bernoulli
    >>> bernoulli.cdf(0, 0.25).round(4)
    Array(0.75, dtype=float32, weak_type=True)
    """
    return shifted("bernoulli.cdf", _cdf, k, p, loc=0)


@fused
def ppf(q: Any, p: Any) -> Any:
    """Return the quantiles of the Bernoulli distribution.

    Args:
      q: probabilities; NaN results outside [0, 1].
      p: the probability of 1.

    >>> from jxkernel.scipy.stats import bernoulli
    >>> bernoulli.ppf(0.9, 0.25).round(4)
    Array(1., dtype=float32, weak_type=True)
    """
    return shifted("bernoulli.ppf", _ppf, q, p, loc=0)
