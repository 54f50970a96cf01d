"""The Laplace distribution, of density exp(-|x|)/2."""

from math import log
from typing import Any

import jxkernel.numpy as jnp
from jxkernel.scipy.stats.families import Continuous

__all__ = [
    "cdf",
    "logpdf",
    "pdf",
]


def _logpdf(z: Any) -> Any:
    return -abs(z) - log(2)


def _cdf(z: Any) -> Any:
    # Not abs(z), whose derivative at 0 is 0: that of the function is 1/2.
    tail = 0.5 * jnp.exp(jnp.where(z < 0, z, -z))
    return jnp.where(z < 0, tail, 1 - tail)


_LAPLACE = Continuous("laplace", "the Laplace distribution")
pdf = _LAPLACE("pdf", _logpdf, at="1.0", shows="Array(0.1839, dtype=float32, weak_type=True)")
logpdf = _LAPLACE(
    "logpdf", _logpdf, at="1.0", shows="Array(-1.6931, dtype=float32, weak_type=True)"
)
cdf = _LAPLACE("cdf", _cdf, at="1.0", shows="Array(0.8161, dtype=float32, weak_type=True)")
