"""Sorting and searching.

NaN sorts last.  Derivatives go to the elements' places; positions have none.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._lazy import late_function
from jxkernel.core.dimensions import is_symbolic
from jxkernel.dtypes import DTypeLike
from jxkernel.errors import ShapeMismatchError
from jxkernel.numpy.creation import asarray, user_dtype
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.logic import less, less_equal
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_to_shape,
    cast,
    dtype_of,
    promote_dtypes,
    static_axis,
)
from jxkernel.numpy.shapes import ravel
from jxkernel.numpy.taking import take, take_along_axis
from jxkernel.primitives.arguments import canonical_axis, sequence, whole_number
from jxkernel.primitives.creation import broadcasted_iota
from jxkernel.primitives.elementwise import arithmetic as ops
from jxkernel.primitives.elementwise.bits import bitwise_and, bitwise_not, bitwise_or, shift_left
from jxkernel.primitives.elementwise.compare import lt, ne
from jxkernel.primitives.elementwise.complex import imag, real
from jxkernel.primitives.elementwise.identity import stop_gradient
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.reduction.partition import argpartition as argpartition_along
from jxkernel.primitives.reduction.partition import partition as partition_along
from jxkernel.primitives.reduction.sort import sort as sorted_along
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.primitives.shape.reshape import rev
from jxkernel.runtime import ArrayLike

__all__ = [
    "argpartition",
    "argsort",
    "lexsort",
    "partition",
    "searchsorted",
    "sort",
    "sort_complex",
]


def _refuse_order(name: str, kind: Any, order: Any) -> None:
    if kind is not None:
        raise TypeError(f"{name}(kind=...) has no meaning here: choose with stable=")
    if order is not None:
        raise TypeError(f"{name}(order=...) is for structured dtypes, which arrays cannot have")


def _along(name: str, a: Any, axis: int | None) -> tuple[Any, int]:
    """Return an array and an axis to sort along, the array flattened for None."""
    argument_aval(name, a)
    return (ravel(a), 0) if axis is None else (a, canonical_axis(name, axis, np.ndim(a)))


@fused(static=("axis", "stable", "descending"), name="sort")
def _sorted(a: Any, axis: int | None, stable: bool, descending: bool) -> Any:
    a, axis = _along("sort", a, axis)
    result = sorted_along(a, axis, stable)
    return rev(result, (axis,)) if descending else result


def sort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    """Return a sorted copy of an array.

    Args:
      a: an array of rank 1 or more.
      axis: the axis; None for the flattened array.
      kind: must be None.
      order: must be None.
      stable: whether equal elements keep their order.
      descending: whether the greatest comes first.

    Raises:
      TypeError: ``kind`` or ``order`` is given.
      ValueError: the axis does not exist.

    NaN comes last, or first when descending.  The derivative goes to the elements' places.

    >>> import jxkernel.numpy as jnp
    >>> jnp.sort(jnp.array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    if kind is not None or order is not None:
        _refuse_order("sort", kind, order)
    return _sorted(a, static_axis("sort", axis), bool(stable), bool(descending))


@fused(static=("axis", "stable", "descending"), name="argsort")
def _argsorted(a: Any, axis: int | None, stable: bool, descending: bool) -> Any:
    a, axis = _along("argsort", a, axis)
    shape = np.shape(a)
    places = broadcasted_iota(dtypes.default_int_dtype(), shape, axis)
    if not descending:
        return sorted_along((a, places), axis, stable, 1)[1]
    # Reversed before and after, equal elements keep their order.
    backward = sorted_along((rev(a, (axis,)), rev(places, (axis,))), axis, stable, 1)[1]
    return rev(backward, (axis,))


def argsort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: DTypeLike = None,
) -> Any:
    """Return the positions that sort an array.

    Arguments are those of ``sort``, and ``dtype``: that of the positions, the default integers'
    where not given.

    >>> jnp.argsort(jnp.array([7, 1, 5]), descending=True)
    Array([0, 2, 1], dtype=int32)
    """
    if kind is not None or order is not None:
        _refuse_order("argsort", kind, order)
    places = _argsorted(a, static_axis("argsort", axis), bool(stable), bool(descending))
    return places if dtype is None else cast(places, user_dtype(dtype, "argsort"))


@fused(static=("axis", "most"), name="lexsort")
def _lexsorted(keys: Sequence[Any], axis: int, most: int) -> Any:
    """Sort by ``most`` keys at a time, the least significant first: every sort is stable."""
    places = broadcasted_iota(dtypes.default_int_dtype(), np.shape(keys[0]), axis)
    for start in range(0, len(keys), most):
        batch = keys[start : start + most]
        if start:
            batch = [take_along_axis(key, places, axis) for key in batch]
        places = sorted_along((*reversed(batch), places), axis, True, len(batch))[-1]
    return places


def lexsort(keys: Any, axis: int = -1, *, batch_size: int = 16) -> Any:
    """Return the positions that sort by several keys, the last the most significant.

    Args:
      keys: arrays of one shape, or one array whose first axis is that of the keys.
      axis: the axis to sort along.
      batch_size: how many keys one sort compares; more take several sorts, which XLA compiles
        faster than one that compares them all.

    Raises:
      TypeError: there is no key.
      ValueError: shapes differ, or ``batch_size`` is below 1.

    >>> surnames, names = jnp.array([2, 1, 2]), jnp.array([5, 9, 4])
    >>> jnp.lexsort((names, surnames))
    Array([1, 2, 0], dtype=int32)
    """
    parts = [asarray(key) for key in sequence("lexsort", "keys", keys, "arrays")]
    batch_size = whole_number("lexsort", "batch_size", batch_size)
    if not parts:
        raise TypeError("lexsort needs at least one key")
    if len({part.shape for part in parts}) > 1:
        raise ValueError(f"lexsort needs keys of one shape, got {[p.shape for p in parts]}")
    if batch_size < 1:
        raise ValueError(f"lexsort sorts by batches of at least one key, got {batch_size=}")
    if not parts[0].ndim:
        return asarray(0, dtypes.default_int_dtype())
    return _lexsorted(parts, canonical_axis("lexsort", axis, parts[0].ndim), batch_size)


def partition(a: ArrayLike, kth: int, axis: int = -1) -> Any:
    """Return an array with the element of a rank in its place, lesser before, greater after.

    Args:
      a: an array.
      kth: the rank.
      axis: the axis.

    Raises:
      ValueError: there is no such rank.

    >>> jnp.partition(jnp.array([7, 1, 5, 3]), 2)[2]
    Array(5, dtype=int32)
    """
    return _partitioned(a, *_rank("partition", a, kth, axis))


def argpartition(a: Any, kth: int, axis: int = -1) -> Any:
    """Return the positions that partition an array, as int32; see ``partition``.

    >>> jnp.argpartition(jnp.array([7, 1, 5]), 0)[0]
    Array(1, dtype=int32)
    """
    positions = _argpartitioned(a, *_rank("argpartition", a, kth, axis))
    return cast(positions, np.dtype(np.int32), argument_aval("argpartition", a).weak_type)


@fused(static=("rank", "axis"), name="partition")
def _partitioned(a: Any, rank: int, axis: int) -> Any:
    return partition_along(a, rank, axis)


@fused(static=("rank", "axis"), name="argpartition")
def _argpartitioned(a: Any, rank: int, axis: int) -> Any:
    return argpartition_along(a, rank, axis)


def _rank(name: str, a: Any, kth: int, axis: int) -> tuple[int, int]:
    """Return the rank and the axis of a partition, from 0."""
    aval = argument_aval(name, a)
    place = canonical_axis(name, axis, aval.ndim)
    size = aval.shape[place]
    kth = whole_number(name, "kth", kth)
    if not -size <= kth < size:
        raise ValueError(f"{name} got rank {kth} for an axis of size {size}")
    return kth + size if kth < 0 else kth, place


@fused
def sort_complex(a: Any) -> Any:
    """Return an array sorted along its last axis, as complex numbers.

    >>> jnp.sort_complex(jnp.array([2 + 1j, 1, 2 - 1j]))
    Array([1.+0.j, 2.-1.j, 2.+1.j], dtype=complex64)
    """
    a, axis = _along("sort_complex", a, -1)
    dtype = dtypes.canonicalize_dtype(dtypes.to_complex_dtype(dtype_of(a)))
    return cast(sorted_along(a, axis), dtype)


# ---------------------------------------------------------------- searchsorted

fori_loop = late_function("jxkernel.api.control_flow.looping", "fori_loop")


def _before(x: Any, y: Any, equal: bool) -> Any:
    """Return whether x sorts before y (or beside it): NaN is the greatest, of each part too."""
    dtype = argument_aval("searchsorted", x).dtype
    if dtype in dtypes.COMPLEX:
        reals, others = (real(x), real(y)), (imag(x), imag(y))
        first, beside = _before(*reals, False), _before(*reals, True)
        return bitwise_or(first, bitwise_and(beside, _before(*others, equal)))
    compared = (less_equal if equal else less).__wrapped__(x, y)
    if dtype not in dtypes.INEXACT:
        return compared
    x_nan, y_nan = ne(x, x), ne(y, y)
    beside = y_nan if equal else bitwise_and(bitwise_not(x_nan), y_nan)
    return bitwise_or(compared, beside)


_FEW_STEPS = 4
"""So many steps, and more where they are to be unrolled, are not worth a loop."""


@fused(static=("side", "unrolled"), name="searchsorted")
def _searched(a: Any, v: Any, side: str, unrolled: bool) -> Any:
    """Go ahead by powers of two, the greatest first, past all that comes before the value."""
    a, v = (stop_gradient(x) for x in promote_dtypes("searchsorted", a, v))
    size = np.shape(a)[0]
    dtype = _place_dtype(size)
    bits = 31 if is_symbolic(size) else size.bit_length()

    def advance(place: Any, step: Any) -> Any:
        at = ops.add(place, ops.sub(step, dtype.type(1)))
        past = _before(take(a, at, 0, mode="clip"), v, side == "right")
        past = bitwise_and(past, lt(at, cast(size, dtype)))
        return select(past, ops.add(place, step), place)

    def turn(number: Any, place: Any) -> Any:
        bit = ops.sub(dtype.type(bits - 1), cast(number, dtype))
        return advance(place, shift_left(dtype.type(1), bit))

    place = broadcast_in_dim(dtype.type(0), np.shape(v), ())
    first = bits if unrolled or bits <= _FEW_STEPS else 1
    for bit in range(first):
        place = advance(place, dtype.type(1 << (bits - 1 - bit)))
    return place if first == bits else fori_loop(first, bits, turn, place)


def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: str = "left",
    sorter: Any = None,
    *,
    method: str = "scan",
) -> Any:
    """Return where values would be put in to keep an array sorted.

    Args:
      a: a sorted array of rank 1.
      v: the values.
      side: ``"left"`` of equal elements, or ``"right"`` of them.
      sorter: the positions that sort ``a``, if it is not sorted.
      method: ``"scan"``, ``"scan_unrolled"``, ``"sort"`` or ``"compare_all"``; all give the same;
        all but the last halve the range again and again, in a loop, or in one that is written out.

    Returns:
      integers of the shape of ``v``, from 0 to the size of ``a``.

    Raises:
      ValueError: ``a`` is not of rank 1, or ``side`` or ``method`` is none of these.

    >>> jnp.searchsorted(jnp.array([1, 3, 3, 8]), jnp.array([3, 9]))
    Array([1, 4], dtype=int32)
    >>> jnp.searchsorted(jnp.array([1, 3, 3, 8]), 3, side="right")
    Array(3, dtype=int32)
    """
    aval = argument_aval("searchsorted", a)
    argument_aval("searchsorted", v, 1)
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted got side {side!r}: it is 'left' or 'right'")
    if method not in ("scan", "scan_unrolled", "sort", "compare_all"):
        raise ValueError(f"searchsorted got method {method!r}")
    if aval.ndim != 1:
        raise ValueError(f"searchsorted needs a sorted array of rank 1, got shape {aval.shape}")
    if sorter is not None:
        if argument_aval("searchsorted", sorter, 3).shape != aval.shape:
            raise ShapeMismatchError(
                "searchsorted", [aval.shape, np.shape(sorter)], "sorter has a place for each of a"
            )
        a = take(a, sorter)
    if method == "compare_all":
        return _compared(a, v, side)
    return _searched(a, v, side, method == "scan_unrolled")


@fused(static=("side",), name="searchsorted")
def _compared(a: Any, v: Any, side: str) -> Any:
    """Count the elements that come before each value."""
    a, v = promote_dtypes("searchsorted", a, v)
    shape = (*np.shape(v), np.shape(a)[0])
    spread = broadcast_in_dim(v, shape, tuple(range(np.ndim(v))))
    before = _before(broadcast_to_shape(a, shape), spread, side == "right")
    return before.sum(-1, _place_dtype(shape[-1]))


def _place_dtype(size: int) -> Any:
    """Return the dtype of places in an array of some size: of 32 bits, where they suffice."""
    small = size <= np.iinfo(np.int32).max
    return np.dtype(np.int32) if small else dtypes.default_int_dtype()
