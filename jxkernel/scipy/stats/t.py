"""Student's t distribution."""

from typing import Any

import jxkernel.numpy as jnp
from jxkernel.scipy.special import betaln
from jxkernel.scipy.stats.families import Continuous

__all__ = [
    "logpdf",
    "pdf",
]


def _logpdf(z: Any, df: Any) -> Any:
    """Γ((n + 1)/2) / (Γ(n/2) √π) is 1 / B(n/2, 1/2), in which nothing cancels."""
    scale = -betaln(df / 2, jnp.full_like(df, 0.5)) - 0.5 * jnp.log(df)
    return scale - 0.5 * (df + 1) * jnp.log1p(z * z / df)


_T = Continuous("t", "Student's t distribution", df="the degrees of freedom, positive.")
pdf = _T("pdf", _logpdf, at="1.0, 3.0", shows="Array(0.2067, dtype=float32, weak_type=True)")
logpdf = _T(
    "logpdf", _logpdf, at="1.0, 3.0", shows="Array(-1.5762999, dtype=float32, weak_type=True)"
)
