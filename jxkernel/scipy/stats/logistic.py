"""The logistic distribution."""

from typing import Any

import jxkernel.numpy as jnp
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special import expit, logit
from jxkernel.scipy.stats.families import Continuous

__all__ = [
    "cdf",
    "isf",
    "logpdf",
    "pdf",
    "ppf",
    "sf",
]


def _logpdf(z: Any) -> Any:
    return -jnp.logaddexp(z, 0) - jnp.logaddexp(-z, 0)


def _cdf(z: ArrayLike) -> Any:
    return expit(z)


def _sf(z: Any) -> Any:
    return expit(-z)


def _ppf(q: ArrayLike) -> Any:
    return logit(q)


def _isf(q: ArrayLike) -> Any:
    return -logit(q)


_LOGISTIC = Continuous("logistic", "the logistic distribution")
pdf = _LOGISTIC(
    "pdf",
    _logpdf,
    at="0.25",
    shows="Array(0.2461, dtype=float32, weak_type=True)",
    weakly=(0, 1, 2),
)
logpdf = _LOGISTIC(
    "logpdf",
    _logpdf,
    at="0.25",
    shows="Array(-1.4018999, dtype=float32, weak_type=True)",
    weakly=(0, 1, 2),
)
cdf = _LOGISTIC(
    "cdf", _cdf, at="0.25", shows="Array(0.5622, dtype=float32, weak_type=True)", weakly=True
)
sf = _LOGISTIC(
    "sf", _sf, at="0.25", shows="Array(0.4378, dtype=float32, weak_type=True)", weakly=True
)
ppf = _LOGISTIC(
    "ppf", _ppf, at="0.25", shows="Array(-1.0986, dtype=float32, weak_type=True)", variable="x"
)
isf = _LOGISTIC(
    "isf", _isf, at="0.25", shows="Array(1.0986, dtype=float32, weak_type=True)", variable="x"
)
