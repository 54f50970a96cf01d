"""The von Mises distribution of angles, of density ∝ exp(κ cos x)."""

from math import log, pi
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special import i0e
from jxkernel.scipy.stats.families import Continuous

__all__ = [
    "logpdf",
    "pdf",
]


def _logpdf(z: Any, kappa: Any) -> Any:
    """With cos x - 1 = -2 sin²(x/2) and the scaled I₀, nothing overflows.

    κ - |κ|, which is 0, gives the derivative at κ = 0 what the scaled I₀ has not there.
    """
    exponent = kappa - abs(kappa) - 2 * kappa * jnp.sin(z / 2) ** 2
    value = exponent - log(2 * pi) - jnp.log(i0e(kappa))
    return jnp.where(kappa >= 0, value, np.nan)


def _pdf(z: ArrayLike, kappa: ArrayLike) -> Any:
    return jnp.exp(_logpdf(z, kappa))


_VONMISES = Continuous(
    "vonmises", "the von Mises distribution", kappa="the concentration κ, positive."
)
pdf = _VONMISES(
    "pdf",
    _pdf,
    linear=True,
    at="1.0, 2.0",
    shows="Array(0.2057, dtype=float32, weak_type=True)",
    weakly=True,
    located=(),
)
logpdf = _VONMISES(
    "logpdf",
    _logpdf,
    at="1.0, 2.0",
    shows="Array(-1.5812999, dtype=float32, weak_type=True)",
    weakly=True,
    located=(),
)
