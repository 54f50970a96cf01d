"""How indices address an array: dimension numbers, out-of-bounds modes, and their shape rules.

``gather`` reads windows of an operand at places given by index vectors, ``scatter`` writes them.
The last axis of the indices holds the index vectors; the other axes are the *batch* axes.  The
dimension numbers say which operand axis each component addresses, which window axes stay in the
result, and which axes run together through operand and indices (batching axes).
"""

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from jxkernel import dtypes
from jxkernel._reprs import with_type
from jxkernel.core.avals import ShapedArray
from jxkernel.primitives.arguments import integers

__all__ = [
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "ScatterDimensionNumbers",
    "gather_shape",
    "scatter_slice_sizes",
]


class GatherDimensionNumbers(NamedTuple):
    """Which axes a gather reads by index, by window, and together.

    Attributes:
      offset_dims: the axes of the result that run through the windows, increasing.
      collapsed_slice_dims: the operand's axes of window size 1 that are dropped, increasing.
      start_index_map: for each component of an index vector, the operand axis it addresses.
      operand_batching_dims: operand axes that run together with axes of the indices, increasing.
      start_indices_batching_dims: the axes of the indices they run with, in the same order.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """Which axes a scatter writes by index, by window, and together.

    Attributes:
      update_window_dims: the axes of the updates that run through the windows, increasing.
      inserted_window_dims: the operand's axes of window size 1 that updates lack, increasing.
      scatter_dims_to_operand_dims: for each component of an index vector, the operand axis.
      operand_batching_dims: operand axes that run together with axes of the indices, increasing.
      scatter_indices_batching_dims: the axes of the indices they run with, in the same order.
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


Numbers = TypeVar("Numbers", GatherDimensionNumbers, ScatterDimensionNumbers)


class GatherScatterMode(enum.Enum):
    """What happens to windows that do not lie wholly inside the operand.

    ``CLIP`` moves them inside; ``FILL_OR_DROP`` reads a fill value and drops what would be
    written; ``PROMISE_IN_BOUNDS`` lets the caller promise that there are none; ``ONE_HOT`` reads
    zeros and drops what would be written.
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()
    ONE_HOT = enum.auto()

    def __repr__(self) -> str:
        return f"GatherScatterMode.{self.name}"

    @staticmethod
    def from_any(mode: "str | GatherScatterMode | None") -> "GatherScatterMode":
        """Return the mode of a name; None means ``FILL_OR_DROP``.

        Raises:
          ValueError: no mode has that name.
        """
        if isinstance(mode, GatherScatterMode):
            return mode
        try:
            return _MODES[mode]
        except (KeyError, TypeError):
            known = ", ".join(repr(name) for name in _MODES if name)
            raise ValueError(f"unknown indexing mode {mode!r}: there are {known}") from None


_MODES: dict[str | None, GatherScatterMode] = {
    None: GatherScatterMode.FILL_OR_DROP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    "one_hot": GatherScatterMode.ONE_HOT,
}


def canonical_mode(name: str, mode: Any) -> GatherScatterMode:
    """Return the mode that the function ``name`` was given; see ``GatherScatterMode.from_any``.

    Raises:
      ValueError: there is no such mode.
    """
    try:
        return GatherScatterMode.from_any(mode)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def checked_numbers(name: str, kind: type[Numbers], dimension_numbers: Any) -> Numbers:
    """Return the dimension numbers that the function ``name`` was given, of ints alone.

    Raises:
      TypeError: they hold something else.
    """
    if not isinstance(dimension_numbers, (GatherDimensionNumbers, ScatterDimensionNumbers)):
        raise TypeError(
            f"{name} got dimension_numbers={with_type(dimension_numbers)}: it takes "
            f"lax.{kind.__name__}(...)"
        )
    return kind(*[integers(name, "dimension_numbers", axes) for axes in dimension_numbers])


def check_indices(name: str, indices: ShapedArray, components: int, rank: int) -> None:
    """Raise unless indices are whole numbers whose last axis addresses ``components`` axes."""
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise TypeError(f"{name} needs integer indices, got dtype {indices.dtype.name}")
    if not indices.ndim or indices.shape[-1] != components:
        raise TypeError(
            f"{name} got indices of shape {indices.shape}: their last axis holds one number for "
            f"each of the {components} addressed axes of an operand of rank {rank}"
        )


def _check_axes(name: str, part: str, axes: Sequence[int], rank: int, increasing: bool) -> None:
    ordered = not increasing or list(axes) == sorted(axes)
    if not ordered or len(set(axes)) != len(axes) or not all(0 <= axis < rank for axis in axes):
        order = "increasing" if increasing else "distinct"
        raise TypeError(f"{name} got {part} {tuple(axes)}: they are {order} and below {rank}")


def check_batching(
    name: str,
    operand: ShapedArray,
    indices: ShapedArray,
    operand_dims: Sequence[int],
    indices_dims: Sequence[int],
) -> None:
    """Raise unless the axes that run together agree in number and size."""
    _check_axes(name, "operand_batching_dims", operand_dims, operand.ndim, True)
    _check_axes(name, "batching dims of the indices", indices_dims, indices.ndim - 1, False)
    left = [operand.shape[axis] for axis in operand_dims]
    right = [indices.shape[axis] for axis in indices_dims]
    if left != right:
        raise TypeError(
            f"{name} got batching axes {tuple(operand_dims)} of an operand of shape "
            f"{operand.shape} and {tuple(indices_dims)} of indices of shape {indices.shape}: "
            "their sizes must be equal"
        )


def gather_shape(
    operand: ShapedArray,
    indices: ShapedArray,
    numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
) -> tuple[int, ...]:
    """Return the shape of what a gather reads, checking that its parameters fit.

    Raises:
      TypeError: they do not.
    """
    rank = operand.ndim
    check_indices("gather", indices, len(numbers.start_index_map), rank)
    dropped = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    _check_axes("gather", "collapsed_slice_dims", numbers.collapsed_slice_dims, rank, True)
    _check_axes("gather", "start_index_map", numbers.start_index_map, rank, False)
    check_batching(
        "gather",
        operand,
        indices,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
    )
    fits = len(slice_sizes) == rank and all(
        0 <= size <= whole for size, whole in zip(slice_sizes, operand.shape, strict=True)
    )
    if not fits or any(slice_sizes[axis] > 1 for axis in dropped):
        raise TypeError(
            f"gather got slice_sizes {slice_sizes} for an operand of shape {operand.shape}: one "
            f"size per axis, at most the axis's, and 1 for the dropped axes {dropped}"
        )
    window = iter([size for axis, size in enumerate(slice_sizes) if axis not in dropped])
    offsets, total = numbers.offset_dims, len(numbers.offset_dims) + indices.ndim - 1
    _check_axes("gather", "offset_dims", offsets, total, True)
    if len(offsets) + len(dropped) != rank:
        raise TypeError(
            f"gather got offset_dims {offsets} beside dropped axes {dropped} for an operand of "
            f"rank {rank}: each operand axis is one or the other"
        )
    batch = iter(indices.shape[:-1])
    return tuple(next(window) if axis in offsets else next(batch) for axis in range(total))


def scatter_slice_sizes(
    operand_shape: Sequence[int], update_shape: Sequence[int], numbers: ScatterDimensionNumbers
) -> tuple[int, ...]:
    """Return the window that each index vector of a scatter writes, over all operand axes."""
    dropped = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    window = iter([update_shape[axis] for axis in numbers.update_window_dims])
    return tuple(
        min(1, size) if axis in dropped else next(window) for axis, size in enumerate(operand_shape)
    )


def check_scatter(
    name: str,
    operand: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    numbers: ScatterDimensionNumbers,
) -> None:
    """Raise a TypeError unless updates and indices address windows of the operand."""
    rank = operand.ndim
    check_indices(name, indices, len(numbers.scatter_dims_to_operand_dims), rank)
    _check_axes(name, "inserted_window_dims", numbers.inserted_window_dims, rank, True)
    _check_axes(name, "update_window_dims", numbers.update_window_dims, updates.ndim, True)
    addressed = numbers.scatter_dims_to_operand_dims
    _check_axes(name, "scatter_dims_to_operand_dims", addressed, rank, False)
    check_batching(
        name,
        operand,
        indices,
        numbers.operand_batching_dims,
        numbers.scatter_indices_batching_dims,
    )
    dropped = len(numbers.inserted_window_dims) + len(numbers.operand_batching_dims)
    batch = [
        size for axis, size in enumerate(updates.shape) if axis not in numbers.update_window_dims
    ]
    fits = len(numbers.update_window_dims) + dropped == rank and batch == list(indices.shape[:-1])
    if fits:
        sizes = scatter_slice_sizes(operand.shape, updates.shape, numbers)
        fits = all(size <= whole for size, whole in zip(sizes, operand.shape, strict=True))
    if not fits:
        raise TypeError(
            f"{name} got updates of shape {updates.shape} for indices of shape {indices.shape} "
            f"into an operand of shape {operand.shape} by {numbers}: updates have the indices' "
            "batch axes and one window axis, no larger than the operand's, for each operand axis "
            "that is not inserted or batching"
        )
