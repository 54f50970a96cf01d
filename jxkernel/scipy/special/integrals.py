"""Integrals of elementary functions: exponential, trigonometric, Fresnel, dilogarithm, Owen's T.

Each is a power series, a continued fraction or a Chebyshev sum where that converges fast; the
derivatives are the integrands.
"""

from math import pi, sqrt
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.api.control_flow.looping import while_loop
from jxkernel.api.custom.derivatives import custom_jvp
from jxkernel.numpy.fusing import fused
from jxkernel.primitives.elementwise import special as ops
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special import coefficients as table
from jxkernel.scipy.special.elementwise import chebyshev, computed, epsilon
from jxkernel.scipy.special.error_functions import ndtr

__all__ = ["exp1", "expi", "expn", "fresnel", "owens_t", "sici", "spence"]

_GAMMA = 0.57721566490153286

# ---------------------------------------------------------------- exponential


def _entire(x: Any) -> Any:
    """Return x Σ xᵏ / ((k + 1)² k!), which is Ei(x) - log|x| - γ, for -1 ≤ x ≤ 6."""
    return x * chebyshev(x, -1, 6, table.EIN_SMALL)


def _decaying(x: Any) -> Any:
    """Return x exp(x) E₁(x) for x ≥ 1."""
    x = jnp.minimum(x, 1e30)
    return chebyshev((x - 5) / (x + 3), -1, 1, table.E1_LARGE)


@custom_jvp
def _exp1(x: Any) -> Any:
    near = x < 1
    small = jnp.where(near & (x > 0), x, 1)
    large = jnp.where(near, 1, x)
    tail = jnp.exp(-large) * (_decaying(large) / large)
    value = jnp.where(near, -_GAMMA - jnp.log(small) - _entire(-small), tail)
    value = jnp.where(x == np.inf, 0, jnp.where(x == 0, np.inf, value))
    return jnp.where(x >= 0, value, np.nan)


_exp1.defjvps(lambda t, y, x: -t * jnp.exp(-x) / jnp.where(x < 0, np.nan, abs(x)))


@fused
def exp1(x: ArrayLike) -> Any:
    """Return the exponential integral E₁(x) = ∫₁^∞ exp(-xs)/s ds.

    Args:
      x: a real array; integers become floating.

    inf at 0, NaN below.  The derivative is -exp(-x)/x.  Source: DLMF 6.2.1, 6.6.2.

    >>> from jxkernel.scipy import special
    >>> special.exp1(1.0).round(4)
    Array(0.21939999, dtype=float32)
    """
    return computed("exp1", _exp1, x)


def _growing(x: Any) -> Any:
    """Return x exp(-x) Ei(x) for x ≥ 6, in four pieces."""
    pieces = [
        chebyshev(jnp.clip(x, low, 2 * low), low, 2 * low, row)
        for low, row in ((6, table.EI_6), (12, table.EI_12), (24, table.EI_24))
    ]
    far = chebyshev(1 / jnp.maximum(x, 48), 0, 1 / 48, table.EI_48)
    return jnp.where(
        x < 12, pieces[0], jnp.where(x < 24, pieces[1], jnp.where(x < 48, pieces[2], far))
    )


@custom_jvp
def _expi(x: Any) -> Any:
    inside = (x > 0) & (x < 6)
    small = jnp.where(inside, x, 1)
    near = _GAMMA + jnp.log(small) + _entire(small)
    # Beyond, the result overflows in every dtype, and its reciprocal does not underflow.
    large = jnp.where(x >= 6, jnp.minimum(x, 1e4), 6)
    # exp(x) in two steps, so that it overflows no earlier than the result.
    half = jnp.exp(large / 2)
    far = half * (_growing(large) / large) * half
    positive = jnp.where(inside, near, far)
    negative = -_exp1(jnp.where(x < 0, -x, 1))
    value = jnp.where(x > 0, positive, jnp.where(x == 0, -np.inf, negative))
    return jnp.where(jnp.isnan(x), x, value)


@custom_jvp
def _expi_slope(x: Any) -> Any:
    """Return exp(x)/x, the exponential in two steps, so that it overflows no earlier."""
    x = jnp.minimum(x, 1e4)  # beyond, it overflows in every dtype
    half = jnp.exp(x / 2)
    return half / x * half


def _expi_bend(y: Any, x: Any) -> Any:
    """Return the derivative of y = exp(x)/x, y (1 - 1/x), in which nothing cancels at 1."""
    far = abs(x) > 2
    near = jnp.where(far, 1, x)
    return y * jnp.where(far, 1 - 1 / jnp.where(far, x, 3), (near - 1) / near)


_expi_slope.defjvps(lambda t, y, x: t * _expi_bend(y, x))
_expi.defjvps(lambda t, y, x: t * _expi_slope(x))


@fused
def expi(x: ArrayLike) -> Any:
    """Return the exponential integral Ei(x), the principal value of ∫ exp(s)/s ds up to x.

    Args:
      x: a real array; integers become floating.

    -inf at 0.  The derivative is exp(x)/x.  Source: DLMF 6.2.5, 6.6.1.

    >>> from jxkernel.scipy import special
    >>> special.expi(1.0).round(4)
    Array(1.8951, dtype=float32)
    """
    return computed("expi", _expi, x)


def _power_series(n: Any, x: Any) -> Any:
    """Return Eₙ(x) for a natural n and 0 < x ≤ 1 (DLMF 8.19.8).

    It is (-x)ⁿ⁻¹/(n-1)! · (ψ(n) - log x) - Σ (-x)ᵏ / (k! (1 - n + k)) over k ≠ n - 1.
    """
    odd = (n - 1) - 2 * jnp.floor((n - 1) / 2) == 1
    first = jnp.exp((n - 1) * jnp.log(x) - ops.lgamma(n)) * jnp.where(odd, -1, 1)
    total = first * (ops.digamma(n) - jnp.log(x))
    term = jnp.ones_like(x)
    for k in range(20):
        place = 1 - n + k
        total = total - jnp.where(place == 0, 0, term / jnp.where(place == 0, 1, place))
        term = -term * x / (k + 1)
    return total


def _fraction(n: Any, x: Any) -> Any:
    """Return exp(x) Eₙ(x) for x > 1 by its continued fraction (DLMF 8.19.17), Lentz's method."""
    threshold = 4 * epsilon(x)
    start = 1 / (x + n)

    def goes_on(state: Any) -> Any:
        i, change, *_ = state
        return (change > threshold).any() & (i < 500)

    def step(state: Any) -> Any:
        i, change, c, d, f = state
        i = i + 1
        numerator = -i * (n - 1 + i)
        place = x + n + 2 * i
        d = 1 / (numerator * d + place)
        c = place + numerator / c
        following = f * c * d
        settled = change <= threshold
        return i, jnp.where(settled, change, abs(c * d - 1)), c, d, jnp.where(settled, f, following)

    far = jnp.full_like(x, 1e18)
    return while_loop(goes_on, step, (x.dtype.type(0), jnp.ones_like(x), far, start, start))[-1]


@custom_jvp
def _expn(n: Any, x: Any) -> Any:
    whole = (n >= 0) & (n == jnp.floor(n))
    valid = whole & (x > 0) & (x < np.inf)
    order = jnp.where(valid & (n > 0), n, 1)
    near = x <= 1
    small = _power_series(order, jnp.where(valid & near, x, 1))
    large = jnp.where(valid & ~near, x, 2)
    tail = jnp.exp(-large) * _fraction(order, large)
    value = jnp.where(near, small, tail)
    value = jnp.where(n == 0, jnp.exp(-x) / x, value)
    at_zero = jnp.where(n > 1, 1 / jnp.where(n > 1, n - 1, 1), np.inf)
    ends = jnp.where(x == 0, at_zero, jnp.where(x == np.inf, 0, np.nan))
    return jnp.where(valid, value, jnp.where(whole, ends, np.nan))


@_expn.defjvp
def _expn_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The derivative in x is -Eₙ₋₁(x), of which E₋₁(x) = (1 + x) exp(-x)/x²; none in n."""
    n, x = primals
    inside = jnp.where(x == np.inf, 1, x)
    first = jnp.where(x == np.inf, 0, (1 + inside) * jnp.exp(-inside) / (inside * inside))
    before = jnp.where(n == 0, first, _expn(jnp.maximum(n - 1, 0), x))
    return _expn(n, x), -tangents[1] * before


@fused
def expn(n: Any, x: ArrayLike) -> Any:
    """Return the generalized exponential integral Eₙ(x) = ∫₁^∞ exp(-xs)/sⁿ ds.

    Args:
      n: the orders, whole numbers ≥ 0; NaN results for others.
      x: a real array, not negative.

    The derivative in ``x`` is -Eₙ₋₁(x).  Sources: DLMF 8.19.8, 8.19.17.

    >>> from jxkernel.scipy import special
    >>> special.expn(2, 1.0).round(4)
    Array(0.1485, dtype=float32)
    """
    return computed("expn", _expn, n, x)


# ---------------------------------------------------------------- sine and cosine


@custom_jvp
def _sici(x: Any) -> tuple[Any, Any]:
    size = abs(x)
    near = size <= 4
    square = jnp.where(near, x * x, 1)
    small = x * chebyshev(square, 0, 16, table.SI_SMALL)
    log = jnp.log(jnp.where(near & (size > 0), size, 1))
    small_cos = _GAMMA + log + square * chebyshev(square, 0, 16, table.CIN_SMALL)
    large = jnp.where(near | (size == np.inf), 4, size)
    inverse = 1 / large
    f = chebyshev(inverse**2, 0, 1 / 16, table.SICI_F) * inverse
    g = chebyshev(inverse**2, 0, 1 / 16, table.SICI_G) * inverse**2
    sine, cosine = jnp.sin(large), jnp.cos(large)
    si = jnp.where(size == np.inf, pi / 2, pi / 2 - f * cosine - g * sine)
    ci = jnp.where(size == np.inf, 0, f * sine - g * cosine)
    si = jnp.where(near, small, jnp.copysign(si, x))
    ci = jnp.where(near, small_cos, ci)
    ci = jnp.where(x == 0, -np.inf, jnp.where(x == -np.inf, np.nan, ci))
    missing = jnp.isnan(x)
    return jnp.where(missing, np.nan, si), jnp.where(missing, np.nan, ci)


@_sici.defjvp
def _sici_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    ends = abs(x) == np.inf
    inside = jnp.where(ends, 1, x)
    slopes = jnp.sinc(inside / pi), jnp.cos(inside) / inside
    return _sici(x), tuple(t * jnp.where(ends, 0, slope) for slope in slopes)


@fused
def sici(x: ArrayLike) -> Any:
    """Return the pair of the sine and the cosine integral, Si(x) and Ci(x).

    Args:
      x: a real array; integers become floating.  Ci of a negative x is Ci(-x), the real part.

    Si(x) = ∫₀ˣ sin(s)/s ds and Ci(x) = γ + log x + ∫₀ˣ (cos s - 1)/s ds; Ci(0) is -inf.  Source:
    Chebyshev sums of the auxiliary functions of DLMF 6.2.17, 6.2.18.

    >>> from jxkernel.scipy import special
    >>> special.sici(1.0)[0].round(4)
    Array(0.9461, dtype=float32)
    """
    return computed("sici", _sici, x)


@custom_jvp
def _fresnel(x: Any) -> tuple[Any, Any]:
    size = abs(x)
    bound = 1.75
    near = size <= bound
    inner = jnp.where(near, size, 1)
    fourth = inner**4
    small_s = inner**3 * chebyshev(fourth, 0, bound**4, table.FRESNEL_S_SMALL)
    small_c = inner * chebyshev(fourth, 0, bound**4, table.FRESNEL_C_SMALL)
    large = jnp.where(near, 2, jnp.minimum(size, 1e15))
    place = 1 / large**4
    f = chebyshev(place, 0, bound**-4, table.FRESNEL_F) / (pi * large)
    g = chebyshev(place, 0, bound**-4, table.FRESNEL_G) / (pi * large) ** 2 / large
    # x² modulo 4, so that the angle πx²/2 keeps its digits.
    sine, cosine = _half_turns(large)
    big_s = 0.5 - f * cosine - g * sine
    big_c = 0.5 + f * sine - g * cosine
    s, c = jnp.where(near, small_s, big_s), jnp.where(near, small_c, big_c)
    missing = jnp.isnan(x)
    return tuple(jnp.where(missing, x, jnp.copysign(part, x)) for part in (s, c))


def _half_turns(x: Any) -> tuple[Any, Any]:
    """Return the sine and cosine of πx²/2.

    With x = n + r, where n is the nearest integer, x² = n² + 2nr + r², of which n² modulo 4 is 0
    or 1, and 2nr may lose its whole multiples of 4.
    """
    whole = jnp.round(x)
    rest = x - whole
    odd = whole - 2 * jnp.floor(whole / 2)
    cross = 2 * whole * rest
    cross = cross - 4 * jnp.round(cross / 4)
    angle = pi / 2 * (odd + cross + rest * rest)
    return jnp.sin(angle), jnp.cos(angle)


@_fresnel.defjvp
def _fresnel_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    sine, cosine = _half_turns(x)
    return _fresnel(x), (t * sine, t * cosine)


@fused
def fresnel(x: ArrayLike) -> Any:
    """Return the pair of Fresnel's integrals S(x) and C(x), of sin(πs²/2) and cos(πs²/2).

    Args:
      x: a real array; integers become floating.

    Both tend to ±1/2.  Source: Chebyshev sums of the auxiliary functions of DLMF 7.2.10, 7.2.11.

    >>> from jxkernel.scipy import special
    >>> special.fresnel(1.0)[1].round(4)
    Array(0.77989995, dtype=float32)
    """
    return computed("fresnel", _fresnel, x)


# ---------------------------------------------------------------- dilogarithm


@custom_jvp
def _spence(x: Any) -> Any:
    """Return Li₂(1 - x), with 1 - x brought into [-1, 1/2] by the functional equations."""
    large = x > 2
    y = jnp.where(large, 1 / jnp.where(large, x, 1), x)
    small = y < 0.5
    # Of subnormal numbers, which some kernels take for zero, it is the value at zero.
    low = jnp.where(small, jnp.maximum(y, np.finfo(x.dtype).tiny), 0.25)
    w = jnp.where(small, low, 1 - y)
    inner = w * chebyshev(w, -1, 0.5, table.DILOGARITHM)
    inner = jnp.where(small, pi**2 / 6 - jnp.log(low) * jnp.log1p(-low) - inner, inner)
    log = jnp.log(jnp.where(large, x, 1))
    value = jnp.where(large, -inner - 0.5 * log * log, inner)
    return jnp.where((x >= 0) & (x < np.inf), value, jnp.where(x == np.inf, -np.inf, np.nan))


def _spence_slope(x: Any) -> Any:
    """Return log x / (1 - x), which is -1 at 1."""
    near = abs(x - 1) < 1e-3
    excess = jnp.where(near, x - 1, 0)
    series = -1 + excess * (0.5 - excess * (1 / 3 - excess / 4))
    away = jnp.where(near, 2, x)
    return jnp.where(near, series, jnp.log(away) / (1 - away))


_spence.defjvps(lambda t, y, x: t * _spence_slope(x))


@fused
def spence(x: Any) -> Any:
    """Return Spence's function ∫₁ˣ log s / (1 - s) ds, the dilogarithm of 1 - x.

    Args:
      x: a real array, or a list of numbers, not negative: NaN below 0; integers become floating.

    The derivative is log x / (1 - x).  Sources: DLMF 25.12.4, 25.12.6.

    >>> from jxkernel.scipy import special
    >>> special.spence(0.0).round(4)
    Array(1.6449, dtype=float32)
    """
    return computed("spence", _spence, jnp.asarray(x))


# ---------------------------------------------------------------- Owen's T


_NODES, _WEIGHTS = (tuple(row.tolist()) for row in np.polynomial.legendre.leggauss(40))


def _below_one(h: Any, a: Any) -> Any:
    """Return T(h, a) for h ≥ 0 and 0 ≤ a ≤ 1, by 40 Gauss-Legendre points.

    Of the integrand exp(-h² (1 + s²)/2) / (1 + s²) nothing counts beyond s = 9/h.
    """
    end = jnp.minimum(a, 9 / jnp.maximum(h, 1e-30))
    total = jnp.zeros_like(h)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        s = end * (0.5 + 0.5 * node)
        total = total + weight * jnp.exp(-0.5 * h * h * s * s) / (1 + s * s)
    return total * end * jnp.exp(-0.5 * h * h) / (4 * pi)


@custom_jvp
def _owens_t(h: Any, a: Any) -> Any:
    """Return T by its symmetries and T(h, a) = Φ(h)/4 + ... - T(ah, 1/a) for a > 1.

    With Q = 1 - Φ and h ≥ 0: T(h, a) = (Q(h) + Q(ah))/2 - Q(h) Q(ah) - T(ah, 1/a).
    """
    size, slope = abs(h), abs(a)
    size = jnp.minimum(size, 1e10)
    steep = slope > 1
    outer = jnp.where(steep & (size > 0), jnp.minimum(slope * size, 1e10), 0)
    inner = _below_one(
        jnp.where(steep, outer, size), jnp.where(steep, 1 / jnp.where(steep, slope, 1), slope)
    )
    q, q_outer = ops.erfc(size / sqrt(2)) / 2, ops.erfc(outer / sqrt(2)) / 2
    value = jnp.where(steep, 0.5 * (q + q_outer) - q * q_outer - inner, inner)
    value = jnp.where(h == 0, jnp.arctan(slope) / (2 * pi), value)
    value = jnp.where(jnp.isnan(h) | jnp.isnan(a), np.nan, value)
    return jnp.where(a < 0, -value, value)


def _height(h: Any, a: Any) -> Any:
    """Return a h, which is 0 where h is 0, for an infinite a too."""
    return jnp.where((h == 0) & jnp.isinf(a), 0, a) * h


_owens_t.defjvps(
    lambda t, y, h, a: -t * jnp.exp(-0.5 * h * h) * (ndtr(_height(h, a)) - 0.5) / sqrt(2 * pi),
    lambda t, y, h, a: t * jnp.exp(-0.5 * (h * h + _height(h, a) ** 2)) / (2 * pi * (1 + a * a)),
)


@fused
def owens_t(h: ArrayLike, a: ArrayLike) -> Any:
    """Return Owen's T function, the probability of X > h and 0 < Y < aX of two normal numbers.

    Args:
      h: a real array; integers become floating.
      a: another.

    Source: D. Owen, "Tables for computing bivariate normal probabilities", Annals of Mathematical
    Statistics 27, 1956.

    >>> from jxkernel.scipy import special
    >>> special.owens_t(0.0, 1.0)
    Array(0.12499999, dtype=float32)
    """
    return computed("owens_t", _owens_t, h, a)
