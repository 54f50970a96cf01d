"""Student's t distribution."""

from typing import Any

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.scipy.special import betaln
from jxkernel.scipy.stats.families import (
    density,
    log_density,
)

__all__ = [
    "logpdf",
    "pdf",
]


def _logpdf(z: Any, df: Any) -> Any:
    """Γ((n + 1)/2) / (Γ(n/2) √π) is 1 / B(n/2, 1/2), in which nothing cancels."""
    scale = -betaln(df / 2, jnp.full_like(df, 0.5)) - 0.5 * jnp.log(df)
    return scale - 0.5 * (df + 1) * jnp.log1p(z * z / df)


@fused
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the density of Student's t distribution.

    Args:
      x: where to evaluate it.
      df: the degrees of freedom, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import t
    >>> t.pdf(1.0, 3.0).round(4)
    Array(0.2067, dtype=float32, weak_type=True)
    """
    return density("t.pdf", _logpdf, x, df, loc=loc, scale=scale)


@fused
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the density of Student's t distribution.

    Args:
      x: where to evaluate it.
      df: the degrees of freedom, positive.
      loc: the shift.
      scale: the scale, positive.

    >>> from jxkernel.scipy.stats import t
    >>> t.logpdf(1.0, 3.0).round(4)
    Array(-1.5762999, dtype=float32, weak_type=True)
    """
    return log_density("t.logpdf", _logpdf, x, df, loc=loc, scale=scale)
