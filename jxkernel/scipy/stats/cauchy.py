"""The Cauchy distribution."""

from math import log, pi
from typing import Any

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
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


def _logpdf(z: Any) -> Any:
    return -log(pi) - jnp.log1p(z * z)


def _cdf(z: Any) -> Any:
    """Return the angle of (-z, 1) over π, which is exact in the lower tail."""
    return jnp.arctan2(jnp.ones_like(z), -z) / pi


def _sf(z: Any) -> Any:
    return _cdf(-z)


def _logcdf(z: Any) -> Any:
    return jnp.log(_cdf(z))


def _logsf(z: Any) -> Any:
    return jnp.log(_cdf(-z))


def _ppf(q: Any) -> Any:
    """Return tan(π(q - 1/2)), towards the ends as ∓1/tan of π times what is left."""
    upper = q > 0.5
    rest = jnp.where(upper, 1 - q, q)
    middle = rest > 0.25
    size = 1 / jnp.tan(pi * jnp.where(middle, 0.25, rest))
    inner = jnp.tan(pi * jnp.where(middle, q - 0.5, 0))
    return jnp.where(middle, inner, jnp.where(upper, size, -size))


def _isf(q: Any) -> Any:
    return -_ppf(q)


@fused
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the density of the Cauchy distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import cauchy
    >>> cauchy.pdf(1.0).round(4)
    Array(0.1592, dtype=float32, weak_type=True)
    """
    return density("cauchy.pdf", _logpdf, x, loc=loc, scale=scale)


@fused
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the density of the Cauchy distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import cauchy
    >>> cauchy.logpdf(1.0).round(4)
    Array(-1.8378999, dtype=float32, weak_type=True)
    """
    return log_density("cauchy.logpdf", _logpdf, x, loc=loc, scale=scale)


@fused
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the distribution function of the Cauchy distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import cauchy
    >>> cauchy.cdf(1.0).round(4)
    Array(0.75, dtype=float32, weak_type=True)
    """
    return at_standard("cauchy.cdf", _cdf, x, loc=loc, scale=scale)


@fused
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the distribution function of the Cauchy distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import cauchy
    >>> cauchy.logcdf(1.0).round(4)
    Array(-0.2877, dtype=float32, weak_type=True)
    """
    return at_standard("cauchy.logcdf", _logcdf, x, loc=loc, scale=scale)


@fused
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function of the Cauchy distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import cauchy
    >>> cauchy.sf(1.0).round(4)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return at_standard("cauchy.sf", _sf, x, loc=loc, scale=scale)


@fused
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the survival function of the Cauchy distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import cauchy
    >>> cauchy.logsf(1.0).round(4)
    Array(-1.3863, dtype=float32, weak_type=True)
    """
    return at_standard("cauchy.logsf", _logsf, x, loc=loc, scale=scale)


@fused
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantiles of the Cauchy distribution.

    Args:
      q: probabilities; NaN results outside [0, 1].
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import cauchy
    >>> cauchy.ppf(0.25).round(4)
    Array(-1., dtype=float32, weak_type=True)
    """
    return quantiles("cauchy.ppf", _ppf, q, loc=loc, scale=scale)


@fused
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return where the survival function of the Cauchy distribution is q.

    Args:
      q: probabilities; NaN results outside [0, 1].
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import cauchy
    >>> cauchy.isf(0.25).round(4)
    Array(1., dtype=float32, weak_type=True)
    """
    return quantiles("cauchy.isf", _isf, q, loc=loc, scale=scale)
