"""Scans by an associative combination: all partial combinations in logarithmic depth.

A composition, not a primitive: its derivative, batching and lowering are those of the operations
it is made of.  Combine neighbours in pairs; scan the half as many pairs; that gives the results
at odd positions, and one more combination each those at even positions (Blelloch 1990).  What
users call is ``jxkernel.lax.associative_scan``; this serves derivative rules.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jxkernel.core.avals import abstractify, shape_of
from jxkernel.core.zeros import typed_scalar
from jxkernel.ops.arithmetic import add
from jxkernel.ops.bits import bitwise_or
from jxkernel.ops.joining import concatenate
from jxkernel.ops.shape import rev
from jxkernel.ops.slicing import pad, slice_in_dim

__all__ = ["scan_associatively"]

Combination = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


def scan_associatively(
    combine: Combination, elems: Sequence[Any], axis: int, reverse: bool = False
) -> list[Any]:
    """Return the combinations of all elements up to each position along an axis.

    Args:
      combine: joins two lists of slices, each with any number of positions along ``axis``; it is
        associative.
      elems: arrays of one size along ``axis``.
      axis: the axis.
      reverse: whether to accumulate from the end; later positions are then the first argument.
    """
    if not reverse:
        return _scan(combine, list(elems), axis)
    turned = [rev(x, (axis,)) for x in elems]
    return [rev(y, (axis,)) for y in _scan(combine, turned, axis)]


def _scan(combine: Combination, elems: list[Any], axis: int) -> list[Any]:
    size = shape_of(elems[0])[axis]
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
    n_even, n_odd = shape_of(even)[axis], shape_of(odd)[axis]
    zero = typed_scalar(aval.dtype, 0)
    config = [(0, 0, 0)] * aval.ndim
    config[axis] = (0, int(n_even == n_odd), 1)
    spread = pad(even, zero, config)
    config[axis] = (1, int(n_even > n_odd), 1)
    other = pad(odd, zero, config)
    return bitwise_or(spread, other) if aval.dtype == np.bool_ else add(spread, other)
