"""The gamma distribution, of density xᵃ⁻¹ e⁻ˣ / Γ(a)."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special import gammainc, gammaincc, gammaln, xlogy
from jxkernel.scipy.stats.families import Continuous, between_ends, log_probability
from jxkernel.scipy.stats.saddle_point import LEAST, log_gamma

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "sf",
]


def standard_logpdf(z: ArrayLike, a: ArrayLike) -> Any:
    """Return the logarithm of the density."""
    small = _small(z, a)
    return _logarithm(z, a, small, gammaln(small))


def _large(z: Any, a: Any) -> Any:
    """Return where the form for large parameters holds."""
    return (a >= LEAST) & (a < np.inf) & (z > 0) & (z < np.inf)


def _small(z: ArrayLike, a: ArrayLike) -> Any:
    """Return the parameters of which the logarithm of Γ is needed, and 1 for others."""
    return jnp.where(_large(z, a), 1, a)


def _logarithm(z: Any, a: Any, small: Any, log_factor: Any) -> Any:
    """Return the logarithm of the density, with that of Γ of small parameters."""
    inside, large = z >= 0, _large(z, a)
    safe = jnp.where(inside & ~large & (z < np.inf), z, 1)
    direct = xlogy(small - 1, safe) - safe - log_factor
    many = log_gamma(jnp.where(large, z, LEAST), jnp.where(large, a, LEAST))
    value = jnp.where(inside, jnp.where(large, many, direct), -np.inf)
    endless = (z == np.inf) & (a < np.inf)
    value = jnp.where(endless, -jnp.where(endless, z, 1), value)
    return jnp.where(a > 0, value, np.nan)


def standard_pdf(z: Any, a: Any) -> Any:
    """Return the density, which is a power where it starts at 0, and 0 at infinity."""
    small = _small(z, a)
    log_factor = gammaln(small)
    start, end = (z == 0) & (a > 1), (z == np.inf) & (a > 0) & (a < np.inf)
    inner = jnp.exp(_logarithm(jnp.where(start | end, 1, z), a, small, log_factor))
    first = jnp.where(start, z, 1)
    power = first ** (jnp.where(start, a, 1) - 1) * jnp.exp(-first - log_factor)
    value = jnp.where(start, power, jnp.where(end, 0, inner))
    return jnp.where(a > 0, value, np.nan)


def _cdf(z: ArrayLike, a: ArrayLike) -> Any:
    return between_ends(gammainc, a, z, 0, 1)


def _logcdf(z: ArrayLike, a: ArrayLike) -> Any:
    return log_probability(_cdf(z, a))


def _sf(z: ArrayLike, a: ArrayLike) -> Any:
    return between_ends(gammaincc, a, z, 1, 0)


def _logsf(z: ArrayLike, a: ArrayLike) -> Any:
    return log_probability(_sf(z, a))


_GAMMA = Continuous("gamma", "the gamma distribution", a="the shape parameter, positive.")
pdf = _GAMMA(
    "pdf",
    standard_pdf,
    at="1.0, 2.0",
    shows="Array(0.36789998, dtype=float32, weak_type=True)",
    linear=True,
)
logpdf = _GAMMA(
    "logpdf",
    standard_logpdf,
    at="1.0, 2.0",
    shows="Array(-1., dtype=float32, weak_type=True)",
    note="-inf below ``loc``.",
)
cdf = _GAMMA("cdf", _cdf, at="1.0, 2.0", shows="Array(0.2642, dtype=float32, weak_type=True)")
logcdf = _GAMMA(
    "logcdf", _logcdf, at="1.0, 2.0", shows="Array(-1.3309, dtype=float32, weak_type=True)"
)
sf = _GAMMA(
    "sf", _sf, at="1.0, 2.0", shows="Array(0.73579997, dtype=float32, weak_type=True)", weakly=True
)
logsf = _GAMMA(
    "logsf",
    _logsf,
    at="1.0, 2.0",
    shows="Array(-0.3069, dtype=float32, weak_type=True)",
    weakly=True,
)
