"""The Gumbel distribution of least values."""

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
    return jnp.where(z < np.inf, z - jnp.exp(z), -np.inf)


def _cdf(z: Any) -> Any:
    return -jnp.expm1(-jnp.exp(z))


def _logcdf(z: Any) -> Any:
    return log_of_rest(-jnp.exp(z))


def _sf(z: Any) -> Any:
    return jnp.exp(-jnp.exp(z))


def _logsf(z: Any) -> Any:
    return -jnp.exp(z)


def _ppf(p: Any) -> Any:
    return jnp.log(-jnp.log1p(-p))


@fused
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the density of the Gumbel distribution of least values.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import gumbel_l
    >>> gumbel_l.pdf(0.25).round(4)
    Array(0.3556, dtype=float32, weak_type=True)
    """
    return density("gumbel_l.pdf", _logpdf, x, loc=loc, scale=scale, weakly=True)


@fused
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the density of the Gumbel distribution of least values.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import gumbel_l
    >>> gumbel_l.logpdf(0.25).round(4)
    Array(-1.0339999, dtype=float32, weak_type=True)
    """
    return log_density("gumbel_l.logpdf", _logpdf, x, loc=loc, scale=scale, weakly=True)


@fused
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the distribution function of the Gumbel distribution of least values.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import gumbel_l
    >>> gumbel_l.cdf(0.25).round(4)
    Array(0.7231, dtype=float32, weak_type=True)
    """
    return at_standard("gumbel_l.cdf", _cdf, x, loc=loc, scale=scale, weakly=True)


@fused
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the distribution function of the Gumbel distribution of least values.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import gumbel_l
    >>> gumbel_l.logcdf(0.25).round(4)
    Array(-0.3242, dtype=float32, weak_type=True)
    """
    return at_standard("gumbel_l.logcdf", _logcdf, x, loc=loc, scale=scale, weakly=True)


@fused
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function of the Gumbel distribution of least values.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import gumbel_l
    >>> gumbel_l.sf(0.25).round(4)
    Array(0.2769, dtype=float32, weak_type=True)
    """
    return at_standard("gumbel_l.sf", _sf, x, loc=loc, scale=scale, weakly=True)


@fused
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the survival function of the Gumbel distribution of least values.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import gumbel_l
    >>> gumbel_l.logsf(0.25).round(4)
    Array(-1.2839999, dtype=float32, weak_type=True)
    """
    return at_standard("gumbel_l.logsf", _logsf, x, loc=loc, scale=scale, weakly=True)


@fused
def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantiles of the Gumbel distribution of least values.

    Args:
      p: probabilities; NaN results outside [0, 1].
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import gumbel_l
    >>> gumbel_l.ppf(0.25).round(4)
    Array(-1.2458999, dtype=float32, weak_type=True)
    """
    return quantiles("gumbel_l.ppf", _ppf, p, loc=loc, scale=scale, weakly=True)
