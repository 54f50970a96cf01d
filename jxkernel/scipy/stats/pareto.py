"""The Pareto distribution, of density b / xᵇ⁺¹ for x ≥ 1."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.scipy.stats.families import Continuous, log_of_rest

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "ppf",
    "sf",
]


def _log_tail(z: Any, b: Any) -> Any:
    """Return log(z⁻ᵇ) for z ≥ 1, which is 0 at 1 whatever b is."""
    steep = b == np.inf
    limit = jnp.where(z > 1, -np.inf, 0)
    return jnp.where(steep, limit, -jnp.where(steep, 1, b) * jnp.log(z))


def _logpdf(z: Any, b: Any) -> Any:
    inside = z >= 1
    within = jnp.where(inside, z, 1)
    peak = jnp.log(jnp.where((b == np.inf) & (within > 1), 1, b))
    value = peak + _log_tail(within, b) - jnp.log(within)
    return jnp.where(b > 0, jnp.where(inside, value, -np.inf), np.nan)


def _logsf(z: Any, b: Any) -> Any:
    inside = z >= 1
    value = jnp.where(inside, _log_tail(jnp.where(inside, z, 2), b), 0)
    return jnp.where(b > 0, value, np.nan)


def _sf(z: Any, b: Any) -> Any:
    endless = (z == np.inf) & (b > 0)
    return jnp.where(endless, 0, jnp.exp(_logsf(jnp.where(endless, 2, z), b)))


def _cdf(z: Any, b: Any) -> Any:
    endless = (z == np.inf) & (b > 0)
    return jnp.where(endless, 1, -jnp.expm1(_logsf(jnp.where(endless, 2, z), b)))


def _logcdf(z: Any, b: Any) -> Any:
    inside = (z > 1) & (z < np.inf)
    value = log_of_rest(_logsf(jnp.where(inside, z, 2), b))
    value = jnp.where(inside, value, jnp.where(z > 1, 0, -np.inf))
    return jnp.where(b > 0, value, np.nan)


def _ppf(q: Any, b: Any) -> Any:
    endless = (q == 1) & (b == np.inf)
    return jnp.exp(-jnp.log1p(-q) / jnp.where(endless, 1, b))


_PARETO = Continuous("pareto", "the Pareto distribution", b="the exponent, positive.")
pdf = _PARETO("pdf", _logpdf, at="2.0, 2.0", shows="Array(0.25, dtype=float32, weak_type=True)")
logpdf = _PARETO(
    "logpdf",
    _logpdf,
    at="2.0, 2.0",
    shows="Array(-1.3863, dtype=float32, weak_type=True)",
    note="-inf below ``loc + scale``.",
)
cdf = _PARETO("cdf", _cdf, at="2.0, 2.0", shows="Array(0.75, dtype=float32, weak_type=True)")
logcdf = _PARETO(
    "logcdf",
    _logcdf,
    at="2.0, 2.0",
    shows="Array(-0.2877, dtype=float32, weak_type=True)",
    weakly=True,
)
sf = _PARETO("sf", _sf, at="2.0, 2.0", shows="Array(0.25, dtype=float32, weak_type=True)")
logsf = _PARETO(
    "logsf", _logsf, at="2.0, 2.0", shows="Array(-1.3863, dtype=float32, weak_type=True)"
)
ppf = _PARETO("ppf", _ppf, at="0.25, 2.0", shows="Array(1.1546999, dtype=float32, weak_type=True)")
