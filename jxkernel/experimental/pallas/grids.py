"""Where a kernel stands in its grid: ``program_id`` and ``num_programs``.

A kernel is traced once for all steps of its grid, so its index is an equation of its program,
performed with the index of the step when the program is run.  This module must not know how.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from jxkernel.core.avals import ShapedArray
from jxkernel.core.axes import extend_axes
from jxkernel.core.filtering import filtered
from jxkernel.core.trace import place_in_source
from jxkernel.errors import KernelError
from jxkernel.higher_order.recorded_references import PerformedPrimitive
from jxkernel.records import record

__all__ = [
    "INDEX",
    "Grid",
    "lasting_memory",
    "num_programs",
    "num_programs_p",
    "program_id",
    "program_id_p",
    "program_size",
    "standing_in",
]

INDEX = ShapedArray((), "int32")
"""The type of an index of a grid."""


@record(eq=False)
class Grid:
    """The grid of the kernel that runs, or is traced.

    Attributes:
      sizes: of its axes; None for one that is data, while the kernel is traced.
      index: gives the index along an axis.
      size: gives the size along an axis, where that is data.
      memory: gives a reference to memory of a type that stays from step to step.
    """

    sizes: tuple[Any, ...]
    index: Callable[[int], Any]
    size: Callable[[int], Any] | None = None
    memory: Callable[[Any], Any] | None = None


@record()
class _GridAxis:
    """The name of an axis of a grid, among those that caches of traces look at."""

    number: int


class _Standing(threading.local):
    grid: Grid | None = None


_standing = _Standing()


@contextmanager
def standing_in(grid: Grid) -> Generator[None]:
    """Let ``program_id`` and ``num_programs`` speak of a grid, on this thread."""
    outer = _standing.grid
    _standing.grid = grid
    try:
        with extend_axes([(_GridAxis(axis), size) for axis, size in enumerate(grid.sizes)]):
            yield
    finally:
        _standing.grid = outer


def _grid(name: str, axis: int) -> Grid:
    """Return the grid, which has such an axis.

    Raises:
      KernelError: no kernel runs, or the grid has no such axis.
    """
    grid = _standing.grid
    if grid is None:
        raise KernelError(
            f"{name}({axis}) was asked outside of a kernel: it speaks of the grid of a "
            "pallas_call, while the kernel is traced.",
            **place_in_source(),
        )
    if not isinstance(axis, int) or not 0 <= axis < len(grid.sizes):
        raise KernelError(
            f"{name}({axis!r:.40}) names no axis of the kernel's grid {grid.sizes}.",
            **place_in_source(),
        )
    return grid


@filtered
def program_id(axis: int) -> Any:
    """Return the index of the step that the kernel is run for, along an axis of its grid.

    Args:
      axis: which axis of the grid; 0 is the first, which changes last.

    Returns:
      an int32 of rank 0, traced; it has no derivative.

    Raises:
      KernelError: no kernel runs, or its grid has no such axis.
    """
    [index] = program_id_p.bind(axis=axis)
    return index


@filtered
def num_programs(axis: int) -> Any:
    """Return the size of the kernel's grid along an axis: an int, or an int32 where it is data.

    Args:
      axis: which axis of the grid.

    Raises:
      KernelError: no kernel runs, or its grid has no such axis.
    """
    grid = _grid("num_programs", axis)
    if grid.sizes[axis] is None and grid.size is not None:
        return grid.size(axis)
    return grid.sizes[axis]


def lasting_memory(kind: Any) -> Any:
    """Return a reference to memory of a type that stays from step to step of the kernel's grid.

    Raises:
      KernelError: no kernel is traced.
    """
    grid = _standing.grid
    if grid is None or grid.memory is None:
        raise KernelError(
            "get_global was asked outside of a kernel: its memory is that of a pallas_call, while "
            "the kernel is traced.",
            **place_in_source(),
        )
    return grid.memory(kind)


def _size(*, axis: int) -> list[Any]:
    return [num_programs(axis)]


def _index(*, axis: int) -> list[Any]:
    return [_grid("program_id", axis).index(axis)]


def _index_type(*, axis: int) -> list[ShapedArray]:
    return [INDEX]


program_id_p = PerformedPrimitive("program_id", _index, _index_type)
num_programs_p = PerformedPrimitive("num_programs", _size, _index_type)


def program_size(recorder: Any, axis: int) -> Any:
    """Return the size of a grid along an axis as a value of the program that is recorded."""
    return recorder.record(num_programs_p, axis=axis)[0]
