"""Sums and extremes down a few long columns, by rows that are wider.

XLA's CPU compiler hands reductions of many floats to a library, which goes down a few columns
without vector instructions.  Several rows of an array are one wide row in memory: down wide rows it
has vectors, and what is left is a few rows.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.avals import ShapedArray
from jxkernel.core.dimensions import is_symbolic

__all__ = ["rows_in_one"]

_MOST_COLUMNS = 8
_LEAST_LENGTH, _LEAST_SIZE = 512, 1 << 17
"""The rows, and the elements, from which running gains more than compiling two loops costs."""

_ROWS_IN_ONE = (16, *range(15, 7, -1), *range(17, 33))
"""How many rows become one: the first that divides them."""


def rows_in_one(context: Any, aval: ShapedArray, axes: Sequence[int], operation: str) -> int:
    """Return how many rows are to be one, where an array is reduced down few columns; else 0.

    Args:
      context: the lowering context.
      aval: the array's type.
      axes: the axes that are reduced.
      operation: the StableHLO name of the binary operation.
    """
    shape, dtype, module = aval.shape, aval.dtype, context.module
    if module.platform != "cpu" or module.partitioned or any(map(is_symbolic, shape)):
        return 0
    if operation not in ("stablehlo.add", "stablehlo.maximum", "stablehlo.minimum"):
        return 0
    if not dtypes.issubdtype(dtype, np.floating) or dtype.itemsize == 1 or not axes:
        return 0
    first, end = min(axes), max(axes) + 1
    length, columns = prod(shape[first:end]), prod(shape[end:])
    if end - first != len(axes) or not 2 <= columns <= _MOST_COLUMNS:
        return 0
    if length < _LEAST_LENGTH or prod(shape) < _LEAST_SIZE:
        return 0
    return next((rows for rows in _ROWS_IN_ONE if length % rows == 0), 0)
