"""Scans by an associative combination: all partial combinations in logarithmic depth.

A composition, not a primitive: its derivative, batching and lowering are those of the operations
it is made of.  Combine neighbours in pairs; scan the half as many pairs; that gives the results
at odd positions, and one more combination each those at even positions (Blelloch 1990).  It
serves derivative rules, and ``jxkernel.lax.associative_scan`` is made of it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel.core.avals import shape_of
from jxkernel.primitives.indexing.concatenate import concatenate, stack
from jxkernel.primitives.indexing.slicing import slice_in_dim
from jxkernel.primitives.shape.reshape import reshape, rev

__all__ = ["scan_associatively"]

Combination = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


def scan_associatively(
    combine: Combination, elems: Sequence[Any], axes: Sequence[int], reverse: bool = False
) -> list[Any]:
    """Return the combinations of all elements up to each position along an axis.

    Args:
      combine: joins two lists of slices, each with any number of positions along its axis; it is
        associative.
      elems: arrays, all of one size along their axis.
      axes: the axis of each.
      reverse: whether to accumulate from the end; later positions are then the first argument.
    """
    if not elems or not reverse:
        return _scan(combine, list(elems), axes)
    turned = [rev(x, (axis,)) for x, axis in zip(elems, axes, strict=True)]
    scanned = _scan(combine, turned, axes)
    return [rev(y, (axis,)) for y, axis in zip(scanned, axes, strict=True)]


def _scan(combine: Combination, elems: list[Any], axes: Sequence[int]) -> list[Any]:
    size = shape_of(elems[0])[axes[0]] if elems else 0
    if size < 2:
        return elems
    even = size - size % 2
    pairs = combine(_part(elems, axes, 0, even, 2), _part(elems, axes, 1, even, 2))
    odds = _scan(combine, list(pairs), axes)
    evens = _part(elems, axes, 0, 1)
    if size > 2:
        before = odds if size % 2 else _part(odds, axes, 0, -1)
        later = combine(before, _part(elems, axes, 2, None, 2))
        evens = [concatenate(pair, axis) for *pair, axis in zip(evens, later, axes, strict=True)]
    return [_interleaved(*parts) for parts in zip(evens, odds, axes, strict=True)]


def _part(
    elems: Sequence[Any], axes: Sequence[int], start: int, limit: int | None, stride: int = 1
) -> list[Any]:
    pairs = zip(elems, axes, strict=True)
    return [slice_in_dim(x, start, limit, stride, axis) for x, axis in pairs]


def _interleaved(evens: Any, odds: Any, axis: int) -> Any:
    """Return the elements of two arrays in turn; the first may have one more."""
    shape = list(shape_of(odds))
    size = shape[axis]
    both = stack((slice_in_dim(evens, 0, size, 1, axis), odds), axis + 1)
    shape[axis] = 2 * size
    woven = reshape(both, shape)
    if shape_of(evens)[axis] == size:
        return woven
    return concatenate((woven, slice_in_dim(evens, size, None, 1, axis)), axis)
