"""Logarithms of densities with large parameters, in which nothing of their size cancels.

Each is made of Poisson probabilities: the remainder of Stirling's formula, and a deviance that is
small near the mean.  Γ(n + 1) = nⁿ e⁻ⁿ R(n), so that

    pᵃ qᵇ Γ(a + b + 1) / (Γ(a + 1) Γ(b + 1)) = R(n) P(a; n p) P(b; n q),    n = a + b, p + q = 1,

with P(k; m) = mᵏ e⁻ᵐ / Γ(k + 1), and alike for more than two.  How far a mean lies from its number
is given, so that a difference of nearly equal numbers is taken once.  Source: C. Loader, "Fast and
accurate computation of binomial probabilities", 2000.
"""

from functools import partial
from math import log, pi
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.api.custom.derivatives import custom_jvp
from jxkernel.core.zeros import Zero
from jxkernel.primitives.elementwise.convert import reduce_precision
from jxkernel.scipy.special import xlogy
from jxkernel.scipy.special.gamma_functions import stirling_remainder

__all__ = [
    "LEAST",
    "excess",
    "few_of",
    "log_binomial",
    "log_gamma",
    "log_poisson",
    "log_stirling",
]

LEAST = 16.0
"""From where on Stirling's series holds in double precision."""

_LOG_TAU = log(2 * pi)
_TERMS, _NEAR = 9, 0.2


@custom_jvp
def _log_ratio(mean: Any, x: Any) -> Any:
    """Return log(mean / x), also where the quotient is subnormal."""
    far = (mean <= 1e-6 * x) | (mean == np.inf)
    return jnp.log(mean / jnp.where(far, 1, x)) - jnp.log(jnp.where(far, x, 1))


_log_ratio.defjvps(lambda t, y, mean, x: t / mean, lambda t, y, mean, x: -t / x)


@custom_jvp
def _deviance(x: Any, mean: Any, apart: Any) -> Any:
    """Return x log(x / mean) + mean - x, with mean = x + apart.

    With u = mean / x - 1 it is x (u - log(1 + u)), and near 0 that is written in r = u / (2 + u):
    log(1 + u) = 2 (r + r³/3 + r⁵/5 + ...) and u - 2r = u r.
    """
    u = apart / x
    near = abs(u) < _NEAR
    small = jnp.where(near, u, 0)
    r = small / (2 + small)
    square = r * r
    series = jnp.zeros_like(r)
    for n in reversed(range(1, _TERMS)):
        series = series * square + 2 / (2 * n + 1)
    return jnp.where(near, x * (small * r - r * square * series), apart - x * _log_ratio(mean, x))


@partial(_deviance.defjvp, symbolic_zeros=True)
def _deviance_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The slopes are log(x / mean) and 1 - x / mean: by ``apart`` there is none beside them."""
    x, mean, apart = primals
    near = abs(apart / x) < _NEAR
    log_ratio = jnp.where(near, jnp.log1p(jnp.where(near, apart / x, 0)), _log_ratio(mean, x))
    slopes = (-log_ratio, jnp.where(near, apart / mean, 1 - x / mean))
    parts = [t * s for t, s in zip(tangents[:2], slopes, strict=True) if type(t) is not Zero]
    return _deviance(x, mean, apart), sum(parts, jnp.zeros_like(x))


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


def few_of(n: Any, among: Any = True) -> Any:
    """Return numbers below ``LEAST``, and 0 for larger ones, whose log n! the series tells.

    Args:
      n: the numbers, not negative.
      among: where the larger ones need no log n! of their own.
    """
    return jnp.where(among & (n >= LEAST), 0, n)


def log_stirling(n: Any, factorial: Any = None) -> Any:
    """Return the logarithm of R(n) = Γ(n + 1) eⁿ / nⁿ.

    Args:
      n: the number, positive.
      factorial: log n! where n < ``LEAST``; None where n is nowhere that small.
    """
    if factorial is None:
        return stirling_remainder(n) + 0.5 * (_LOG_TAU + jnp.log(n))
    large = n >= LEAST
    small = jnp.where(large, 1, n)
    direct = factorial - small * jnp.log(small) + small
    return jnp.where(large, log_stirling(jnp.where(large, n, LEAST)), direct)


def log_poisson(k: Any, mean: Any, apart: Any, factorial: Any = None) -> Any:
    """Return the logarithm of meanᵏ e⁻ᵐᵉᵃⁿ / Γ(k + 1).

    Args:
      k: the number, not negative.
      mean: its mean, not negative.
      apart: mean - k.
      factorial: log k! where k < ``LEAST``; None where k is nowhere that small.
    """
    if factorial is None:
        return -_deviance(k, mean, apart) - log_stirling(k)
    large = k >= LEAST
    small, slow = jnp.where(large, 0, k), jnp.where(large, 1, mean)
    direct = xlogy(small, slow) - factorial - slow
    many, wide = (jnp.where(large, x, LEAST) for x in (k, mean))
    return jnp.where(large, log_poisson(many, wide, jnp.where(large, apart, 0)), direct)


def log_gamma(z: Any, a: Any) -> Any:
    """Return the logarithm of zᵃ⁻¹ e⁻ᶻ / Γ(a), for a ≥ ``LEAST`` and z > 0."""
    return log_poisson(a, z, z - a) - _log_ratio(z, a)


def log_binomial(a: Any, b: Any, p: Any, *factorials: Any) -> Any:
    """Return the logarithm of pᵃ (1 - p)ᵇ Γ(a + b + 1) / (Γ(a + 1) Γ(b + 1)).

    Args:
      a: a number, not negative.
      b: another; a + b ≥ ``LEAST``.
      p: a probability.
      *factorials: log a! and log b! where they are less than ``LEAST``; none if that is nowhere.
    """
    n, q = a + b, 1 - p
    apart = excess(n, p, a)
    first, second = factorials or (None, None)
    value = log_stirling(n) + log_poisson(a, n * p, apart, first)
    return value + log_poisson(b, n * q, -apart, second)
