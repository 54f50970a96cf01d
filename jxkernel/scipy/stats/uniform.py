"""The uniform distribution on [loc, loc + scale]."""

from typing import Any

import numpy as np

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
    "logpdf",
    "pdf",
    "ppf",
]


def _logpdf(z: Any) -> Any:
    return jnp.where((z >= 0) & (z <= 1), 0.0, -np.inf).astype(z.dtype)


def _cdf(z: Any) -> Any:
    return jnp.clip(z, 0, 1)


def _ppf(q: Any) -> Any:
    return q


@fused
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the density of the uniform distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import uniform
    >>> uniform.pdf(0.25).round(4)
    Array(1., dtype=float32, weak_type=True)
    """
    return density("uniform.pdf", _logpdf, x, loc=loc, scale=scale, weakly=True)


@fused
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the density of the uniform distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    -inf outside the interval.

    >>> from jxkernel.scipy.stats import uniform
    >>> uniform.logpdf(0.25).round(4)
    Array(0., dtype=float32, weak_type=True)
    """
    return log_density("uniform.logpdf", _logpdf, x, loc=loc, scale=scale, weakly=True)


@fused
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the distribution function of the uniform distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import uniform
    >>> uniform.cdf(0.25).round(4)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return at_standard("uniform.cdf", _cdf, x, loc=loc, scale=scale, weakly=True)


@fused
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantiles of the uniform distribution.

    Args:
      q: probabilities; NaN results outside [0, 1].
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import uniform
    >>> uniform.ppf(0.25).round(4)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return quantiles("uniform.ppf", _ppf, q, loc=loc, scale=scale, weakly=True)
