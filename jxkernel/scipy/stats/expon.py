"""The exponential distribution."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.runtime import ArrayLike
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


def _logpdf(z: Any) -> Any:
    return jnp.where(z < 0, -np.inf, -z)


def _cdf(z: ArrayLike) -> Any:
    return -jnp.expm1(_logsf(z))


def _logcdf(z: Any) -> Any:
    inside = z >= 0  # at 0 the logarithm is -inf by itself, with derivatives of its own
    return jnp.where(inside, log_of_rest(-jnp.where(inside, z, 1)), -np.inf)


def _sf(z: ArrayLike) -> Any:
    return jnp.exp(_logsf(z))


def _logsf(z: Any) -> Any:
    return -jnp.where(z < 0, 0, z)


def _ppf(q: Any) -> Any:
    return -jnp.log1p(-q)


_EXPON = Continuous("expon", "the exponential distribution")
pdf = _EXPON(
    "pdf", _logpdf, at="1.0", shows="Array(0.36789998, dtype=float32, weak_type=True)", weakly=True
)
logpdf = _EXPON(
    "logpdf",
    _logpdf,
    at="1.0",
    shows="Array(-1., dtype=float32, weak_type=True)",
    note="-inf below ``loc``.",
    weakly=True,
)
cdf = _EXPON(
    "cdf", _cdf, at="1.0", shows="Array(0.6321, dtype=float32, weak_type=True)", weakly=True
)
logcdf = _EXPON(
    "logcdf", _logcdf, at="1.0", shows="Array(-0.4587, dtype=float32, weak_type=True)", weakly=True
)
sf = _EXPON(
    "sf", _sf, at="1.0", shows="Array(0.36789998, dtype=float32, weak_type=True)", weakly=True
)
logsf = _EXPON(
    "logsf", _logsf, at="1.0", shows="Array(-1., dtype=float32, weak_type=True)", weakly=True
)
ppf = _EXPON(
    "ppf", _ppf, at="0.25", shows="Array(0.2877, dtype=float32, weak_type=True)", weakly=True
)
