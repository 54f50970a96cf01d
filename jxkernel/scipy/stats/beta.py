"""The beta distribution, of density ∝ xᵃ⁻¹ (1 - x)ᵇ⁻¹."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.scipy.special import betainc, betaln, xlog1py, xlogy
from jxkernel.scipy.stats.families import Continuous

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "sf",
]


def _logpdf(z: Any, a: Any, b: Any) -> Any:
    inside = (z >= 0) & (z <= 1)
    safe = jnp.where(inside, z, 0.5)
    value = xlogy(a - 1, safe) + xlog1py(b - 1, -safe) - betaln(a, b)
    return jnp.where((a > 0) & (b > 0), jnp.where(inside, value, -np.inf), np.nan)


def _cdf(z: Any, a: Any, b: Any) -> Any:
    return betainc(a, b, jnp.clip(z, 0, 1))


def _logcdf(z: Any, a: Any, b: Any) -> Any:
    return jnp.log(_cdf(z, a, b))


def _sf(z: Any, a: Any, b: Any) -> Any:
    return betainc(b, a, 1 - jnp.clip(z, 0, 1))


def _logsf(z: Any, a: Any, b: Any) -> Any:
    return jnp.log(_sf(z, a, b))


_BETA = Continuous(
    "beta", "the beta distribution", a="the first shape parameter, positive.", b="the second."
)
pdf = _BETA(
    "pdf", _logpdf, at="0.25, 2.0, 3.0", shows="Array(1.6875, dtype=float32, weak_type=True)"
)
logpdf = _BETA(
    "logpdf",
    _logpdf,
    at="0.25, 2.0, 3.0",
    shows="Array(0.5232, dtype=float32, weak_type=True)",
    note="-inf outside [loc, loc + scale].",
)
cdf = _BETA("cdf", _cdf, at="0.25, 2.0, 3.0", shows="Array(0.2617, dtype=float32, weak_type=True)")
logcdf = _BETA(
    "logcdf", _logcdf, at="0.25, 2.0, 3.0", shows="Array(-1.3405, dtype=float32, weak_type=True)"
)
sf = _BETA("sf", _sf, at="0.25, 2.0, 3.0", shows="Array(0.73829997, dtype=float32, weak_type=True)")
logsf = _BETA(
    "logsf", _logsf, at="0.25, 2.0, 3.0", shows="Array(-0.30339998, dtype=float32, weak_type=True)"
)
