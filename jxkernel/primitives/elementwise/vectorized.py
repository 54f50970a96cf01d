"""Functions for which XLA's CPU compiler calls the C library, or has formulas with large errors.

Here they are formulas that it turns into vector instructions: float32 is computed in float64, with
short polynomials and without branches, so that one rounding at the end is nearly the only error.
The polynomials are minimax: those nearest to the function on their interval in the sense of
Chebyshev, relative errors below 1e-10. Small arrays, other dtypes and other platforms keep XLA's
own operation, which is one line of a program and quick to compile; but where that loses denormal
numbers or many digits, small arrays have the formula too.
"""

from collections.abc import Callable
from math import floor, inf, log, nan, pi, prod, tan
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.dimensions import is_symbolic
from jxkernel.primitives.elementwise.families import broadcast_values
from jxkernel.primitives.elementwise.formula import Formula, evaluate

__all__ = [
    "binary_exponential",
    "cosine",
    "cube_root",
    "exponential_less_one",
    "gains",
    "hyperbolic_cosine",
    "hyperbolic_sine",
    "inverse_cosine",
    "inverse_sine",
    "logarithm",
    "logarithm_less_tangent",
    "logarithm_of_one_plus",
    "point_angle",
    "power",
    "remainder",
    "sine",
    "tangent",
    "vectorized",
    "wide_magnitude",
]

LEAST_SIZE = 1 << 14
"""The number of elements from which a formula gains more in running than it costs to compile."""

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)
_I32, _I64 = np.dtype(np.int32), np.dtype(np.int64)
_SIGN, _MAGNITUDE, _INFINITY = -(2**31), 0x7FFFFFFF, 0x7F800000
_LEAST_NORMAL, _HALF, _ONE, _TWO = 0x00800000, 0x3F000000, 0x3F800000, 0x40000000
_HALF_ROOT_2 = 0x3F3504F3
"""Bits of float32 numbers, as integers."""

NARROW = frozenset((_F32, np.dtype(dtypes.bfloat16), np.dtype(np.float16)))
"""The dtypes that formulas are for."""


def vectorized(
    function: Callable[..., Formula], otherwise: Callable[..., Any], *, always: bool = False
) -> Callable[..., Any]:
    """Return the lowering rule of a formula where it is the better one, and another elsewhere.

    Args:
      function: the formula, of float32 operands.
      otherwise: the rule for other platforms, dtypes and sizes, and where an accuracy is asked for.
      always: whether small arrays have the formula too, as XLA's own is wrong somewhere.
    """

    def lower(context: Any, *values: Any, **params: Any) -> Any:
        if params or not gains(context, always=always):
            return otherwise(context, *values, **params)
        return evaluate(context, function, broadcast_values(context, values))

    return lower


def gains(context: Any, *, always: bool = False) -> bool:
    """Return whether a formula is the better way to lower an operation."""
    aval = context.avals_out[0]
    if context.module.platform != "cpu" or aval.dtype not in NARROW:
        return False
    if any(map(is_symbolic, aval.shape)):
        return False
    return always or prod(aval.shape) >= LEAST_SIZE


# ---------------------------------------------------------------- sin, cos, tan

_TURN_BITS = 0x28BE60DB9391054A7F09D5F47D4D377036D8A5664F10E4107F9458EAF7AEF158
"""The first 256 bits after the point of 1 / 2π."""


def _turn_part(first: int, count: int) -> float:
    """Return a run of bits of 1 / 2π, the first of them worth 2 to the power -first."""
    bits = _TURN_BITS >> (257 - first - count) & ((1 << count) - 1)
    return bits * 2.0 ** (1 - first - count)


# A float32 has 24 bits and a float64 53: products with 29 bits are exact.
_TURN_PARTS = [_turn_part(3 + 29 * index, 29) for index in range(5)]
_TURN_REST = _turn_part(3 + 29 * 5, 53)

_SINE = (
    0.9999999999952237,
    -0.16666666628707263,
    0.008333328504816048,
    -0.0001983911904440681,
    2.7165829831679245e-06,
)
_COSINE = (
    0.9999999999999374,
    -0.49999999999283723,
    0.04166666653381845,
    -0.0013888879875497797,
    2.4798821815145448e-05,
    -2.7165801746588516e-07,
)


def _quarter_turns(x: Formula) -> tuple[Formula, Formula]:
    """Return a whole number k and an angle r with x = k π/2 + r modulo 2π and |r| <= π/4.

    The fraction of x / 2π is the sum of the fractions of x times each part of 1 / 2π.  Those
    products are exact, so the whole turns leave nothing behind: this is Payne and Hanek's method
    without its table.  At most three fractions of one x are not zero, and the sums of the first
    two are exact as well, so r is accurate to 2^-24 times 2^-29 of itself at every float32.
    """
    wide = x.convert(_F64)
    parts: list[Formula] = []
    for factor in _TURN_PARTS:
        turns = wide * factor
        parts.append(turns - turns.round_even())
    parts.append(wide * _TURN_REST)
    total = parts[-1]
    for part in reversed(parts[:-1]):
        total = total + part
    quarters = (total * 4.0).round_even()
    rest = parts[0] - quarters * 0.25
    for part in parts[1:]:
        rest = rest + part
    return quarters - (quarters * 0.25).round_even() * 4.0, rest * (2 * pi)


def _sine_and_cosine(r: Formula) -> tuple[Formula, Formula]:
    square = r * r
    return r * square.polynomial(_SINE), square.polynomial(_COSINE)


def sine(x: Formula) -> Formula:
    """Return sin x: x itself where that is the nearest float32, -0 and denormals included."""
    quarters, r = _quarter_turns(x)
    s, c = _sine_and_cosine(r)
    value = quarters.magnitude().equals(1.0).where(c, s, s)
    negative = quarters.equals(-1.0) | quarters.magnitude().equals(2.0)
    value = negative.where(-value, value, value).convert(_F32)
    return _tiny(x).where(x, value, x)


def cosine(x: Formula) -> Formula:
    """Return cos x."""
    quarters, r = _quarter_turns(x)
    s, c = _sine_and_cosine(r)
    value = quarters.magnitude().equals(1.0).where(s, c, s)
    negative = quarters.equals(1.0) | quarters.magnitude().equals(2.0)
    return negative.where(-value, value, value).convert(_F32)


def tangent(x: Formula) -> Formula:
    """Return tan x: x itself where that is the nearest float32."""
    quarters, r = _quarter_turns(x)
    s, c = _sine_and_cosine(r)
    odd = quarters.magnitude().equals(1.0)
    value = odd.where(-c, s, s) * _reciprocal(odd.where(s, c, s))
    return _tiny(x).where(x, value.convert(_F32), x)


def _tiny(x: Formula) -> Formula:
    """Return where f(x) = x + O(x³) rounds to x."""
    return x.magnitude() < 2.0**-13


# ---------------------------------------------------------------- asin, acos, atan2

_ARCSINE = (
    0.9999999999863537,
    0.16666667364186447,
    0.07499941908754719,
    0.04466113930866896,
    0.03010250689966149,
    0.024650862660604088,
    0.0074010072390753795,
    0.0347484248080839,
)
_ARCTANGENT = (
    0.9999999999991867,
    -0.333333332731826,
    0.19999992665921415,
    -0.14285371651162623,
    0.11103186527390912,
    -0.08990053537948567,
    0.06962813941835967,
    -0.037452523047021444,
)


def _arcsine_near_zero(a: Formula) -> tuple[Formula, Formula]:
    """Return where a > 1/2, and asin a; there asin √((1 - a) / 2), half of acos a.  For a >= 0."""
    far = a > 0.5
    square = far.where(0.5 - 0.5 * a, a * a, a)
    root = far.where(square.sqrt(), a, a)
    return far, root * square.polynomial(_ARCSINE)


def inverse_sine(x: Formula) -> Formula:
    """Return asin x, NaN outside [-1, 1]."""
    far, angle = _arcsine_near_zero(x.convert(_F64).magnitude())
    value = far.where(pi / 2 - 2.0 * angle, angle, angle).convert(_F32)
    return _tiny(x).where(x, _with_sign(value, x), x)


def inverse_cosine(x: Formula) -> Formula:
    """Return acos x, NaN outside [-1, 1]."""
    wide = x.convert(_F64)
    far, angle = _arcsine_near_zero(wide.magnitude())
    negative = wide < 0.0
    near = pi / 2 - negative.where(-angle, angle, angle)
    double = 2.0 * angle
    return far.where(negative.where(pi - double, double, double), near, near).convert(_F32)


def point_angle(y: Formula, x: Formula) -> Formula:
    """Return atan2(y, x), signs of zero and infinities as IEEE 754 has them.

    From the quotient of the smaller coordinate and the larger; if that is above tan π/8, from the
    tangent of the angle less π/4.
    """
    across, along = wide_magnitude(y), wide_magnitude(x)
    steep = across > along
    larger, smaller = steep.where(across, along, along), steep.where(along, across, along)
    endless = larger.equals(inf)
    smaller = endless.where(smaller.equals(inf).where(1.0, 0.0, smaller), smaller, smaller)
    larger = (endless | larger.equals(0.0)).where(1.0, larger, larger)
    scale = (larger < 2.0**-40).where(2.0**100, 1.0, larger)
    scale = (larger > 2.0**40).where(2.0**-70, scale, scale)
    larger, smaller = larger * scale, smaller * scale
    middle = (smaller > larger * tan(pi / 8)).where(1.0, 0.0, larger)
    slope = (smaller - middle * larger) * _reciprocal(larger + middle * smaller)
    angle = slope * (slope * slope).polynomial(_ARCTANGENT) + middle * (pi / 4)
    angle = steep.where(pi / 2 - angle, angle, angle)
    angle = x.is_negative().where(pi - angle, angle, angle)
    total = across + along
    angle = total.is_nan().where(total, angle, angle)
    return _with_sign(angle.convert(_F32), y)


def wide_magnitude(x: Formula) -> Formula:
    """Return |x| in float64, also of denormal numbers, which XLA takes as 0."""
    bits = x.bits() & _MAGNITUDE
    wide = bits.bits().convert(_F64)
    return (bits < _LEAST_NORMAL).where(bits.convert(_F64) * 2.0**-149, wide, wide)


def _reciprocal(x: Formula) -> Formula:
    """Return 1 / x to 46 bits, for float64 numbers from 2^-60 to 2^60.

    By one step of Newton's from that of a float32, which takes a fourth of the time of a division.
    """
    near = (1.0 / x.convert(_F32)).convert(_F64)
    return near * (2.0 - x * near)


def _with_sign(x: Formula, sign: Formula) -> Formula:
    """Return x >= 0 with the sign of another float32, zeros included."""
    return (x.bits() | (sign.bits() & _SIGN)).bits()


# ---------------------------------------------------------------- powers

_LOG2 = (
    2.8853900817906104,
    0.9617966726067577,
    0.5770837376230704,
    0.411662924771117,
    0.3409216364458894,
)
_EXP2 = (
    0.9999999999595618,
    0.6931471805568324,
    0.24022651213498092,
    0.055504109063258665,
    0.009618025613318034,
    0.0013333478473685416,
    0.00015469729214118296,
    1.5303700711365693e-05,
)


def _wide_logarithm(bits: Formula) -> Formula:
    """Return log2 x in float64, from the bits of a float32 x >= 0: x = 2^e m, √½ <= m < √2."""
    denormal = bits < _LEAST_NORMAL
    normal = denormal.where(bits.convert(_F32).bits(), bits, bits)
    whole = (normal - _HALF_ROOT_2) >> 23
    fraction = (normal - (whole << 23)).bits().convert(_F64)
    slope = (fraction - 1.0) * _reciprocal(fraction + 1.0)
    exponent = denormal.where(whole - 149, whole, whole).convert(_F32)
    exponent = bits.equals(0).where(-inf, exponent, exponent)
    exponent = (bits < _INFINITY).where(exponent, bits.bits(), exponent)
    return exponent.convert(_F64) + slope * (slope * slope).polynomial(_LOG2)


def _wide_exponential(x: Formula) -> Formula:
    """Return 2^x of a float64, as if |x| were at most 300."""
    x = (x > 300.0).where(300.0, x, x)
    x = (x < -300.0).where(-300.0, x, x)
    whole = x.round_even()
    scaled = (x - whole).polynomial(_EXP2)
    # The low bits of this sum are those of the whole number; those of NaN are 0.
    exponent = (whole + 3 * 2.0**51).bits() << 52
    return (scaled.bits() + exponent).bits()


def binary_exponential(x: Formula) -> Formula:
    """Return 2^x: powers of 2 of whole numbers."""
    return _wide_exponential(x.convert(_F64)).convert(_F32)


def power(x: Formula, y: Formula) -> Formula:
    """Return x^y as C has it: 1 for y = 0 and x = 1, even beside NaN.

    XLA computes with denormal numbers as if they were 0.  Those of x are read from their bits, and
    in place of those of y stands the least normal number, of which each power is the same.
    """
    base, exponent = x.bits(), y.bits()
    size, height = base & _MAGNITUDE, exponent & _MAGNITUDE
    normal = (height < _LEAST_NORMAL).where(exponent | _LEAST_NORMAL, exponent, exponent).bits()
    none = height.equals(0)
    product = normal.convert(_F64) * _wide_logarithm(size)
    product = (size.equals(_ONE) | none).where(0.0, product, product)
    value = _wide_exponential(product).convert(_F32)
    half = normal * 0.5
    whole, odd = normal.floor().equals(normal) | none, half.floor() < half
    value = (value.bits() | (whole & odd).where(base & _SIGN, 0, base)).bits()
    below = (base < _INFINITY + _SIGN) & (base > _SIGN)
    return (below & ~whole).where(nan, value, value)


_ROOT_START = 0x54A2FA8C
"""Less a third of the bits of x these are those of x^(-1/3), to a thirtieth."""


def cube_root(x: Formula) -> Formula:
    """Return the real cube root, from an inverse one r: x r² (1 - e)^(-2/3) with e = 1 - x r³.

    One step of third order in float32 leaves e below 2^-10, and the series to e³ is exact to 2^-41.
    Denormal numbers are taken times 2^150, from their bits.
    """
    bits = x.bits() & _MAGNITUDE
    denormal = bits < _LEAST_NORMAL
    size = denormal.where(bits.convert(_F32) * 2.0, bits.bits(), x)
    third = size.bits().convert(_F32) * (1 / 3)
    inverse = (_ROOT_START - third).convert(_I32).bits()
    e = 1.0 - size * inverse * inverse * inverse
    inverse = inverse * (1.0 + e * (e * (2 / 9) + 1 / 3))
    wide, inverse = size.convert(_F64), inverse.convert(_F64)
    square = wide * inverse * inverse
    e = 1.0 - square * inverse
    root = square * (1.0 + e * (e * (e * (40 / 81) + 5 / 9) + 2 / 3))
    value = (denormal.where(2.0**-50, 1.0, root) * root).convert(_F32)
    # Infinity stays, and of a signaling NaN the sum is a quiet one.
    return _with_sign((bits < _INFINITY).where(value, size + size, x), x)


# ---------------------------------------------------------------- log1p

_LN_2 = log(2)
_LN_2_HIGH = floor(_LN_2 * 2**16) / 2**16
"""So many bits that products with the exponents of float32 numbers are exact."""

_LOGARITHM = (
    0.6666666269302368,
    -0.5000163912773132,
    0.40002453327178955,
    -0.33246713876724243,
    0.2840351462364197,
    -0.2632036507129669,
    0.2552315592765808,
    -0.15268994867801666,
)
"""Of (log(1 + f) - f + f²/2) / (f³/2)."""


def logarithm_less_tangent(f: Formula) -> Formula:
    """Return log(1 + f) - f of a float32 f, for √½ <= 1 + f < √2."""
    half = f * f * 0.5
    return half * f * f.polynomial(_LOGARITHM) - half


def logarithm(x: Formula, beyond_one: Formula, rest: Formula | None = None) -> Formula:
    """Return log(x + rest) of a float32 x > 0, of which a rest was rounded off.

    With x = 2ᵉ (1 + f) and √½ <= 1 + f < √2 it is e log 2 + f - f²/2 + ...: the first two are added
    with what their sum rounds off, so the error stays below 0.94 ulp, and the function rises.

    Args:
      x: the number.
      beyond_one: what x + rest is more than 1, which is read where x is near 1.
      rest: what x lacks; nothing where not given.
    """
    bits = x.bits()
    exponent = (bits - _HALF_ROOT_2) >> 23
    scale = exponent << 23
    near = exponent.equals(0)
    f = near.where(beyond_one, (bits - scale).bits() - 1.0, x)
    # -0 leaves the sign of a zero to f.
    whole = near.where(-0.0, exponent.convert(_F32), x)
    low = whole * (_LN_2 - _LN_2_HIGH)
    if rest is not None:
        # Twice, for 2⁻ᵉ of the greatest x is no normal number; 1 / (1 + f) is nearly 1 - f + f².
        twice = near.where(-0.0, rest * (_TWO - scale).bits(), x)
        low = low + twice * (0.5 + (f * f * 0.5 - f * 0.5))
    high = whole * _LN_2_HIGH
    total = high + f
    low = low + (f - (total - high))
    return total + (low + logarithm_less_tangent(f))


def logarithm_of_one_plus(x: Formula) -> Formula:
    """Return log(1 + x): x itself where that is the nearest float32."""
    total = x + 1.0
    more = total - 1.0
    value = logarithm(total, x, (1.0 - (total - more)) + (x - more))
    value = (x > -1.0).where(value, x.equals(-1.0).where(-inf, nan, x), x)
    return (x < inf).where(value, x, x)


# ---------------------------------------------------------------- expm1

_LOG2_E = 1 / _LN_2
_EXPONENTIAL = (
    0.5000000044195108,
    0.16666666370253252,
    0.04166636076810444,
    0.008333389395573158,
    0.0013940639664954055,
    0.00019845878973937924,
)
"""Of (e^r - 1 - r) / r², for |r| <= ½ log 2."""


def exponential_less_one(x: Formula) -> Formula:
    """Return e^x - 1: x itself where that is the nearest float32.

    With x = k log 2 + r and s = 2^k it is (s - 1) + s r + s r² p(r), the first two added with what
    their sum rounds off.  A half of s is a number for the greatest x too.
    """
    whole = (x * _LOG2_E).round_even()
    above, below = x - whole * _LN_2_HIGH, whole * (_LN_2 - _LN_2_HIGH)
    r = above - below
    rest = (above - r) - below
    # The low bits of this sum are those of the whole number.
    half = (((whole + 1.5 * 2.0**23).bits() << 23) + _HALF).bits()
    less, linear = half - 0.5, half * r
    total = less + linear
    low = linear - (total - less)
    value = 2.0 * (total + (low + half * (rest + r * r * r.polynomial(_EXPONENTIAL))))
    value = (x < -18.0).where(-1.0, (x > 89.0).where(inf, value, x), x)
    return (x.magnitude() < 2.0**-25).where(x, value, x)


# ---------------------------------------------------------------- sinh, cosh

_SINH = (1.0, 1 / 6, 1 / 120, 1 / 5040, 1 / 362880)
"""Of the series of sinh x, which x^11 / 11! follows: of 1 part in 2^35 at ½."""


def _grown(wide: Formula) -> Formula:
    """Return e^x for x >= 0, of which more than the range of float32 gives infinity in the end.

    Its inverse counts as 0 where float32 has none, and it is less than 2^-120 of e^x there.
    """
    return _wide_exponential(wide * _LOG2_E)


def hyperbolic_cosine(x: Formula) -> Formula:
    """Return cosh x = h + 1 / 4h with h = e^x / 2, the sum in float32: at most 1 ulp from it."""
    half = (_grown(x.convert(_F64).magnitude()) * 0.5).convert(_F32)
    return half + 0.25 / half


def hyperbolic_sine(x: Formula) -> Formula:
    """Return sinh x = (e^x - e^-x) / 2, and by its series below ½, where digits would cancel."""
    wide = x.convert(_F64).magnitude()
    grown = _grown(wide)
    far = (grown - _reciprocal(grown)) * 0.5
    near = wide * (wide * wide).polynomial(_SINH)
    value = _with_sign((wide < 0.5).where(near, far, far).convert(_F32), x)
    return _tiny(x).where(x, value, x)


# ---------------------------------------------------------------- remainders

_QUOTIENT_BITS = 29
"""So many times the 24 bits of a float32 are the 53 of a float64: the product is exact."""

_QUOTIENT_MASK = -(1 << (53 - _QUOTIENT_BITS))
_STEPS = 10
"""The quotient of two float32 numbers is less than 2^277, and a step takes 28 bits off at least."""


def remainder(x: Formula, y: Formula) -> Formula:
    """Return what is left of x / y with the sign of x: exact, also of denormal numbers.

    By long division, of which a step takes the first 29 bits of the quotient, rounded toward zero.
    They are those of the quotient in float64: that of numbers of 24 bits is no nearer than 2^-24 of
    a step to the next, unless it is that.  One step is enough for quotients below 2^29 of normal
    numbers.  The others are done in a loop, which mostly ends before its first turn: the rest of
    one that wants a turn has its sign bit set.
    """
    size, divisor = x.bits() & _MAGNITUDE, y.bits() & _MAGNITUDE
    left = _one_step(size.bits().convert(_F64), divisor.bits().convert(_F64))
    rest = left.convert(_F32).bits()
    normal = (left.equals(0.0) | (left >= 2.0**-126)) & (size.equals(0) | (size >= _LEAST_NORMAL))
    numbers = (size < _INFINITY) & (divisor > 0) & (divisor <= _INFINITY)
    more = numbers & ~(normal & (rest < divisor))
    rest = more.where(size | _SIGN, rest, rest)
    rest = x.scope.loop(_wants_a_turn, _turn, [rest, divisor], _STEPS)[0]
    return (rest | (x.bits() & _SIGN)).bits()


def _one_step(x: Formula, y: Formula) -> Formula:
    """Return x less the greatest multiple of y that has 29 bits, for float64 numbers >= 0."""
    return x - ((x / y).bits() & _QUOTIENT_MASK).bits().floor() * y


def _wants_a_turn(rest: Formula, divisor: Formula) -> Formula:
    return rest < 0


def _turn(rest: Formula, divisor: Formula) -> list[Formula]:
    """Take a step, also of denormal numbers and with an infinite divisor, from bits to bits."""
    by = wide_magnitude(divisor.bits())
    left = _one_step(wide_magnitude(rest.bits()), by.equals(inf).where(2.0**200, by, by))
    small = (left * 2.0**149).convert(_I32)
    rest = (left < 2.0**-126).where(small, left.convert(_F32).bits(), small)
    more = rest >= divisor
    # Were the divisor the same in all turns, XLA would store what is made of it before the first.
    return [more.where(rest | _SIGN, rest, rest), more.where(divisor, 0, divisor)]
