"""The Gumbel distribution of least values."""

from typing import Any

import jxkernel.numpy as jnp
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.stats import gumbel
from jxkernel.scipy.stats.families import Continuous

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
    return gumbel.logpdf(-z)


def _pdf(z: Any) -> Any:
    return gumbel.pdf(-z)


def _cdf(z: Any) -> Any:
    return gumbel.rest(-z)


def _logcdf(z: Any) -> Any:
    return gumbel.log_rest(-z)


def _sf(z: Any) -> Any:
    return gumbel.share(-z)


def _logsf(z: ArrayLike) -> Any:
    return -jnp.exp(z)


def _ppf(p: ArrayLike) -> Any:
    most = p == 1
    inner = jnp.log(-jnp.log1p(-jnp.where(most, 0.5, p)))
    return jnp.where(most, -jnp.log1p(-jnp.where(most, p, 0)), inner)


_GUMBEL_L = Continuous("gumbel_l", "the Gumbel distribution of least values")
pdf = _GUMBEL_L(
    "pdf",
    _pdf,
    at="0.25",
    shows="Array(0.3556, dtype=float32, weak_type=True)",
    weakly=True,
    linear=True,
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
