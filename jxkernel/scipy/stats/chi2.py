"""The chi-square distribution."""

from math import log
from typing import Any

from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special import gammainc, gammaincc
from jxkernel.scipy.stats.families import Continuous, between_ends, log_probability
from jxkernel.scipy.stats.gamma import standard_logpdf as gamma_logpdf
from jxkernel.scipy.stats.gamma import standard_pdf as gamma_pdf

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "sf",
]


def _logpdf(z: Any, df: Any) -> Any:
    return gamma_logpdf(z / 2, df / 2) - log(2)


def _pdf(z: Any, df: Any) -> Any:
    return gamma_pdf(z / 2, df / 2) / 2


def _cdf(z: Any, df: Any) -> Any:
    return between_ends(gammainc, df / 2, z / 2, 0, 1)


def _logcdf(z: ArrayLike, df: ArrayLike) -> Any:
    return log_probability(_cdf(z, df))


def _sf(z: Any, df: Any) -> Any:
    return between_ends(gammaincc, df / 2, z / 2, 1, 0)


def _logsf(z: ArrayLike, df: ArrayLike) -> Any:
    return log_probability(_sf(z, df))


_CHI2 = Continuous("chi2", "the chi-square distribution", df="the degrees of freedom, positive.")
pdf = _CHI2(
    "pdf",
    _pdf,
    at="1.0, 2.0",
    shows="Array(0.3033, dtype=float32, weak_type=True)",
    linear=True,
)
logpdf = _CHI2(
    "logpdf",
    _logpdf,
    at="1.0, 2.0",
    shows="Array(-1.1931, dtype=float32, weak_type=True)",
    note="-inf below ``loc``.",
)
cdf = _CHI2(
    "cdf", _cdf, at="1.0, 2.0", shows="Array(0.3935, dtype=float32, weak_type=True)", weakly=(0, 2)
)
logcdf = _CHI2(
    "logcdf",
    _logcdf,
    at="1.0, 2.0",
    shows="Array(-0.9328, dtype=float32, weak_type=True)",
    weakly=(0, 2),
)
sf = _CHI2(
    "sf",
    _sf,
    at="1.0, 2.0",
    shows="Array(0.60649997, dtype=float32, weak_type=True)",
    weakly=(0, 2),
)
logsf = _CHI2(
    "logsf",
    _logsf,
    at="1.0, 2.0",
    shows="Array(-0.5, dtype=float32, weak_type=True)",
    weakly=(0, 2),
)
