"""Comparison, logic and bits: functions whose results are booleans, or that work on bits.

Their derivatives are zero, save those of ``where`` and its kin, which are in ``selection``.
"""

from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import (
    argument_aval,
    cast,
    dtype_of,
    numeric_dtype,
    refuse_complex,
    refuse_out,
)
from jxkernel.numpy.ufuncs import binary_function, unary_function
from jxkernel.primitives.elementwise import bits, compare
from jxkernel.primitives.elementwise.complex import abs as absolute
from jxkernel.primitives.elementwise.complex import imag as imaginary_part
from jxkernel.primitives.elementwise.complex import real as real_part
from jxkernel.primitives.elementwise.convert import bitcast_convert_type, convert_element_type
from jxkernel.primitives.elementwise.rounding import is_finite
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.runtime import ArrayLike

__all__ = [
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "equal",
    "greater",
    "greater_equal",
    "invert",
    "iscomplex",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "left_shift",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
    "right_shift",
    "signbit",
]

# ---------------------------------------------------------------- comparison


def _lexicographic(strict: Any, operation: Any) -> Any:
    """Return a comparison that orders complex numbers by real, then by imaginary part."""

    def compared(x: Any, y: Any) -> Any:
        if dtype_of(x) not in dtypes.COMPLEX:
            return operation(x, y)
        first, second = real_part(x), real_part(y)
        tie = compare.eq(first, second)
        within = bits.bitwise_and(tie, operation(imaginary_part(x), imaginary_part(y)))
        return bits.bitwise_or(strict(first, second), within)

    return compared


_ORDER = "complex numbers order by real part, then by imaginary part."

equal = binary_function(
    "equal",
    compare.eq,
    "Return whether x = y; NaN equals nothing.",
    example=(
        "jnp.equal(jnp.array([1.0, 2.0, jnp.nan]), jnp.array([1.0, 3.0, jnp.nan]))",
        "Array([ True, False, False], dtype=bool)",
    ),
)
not_equal = binary_function(
    "not_equal",
    compare.ne,
    "Return whether x ≠ y; NaN differs from everything.",
    example=(
        "jnp.not_equal(jnp.array([1.0, 2.0, jnp.nan]), jnp.array([1.0, 3.0, jnp.nan]))",
        "Array([False,  True,  True], dtype=bool)",
    ),
)
less = binary_function(
    "less",
    _lexicographic(compare.lt, compare.lt),
    f"Return whether x < y; {_ORDER}",
    example=("jnp.less(jnp.array([1, 2, 3]), 2)", "Array([ True, False, False], dtype=bool)"),
)
less_equal = binary_function(
    "less_equal",
    _lexicographic(compare.lt, compare.le),
    f"Return whether x ≤ y; {_ORDER}",
    example=("jnp.less_equal(jnp.array([1, 2, 3]), 2)", "Array([ True,  True, False], dtype=bool)"),
)
greater = binary_function(
    "greater",
    _lexicographic(compare.gt, compare.gt),
    f"Return whether x > y; {_ORDER}",
    example=("jnp.greater(jnp.array([1, 2, 3]), 2)", "Array([False, False,  True], dtype=bool)"),
)
greater_equal = binary_function(
    "greater_equal",
    _lexicographic(compare.gt, compare.ge),
    f"Return whether x ≥ y; {_ORDER}",
    example=(
        "jnp.greater_equal(jnp.array([1, 2, 3]), 2)",
        "Array([False,  True,  True], dtype=bool)",
    ),
)

# ---------------------------------------------------------------- logic


def truth(x: Any) -> Any:
    """Return whether each element is anything but zero."""
    dtype = dtype_of(x)
    return x if dtype in dtypes.BOOLEAN else compare.ne(x, 0)


logical_not = unary_function(
    "logical_not",
    lambda x: bits.bitwise_not(truth(x)),
    "Return whether each element is zero.",
    example=("jnp.logical_not(jnp.array([0.0, 0.5]))", "Array([ True, False], dtype=bool)"),
)


def _on_truth(operation: Any) -> Any:
    return lambda x, y: operation(truth(x), truth(y))


logical_and = binary_function(
    "logical_and",
    _on_truth(bits.bitwise_and),
    "Return whether x and y both are nonzero.",
    example=(
        "jnp.logical_and(jnp.array([0, 1, 2]), jnp.array([1, 0, 3]))",
        "Array([False, False,  True], dtype=bool)",
    ),
)
logical_or = binary_function(
    "logical_or",
    _on_truth(bits.bitwise_or),
    "Return whether x or y is nonzero.",
    example=(
        "jnp.logical_or(jnp.array([0, 1, 0]), jnp.array([1, 0, 0]))",
        "Array([ True,  True, False], dtype=bool)",
    ),
)
logical_xor = binary_function(
    "logical_xor",
    _on_truth(bits.bitwise_xor),
    "Return whether exactly one of x and y is nonzero.",
    example=(
        "jnp.logical_xor(jnp.array([0, 1, 2]), jnp.array([1, 0, 3]))",
        "Array([ True,  True, False], dtype=bool)",
    ),
)

# ---------------------------------------------------------------- bits

bitwise_and = binary_function(
    "bitwise_and",
    bits.and_p.bind,
    "Return the bits set in both x and y.",
    example=("jnp.bitwise_and(jnp.array([12, 7]), 10)", "Array([8, 2], dtype=int32)"),
)
bitwise_or = binary_function(
    "bitwise_or",
    bits.or_p.bind,
    "Return the bits set in x or in y.",
    example=("jnp.bitwise_or(jnp.array([12, 7]), 10)", "Array([14, 15], dtype=int32)"),
)
bitwise_xor = binary_function(
    "bitwise_xor",
    bits.xor_p.bind,
    "Return the bits set in exactly one of x and y.",
    example=("jnp.bitwise_xor(jnp.array([12, 7]), 10)", "Array([ 6, 13], dtype=int32)"),
)
bitwise_not = unary_function(
    "bitwise_not",
    bits.not_p.bind,
    "Return x with every bit flipped; not x of booleans.",
    example=("jnp.bitwise_not(jnp.array([0, 5]))", "Array([-1, -6], dtype=int32)"),
)
invert = bitwise_invert = bitwise_not
bitwise_count = unary_function(
    "bitwise_count",
    lambda x: convert_element_type(bits.population_count(_magnitude(x)), np.uint8),
    "Return how many bits of |x| are set, as uint8.",
    example=("jnp.bitwise_count(jnp.array([0, 7, -8]))", "Array([0, 3, 1], dtype=uint8)"),
    ready=dtypes.INTEGRAL,
    rule=numeric_dtype,
)


def _magnitude(x: Any) -> Any:
    return absolute(x) if dtype_of(x) in dtypes.SIGNED else x


def _right_shift(x: Any, y: Any) -> Any:
    signed = dtype_of(x) in dtypes.SIGNED
    return (bits.shift_right_arithmetic if signed else bits.shift_right_logical)(x, y)


_integers: dict[str, Any] = {"ready": dtypes.INTEGRAL, "rule": numeric_dtype}

left_shift = binary_function(
    "left_shift",
    bits.shift_left_p.bind,
    "Return the bits of x moved y places up.",
    example=("jnp.left_shift(jnp.array([1, 3]), 4)", "Array([16, 48], dtype=int32)"),
    **_integers,
)
right_shift = binary_function(
    "right_shift",
    _right_shift,
    "Return the bits of x moved y places down; the sign bit is repeated, if there is one.",
    example=("jnp.right_shift(jnp.array([48, -16]), 3)", "Array([ 6, -2], dtype=int32)"),
    **_integers,
)
bitwise_left_shift, bitwise_right_shift = left_shift, right_shift

# ---------------------------------------------------------------- kinds of numbers


def _everywhere(x: Any, value: bool) -> Any:
    return broadcast_in_dim(np.bool_(value), np.shape(x), ())


def _isfinite(x: Any) -> Any:
    dtype = dtype_of(x)
    if dtype in dtypes.COMPLEX:
        return bits.bitwise_and(is_finite(real_part(x)), is_finite(imaginary_part(x)))
    return is_finite(x) if dtype in dtypes.FLOATING else _everywhere(x, True)


def _isinf(x: Any) -> Any:
    dtype = dtype_of(x)
    if dtype in dtypes.COMPLEX:
        return bits.bitwise_or(_isinf(real_part(x)), _isinf(imaginary_part(x)))
    return compare.eq(absolute(x), np.inf) if dtype in dtypes.FLOATING else _everywhere(x, False)


def _isnan(x: Any) -> Any:
    return compare.ne(x, x) if dtype_of(x) in dtypes.INEXACT else _everywhere(x, False)


isfinite = unary_function(
    "isfinite",
    _isfinite,
    "Return whether x is neither infinite nor NaN, in both parts if complex.",
    example=(
        "jnp.isfinite(jnp.array([1.0, jnp.inf, jnp.nan]))",
        "Array([ True, False, False], dtype=bool)",
    ),
)
isinf = unary_function(
    "isinf",
    _isinf,
    "Return whether x is infinite, in either part if complex.",
    example=(
        "jnp.isinf(jnp.array([1.0, -jnp.inf, jnp.nan]))",
        "Array([False,  True, False], dtype=bool)",
    ),
)
isnan = unary_function(
    "isnan",
    _isnan,
    "Return whether x is NaN, in either part if complex.",
    example=(
        "jnp.isnan(jnp.array([1.0, jnp.inf, jnp.nan]))",
        "Array([False, False,  True], dtype=bool)",
    ),
)


def _equals_infinity(name: str, x: Any, infinity: float) -> Any:
    aval = argument_aval(name, x)
    if aval.dtype in dtypes.COMPLEX:
        raise TypeError(f"{name}: complex numbers have no sign, got dtype {aval.dtype.name}")
    if aval.dtype not in dtypes.FLOATING:
        return _everywhere(x, False)
    return compare.eq(cast(x, aval.dtype, aval.weak_type), infinity)


@fused
def isposinf(x: ArrayLike, /, out: None = None) -> Any:
    """Return whether x is +inf.

    Args:
      x: an array or number.
      out: must be None.

    Raises:
      TypeError: x is complex.

    >>> jnp.isposinf(jnp.array([-jnp.inf, jnp.inf]))
    Array([False,  True], dtype=bool)
    """
    refuse_out("isposinf", out)
    return _equals_infinity("isposinf", x, np.inf)


@fused
def isneginf(x: Any, /, out: None = None) -> Any:
    """Return whether x is -inf; see ``isposinf``.

    >>> jnp.isneginf(jnp.array([-jnp.inf, jnp.inf]))
    Array([ True, False], dtype=bool)
    """
    refuse_out("isneginf", out)
    return _equals_infinity("isneginf", x, -np.inf)


def _iscomplex(x: Any) -> Any:
    if dtype_of(x) in dtypes.COMPLEX:
        return compare.ne(imaginary_part(x), 0)
    return _everywhere(x, False)


iscomplex = unary_function(
    "iscomplex",
    _iscomplex,
    "Return whether the imaginary part is anything but zero.",
    example=("jnp.iscomplex(jnp.array([1 + 0j, 2j]))", "Array([False,  True], dtype=bool)"),
    by_name=True,
)
isreal = unary_function(
    "isreal",
    lambda x: bits.bitwise_not(_iscomplex(x)),
    "Return whether the imaginary part is zero.",
    example=("jnp.isreal(jnp.array([1 + 0j, 2j]))", "Array([ True, False], dtype=bool)"),
    by_name=True,
)


def _signbit(x: Any) -> Any:
    dtype = dtype_of(x)
    refuse_complex("signbit", dtype)
    if dtype not in dtypes.FLOATING:
        return compare.lt(x, 0) if dtype in dtypes.SIGNED else _everywhere(x, False)
    integers = np.dtype(f"int{dtypes.itemsize_bits(dtype)}")
    return compare.lt(bitcast_convert_type(x, integers), 0)


signbit = unary_function(
    "signbit",
    _signbit,
    "Return whether the sign bit is set: x < 0, or x is -0.0.",
    example=(
        "jnp.signbit(jnp.array([-1.5, -0.0, 0.0]))",
        "Array([ True,  True, False], dtype=bool)",
    ),
)
