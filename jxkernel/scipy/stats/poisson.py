"""The Poisson distribution."""

from math import log, pi
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special import gammaincc, gammaln
from jxkernel.scipy.special.elementwise import computed
from jxkernel.scipy.stats.families import Discrete, whole
from jxkernel.scipy.stats.saddle_point import few_of, log_poisson

__all__ = [
    "cdf",
    "entropy",
    "logpmf",
    "pmf",
]


def _logpmf(k: ArrayLike, mu: ArrayLike) -> Any:
    return _logarithm(mu, *_count(k))


def _count(k: Any) -> Any:
    """Return where k counts, the count, and log k! of those that are few."""
    inside = (k >= 0) & (k < np.inf) & whole(k)
    count = jnp.where(inside, k, 0)
    return inside, count, gammaln(few_of(count) + 1)


def _logarithm(mu: Any, inside: Any, count: Any, factorial: Any) -> Any:
    value = jnp.where(inside, log_poisson(count, mu, mu - count, factorial), -np.inf)
    return jnp.where(mu >= 0, value, np.nan)


def _pmf(k: ArrayLike, mu: ArrayLike) -> Any:
    """Return the probabilities, which are powers of mu where that is 0: nothing of large counts."""
    inside, count, factorial = _count(k)
    never = mu == 0
    inner = jnp.exp(_logarithm(jnp.where(never, 1, mu), inside, count, factorial))
    rate = jnp.where(never, mu, 1)
    power = rate ** jnp.where(never, count, 0) * jnp.exp(-rate - factorial)
    return jnp.where(never, jnp.where(inside, power, 0), inner)


def _cdf(k: Any, mu: Any) -> Any:
    inside = (k >= 0) & (k < np.inf)
    value = gammaincc(jnp.floor(jnp.where(inside, k, 0)) + 1, mu)
    value = jnp.where(inside, value, jnp.where(k > 0, 1, 0))
    return jnp.where(mu >= 0, value, np.nan)


_TERMS = 250


def _entropy(mu: Any) -> Any:
    """Sum -p log p up to rate 100, and beyond take the expansion in 1/μ.

    Source: R. Evans and J. Boersma, "The entropy of a Poisson distribution", SIAM Review 30, 1988.
    """
    near = mu <= 100
    small = jnp.where(near & (mu > 0), mu, 1)
    k = jnp.arange(_TERMS, dtype=mu.dtype)
    logs = _logpmf(k, small[..., None])
    direct = -(jnp.exp(logs) * logs).sum(-1)
    inverse = 1 / jnp.where(near, 100, mu)
    rest = 19 / 360 + inverse * (9 / 80 + inverse * 863 / 2520)
    rest = 1 / 12 + inverse * (1 / 24 + inverse * rest)
    far = 0.5 * (log(2 * pi) + 1 - jnp.log(inverse)) - inverse * rest
    value = jnp.where(near, jnp.where(mu == 0, 0, direct), far)
    return jnp.where(mu >= 0, value, np.nan)


_POISSON = Discrete("poisson", "the Poisson distribution", mu="the rate, not negative.")
pmf = _POISSON(
    "pmf",
    _pmf,
    at="1, 2.0",
    shows="Array(0.2707, dtype=float32, weak_type=True)",
    weakly=True,
    linear=True,
)
logpmf = _POISSON(
    "logpmf",
    _logpmf,
    at="1, 2.0",
    shows="Array(-1.3069, dtype=float32, weak_type=True)",
    weakly=True,
)
cdf = _POISSON("cdf", _cdf, at="1, 2.0", shows="Array(0.406, dtype=float32, weak_type=True)")


@fused
def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Any:
    """Return the entropy of the Poisson distribution, in nats.

    Args:
      mu: the rate; NaN results where it is negative.
      loc: the shift, which changes nothing.

    Source: R. Evans and J. Boersma, "The entropy of a Poisson distribution", SIAM Review 30, 1988.

    >>> from jxkernel.scipy.stats import poisson
    >>> poisson.entropy(2.0).round(4)
    Array(1.7048999, dtype=float32)
    """
    return computed("poisson.entropy", lambda mu, loc: _entropy(mu), mu, loc)
