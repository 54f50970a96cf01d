"""Student's t distribution."""

from math import log, pi
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.scipy.special import betaln
from jxkernel.scipy.stats.families import Continuous, log1p_square

__all__ = [
    "logpdf",
    "pdf",
]


def _logpdf(z: Any, df: Any) -> Any:
    """Γ((n + 1)/2) / (Γ(n/2) √π) is 1 / B(n/2, 1/2), in which nothing cancels; normal for n = ∞."""
    normal = df == np.inf
    finite = jnp.where(normal, 1, df)
    scale = -betaln(finite / 2, jnp.full_like(df, 0.5)) - 0.5 * jnp.log(finite)
    value = scale - 0.5 * (finite + 1) * log1p_square(z, finite)
    limit = -0.5 * (jnp.where(normal, z, 0) ** 2 + log(2 * pi))
    return jnp.where(df > 0, jnp.where(normal, limit, value), np.nan)


_T = Continuous("t", "Student's t distribution", df="the degrees of freedom, positive.")
pdf = _T("pdf", _logpdf, at="1.0, 3.0", shows="Array(0.2067, dtype=float32, weak_type=True)")
logpdf = _T(
    "logpdf", _logpdf, at="1.0, 3.0", shows="Array(-1.5762999, dtype=float32, weak_type=True)"
)
