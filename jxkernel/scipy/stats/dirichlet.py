"""The Dirichlet distribution, of points whose coordinates are positive and sum to 1."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import promote_inexact
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special import gammaln, xlogy
from jxkernel.scipy.stats.saddle_point import LEAST, excess, few_of, log_poisson, log_stirling

__all__ = ["logpdf", "pdf"]


def _logpdf(x: Any, alpha: Any) -> Any:
    x, alpha = map(jnp.asarray, promote_inexact("dirichlet.logpdf", x, alpha))
    if alpha.ndim != 1 or x.shape[:1] not in (alpha.shape, (alpha.size - 1,)):
        raise ValueError(
            "dirichlet takes alpha of shape (n,) and x with n or n - 1 coordinates along axis 0, "
            f"got shapes {alpha.shape} and {x.shape}"
        )
    if x.shape[0] == alpha.size - 1:
        x = jnp.concatenate([x, 1 - x.sum(0, keepdims=True)])
    spread = alpha.reshape(-1, *[1] * (x.ndim - 1))
    inside = (x > 0).all(0) & (abs(x.sum(0) - 1) < 10 * x.shape[0] * dtypes.finfo(x.dtype).eps)
    return jnp.where(inside, _standard_logpdf(jnp.where(inside, x, 0.5), spread), -np.inf)


def _standard_logpdf(x: Any, alpha: Any) -> Any:
    """Return the logarithm of the density within, in two forms: one is for large parameters."""
    total = alpha.sum(0)
    large = (total >= LEAST) & (total < np.inf)
    few = jnp.where(large, 1, alpha)
    logs = gammaln(jnp.where(large, few_of(alpha) + 1, alpha))
    direct = gammaln(few.sum(0)) - logs.sum(0) + xlogy(few - 1, x).sum(0)
    many = jnp.where(large, alpha, LEAST)
    total = many.sum(0)
    apart = excess(total, x, many)
    parts = log_poisson(many, total * x, apart, logs) + jnp.log(many / x) + apart
    saddle = log_stirling(total) - jnp.log(total) + parts.sum(0)
    return jnp.where(large, saddle, direct)


@fused
def logpdf(x: ArrayLike, alpha: ArrayLike) -> Any:
    """Return the logarithm of the density of the Dirichlet distribution.

    Args:
      x: coordinates along axis 0, positive and summing to 1; the last one may be left out.
      alpha: the concentrations, of shape (n,), positive.

    Raises:
      ValueError: the numbers of coordinates do not fit.

    -inf for points that are not of the simplex.

    >>> import jxkernel as jx
    >>> jnp = jx.numpy
    >>> jx.scipy.stats.dirichlet.logpdf(jnp.array([0.25, 0.75]), jnp.ones(2)).round(4)
    Array(0., dtype=float32)
    """
    return _logpdf(x, alpha)


@fused
def pdf(x: ArrayLike, alpha: ArrayLike) -> Any:
    """Return the density of the Dirichlet distribution; arguments are those of ``logpdf``.

    Args:
      x: coordinates along axis 0.
      alpha: the concentrations.

    >>> import jxkernel as jx
    >>> jnp = jx.numpy
    >>> jx.scipy.stats.dirichlet.pdf(jnp.array([0.25, 0.75]), jnp.ones(2)).round(4)
    Array(1., dtype=float32)
    """
    return jnp.exp(_logpdf(x, alpha))
