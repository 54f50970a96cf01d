"""Hypergeometric functions of real arguments: Kummer's ₁F₁ and Gauss's ₂F₁.

Power series, after the functional equations have brought the variable to where they converge
fast.  Derivatives in the parameters are those of the series, term by term.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.api.control_flow.looping import while_loop
from jxkernel.api.custom.derivatives import custom_jvp
from jxkernel.api.derivatives.autodiff import jvp
from jxkernel.api.vectorize import vmap
from jxkernel.numpy.fusing import fused
from jxkernel.primitives.elementwise import special as ops
from jxkernel.primitives.elementwise.identity import stop_gradient
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special.elementwise import computed, epsilon
from jxkernel.scipy.special.gamma_functions import gammasgn

__all__ = ["hyp1f1", "hyp2f1"]

_LIMIT = 20_000


@custom_jvp
def _series(tops: tuple[Any, ...], bottom: Any, x: Any) -> Any:
    """Return Σ (a)ₖ ... / ((b)ₖ k!) xᵏ, until no element has a term that counts."""
    threshold = epsilon(x)

    def goes_on(state: Any) -> Any:
        k, term, total = state
        # A small term may precede greater ones while the factors change their signs.
        early = (k < _few(tops, bottom)) & (term != 0)
        return ((abs(term) > threshold * abs(total)) | early).any() & (k < _LIMIT)

    def step(state: Any) -> Any:
        k, term, total = state
        factor = x / ((bottom + k) * (k + 1))
        for top in tops:
            factor = factor * (top + k)
        term = term * factor
        done = (abs(term) <= 0.01 * threshold * abs(total)) & (k >= _few(tops, bottom))
        term = jnp.where(done, 0, term)
        return k + 1, term, total + term

    one = jnp.ones_like(x)
    return while_loop(goes_on, step, (x.dtype.type(0), one, one))[2]


@_series.defjvp
def _series_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """In x the slope is Π a / b of the series whose parameters are greater by 1."""
    tops, bottom, x = primals
    by_x = _series(tuple(top + 1 for top in tops), bottom + 1, x) * prod(tops) / bottom
    slopes = (*_parameter_slopes(tops, bottom, x), by_x)
    moves = (*tangents[0], *tangents[1:])
    # A slope that is unused may be infinite.
    parts = [jnp.where(t == 0, 0, t * slope) for t, slope in zip(moves, slopes, strict=True)]
    return _series(tops, bottom, x), sum(parts)


def _parameter_slopes(tops: tuple[Any, ...], bottom: Any, x: Any) -> tuple[Any, ...]:
    """Return the derivatives of the series in its upper parameters and in the lower one.

    They are series of their own, and go on where that of the value ends: (a)ₖ = 0 for an a of 0,
    -1, ... has another slope than 0.  Beyond the circle of convergence they end with it.
    """
    threshold = epsilon(x)
    converges = abs(x) < (1 if len(tops) > 1 else np.inf)
    parameters = (*tops, bottom)

    def goes_on(state: Any) -> Any:
        k, term, slopes, totals = state
        counts = (k < _few(tops, bottom)) & (term != 0)
        for slope, total in zip(slopes, totals, strict=True):
            counts = counts | (abs(slope) > threshold * abs(total))
        return counts.any() & (k < _LIMIT)

    def step(state: Any) -> Any:
        k, term, slopes, totals = state
        scale = x / ((bottom + k) * (k + 1))
        factors = [top + k for top in tops]
        factor = scale * prod(factors)
        # By the product rule: without the one factor that is differentiated.
        others = [prod(factors[:i] + factors[i + 1 :]) for i in range(len(factors))]
        moved = [scale * other for other in others] + [-factor / (bottom + k)]
        following = [s * factor + term * m for s, m in zip(slopes, moved, strict=True)]
        kept = converges | (term != 0)
        slopes = tuple(jnp.where(kept, slope, 0) for slope in following)
        totals = tuple(total + slope for total, slope in zip(totals, slopes, strict=True))
        return k + 1, term * factor, slopes, totals

    zeros = tuple(jnp.zeros_like(x) for _ in parameters)
    return while_loop(goes_on, step, (x.dtype.type(0), jnp.ones_like(x), zeros, zeros))[3]


def _few(tops: tuple[Any, ...], bottom: Any) -> Any:
    """Return how many terms come before the factors keep their signs."""
    least = bottom
    for top in tops:
        least = jnp.minimum(least, top)
    return jnp.clip(-least, 0, 1000) + 2


def _slopes(function: Callable[..., Any], *args: Any) -> Any:
    """Return the derivatives in each parameter, all in one loop."""
    count = len(args)
    ones = jnp.ones(args[0].shape, args[0].dtype)
    directions = [
        jnp.stack([ones if i == j else jnp.zeros_like(ones) for j in range(count)])
        for i in range(count)
    ]
    return vmap(lambda *directions: jvp(function, args, directions)[1])(*directions)


def _is_natural(x: Any) -> Any:
    """Return where x is 0 or a negative integer, so that Γ has a pole."""
    return (x <= 0) & (x == jnp.floor(x))


def _gamma_ratio(tops: tuple[Any, ...], bottoms: tuple[Any, ...]) -> Any:
    """Return Π Γ(top) / Π Γ(bottom), which is 0 where a bottom is a pole.

    Around a pole -n, where z = e - n, 1/Γ(z) is (-1)ⁿ n! e (1 - ψ(n + 1) e) + O(e³).
    """
    size: Any = 0.0
    factor, zero = 1.0, False
    for top in tops:
        size, factor = size + ops.lgamma(top), factor * gammasgn(top)
    for bottom in bottoms:
        pole, place = _is_natural(bottom), stop_gradient(bottom)
        beside = bottom - place
        around = (1 - 2 * (place % 2)) * beside * (1 - ops.digamma(1 - place) * beside)
        safe = jnp.where(pole, 1, bottom)
        size = size + jnp.where(pole, ops.lgamma(1 - place), -ops.lgamma(safe))
        factor = factor * jnp.where(pole, around, gammasgn(safe))
        zero = zero | pole
    # The value at a pole is 0 however great its slope is.
    most = 0.9 * float(np.log(dtypes.finfo(size.dtype).max))
    return factor * jnp.exp(jnp.where(zero, jnp.minimum(size, most), size))


# ---------------------------------------------------------------- Kummer


def _far_left(a: Any, b: Any, x: Any) -> Any:
    """Return ₁F₁ for large -x: Γ(b)/Γ(b - a) (-x)⁻ᵃ Σ (a)ₖ (a - b + 1)ₖ / k! (-x)⁻ᵏ (13.7.2)."""
    inverse = -1 / x
    term = total = jnp.ones_like(x)
    growing = jnp.zeros(x.shape, bool)
    for k in range(30):
        following = term * (a + k) * (a - b + 1 + k) / (k + 1) * inverse
        # The series is asymptotic: it is cut where its terms begin to grow.
        growing = growing | (abs(following) > abs(term))
        term = jnp.where(growing, 0, following)
        total = total + term
    return _gamma_ratio((b,), (b - a,)) * (-x) ** -a * total


def _kummer(a: Any, b: Any, x: Any, ends: Any) -> Any:
    """Return ₁F₁: for negative x it is exp(x) ₁F₁(b - a; b; -x), whose terms cancel less.

    ``ends`` says where it is a polynomial, and stays one.
    """
    bound = 30.0 if x.dtype == np.float32 else 60.0
    left = (x < 0) & ~ends
    far = left & (x < -bound - a * a - (b - a) ** 2)
    top = jnp.where(left, b - a, a)
    inner = jnp.where(far, 1, jnp.where(left, -x, x))
    total = _series((top,), b, inner)
    value = jnp.where(left, jnp.exp(jnp.where(left, x, 0)) * total, total)
    return jnp.where(far, _far_left(a, b, jnp.where(far, x, -bound)), value)


@custom_jvp
def _hyp1f1(a: Any, b: Any, x: Any) -> Any:
    pole = _is_natural(b) & ~(_is_natural(a) & (a >= b))
    # Equal parameters cancel, and a = 0 leaves the first term, also where b is a pole.
    equal = (a == b) & (a != 0)
    given = jnp.where(pole | (b == 0) | equal, 1, b)
    value = _kummer(jnp.where(equal, 1, a), given, x, _is_natural(a) & ~equal)
    return jnp.where(pole, np.inf, value)


@_hyp1f1.defjvp
def _hyp1f1_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """In x the slope is a/b ₁F₁(a + 1; b + 1; x) (DLMF 13.3.15); of 1 it is 0, of exp(x) itself."""
    a, b, x = primals
    by_a, by_b = _slopes(lambda a, b: _kummer(a, b, x, jnp.zeros(x.shape, bool)), a, b)
    value = _hyp1f1(a, b, x)
    # At poles of b the function is 1 for a = 0, and exp(x) for a = b.
    special = _is_natural(b) & ((a == 0) | (a == b))
    safe = jnp.where(special, 1, b)
    by_x = a / safe * _hyp1f1(a + 1, safe + 1, x)
    by_x = jnp.where(special, jnp.where(a == 0, 0, value), by_x)
    return value, tangents[0] * by_a + tangents[1] * by_b + tangents[2] * by_x


@fused
def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Return Kummer's confluent hypergeometric function ₁F₁(a; b; x).

    Args:
      a: the upper parameter, a real array; each may be a list of numbers.
      b: the lower one; inf results at its poles, 0 and the negative integers.
      x: the variable.

    Differentiable in all three.  Digits are lost where the terms of the series cancel, as for
    large a and b of opposite signs.  Sources: DLMF 13.2.2, 13.2.39, 13.7.2.

    >>> from jxkernel.scipy import special
    >>> special.hyp1f1(1.0, 1.0, 1.0).round(4)
    Array(2.7182999, dtype=float32)
    """
    return computed("hyp1f1", _hyp1f1, *map(jnp.asarray, (a, b, x)))


# ---------------------------------------------------------------- Gauss


def _at_unit_interval(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Return ₂F₁ for 0 ≤ x < 1: by the series of 1 - x near 1, unless c - a - b is whole.

    Source: DLMF 15.8.4.
    """
    excess = c - a - b
    finite = _is_natural(a) | _is_natural(b)
    turned = (x > 0.9) & (abs(excess - jnp.round(excess)) > 1e-3) & ~finite
    safe = jnp.where(turned, excess, 0.5)
    rest = jnp.where(turned, 1 - x, 0.05)
    direct = _series((a, b), c, jnp.where(turned, 0.05, x))
    first = _gamma_ratio((c, safe), (c - a, c - b)) * _series((a, b), 1 - safe, rest)
    second = _gamma_ratio((c, -safe), (a, b)) * rest**safe
    second = second * _series((c - a, c - b), 1 + safe, rest)
    return jnp.where(turned, first + second, direct)


def _gauss(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Return ₂F₁ for x < 1: for negative x it is (1 - x)⁻ᵃ ₂F₁(a, c - b; c; x/(x - 1)) (15.8.1).

    A polynomial stays one.
    """
    polynomial = _is_natural(a) | _is_natural(b)
    left = (x < 0) & ~(polynomial & (x > -1))
    swapped = _is_natural(b)
    power, other = jnp.where(swapped, b, a), jnp.where(swapped, a, b)
    inner = jnp.where(left, x / (x - 1), x)
    value = _at_unit_interval(jnp.where(left, power, a), jnp.where(left, c - other, b), c, inner)
    return jnp.where(left, (1 - jnp.where(left, x, 0)) ** -power * value, value)


@custom_jvp
def _hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    ends = (_is_natural(a) & (a >= c)) | (_is_natural(b) & (b >= c))
    polynomial = _is_natural(a) | _is_natural(b)
    pole = _is_natural(c) & ~ends
    safe = jnp.where(pole, 1, c)
    # A polynomial has no bound on x; elsewhere the function is cut from 1 on.
    inside = (x < 1) | polynomial
    value = _gauss(a, b, safe, jnp.where(inside, x, 0))
    excess = safe - a - b
    at_one = _gamma_ratio((safe, jnp.where(excess > 0, excess, 1)), (safe - a, safe - b))
    at_one = jnp.where(excess > 0, at_one, np.inf)
    value = jnp.where(inside, value, jnp.where(x == 1, at_one, np.inf))
    value = jnp.where(jnp.isnan(x), np.nan, value)
    return jnp.where(pole, np.inf, jnp.where((a == 0) | (b == 0) | (x == 0), 1, value))


@_hyp2f1.defjvp
def _hyp2f1_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """In x the slope is ab/c ₂F₁(a + 1, b + 1; c + 1; x) (DLMF 15.5.1)."""
    a, b, c, x = primals
    by_a, by_b, by_c = _slopes(lambda a, b, c: _gauss(a, b, c, x), a, b, c)
    by_x = a * b / c * _hyp2f1(a + 1, b + 1, c + 1, x)
    slopes = (by_a, by_b, by_c, by_x)
    return _hyp2f1(*primals), sum(t * s for t, s in zip(tangents, slopes, strict=True))


@fused
def hyp2f1(a: Any, b: ArrayLike, c: Any, x: Any) -> Any:
    """Return Gauss's hypergeometric function ₂F₁(a, b; c; x).

    Args:
      a: an upper parameter, a real array; each may be a list of numbers.
      b: another.
      c: the lower one; inf results at its poles, 0 and the negative integers.
      x: the variable; inf results above 1, where the function is cut, unless it is a polynomial.

    Differentiable in all four.  Digits are lost where the terms of the series cancel, and where
    c - a - b is whole and x near 1 the series is long.  Sources: DLMF 15.2.1, 15.8.1, 15.8.4.

    >>> from jxkernel.scipy import special
    >>> special.hyp2f1(1.0, 1.0, 2.0, 0.5).round(4)
    Array(1.3863, dtype=float32)
    """
    return computed("hyp2f1", _hyp2f1, *map(jnp.asarray, (a, b, c, x)))
