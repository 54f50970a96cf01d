"""Sums and extremes of many short rows, column by column.

XLA's CPU compiler hands reductions of many floats to a library, which is called for each row: for
rows of two that takes ten times as long as to read them.  Here the columns are added to each other,
or compared, which is one loop over the rows, by vector instructions.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.core.dimensions import is_symbolic

__all__ = ["are_short_rows", "goes_by_columns", "lower_by_columns"]

_LONGEST = 8
"""The elements of a row; rows of 16 gain a half, and compile for five times as long."""

_LEAST_SIZE = 1 << 17
"""The elements from which running gains more than compiling a loop costs."""

_EXTREMES = ("stablehlo.maximum", "stablehlo.minimum")


def are_short_rows(aval: ShapedArray, axes: Sequence[int], operation: str) -> bool:
    """Return whether an array is reduced along many short rows, by what takes the library long.

    Args:
      aval: its type.
      axes: the axes that are reduced.
      operation: the StableHLO name of the binary operation.
    """
    shape, dtype = aval.shape, aval.dtype
    first = len(shape) - len(axes)
    if any(map(is_symbolic, shape)) or sorted(axes) != list(range(first, len(shape))):
        return False
    if not 2 <= prod(shape[first:]) <= _LONGEST or prod(shape) < _LEAST_SIZE:
        return False
    if dtypes.issubdtype(dtype, np.floating) and dtype.itemsize > 1:
        return operation == "stablehlo.add" or operation in _EXTREMES
    is_byte = dtypes.issubdtype(dtype, np.integer) and dtypes.itemsize_bits(dtype) == 8
    return is_byte and operation in _EXTREMES


def goes_by_columns(context: Any, aval: ShapedArray, axes: Sequence[int], operation: str) -> bool:
    """Return whether a reduction is to be lowered by ``lower_by_columns``."""
    module = context.module
    on_one = module.platform == "cpu" and not module.partitioned
    return on_one and are_short_rows(aval, axes, operation)


def lower_by_columns(
    context: Any, x: hlo.Value, aval: ShapedArray, axes: Sequence[int], operation: str
) -> Any:
    """Append the reduction of an array along short rows.

    Args:
      context: the lowering context.
      x: the array's value.
      aval: its type, for which ``are_short_rows`` holds.
      axes: the axes to reduce.
      operation: the StableHLO name of the binary operation.
    """
    shape, dtype = aval.shape, aval.dtype
    first = len(shape) - len(axes)
    left = hlo.tensor_type(shape[:first], dtype)
    count, length = prod(shape[:first]), prod(shape[first:])
    rows = context.value("stablehlo.reshape", hlo.tensor_type((count, length), dtype), (x,))
    vector, column = hlo.tensor_type((count,), dtype), hlo.tensor_type((count, 1), dtype)
    total = None
    for start, end in pairwise(range(length + 1)):
        bounds = {
            "start_indices": hlo.dense_i64_array((0, start)),
            "limit_indices": hlo.dense_i64_array((count, end)),
            "strides": hlo.dense_i64_array((1, 1)),
        }
        part = context.value("stablehlo.slice", column, (rows,), bounds)
        part = context.value("stablehlo.reshape", vector, (part,))
        total = part if total is None else context.value(operation, vector, (total, part))
    if operation == "stablehlo.add":
        # A sum begins at 0, and so is no -0; XLA would leave out to add 0.
        zero = context.splat(0, (count,), dtype)
        is_zero = context.compare(total, zero, "EQ", (count,), "FLOAT")
        total = context.value("stablehlo.select", vector, (is_zero, zero, total))
    # What reads the result would compute it anew for each element of a row.
    total = context.value("stablehlo.optimization_barrier", vector, (total,))
    return context.value("stablehlo.reshape", left, (total,))
