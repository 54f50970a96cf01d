"""What the Gumbel distributions share: exp(-exp(-z)), whose chain rule meets 0 · ∞ below -88."""

from typing import Any

import jxkernel.numpy as jnp
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.stats.families import log_of_rest

__all__ = ["log_rest", "logpdf", "pdf", "quantile", "rest", "share"]

STEEP = 60.0
"""From where on eᶻ + z is eᶻ in double precision."""


def logpdf(z: Any) -> Any:
    """Return -z - exp(-z), whose slope at -inf is that of its greater part."""
    steep = z < -STEEP
    near = jnp.where(steep, 0, z)
    return jnp.where(steep, -jnp.exp(-jnp.where(steep, z, 0)), -near - jnp.exp(-near))


NEVER = -10.0
"""Below it exp(-exp(-z)) is 0 in double precision."""


def share(z: Any) -> Any:
    """Return exp(-exp(-z)), which is flat where it is 0."""
    never = z < NEVER
    return jnp.where(never, 0, jnp.exp(-jnp.exp(-jnp.where(never, 0, z))))


def rest(z: Any) -> Any:
    """Return 1 - exp(-exp(-z)), which is flat where it is 1."""
    never = z < NEVER
    return jnp.where(never, 1, -jnp.expm1(-jnp.exp(-jnp.where(never, 0, z))))


def pdf(z: Any) -> Any:
    """Return exp(-z - exp(-z)), which is flat where it is 0."""
    never = z < NEVER
    return jnp.where(never, 0, jnp.exp(logpdf(jnp.where(never, 0, z))))


def log_rest(z: Any) -> Any:
    """Return log(1 - exp(-exp(-z))): of a small t = exp(-z) it is -z - t/2 + t²/24."""
    far, never = z > 10, z < NEVER
    t = jnp.exp(-jnp.where(far, z, 10))
    near = log_of_rest(-jnp.exp(-jnp.where(far | never, 0, z)))
    return jnp.where(far, -z - t / 2 + t * t / 24, jnp.where(never, 0, near))


def quantile(q: ArrayLike) -> Any:
    """Return -log(-log q), which is log q at 0 and -log(1 - q) at 1: so are its slopes."""
    least, most = q == 0, q == 1
    inner = -jnp.log(-jnp.log(jnp.where(least | most, 0.5, q)))
    end = jnp.where(least, jnp.log(jnp.where(least, q, 1)), -jnp.log1p(-jnp.where(most, q, 0)))
    return jnp.where(least | most, end, inner)
