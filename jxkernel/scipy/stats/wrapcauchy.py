"""The wrapped Cauchy distribution of angles in [0, 2π]."""

from math import log, pi
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.scipy.stats.families import (
    density,
    log_density,
)

__all__ = [
    "logpdf",
    "pdf",
]


def _logpdf(z: Any, c: Any) -> Any:
    inside = (z >= 0) & (z <= 2 * pi)
    spread = (1 - c) ** 2 + 4 * c * jnp.sin(z / 2) ** 2
    value = jnp.log1p(-c * c) - log(2 * pi) - jnp.log(spread)
    value = jnp.where(inside, value, -np.inf)
    return jnp.where((c > 0) & (c < 1), value, np.nan)


@fused
def pdf(x: Any, c: Any) -> Any:
    """Return the density of the wrapped Cauchy distribution.

    Args:
      x: where to evaluate it.
      c: the concentration, between 0 and 1.

    >>> from jxkernel.scipy.stats import wrapcauchy
    >>> wrapcauchy.pdf(1.0, 0.5).round(4)
    Array(0.1682, dtype=float32, weak_type=True)
    """
    return density("wrapcauchy.pdf", _logpdf, x, c, loc=0, scale=1, weakly=True)


@fused
def logpdf(x: Any, c: Any) -> Any:
    """Return the logarithm of the density of the wrapped Cauchy distribution.

    Args:
      x: where to evaluate it.
      c: the concentration, between 0 and 1.

    -inf outside [0, 2π].

    >>> from jxkernel.scipy.stats import wrapcauchy
    >>> wrapcauchy.logpdf(1.0, 0.5).round(4)
    Array(-1.7825999, dtype=float32, weak_type=True)
    """
    return log_density("wrapcauchy.logpdf", _logpdf, x, c, loc=0, scale=1, weakly=True)
