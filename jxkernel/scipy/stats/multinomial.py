"""The multinomial distribution, of how often each category comes."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import cast, dtype_of, promote_inexact
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special import gammaln, xlogy
from jxkernel.scipy.stats.saddle_point import LEAST, excess, few_of, log_poisson, log_stirling

__all__ = ["logpmf", "pmf"]


def _logpmf(x: Any, n: Any, p: Any) -> Any:
    """Return the logarithm of a probability, in two forms: one is for large counts."""
    (p,) = promote_inexact("multinomial.logpmf", p)
    counts = [cast(k, dtype_of(p)) if dtype_of(k) in dtypes.INTEGRAL else k for k in (x, n)]
    x, n, p = map(jnp.asarray, promote_inexact("multinomial.logpmf", *counts, p))
    inside = (x >= 0).all(-1) & (x == jnp.floor(x)).all(-1) & (x.sum(-1) == n)
    large = inside & (n >= LEAST) & (n < np.inf)
    few = jnp.where((inside & ~large)[..., None], x, 0)
    factorials = gammaln(jnp.where(inside[..., None], few_of(x, large[..., None]), 0) + 1)
    direct = gammaln(jnp.where(large, 0, n) + 1) + (xlogy(few, p) - factorials).sum(-1)
    counts, total = jnp.where(large[..., None], x, 0), jnp.where(large, n, LEAST)
    draws = jnp.broadcast_to(total[..., None], counts.shape)
    chances = jnp.broadcast_to(p, counts.shape)
    apart = excess(draws, chances, counts)
    parts = log_poisson(counts, draws * chances, apart, factorials).sum(-1)
    saddle = log_stirling(total) + parts + apart.sum(-1)  # which is n (Σ p - 1)
    return jnp.where(inside, jnp.where(large, saddle, direct), -np.inf)


@fused
def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Any:
    """Return the logarithms of the probabilities of the multinomial distribution.

    Args:
      x: counts along the last axis.
      n: the numbers of draws; -inf results where the counts do not sum to it.
      p: the categories' probabilities along the last axis.

    >>> import jxkernel as jx
    >>> jnp = jx.numpy
    >>> jx.scipy.stats.multinomial.logpmf(jnp.array([1, 2]), 3, jnp.array([0.5, 0.5])).round(4)
    Array(-0.9808, dtype=float32)
    """
    return _logpmf(x, n, p)


@fused
def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Any:
    """Return the probabilities of the multinomial distribution; arguments are as for ``logpmf``.

    Args:
      x: counts along the last axis.
      n: the numbers of draws.
      p: the categories' probabilities along the last axis.

    >>> import jxkernel as jx
    >>> jnp = jx.numpy
    >>> jx.scipy.stats.multinomial.pmf(jnp.array([1, 2]), 3, jnp.array([0.5, 0.5])).round(4)
    Array(0.375, dtype=float32)
    """
    return jnp.exp(_logpmf(x, n, p))
