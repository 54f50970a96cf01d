"""The Cauchy distribution."""

from math import log, pi
from typing import Any

import jxkernel.numpy as jnp
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.stats.families import Continuous, log1p_square, log_probability

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


def _logpdf(z: ArrayLike) -> Any:
    return -log(pi) - log1p_square(z, jnp.ones_like(z))


def _cdf(z: Any) -> Any:
    """Return the angle of (-z, 1) over π, which is exact in the lower tail."""
    return jnp.arctan2(jnp.ones_like(z), -z) / pi


def _sf(z: Any) -> Any:
    return _cdf(-z)


def _logcdf(z: ArrayLike) -> Any:
    return log_probability(_cdf(z))


def _logsf(z: Any) -> Any:
    return log_probability(_cdf(-z))


def _ppf(q: Any) -> Any:
    """Return tan(π(q - 1/2)), towards the ends as ∓1/tan of π times what is left."""
    upper = q > 0.5
    rest = jnp.where(upper, 1 - q, q)
    middle = rest > 0.25
    # A probability of -0.0 is none, too.
    size = abs(1 / jnp.tan(pi * jnp.where(middle, 0.25, rest)))
    inner = jnp.tan(pi * jnp.where(middle, q - 0.5, 0))
    return jnp.where(middle, inner, jnp.where(upper, size, -size))


def _isf(q: ArrayLike) -> Any:
    return -_ppf(q)


_CAUCHY = Continuous("cauchy", "the Cauchy distribution")
pdf = _CAUCHY("pdf", _logpdf, at="1.0", shows="Array(0.1592, dtype=float32, weak_type=True)")
logpdf = _CAUCHY(
    "logpdf", _logpdf, at="1.0", shows="Array(-1.8378999, dtype=float32, weak_type=True)"
)
cdf = _CAUCHY("cdf", _cdf, at="1.0", shows="Array(0.75, dtype=float32, weak_type=True)")
logcdf = _CAUCHY("logcdf", _logcdf, at="1.0", shows="Array(-0.2877, dtype=float32, weak_type=True)")
sf = _CAUCHY("sf", _sf, at="1.0", shows="Array(0.25, dtype=float32, weak_type=True)")
logsf = _CAUCHY("logsf", _logsf, at="1.0", shows="Array(-1.3863, dtype=float32, weak_type=True)")
ppf = _CAUCHY("ppf", _ppf, at="0.25", shows="Array(-1., dtype=float32, weak_type=True)")
isf = _CAUCHY("isf", _isf, at="0.25", shows="Array(1., dtype=float32, weak_type=True)")
