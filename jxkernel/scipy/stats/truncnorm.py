"""The normal distribution on the condition of lying between two bounds."""

from math import log, pi
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special import log_ndtr
from jxkernel.scipy.special.elementwise import epsilon
from jxkernel.scipy.stats.families import Continuous, log_of_rest

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "sf",
]


_HALF_LOG_TAU = 0.5 * log(2 * pi)


def _log_weight(low: Any, high: Any) -> Any:
    """Return log(Φ(high) - Φ(low)), from the tail in which the interval lies."""
    mirrored = low > 0
    low, high = jnp.where(mirrored, -high, low), jnp.where(mirrored, -low, high)
    apart = low < high
    narrow = apart & ((high - low) * (1 - low) < 8 * epsilon(low) ** 0.25)
    top = log_ndtr(high)
    # Below -inf there is nothing, and log Φ has no slope there.
    bounded = apart & (low > -np.inf) & ~narrow
    ratio = jnp.where(bounded, log_ndtr(jnp.where(bounded, low, 0)) - top, -1)
    value = top + jnp.where(bounded, log_of_rest(ratio), 0)
    between = _log_narrow_weight(jnp.where(narrow, low, 0), jnp.where(narrow, high, 1))
    return jnp.where(narrow, between, jnp.where(apart, value, -np.inf))


def _log_narrow_weight(low: Any, high: Any) -> Any:
    """Return log(Φ(high) - Φ(low)) of a narrow interval, in which the difference would cancel.

    With its middle m and width w it is log(φ(m) w (1 + (m² - 1) w²/24 + ...)).
    """
    middle, width = low + (high - low) / 2, high - low
    square = middle * middle
    bend = (square - 1) * width * width / 24
    return jnp.log(width) + jnp.log1p(bend) - 0.5 * square - _HALF_LOG_TAU


def _bounded(z: Any, a: Any, b: Any, value: Any, below: float, above: float) -> Any:
    """Return a value between the bounds, and given ones beyond them."""
    value = jnp.where(z <= a, below, jnp.where(z >= b, above, value))
    return jnp.where(a < b, value, np.nan)


def _logpdf(z: Any, a: Any, b: Any) -> Any:
    outside = (z < a) | (z > b)
    within = jnp.where(outside, 0, z)
    value = -0.5 * within * within - _HALF_LOG_TAU - _log_weight(a, b)
    value = jnp.where(outside, -np.inf, value)
    return jnp.where(a < b, value, np.nan)


def _logcdf(z: Any, a: Any, b: Any) -> Any:
    inner = jnp.where((z > a) & (z < b), z, b)
    return _bounded(z, a, b, _log_weight(a, inner) - _log_weight(a, b), -np.inf, 0.0)


def _logsf(z: Any, a: Any, b: Any) -> Any:
    inner = jnp.where((z > a) & (z < b), z, a)
    return _bounded(z, a, b, _log_weight(inner, b) - _log_weight(a, b), 0.0, -np.inf)


def _cdf(z: ArrayLike, a: ArrayLike, b: ArrayLike) -> Any:
    return jnp.exp(_logcdf(z, a, b))


def _sf(z: ArrayLike, a: ArrayLike, b: ArrayLike) -> Any:
    return jnp.exp(_logsf(z, a, b))


_TRUNCNORM = Continuous(
    "truncnorm",
    "the truncated normal distribution",
    a="the lower bound of the standardized variable.",
    b="the upper bound; where it is not above ``a`` the result is NaN.",
)
pdf = _TRUNCNORM(
    "pdf", _logpdf, at="0.5, -1.0, 2.0", shows="Array(0.4301, dtype=float32)", weakly=False
)
logpdf = _TRUNCNORM(
    "logpdf",
    _logpdf,
    at="0.5, -1.0, 2.0",
    shows="Array(-0.8438, dtype=float32)",
    note="-inf outside the bounds.",
    weakly=False,
)
cdf = _TRUNCNORM(
    "cdf", _cdf, at="0.5, -1.0, 2.0", shows="Array(0.6509, dtype=float32)", weakly=False
)
logcdf = _TRUNCNORM(
    "logcdf", _logcdf, at="0.5, -1.0, 2.0", shows="Array(-0.4294, dtype=float32)", weakly=False
)
sf = _TRUNCNORM("sf", _sf, at="0.5, -1.0, 2.0", shows="Array(0.3491, dtype=float32)", weakly=False)
logsf = _TRUNCNORM(
    "logsf", _logsf, at="0.5, -1.0, 2.0", shows="Array(-1.0523, dtype=float32)", weakly=False
)
