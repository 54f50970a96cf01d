"""The gamma distribution, of density xᵃ⁻¹ e⁻ˣ / Γ(a)."""

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


def _logpdf(z: Any, a: Any) -> Any:
    inside = z >= 0
    safe = jnp.where(inside, z, 1)
    return jnp.where(inside, xlogy(a - 1, safe) - safe - gammaln(a), -np.inf)


def _cdf(z: Any, a: Any) -> Any:
    return between_ends(gammainc, a, z, 0, 1)


def _logcdf(z: Any, a: Any) -> Any:
    return jnp.log(_cdf(z, a))


def _sf(z: Any, a: Any) -> Any:
    return between_ends(gammaincc, a, z, 1, 0)


def _logsf(z: Any, a: Any) -> Any:
    return jnp.log(_sf(z, a))


@fused
def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the density of the gamma distribution.

    Args:
      x: where to evaluate it.
      a: the shape parameter, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import gamma
    >>> gamma.pdf(1.0, 2.0).round(4)
    Array(0.36789998, dtype=float32, weak_type=True)
    """
    return density("gamma.pdf", _logpdf, x, a, loc=loc, scale=scale)


@fused
def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the density of the gamma distribution.

    Args:
      x: where to evaluate it.
      a: the shape parameter, positive.
      loc: the shift.
      scale: the scale, positive.

    -inf below ``loc``.

    >>> from jxkernel.scipy.stats import gamma
    >>> gamma.logpdf(1.0, 2.0).round(4)
    Array(-1., dtype=float32, weak_type=True)
    """
    return log_density("gamma.logpdf", _logpdf, x, a, loc=loc, scale=scale)


@fused
def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the distribution function of the gamma distribution.

    Args:
      x: where to evaluate it.
      a: the shape parameter, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import gamma
    >>> gamma.cdf(1.0, 2.0).round(4)
    Array(0.2642, dtype=float32, weak_type=True)
    """
    return at_standard("gamma.cdf", _cdf, x, a, loc=loc, scale=scale)


@fused
def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the distribution function of the gamma distribution.

    Args:
      x: where to evaluate it.
      a: the shape parameter, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import gamma
    >>> gamma.logcdf(1.0, 2.0).round(4)
    Array(-1.3309, dtype=float32, weak_type=True)
    """
    return at_standard("gamma.logcdf", _logcdf, x, a, loc=loc, scale=scale)


@fused
def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function of the gamma distribution.

    Args:
      x: where to evaluate it.
      a: the shape parameter, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import gamma
    >>> gamma.sf(1.0, 2.0).round(4)
    Array(0.73579997, dtype=float32, weak_type=True)
    """
    return at_standard("gamma.sf", _sf, x, a, loc=loc, scale=scale, weakly=True)


@fused
def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the survival function of the gamma distribution.

    Args:
      x: where to evaluate it.
      a: the shape parameter, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import gamma
    >>> gamma.logsf(1.0, 2.0).round(4)
    Array(-0.3069, dtype=float32, weak_type=True)
    """
    return at_standard("gamma.logsf", _logsf, x, a, loc=loc, scale=scale, weakly=True)
