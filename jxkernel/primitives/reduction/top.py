"""The greatest few of many elements, sought among the rows that have the greatest elements."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.dtypes import DType
from jxkernel.primitives.reduction.folding import append_extreme_keys, folds, magnitudes_turned

__all__ = ["row_length", "top_of_rows"]

_F32, _I32 = np.dtype(np.float32), np.dtype(np.int32)

_LEAST_ROW, _MOST_ROW = 1 << 9, 1 << 11
"""The elements of a row."""

_FEW = 8
"""There are so many times as many rows, and elements, as are wanted of them."""

Search = Callable[[Any, Any, ShapedArray, int, bool, Any], list[Any]]


def row_length(context: Any, aval: ShapedArray, k: int) -> int:
    """Return the length of the rows that an array's last axis is cut into; 0 for none."""
    if aval.dtype != _F32 or not k:
        return 0
    size = aval.shape[-1]
    for length in range(_LEAST_ROW, min(_MOST_ROW, size // (_FEW * k)) + 1):
        if size % length == 0:
            rows = aval.update(shape=(aval.size // length, length))
            return length if folds(context, rows, (1,)) else 0
    return 0


def top_of_rows(
    context: Any,
    x: hlo.Value,
    aval: ShapedArray,
    k: int,
    least: bool,
    length: int,
    search: Search,
) -> list[Any]:
    """Append the ``k`` greatest elements along the last axis, or the least, and their positions.

    They are in the ``k`` rows of the greatest extremes, of equal ones the first: of a row that is
    not among these no element comes before those ``k``.  One pass finds the extremes.

    Args:
      context: the lowering context.
      x: the array.
      aval: its type.
      k: how many.
      least: whether the least are sought.
      length: that of the rows; see ``row_length``.
      search: ``search(context, x, aval, k, least, kind)`` appends the search by XLA.
    """
    count, size = prod(aval.shape[:-1]), aval.shape[-1]
    numbers = hlo.tensor_type((count, k), _I32)
    rows = aval.update(shape=(count * (size // length), length))
    x = context.value("stablehlo.reshape", hlo.tensor_type(rows.shape, _F32), (x,))
    keys = append_extreme_keys(context, x, rows, f"stablehlo.{'minimum' if least else 'maximum'}")
    extremes = aval.update(shape=(count, size // length))
    keys = context.value("stablehlo.reshape", hlo.tensor_type(extremes.shape, _I32), (keys,))
    found = hlo.tensor_type(extremes.shape, _F32)
    found = context.value("stablehlo.bitcast_convert", found, (magnitudes_turned(context, keys),))
    chosen = search(context, found, extremes, k, least, numbers)[1]
    chosen = _rising(context, chosen, (count, k), search)
    near = aval.update(shape=(count, k * length))
    values, places = search(
        context, _rows_at(context, x, chosen, extremes.shape, k, length), near, k, least, numbers
    )
    whole = context.splat(length, (count, k), _I32)
    row = context.value("stablehlo.divide", numbers, (places, whole))
    within = context.value("stablehlo.remainder", numbers, (places, whole))
    row = _gathered(context, chosen, row, (count, k), (), _I32)
    before = context.value("stablehlo.multiply", numbers, (row, whole))
    places = context.value("stablehlo.add", numbers, (before, within))
    shape = (*aval.shape[:-1], k)
    return [
        context.value("stablehlo.reshape", hlo.tensor_type(shape, dtype), (each,))
        for each, dtype in ((values, _F32), (places, _I32))
    ]


def _rising(context: Any, numbers: Any, shape: tuple[int, int], search: Search) -> Any:
    """Return rows of numbers, all less than 2^24, in rising order."""
    floats, kind = hlo.tensor_type(shape, _F32), numbers.type
    wide = context.value("stablehlo.convert", floats, (numbers,))
    found = search(context, wide, ShapedArray(shape, _F32), shape[1], True, kind)[0]
    return context.value("stablehlo.convert", kind, (found,))


def _rows_at(context: Any, x: Any, chosen: Any, shape: tuple[int, ...], k: int, length: int) -> Any:
    """Return the chosen rows of each part, one after the other."""
    count = shape[0]
    x = context.value("stablehlo.reshape", hlo.tensor_type((*shape, length), _F32), (x,))
    found = _gathered(context, x, chosen, (count, k), (length,), _F32)
    return context.value("stablehlo.reshape", hlo.tensor_type((count, k * length), _F32), (found,))


def _gathered(
    context: Any, x: Any, places: Any, shape: tuple[int, int], row: tuple[int, ...], dtype: DType
) -> Any:
    """Return what is at places of the second axis: elements, or rows of them."""
    indices = context.value("stablehlo.reshape", hlo.tensor_type((*shape, 1), _I32), (places,))
    numbers = (
        f"#stablehlo.gather<offset_dims = {[2] if row else []}, collapsed_slice_dims = [1], "
        "operand_batching_dims = [0], start_indices_batching_dims = [0], "
        "start_index_map = [1], index_vector_dim = 2>"
    )
    return context.value(
        "stablehlo.gather",
        hlo.tensor_type((*shape, *row), dtype),
        (x, indices),
        {
            "dimension_numbers": hlo.parse_attribute(numbers),
            "slice_sizes": hlo.dense_i64_array((1, 1, *row)),
            "indices_are_sorted": hlo.bool_attr(False),
        },
    )
