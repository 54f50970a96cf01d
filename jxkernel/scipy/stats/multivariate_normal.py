"""The normal distribution of vectors."""

from math import log, pi
from typing import Any

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import broadcast_shapes, promote_inexact
from jxkernel.primitives.linalg.cholesky import cholesky, triangular_solve

__all__ = ["logpdf", "pdf"]


def _logpdf(x: Any, mean: Any, cov: Any) -> Any:
    """Solve L z = x - mean for the Cholesky factor L of the covariance: the exponent is -z·z/2."""
    arrays = promote_inexact("multivariate_normal.logpdf", x, mean, cov)
    x, mean, cov = map(jnp.asarray, arrays)
    if not mean.ndim and not cov.ndim:
        return -0.5 * ((x - mean) ** 2 / cov + jnp.log(cov) + log(2 * pi))
    size = cov.shape[-1] if cov.ndim else mean.shape[-1]
    if cov.ndim < 2:
        cov = jnp.eye(size, dtype=x.dtype) * cov
    if cov.shape[-2:] != (size, size) or mean.shape[-1:] not in ((size,), (), (1,)):
        raise ValueError(
            "multivariate_normal takes mean of shape (n,) and cov of shape (n, n), got shapes "
            f"{mean.shape} and {cov.shape}"
        )
    difference = x - mean
    batch = broadcast_shapes(difference.shape[:-1], cov.shape[:-2])
    difference = jnp.broadcast_to(difference, (*batch, size))
    factor = jnp.broadcast_to(cholesky(cov), (*batch, size, size))
    z = triangular_solve(factor, difference[..., None], left_side=True, lower=True)[..., 0]
    volume = jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
    return -0.5 * ((z * z).sum(-1) + size * log(2 * pi)) - volume


_fused = fused(_logpdf, name="multivariate_normal.logpdf")


def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Any:
    """Return the logarithm of the density of the multivariate normal distribution.

    Args:
      x: vectors along the last axis.
      mean: the means, along the last axis.
      cov: the covariance matrices, positive definite, on the last two axes; NaN results for
        others.  With scalars for both, the distribution is of one number.
      allow_singular: must be None.

    Raises:
      NotImplementedError: ``allow_singular`` is given.
      ValueError: the sizes do not fit.

    >>> import jxkernel as jx
    >>> jnp = jx.numpy
    >>> jx.scipy.stats.multivariate_normal.logpdf(jnp.ones(2), jnp.zeros(2), jnp.eye(2)).round(4)
    Array(-2.8379, dtype=float32)
    """
    if allow_singular is not None:
        raise NotImplementedError(
            "multivariate_normal.logpdf(allow_singular=...): give a positive definite cov"
        )
    return _fused(x, mean, cov)


@fused
def pdf(x: Any, mean: Any, cov: Any) -> Any:
    """Return the density of the multivariate normal distribution.

    Args:
      x: vectors along the last axis.
      mean: the means, along the last axis.
      cov: the covariance matrices, positive definite.

    >>> import jxkernel as jx
    >>> jnp = jx.numpy
    >>> jx.scipy.stats.multivariate_normal.pdf(jnp.zeros(2), jnp.zeros(2), jnp.eye(2)).round(4)
    Array(0.1592, dtype=float32)
    """
    return jnp.exp(_logpdf(x, mean, cov))
