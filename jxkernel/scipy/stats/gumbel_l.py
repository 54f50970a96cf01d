"""The Gumbel distribution of least values."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.scipy.stats.families import Continuous, log_gumbel_rest

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "ppf",
    "sf",
]


def _logpdf(z: Any) -> Any:
    return jnp.where(z < np.inf, z - jnp.exp(z), -np.inf)


def _cdf(z: Any) -> Any:
    return -jnp.expm1(-jnp.exp(z))


def _logcdf(z: Any) -> Any:
    return log_gumbel_rest(-z)


def _sf(z: Any) -> Any:
    return jnp.exp(-jnp.exp(z))


def _logsf(z: Any) -> Any:
    return -jnp.exp(z)


def _ppf(p: Any) -> Any:
    return jnp.log(-jnp.log1p(-p))


_GUMBEL_L = Continuous("gumbel_l", "the Gumbel distribution of least values")
pdf = _GUMBEL_L(
    "pdf", _logpdf, at="0.25", shows="Array(0.3556, dtype=float32, weak_type=True)", weakly=True
)
logpdf = _GUMBEL_L(
    "logpdf",
    _logpdf,
    at="0.25",
    shows="Array(-1.0339999, dtype=float32, weak_type=True)",
    weakly=True,
)
cdf = _GUMBEL_L(
    "cdf", _cdf, at="0.25", shows="Array(0.7231, dtype=float32, weak_type=True)", weakly=True
)
logcdf = _GUMBEL_L(
    "logcdf", _logcdf, at="0.25", shows="Array(-0.3242, dtype=float32, weak_type=True)", weakly=True
)
sf = _GUMBEL_L(
    "sf", _sf, at="0.25", shows="Array(0.2769, dtype=float32, weak_type=True)", weakly=True
)
logsf = _GUMBEL_L(
    "logsf",
    _logsf,
    at="0.25",
    shows="Array(-1.2839999, dtype=float32, weak_type=True)",
    weakly=True,
)
ppf = _GUMBEL_L(
    "ppf",
    _ppf,
    at="0.25",
    shows="Array(-1.2458999, dtype=float32, weak_type=True)",
    weakly=True,
    variable="p",
)
