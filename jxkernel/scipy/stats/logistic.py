"""The logistic distribution."""

from typing import Any

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.scipy.special import expit, logit
from jxkernel.scipy.stats.families import (
    at_standard,
    density,
    log_density,
    quantiles,
)

__all__ = [
    "cdf",
    "isf",
    "logpdf",
    "pdf",
    "ppf",
    "sf",
]


def _logpdf(z: Any) -> Any:
    return -jnp.logaddexp(z, 0) - jnp.logaddexp(-z, 0)


def _cdf(z: Any) -> Any:
    return expit(z)


def _sf(z: Any) -> Any:
    return expit(-z)


def _ppf(q: Any) -> Any:
    return logit(q)


def _isf(q: Any) -> Any:
    return -logit(q)


@fused
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the density of the logistic distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import logistic
    >>> logistic.pdf(0.25).round(4)
    Array(0.2461, dtype=float32, weak_type=True)
    """
    return density("logistic.pdf", _logpdf, x, loc=loc, scale=scale, weakly=(0, 1, 2))


@fused
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the density of the logistic distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import logistic
    >>> logistic.logpdf(0.25).round(4)
    Array(-1.4018999, dtype=float32, weak_type=True)
    """
    return log_density("logistic.logpdf", _logpdf, x, loc=loc, scale=scale, weakly=(0, 1, 2))


@fused
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the distribution function of the logistic distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import logistic
    >>> logistic.cdf(0.25).round(4)
    Array(0.5622, dtype=float32, weak_type=True)
    """
    return at_standard("logistic.cdf", _cdf, x, loc=loc, scale=scale, weakly=True)


@fused
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function of the logistic distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import logistic
    >>> logistic.sf(0.25).round(4)
    Array(0.4378, dtype=float32, weak_type=True)
    """
    return at_standard("logistic.sf", _sf, x, loc=loc, scale=scale, weakly=True)


@fused
def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantiles of the logistic distribution.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import logistic
    >>> logistic.ppf(0.25).round(4)
    Array(-1.0986, dtype=float32, weak_type=True)
    """
    return quantiles("logistic.ppf", _ppf, x, loc=loc, scale=scale)


@fused
def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return where the survival function of the logistic distribution is q.

    Args:
      x: where to evaluate it.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import logistic
    >>> logistic.isf(0.25).round(4)
    Array(1.0986, dtype=float32, weak_type=True)
    """
    return quantiles("logistic.isf", _isf, x, loc=loc, scale=scale)
