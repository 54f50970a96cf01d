"""The normal distribution."""

from math import log, pi
from typing import Any

from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special import log_ndtr, ndtr, ndtri
from jxkernel.scipy.stats.families import Continuous

__all__ = [
    "cdf",
    "isf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "ppf",
    "sf",
]


_HALF_LOG_TAU = 0.5 * log(2 * pi)


def _logpdf(z: Any) -> Any:
    return -0.5 * z * z - _HALF_LOG_TAU


def _cdf(z: ArrayLike) -> Any:
    return ndtr(z)


def _sf(z: Any) -> Any:
    return ndtr(-z)


def _logcdf(z: ArrayLike) -> Any:
    return log_ndtr(z)


def _logsf(z: Any) -> Any:
    return log_ndtr(-z)


def _ppf(q: ArrayLike) -> Any:
    return ndtri(q)


def _isf(q: ArrayLike) -> Any:
    return -ndtri(q)


_NORM = Continuous("norm", "the normal distribution")
pdf = _NORM("pdf", _logpdf, at="1.0", shows="Array(0.242, dtype=float32, weak_type=True)")
logpdf = _NORM("logpdf", _logpdf, at="1.0", shows="Array(-1.4189, dtype=float32, weak_type=True)")
cdf = _NORM("cdf", _cdf, at="1.0", shows="Array(0.84129995, dtype=float32)", weakly=False)
logcdf = _NORM("logcdf", _logcdf, at="1.0", shows="Array(-0.17279999, dtype=float32)", weakly=False)
sf = _NORM("sf", _sf, at="1.0", shows="Array(0.15869999, dtype=float32)", weakly=False)
logsf = _NORM("logsf", _logsf, at="1.0", shows="Array(-1.841, dtype=float32)", weakly=False)
ppf = _NORM("ppf", _ppf, at="0.25", shows="Array(-0.6745, dtype=float32)", weakly=False)
isf = _NORM("isf", _isf, at="0.25", shows="Array(0.6745, dtype=float32)", weakly=False)
