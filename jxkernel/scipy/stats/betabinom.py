"""The beta-binomial distribution."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.scipy.special import betaln
from jxkernel.scipy.stats.families import (
    probabilities,
    shifted,
    whole,
)

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


@fused
def pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """Return the probabilities of the beta-binomial distribution.

    Args:
      k: where to evaluate it: whole numbers, others have no weight.
      n: the number of trials.
      a: the first shape parameter, positive.
      b: the second.
      loc: the shift.

    >>> from jxkernel.scipy.stats import betabinom
    >>> betabinom.pmf(1, 3, 2.0, 2.0).round(4)
    Array(0.29999998, dtype=float32, weak_type=True)
    """
    return probabilities("betabinom.pmf", _logpmf, k, n, a, b, loc=loc, weakly=(0, 1))


@fused
def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """Return the logarithms of the probabilities of the beta-binomial distribution.

    Args:
      k: where to evaluate it: whole numbers, others have no weight.
      n: the number of trials.
      a: the first shape parameter, positive.
      b: the second.
      loc: the shift.

    >>> from jxkernel.scipy.stats import betabinom
    >>> betabinom.logpmf(1, 3, 2.0, 2.0).round(4)
    Array(-1.204, dtype=float32, weak_type=True)
    """
    return shifted("betabinom.logpmf", _logpmf, k, n, a, b, loc=loc, weakly=(0, 1))
