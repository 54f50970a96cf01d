"""The beta distribution, of density ∝ xᵃ⁻¹ (1 - x)ᵇ⁻¹."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special import betainc, betaln, xlog1py, xlogy
from jxkernel.scipy.stats.families import Continuous, capped_exp, log_probability
from jxkernel.scipy.stats.saddle_point import LEAST, log_binomial

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "sf",
]


def _logpdf(z: ArrayLike, a: ArrayLike, b: ArrayLike) -> Any:
    """Return the logarithm of the density."""
    few, fewer = _small(z, a, b)
    return _logarithm(z, a, b, few, fewer, betaln(few, fewer))


def _large(z: Any, a: Any, b: Any) -> Any:
    """Return where the form for large parameters holds."""
    return (jnp.minimum(a, b) >= LEAST) & (a + b < np.inf) & (z > 0) & (z < 1)


def _small(z: Any, a: Any, b: Any) -> Any:
    """Return the parameters of which the logarithm of B is needed, and 1/2 for others."""
    needed = (z >= 0) & (z <= 1) & ~_large(z, a, b)
    return jnp.where(needed, a, 0.5), jnp.where(needed, b, 0.5)


def _logarithm(z: Any, a: Any, b: Any, few: Any, fewer: Any, log_factor: Any) -> Any:
    """Return the logarithm of the density, with that of B of small parameters."""
    inside, large = (z >= 0) & (z <= 1), _large(z, a, b)
    safe = jnp.where(inside & ~large, z, 0.5)
    direct = xlogy(few - 1, safe) + xlog1py(fewer - 1, -safe) - log_factor
    within = jnp.where(large, z, 0.5)
    many, more = (jnp.where(large, x, LEAST) for x in (a, b))
    ends = jnp.log(within) + jnp.log1p(-within) - jnp.log(many) - jnp.log(more / (many + more))
    saddle = log_binomial(many, more, within) - ends
    value = jnp.where(inside, jnp.where(large, saddle, direct), -np.inf)
    return jnp.where((a > 0) & (b > 0), value, np.nan)


def _pdf(z: Any, a: Any, b: Any) -> Any:
    """Return the density, which is a power at an end where it is 0."""
    few, fewer = _small(z, a, b)
    log_factor = betaln(few, fewer)
    end = (((z == 0) & (a > 1)) | ((z == 1) & (b > 1))) & (a + b < np.inf)
    inner = jnp.exp(_logarithm(jnp.where(end, 0.5, z), a, b, few, fewer, log_factor))
    at, first, second = (jnp.where(end, x, y) for x, y in ((z, 0.5), (a, 1), (b, 1)))
    powers = at ** (first - 1) * (1 - at) ** (second - 1) * capped_exp(-log_factor)
    return jnp.where((a > 0) & (b > 0), jnp.where(end, powers, inner), np.nan)


def _cdf(z: Any, a: Any, b: Any) -> Any:
    """Return I(z; a, b), at the ends of two infinite parameters too."""
    z = jnp.clip(z, 0, 1)
    end = (a == np.inf) & (b == np.inf) & ((z == 0) | (z == 1))
    value = betainc(jnp.where(end, 2, a), jnp.where(end, 2, b), z)
    return jnp.where((a > 0) & (b > 0), value, np.nan)


def _logcdf(z: Any, a: Any, b: Any) -> Any:
    """Return log I, that of 0 below the support, where the slope of I may be infinite."""
    above = z > 0
    value = jnp.where(above, _cdf(jnp.where(above, z, 1), a, b), 0)
    return jnp.where((a > 0) & (b > 0), log_probability(value), np.nan)


def _sf(z: Any, a: Any, b: Any) -> Any:
    return _cdf(1 - z, b, a)


def _logsf(z: Any, a: Any, b: Any) -> Any:
    """Return log(1 - I), that of 0 above the support, where the slope of I may be infinite."""
    below = z < 1
    value = jnp.where(below, _sf(jnp.where(below, z, 0), a, b), 0)
    return jnp.where((a > 0) & (b > 0), log_probability(value), np.nan)


_BETA = Continuous(
    "beta", "the beta distribution", a="the first shape parameter, positive.", b="the second."
)
pdf = _BETA(
    "pdf",
    _pdf,
    at="0.25, 2.0, 3.0",
    shows="Array(1.6875, dtype=float32, weak_type=True)",
    linear=True,
)
logpdf = _BETA(
    "logpdf",
    _logpdf,
    at="0.25, 2.0, 3.0",
    shows="Array(0.5232, dtype=float32, weak_type=True)",
    note="-inf outside [loc, loc + scale].",
)
cdf = _BETA("cdf", _cdf, at="0.25, 2.0, 3.0", shows="Array(0.2617, dtype=float32, weak_type=True)")
logcdf = _BETA(
    "logcdf", _logcdf, at="0.25, 2.0, 3.0", shows="Array(-1.3405, dtype=float32, weak_type=True)"
)
sf = _BETA("sf", _sf, at="0.25, 2.0, 3.0", shows="Array(0.73829997, dtype=float32, weak_type=True)")
logsf = _BETA(
    "logsf", _logsf, at="0.25, 2.0, 3.0", shows="Array(-0.30339998, dtype=float32, weak_type=True)"
)
