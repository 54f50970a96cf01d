"""The normal distribution."""

from math import log, pi
from typing import Any

from jxkernel.numpy.fusing import fused
from jxkernel.scipy.special import log_ndtr, ndtr, ndtri
from jxkernel.scipy.stats.families import (
    at_standard,
    density,
    log_density,
    quantiles,
)

__all__ = [
    "cdf",
    "isf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "ppf",
    "sf",
]


_HALF_LOG_TAU = 0.5 * log(2 * pi)


def _logpdf(z: Any) -> Any:
    return -0.5 * z * z - _HALF_LOG_TAU


def _cdf(z: Any) -> Any:
    return ndtr(z)


def _sf(z: Any) -> Any:
    return ndtr(-z)


def _logcdf(z: Any) -> Any:
    return log_ndtr(z)


def _logsf(z: Any) -> Any:
    return log_ndtr(-z)


def _ppf(q: Any) -> Any:
    return ndtri(q)


def _isf(q: Any) -> Any:
    return -ndtri(q)


@fused
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the density of the normal distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import norm
    >>> norm.pdf(1.0).round(4)
    Array(0.242, dtype=float32, weak_type=True)
    """
    return density("norm.pdf", _logpdf, x, loc=loc, scale=scale)


@fused
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the density of the normal distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import norm
    >>> norm.logpdf(1.0).round(4)
    Array(-1.4189, dtype=float32, weak_type=True)
    """
    return log_density("norm.logpdf", _logpdf, x, loc=loc, scale=scale)


@fused
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the distribution function of the normal distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import norm
    >>> norm.cdf(1.0).round(4)
    Array(0.84129995, dtype=float32)
    """
    return at_standard("norm.cdf", _cdf, x, loc=loc, scale=scale, weakly=False)


@fused
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the distribution function of the normal distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import norm
    >>> norm.logcdf(1.0).round(4)
    Array(-0.17279999, dtype=float32)
    """
    return at_standard("norm.logcdf", _logcdf, x, loc=loc, scale=scale, weakly=False)


@fused
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function of the normal distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import norm
    >>> norm.sf(1.0).round(4)
    Array(0.15869999, dtype=float32)
    """
    return at_standard("norm.sf", _sf, x, loc=loc, scale=scale, weakly=False)


@fused
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the survival function of the normal distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import norm
    >>> norm.logsf(1.0).round(4)
    Array(-1.841, dtype=float32)
    """
    return at_standard("norm.logsf", _logsf, x, loc=loc, scale=scale, weakly=False)


@fused
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantiles of the normal distribution.

    Args:
      q: probabilities; NaN results outside [0, 1].
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import norm
    >>> norm.ppf(0.25).round(4)
    Array(-0.6745, dtype=float32)
    """
    return quantiles("norm.ppf", _ppf, q, loc=loc, scale=scale, weakly=False)


@fused
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return where the survival function of the normal distribution is q.

    Args:
      q: probabilities; NaN results outside [0, 1].
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import norm
    >>> norm.isf(0.25).round(4)
    Array(0.6745, dtype=float32)
    """
    return quantiles("norm.isf", _isf, q, loc=loc, scale=scale, weakly=False)
