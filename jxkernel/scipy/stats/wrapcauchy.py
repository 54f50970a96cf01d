"""The wrapped Cauchy distribution of angles in [0, 2π]."""

from math import log, pi
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.scipy.stats.families import Continuous

__all__ = [
    "logpdf",
    "pdf",
]


def _logpdf(z: Any, c: Any) -> Any:
    inside = (z >= 0) & (z <= 2 * pi)
    spread = (1 - c) ** 2 + 4 * c * jnp.sin(z / 2) ** 2
    value = jnp.log1p(-c * c) - log(2 * pi) - jnp.log(spread)
    value = jnp.where(inside, value, -np.inf)
    return jnp.where((c > 0) & (c < 1), value, np.nan)


_WRAPCAUCHY = Continuous(
    "wrapcauchy", "the wrapped Cauchy distribution", c="the concentration, between 0 and 1."
)
pdf = _WRAPCAUCHY(
    "pdf",
    _logpdf,
    at="1.0, 0.5",
    shows="Array(0.1682, dtype=float32, weak_type=True)",
    weakly=True,
    located=(),
)
logpdf = _WRAPCAUCHY(
    "logpdf",
    _logpdf,
    at="1.0, 0.5",
    shows="Array(-1.7825999, dtype=float32, weak_type=True)",
    note="-inf outside [0, 2π].",
    weakly=True,
    located=(),
)
