"""The places of what holds, found one after the other in a kernel of their own."""

from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel.dtypes import DTypeLike
from jxkernel.primitives.reduction.kernel_loops import (
    INDEX,
    ONE,
    SCALAR,
    State,
    integer,
    stored,
    visited,
    written,
)
from jxkernel.runtime import ArrayLike

__all__ = ["append_places"]

_MANY, _LANES = 1 << 14, 4
"""From so many elements on a loop takes so many in a turn."""


def append_places(
    context: Any, holds: ArrayLike, length: int, size: int, dtype: DTypeLike
) -> list[Any]:
    """Append the first places of a vector where something holds, 0 after them; and their number.

    Each place is written to where the next one goes, so one that does not hold is written over.

    Args:
      context: the lowering context; it makes kernels.
      holds: a vector of booleans.
      length: how many, less than 2^31.
      size: how many places are wanted.
      dtype: that of the results.
    """

    def body(builder: hlo.Builder, holds: Any) -> tuple[Any, Any]:
        flags = builder.value("stablehlo.convert", hlo.tensor_type((length,), INDEX), (holds,))
        lanes = _LANES if length >= _MANY else 1
        zero = builder.constant(0, INDEX)
        # One more takes those that find no room, and the last that does not hold.
        state = (stored(builder, builder.splat(0, (size + 1,), INDEX)), zero)
        flags = stored(builder, flags)
        places, count = visited(
            builder, zero, length, lanes, INDEX, state, lambda *_: flags, _noted(size)
        )
        return _first(builder, places, count, size, dtype), _as(builder, count, (), dtype)

    types = [hlo.tensor_type(shape, dtype) for shape in ((size,), ())]
    return list(context.one_kernel("places", (holds,), types, body))


def _noted(size: int) -> Any:
    def visit(builder: hlo.Builder, number: Any, flag: Any, places: Any, count: Any) -> State:
        place = builder.value("stablehlo.reshape", ONE, (number,))
        places = written(builder, places, place, integer(builder, "minimum", count, size))
        one = builder.value("stablehlo.reshape", SCALAR, (flag,))
        return places, integer(builder, "add", count, one)

    return visit


def _first(builder: hlo.Builder, places: Any, count: Any, size: int, dtype: DTypeLike) -> Any:
    """Return the places that were found, and 0 after them."""
    kind = hlo.tensor_type((size,), INDEX)
    bounds = {
        "start_indices": hlo.dense_i64_array((0,)),
        "limit_indices": hlo.dense_i64_array((size,)),
        "strides": hlo.dense_i64_array((1,)),
    }
    places = builder.value("stablehlo.slice", kind, (places,), bounds)
    number = builder.iota(INDEX, (size,), 0)
    upto = builder.broadcast(count, (), (size,), INDEX)
    is_found = builder.compare(number, upto, "LT", (size,), "SIGNED")
    found = builder.value(
        "stablehlo.select", kind, (is_found, places, builder.splat(0, (size,), INDEX))
    )
    return _as(builder, found, (size,), dtype)


def _as(builder: hlo.Builder, x: Any, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
    if np.dtype(dtype) == INDEX:
        return x
    return builder.value("stablehlo.convert", hlo.tensor_type(shape, dtype), (x,))
