"""The negative binomial distribution of failures before n successes."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.scipy.special import gammaln, xlog1py, xlogy
from jxkernel.scipy.stats.families import (
    probabilities,
    shifted,
    whole,
)

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


@fused
def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """Return the probabilities of the negative binomial distribution.

    Args:
      k: where to evaluate it: whole numbers, others have no weight.
      n: the number of successes, positive.
      p: the probability of success.
      loc: the shift.

    >>> from jxkernel.scipy.stats import nbinom
    >>> nbinom.pmf(1, 2, 0.5).round(4)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return probabilities("nbinom.pmf", _logpmf, k, n, p, loc=loc)


@fused
def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """Return the logarithms of the probabilities of the negative binomial distribution.

    Args:
      k: where to evaluate it: whole numbers, others have no weight.
      n: the number of successes, positive.
      p: the probability of success.
      loc: the shift.

    >>> from jxkernel.scipy.stats import nbinom
    >>> nbinom.logpmf(1, 2, 0.5).round(4)
    Array(-1.3863, dtype=float32, weak_type=True)
    """
    return shifted("nbinom.logpmf", _logpmf, k, n, p, loc=loc)
