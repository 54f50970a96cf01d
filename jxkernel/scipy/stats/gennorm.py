"""The generalized normal distribution, of density ∝ exp(-|x|ᵝ)."""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.api.custom.derivatives import custom_jvp
from jxkernel.api.derivatives.autodiff import jvp
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special import gammaincc, gammaln
from jxkernel.scipy.stats.families import Continuous

__all__ = [
    "cdf",
    "logpdf",
    "pdf",
]


def _power(z: ArrayLike, beta: ArrayLike) -> Any:
    """Return |z|ᵝ; its second derivative at 0 is that of z² where β is 2, else 0."""
    middle = z == 0
    square = jnp.where(middle & (beta == 2), z, 0) ** 2
    return jnp.where(middle, square, abs(jnp.where(middle, 1, z)) ** beta)


def _logpdf(z: Any, beta: Any) -> Any:
    return jnp.where(beta > 0, jnp.log(beta / 2) - gammaln(1 / beta) - _power(z, beta), np.nan)


def _share_below(z: Any, beta: Any) -> Any:
    middle = z == 0
    # Where the power is beyond the dtype, the tail is 0 and does not move.
    endless = abs(jnp.where(middle, 1, z)) ** beta == np.inf
    tail = 0.5 * gammaincc(1 / beta, jnp.where(middle | endless, 1, abs(z)) ** beta)
    tail = jnp.where(endless, 0, tail)
    value = jnp.where(middle, 0.5, jnp.where(z < 0, tail, 1 - tail))
    return jnp.where(beta > 0, value, np.nan)


_cdf = custom_jvp(_share_below)


@_cdf.defjvp
def _cdf_jvp(primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Any, Any]:
    """The derivative with respect to z is the density, at 0 as well."""
    z, beta = primals
    y, by_beta = jvp(lambda beta: _share_below(z, beta), (beta,), (tangents[1],))
    return y, by_beta + tangents[0] * jnp.exp(_logpdf(z, beta))


_GENNORM = Continuous(
    "gennorm",
    "the generalized normal distribution",
    beta="the exponent, positive: 2 is normal of variance 1/2, 1 is Laplace.",
)
pdf = _GENNORM(
    "pdf",
    _logpdf,
    at="1.0, 2.0",
    shows="Array(0.2076, dtype=float32, weak_type=True)",
    weakly=True,
    located=(),
)
logpdf = _GENNORM(
    "logpdf",
    _logpdf,
    at="1.0, 2.0",
    shows="Array(-1.5724, dtype=float32, weak_type=True)",
    weakly=True,
    located=(),
)
cdf = _GENNORM(
    "cdf",
    _cdf,
    at="1.0, 2.0",
    shows="Array(0.92139995, dtype=float32, weak_type=True)",
    weakly=True,
    located=(),
)
