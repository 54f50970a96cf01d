"""What the distributions share: shift and scale, promotion, and the edges of the support.

A distribution is a few private functions of the standardized variable (x - loc) / scale; these
give them their public form.  A scale that is not positive gives NaN, and so does a NaN variable.
Results of weakly typed operands are weakly typed as `weakly` says (see `computed`): most where the
variable is a number, some always, those of `ndtr` and `ndtri` never.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.scipy.special.elementwise import computed

Weakness: TypeAlias = bool | tuple[int, ...]
"""The operands that are numbers where a result is weak, among x, loc, scale and the parameters."""

__all__ = [
    "at_standard",
    "between_ends",
    "density",
    "log_density",
    "log_of_rest",
    "probabilities",
    "quantiles",
    "shifted",
    "whole",
]


def _standardized(
    name: str,
    function: Callable[..., Any],
    finish: Callable[..., Any],
    args: Any,
    loc: Any,
    scale: Any,
    weakly: Weakness,
) -> Any:
    x, *parameters = args

    def compute(x: Any, loc: Any, scale: Any, *parameters: Any) -> Any:
        z = (x - loc) / scale
        value = finish(function(z, *parameters), scale)
        return jnp.where((scale > 0) & ~jnp.isnan(z), value, np.nan)

    return computed(name, compute, x, loc, scale, *parameters, weakly=weakly)


def log_density(
    name: str,
    function: Callable[..., Any],
    *args: Any,
    loc: Any,
    scale: Any,
    weakly: Weakness = (0,),
) -> Any:
    """Return a standard logarithmic density at (x - loc)/scale, less log(scale)."""
    return _standardized(name, function, lambda y, s: y - jnp.log(s), args, loc, scale, weakly)


def density(
    name: str,
    function: Callable[..., Any],
    *args: Any,
    loc: Any,
    scale: Any,
    weakly: Weakness = (0,),
) -> Any:
    """Return the density whose standard logarithm is given."""
    return _standardized(name, function, lambda y, s: jnp.exp(y) / s, args, loc, scale, weakly)


def at_standard(
    name: str,
    function: Callable[..., Any],
    *args: Any,
    loc: Any,
    scale: Any,
    weakly: Weakness = (0,),
) -> Any:
    """Return a function of (x - loc)/scale that the scale does not change further."""
    return _standardized(name, function, lambda y, s: y, args, loc, scale, weakly)


def quantiles(
    name: str,
    function: Callable[..., Any],
    *args: Any,
    loc: Any,
    scale: Any,
    weakly: Weakness = (0,),
) -> Any:
    """Return loc + scale · function(q), NaN where q is no probability."""
    q, *parameters = args

    def compute(q: Any, loc: Any, scale: Any, *parameters: Any) -> Any:
        valid = (q >= 0) & (q <= 1) & (scale > 0)
        value = function(jnp.where(valid, q, 0.5), *parameters)
        return jnp.where(valid, loc + scale * value, np.nan)

    return computed(name, compute, q, loc, scale, *parameters, weakly=weakly)


def shifted(
    name: str,
    function: Callable[..., Any],
    k: Any,
    *parameters: Any,
    loc: Any,
    weakly: Weakness = (0,),
) -> Any:
    """Return a function of k - loc."""

    def compute(k: Any, loc: Any, *parameters: Any) -> Any:
        return jnp.where(jnp.isnan(k - loc), np.nan, function(k - loc, *parameters))

    return computed(name, compute, k, loc, *parameters, weakly=weakly)


def probabilities(
    name: str,
    function: Callable[..., Any],
    k: Any,
    *parameters: Any,
    loc: Any,
    weakly: Weakness = (0,),
) -> Any:
    """Return the probabilities at k - loc whose logarithms are given."""

    def compute(k: Any, loc: Any, *parameters: Any) -> Any:
        return jnp.where(jnp.isnan(k - loc), np.nan, jnp.exp(function(k - loc, *parameters)))

    return computed(name, compute, k, loc, *parameters, weakly=weakly)


def whole(k: Any) -> Any:
    """Return where a number is whole."""
    return k == jnp.floor(k)


def between_ends(function: Callable[..., Any], a: Any, z: Any, low: float, high: float) -> Any:
    """Return function(a, z) for 0 < z < ∞, and its limits where z lies beyond.

    There the function's derivative may be infinite, so it is not applied.
    """
    inside = (z > 0) & (z < np.inf)
    value = function(a, jnp.where(inside, z, 1))
    value = jnp.where(inside, value, jnp.where(z > 0, high, low))
    return jnp.where(a > 0, value, np.nan)


def log_of_rest(log_p: Any) -> Any:
    """Return log(1 - exp(log_p)) for log_p ≤ 0.

    Source: M. Mächler, "Accurately computing log(1 - exp(-|a|))", 2012.
    """
    near = log_p > -0.6931471805599453
    small = jnp.where(near, log_p, -1)
    large = jnp.where(near, -1, log_p)
    return jnp.where(near, jnp.log(-jnp.expm1(small)), jnp.log1p(-jnp.exp(large)))
