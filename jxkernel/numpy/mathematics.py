"""Elementary functions: roots, exponentials, logarithms, trigonometry, rounding, complex parts.

Integers and booleans become floating first.  Where a function is one operation, its edges and
derivative are that operation's.
"""

from math import factorial, pi
from math import log as natural_log
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._lazy import late_function
from jxkernel.core.avals import abstractify
from jxkernel.core.zeros import constant_beside
from jxkernel.errors import KeyTypeError
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import (
    argument_aval,
    cast,
    default_inexact_dtype,
    dtype_of,
    promote_inexact,
    refuse_complex,
    refuse_out,
    ruled_dtype,
)
from jxkernel.numpy.ufuncs import binary_function, inexact, unary_function
from jxkernel.primitives.arguments import whole_number
from jxkernel.primitives.elementwise import bits, exponential, rounding, trigonometric
from jxkernel.primitives.elementwise.arithmetic import add, div, max, mul, neg, rem, square, sub
from jxkernel.primitives.elementwise.compare import eq, ge, gt, lt, ne
from jxkernel.primitives.elementwise.complex import abs as modulus
from jxkernel.primitives.elementwise.complex import complex as with_parts
from jxkernel.primitives.elementwise.complex import conj as conjugated
from jxkernel.primitives.elementwise.complex import imag as imaginary_part
from jxkernel.primitives.elementwise.complex import real as real_part
from jxkernel.primitives.elementwise.identity import stop_gradient
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.runtime import ArrayLike

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
    "hypot",
    "i0",
    "imag",
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
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]

bessel_i0e = late_function("jxkernel.primitives.elementwise.special", "bessel_i0e")

# ---------------------------------------------------------------- roots, exponentials, logarithms

sqrt = unary_function(
    "sqrt",
    exponential.sqrt_p.bind,
    "Return the square root: NaN of negative reals; the slope at 0 is infinite.",
    example=("jnp.sqrt(jnp.array([0, 9, -1]))", "Array([ 0.,  3., nan], dtype=float32)"),
    **inexact,
)
cbrt = unary_function(
    "cbrt",
    exponential.cbrt_p.bind,
    "Return the real cube root; no complex dtypes; the slope at 0 is infinite.",
    example=('f"{jnp.cbrt(-27.0):.3f}"', "'-3.000'"),
    **inexact,
)
exp = unary_function(
    "exp",
    exponential.exp_p.bind,
    "Return e to the power x.",
    example=('f"{jnp.exp(1.0):.3f}"', "'2.718'"),
    **inexact,
)
exp2 = unary_function(
    "exp2",
    exponential.exp2_p.bind,
    "Return 2 to the power x.",
    example=('f"{jnp.exp2(5.0):.3f}"', "'32.000'"),
    **inexact,
)
expm1 = unary_function(
    "expm1",
    exponential.expm1_p.bind,
    "Return exp(x) - 1, exact also for small x.",
    example=('f"{jnp.expm1(1e-10):.3e}"', "'1.000e-10'"),
    **inexact,
)
log = unary_function(
    "log",
    exponential.log_p.bind,
    "Return the natural logarithm: -inf at 0, NaN of negative reals.",
    example=('f"{jnp.log(10.0):.3f}"', "'2.303'"),
    **inexact,
)
log1p = unary_function(
    "log1p",
    exponential.log1p_p.bind,
    "Return log(1 + x), exact also for small x.",
    example=('f"{jnp.log1p(1.0):.3f}"', "'0.693'"),
    **inexact,
)


def _log10(x: Any) -> Any:
    y, scale = exponential.log(x), 1 / natural_log(10)
    if dtype_of(x) not in dtypes.COMPLEX:
        result = mul(y, scale)
    else:
        # Part by part: an infinite part leaves the other as it is.
        result = with_parts(*[mul(part(y), scale) for part in (real_part, imaginary_part)])
    return cast(result, dtype_of(x), False)


log2 = unary_function(
    "log2",
    exponential.log2_p.bind,
    "Return the logarithm to base 2: a whole number where x is a power of 2, -inf at 0.",
    example=('f"{jnp.log2(8.0):.3f}"', "'3.000'"),
    **inexact,
)
log10 = unary_function(
    "log10",
    _log10,
    "Return the logarithm to base 10: -inf at 0.",
    example=('f"{jnp.log10(1000.0):.3f}"', "'3.000'"),
    **inexact,
)


def _without_turns(angle: Any) -> Any:
    """Return an angle less its whole turns, also where a turn is less than its rounding."""
    return trigonometric.atan2(trigonometric.sin(angle), trigonometric.cos(angle))


def _logaddexp(x: Any, y: Any, scale: float | None = None) -> Any:
    """Return max + log1p(e^-|x - y|); what has no difference, infinities and NaN, gives its mean.

    With a scale s it is max + log1p(e^(-s |x - y|))/s, of real numbers.

    The greater is chosen by ``select``, not by ``max``: so both pieces are smooth where the
    arguments are equal, and derivatives of every order are right there.
    """
    difference = sub(x, y)
    undefined = ne(difference, difference)
    # Replaced before anything is made of it, so that its derivative is never multiplied by NaN.
    difference = select(undefined, 0, difference)
    real = dtype_of(x) not in dtypes.COMPLEX
    first = ge(x, y) if real else ge(real_part(x), real_part(y))
    apart = select(first, neg(difference), difference)
    apart = apart if scale is None else mul(apart, constant_beside(apart, scale))
    greater, rest = select(first, x, y), exponential.log1p(exponential.exp(apart))
    rest = rest if scale is None else div(rest, constant_beside(rest, scale))
    joined = add(greater, rest)
    if real:
        return select(undefined, div(add(x, y), 2), joined)
    # The imaginary part is that of a logarithm: from -π to π.
    angle = add(_without_turns(imaginary_part(greater)), imaginary_part(rest))
    principal = with_parts(real_part(joined), _without_turns(angle))
    kind = abstractify(joined)
    principal = cast(principal, kind.dtype, kind.weak_type and not kind.ndim)
    return select(undefined, add(x, y), principal)


logaddexp = binary_function(
    "logaddexp",
    _logaddexp,
    "Return log(exp(x) + exp(y)), which does not overflow.",
    example=('f"{jnp.logaddexp(1000.0, 1000.0):.3f}"', "'1000.693'"),
    **inexact,
)


def _logaddexp2(x: Any, y: Any) -> Any:
    scale = natural_log(2)
    if dtype_of(x) not in dtypes.COMPLEX:
        return _logaddexp(x, y, scale)
    x, y = (mul(operand, constant_beside(operand, scale)) for operand in (x, y))
    return div(_logaddexp(x, y), scale)


logaddexp2 = binary_function(
    "logaddexp2",
    _logaddexp2,
    "Return log2(2^x + 2^y), which does not overflow.",
    example=('f"{jnp.logaddexp2(3.0, 3.0):.3f}"', "'4.000'"),
    **inexact,
)

# ---------------------------------------------------------------- trigonometry

sin = unary_function(
    "sin",
    trigonometric.sin_p.bind,
    "Return the sine of x radians.",
    example=('f"{jnp.sin(1.0):.3f}"', "'0.841'"),
    **inexact,
)
cos = unary_function(
    "cos",
    trigonometric.cos_p.bind,
    "Return the cosine of x radians.",
    example=('f"{jnp.cos(1.0):.3f}"', "'0.540'"),
    **inexact,
)
tan = unary_function(
    "tan",
    trigonometric.tan_p.bind,
    "Return the tangent of x radians.",
    example=('f"{jnp.tan(1.0):.3f}"', "'1.557'"),
    **inexact,
)
arcsin = unary_function(
    "arcsin",
    trigonometric.asin,
    "Return the inverse sine: NaN for real x outside [-1, 1]; the slope at ±1 is infinite.",
    example=('f"{jnp.arcsin(0.5):.3f}"', "'0.524'"),
    **inexact,
)
arccos = unary_function(
    "arccos",
    trigonometric.acos,
    "Return the inverse cosine: NaN for real x outside [-1, 1]; the slope at ±1 is -inf.",
    example=('f"{jnp.arccos(0.5):.3f}"', "'1.047'"),
    **inexact,
)
arctan = unary_function(
    "arctan",
    trigonometric.atan,
    "Return the inverse tangent.",
    example=('f"{jnp.arctan(1.0):.3f}"', "'0.785'"),
    **inexact,
)
arctan2 = binary_function(
    "arctan2",
    trigonometric.atan2,
    "Return the angle of the point (y, x), its first coordinate second, in [-π, π].\n\n"
    "Of complex numbers it is -i log((y + i x) / √(x² + y²)), as ``lax.atan2``.  The derivative is "
    "NaN where both are 0.",
    example=('f"{jnp.arctan2(1.0, -1.0):.3f}"', "'2.356'"),
    **inexact,
)
sinh = unary_function(
    "sinh",
    trigonometric.sinh,
    "Return the hyperbolic sine.",
    example=('f"{jnp.sinh(1.0):.3f}"', "'1.175'"),
    **inexact,
)
cosh = unary_function(
    "cosh",
    trigonometric.cosh,
    "Return the hyperbolic cosine.",
    example=('f"{jnp.cosh(1.0):.3f}"', "'1.543'"),
    **inexact,
)
tanh = unary_function(
    "tanh",
    trigonometric.tanh,
    "Return the hyperbolic tangent.",
    example=('f"{jnp.tanh(1.0):.3f}"', "'0.762'"),
    **inexact,
)
arcsinh = unary_function(
    "arcsinh",
    trigonometric.asinh,
    "Return the inverse hyperbolic sine.",
    example=('f"{jnp.arcsinh(1.0):.3f}"', "'0.881'"),
    **inexact,
)
arccosh = unary_function(
    "arccosh",
    trigonometric.acosh,
    "Return the inverse hyperbolic cosine: NaN for real x < 1; the slope at 1 is infinite.",
    example=('f"{jnp.arccosh(2.0):.3f}"', "'1.317'"),
    **inexact,
)
arctanh = unary_function(
    "arctanh",
    trigonometric.atanh,
    "Return the inverse hyperbolic tangent: NaN for real |x| > 1, infinite at ±1.",
    example=('f"{jnp.arctanh(0.5):.3f}"', "'0.549'"),
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
    "deg2rad",
    lambda x: mul(x, constant_beside(x, pi / 180)),
    "Return degrees as radians.",
    example=('f"{jnp.deg2rad(180.0):.3f}"', "'3.142'"),
    **inexact,
)
rad2deg = unary_function(
    "rad2deg",
    lambda x: mul(x, constant_beside(x, 180 / pi)),
    "Return radians as degrees.",
    example=('f"{jnp.rad2deg(jnp.pi):.3f}"', "'180.000'"),
    **inexact,
)
radians, degrees = deg2rad, rad2deg


def _hypot(x: Any, y: Any) -> Any:
    """Scale by the larger leg, so that squares neither overflow nor vanish.

    The scale cancels, and is a constant to derivatives; where the result is no root, at 0 and at
    infinity, the root is one of other legs, so that its derivative is finite.  Narrow numbers are
    widened: the inverse of a small scale may be beyond their dtype.
    """
    dtype = dtype_of(x)
    refuse_complex("hypot", dtype)
    if dtypes.itemsize_bits(dtype) < 32:
        wide = np.dtype(np.float32)
        return cast(_hypot(cast(x, wide), cast(y, wide)), dtype)
    longer = stop_gradient(max(modulus(x), modulus(y)))
    infinite = bits.bitwise_or(eq(modulus(x), np.inf), eq(modulus(y), np.inf))
    apart = bits.bitwise_or(infinite, eq(longer, 0))
    scale = select(apart, 1, longer)
    first, second = div(select(apart, 1, x), scale), div(select(apart, 0, y), scale)
    length = mul(scale, exponential.sqrt(add(square(first), square(second))))
    return select(infinite, np.inf, select(apart, 0, length))


hypot = binary_function(
    "hypot",
    _hypot,
    "Return √(x² + y²) without overflow; infinite where x or y is; the derivative at 0 is 0.",
    example=(
        "jnp.hypot(jnp.array([3.0, 0.0]), jnp.array([4.0, 2.0]))",
        "Array([5., 2.], dtype=float32)",
    ),
    **inexact,
)


def _sinc(x: Any) -> Any:
    """The real function vanishes at both infinities, where sine has no value."""
    if abstractify(x).dtype in dtypes.COMPLEX:
        return _complex_sinc(mul(x, constant_beside(x, pi)))
    far = eq(modulus(x), np.inf)
    x = select(far, 1, x)
    # What is left of whole half turns is exact, and 0 for whole x.
    whole = _to_even(x)
    rest = sub(x, whole)
    near = eq(whole, 0)
    ratio = _sinc_of_half(rest)
    odd = ne(mul(_to_even(mul(whole, 0.5)), 2), whole)
    sine = mul(select(odd, neg(rest), rest), ratio)
    return select(far, 0, select(near, ratio, div(sine, select(near, 1, x))))


def _sinc_of_half(x: Any) -> Any:
    """Return sin(πx) / (πx) for x from -1/2 to 1/2, by its series: so are its derivatives."""
    power = square(x)
    terms = 13 if abstractify(x).dtype == np.float64 else 8
    coefficients = [(-(pi**2)) ** k / factorial(2 * k + 1) for k in range(terms)]
    series = mul(power, constant_beside(x, coefficients[-1]))
    for coefficient in coefficients[-2:0:-1]:
        series = mul(add(series, coefficient), power)
    return add(series, 1.0)


def _complex_sinc(angle: Any) -> Any:
    """Near 0 use the series in the angle squared, whose derivatives are right there too."""
    near = lt(modulus(angle), 0.1)
    safe = select(near, 1, angle)
    power = square(select(near, angle, 0))
    series = add(mul(power, 1 / 362880), -1 / 5040)
    for coefficient in (1 / 120, -1 / 6, 1.0):
        series = add(mul(series, power), coefficient)
    return select(near, series, div(trigonometric.sin(angle), safe))


sinc = unary_function(
    "sinc",
    _sinc,
    "Return sin(πx) / (πx), which is 1 at 0, with derivative 0 there.",
    example=('f"{jnp.sinc(0.5):.3f}"', "'0.637'"),
    **inexact,
)


def _i0(x: Any) -> Any:
    return mul(exponential.exp(modulus(x)), bessel_i0e(x))


i0 = unary_function(
    "i0",
    _i0,
    "Return the modified Bessel function of the first kind and order 0.",
    example=('f"{jnp.i0(1.0):.3f}"', "'1.266'"),
    **inexact,
    by_name=True,
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
    "floor",
    _rounded(rounding.floor),
    "Return the greatest integer ≤ x; derivative zero.",
    example=("jnp.floor(jnp.array([-1.5, 1.2]))", "Array([-2.,  1.], dtype=float32)"),
)
ceil = unary_function(
    "ceil",
    _rounded(rounding.ceil),
    "Return the least integer ≥ x; derivative zero.",
    example=("jnp.ceil(jnp.array([-1.5, 1.2]))", "Array([-1.,  2.], dtype=float32)"),
)
trunc = unary_function(
    "trunc",
    _rounded(_toward_zero),
    "Return x without its fraction; derivative zero.",
    example=("jnp.trunc(jnp.array([-1.5, 1.7]))", "Array([-1.,  1.], dtype=float32)"),
    by_name=True,
)
fix = trunc


@fused
def rint(x: ArrayLike, /) -> Any:
    """Return the nearest integer, the even one at a tie; derivative zero.

    Args:
      x: an array or number; integers are taken as floats.

    >>> jnp.rint(jnp.array([0.5, 1.5, 2.2]))
    Array([0., 2., 2.], dtype=float32)
    """
    aval = argument_aval("rint", x)
    if aval.dtype in dtypes.INEXACT:
        return _to_even(cast(x, aval.dtype, aval.weak_type))
    return cast(x, ruled_dtype("rint", default_inexact_dtype, aval.dtype))


def _rounded_integers(x: Any, dtype: Any, unit: int) -> Any:
    """Return integers rounded to multiples of a unit, ties to even; what does not fit wraps."""
    largest, zero = int(dtypes.iinfo(dtype).max), mul(x, 0)
    if unit > largest:
        if unit // 2 >= largest:
            return zero
        wrapped = np.array(unit % 2 ** dtypes.itemsize_bits(dtype), np.uint64).astype(dtype)
        above = select(gt(x, unit // 2), add(zero, wrapped), zero)
        if dtypes.iinfo(dtype).min == 0:
            return above
        return select(lt(x, -(unit // 2)), sub(zero, wrapped), above)
    rest = rem(x, unit)
    toward_zero = sub(x, rest)
    negative = lt(x, 0)
    size = select(negative, neg(rest), rest)
    gap = sub(unit, size)
    odd = ne(rem(div(toward_zero, unit), 2), 0)
    away = select(eq(size, gap), odd, gt(size, gap))
    step = select(negative, sub(zero, unit), add(zero, unit))
    return select(away, add(toward_zero, step), toward_zero)


@fused(static=("decimals", "out"), normalized=True)
def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Any:
    """Return the values rounded to a number of decimals, ties to even.

    Args:
      a: an array or number; integers are unchanged for ``decimals`` ≥ 0.
      decimals: digits after the point; negative ones before it.
      out: must be None.

    Raises:
      NotImplementedError: ``out`` is given.
      KeyTypeError: ``a`` is of keys.

    The derivative is zero.

    >>> jnp.round(jnp.array([1.25, 0.5, -3.75]), 1)
    Array([ 1.2,  0.5, -3.8], dtype=float32)
    """
    refuse_out("round", out)
    aval = argument_aval("round", a)
    decimals = whole_number("round", "decimals", decimals)
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        raise KeyTypeError("round", aval.short())
    if aval.dtype not in dtypes.INEXACT:
        if decimals >= 0:
            return cast(a, aval.dtype, aval.weak_type)
        whole = np.dtype(np.int8) if aval.dtype == np.bool_ else aval.dtype
        return cast(_rounded_integers(cast(a, whole), whole, 10**-decimals), aval.dtype)
    if decimals == 0:
        return _to_even(a)
    # float16 would overflow on the way.
    wide = np.dtype(np.float32) if dtypes.itemsize_bits(aval.dtype) < 32 else aval.dtype
    weak = aval.weak_type and not aval.ndim
    factor = wide.type(10.0 ** (decimals if decimals > 0 else -decimals))
    x = cast(a, wide)
    if decimals > 0:
        return cast(div(_to_even(mul(x, factor)), factor), aval.dtype, weak)
    return cast(mul(_to_even(div(x, factor)), factor), aval.dtype, weak)


around = round


# ---------------------------------------------------------------- complex parts


def _real(x: Any) -> Any:
    return real_part(x) if dtype_of(x) in dtypes.COMPLEX else x


def _imag(x: Any) -> Any:
    aval = abstractify(x)
    if aval.dtype in dtypes.COMPLEX:
        return imaginary_part(x)
    return cast(broadcast_in_dim(aval.dtype.type(0), aval.shape, ()), aval.dtype, aval.weak_type)


def _conj(x: Any) -> Any:
    return conjugated(x) if dtype_of(x) in dtypes.COMPLEX else x


real = unary_function(
    "real",
    _real,
    "Return the real part; x itself if it is real.  Linear.",
    example=("jnp.real(jnp.array([1 + 2j, 3.0]))", "Array([1., 3.], dtype=float32)"),
)
imag = unary_function(
    "imag",
    _imag,
    "Return the imaginary part; zeros if x is real.  Linear.",
    example=("jnp.imag(jnp.array([1 + 2j, 3.0]))", "Array([2., 0.], dtype=float32)"),
)
conjugate = unary_function(
    "conjugate",
    _conj,
    "Return the complex conjugate; x itself if it is real.",
    example=("jnp.conjugate(jnp.array([1 + 2j, 3.0]))", "Array([1.-2.j, 3.-0.j], dtype=complex64)"),
)
conj = conjugate


@fused(static=("deg",))
def angle(z: ArrayLike, deg: bool = False) -> Any:
    """Return the angle of complex numbers from the positive real axis, in (-π, π].

    Args:
      z: an array or number; reals have the angle 0 or π.
      deg: whether to return degrees.

    The derivative at 0 is that of ``arctan2`` there.

    >>> jnp.angle(jnp.array([2.0, 3j, -1.0]), deg=True)
    Array([  0.,  90., 180.], dtype=float32)
    """
    aval = argument_aval("angle", z)
    # The angles of integers and of real numbers, and degrees of arrays, are strongly typed.
    weak = aval.dtype in dtypes.COMPLEX or (aval.dtype in dtypes.FLOATING and aval.ndim > 0)
    z = cast(z, ruled_dtype("angle", default_inexact_dtype, aval.dtype), weak and aval.weak_type)
    result = trigonometric.atan2(_imag(z), _real(z))
    if not deg:
        return result
    return mul(cast(result, dtype_of(result)) if aval.ndim else result, 180 / pi)


# ---------------------------------------------------------------- fractions


@fused
def modf(x: ArrayLike, /, out: None = None) -> Any:
    """Return the pair of the fraction and the whole part of x, both with its sign.

    Args:
      x: an array or number; integers are taken as floats.
      out: must be None.

    Raises:
      TypeError: x is no array or number, or is complex.

    >>> [part.tolist() for part in jnp.modf(jnp.array([1.5, -2.25]))]
    [[0.5, -0.25], [1.0, -2.0]]
    """
    refuse_out("modf", out)
    (x,) = promote_inexact("modf", x)
    refuse_complex("modf", dtype_of(x))
    whole = _toward_zero(x)
    infinite = eq(modulus(x), np.inf)
    return select(infinite, 0, sub(x, whole)), whole
