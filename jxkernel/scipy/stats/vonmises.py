"""The von Mises distribution of angles, of density ∝ exp(κ cos x)."""

from math import log, pi
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.scipy.special import i0e
from jxkernel.scipy.stats.families import (
    density,
    log_density,
)

__all__ = [
    "logpdf",
    "pdf",
]


def _logpdf(z: Any, kappa: Any) -> Any:
    """With cos x - 1 = -2 sin²(x/2) and the scaled I₀, nothing overflows.

    κ - |κ|, which is 0, gives the derivative at κ = 0 what the scaled I₀ has not there.
    """
    exponent = kappa - abs(kappa) - 2 * kappa * jnp.sin(z / 2) ** 2
    value = exponent - log(2 * pi) - jnp.log(i0e(kappa))
    return jnp.where(kappa >= 0, value, np.nan)


@fused
def pdf(x: Any, kappa: Any) -> Any:
    """Return the density of the von Mises distribution.

    Args:
      x: where to evaluate it.
      kappa: the concentration κ, positive.

    >>> from jxkernel.scipy.stats import vonmises
    >>> vonmises.pdf(1.0, 2.0).round(4)
    Array(0.2057, dtype=float32, weak_type=True)
    """
    return density("vonmises.pdf", _logpdf, x, kappa, loc=0, scale=1, weakly=True)


@fused
def logpdf(x: Any, kappa: Any) -> Any:
    """Return the logarithm of the density of the von Mises distribution.

    Args:
      x: where to evaluate it.
      kappa: the concentration κ, positive.

    >>> from jxkernel.scipy.stats import vonmises
    >>> vonmises.logpdf(1.0, 2.0).round(4)
    Array(-1.5812999, dtype=float32, weak_type=True)
    """
    return log_density("vonmises.logpdf", _logpdf, x, kappa, loc=0, scale=1, weakly=True)
