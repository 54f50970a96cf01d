"""The extremes of an array along axes, by the way that is quick on CPU."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.core.dimensions import is_symbolic
from jxkernel.dtypes import DType
from jxkernel.primitives.reduction.folding import folds, lower_by_folding
from jxkernel.primitives.shape.broadcast import append_reduction
from jxkernel.primitives.shape.short_rows import goes_by_columns

__all__ = ["loses_nan", "lower_extreme", "with_nan"]

_FLAG = np.dtype(np.int8)

_WITH_SQUARES = (np.dtype(np.float32), np.dtype(np.float64))
"""The dtypes whose squares are added sooner than bytes are searched."""

_LEAST_HANDED_OVER = 1 << 12
"""The elements from which XLA hands reductions of floats to a library."""

_LEAST_LENGTH = 1 << 10
"""The elements of a row from which a second reduction, which costs a kernel, gains."""
_MOST_ROWS, _FEWEST_ROWS = 64, 8


def lower_extreme(
    context: Any,
    x: hlo.Value,
    aval: ShapedArray,
    axes: tuple[int, ...],
    operation: str,
    start: Any,
) -> Any:
    """Append the reduction of an array by ``maximum`` or ``minimum``.

    XLA's CPU compiler makes vector instructions of a reduction along the last axes of floats and of
    bytes; the extremes of wider integers it takes one element after the other. These are reduced
    along an axis in front of the last one first, which vectorizes for every dtype, so that a part
    in 64 is left for the slow way. Many floats it hands to a library whose extremes pass over NaN:
    whether there is one is found beside, by the sum of squares or in bytes, which the library is
    quick with too.

    Args:
      context: the lowering context.
      x: the array's value.
      aval: its type; the dtype has an order.
      axes: the axes to reduce.
      operation: ``stablehlo.maximum`` or ``stablehlo.minimum``.
      start: its neutral element.
    """
    shape, dtype = aval.shape, aval.dtype
    if folds(context, aval, axes):
        return lower_by_folding(context, x, aval, axes, operation)
    if loses_nan(context, aval) and not goes_by_columns(context, aval, axes, operation):
        numbers = append_reduction(context, x, aval, axes, operation, start)
        if dtype in _WITH_SQUARES:
            return _with_nan_of_squares(context, x, aval, axes, numbers)

        def spread(flags: Any, flag: ShapedArray) -> Any:
            return append_reduction(context, flags, flag, axes, "stablehlo.maximum", 0)

        return with_nan(context, x, aval, numbers, _left(shape, axes), spread)
    rows = _rows(context, shape, dtype, axes)
    if not rows:
        return append_reduction(context, x, aval, axes, operation, start)
    left = shape[: len(shape) - len(axes)]
    rest = prod(shape[len(left) :]) // rows
    parts = (*left, rows, rest)
    x = context.value("stablehlo.reshape", hlo.tensor_type(parts, dtype), (x,))
    x = append_reduction(context, x, ShapedArray(parts, dtype), (len(left),), operation, start)
    few = ShapedArray((*left, rest), dtype)
    # XLA would make one reduction of the two.
    x = context.value("stablehlo.optimization_barrier", hlo.tensor_type(few.shape, dtype), (x,))
    return append_reduction(context, x, few, (len(left),), operation, start)


def _rows(context: Any, shape: tuple[int, ...], dtype: DType, axes: tuple[int, ...]) -> int:
    """Return into how many rows the axes are cut; 0 where one reduction is as quick."""
    module = context.module
    if module.platform != "cpu" or module.partitioned or any(map(is_symbolic, shape)):
        return 0
    if not dtypes.issubdtype(dtype, np.integer) or dtypes.itemsize_bits(dtype) <= 8:
        return 0
    first = len(shape) - len(axes)
    length = prod(shape[first:])
    if sorted(axes) != list(range(first, len(shape))) or length < _LEAST_LENGTH:
        return 0
    counts = range(_MOST_ROWS, _FEWEST_ROWS - 1, -1)
    return next((rows for rows in counts if length % rows == 0), 0)


def loses_nan(context: Any, aval: ShapedArray) -> bool:
    """Whether XLA hands the extremes of an array to a library of kernels that pass over NaN."""
    is_wide = dtypes.issubdtype(aval.dtype, np.floating) and aval.dtype.itemsize > 1
    if context.module.platform != "cpu" or not is_wide:
        return False
    return is_symbolic(aval.size) or aval.size >= _LEAST_HANDED_OVER


def with_nan(
    context: Any,
    x: Any,
    aval: ShapedArray,
    extremes: Any,
    shape: tuple[int, ...],
    spread: Callable[[Any, ShapedArray], Any],
) -> Any:
    """Append extremes that are NaN where one was among the numbers.

    Args:
      context: the lowering context.
      x: the value of the array that was reduced.
      aval: its type.
      extremes: the extremes of the numbers in it.
      shape: their shape.
      spread: appends the reduction of bytes by ``maximum``, of the same elements to each extreme.
    """
    is_nan = context.compare(x, x, "NE", aval.shape, "FLOAT")
    ones = context.value("stablehlo.convert", hlo.tensor_type(aval.shape, _FLAG), (is_nan,))
    found = spread(ones, ShapedArray(aval.shape, _FLAG))
    some = context.compare(found, context.splat(0, shape, _FLAG), "NE", shape, "SIGNED")
    return _nan_where(context, some, extremes, shape, aval.dtype)


def _with_nan_of_squares(
    context: Any, x: Any, aval: ShapedArray, axes: tuple[int, ...], extremes: Any
) -> Any:
    """Append extremes that are NaN where the sum of the squares is.

    A square is not negative, so no two infinities cancel: the sum is NaN where an element is, and
    nowhere else.  The library squares and adds in one pass.
    """
    shape = _left(aval.shape, axes)
    squares = context.value("stablehlo.multiply", hlo.tensor_type(aval.shape, aval.dtype), (x, x))
    total = append_reduction(context, squares, aval, axes, "stablehlo.add", 0)
    some = context.compare(total, total, "NE", shape, "FLOAT")
    return _nan_where(context, some, extremes, shape, aval.dtype)


def _nan_where(context: Any, some: Any, numbers: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    nan = context.splat(np.nan, shape, dtype)
    return context.value("stablehlo.select", hlo.tensor_type(shape, dtype), (some, nan, numbers))


def _left(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([size for axis, size in enumerate(shape) if axis not in axes])
