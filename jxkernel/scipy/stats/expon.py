"""The exponential distribution."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.scipy.stats.families import (
    at_standard,
    density,
    log_density,
    log_of_rest,
    quantiles,
)

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "ppf",
    "sf",
]


def _logpdf(z: Any) -> Any:
    return jnp.where(z < 0, -np.inf, -z)


def _cdf(z: Any) -> Any:
    return jnp.where(z < 0, 0, -jnp.expm1(-z))


def _logcdf(z: Any) -> Any:
    inside = z >= 0  # at 0 the logarithm is -inf by itself, with derivatives of its own
    return jnp.where(inside, log_of_rest(-jnp.where(inside, z, 1)), -np.inf)


def _sf(z: Any) -> Any:
    return jnp.exp(_logsf(z))


def _logsf(z: Any) -> Any:
    return -jnp.where(z < 0, 0, z)


def _ppf(q: Any) -> Any:
    return -jnp.log1p(-q)


@fused
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the density of the exponential distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import expon
    >>> expon.pdf(1.0).round(4)
    Array(0.36789998, dtype=float32, weak_type=True)
    """
    return density("expon.pdf", _logpdf, x, loc=loc, scale=scale, weakly=True)


@fused
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the density of the exponential distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    -inf below ``loc``.

    >>> from jxkernel.scipy.stats import expon
    >>> expon.logpdf(1.0).round(4)
    Array(-1., dtype=float32, weak_type=True)
    """
    return log_density("expon.logpdf", _logpdf, x, loc=loc, scale=scale, weakly=True)


@fused
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the distribution function of the exponential distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import expon
    >>> expon.cdf(1.0).round(4)
    Array(0.6321, dtype=float32, weak_type=True)
    """
    return at_standard("expon.cdf", _cdf, x, loc=loc, scale=scale, weakly=True)


@fused
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the distribution function of the exponential distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import expon
    >>> expon.logcdf(1.0).round(4)
    Array(-0.4587, dtype=float32, weak_type=True)
    """
    return at_standard("expon.logcdf", _logcdf, x, loc=loc, scale=scale, weakly=True)


@fused
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function of the exponential distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import expon
    >>> expon.sf(1.0).round(4)
    Array(0.36789998, dtype=float32, weak_type=True)
    """
    return at_standard("expon.sf", _sf, x, loc=loc, scale=scale, weakly=True)


@fused
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the survival function of the exponential distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import expon
    >>> expon.logsf(1.0).round(4)
    Array(-1., dtype=float32, weak_type=True)
    """
    return at_standard("expon.logsf", _logsf, x, loc=loc, scale=scale, weakly=True)


@fused
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantiles of the exponential distribution.

    Args:
      q: probabilities; NaN results outside [0, 1].
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import expon
    >>> expon.ppf(0.25).round(4)
    Array(0.2877, dtype=float32, weak_type=True)
    """
    return quantiles("expon.ppf", _ppf, q, loc=loc, scale=scale, weakly=True)
