"""Comparisons: two operands of one dtype give booleans.  None has a derivative.

Numbers compare by value: NaN is unordered (only ``ne`` holds) and -0.0 equals 0.0.  The
total-order variants ``eq_to lt_to le_to`` order all bit patterns of floats instead:
-NaN < -inf < ... < -0.0 < 0.0 < ... < inf < NaN, as IEEE 754 ``totalOrder`` does; sorting uses
them.
"""

from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.key_data import ExtendedArray
from jxkernel.core.primitive import Primitive
from jxkernel.dtypes import DTypeLike
from jxkernel.errors import KeyTypeError
from jxkernel.primitives.elementwise.families import (
    ANY,
    ORDERED,
    ZERO_DERIVATIVE,
    bind_binary,
    broadcast_values,
    joint_shape,
    nary,
)
from jxkernel.primitives.elementwise.select import select_n
from jxkernel.primitives.reference import untyped_numpy
from jxkernel.primitives.shape.broadcast import broadcast_in_dim, reduce_sum
from jxkernel.runtime import ArrayLike

__all__ = [
    "comparison_kind",
    "eq",
    "eq_p",
    "eq_to",
    "eq_to_p",
    "ge",
    "ge_p",
    "gt",
    "gt_p",
    "le",
    "le_p",
    "le_to",
    "le_to_p",
    "lt",
    "lt_p",
    "lt_to",
    "lt_to_p",
    "ne",
    "ne_p",
]


def comparison_kind(dtype: DTypeLike, total_order: bool = False) -> str:
    """Return the StableHLO comparison type of a dtype: ``FLOAT TOTALORDER SIGNED UNSIGNED``."""
    if dtypes.issubdtype(dtype, np.inexact):
        return "TOTALORDER" if total_order else "FLOAT"
    return "SIGNED" if dtypes.issubdtype(dtype, np.signedinteger) else "UNSIGNED"


def _comparison(
    name: str, accepted: tuple[type, ...], direction: str, reference: Any, total_order: bool = False
) -> Primitive:
    """Return a comparison primitive; ``direction`` is StableHLO's ``EQ NE GE GT LE LT``."""

    def lower(context: Any, *values: Any) -> Any:
        kind = comparison_kind(context.avals_in[0].dtype, total_order)
        left, right = broadcast_values(context, values)
        return context.compare(left, right, direction, context.avals_out[0].shape, kind)

    return nary(
        name,
        (accepted, accepted),
        lower=lower,
        jvp=ZERO_DERIVATIVE,
        reference=reference,
        result_dtype=lambda dtype: np.dtype(np.bool_),
    )


def _total_order_key(x: Any) -> Any:
    """Return integers that order as the bits of floats do by ``totalOrder``; others as they are."""
    x = np.asarray(x)
    if not dtypes.issubdtype(x.dtype, np.floating):
        return x
    bits = x.view(np.dtype(f"int{8 * x.dtype.itemsize}"))
    return untyped_numpy.where(bits < 0, np.iinfo(bits.dtype).max ^ bits, bits)


def _by_total_order(compare: Any) -> Any:
    def reference(x: Any, y: Any) -> Any:
        return compare(_total_order_key(x), _total_order_key(y))

    return reference


_EQUATED = (*ANY, np.void)
"""What is equal or not: all ``float0`` are, the one kind of void there is."""

eq_p = _comparison("eq", _EQUATED, "EQ", np.equal)
ne_p = _comparison("ne", _EQUATED, "NE", np.not_equal)
lt_p = _comparison("lt", ORDERED, "LT", np.less)
le_p = _comparison("le", ORDERED, "LE", np.less_equal)
gt_p = _comparison("gt", ORDERED, "GT", np.greater)
ge_p = _comparison("ge", ORDERED, "GE", np.greater_equal)
eq_to_p = _comparison("eq_to", ORDERED, "EQ", _by_total_order(np.equal), total_order=True)
lt_to_p = _comparison("lt_to", ORDERED, "LT", _by_total_order(np.less), total_order=True)
le_to_p = _comparison("le_to", ORDERED, "LE", _by_total_order(np.less_equal), total_order=True)


def eq(x: ArrayLike, y: ArrayLike) -> Any:
    """Return whether x = y, for any dtype; NaN equals nothing.  StableHLO ``compare``.

    Args:
      x: an array of any dtype, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: the dtypes differ.
      ShapeMismatchError: the shapes differ.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.eq(jnp.array([1.0, 2.0, jnp.nan]), jnp.array([1.0, 3.0, jnp.nan])).tolist()
    [True, False, False]
    """
    if isinstance(x, ExtendedArray) and isinstance(y, ExtendedArray):
        return eq(_different_words("eq", x, y), 0)
    return bind_binary(eq_p, x, y)


def _different_words(name: str, x: ExtendedArray, y: ExtendedArray) -> Any:
    """Return in how many words elements made of words differ.

    Raises:
      KeyTypeError: the elements are of two kinds.
      ShapeMismatchError: the shapes differ, and none is a scalar.
    """
    if x.dtype != y.dtype:
        raise KeyTypeError(name, f"{x.aval.short()}, {y.aval.short()}")
    shape = joint_shape(name, (x.shape, y.shape))
    differ = ne(
        *[broadcast_in_dim(each, shape, tuple(range(each.ndim))).key_data for each in (x, y)]
    )
    return reduce_sum(select_n(differ, np.int32(0), np.int32(1)), axes=(len(shape),))


def ne(x: ArrayLike, y: ArrayLike) -> Any:
    """Return whether x ≠ y, for any dtype; true for NaN.  StableHLO ``compare``.

    Args:
      x: an array of any dtype, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: the dtypes differ.
      ShapeMismatchError: the shapes differ.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.ne(jnp.array([1.0, 2.0, jnp.nan]), jnp.array([1.0, 3.0, jnp.nan])).tolist()
    [False, True, True]
    """
    if isinstance(x, ExtendedArray) and isinstance(y, ExtendedArray):
        return ne(_different_words("ne", x, y), 0)
    return bind_binary(ne_p, x, y)


def lt(x: ArrayLike, y: ArrayLike) -> Any:
    """Return whether x < y, for real and boolean dtypes; false for NaN.  StableHLO ``compare``.

    Args:
      x: an array of a real dtype or of booleans, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.lt(jnp.array([1, 2, 3]), 2).tolist()
    [True, False, False]
    """
    return bind_binary(lt_p, x, y)


def le(x: ArrayLike, y: ArrayLike) -> Any:
    """Return whether x ≤ y, for real and boolean dtypes; false for NaN.  StableHLO ``compare``.

    Args:
      x: an array of a real dtype or of booleans, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.le(jnp.array([1, 2, 3]), 2).tolist()
    [True, True, False]
    """
    return bind_binary(le_p, x, y)


def gt(x: ArrayLike, y: ArrayLike) -> Any:
    """Return whether x > y, for real and boolean dtypes; false for NaN.  StableHLO ``compare``.

    Args:
      x: an array of a real dtype or of booleans, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.gt(jnp.array([1, 2, 3]), 2).tolist()
    [False, False, True]
    """
    return bind_binary(gt_p, x, y)


def ge(x: ArrayLike, y: ArrayLike) -> Any:
    """Return whether x ≥ y, for real and boolean dtypes; false for NaN.  StableHLO ``compare``.

    Args:
      x: an array of a real dtype or of booleans, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.ge(jnp.array([1, 2, 3]), 2).tolist()
    [False, True, True]
    """
    return bind_binary(ge_p, x, y)


def eq_to(x: Any, y: Any) -> Any:
    """Return whether x and y are the same in IEEE 754 total order: -0.0 and 0.0 differ."""
    return bind_binary(eq_to_p, x, y)


def lt_to(x: Any, y: Any) -> Any:
    """Return whether x precedes y in IEEE 754 total order: -0.0 before 0.0, inf before NaN."""
    return bind_binary(lt_to_p, x, y)


def le_to(x: Any, y: Any) -> Any:
    """Return whether x precedes or is y in IEEE 754 total order."""
    return bind_binary(le_to_p, x, y)
