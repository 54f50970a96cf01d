"""Logarithms of densities with large parameters, in which nothing of their size cancels.

Each is made of Poisson probabilities: the remainder of Stirling's formula, and a deviance that is
small near the mean.  Γ(n + 1) = nⁿ e⁻ⁿ R(n), so that

    pᵃ qᵇ Γ(a + b + 1) / (Γ(a + 1) Γ(b + 1)) = R(n) P(a; n p) P(b; n q),    n = a + b, p + q = 1,

with P(k; m) = mᵏ e⁻ᵐ / Γ(k + 1), and alike for more than two.  How far a mean lies from its number
is given, so that a difference of nearly equal numbers is taken once.  Source: C. Loader, "Fast and
accurate computation of binomial probabilities", 2000.
"""

from math import log, pi
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.api.custom.derivatives import custom_jvp
from jxkernel.primitives.elementwise.convert import reduce_precision
from jxkernel.scipy.special import gammaln, xlogy
from jxkernel.scipy.special.gamma_functions import stirling_remainder

__all__ = ["LEAST", "excess", "log_binomial", "log_gamma", "log_poisson", "log_stirling"]

LEAST = 16.0
"""From where on Stirling's series holds in double precision."""

_LOG_TAU = log(2 * pi)
_TERMS = 9


def _deviance(x: Any, mean: Any, apart: Any) -> Any:
    """Return x log(x / mean) + mean - x, with mean = x + apart.

    With u = mean / x - 1 it is x (u - log(1 + u)), and near 0 that is written in r = u / (2 + u):
    log(1 + u) = 2 (r + r³/3 + r⁵/5 + ...) and u - 2r = u r.
    """
    u = apart / x
    near = abs(u) < 0.2
    small = jnp.where(near, u, 0)
    r = small / (2 + small)
    square = r * r
    series = jnp.zeros_like(r)
    for n in reversed(range(1, _TERMS)):
        series = series * square + 2 / (2 * n + 1)
    ratio = jnp.where(near, 1, jnp.minimum(mean / x, dtypes.finfo(x.dtype).max))
    return jnp.where(near, x * (small * r - r * square * series), apart - x * jnp.log(ratio))


@custom_jvp
def excess(n: Any, p: Any, k: Any) -> Any:
    """Return n p - k, of which few digits would be left where they are nearly equal.

    Products of halves of the digits are exact, however the compiler joins operations.
    """
    info = dtypes.finfo(n.dtype)
    high, first = (reduce_precision(x, info.nexp, (info.nmant - 1) // 2) for x in (n, p))
    low, second = n - high, p - first
    value = (high * first - k) + (high * second + low * first + low * second)
    return jnp.where(jnp.isfinite(value), value, n * p - k)


excess.defjvps(lambda t, y, n, p, k: t * p, lambda t, y, n, p, k: t * n, lambda t, y, n, p, k: -t)


def log_stirling(n: Any) -> Any:
    """Return the logarithm of R(n) = Γ(n + 1) eⁿ / nⁿ, for n > 0."""
    large = n >= LEAST
    few, many = jnp.where(large, 1, n), jnp.where(large, n, LEAST)
    direct = gammaln(few + 1) - few * jnp.log(few) + few
    return jnp.where(large, stirling_remainder(many) + 0.5 * (_LOG_TAU + jnp.log(many)), direct)


def log_poisson(k: Any, mean: Any, apart: Any) -> Any:
    """Return the logarithm of meanᵏ e⁻ᵐᵉᵃⁿ / Γ(k + 1), for k ≥ 0, with mean = k + apart.

    For small means nothing cancels, and mean / k may be subnormal.
    """
    large = (k >= LEAST) & (mean > 1e-6 * k) & (mean < np.inf)
    few, slow = jnp.where(large, 0, k), jnp.where(large, 1, mean)
    direct = xlogy(few, slow) - gammaln(few + 1) - slow
    many, wide = jnp.where(large, k, LEAST), jnp.where(large, mean, LEAST)
    deviance = _deviance(many, wide, jnp.where(large, apart, 0))
    return jnp.where(large, -deviance - log_stirling(many), direct)


def log_gamma(z: Any, a: Any) -> Any:
    """Return the logarithm of zᵃ⁻¹ e⁻ᶻ / Γ(a), for a ≥ ``LEAST`` and z > 0."""
    return log_poisson(a, z, z - a) + jnp.log(a / z)


def log_binomial(a: Any, b: Any, p: Any) -> Any:
    """Return the logarithm of pᵃ (1 - p)ᵇ Γ(a + b + 1) / (Γ(a + 1) Γ(b + 1)), a + b > 0."""
    n, q = a + b, 1 - p
    apart = excess(n, p, a)
    return log_stirling(n) + log_poisson(a, n * p, apart) + log_poisson(b, n * q, -apart)
