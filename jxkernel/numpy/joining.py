"""Joining, splitting and repeating whole arrays.  All are linear."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from jxkernel._lazy import late_function
from jxkernel._reprs import with_type
from jxkernel.core.trace import Tracer
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.creation import user_dtype, zeros
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import argument_aval, cast, check_arguments, promote_dtypes
from jxkernel.numpy.shapes import atleast_1d, atleast_2d, atleast_3d, ravel, reshape
from jxkernel.primitives.arguments import canonical_axis, whole_number, whole_numbers
from jxkernel.primitives.indexing.concatenate import concatenate as joined
from jxkernel.primitives.indexing.concatenate import split as cut
from jxkernel.primitives.indexing.concatenate import stack as stacked
from jxkernel.primitives.indexing.slicing import slice as sliced
from jxkernel.primitives.shape import reshape as ops
from jxkernel.runtime import ArrayImpl, ArrayLike

__all__ = [
    "append",
    "array_split",
    "block",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "resize",
    "split",
    "stack",
    "tile",
    "unstack",
    "vsplit",
    "vstack",
]

lax_tile = late_function("jxkernel.higher_order.tiling", "tile")
lax_unstack = late_function("jxkernel.higher_order.tiling", "unstack")

# ---------------------------------------------------------------- joining


def _listed(name: str, arrays: Any) -> list[Any]:
    """Return a sequence of arrays, or the parts of an array along axis 0, as a list."""
    if isinstance(arrays, (ArrayImpl, Tracer, np.ndarray)):
        if not arrays.shape:
            raise ValueError(f"{name} needs several arrays, got one of rank 0")
        return [arrays[i] for i in range(arrays.shape[0])]
    if not isinstance(arrays, Iterable) or isinstance(arrays, str):
        raise TypeError(f"{name} takes a sequence of arrays, got {with_type(arrays)}")
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


def concatenate(arrays: Any, axis: int | None = 0, dtype: DTypeLike = None) -> Any:
    """Join arrays along an axis they have.

    Args:
      arrays: arrays whose shapes agree but for that axis.
      axis: the axis; None joins them flattened.
      dtype: the result's dtype; that of promotion where not given.

    Raises:
      TypeError: one is no array.
      ValueError: there is none, or ranks or sizes differ.

    >>> jnp.concatenate([jnp.array([[1, 2]]), jnp.array([[3, 4]])], axis=1)
    Array([[1, 2, 3, 4]], dtype=int32)
    """
    parts = _listed("concatenate", arrays)
    check_arguments("concatenate", *parts)
    if axis is None:
        return concatenate([ravel(part) for part in parts], 0, dtype)
    dtype = user_dtype(dtype, "concatenate", *parts)
    return _concatenated(parts, whole_number("concatenate", "axis", axis), dtype)


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Any:
    """Join arrays along an axis: ``concatenate`` under the array API standard's name.

    Arguments and errors are those of ``concatenate``.

    >>> jnp.concat([jnp.array([1, 2]), jnp.array([3])])
    Array([1, 2, 3], dtype=int32)
    """
    return concatenate(arrays, axis)


@fused(static=("axis", "dtype"))
def _stacked(arrays: Sequence[Any], axis: int, dtype: Any) -> Any:
    parts = promote_dtypes("stack", *arrays)
    whole = stacked(parts, canonical_axis("stack", axis, np.ndim(parts[0]) + 1))
    return whole if dtype is None else cast(whole, dtype)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: DTypeLike = None) -> Any:
    """Join arrays of one shape along a new axis.

    Args:
      arrays: the arrays.
      axis: where the new axis stands in the result.
      out: must be None.
      dtype: the result's dtype; that of promotion where not given.

    Raises:
      TypeError: one is no array.
      ValueError: there is none, or shapes differ.

    >>> jnp.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    if out is not None:
        raise NotImplementedError("stack(out=...): arrays cannot be written to; use the result")
    parts = _listed("stack", arrays)
    check_arguments("stack", *parts)
    shapes = [np.shape(part) for part in parts]
    if len(set(shapes)) > 1:
        raise ValueError(f"stack needs arrays of one shape, got {', '.join(map(str, shapes))}")
    return _stacked(parts, whole_number("stack", "axis", axis), user_dtype(dtype, "stack", *parts))


@fused(static=("axis",))
def _unstacked(x: Any, axis: int) -> tuple[Any, ...]:
    return lax_unstack(x, axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Return the parts of an array along an axis, which they no longer have.

    Raises:
      ValueError: the rank is 0, or the axis does not exist.

    >>> [part.tolist() for part in jnp.unstack(jnp.array([[1, 2], [3, 4]]), axis=1)]
    [[1, 3], [2, 4]]
    """
    axis = canonical_axis("unstack", axis, argument_aval("unstack", x).ndim)
    return _unstacked(x, axis)


def vstack(tup: Any, dtype: DTypeLike = None) -> Any:
    """Join arrays along axis 0, those of rank 1 as rows.

    >>> jnp.vstack([jnp.array([1, 2]), jnp.array([[3, 4]])])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    return concatenate(_at_least(tup, "vstack", atleast_2d), 0, dtype)


def hstack(tup: Any, dtype: DTypeLike = None) -> Any:
    """Join arrays along axis 1, or 0 if they are of rank 1.

    Args:
      tup: the arrays; numbers are taken as vectors of one element.
      dtype: the result's; the common one where not given.

    Raises:
      ValueError: there is no array.
      ShapeMismatchError: sizes of another axis differ.

    >>> jnp.hstack([jnp.array([1, 2]), jnp.array([3])])
    Array([1, 2, 3], dtype=int32)
    """
    parts = _at_least(tup, "hstack", atleast_1d)
    return concatenate(parts, 0 if np.ndim(parts[0]) == 1 else 1, dtype)


def dstack(tup: Any, dtype: DTypeLike = None) -> Any:
    """Join arrays along axis 2, those of lower rank made rank 3.

    >>> jnp.dstack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[[1, 3],
            [2, 4]]], dtype=int32)
    """
    return concatenate(_at_least(tup, "dstack", atleast_3d), 2, dtype)


def column_stack(tup: Any) -> Any:
    """Join arrays along axis 1, those of rank 1 as columns.

    >>> jnp.column_stack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    parts = _listed("column_stack", tup)
    check_arguments("column_stack", *parts)
    return concatenate([reshape(p, (-1, 1)) if np.ndim(p) < 2 else p for p in parts], 1)


def _at_least(arrays: Any, name: str, convert: Any) -> list[Any]:
    parts = _listed(name, arrays)
    check_arguments(name, *parts)
    return [convert(part) for part in parts]


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Any:
    """Return two arrays joined along an axis, or flattened where none is given.

    Args:
      arr: an array.
      values: an array; along other axes than ``axis`` of the same sizes.
      axis: the axis.

    >>> jnp.append(jnp.array([1, 2]), jnp.array([[3], [4]]))
    Array([1, 2, 3, 4], dtype=int32)
    """
    rank = argument_aval("append", arr).ndim
    argument_aval("append", values, 1)
    return concatenate(
        [arr, values], axis if axis is None else canonical_axis("append", axis, rank)
    )


def block(arrays: Any) -> Any:
    """Return the array assembled from nested lists of blocks.

    The innermost lists are joined along the last axis, the next ones along the axis before.

    >>> jnp.block([[jnp.ones((1, 1)), jnp.zeros((1, 2))], [jnp.full((1, 3), 5.0)]])
    Array([[1., 0., 0.],
           [5., 5., 5.]], dtype=float32)
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


# ---------------------------------------------------------------- splitting


@fused(static=("bounds", "axis"))
def _parts(ary: Any, bounds: tuple[tuple[int, int], ...], axis: int) -> list[Any]:
    sizes = np.shape(ary)
    if all(before[1] == after[0] for before, after in pairwise(bounds)):
        # One equation, whose gradient joins the cotangents; slices would each be padded and added.
        return cut(ary, [stop - start for start, stop in bounds], axis)
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
        count = whole_number(name, "indices_or_sections", sections)
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
        bounds = tuple(pairwise(edges))
    else:
        cuts = [0, *whole_numbers(name, "indices_or_sections", sections), length]
        clipped = [min(max(cut + length if cut < 0 else cut, 0), length) for cut in cuts]
        bounds = tuple((a, max(a, b)) for a, b in pairwise(clipped))
    return _parts(ary, bounds, axis)


def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Return the parts of an array along an axis.

    Args:
      ary: the array.
      indices_or_sections: the number of equal parts, or the positions to cut at.
      axis: the axis.

    Raises:
      ValueError: the axis does not divide into equal parts.

    >>> [part.tolist() for part in jnp.split(jnp.arange(6), [1, 4])]
    [[0], [1, 2, 3], [4, 5]]
    """
    return _split("split", ary, indices_or_sections, axis, exact=True)


def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Return the parts of an array along an axis; the first ones are larger if it must be.

    Args:
      ary: the array.
      indices_or_sections: the number of parts, or the positions to cut at.
      axis: the axis.

    >>> [part.tolist() for part in jnp.array_split(jnp.arange(5), 3)]
    [[0, 1], [2, 3], [4]]
    """
    return _split("array_split", ary, indices_or_sections, axis, exact=False)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Return the parts of an array along axis 0; see ``split``.

    >>> [part.tolist() for part in jnp.vsplit(jnp.array([[1, 2], [3, 4]]), 2)]
    [[[1, 2]], [[3, 4]]]
    """
    return _split("vsplit", ary, indices_or_sections, 0, exact=True)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Return the parts of an array along axis 1, or 0 for rank 1; see ``split``.

    >>> [part.tolist() for part in jnp.hsplit(jnp.array([[1, 2], [3, 4]]), 2)]
    [[[1], [3]], [[2], [4]]]
    """
    return _split("hsplit", ary, indices_or_sections, min(1, np.ndim(ary) - 1), exact=True)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Return the parts of an array along axis 2; see ``split``.

    >>> [part.shape for part in jnp.dsplit(jnp.ones((1, 2, 6)), [2, 3])]
    [(1, 2, 2), (1, 2, 1), (1, 2, 3)]
    """
    return _split("dsplit", ary, indices_or_sections, 2, exact=True)


# ---------------------------------------------------------------- repeating and rolling


@fused(static=("reps",))
def _tiled(a: Any, reps: tuple[int, ...]) -> Any:
    sizes = np.shape(a)
    rank = max(len(sizes), len(reps))
    sizes = (1,) * (rank - len(sizes)) + sizes
    reps = (1,) * (rank - len(reps)) + reps
    return lax_tile(ops.reshape(a, sizes), reps)


def tile(A: ArrayLike, reps: int | Sequence[int]) -> Any:
    """Return an array laid out several times along each axis.

    Args:
      A: an array or number.
      reps: how often along each axis, matched from the last.

    Raises:
      ValueError: a count is negative.

    >>> jnp.tile(jnp.array([1, 2]), (2, 2))
    Array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int32)
    """
    argument_aval("tile", A)
    counts = whole_numbers("tile", "reps", reps)
    if any(count < 0 for count in counts):
        raise ValueError(f"tile got counts {counts}: they are not negative")
    return _tiled(A, counts)


def resize(a: ArrayLike, new_shape: Any) -> Any:
    """Return the elements of an array in a shape of any size, repeated from the start as needed.

    Args:
      a: an array.
      new_shape: an int or a sequence of ints.

    Raises:
      ValueError: a size is negative.

    An array without elements gives zeros.

    >>> jnp.resize(jnp.array([1, 2, 3]), (2, 4))
    Array([[1, 2, 3, 1],
           [2, 3, 1, 2]], dtype=int32)
    """
    sizes = whole_numbers("resize", "new_shape", new_shape)
    if any(n < 0 for n in sizes):
        raise ValueError(f"resize got shape {sizes}: sizes are not negative")
    argument_aval("resize", a)
    flat = ravel(a)
    wanted, given = prod(sizes), flat.size
    if not given:
        return cast(zeros(sizes, flat.dtype), flat.dtype, flat.weak_type)
    return reshape(tile(flat, -(-wanted // given))[:wanted], sizes)
