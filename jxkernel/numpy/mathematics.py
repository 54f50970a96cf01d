"""Elementary functions: roots, exponentials, logarithms, trigonometry, rounding, complex parts.

Integers and booleans become floating first.  Where a function is one operation, its edges and
derivative are that operation's.
"""

from math import log as natural_log
from math import pi
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.avals import abstractify
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.logic import isfinite
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_shapes,
    broadcast_to_shape,
    cast,
    dtype_of,
    promote_inexact,
    refuse_complex,
    refuse_out,
)
from jxkernel.numpy.ufuncs import binary_function, inexact, unary_function
from jxkernel.ops import bits, exponential, rounding, trigonometric
from jxkernel.ops.arithmetic import add, clamp, div, max, mul, neg, square, sub
from jxkernel.ops.broadcast import broadcast_in_dim
from jxkernel.ops.compare import eq, ge, lt, ne
from jxkernel.ops.complex import abs as modulus
from jxkernel.ops.complex import complex as with_parts
from jxkernel.ops.complex import conj as conjugated
from jxkernel.ops.complex import imag as imaginary_part
from jxkernel.ops.complex import real as real_part
from jxkernel.ops.convert import bitcast_convert_type
from jxkernel.ops.select import select
from jxkernel.ops.special import bessel_i0e

__all__ = [
    "acos",
    "acosh",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "around",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "conj",
    "conjugate",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "exp",
    "exp2",
    "expm1",
    "fix",
    "floor",
    "frexp",
    "hypot",
    "i0",
    "imag",
    "ldexp",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "modf",
    "rad2deg",
    "radians",
    "real",
    "rint",
    "round",
    "sin",
    "sinc",
    "sinh",
    "spacing",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]

# ---------------------------------------------------------------- roots, exponentials, logarithms

sqrt = unary_function(
    "sqrt",
    exponential.sqrt_p.bind,
    "Return the square root: NaN of negative reals; the slope at 0 is infinite.",
    **inexact,
)
cbrt = unary_function(
    "cbrt", exponential.cbrt_p.bind, "Return the real cube root; no complex dtypes.", **inexact
)
exp = unary_function("exp", exponential.exp_p.bind, "Return e to the power x.", **inexact)
exp2 = unary_function("exp2", exponential.exp2_p.bind, "Return 2 to the power x.", **inexact)
expm1 = unary_function(
    "expm1", exponential.expm1_p.bind, "Return exp(x) - 1, exact also for small x.", **inexact
)
log = unary_function(
    "log",
    exponential.log_p.bind,
    "Return the natural logarithm: -inf at 0, NaN of negative reals.",
    **inexact,
)
log1p = unary_function(
    "log1p", exponential.log1p_p.bind, "Return log(1 + x), exact also for small x.", **inexact
)


def _log_of_base(base: float) -> Any:
    return lambda x: mul(exponential.log(x), 1 / natural_log(base))


log2 = unary_function(
    "log2", _log_of_base(2), "Return the logarithm to base 2: -inf at 0.", **inexact
)
log10 = unary_function(
    "log10", _log_of_base(10), "Return the logarithm to base 10: -inf at 0.", **inexact
)


def _logaddexp(x: Any, y: Any) -> Any:
    """Return max + log1p(e^-|x - y|); equal infinities have no difference, and give themselves."""
    difference = sub(x, y)
    undefined = ne(difference, difference)
    # Replaced before anything is made of it, so that its derivative is never multiplied by NaN.
    difference = select(undefined, 0, difference)
    if dtype_of(x) not in dtypes.COMPLEX:
        apart = neg(modulus(difference))
        return add(max(x, y), exponential.log1p(exponential.exp(apart)))
    first = ge(real_part(x), real_part(y))
    apart = select(first, neg(difference), difference)
    joined = add(select(first, x, y), exponential.log1p(exponential.exp(apart)))
    return select(undefined, add(x, y), joined)


logaddexp = binary_function(
    "logaddexp", _logaddexp, "Return log(exp(x) + exp(y)), which does not overflow.", **inexact
)


def _logaddexp2(x: Any, y: Any) -> Any:
    scale = natural_log(2)
    return div(_logaddexp(mul(x, scale), mul(y, scale)), scale)


logaddexp2 = binary_function(
    "logaddexp2", _logaddexp2, "Return log2(2^x + 2^y), which does not overflow.", **inexact
)

# ---------------------------------------------------------------- trigonometry

sin = unary_function("sin", trigonometric.sin_p.bind, "Return the sine of x radians.", **inexact)
cos = unary_function("cos", trigonometric.cos_p.bind, "Return the cosine of x radians.", **inexact)
tan = unary_function("tan", trigonometric.tan_p.bind, "Return the tangent of x radians.", **inexact)
arcsin = unary_function(
    "arcsin",
    trigonometric.asin,
    "Return the inverse sine: NaN for real x outside [-1, 1].",
    **inexact,
)
arccos = unary_function(
    "arccos",
    trigonometric.acos,
    "Return the inverse cosine: NaN for real x outside [-1, 1].",
    **inexact,
)
arctan = unary_function("arctan", trigonometric.atan, "Return the inverse tangent.", **inexact)
arctan2 = binary_function(
    "arctan2",
    trigonometric.atan2,
    "Return the angle of the point (y, x), its first coordinate second, in [-π, π].",
    **inexact,
)
sinh = unary_function("sinh", trigonometric.sinh, "Return the hyperbolic sine.", **inexact)
cosh = unary_function("cosh", trigonometric.cosh, "Return the hyperbolic cosine.", **inexact)
tanh = unary_function("tanh", trigonometric.tanh, "Return the hyperbolic tangent.", **inexact)
arcsinh = unary_function(
    "arcsinh", trigonometric.asinh, "Return the inverse hyperbolic sine.", **inexact
)
arccosh = unary_function(
    "arccosh",
    trigonometric.acosh,
    "Return the inverse hyperbolic cosine: NaN for real x < 1.",
    **inexact,
)
arctanh = unary_function(
    "arctanh",
    trigonometric.atanh,
    "Return the inverse hyperbolic tangent: NaN for real |x| > 1.",
    **inexact,
)
asin, acos, atan, atan2, asinh, acosh, atanh = (
    arcsin,
    arccos,
    arctan,
    arctan2,
    arcsinh,
    arccosh,
    arctanh,
)
deg2rad = unary_function(
    "deg2rad", lambda x: mul(x, pi / 180), "Return degrees as radians.", **inexact
)
rad2deg = unary_function(
    "rad2deg", lambda x: mul(x, 180 / pi), "Return radians as degrees.", **inexact
)
radians, degrees = deg2rad, rad2deg


def _hypot(x: Any, y: Any) -> Any:
    """Scale by the larger leg, so that squares neither overflow nor vanish."""
    refuse_complex("hypot", dtype_of(x))
    x, y = modulus(x), modulus(y)
    infinite = bits.bitwise_or(eq(x, np.inf), eq(y, np.inf))
    longer = max(x, y)
    scale = select(eq(longer, 0), 1, longer)
    length = mul(scale, exponential.sqrt(add(square(div(x, scale)), square(div(y, scale)))))
    return select(infinite, np.inf, select(eq(longer, 0), longer, length))


hypot = binary_function(
    "hypot",
    _hypot,
    "Return √(x² + y²) without overflow; infinite where x or y is; the derivative at 0 is 0.",
    **inexact,
)


def _sinc(x: Any) -> Any:
    """Near 0 use the series in (πx)², whose derivatives are right there too."""
    angle = mul(x, pi)
    near = lt(modulus(angle), 0.1)
    safe = select(near, 1, angle)
    power = square(select(near, angle, 0))
    series = add(mul(power, 1 / 362880), -1 / 5040)
    for coefficient in (1 / 120, -1 / 6, 1.0):
        series = add(mul(series, power), coefficient)
    return select(near, series, div(trigonometric.sin(safe), safe))


sinc = unary_function("sinc", _sinc, "Return sin(πx) / (πx), which is 1 at 0.", **inexact)


def _i0(x: Any) -> Any:
    return mul(exponential.exp(modulus(x)), bessel_i0e(x))


i0 = unary_function(
    "i0", _i0, "Return the modified Bessel function of the first kind and order 0.", **inexact
)

# ---------------------------------------------------------------- rounding


def _rounded(operation: Any) -> Any:
    """Return a rounding that leaves integers and booleans as they are."""
    return lambda x: operation(x) if dtype_of(x) in dtypes.INEXACT else x


def _to_even(x: Any) -> Any:
    if dtype_of(x) in dtypes.COMPLEX:
        return with_parts(_to_even(real_part(x)), _to_even(imaginary_part(x)))
    return rounding.round(x, rounding.RoundingMethod.TO_NEAREST_EVEN)


def _toward_zero(x: Any) -> Any:
    return select(lt(x, 0), rounding.ceil(x), rounding.floor(x))


floor = unary_function(
    "floor", _rounded(rounding.floor), "Return the greatest integer ≤ x; derivative zero."
)
ceil = unary_function(
    "ceil", _rounded(rounding.ceil), "Return the least integer ≥ x; derivative zero."
)
trunc = unary_function(
    "trunc", _rounded(_toward_zero), "Return x without its fraction; derivative zero."
)
fix = trunc
rint = unary_function(
    "rint",
    _to_even,
    "Return the nearest integer, the even one at a tie; derivative zero.",
    **inexact,
)


@fused(static=("decimals", "out"))
def round(a: Any, decimals: int = 0, out: None = None) -> Any:
    """Return the values rounded to a number of decimals, ties to even.

    Args:
      a: an array or number; integers are unchanged for ``decimals`` ≥ 0.
      decimals: digits after the point; negative ones before it.
      out: must be None.

    Raises:
      NotImplementedError: ``out`` is given.

    The derivative is zero.
    """
    refuse_out("round", out)
    aval = argument_aval("round", a)
    if aval.dtype not in dtypes.INEXACT:
        if decimals >= 0:
            return cast(a, aval.dtype, aval.weak_type)
        return cast(round(cast(a, np.dtype(np.float32)), decimals), aval.dtype)
    if decimals == 0:
        return _to_even(a)
    # float16 would overflow on the way.
    wide = np.dtype(np.float32) if dtypes.itemsize_bits(aval.dtype) < 32 else aval.dtype
    factor = wide.type(10.0 ** (decimals if decimals > 0 else -decimals))
    x = cast(a, wide)
    if decimals > 0:
        return cast(div(_to_even(mul(x, factor)), factor), aval.dtype)
    return cast(mul(_to_even(div(x, factor)), factor), aval.dtype)


around = round


# ---------------------------------------------------------------- complex parts


def _real(x: Any) -> Any:
    aval = abstractify(x)
    if aval.dtype not in dtypes.COMPLEX:
        return x
    part = real_part(x)
    return cast(part, dtype_of(part), aval.weak_type)


def _imag(x: Any) -> Any:
    aval = abstractify(x)
    if aval.dtype not in dtypes.COMPLEX:
        return cast(
            broadcast_in_dim(aval.dtype.type(0), aval.shape, ()), aval.dtype, aval.weak_type
        )
    part = imaginary_part(x)
    return cast(part, dtype_of(part), aval.weak_type)


def _conj(x: Any) -> Any:
    return conjugated(x) if dtype_of(x) in dtypes.COMPLEX else x


real = unary_function("real", _real, "Return the real part; x itself if it is real.  Linear.")
imag = unary_function("imag", _imag, "Return the imaginary part; zeros if x is real.  Linear.")
conjugate = unary_function(
    "conjugate", _conj, "Return the complex conjugate; x itself if it is real."
)
conj = conjugate


@fused(static=("deg",))
def angle(z: Any, deg: bool = False) -> Any:
    """Return the angle of complex numbers from the positive real axis, in (-π, π].

    Args:
      z: an array or number; reals have the angle 0 or π.
      deg: whether to return degrees.

    The derivative at 0 is that of ``arctan2`` there.
    """
    (z,) = promote_inexact("angle", z)
    result = trigonometric.atan2(_imag(z), _real(z))
    return mul(result, 180 / pi) if deg else result


# ---------------------------------------------------------------- parts of floating numbers


@fused
def modf(x: Any, /) -> Any:
    """Return the pair of the fraction and the whole part of x, both with its sign."""
    (x,) = promote_inexact("modf", x)
    whole = _toward_zero(x)
    infinite = eq(modulus(x), np.inf)
    return select(infinite, 0, sub(x, whole)), whole


def _layout(dtype: Any) -> tuple[Any, int, int]:
    """Return the integer dtype as wide as a float, its mantissa's bits and its exponent's bias."""
    bits, mantissa = dtypes.itemsize_bits(dtype), dtypes.finfo(dtype).nmant
    return np.dtype(f"int{bits}"), mantissa, 2 ** (bits - mantissa - 2) - 1


@fused
def frexp(x: Any, /) -> Any:
    """Return the pair (m, n) with x = m · 2ⁿ and 0.5 ≤ |m| < 1; (x, 0) for 0, NaN, infinities.

    Raises:
      TypeError: x is complex.

    The derivative of m is 2⁻ⁿ; n is an int32 array.
    """
    (x,) = promote_inexact("frexp", x)
    dtype = dtype_of(x)
    refuse_complex("frexp", dtype)
    integers, mantissa, bias = _layout(dtype)
    small = lt(modulus(x), dtypes.finfo(dtype).smallest_normal)
    normal = select(small, mul(x, dtype.type(2.0**mantissa)), x)
    exponent = bits.shift_right_logical(bitcast_convert_type(normal, integers), mantissa)
    exponent = sub(bits.bitwise_and(exponent, 2 * bias + 1), bias - 1)
    exponent = sub(exponent, select(small, mantissa, integers.type(0)))
    special = bits.bitwise_or(eq(x, 0), bits.bitwise_not(isfinite(x)))
    exponent = cast(select(special, 0, exponent), np.dtype(np.int32))
    return select(special, x, _scaled(x, neg(exponent))), exponent


def _scaled(x: Any, n: Any) -> Any:
    """Return x · 2ⁿ in three steps, so that no power leaves the range of normal numbers."""
    dtype = dtype_of(x)
    integers, mantissa, bias = _layout(dtype)
    for _ in range(3):
        step = clamp(np.int32(1 - bias), n, np.int32(bias))
        n = sub(n, step)
        power = bits.shift_left(cast(add(step, bias), integers), mantissa)
        x = mul(x, bitcast_convert_type(power, dtype))
    return x


@fused
def ldexp(x1: Any, x2: Any, /) -> Any:
    """Return x1 · 2^x2, where x2 is an integer array.

    Raises:
      TypeError: ``x2`` is not of an integer dtype, or ``x1`` is complex.

    Linear in ``x1``.
    """
    exponent = argument_aval("ldexp", x2, 1)
    if exponent.dtype not in dtypes.INTEGRAL:
        raise TypeError(f"ldexp takes integers as exponents, got dtype {exponent.dtype.name}")
    (x,) = promote_inexact("ldexp", x1)
    refuse_complex("ldexp", dtype_of(x))
    shape = broadcast_shapes(np.shape(x), exponent.shape)
    n = cast(x2, np.dtype(np.int32))
    return _scaled(broadcast_to_shape(x, shape), broadcast_to_shape(n, shape))


def _spacing(x: Any) -> Any:
    refuse_complex("spacing", dtype_of(x))
    away = sub(rounding.nextafter(modulus(x), np.inf), modulus(x))
    return select(lt(x, 0), neg(away), away)


spacing = unary_function(
    "spacing", _spacing, "Return the distance from x to the next number away from 0.", **inexact
)
