"""The Laplace distribution, of density exp(-|x|)/2."""

from math import log
from typing import Any

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.scipy.stats.families import (
    at_standard,
    density,
    log_density,
)

__all__ = [
    "cdf",
    "logpdf",
    "pdf",
]


def _logpdf(z: Any) -> Any:
    return -abs(z) - log(2)


def _cdf(z: Any) -> Any:
    # Not abs(z), whose derivative at 0 is 0: that of the function is 1/2.
    tail = 0.5 * jnp.exp(jnp.where(z < 0, z, -z))
    return jnp.where(z < 0, tail, 1 - tail)


@fused
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the density of the Laplace distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import laplace
    >>> laplace.pdf(1.0).round(4)
    Array(0.1839, dtype=float32, weak_type=True)
    """
    return density("laplace.pdf", _logpdf, x, loc=loc, scale=scale)


@fused
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the density of the Laplace distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import laplace
    >>> laplace.logpdf(1.0).round(4)
    Array(-1.6931, dtype=float32, weak_type=True)
    """
    return log_density("laplace.logpdf", _logpdf, x, loc=loc, scale=scale)


@fused
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the distribution function of the Laplace distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import laplace
    >>> laplace.cdf(1.0).round(4)
    Array(0.8161, dtype=float32, weak_type=True)
    """
    return at_standard("laplace.cdf", _cdf, x, loc=loc, scale=scale)
