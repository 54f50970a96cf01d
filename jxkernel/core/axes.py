"""Named and batched axes: what ``vmap`` tells its rules, and which names are bound where.

A name is bound by ``vmap``, ``pmap``, ``shard_map`` or ``make_jaxpr(axis_env=...)`` while the
user's function runs, on this thread.  Equations hold the names (and, where a type depends on
one, the size), so programs need no environment; only the functions that users call look here.
Caches of traces must hold ``axis_environment()`` in their keys.

Axes of a mesh may be *tracked*: then the type of a value says along which of them it may differ
between devices (``ShapedArray.vma``), and so a derivative taken by one device's program knows
where the other devices' shares belong to it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from jxkernel.config import remove_size_one_mesh_axis_from_type
from jxkernel.core.avals import abstractify
from jxkernel.core.trace import state
from jxkernel.errors import UnboundAxisError
from jxkernel.records import record
from jxkernel.sharding.spec import axes_of

__all__ = [
    "Axis",
    "axis_environment",
    "bound_axis_size",
    "extend_axes",
    "index_giver",
    "inside_shard_map",
    "manual_axes",
    "putting_off",
    "sums_put_off",
]


@record()
class Axis:
    """The axis a ``vmap`` adds: its size, and the name collectives may use for it.

    Attributes:
      size: the number of elements along the axis.
      name: the name given by ``axis_name``, or None.
      spmd_name: the mesh axis given by ``spmd_axis_name``, or None.
      entry: the explicit mesh axis (or a tuple of them) that divides the axis, or None; it divides
        it in every value that has the axis.
      mesh: the mesh of ``entry``, without its devices.
    """

    size: int
    name: Any = None
    spmd_name: Any = None
    entry: Any = None
    mesh: Any = None


class _Bound(threading.local):
    """The names bound on this thread with their sizes, innermost last."""

    axes: tuple[tuple[Hashable, int], ...] = ()
    manual: tuple[Hashable, ...] = ()
    indices: Mapping[Hashable, Callable[[], Any]] = MappingProxyType({})


_bound = _Bound()


def axis_environment() -> tuple[Any, ...]:
    """Return what is bound now, as a part of cache keys.

    Returns:
      the names with their sizes, innermost last; the tracked axes; the manual axes; and the mesh
      axes over which sums are put off.
    """
    return _bound.axes, state.tracked, _bound.manual, state.putting_off


@contextmanager
def extend_axes(
    axes: Sequence[tuple[Hashable, int]],
    *,
    manual: bool = False,
    tracked: bool = False,
    indices: Mapping[Hashable, Callable[[], Any]] | None = None,
) -> Generator[None]:
    """Bind names for the length of a block, on this thread; an inner name hides an outer one.

    Args:
      axes: names with sizes.
      manual: whether they are axes of a mesh, and the block is the program of one device.
      tracked: whether types say along which of these axes values vary; a program of one device
        in which they do not is not tracked over outer axes either.
      indices: what gives the index along an axis, of those whose members come one after the other.
    """
    outer = _bound.axes, _bound.manual, state.tracked, _bound.indices
    names = [name for name, _ in axes]
    others = {name: give for name, give in outer[3].items() if name not in names}
    _bound.indices = {**others, **(indices or {})}
    kept = () if manual and not tracked else [n for n in outer[2] if n not in names]
    _bound.axes, _bound.manual = (*outer[0], *axes), (*outer[1], *names) if manual else outer[1]
    state.tracked = (*kept, *_shown(axes)) if tracked else tuple(kept)
    try:
        yield
    finally:
        _bound.axes, _bound.manual, state.tracked, _bound.indices = outer


def index_giver(name: Hashable) -> Callable[[], Any] | None:
    """Return the function that gives the index along an axis, where its members run in turn."""
    return _bound.indices.get(name)


def _shown(axes: Sequence[tuple[Hashable, int]]) -> list[Hashable]:
    """Return the names of those axes that types may speak of."""
    least = 2 if remove_size_one_mesh_axis_from_type.value else 0
    return [name for name, size in axes if size >= least]


def inside_shard_map() -> bool:
    """Whether what runs now on this thread is the program of one device of a mesh."""
    return bool(_bound.manual)


def manual_axes() -> tuple[Hashable, ...]:
    """Return the mesh axes that a ``shard_map`` around what runs now handles, outermost first."""
    return _bound.manual


def bound_axis_size(name: Hashable) -> int:
    """Return the size of a bound axis.

    Raises:
      UnboundAxisError: the name is not bound here.
    """
    for known, size in reversed(_bound.axes):
        if known == name:
            return size
    raise UnboundAxisError(name, tuple([known for known, _ in _bound.axes]))


@contextmanager
def putting_off(axes: Iterable[Hashable]) -> Generator[None]:
    """Put off, for the length of a block, sums over explicit mesh axes where they would be made.

    Args:
      axes: the mesh axes.
    """
    outer = state.putting_off
    state.putting_off = frozenset(axes)
    try:
        yield
    finally:
        state.putting_off = outer


def sums_put_off(operand: Any, axes: Iterable[int]) -> dict[str, Any]:
    """Return the parameter ``unreduced`` of a sum over axes of an operand; none for nothing.

    It names those mesh axes which divide what is summed, and over which sums are put off now.
    """
    if not state.putting_off:
        return {}
    aval = abstractify(operand)
    names = [name for axis in axes for name in axes_of(aval.entries[axis])]
    found = tuple([name for name in names if name in state.putting_off])
    return {"unreduced": found} if found else {}
