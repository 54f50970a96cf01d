"""Scans by an associative combination: all partial combinations in logarithmic depth.

A composition, not a primitive: its derivative, batching and lowering are those of the operations
it is made of.  Combine neighbours in pairs; scan the half as many pairs; that gives the results
at odd positions, and one more combination each those at even positions (Blelloch 1990).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jxkernel import tree
from jxkernel.core.avals import abstractify
from jxkernel.core.zeros import zero_scalar
from jxkernel.ops.arithmetic import add
from jxkernel.ops.bits import bitwise_or
from jxkernel.ops.joining import concatenate
from jxkernel.ops.shape import rev
from jxkernel.ops.slicing import pad, slice_in_dim
from jxkernel.ops.structural import canonical_axis

__all__ = ["associative_scan"]

Combination = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Return the combinations of all elements up to each position along an axis.

    Args:
      fn: combines two trees of slices, each with any number of positions along ``axis``; it must
        be associative.
      elems: a tree of arrays of one size along ``axis``.
      reverse: whether to accumulate from the end; ``fn`` then gets later positions first.
      axis: the axis; negative counts from the end.

    Returns:
      a tree like ``elems``.

    Raises:
      TypeError: ``fn`` is not callable.
      ValueError: there is no array, or sizes along the axis differ.

    Differentiable where ``fn`` is.
    """
    if not callable(fn):
        raise TypeError(f"associative_scan combines by a function, got {fn!r}")
    flat, structure = tree.flatten(elems)
    if not flat:
        raise ValueError("associative_scan got no array to scan")
    places = [canonical_axis("associative_scan", axis, np.ndim(x)) for x in flat]
    sizes = {np.shape(x)[place] for x, place in zip(flat, places, strict=True)}
    if len(sizes) > 1 or len(set(places)) > 1:
        shapes = ", ".join(str(np.shape(x)) for x in flat)
        raise ValueError(
            f"associative_scan got arrays of shapes {shapes}: sizes along axis {axis} are equal"
        )

    def combine(first: Sequence[Any], second: Sequence[Any]) -> Sequence[Any]:
        out = fn(tree.unflatten(structure, first), tree.unflatten(structure, second))
        return tree.leaves(out)

    return tree.unflatten(structure, scan_associatively(combine, flat, places[0], reverse))


def scan_associatively(
    combine: Combination, elems: Sequence[Any], axis: int, reverse: bool = False
) -> list[Any]:
    """Scan a list of arrays along one axis; ``combine`` takes and returns such lists."""
    if not reverse:
        return _scan(combine, list(elems), axis)
    turned = [rev(x, (axis,)) for x in elems]
    return [rev(y, (axis,)) for y in _scan(combine, turned, axis)]


def _scan(combine: Combination, elems: list[Any], axis: int) -> list[Any]:
    size = np.shape(elems[0])[axis]
    if size < 2:
        return elems
    pairs = combine(
        _every_other(elems, 0, size - 1, axis),
        _every_other(elems, 1, size, axis),
    )
    odd = _scan(combine, list(pairs), axis)
    before = _every(odd, 0, (size - 1) // 2, axis)
    even = combine(before, _every_other(elems, 2, size, axis)) if size > 2 else before
    first = _every(elems, 0, 1, axis)
    return [
        _interleaved(concatenate([start, later], axis) if size > 2 else start, other, axis)
        for start, later, other in zip(first, even, odd, strict=True)
    ]


def _every(elems: Sequence[Any], start: int, limit: int, axis: int) -> list[Any]:
    return [slice_in_dim(x, start, limit, 1, axis) for x in elems]


def _every_other(elems: Sequence[Any], start: int, limit: int, axis: int) -> list[Any]:
    return [slice_in_dim(x, start, limit, 2, axis) for x in elems]


def _interleaved(even: Any, odd: Any, axis: int) -> Any:
    """Return an array whose even and odd positions are two arrays'."""
    aval = abstractify(even)
    n_even, n_odd = np.shape(even)[axis], np.shape(odd)[axis]
    zero = zero_scalar(aval)
    config = [(0, 0, 0)] * aval.ndim
    config[axis] = (0, int(n_even == n_odd), 1)
    spread = pad(even, zero, config)
    config[axis] = (1, int(n_even > n_odd), 1)
    other = pad(odd, zero, config)
    return bitwise_or(spread, other) if aval.dtype == np.bool_ else add(spread, other)
