"""The beta distribution, of density ∝ xᵃ⁻¹ (1 - x)ᵇ⁻¹."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.scipy.special import betainc, betaln, xlog1py, xlogy
from jxkernel.scipy.stats.families import (
    at_standard,
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


def _logpdf(z: Any, a: Any, b: Any) -> Any:
    inside = (z >= 0) & (z <= 1)
    safe = jnp.where(inside, z, 0.5)
    value = xlogy(a - 1, safe) + xlog1py(b - 1, -safe) - betaln(a, b)
    return jnp.where((a > 0) & (b > 0), jnp.where(inside, value, -np.inf), np.nan)


def _cdf(z: Any, a: Any, b: Any) -> Any:
    return betainc(a, b, jnp.clip(z, 0, 1))


def _logcdf(z: Any, a: Any, b: Any) -> Any:
    return jnp.log(_cdf(z, a, b))


def _sf(z: Any, a: Any, b: Any) -> Any:
    return betainc(b, a, 1 - jnp.clip(z, 0, 1))


def _logsf(z: Any, a: Any, b: Any) -> Any:
    return jnp.log(_sf(z, a, b))


@fused
def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the density of the beta distribution.

    Args:
      x: where to evaluate it.
      a: the first shape parameter, positive.
      b: the second.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import beta
    >>> beta.pdf(0.25, 2.0, 3.0).round(4)
    Array(1.6875, dtype=float32, weak_type=True)
    """
    return density("beta.pdf", _logpdf, x, a, b, loc=loc, scale=scale)


@fused
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the density of the beta distribution.

    Args:
      x: where to evaluate it.
      a: the first shape parameter, positive.
      b: the second.
      loc: the shift.
      scale: the scale, positive.

    -inf outside [loc, loc + scale].

    >>> from jxkernel.scipy.stats import beta
    >>> beta.logpdf(0.25, 2.0, 3.0).round(4)
    Array(0.5232, dtype=float32, weak_type=True)
    """
    return log_density("beta.logpdf", _logpdf, x, a, b, loc=loc, scale=scale)


@fused
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the distribution function of the beta distribution.

    Args:
      x: where to evaluate it.
      a: the first shape parameter, positive.
      b: the second.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import beta
    >>> beta.cdf(0.25, 2.0, 3.0).round(4)
    Array(0.2617, dtype=float32, weak_type=True)
    """
    return at_standard("beta.cdf", _cdf, x, a, b, loc=loc, scale=scale)


@fused
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the distribution function of the beta distribution.

    Args:
      x: where to evaluate it.
      a: the first shape parameter, positive.
      b: the second.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import beta
    >>> beta.logcdf(0.25, 2.0, 3.0).round(4)
    Array(-1.3405, dtype=float32, weak_type=True)
    """
    return at_standard("beta.logcdf", _logcdf, x, a, b, loc=loc, scale=scale)


@fused
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function of the beta distribution.

    Args:
      x: where to evaluate it.
      a: the first shape parameter, positive.
      b: the second.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import beta
    >>> beta.sf(0.25, 2.0, 3.0).round(4)
    Array(0.73829997, dtype=float32, weak_type=True)
    """
    return at_standard("beta.sf", _sf, x, a, b, loc=loc, scale=scale)


@fused
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the survival function of the beta distribution.

    Args:
      x: where to evaluate it.
      a: the first shape parameter, positive.
      b: the second.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import beta
    >>> beta.logsf(0.25, 2.0, 3.0).round(4)
    Array(-0.30339998, dtype=float32, weak_type=True)
    """
    return at_standard("beta.logsf", _logsf, x, a, b, loc=loc, scale=scale)
