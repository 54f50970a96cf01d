"""Elementwise arithmetic: signs, sums, products, quotients, integer powers, extremes.

Each primitive is one section: its declaration with all its rules, then the operation.  ``t`` is
a tangent, ``ct`` a cotangent, the last argument of a derivative rule the result.  Operands agree
in dtype and shape; a scalar may stand beside any shape, and a Python number takes the dtype of
the other operand.
"""

from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.zeros import Zero, scalar_like
from jxkernel.dtypes import DTypeLike
from jxkernel.primitives.arguments import whole_number
from jxkernel.primitives.elementwise.compare import eq, gt, lt
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.elementwise.families import (
    ANY,
    NUMERIC,
    ORDERED,
    REAL,
    ZERO_DERIVATIVE,
    bind_binary,
    broadcast_values,
    lower_by_name,
    nary,
    transpose_of_terms,
    type_numbers,
    unary,
)
from jxkernel.primitives.elementwise.rounding import ceil, floor
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.elementwise.vectorized import remainder, vectorized
from jxkernel.primitives.reference import untyped_numpy
from jxkernel.primitives.sharding import rules
from jxkernel.runtime import ArrayLike

__all__ = [
    "add",
    "add_p",
    "clamp",
    "clamp_p",
    "div",
    "div_p",
    "integer_pow",
    "integer_pow_p",
    "lower_extreme",
    "max",
    "max_p",
    "min",
    "min_p",
    "mul",
    "mul_p",
    "mulhi",
    "mulhi_p",
    "neg",
    "neg_p",
    "one_minus_square",
    "one_minus_square_p",
    "reciprocal",
    "rem",
    "rem_p",
    "square",
    "square_p",
    "sub",
    "sub_p",
]

# ---------------------------------------------------------------- neg

neg_p = unary(
    "neg",
    NUMERIC,
    lower="stablehlo.negate",
    reference=np.negative,
    jvp=None,
    linear=True,
    transpose=transpose_of_terms(lambda ct, x: neg(ct)),
)


def neg(x: ArrayLike) -> Any:
    """Return -x for any numeric dtype; integers wrap.  Linear.  StableHLO ``negate``.

    Args:
      x: an array of a number dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.neg(jnp.array([3, -7])).tolist()
    [-3, 7]
    """
    return neg_p.bind(x)


# ---------------------------------------------------------------- add, sub, mul, div


def _add_lower(context: Any, x: Any, y: Any, **params: Any) -> Any:
    # XLA folds a sum of constant booleans modulo 2.
    boolean = context.avals_in[0].dtype == np.bool_
    operation = "stablehlo.or" if boolean else "stablehlo.add"
    return context.value(operation, context.out_type, broadcast_values(context, (x, y)))


add_p = nary(
    "add",
    (ANY, ANY),
    lower=_add_lower,
    reference=np.add,
    jvp=(lambda t, x, y, z: t, lambda t, x, y, z: t),
    transpose=transpose_of_terms(lambda ct, x, y: ct, lambda ct, x, y: ct),
    sharding=rules.Linear(rules.elementwise),
)


def add(x: ArrayLike, y: ArrayLike) -> Any:
    """Return x + y; integers wrap, booleans are or-ed.  Linear.  StableHLO ``add``.

    Args:
      x: an array of any dtype, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: the dtypes differ.
      ShapeMismatchError: the shapes differ.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.add(jnp.array([1.5, -4.0]), 2.0).tolist()
    [3.5, -2.0]
    >>> lax.add(jnp.array([1.0, 2.0]), jnp.ones(3))
    Traceback (most recent call last):
        ...
    jxkernel.errors.ShapeMismatchError: ...
    """
    return bind_binary(add_p, x, y)


sub_p = nary(
    "sub",
    (NUMERIC, NUMERIC),
    lower="stablehlo.subtract",
    reference=np.subtract,
    jvp=(lambda t, x, y, z: t, lambda t, x, y, z: neg(t)),
    transpose=transpose_of_terms(lambda ct, x, y: ct, lambda ct, x, y: neg(ct)),
    sharding=rules.Linear(rules.elementwise),
)


def sub(x: Any, y: ArrayLike) -> Any:
    """Return x - y; integers wrap.  Linear.  StableHLO ``subtract``.

    Args:
      x: an array of a number dtype, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.sub(jnp.array([9, 4]), jnp.array([2, 6])).tolist()
    [7, -2]
    """
    return bind_binary(sub_p, x, y)


mul_p = nary(
    "mul",
    (ANY, ANY),
    lower="stablehlo.multiply",
    reference=np.multiply,
    jvp=(lambda t, x, y, z: mul(t, y), lambda t, x, y, z: mul(x, t)),
    transpose=transpose_of_terms(lambda ct, x, y: mul(ct, y), lambda ct, x, y: mul(x, ct)),
    sharding=rules.Bilinear(rules.elementwise),
)


def mul(x: Any, y: ArrayLike, *, out_dtype: DTypeLike = None) -> Any:
    """Return x · y; integers wrap, booleans are and-ed.  Bilinear.  StableHLO ``multiply``.

    Args:
      x: an array of any dtype, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.
      out_dtype: the dtype to multiply in, and of the result, if not that of x.

    Raises:
      TypeError: the dtypes differ.
      ShapeMismatchError: the shapes differ.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.mul(jnp.array([0.5, -3.0]), jnp.array([8.0, 2.0])).tolist()
    [4.0, -6.0]
    """
    if out_dtype is not None:
        x, y = convert_element_type(x, out_dtype), convert_element_type(y, out_dtype)
    return bind_binary(mul_p, x, y)


def _div_reference(x: Any, y: Any) -> Any:
    x, y = untyped_numpy.broadcast_arrays(x, y)
    if not dtypes.issubdtype(x.dtype, np.integer):
        return np.divide(x, y)
    return _truncated_division(x, y)[0]


def _truncated_division(x: Any, y: Any) -> tuple[Any, Any]:
    """Return quotients rounded toward zero and remainders, of integers; -1 and x for y = 0."""
    pairs = [_divide(int(a), int(b)) for a, b in zip(x.ravel(), y.ravel(), strict=True)]
    wrap = 2 ** dtypes.itemsize_bits(x.dtype)
    both = np.array(pairs, object).reshape((*x.shape, 2)) % wrap
    unsigned = both.astype(np.uint64).astype(x.dtype)
    return unsigned[..., 0], unsigned[..., 1]


def _divide(a: int, b: int) -> tuple[int, int]:
    if b == 0:
        return -1, a
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - quotient * b


# With z = x / y: dz = dx / y - z · (1 / y) · dy.  XLA would make x / (y · y) of z / y, and the
# square of y overflows, or vanishes, where the slope does not.
div_p = nary(
    "div",
    (NUMERIC, NUMERIC),
    lower="stablehlo.divide",
    reference=_div_reference,
    jvp=(lambda t, x, y, z: div(t, y), lambda t, x, y, z: neg(mul(t, mul(z, div(1, y))))),
    transpose=transpose_of_terms(lambda ct, x, y: div(ct, y), None),
    sharding=rules.Linear(rules.elementwise, stop=1),
)


def div(x: ArrayLike, y: ArrayLike) -> Any:
    """Return x / y; integers round toward zero.

    Args:
      x: an array of a number dtype, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    Integers divided by zero give -1 (all bits set), and the least integer divided by -1 itself.
    Linear in x.  StableHLO ``divide``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.div(jnp.array([7, -7]), 2).tolist()
    [3, -3]
    >>> lax.div(7.0, 2.0).item()
    3.5
    """
    return bind_binary(div_p, x, y)


def reciprocal(x: ArrayLike) -> Any:
    """Return 1 / x, for floating and complex dtypes.

    Args:
      x: an array of a floating or complex dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.reciprocal(jnp.array([4.0, -0.5])).tolist()
    [0.25, -2.0]
    """
    return integer_pow(x, -1)


# ---------------------------------------------------------------- rem


def _rem_reference(x: Any, y: Any) -> Any:
    x, y = untyped_numpy.broadcast_arrays(x, y)
    if not dtypes.issubdtype(x.dtype, np.integer):
        return np.fmod(x, y)
    return _truncated_division(x, y)[1]


def _whole_quotient(x: Any, y: Any) -> Any:
    """Return x / y rounded toward zero."""
    quotient = div(x, y)
    return select(lt(quotient, 0), ceil(quotient), floor(quotient))


_rem_by_name = lower_by_name("stablehlo.remainder")
_rem_by_formula = vectorized(remainder, _rem_by_name)


def _rem_lower(context: Any, x: Any, y: Any) -> Any:
    # Devices of a mesh would have to agree on every turn of the formula's loop.
    lower = _rem_by_name if context.module.partitioned else _rem_by_formula
    return lower(context, x, y)


rem_p = nary(
    "rem",
    (REAL, REAL),
    lower=_rem_lower,
    reference=_rem_reference,
    jvp=(lambda t, x, y, z: t, lambda t, x, y, z: neg(mul(t, _whole_quotient(x, y)))),
)


def rem(x: ArrayLike, y: ArrayLike) -> Any:
    """Return the remainder of x / y with the sign of x, for real dtypes.

    Args:
      x: an array of a real dtype, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    Integers: x where y is zero.  The derivative with respect to y is minus the quotient rounded
    toward zero.  StableHLO ``remainder``; of large arrays on CPU, a formula that is exact as well.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.rem(jnp.array([8, -8]), 3).tolist()
    [2, -2]
    """
    return bind_binary(rem_p, x, y)


# ---------------------------------------------------------------- square, integer_pow

square_p = unary(
    "square",
    NUMERIC,
    lower=lambda context, x: context.value("stablehlo.multiply", context.out_type, (x, x)),
    reference=np.square,
    jvp=lambda t, x, z: mul(t, mul(x, 2)),
)


def square(x: ArrayLike) -> Any:
    """Return x · x; integers wrap.  The derivative is 2x.  StableHLO ``multiply``.

    Args:
      x: an array of a number dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.square(jnp.array([-3, 5])).tolist()
    [9, 25]
    """
    return square_p.bind(x)


def _one_minus_square_lower(context: Any, x: Any) -> Any:
    aval, kind = context.avals_out[0], context.out_type
    one = context.splat(1, aval.shape, aval.dtype)
    above = context.value("stablehlo.add", kind, (one, x))
    below = context.value("stablehlo.subtract", kind, (one, x))
    return context.value("stablehlo.multiply", kind, (above, below))


def _one_minus_square_reference(x: Any) -> Any:
    return (1 - x) * (1 + x)


one_minus_square_p = unary(
    "one_minus_square",
    NUMERIC,
    lower=_one_minus_square_lower,
    reference=_one_minus_square_reference,
    jvp=lambda t, x, z: mul(t, mul(x, -2)),
)


def one_minus_square(x: ArrayLike) -> Any:
    """Return 1 - x² as (1 + x) (1 - x), which keeps its digits where x is near ±1.

    Args:
      x: an array of a number dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.one_minus_square(jnp.array([0.5, 2.0])).tolist()
    [0.75, -3.0]
    """
    return one_minus_square_p.bind(x)


def _mulhi_reference(x: Any, y: Any) -> Any:
    x, y = untyped_numpy.broadcast_arrays(x, y)
    bits = dtypes.itemsize_bits(x.dtype)
    pairs = zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)
    high = [(a * b) >> bits for a, b in pairs]
    return np.array(high, object).reshape(x.shape).astype(x.dtype)


mulhi_p = nary(
    "mulhi",
    ((np.integer,), (np.integer,)),
    lower="chlo.mulhi",
    reference=_mulhi_reference,
    jvp=ZERO_DERIVATIVE,
)


def mulhi(x: ArrayLike, y: ArrayLike, /) -> Any:
    """Return the upper half of the bits of the exact product of integers.  CHLO ``mulhi``.

    Args:
      x: an array of an integer dtype, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.mulhi(jnp.array([1 << 20, -1]), jnp.array([1 << 14, 3])).tolist()
    [4, -1]
    """
    return bind_binary(mulhi_p, x, y)


def _integer_pow_lower(context: Any, x: Any, *, y: int) -> Any:
    """Multiply by repeated squaring; a negative power is the reciprocal of the positive one."""
    aval, kind = context.avals_out[0], context.out_type
    result, factor, rest = None, x, -y if y < 0 else y
    while rest:
        if rest & 1:
            both = (result, factor)
            result = factor if result is None else context.value("stablehlo.multiply", kind, both)
        rest >>= 1
        if rest:
            factor = context.value("stablehlo.multiply", kind, (factor, factor))
    one = context.splat(1, aval.shape, aval.dtype) if y <= 0 else None
    if result is None:
        return one
    return result if y > 0 else context.value("stablehlo.divide", kind, (one, result))


def _integer_pow_reference(x: Any, *, y: int) -> Any:
    return np.power(x, np.asarray(y, np.asarray(x).dtype) if y >= 0 else float(y))


def _integer_pow_slope(t: Any, x: Any, z: Any, *, y: int) -> Any:
    return mul(t, mul(integer_pow(x, y - 1), y)) if y else Zero.tangent_of(z)


integer_pow_p = unary(
    "integer_pow",
    NUMERIC,
    lower=_integer_pow_lower,
    reference=_integer_pow_reference,
    jvp=_integer_pow_slope,
)


def integer_pow(x: Any, y: int) -> Any:
    """Return x to the power of a Python integer, by repeated squaring; x⁰ is 1 for every x.

    Raises:
      TypeError: the dtype is an integer and the power negative.

    The derivative is y · xʸ⁻¹, and 0 for y = 0 even at x = 0.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.integer_pow(jnp.array([2.0, -3.0]), 3).tolist()
    [8.0, -27.0]
    >>> lax.integer_pow(jnp.array([2.0, -4.0]), -1).tolist()
    [0.5, -0.25]
    """
    y = whole_number("integer_pow", "y", y)
    if y < 0 and not dtypes.issubdtype(abstractify(x).dtype, np.inexact):
        raise TypeError(
            f"integer_pow cannot raise integers to the negative power {y}: convert to floats first"
        )
    same = y == 1 and hasattr(x, "aval") and x.aval.dtype != np.bool_
    return x if same else integer_pow_p.bind(x, y=y)


# ---------------------------------------------------------------- max, min, clamp


def _extreme_lower(operation: str) -> Any:
    def lower(context: Any, *values: Any) -> Any:
        return lower_extreme(
            operation, context.avals_out[0], context, *broadcast_values(context, values)
        )

    return lower


def _share(t: Any, own: Any, other: Any, z: Any) -> Any:
    """Return the tangent of an operand of an extreme: all of it, half at a tie, or none."""
    share = select(eq(own, other), scalar_like(t, 0.5), 1)
    return select(eq(own, z), mul(t, share), 0)


max_p = nary(
    "max",
    (ANY, ANY),
    lower=_extreme_lower("maximum"),
    reference=np.maximum,
    jvp=(lambda t, x, y, z: _share(t, x, y, z), lambda t, x, y, z: _share(t, y, x, z)),
)


def max(x: ArrayLike, y: ArrayLike) -> Any:
    """Return the greater of x and y: NaN if either is; complex numbers order lexicographically.

    Args:
      x: an array of any dtype, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: the dtypes differ.
      ShapeMismatchError: the shapes differ.

    Where the two are equal each gets half of the derivative.  StableHLO ``maximum``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.max(jnp.array([1.0, 6.0]), jnp.array([4.0, 2.0])).tolist()
    [4.0, 6.0]
    """
    return bind_binary(max_p, x, y)


min_p = nary(
    "min",
    (ANY, ANY),
    lower=_extreme_lower("minimum"),
    reference=np.minimum,
    jvp=(lambda t, x, y, z: _share(t, x, y, z), lambda t, x, y, z: _share(t, y, x, z)),
)


def min(x: ArrayLike, y: ArrayLike) -> Any:
    """Return the lesser of x and y: NaN if either is; complex numbers order lexicographically.

    Args:
      x: an array of any dtype, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: the dtypes differ.
      ShapeMismatchError: the shapes differ.

    Where the two are equal each gets half of the derivative.  StableHLO ``minimum``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.min(jnp.array([1.0, 6.0]), jnp.array([4.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return bind_binary(min_p, x, y)


clamp_p = nary(
    "clamp",
    (ORDERED, ORDERED, ORDERED),
    lower="stablehlo.clamp",
    reference=lambda low, x, high: np.minimum(np.maximum(x, low), high),
    jvp=(
        lambda t, low, x, high, z: select(gt(low, x), select(lt(low, high), t, 0), 0),
        lambda t, low, x, high, z: select(gt(x, low), select(lt(x, high), t, 0), 0),
        lambda t, low, x, high, z: select(lt(high, x), t, 0),
    ),
)


def clamp(min: Any, x: ArrayLike, max: ArrayLike) -> Any:
    """Return x, or the bound ``min`` or ``max`` that it lies beyond; NaN if any is.

    Args:
      min: the lower bound, a number or an array of the shape of ``x``.
      x: an array of integers, floating numbers or booleans.
      max: the upper bound, as ``min``.

    Raises:
      TypeError: the dtypes differ, or are complex.
      ShapeMismatchError: a bound has axes and another shape.

    At a bound (x equal to it) the derivative is zero with respect to all three.  StableHLO
    ``clamp``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.clamp(0.0, jnp.array([-2.0, 0.25, 9.0]), 1.0).tolist()
    [0.0, 0.25, 1.0]
    """
    return clamp_p.bind(*type_numbers("clamp", (min, x, max)))


def lower_extreme(operation: str, aval: ShapedArray, context: Any, x: Any, y: Any) -> Any:
    """Return the ``"maximum"`` or ``"minimum"`` of two values of one type."""
    kind = hlo.tensor_type(aval.shape, aval.dtype)
    if not dtypes.issubdtype(aval.dtype, np.complexfloating):
        return context.value(f"stablehlo.{operation}", kind, (x, y))
    direction = {"maximum": "GT", "minimum": "LT"}[operation]
    flag = hlo.tensor_type(aval.shape, np.dtype(np.bool_))
    first = _lower_lexicographic(context, aval, x, y, direction)
    # NaN wins: where its imaginary part alone is NaN, it has a real part to compare.
    y_is_number, x_is_nan = (
        context.compare(value, value, how, aval.shape, "FLOAT")
        for value, how in ((y, "EQ"), (x, "NE"))
    )
    first = context.value("stablehlo.and", flag, (first, y_is_number))
    first = context.value("stablehlo.or", flag, (first, x_is_nan))
    return context.value("stablehlo.select", kind, (first, x, y))


def _lower_lexicographic(context: Any, aval: ShapedArray, x: Any, y: Any, direction: str) -> Any:
    """Compare complex values by their real parts, and where these are equal by the imaginary."""
    part = hlo.tensor_type(aval.shape, np.zeros((), aval.dtype).real.dtype)
    flag = hlo.tensor_type(aval.shape, np.dtype(np.bool_))
    (x_real, y_real), (x_imag, y_imag) = (
        [context.value(f"stablehlo.{name}", part, (value,)) for value in (x, y)]
        for name in ("real", "imag")
    )
    tie = context.compare(x_real, y_real, "EQ", aval.shape, "FLOAT")
    by_imag = context.compare(x_imag, y_imag, direction, aval.shape, "FLOAT")
    by_real = context.compare(x_real, y_real, direction, aval.shape, "FLOAT")
    return context.value("stablehlo.select", flag, (tie, by_imag, by_real))
