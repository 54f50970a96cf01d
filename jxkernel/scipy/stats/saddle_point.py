"""Logarithms of densities with large parameters, in which nothing of their size cancels.

Each is a normal density at the mean, a remainder of Stirling's formula, and a deviance that is
small near the mean.  Source: C. Loader, "Fast and accurate computation of binomial
probabilities", 2000.
"""

from math import log, pi
from typing import Any

import jxkernel.numpy as jnp
from jxkernel.scipy.special.gamma_functions import stirling_remainder

__all__ = ["LEAST", "log_binomial", "log_gamma", "log_poisson"]

LEAST = 16.0
"""From where on Stirling's series holds in double precision."""

_LOG_TAU = log(2 * pi)
_TERMS = 9


def _deviance(x: Any, mean: Any) -> Any:
    """Return x log(x / mean) + mean - x.

    With u = mean / x - 1 it is x (u - log(1 + u)), and near 0 that is written in r = u / (2 + u):
    log(1 + u) = 2 (r + r³/3 + r⁵/5 + ...) and u - 2r = u r.
    """
    u = (mean - x) / x
    near = abs(u) < 0.2
    small = jnp.where(near, u, 0)
    r = small / (2 + small)
    square = r * r
    series = jnp.zeros_like(r)
    for n in reversed(range(1, _TERMS)):
        series = series * square + 2 / (2 * n + 1)
    direct = u - jnp.log(jnp.where(near, 1, mean / x))
    return x * jnp.where(near, small * r - r * square * series, direct)


def log_poisson(k: Any, mean: Any) -> Any:
    """Return the logarithm of meanᵏ e⁻ᵐᵉᵃⁿ / Γ(k + 1), for k ≥ ``LEAST``."""
    return -stirling_remainder(k) - _deviance(k, mean) - 0.5 * (_LOG_TAU + jnp.log(k))


def log_gamma(z: Any, a: Any) -> Any:
    """Return the logarithm of zᵃ⁻¹ e⁻ᶻ / Γ(a), for a ≥ ``LEAST`` and z > 0."""
    return log_poisson(a, z) + jnp.log(a / z)


def log_binomial(a: Any, b: Any, p: Any, q: Any) -> Any:
    """Return the logarithm of pᵃ qᵇ Γ(a + b + 1) / (Γ(a + 1) Γ(b + 1)), a and b ≥ ``LEAST``."""
    n = a + b
    remainder = stirling_remainder(n) - stirling_remainder(a) - stirling_remainder(b)
    apart = _deviance(a, n * p) + _deviance(b, n * q)
    return remainder - apart - 0.5 * (_LOG_TAU + jnp.log(a) + jnp.log(b / n))
