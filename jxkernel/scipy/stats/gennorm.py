"""The generalized normal distribution, of density ∝ exp(-|x|ᵝ)."""

from typing import Any

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.scipy.special import gammaincc, gammaln
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


def _logpdf(z: Any, beta: Any) -> Any:
    return jnp.log(beta / 2) - gammaln(1 / beta) - abs(z) ** beta


def _cdf(z: Any, beta: Any) -> Any:
    tail = 0.5 * gammaincc(1 / beta, abs(z) ** beta)
    return jnp.where(z < 0, tail, 1 - tail)


@fused
def pdf(x: Any, beta: Any) -> Any:
    """Return the density of the generalized normal distribution.

    Args:
      x: where to evaluate it.
      beta: the exponent, positive: 2 is normal of variance 1/2, 1 is Laplace.

    >>> from jxkernel.scipy.stats import gennorm
    >>> gennorm.pdf(1.0, 2.0).round(4)
    Array(0.2076, dtype=float32)
    """
    return density("gennorm.pdf", _logpdf, x, beta, loc=0, scale=1)


@fused
def logpdf(x: Any, beta: Any) -> Any:
    """Return the logarithm of the density of the generalized normal distribution.

    Args:
      x: where to evaluate it.
      beta: the exponent, positive: 2 is normal of variance 1/2, 1 is Laplace.

    >>> from jxkernel.scipy.stats import gennorm
    >>> gennorm.logpdf(1.0, 2.0).round(4)
    Array(-1.5724, dtype=float32)
    """
    return log_density("gennorm.logpdf", _logpdf, x, beta, loc=0, scale=1)


@fused
def cdf(x: Any, beta: Any) -> Any:
    """Return the distribution function of the generalized normal distribution.

    Args:
      x: where to evaluate it.
      beta: the exponent, positive: 2 is normal of variance 1/2, 1 is Laplace.

    >>> from jxkernel.scipy.stats import gennorm
    >>> gennorm.cdf(1.0, 2.0).round(4)
    Array(0.92139995, dtype=float32)
    """
    return at_standard("gennorm.cdf", _cdf, x, beta, loc=0, scale=1)
