"""Logical and bitwise operations on booleans and integers.  None has a derivative."""

from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.primitives.elementwise.families import (
    BOOL_OR_INTEGER,
    INTEGER,
    ZERO_DERIVATIVE,
    bind_binary,
    nary,
    unary,
)
from jxkernel.primitives.reference import untyped_numpy
from jxkernel.runtime import ArrayLike

__all__ = [
    "and_p",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "clz",
    "clz_p",
    "not_p",
    "or_p",
    "population_count",
    "population_count_p",
    "shift_left",
    "shift_left_p",
    "shift_right_arithmetic",
    "shift_right_arithmetic_p",
    "shift_right_logical",
    "shift_right_logical_p",
    "xor_p",
]

_PAIR = (BOOL_OR_INTEGER, BOOL_OR_INTEGER)

not_p = unary(
    "not",
    BOOL_OR_INTEGER,
    lower="stablehlo.not",
    reference=np.invert,
    jvp=ZERO_DERIVATIVE,
)
and_p = nary("and", _PAIR, lower="stablehlo.and", reference=np.bitwise_and, jvp=ZERO_DERIVATIVE)
or_p = nary("or", _PAIR, lower="stablehlo.or", reference=np.bitwise_or, jvp=ZERO_DERIVATIVE)
xor_p = nary("xor", _PAIR, lower="stablehlo.xor", reference=np.bitwise_xor, jvp=ZERO_DERIVATIVE)


def bitwise_not(x: ArrayLike) -> Any:
    """Return x with every bit flipped; the negation of booleans.  StableHLO ``not``.

    Args:
      x: an array of an integer dtype or of booleans, or a number.

    Raises:
      TypeError: the operand has another dtype.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.bitwise_not(jnp.array([0, 5])).tolist()
    [-1, -6]
    """
    return not_p.bind(x)


def bitwise_and(x: ArrayLike, y: ArrayLike) -> Any:
    """Return the bits set in both x and y, of booleans or integers.  StableHLO ``and``.

    Args:
      x: an array of an integer dtype or of booleans, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.bitwise_and(jnp.array([12, 7]), jnp.array([10, 1])).tolist()
    [8, 1]
    """
    return bind_binary(and_p, x, y)


def bitwise_or(x: ArrayLike, y: ArrayLike) -> Any:
    """Return the bits set in x or y, of booleans or integers.  StableHLO ``or``.

    Args:
      x: an array of an integer dtype or of booleans, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.bitwise_or(jnp.array([12, 7]), jnp.array([10, 8])).tolist()
    [14, 15]
    """
    return bind_binary(or_p, x, y)


def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Any:
    """Return the bits set in one of x and y, of booleans or integers.  StableHLO ``xor``.

    Args:
      x: an array of an integer dtype or of booleans, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.bitwise_xor(jnp.array([12, 7]), jnp.array([10, 1])).tolist()
    [6, 6]
    """
    return bind_binary(xor_p, x, y)


# ---------------------------------------------------------------- shifts


def _unsigned(x: Any) -> Any:
    return x.view(np.dtype(f"uint{8 * x.dtype.itemsize}"))


def _signed(x: Any) -> Any:
    return x.view(np.dtype(f"int{8 * x.dtype.itemsize}"))


def _shift_reference(logical: bool, left: bool) -> Any:
    """Return a shift in NumPy that, as XLA's, shifts all bits out when the distance is too far."""

    def shift(x: Any, y: Any) -> Any:
        x, y = untyped_numpy.broadcast_arrays(x, y)
        bits = dtypes.itemsize_bits(x.dtype)
        far = (y < 0) | (y >= bits)
        operand = _unsigned(x) if logical else _signed(x)
        distance = untyped_numpy.where(far, 0, y).astype(operand.dtype)
        shifted = np.left_shift(operand, distance) if left else np.right_shift(operand, distance)
        out = np.zeros_like(operand) if logical else untyped_numpy.where(operand < 0, -1, 0)
        return untyped_numpy.where(far, out, shifted).astype(operand.dtype).view(x.dtype)

    return shift


def _shift(name: str, operation: str, logical: bool, left: bool = False) -> Any:
    return nary(
        name,
        (INTEGER, INTEGER),
        lower=operation,
        reference=_shift_reference(logical, left),
        jvp=ZERO_DERIVATIVE,
    )


shift_left_p = _shift("shift_left", "stablehlo.shift_left", logical=True, left=True)
shift_right_logical_p = _shift("shift_right_logical", "stablehlo.shift_right_logical", logical=True)
shift_right_arithmetic_p = _shift(
    "shift_right_arithmetic", "stablehlo.shift_right_arithmetic", logical=False
)


def shift_left(x: ArrayLike, y: ArrayLike) -> Any:
    """Return the bits of x moved y places up; 0 if y is negative or too far.

    Args:
      x: an array of an integer dtype, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    StableHLO ``shift_left``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.shift_left(jnp.array([1, 5]), jnp.array([4, 1])).tolist()
    [16, 10]
    """
    return bind_binary(shift_left_p, x, y)


def shift_right_logical(x: ArrayLike, y: ArrayLike) -> Any:
    """Return the bits of x moved y places down, zeros following; 0 if y is negative or too far.

    Args:
      x: an array of an integer dtype, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    StableHLO ``shift_right_logical``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.shift_right_logical(jnp.array([240, 20], "uint8"), jnp.uint8(2)).tolist()
    [60, 5]
    """
    return bind_binary(shift_right_logical_p, x, y)


def shift_right_arithmetic(x: ArrayLike, y: ArrayLike) -> Any:
    """Return the bits of x moved y places down, the highest bit repeated, of unsigned x too.

    Args:
      x: an array of an integer dtype, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    If y is negative or too far all bits of the result are that bit.  StableHLO
    ``shift_right_arithmetic``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.shift_right_arithmetic(jnp.array([-16, 20]), 2).tolist()
    [-4, 5]
    """
    return bind_binary(shift_right_arithmetic_p, x, y)


# ---------------------------------------------------------------- counting bits


def _population_count_reference(x: Any) -> Any:
    return np.bitwise_count(_unsigned(np.asarray(x))).astype(x.dtype)


population_count_p = unary(
    "population_count",
    INTEGER,
    lower="stablehlo.popcnt",
    reference=_population_count_reference,
    jvp=ZERO_DERIVATIVE,
)


def population_count(x: ArrayLike) -> Any:
    """Return how many bits of x are set, in the dtype of x.  StableHLO ``popcnt``.

    Args:
      x: an array of an integer dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.population_count(jnp.array([0, 7, 40])).tolist()
    [0, 3, 2]
    """
    return population_count_p.bind(x)


def _clz_reference(x: Any) -> Any:
    x = np.asarray(x)
    bits = dtypes.itemsize_bits(x.dtype)
    lengths = [int(value).bit_length() for value in _unsigned(x).ravel()]
    return (bits - np.array(lengths, np.int64)).reshape(x.shape).astype(x.dtype)


clz_p = unary(
    "clz",
    INTEGER,
    lower="stablehlo.count_leading_zeros",
    reference=_clz_reference,
    jvp=ZERO_DERIVATIVE,
)


def clz(x: ArrayLike) -> Any:
    """Return how many leading bits of x are zero, in its dtype.

    Args:
      x: an array of an integer dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    StableHLO ``count_leading_zeros``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.clz(jnp.array([0, 1, 255], "uint8")).tolist()
    [8, 7, 0]
    """
    return clz_p.bind(x)
