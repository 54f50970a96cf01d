"""The chi-square distribution."""

from math import log
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.scipy.special import gammainc, gammaincc, gammaln, xlogy
from jxkernel.scipy.stats.families import (
    at_standard,
    between_ends,
    density,
    log_density,
)

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "sf",
]


def _logpdf(z: Any, df: Any) -> Any:
    inside = z >= 0
    half = jnp.where(inside, z, 1) / 2
    value = xlogy(df / 2 - 1, half) - half - gammaln(df / 2) - log(2)
    return jnp.where(inside, value, -np.inf)


def _cdf(z: Any, df: Any) -> Any:
    return between_ends(gammainc, df / 2, z / 2, 0, 1)


def _logcdf(z: Any, df: Any) -> Any:
    return jnp.log(_cdf(z, df))


def _sf(z: Any, df: Any) -> Any:
    return between_ends(gammaincc, df / 2, z / 2, 1, 0)


def _logsf(z: Any, df: Any) -> Any:
    return jnp.log(_sf(z, df))


@fused
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the density of the chi-square distribution.

    Args:
      x: where to evaluate it.
      df: the degrees of freedom, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import chi2
    >>> chi2.pdf(1.0, 2.0).round(4)
    Array(0.3033, dtype=float32, weak_type=True)
    """
    return density("chi2.pdf", _logpdf, x, df, loc=loc, scale=scale)


@fused
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the density of the chi-square distribution.

    Args:
      x: where to evaluate it.
      df: the degrees of freedom, positive.
      loc: the shift.
      scale: the scale, positive.

    -inf below ``loc``.

    >>> from jxkernel.scipy.stats import chi2
    >>> chi2.logpdf(1.0, 2.0).round(4)
    Array(-1.1931, dtype=float32, weak_type=True)
    """
    return log_density("chi2.logpdf", _logpdf, x, df, loc=loc, scale=scale)


@fused
def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the distribution function of the chi-square distribution.

    Args:
      x: where to evaluate it.
      df: the degrees of freedom, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import chi2
    >>> chi2.cdf(1.0, 2.0).round(4)
    Array(0.3935, dtype=float32, weak_type=True)
    """
    return at_standard("chi2.cdf", _cdf, x, df, loc=loc, scale=scale, weakly=(0, 2))


@fused
def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the distribution function of the chi-square distribution.

    Args:
      x: where to evaluate it.
      df: the degrees of freedom, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import chi2
    >>> chi2.logcdf(1.0, 2.0).round(4)
    Array(-0.9328, dtype=float32, weak_type=True)
    """
    return at_standard("chi2.logcdf", _logcdf, x, df, loc=loc, scale=scale, weakly=(0, 2))


@fused
def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function of the chi-square distribution.

    Args:
      x: where to evaluate it.
      df: the degrees of freedom, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import chi2
    >>> chi2.sf(1.0, 2.0).round(4)
    Array(0.60649997, dtype=float32, weak_type=True)
    """
    return at_standard("chi2.sf", _sf, x, df, loc=loc, scale=scale, weakly=(0, 2))


@fused
def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the survival function of the chi-square distribution.

    Args:
      x: where to evaluate it.
      df: the degrees of freedom, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import chi2
    >>> chi2.logsf(1.0, 2.0).round(4)
    Array(-0.5, dtype=float32, weak_type=True)
    """
    return at_standard("chi2.logsf", _logsf, x, df, loc=loc, scale=scale, weakly=(0, 2))
