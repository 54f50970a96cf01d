"""The Gumbel distribution of greatest values."""

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


def _logpdf(z: ArrayLike) -> Any:
    return gumbel.logpdf(z)


def _pdf(z: ArrayLike) -> Any:
    return gumbel.pdf(z)


def _cdf(z: ArrayLike) -> Any:
    return gumbel.share(z)


def _logcdf(z: Any) -> Any:
    return -jnp.exp(-z)


def _sf(z: ArrayLike) -> Any:
    return gumbel.rest(z)


def _logsf(z: ArrayLike) -> Any:
    return gumbel.log_rest(z)


def _ppf(p: ArrayLike) -> Any:
    return gumbel.quantile(p)


_GUMBEL_R = Continuous("gumbel_r", "the Gumbel distribution of maxima")
pdf = _GUMBEL_R(
    "pdf",
    _pdf,
    at="0.25",
    shows="Array(0.3574, dtype=float32, weak_type=True)",
    weakly=True,
    linear=True,
)
logpdf = _GUMBEL_R(
    "logpdf", _logpdf, at="0.25", shows="Array(-1.0288, dtype=float32, weak_type=True)", weakly=True
)
cdf = _GUMBEL_R(
    "cdf", _cdf, at="0.25", shows="Array(0.459, dtype=float32, weak_type=True)", weakly=True
)
logcdf = _GUMBEL_R(
    "logcdf",
    _logcdf,
    at="0.25",
    shows="Array(-0.77879995, dtype=float32, weak_type=True)",
    weakly=True,
)
sf = _GUMBEL_R("sf", _sf, at="0.25", shows="Array(0.541, dtype=float32, weak_type=True)")
logsf = _GUMBEL_R(
    "logsf", _logsf, at="0.25", shows="Array(-0.6143, dtype=float32, weak_type=True)", weakly=True
)
ppf = _GUMBEL_R(
    "ppf",
    _ppf,
    at="0.25",
    shows="Array(-0.3266, dtype=float32, weak_type=True)",
    weakly=True,
    variable="p",
)
