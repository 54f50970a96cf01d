"""The gamma distribution, of density xᵃ⁻¹ e⁻ˣ / Γ(a)."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.scipy.special import gammainc, gammaincc, gammaln, xlogy
from jxkernel.scipy.stats.families import Continuous, between_ends

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "sf",
]


def _logpdf(z: Any, a: Any) -> Any:
    inside = z >= 0
    safe = jnp.where(inside, z, 1)
    return jnp.where(inside, xlogy(a - 1, safe) - safe - gammaln(a), -np.inf)


def _cdf(z: Any, a: Any) -> Any:
    return between_ends(gammainc, a, z, 0, 1)


def _logcdf(z: Any, a: Any) -> Any:
    return jnp.log(_cdf(z, a))


def _sf(z: Any, a: Any) -> Any:
    return between_ends(gammaincc, a, z, 1, 0)


def _logsf(z: Any, a: Any) -> Any:
    return jnp.log(_sf(z, a))


_GAMMA = Continuous("gamma", "the gamma distribution", a="the shape parameter, positive.")
pdf = _GAMMA(
    "pdf", _logpdf, at="1.0, 2.0", shows="Array(0.36789998, dtype=float32, weak_type=True)"
)
logpdf = _GAMMA(
    "logpdf",
    _logpdf,
    at="1.0, 2.0",
    shows="Array(-1., dtype=float32, weak_type=True)",
    note="-inf below ``loc``.",
)
cdf = _GAMMA("cdf", _cdf, at="1.0, 2.0", shows="Array(0.2642, dtype=float32, weak_type=True)")
logcdf = _GAMMA(
    "logcdf", _logcdf, at="1.0, 2.0", shows="Array(-1.3309, dtype=float32, weak_type=True)"
)
sf = _GAMMA(
    "sf", _sf, at="1.0, 2.0", shows="Array(0.73579997, dtype=float32, weak_type=True)", weakly=True
)
logsf = _GAMMA(
    "logsf",
    _logsf,
    at="1.0, 2.0",
    shows="Array(-0.3069, dtype=float32, weak_type=True)",
    weakly=True,
)
