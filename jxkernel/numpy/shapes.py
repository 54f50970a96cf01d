"""Shape: functions that move elements about without computing with them.

All are linear.  Axes, shapes and counts are Python values; a traced one is told so.
"""

import itertools
from collections.abc import Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np

from jxkernel.core.trace import Tracer
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_shapes,
    broadcast_to_shape,
    cast,
    check_arguments,
    promote_dtypes,
)
from jxkernel.ops import shape as ops
from jxkernel.ops.broadcast import broadcast_in_dim
from jxkernel.ops.broadcast import transpose as permuted
from jxkernel.ops.joining import concatenate as joined
from jxkernel.ops.joining import stack as stacked
from jxkernel.ops.slicing import slice as sliced
from jxkernel.ops.structural import canonical_axes, canonical_axis, integers, listed
from jxkernel.runtime import ArrayImpl

__all__ = [
    "append",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "hsplit",
    "hstack",
    "matrix_transpose",
    "moveaxis",
    "ndim",
    "permute_dims",
    "ravel",
    "reshape",
    "resize",
    "rollaxis",
    "rot90",
    "shape",
    "size",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "tile",
    "transpose",
    "unstack",
    "vsplit",
    "vstack",
]


def shape(a: Any) -> tuple[int, ...]:
    """Return the sizes of the axes of an array, a number, or nested lists."""
    return np.shape(a)


def ndim(a: Any) -> int:
    """Return the number of axes of an array, a number, or nested lists."""
    return np.ndim(a)


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """Return the number of elements of an array, or the product of its sizes along axes."""
    sizes = np.shape(a)
    if axis is None:
        return prod(sizes)
    axes = canonical_axes("size", listed(axis), len(sizes))
    return prod(sizes[i] for i in axes)


# ---------------------------------------------------------------- reshaping


def _sizes(name: str, aval: Any, given: Any) -> tuple[int, ...]:
    """Return a shape with a size of -1 replaced by what makes the number of elements fit.

    Raises:
      TypeError: no size does.
    """
    sizes = (index(given),) if np.ndim(given) == 0 else tuple(map(index, given))
    unknown = [i for i, n in enumerate(sizes) if n == -1]
    if len(unknown) > 1 or any(n < -1 for n in sizes):
        raise ValueError(f"{name} got shape {sizes}: at most one size may be -1, none less")
    if unknown:
        rest = prod(n for n in sizes if n != -1)
        filled = aval.size // rest if rest else 0
        sizes = (*sizes[: unknown[0]], filled, *sizes[unknown[0] + 1 :])
    if prod(sizes) != aval.size:
        raise TypeError(
            f"{name} cannot give shape {tuple(map(index, np.atleast_1d(given)))} to an array of "
            f"shape {aval.shape} and {aval.size} elements"
        )
    return sizes


@fused(static=("sizes", "order"))
def _reshaped(a: Any, sizes: tuple[int, ...], order: str) -> Any:
    if order == "F":
        count = np.ndim(a)
        a = permuted(a, tuple(reversed(range(count))))
        a = ops.reshape(a, tuple(reversed(sizes)))
        return permuted(a, tuple(reversed(range(len(sizes)))))
    return ops.reshape(a, sizes)


def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    """Return the elements of an array in another shape.

    Args:
      a: an array or number.
      shape: an int or a sequence of ints with the same number of elements; one may be -1.
      order: ``"C"`` reads and writes the last axis fastest, ``"F"`` the first.
      copy: False is accepted only where nothing changes.

    Raises:
      TypeError: the number of elements differs.
      ValueError: several sizes are -1, or the order is unknown.
      NotImplementedError: the order is ``"A"``, which device arrays do not have.
    """
    if order not in ("C", "F"):
        if order == "A":
            raise NotImplementedError("reshape(order='A'): device arrays have no memory order")
        raise ValueError(f"reshape got order {order!r}: it is 'C' or 'F'")
    aval = argument_aval("reshape", a)
    return _reshaped(a, _sizes("reshape", aval, shape), order)


def ravel(a: Any, order: str = "C") -> Any:
    """Return the elements of an array along one axis; arguments are those of ``reshape``."""
    return reshape(a, -1 if np.size(a) else 0, "C" if order == "K" else order)


@fused(static=("axis",))
def _squeezed(a: Any, axis: tuple[int, ...]) -> Any:
    return ops.squeeze(a, axis)


def squeeze(a: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Return an array without axes of size 1.

    Args:
      a: an array or number.
      axis: the axes to drop; all of size 1 where not given.

    Raises:
      ValueError: an axis does not exist or is of another size.
    """
    aval = argument_aval("squeeze", a)
    if axis is None:
        axes = tuple(i for i, n in enumerate(aval.shape) if n == 1)
    else:
        axes = canonical_axes("squeeze", listed(axis), aval.ndim)
    return _squeezed(a, axes)


@fused(static=("axis",))
def _expanded(a: Any, axis: tuple[int, ...]) -> Any:
    return ops.expand_dims(a, axis)


def expand_dims(a: Any, axis: int | Sequence[int]) -> Any:
    """Return an array with axes of size 1 put in.

    Args:
      a: an array or number.
      axis: where they stand in the result.

    Raises:
      ValueError: a position does not exist or is given twice.
    """
    rank = argument_aval("expand_dims", a).ndim
    axes = listed(axis)
    return _expanded(a, canonical_axes("expand_dims", axes, rank + len(axes)))


@fused(static=("axes",))
def _transposed(a: Any, axes: tuple[int, ...]) -> Any:
    return permuted(a, axes)


def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """Return an array with its axes permuted.

    Args:
      a: an array or number.
      axes: for each axis of the result, the axis of ``a``; all reversed where not given.

    Raises:
      ValueError: ``axes`` is no permutation.
    """
    rank = argument_aval("transpose", a).ndim
    if axes is None:
        return _transposed(a, tuple(range(rank - 1, -1, -1)))
    order = canonical_axes("transpose", axes, rank)
    if len(order) != rank:
        raise ValueError(f"transpose got axes {tuple(axes)} for an array of rank {rank}")
    return _transposed(a, order)


permute_dims = transpose


def matrix_transpose(x: Any, /) -> Any:
    """Return an array with its last two axes exchanged.

    Raises:
      ValueError: the rank is below 2.
    """
    if argument_aval("matrix_transpose", x).ndim < 2:
        raise ValueError(f"matrix_transpose needs rank 2 or more, got shape {np.shape(x)}")
    return swapaxes(x, -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Return an array with two axes exchanged."""
    rank = argument_aval("swapaxes", a).ndim
    first, second = (canonical_axis("swapaxes", axis, rank) for axis in (axis1, axis2))
    order = list(range(rank))
    order[first], order[second] = order[second], order[first]
    return _transposed(a, tuple(order))


def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """Return an array with axes moved to other places; the others keep their order.

    Raises:
      ValueError: the numbers of sources and destinations differ, or an axis does not exist.
    """
    rank = argument_aval("moveaxis", a).ndim
    sources = canonical_axes("moveaxis", listed(source), rank)
    destinations = canonical_axes("moveaxis", listed(destination), rank)
    if len(sources) != len(destinations):
        raise ValueError(f"moveaxis got {len(sources)} sources for {len(destinations)} places")
    order = [axis for axis in range(rank) if axis not in sources]
    for place, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(place, axis)
    return _transposed(a, tuple(order))


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Return an array with one axis moved before another.

    Args:
      a: an array.
      axis: the axis to move.
      start: the axis it shall stand before; the rank, for the end.
    """
    rank = argument_aval("rollaxis", a).ndim
    source = canonical_axis("rollaxis", axis, rank)
    place = canonical_axis("rollaxis", start, rank + 1)
    return moveaxis(a, source, place - (place > source))


@fused(static=("axes",))
def _flipped(m: Any, axes: tuple[int, ...]) -> Any:
    return ops.rev(m, axes)


def flip(m: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Return an array with the elements along axes (all, where not given) reversed."""
    rank = argument_aval("flip", m).ndim
    axes = range(rank) if axis is None else listed(axis)
    return _flipped(m, canonical_axes("flip", axes, rank))


def flipud(m: Any) -> Any:
    """Return an array reversed along axis 0."""
    return flip(m, 0)


def fliplr(m: Any) -> Any:
    """Return an array reversed along axis 1."""
    return flip(m, 1)


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """Return an array turned by 90 degrees in a plane.

    Args:
      m: an array of rank 2 or more.
      k: how many times.
      axes: the plane; turned from the first toward the second.

    Raises:
      ValueError: the axes are the same or do not exist.
    """
    first, second = canonical_axes("rot90", axes, argument_aval("rot90", m).ndim)
    turns = k % 4
    if turns == 0:
        return _transposed(m, tuple(range(np.ndim(m))))
    if turns == 2:
        return flip(m, (first, second))
    if turns == 1:
        return flip(swapaxes(m, first, second), first)
    return swapaxes(flip(m, first), first, second)


# ---------------------------------------------------------------- broadcasting


@fused(static=("sizes",))
def _broadcast(a: Any, sizes: tuple[int, ...]) -> Any:
    return broadcast_to_shape(a, sizes)


def broadcast_to(array: Any, shape: Any) -> Any:
    """Return an array repeated to a shape, axes matched from the last.

    Raises:
      ValueError: its shape does not broadcast to that one.
    """
    argument_aval("broadcast_to", array)
    sizes = integers(listed(shape))
    return _broadcast(array, sizes)


def broadcast_arrays(*args: Any) -> list[Any]:
    """Return the arrays repeated to the shape they broadcast to.

    Raises:
      ValueError: their shapes do not broadcast.
    """
    check_arguments("broadcast_arrays", *args)
    joint = broadcast_shapes(*map(np.shape, args))
    return [_broadcast(arg, joint) for arg in args]


# ---------------------------------------------------------------- joining


def _listed(name: str, arrays: Any) -> list[Any]:
    """Return a sequence of arrays, or the parts of an array along axis 0, as a list."""
    if isinstance(arrays, (ArrayImpl, Tracer, np.ndarray)):
        if not arrays.shape:
            raise ValueError(f"{name} needs several arrays, got one of rank 0")
        return [arrays[i] for i in range(arrays.shape[0])]
    parts = list(arrays)
    if not parts:
        raise ValueError(f"{name} needs at least one array")
    return parts


@fused(static=("axis", "dtype"))
def _concatenated(arrays: Sequence[Any], axis: int, dtype: Any) -> Any:
    parts = promote_dtypes("concatenate", *arrays)
    rank = np.ndim(parts[0])
    if not rank:
        raise ValueError("concatenate needs arrays of rank 1 or more: stack joins scalars")
    whole = joined(parts, canonical_axis("concatenate", axis, rank))
    return whole if dtype is None else cast(whole, dtype)


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """Join arrays along an axis they have.

    Args:
      arrays: arrays whose shapes agree but for that axis.
      axis: the axis; None joins them flattened.
      dtype: the result's dtype; that of promotion where not given.

    Raises:
      TypeError: one is no array.
      ValueError: there is none, or ranks or sizes differ.
    """
    parts = _listed("concatenate", arrays)
    check_arguments("concatenate", *parts)
    if axis is None:
        return concatenate([ravel(part) for part in parts], 0, dtype)
    return _concatenated(parts, axis, dtype)


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Any:
    """Join arrays along an axis: ``concatenate`` under the array API standard's name."""
    return concatenate(arrays, axis)


@fused(static=("axis", "dtype"))
def _stacked(arrays: Sequence[Any], axis: int, dtype: Any) -> Any:
    parts = promote_dtypes("stack", *arrays)
    whole = stacked(parts, canonical_axis("stack", axis, np.ndim(parts[0]) + 1))
    return whole if dtype is None else cast(whole, dtype)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """Join arrays of one shape along a new axis.

    Args:
      arrays: the arrays.
      axis: where the new axis stands in the result.
      out: must be None.
      dtype: the result's dtype; that of promotion where not given.

    Raises:
      TypeError: one is no array.
      ValueError: there is none, or shapes differ.
    """
    if out is not None:
        raise NotImplementedError("stack(out=...): arrays cannot be written to; use the result")
    parts = _listed("stack", arrays)
    check_arguments("stack", *parts)
    shapes = [np.shape(part) for part in parts]
    if len(set(shapes)) > 1:
        raise ValueError(f"stack needs arrays of one shape, got {', '.join(map(str, shapes))}")
    return _stacked(parts, axis, dtype)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Return the parts of an array along an axis, which they no longer have.

    Raises:
      ValueError: the rank is 0, or the axis does not exist.
    """
    moved = moveaxis(x, axis, 0)
    return tuple([moved[i] for i in range(moved.shape[0])])


def vstack(tup: Any, dtype: Any = None) -> Any:
    """Join arrays along axis 0, those of rank 1 as rows."""
    return concatenate(_at_least(tup, "vstack", atleast_2d), 0, dtype)


def hstack(tup: Any, dtype: Any = None) -> Any:
    """Join arrays along axis 1, or 0 if they are of rank 1."""
    parts = _at_least(tup, "hstack", atleast_1d)
    return concatenate(parts, 0 if np.ndim(parts[0]) == 1 else 1, dtype)


def dstack(tup: Any, dtype: Any = None) -> Any:
    """Join arrays along axis 2, those of lower rank made rank 3."""
    return concatenate(_at_least(tup, "dstack", atleast_3d), 2, dtype)


def column_stack(tup: Any) -> Any:
    """Join arrays along axis 1, those of rank 1 as columns."""
    parts = _listed("column_stack", tup)
    check_arguments("column_stack", *parts)
    return concatenate([reshape(p, (-1, 1)) if np.ndim(p) < 2 else p for p in parts], 1)


def _at_least(arrays: Any, name: str, convert: Any) -> list[Any]:
    parts = _listed(name, arrays)
    check_arguments(name, *parts)
    return [convert(part) for part in parts]


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Return two arrays joined along an axis, or flattened where none is given."""
    return concatenate([arr, values], axis)


def block(arrays: Any) -> Any:
    """Return the array assembled from nested lists of blocks.

    The innermost lists are joined along the last axis, the next ones along the axis before.
    """
    depth = _depth(arrays)
    return _assembled(arrays, depth, max(depth, _greatest_rank(arrays)))


def _depth(arrays: Any) -> int:
    return 1 + max(map(_depth, arrays), default=0) if isinstance(arrays, list) else 0


def _greatest_rank(arrays: Any) -> int:
    if isinstance(arrays, list):
        return max(map(_greatest_rank, arrays))
    return argument_aval("block", arrays).ndim


def _assembled(arrays: Any, depth: int, rank: int) -> Any:
    if not isinstance(arrays, list):
        missing = rank - np.ndim(arrays)
        return reshape(arrays, (1,) * missing + np.shape(arrays))
    if not arrays:
        raise ValueError("block got an empty list")
    return concatenate([_assembled(part, depth - 1, rank) for part in arrays], -depth)


def _each(name: str, arrays: tuple[Any, ...], convert: Any) -> Any:
    check_arguments(name, *arrays)
    results = [convert(array) for array in arrays]
    return results[0] if len(results) == 1 else results


def atleast_1d(*arys: Any) -> Any:
    """Return each array (one alone, or a list), scalars as arrays of rank 1."""
    return _each("atleast_1d", arys, lambda a: reshape(a, np.shape(a) if np.ndim(a) else (1,)))


def atleast_2d(*arys: Any) -> Any:
    """Return each array (one alone, or a list) with axes put in front up to rank 2."""
    return _each("atleast_2d", arys, lambda a: reshape(a, (1,) * (2 - np.ndim(a)) + np.shape(a)))


def atleast_3d(*arys: Any) -> Any:
    """Return each array (one alone, or a list) made rank 3; rank 2 gets its axis at the end."""

    def convert(a: Any) -> Any:
        own = np.shape(a)
        if len(own) == 0:
            return reshape(a, (1, 1, 1))
        if len(own) == 1:
            return reshape(a, (1, *own, 1))
        return reshape(a, (*own, 1) if len(own) == 2 else own)

    return _each("atleast_3d", arys, convert)


# ---------------------------------------------------------------- splitting


@fused(static=("bounds", "axis"))
def _parts(ary: Any, bounds: tuple[tuple[int, int], ...], axis: int) -> list[Any]:
    sizes = np.shape(ary)
    parts: list[Any] = []
    for start, stop in bounds:
        starts, stops = [0] * len(sizes), list(sizes)
        starts[axis], stops[axis] = start, stop
        parts.append(sliced(ary, starts, stops))
    return parts


def _split(name: str, ary: Any, sections: Any, axis: int, *, exact: bool) -> list[Any]:
    aval = argument_aval(name, ary)
    axis = canonical_axis(name, axis, aval.ndim)
    length = aval.shape[axis]
    if np.ndim(sections) == 0:
        count = index(sections)
        if count <= 0:
            raise ValueError(f"{name} needs at least one part, got {count}")
        if exact and length % count:
            raise ValueError(
                f"{name} cannot divide an axis of size {length} into {count} equal parts"
            )
        small, larger = divmod(length, count)
        edges = [0]
        for part in range(count):
            edges.append(edges[-1] + small + (part < larger))
        bounds = tuple(itertools.pairwise(edges))
    else:
        cuts = [0, *(index(i) for i in sections), length]
        clipped = [min(max(cut + length if cut < 0 else cut, 0), length) for cut in cuts]
        bounds = tuple((a, max(a, b)) for a, b in itertools.pairwise(clipped))
    return _parts(ary, bounds, axis)


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Return the parts of an array along an axis.

    Args:
      ary: the array.
      indices_or_sections: the number of equal parts, or the positions to cut at.
      axis: the axis.

    Raises:
      ValueError: the axis does not divide into equal parts.
    """
    return _split("split", ary, indices_or_sections, axis, exact=True)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Return the parts of an array along an axis; the first ones are larger if it must be."""
    return _split("array_split", ary, indices_or_sections, axis, exact=False)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Return the parts of an array along axis 0; see ``split``."""
    return _split("vsplit", ary, indices_or_sections, 0, exact=True)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Return the parts of an array along axis 1, or 0 for rank 1; see ``split``."""
    return _split("hsplit", ary, indices_or_sections, min(1, np.ndim(ary) - 1), exact=True)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Return the parts of an array along axis 2; see ``split``."""
    return _split("dsplit", ary, indices_or_sections, 2, exact=True)


# ---------------------------------------------------------------- repeating and rolling


@fused(static=("reps",))
def _tiled(a: Any, reps: tuple[int, ...]) -> Any:
    sizes = np.shape(a)
    rank = max(len(sizes), len(reps))
    sizes = (1,) * (rank - len(sizes)) + sizes
    reps = (1,) * (rank - len(reps)) + reps
    alternating = tuple(n for pair in zip(reps, sizes, strict=True) for n in pair)
    spread = broadcast_in_dim(ops.reshape(a, sizes), alternating, tuple(range(1, 2 * rank, 2)))
    return ops.reshape(spread, tuple(n * r for n, r in zip(sizes, reps, strict=True)))


def tile(A: Any, reps: int | Sequence[int]) -> Any:
    """Return an array laid out several times along each axis.

    Args:
      A: an array or number.
      reps: how often along each axis, matched from the last.

    Raises:
      ValueError: a count is negative.
    """
    argument_aval("tile", A)
    counts = tuple(map(index, listed(reps)))
    if any(count < 0 for count in counts):
        raise ValueError(f"tile got counts {counts}: they are not negative")
    return _tiled(A, counts)


@fused(static=("count", "axis"))
def _repeated_equally(a: Any, count: int, axis: int) -> Any:
    sizes = np.shape(a)
    spread = (*sizes[: axis + 1], count, *sizes[axis + 1 :])
    kept = tuple(i for i in range(len(spread)) if i != axis + 1)
    result = (*sizes[:axis], sizes[axis] * count, *sizes[axis + 1 :])
    return ops.reshape(broadcast_in_dim(a, spread, kept), result)


def resize(a: Any, new_shape: Any) -> Any:
    """Return the elements of an array in a shape of any size, repeated from the start as needed."""
    sizes = (index(new_shape),) if np.ndim(new_shape) == 0 else tuple(map(index, new_shape))
    if any(n < 0 for n in sizes):
        raise ValueError(f"resize got shape {sizes}: sizes are not negative")
    flat = ravel(a)
    wanted, given = prod(sizes), flat.size
    if not given and wanted:
        raise ValueError("resize cannot repeat an array without elements")
    repeats = -(-wanted // given) if given else 0
    return reshape(tile(flat, repeats)[:wanted], sizes)
