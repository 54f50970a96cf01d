"""The binomial distribution."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.scipy.special import betaln, xlog1py, xlogy
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
    inside = (k >= 0) & (k <= n) & whole(k)
    safe = jnp.where(inside, k, 0)
    ways = -jnp.log1p(n) - betaln(n - safe + 1, safe + 1)
    value = jnp.where(inside, ways + xlogy(safe, p) + xlog1py(n - safe, -p), -np.inf)
    return jnp.where((n >= 0) & whole(n) & (p >= 0) & (p <= 1), value, np.nan)


@fused
def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """Return the probabilities of the binomial distribution.

    Args:
      k: where to evaluate it: whole numbers, others have no weight.
      n: the number of trials.
      p: the probability of success.
      loc: the shift.

    >>> from jxkernel.scipy.stats import binom
    >>> binom.pmf(1.0, 3, 0.5).round(4)
    Array(0.375, dtype=float32, weak_type=True)
    """
    return probabilities("binom.pmf", _logpmf, k, n, p, loc=loc, weakly=True)


@fused
def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """Return the logarithms of the probabilities of the binomial distribution.

    Args:
      k: where to evaluate it: whole numbers, others have no weight.
      n: the number of trials.
      p: the probability of success.
      loc: the shift.

    >>> from jxkernel.scipy.stats import binom
    >>> binom.logpmf(1.0, 3, 0.5).round(4)
    Array(-0.9808, dtype=float32, weak_type=True)
    """
    return shifted("binom.logpmf", _logpmf, k, n, p, loc=loc, weakly=True)
