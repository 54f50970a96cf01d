"""Arithmetic on arrays: sums, products, quotients, remainders, powers, signs, extremes.

Each function promotes its operands, broadcasts them and applies operations.  Integers keep their
dtype and wrap, save for the quotient of ``true_divide``, which is floating.
"""

from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.avals import abstractify, rank_of
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.logic import greater, less
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_shapes,
    broadcast_to_shape,
    cast,
    dtype_of,
    numeric_dtype,
    promote_for_primitive,
    promote_operands,
    refuse_complex,
)
from jxkernel.numpy.ufuncs import binary_function, inexact, unary_function
from jxkernel.primitives.elementwise import arithmetic as ops
from jxkernel.primitives.elementwise.bits import bitwise_and, bitwise_or, shift_right_logical
from jxkernel.primitives.elementwise.compare import eq, gt, lt, ne
from jxkernel.primitives.elementwise.complex import abs as absolute_value
from jxkernel.primitives.elementwise.complex import sign as sign_of
from jxkernel.primitives.elementwise.exponential import pow as power_of
from jxkernel.primitives.elementwise.exponential import pow_p
from jxkernel.primitives.elementwise.identity import stop_gradient
from jxkernel.primitives.elementwise.rounding import RoundingMethod
from jxkernel.primitives.elementwise.rounding import nextafter as next_number
from jxkernel.primitives.elementwise.rounding import round as rounded
from jxkernel.primitives.elementwise.select import select
from jxkernel.runtime import ArrayLike

__all__ = [
    "abs",
    "absolute",
    "add",
    "clip",
    "copysign",
    "divide",
    "divmod",
    "fabs",
    "float_power",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "heaviside",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "nextafter",
    "positive",
    "pow",
    "power",
    "reciprocal",
    "remainder",
    "sign",
    "square",
    "subtract",
    "true_divide",
]

add = binary_function(
    "add",
    ops.add_p.bind,
    "Return x + y; booleans are or-ed.  Linear.",
    example=("jnp.add(jnp.array([1, 2]), 10)", "Array([11, 12], dtype=int32)"),
)
subtract = binary_function(
    "subtract",
    ops.sub_p.bind,
    "Return x - y.  Linear.\n\nRaises:\n  TypeError: both are boolean.",
    example=("jnp.subtract(jnp.array([5, 7]), jnp.array([1, 2]))", "Array([4, 5], dtype=int32)"),
)
multiply = binary_function(
    "multiply",
    ops.mul_p.bind,
    "Return x · y; booleans are and-ed.  Bilinear.",
    example=(
        "jnp.multiply(jnp.array([[1], [2]]), jnp.array([3, 4]))",
        "Array([[3, 4],\n       [6, 8]], dtype=int32)",
    ),
)
true_divide = binary_function(
    "true_divide",
    ops.div_p.bind,
    "Return x / y, floating or complex; division by zero gives an infinity or NaN.",
    example=("jnp.true_divide(jnp.array([1, 2]), 4)", "Array([0.25, 0.5 ], dtype=float32)"),
    **inexact,
)
divide = true_divide
negative = unary_function(
    "negative",
    ops.neg_p.bind,
    "Return -x.  Linear.\n\nRaises:\n  TypeError: x is boolean.",
    example=("jnp.negative(jnp.array([1, -2]))", "Array([-1,  2], dtype=int32)"),
)
positive = unary_function(
    "positive",
    lambda x: x,
    "Return x.  Linear.",
    example=("jnp.positive(jnp.array([-1, 2]))", "Array([-1,  2], dtype=int32)"),
)
reciprocal = unary_function(
    "reciprocal",
    ops.reciprocal,
    "Return 1 / x, floating or complex.",
    example=("jnp.reciprocal(jnp.array([2, 4]))", "Array([0.5 , 0.25], dtype=float32)"),
    **inexact,
)
square = unary_function(
    "square",
    ops.square,
    "Return x · x; the derivative is 2x.",
    example=("jnp.square(jnp.array([-3, 4]))", "Array([ 9, 16], dtype=int32)"),
    ready=dtypes.NUMERIC,
    rule=numeric_dtype,
)
sign = unary_function(
    "sign",
    sign_of,
    "Return -1, 0 or 1 by the sign of x (x / |x| if complex); NaN for NaN; real derivatives are 0.",
    example=("jnp.sign(jnp.array([-2.5, 0.0, 7.0]))", "Array([-1.,  0.,  1.], dtype=float32)"),
)
maximum = binary_function(
    "maximum",
    ops.max_p.bind,
    "Return the greater of x and y: NaN if either is.\n\n"
    "The derivative at a tie is one half with respect to each.",
    example=(
        "jnp.maximum(jnp.array([1.0, jnp.nan, 5.0]), 3.0)",
        "Array([ 3., nan,  5.], dtype=float32)",
    ),
)
minimum = binary_function(
    "minimum",
    ops.min_p.bind,
    "Return the lesser of x and y: NaN if either is.\n\n"
    "The derivative at a tie is one half with respect to each.",
    example=(
        "jnp.minimum(jnp.array([1.0, jnp.nan, 5.0]), 3.0)",
        "Array([ 1., nan,  3.], dtype=float32)",
    ),
)
nextafter = binary_function(
    "nextafter",
    next_number,
    "Return the representable number after x in the direction of y; derivative 1 in x.",
    example=("jnp.nextafter(1.0, 2.0) - 1", "Array(1.1920929e-07, dtype=float32, weak_type=True)"),
    **inexact,
)


def _magnitude(x: Any) -> Any:
    aval = abstractify(x)
    if aval.dtype in dtypes.UNSIGNED or aval.dtype in dtypes.BOOLEAN:
        return x
    size = absolute_value(x)
    return cast(size, dtype_of(size), aval.weak_type)


absolute = unary_function(
    "absolute",
    _magnitude,
    "Return |x|, real also where x is complex; the derivative at 0 is 0.",
    example=("jnp.absolute(jnp.array([-3.0, 3 + 4j]))", "Array([3., 5.], dtype=float32)"),
)
abs = absolute


def _real_magnitude(x: Any) -> Any:
    refuse_complex("fabs", dtype_of(x))
    return absolute_value(x)


fabs = unary_function(
    "fabs",
    _real_magnitude,
    "Return |x| in a floating dtype; the derivative at 0 is 0.",
    example=("jnp.fabs(jnp.array([-2, 3]))", "Array([2., 3.], dtype=float32)"),
    **inexact,
)

# ---------------------------------------------------------------- quotients and remainders


def _differ_in_sign(x: Any, y: Any) -> Any:
    return ne(sign_of(x), sign_of(y))


def _floor_divide(x: Any, y: Any) -> Any:
    """Round the quotient of integers, which is cut toward zero, down."""
    dtype = dtype_of(x)
    refuse_complex("floor_divide", dtype)
    if dtype in dtypes.UNSIGNED:
        return ops.div(x, y)
    if dtype in dtypes.FLOATING:
        return _floating_divmod(x, y)[0]
    quotient = ops.div(x, y)
    cut = bitwise_and(_differ_in_sign(x, y), ne(ops.mul(quotient, y), x))
    return select(cut, ops.sub(quotient, 1), quotient)


def _floating_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the quotient rounded down, exact to the last bit, and the rest of y's sign.

    The rest of the division toward zero is exact; where its sign is not y's, one y is moved
    from the quotient to it.  By zero there is no rest, and the quotient is that of the sign of x:
    XLA makes a product with 1/y of the quotient of booleans, in which 0 times infinity is 0.
    """
    rest = ops.rem(x, y)
    quotient = ops.div(select(eq(y, 0), x, ops.sub(x, rest)), y)
    moved = bitwise_and(ne(rest, 0), _differ_in_sign(y, rest))
    rest = select(moved, ops.add(rest, y), rest)
    quotient = select(moved, ops.sub(quotient, 1), quotient)
    quotient = rounded(quotient, RoundingMethod.TO_NEAREST_EVEN)
    return select(eq(y, 0), stop_gradient(ops.div(sign_of(x), y)), quotient), rest


def _remainder(x: Any, y: Any) -> Any:
    dtype = dtype_of(x)
    refuse_complex("remainder", dtype)
    rest = ops.rem(x, y)
    moved = bitwise_and(ne(lt(rest, 0), lt(y, 0)), ne(rest, 0))
    rest = select(moved, ops.add(rest, y), rest)
    return rest if dtype in dtypes.FLOATING else select(eq(y, 0), 0, rest)


def _truncated_remainder(x: Any, y: Any) -> Any:
    rest = ops.rem(x, y)
    return rest if dtype_of(x) in dtypes.INEXACT else select(eq(y, 0), 0, rest)


def _divmod(x: Any, y: Any) -> tuple[Any, Any]:
    if dtype_of(x) in dtypes.FLOATING:
        return _floating_divmod(x, y)
    return _floor_divide(x, y), _remainder(x, y)


_not_boolean: dict[str, Any] = {"ready": dtypes.NUMERIC, "rule": numeric_dtype}

floor_divide = binary_function(
    "floor_divide",
    _floor_divide,
    "Return x / y rounded down, in the common dtype.\n\n"
    "Raises:\n  TypeError: x or y is complex.\n\n"
    "For y = 0 the result is that of x / y for floats, and not specified for integers.  "
    "The derivative is zero.",
    example=("jnp.floor_divide(jnp.array([7, -7]), 2)", "Array([ 3, -4], dtype=int32)"),
    **_not_boolean,
)
remainder = binary_function(
    "remainder",
    _remainder,
    "Return the remainder of ``floor_divide``, which has the sign of y; for integers 0 where y = 0."
    "\n\nRaises:\n  TypeError: x or y is complex.",
    example=("jnp.remainder(jnp.array([7, -7]), 3)", "Array([1, 2], dtype=int32)"),
    **_not_boolean,
)
mod = remainder
fmod = binary_function(
    "fmod",
    _truncated_remainder,
    "Return the remainder of x / y that has the sign of x; for integers 0 where y = 0.\n\n"
    "Raises:\n  TypeError: x or y is complex.",
    example=("jnp.fmod(jnp.array([7, -7]), 3)", "Array([ 1, -1], dtype=int32)"),
    **_not_boolean,
)
divmod = binary_function(
    "divmod",
    _divmod,
    "Return the pair of ``floor_divide`` and ``remainder``.\n\n"
    "Raises:\n  TypeError: x or y is complex.",
    example=("[part.tolist() for part in jnp.divmod(jnp.array([7, -7]), 3)]", "[[2, -3], [1, 2]]"),
    **_not_boolean,
)

# ---------------------------------------------------------------- powers


@fused(static=("exponent",))
def integer_power(x: Any, exponent: int) -> Any:
    """Return x to the power of a Python integer, in the dtype of x (booleans become integers).

    Raises:
      TypeError: x is an integer and the exponent negative.
    """
    aval = argument_aval("power", x)
    if exponent < 0 and aval.dtype not in dtypes.INEXACT:
        raise TypeError(
            f"integers cannot be raised to a negative power, got {aval.dtype.name} to the power "
            f"{exponent}: convert with x.astype(float)"
        )
    x = cast(x, numeric_dtype(aval.dtype), aval.weak_type)
    return ops.square(x) if exponent == 2 else ops.integer_pow(x, exponent)


def _power_by_squaring(x: Any, y: Any) -> Any:
    """Raise integers to integer powers bit by bit, wrapping as the dtype does."""
    result: Any = 1
    for _ in range(dtypes.itemsize_bits(dtype_of(x))):
        result = select(ne(bitwise_and(y, 1), 0), ops.mul(x, result), result)
        x = ops.mul(x, x)
        y = shift_right_logical(y, 1)
    return result


@fused
def array_power(x: Any, y: Any) -> Any:
    """Return x to the power y for arrays; see ``power``."""
    base, exponent = argument_aval("power", x), argument_aval("power", y, 1)
    if base.dtype in dtypes.INEXACT and exponent.dtype in dtypes.INTEGRAL:
        dtype, _ = dtypes.lattice_result_type(
            (base.dtype, base.weak_type), (exponent.dtype, exponent.weak_type)
        )
        x = cast(x, dtype, base.weak_type and exponent.weak_type)
        if base.shape and exponent.shape and base.shape != exponent.shape:
            shape = broadcast_shapes(base.shape, exponent.shape)
            x, y = broadcast_to_shape(x, shape), broadcast_to_shape(y, shape)
        # Bound as they are: a Python number stays of its own dtype beside an integer exponent.
        return pow_p.bind(x, y)
    x, y = promote_operands("power", x, y, rule=numeric_dtype)
    if dtype_of(x) in dtypes.INEXACT:
        return power_of(x, y)
    return cast(_power_by_squaring(x, y), dtype_of(x))


def is_whole_number(y: Any) -> bool:
    """Whether an exponent is a NumPy integer: a number, or an array of no axes."""
    scalar = isinstance(y, np.integer) or (type(y) is np.ndarray and not y.ndim)
    return scalar and y.dtype.kind in "iu"


def power(x: Any, y: Any, /) -> Any:
    """Return x to the power y.

    Args:
      x: an array or number.
      y: an array or number; a Python integer is part of the program, and needs no logarithm.

    Raises:
      TypeError: integers are raised to a negative Python integer.

    Integers wrap; the result of a negative integer power in an array is not specified.  0⁰ is 1.
    The derivative with respect to x is 0 where y = 0; that with respect to y is 0 where x = 0,
    and NaN for negative real x.

    >>> jnp.power(jnp.array([2, 3]), 3)
    Array([ 8, 27], dtype=int32)
    >>> jnp.power(2.0, jnp.array([-1, 4]))
    Array([ 0.5, 16. ], dtype=float32)
    """
    if type(y) in (int, bool) or is_whole_number(y):
        return integer_power(x, int(y))
    return array_power(x, y)


pow = power


float_power = binary_function(
    "float_power",
    power_of,
    "Return x to the power y, floating or complex.",
    example=('f"{jnp.float_power(2, 0.5):.3f}"', "'1.414'"),
    **inexact,
)

# ---------------------------------------------------------------- extremes and steps


def _copysign(x: Any, y: Any) -> Any:
    size = absolute_value(x)
    signed = select(_is_negative(y), ops.neg(size), size)
    return cast(signed, dtype_of(x), abstractify(x).weak_type and abstractify(y).weak_type)


def _is_negative(x: Any) -> Any:
    """Tell the sign, also that of -0.0, whose reciprocal is -inf."""
    return lt(select(eq(x, 0), ops.div(1, x), x), 0)


copysign = binary_function(
    "copysign",
    _copysign,
    "Return |x| with the sign of y, also that of -0.0.",
    example=("jnp.copysign(jnp.array([1.0, -2.0]), -0.0)", "Array([-1., -2.], dtype=float32)"),
    **inexact,
)


def _heaviside(x: Any, y: Any) -> Any:
    step = select(gt(x, 0), 1, select(lt(x, 0), 0, y))
    weak = abstractify(x).weak_type and abstractify(y).weak_type and not rank_of(x)
    return cast(select(ne(x, x), x, step), dtype_of(x), weak)


heaviside = binary_function(
    "heaviside",
    _heaviside,
    "Return 0 for x < 0, y for x = 0, 1 for x > 0; NaN for NaN.",
    example=(
        "jnp.heaviside(jnp.array([-2.0, 0.0, 2.0]), 0.5)",
        "Array([0. , 0.5, 1. ], dtype=float32)",
    ),
    **inexact,
)


def _preferred(chosen: Any) -> Any:
    """Return a choice between two operands by a comparison, that does not choose NaN."""

    def apply(x: Any, y: Any) -> Any:
        return select(bitwise_or(chosen(x, y), ne(y, y)), x, y)

    return apply


_fmax = binary_function("fmax", _preferred(greater.__wrapped__), "")
_fmin = binary_function("fmin", _preferred(less.__wrapped__), "")


def fmax(x1: ArrayLike, x2: ArrayLike) -> Any:
    """Return the greater operand, or the other where one is NaN.  A tie counts as the second.

    Args:
      x1: an array or number.
      x2: likewise; the two are promoted and broadcast.

    >>> jnp.fmax(jnp.array([1.0, jnp.nan]), 0.5)
    Array([1. , 0.5], dtype=float32)
    """
    return _fmax(x1, x2)


def fmin(x1: ArrayLike, x2: ArrayLike) -> Any:
    """Return the lesser operand, or the other where one is NaN.  A tie counts as the second.

    Args:
      x1: an array or number.
      x2: likewise; the two are promoted and broadcast.

    >>> jnp.fmin(jnp.array([1.0, jnp.nan]), 0.5)
    Array([0.5, 0.5], dtype=float32)
    """
    return _fmin(x1, x2)


@fused
def clip(arr: ArrayLike, /, min: Any = None, max: ArrayLike | None = None) -> Any:
    """Return the values, those beyond a bound replaced by the bound.

    Args:
      arr: an array or number, not complex.
      min: the lower bound, an array or number, or None for none.
      max: the upper bound; where it is below ``min`` the result is ``max``.

    Raises:
      TypeError: one is complex.

    The derivative with respect to a value at its bound is one half.

    >>> jnp.clip(jnp.array([-2, 3, 9]), 0, 5)
    Array([0, 3, 5], dtype=int32)
    """
    for bound in (arr, min, max):
        if bound is not None:
            refuse_complex("clip", argument_aval("clip", bound).dtype)
    if min is not None:
        arr = ops.max_p.bind(*promote_for_primitive("clip", min, arr))
    if max is not None:
        arr = ops.min_p.bind(*promote_for_primitive("clip", max, arr))
    return positive(arr)
