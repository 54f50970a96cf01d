"""The Pareto distribution, of density b / xᵇ⁺¹ for x ≥ 1."""

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


def _logpdf(z: Any, b: Any) -> Any:
    inside = z >= 1
    return jnp.where(inside, jnp.log(b) - (b + 1) * jnp.log(jnp.where(inside, z, 1)), -np.inf)


def _logsf(z: Any, b: Any) -> Any:
    inside = z >= 1
    value = jnp.where(inside, -b * jnp.log(jnp.where(inside, z, 2)), 0)
    return jnp.where(b > 0, value, np.nan)


def _sf(z: Any, b: Any) -> Any:
    return jnp.exp(_logsf(z, b))


def _cdf(z: Any, b: Any) -> Any:
    return -jnp.expm1(_logsf(z, b))


def _logcdf(z: Any, b: Any) -> Any:
    inside = z > 1
    return jnp.where(inside, log_of_rest(_logsf(jnp.where(inside, z, 2), b)), -np.inf)


def _ppf(q: Any, b: Any) -> Any:
    return jnp.exp(-jnp.log1p(-q) / b)


@fused
def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the density of the Pareto distribution.

    Args:
      x: where to evaluate it.
      b: the exponent, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import pareto
    >>> pareto.pdf(2.0, 2.0).round(4)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return density("pareto.pdf", _logpdf, x, b, loc=loc, scale=scale)


@fused
def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the density of the Pareto distribution.

    Args:
      x: where to evaluate it.
      b: the exponent, positive.
      loc: the shift.
      scale: the scale, positive.

    -inf below ``loc + scale``.

    >>> from jxkernel.scipy.stats import pareto
    >>> pareto.logpdf(2.0, 2.0).round(4)
    Array(-1.3863, dtype=float32, weak_type=True)
    """
    return log_density("pareto.logpdf", _logpdf, x, b, loc=loc, scale=scale)


@fused
def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the distribution function of the Pareto distribution.

    Args:
      x: where to evaluate it.
      b: the exponent, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import pareto
    >>> pareto.cdf(2.0, 2.0).round(4)
    Array(0.75, dtype=float32, weak_type=True)
    """
    return at_standard("pareto.cdf", _cdf, x, b, loc=loc, scale=scale)


@fused
def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the distribution function of the Pareto distribution.

    Args:
      x: where to evaluate it.
      b: the exponent, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import pareto
    >>> pareto.logcdf(2.0, 2.0).round(4)
    Array(-0.2877, dtype=float32, weak_type=True)
    """
    return at_standard("pareto.logcdf", _logcdf, x, b, loc=loc, scale=scale, weakly=True)


@fused
def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function of the Pareto distribution.

    Args:
      x: where to evaluate it.
      b: the exponent, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import pareto
    >>> pareto.sf(2.0, 2.0).round(4)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return at_standard("pareto.sf", _sf, x, b, loc=loc, scale=scale)


@fused
def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the survival function of the Pareto distribution.

    Args:
      x: where to evaluate it.
      b: the exponent, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import pareto
    >>> pareto.logsf(2.0, 2.0).round(4)
    Array(-1.3863, dtype=float32, weak_type=True)
    """
    return at_standard("pareto.logsf", _logsf, x, b, loc=loc, scale=scale)


@fused
def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantiles of the Pareto distribution.

    Args:
      q: probabilities; NaN results outside [0, 1].
      b: the exponent, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import pareto
    >>> pareto.ppf(0.25, 2.0).round(4)
    Array(1.1546999, dtype=float32, weak_type=True)
    """
    return quantiles("pareto.ppf", _ppf, q, b, loc=loc, scale=scale)
