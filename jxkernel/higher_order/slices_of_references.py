"""Where a slice of a known size lies in the array that a reference holds."""

from __future__ import annotations

from typing import Any

from jxkernel.core.slices import Slice
from jxkernel.primitives.elementwise.arithmetic import add, clamp
from jxkernel.primitives.elementwise.compare import lt
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.elementwise.select import select

__all__ = ["placed_slices"]


def placed_slices(index: Any, shape: tuple[int, ...]) -> Any:
    """Return an index of a reference with its ``ds`` slices placed within bounds.

    Raises:
      ValueError: a slice whose start is known is out of bounds.
    """
    items = index if isinstance(index, tuple) else (index,)
    if not any(isinstance(item, Slice) for item in items):
        return index
    return tuple(
        [
            _placed(item, size) if isinstance(item, Slice) and size is not None else item
            for item, size in zip(items, _axis_sizes(items, shape), strict=True)
        ]
    )


def _axis_sizes(items: tuple[Any, ...], shape: tuple[int, ...]) -> list[int | None]:
    """Return the size of the axis where each item begins; None where there is none."""
    taken = list(map(_axes_of, items))
    left = len(shape) - sum(taken)
    found: list[int | None] = []
    axis = 0
    for item, count in zip(items, taken, strict=True):
        found.append(shape[axis] if 0 <= axis < len(shape) else None)
        axis += left if item is Ellipsis else count
    return found


def _axes_of(item: Any) -> int:
    """Return how many axes an item indexes: a mask has as many as its rank."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    mask = getattr(getattr(item, "dtype", None), "kind", None) == "b"
    return item.ndim if mask else 1


def _placed(item: Slice, size: int) -> Any:
    if item.moving:
        return _within(item, size) if item.stride == 1 and item.size <= size else item
    end = item.start + (item.size - 1) * item.stride + 1 if item.size else item.start
    if item.size < 0 or item.start < 0 or end > size:
        raise ValueError(
            f"the part ds({item.start}, {item.size}, {item.stride}) is out of bounds for an axis "
            f"of size {size}"
        )
    return slice(item.start, end, item.stride)


def _within(item: Slice, size: int) -> Slice:
    """Return a slice whose start is data, moved so that all of it lies within the axis."""
    start = convert_element_type(item.start, "int32")
    start = select(lt(start, 0), add(start, size), start)
    return Slice(clamp(0, start, size - item.size), item.size)
