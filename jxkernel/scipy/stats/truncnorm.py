"""The normal distribution on the condition of lying between two bounds."""

from math import log, pi
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.scipy.special import log_ndtr
from jxkernel.scipy.stats.families import (
    at_standard,
    density,
    log_density,
    log_of_rest,
)

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "sf",
]


_HALF_LOG_TAU = 0.5 * log(2 * pi)


def _log_weight(low: Any, high: Any) -> Any:
    """Return log(Φ(high) - Φ(low)), from the tail in which the interval lies."""
    mirrored = low > 0
    low, high = jnp.where(mirrored, -high, low), jnp.where(mirrored, -low, high)
    apart = low < high
    top = log_ndtr(high)
    # Below -inf there is nothing, and log Φ has no slope there.
    bounded = apart & (low > -np.inf)
    ratio = jnp.where(bounded, log_ndtr(jnp.where(bounded, low, 0)) - top, -1)
    value = top + jnp.where(bounded, log_of_rest(ratio), 0)
    return jnp.where(apart, value, -np.inf)


def _bounded(z: Any, a: Any, b: Any, value: Any, below: float, above: float) -> Any:
    """Return a value between the bounds, and given ones beyond them."""
    value = jnp.where(z <= a, below, jnp.where(z >= b, above, value))
    return jnp.where(a < b, value, np.nan)


def _logpdf(z: Any, a: Any, b: Any) -> Any:
    value = -0.5 * z * z - _HALF_LOG_TAU - _log_weight(a, b)
    value = jnp.where((z < a) | (z > b), -np.inf, value)
    return jnp.where(a < b, value, np.nan)


def _logcdf(z: Any, a: Any, b: Any) -> Any:
    inner = jnp.clip(z, a, b)
    return _bounded(z, a, b, _log_weight(a, inner) - _log_weight(a, b), -np.inf, 0.0)


def _logsf(z: Any, a: Any, b: Any) -> Any:
    inner = jnp.clip(z, a, b)
    return _bounded(z, a, b, _log_weight(inner, b) - _log_weight(a, b), 0.0, -np.inf)


def _cdf(z: Any, a: Any, b: Any) -> Any:
    return jnp.exp(_logcdf(z, a, b))


def _sf(z: Any, a: Any, b: Any) -> Any:
    return jnp.exp(_logsf(z, a, b))


@fused
def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the density of the truncated normal distribution.

    Args:
      x: where to evaluate it.
      a: the lower bound of the standardized variable.
      b: the upper bound; where it is not above ``a`` the result is NaN.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import truncnorm
    >>> truncnorm.pdf(0.5, -1.0, 2.0).round(4)
    Array(0.4301, dtype=float32)
    """
    return density("truncnorm.pdf", _logpdf, x, a, b, loc=loc, scale=scale, weakly=False)


@fused
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the density of the truncated normal distribution.

    Args:
      x: where to evaluate it.
      a: the lower bound of the standardized variable.
      b: the upper bound; where it is not above ``a`` the result is NaN.
      loc: the shift.
      scale: the scale, positive.

    -inf outside the bounds.

    >>> from jxkernel.scipy.stats import truncnorm
    >>> truncnorm.logpdf(0.5, -1.0, 2.0).round(4)
    Array(-0.8438, dtype=float32)
    """
    return log_density("truncnorm.logpdf", _logpdf, x, a, b, loc=loc, scale=scale, weakly=False)


@fused
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the distribution function of the truncated normal distribution.

    Args:
      x: where to evaluate it.
      a: the lower bound of the standardized variable.
      b: the upper bound; where it is not above ``a`` the result is NaN.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import truncnorm
    >>> truncnorm.cdf(0.5, -1.0, 2.0).round(4)
    Array(0.6509, dtype=float32)
    """
    return at_standard("truncnorm.cdf", _cdf, x, a, b, loc=loc, scale=scale, weakly=False)


@fused
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the distribution function of the truncated normal distribution.

    Args:
      x: where to evaluate it.
      a: the lower bound of the standardized variable.
      b: the upper bound; where it is not above ``a`` the result is NaN.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import truncnorm
    >>> truncnorm.logcdf(0.5, -1.0, 2.0).round(4)
    Array(-0.4294, dtype=float32)
    """
    return at_standard("truncnorm.logcdf", _logcdf, x, a, b, loc=loc, scale=scale, weakly=False)


@fused
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function of the truncated normal distribution.

    Args:
      x: where to evaluate it.
      a: the lower bound of the standardized variable.
      b: the upper bound; where it is not above ``a`` the result is NaN.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import truncnorm
    >>> truncnorm.sf(0.5, -1.0, 2.0).round(4)
    Array(0.3491, dtype=float32)
    """
    return at_standard("truncnorm.sf", _sf, x, a, b, loc=loc, scale=scale, weakly=False)


@fused
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the survival function of the truncated normal distribution.

    Args:
      x: where to evaluate it.
      a: the lower bound of the standardized variable.
      b: the upper bound; where it is not above ``a`` the result is NaN.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import truncnorm
    >>> truncnorm.logsf(0.5, -1.0, 2.0).round(4)
    Array(-1.0523, dtype=float32)
    """
    return at_standard("truncnorm.logsf", _logsf, x, a, b, loc=loc, scale=scale, weakly=False)
