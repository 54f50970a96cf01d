"""The uniform distribution on [loc, loc + scale]."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.stats.families import Continuous

__all__ = [
    "cdf",
    "logpdf",
    "pdf",
    "ppf",
]


def _logpdf(z: Any) -> Any:
    return jnp.where((z >= 0) & (z <= 1), 0.0, -np.inf).astype(z.dtype)


def _cdf(z: ArrayLike) -> Any:
    return jnp.clip(z, 0, 1)


def _ppf(q: ArrayLike) -> Any:
    return q


_UNIFORM = Continuous("uniform", "the uniform distribution")
pdf = _UNIFORM(
    "pdf", _logpdf, at="0.25", shows="Array(1., dtype=float32, weak_type=True)", weakly=True
)
logpdf = _UNIFORM(
    "logpdf",
    _logpdf,
    at="0.25",
    shows="Array(0., dtype=float32, weak_type=True)",
    note="-inf outside the interval.",
    weakly=True,
)
cdf = _UNIFORM(
    "cdf", _cdf, at="0.25", shows="Array(0.25, dtype=float32, weak_type=True)", weakly=True
)
ppf = _UNIFORM(
    "ppf", _ppf, at="0.25", shows="Array(0.25, dtype=float32, weak_type=True)", weakly=True
)
