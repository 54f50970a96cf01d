"""Parts of an array taken out, and parts put in, at positions along an axis."""

from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.trace import is_unknown
from jxkernel.errors import ShapeMismatchError
from jxkernel.numpy.arithmetic import clip
from jxkernel.numpy.creation import asarray, ones_like
from jxkernel.numpy.cumulative import cumsum
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_to_shape,
    cast,
    check_arguments,
    dtype_of,
)
from jxkernel.numpy.ranges import arange
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import moveaxis, ravel, reshape
from jxkernel.numpy.sorting import argsort
from jxkernel.numpy.taking import known_now, positions_of, take
from jxkernel.numpy.updating import IndexUpdater
from jxkernel.primitives.arguments import canonical_axis
from jxkernel.primitives.indexing.concatenate import concatenate as joined

__all__ = ["delete", "insert"]


def delete(
    arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Any:
    """Return an array without the parts at positions along an axis.

    Args:
      arr: an array.
      obj: an integer, a slice, an array of integers, or a mask; known now, but for a
        single integer, or several that are promised to be unique.
      axis: the axis; None for the flattened array.
      assume_unique_indices: the caller's promise, which lets traced positions be used.

    Raises:
      ConcretizationTypeError: several positions are traced without the promise.
      IndexError: a position is out of bounds.

    >>> jnp.delete(jnp.array([5, 6, 7, 8]), jnp.array([0, 2]))
    Array([6, 8], dtype=int32)
    """
    argument_aval("delete", arr)
    arr, axis = (ravel(arr), 0) if axis is None else (asarray(arr), axis)
    axis = canonical_axis("delete", axis, arr.ndim)
    size = arr.shape[axis]
    if is_unknown(obj) and (obj.ndim == 0 or assume_unique_indices):
        return _deleted(arr, ravel(obj), axis)
    keep = np.ones(size, bool)
    keep[_places("delete", obj, size)] = False
    return take(arr, np.nonzero(keep)[0], axis, mode="promise_in_bounds")


def _places(name: str, obj: Any, size: int) -> Any:
    """Return positions along an axis that are known now: a slice or integers, those of a mask too.

    Raises:
      IndexError: a position is out of bounds, or a mask does not fit.
      TypeError: a bound of a slice is no whole number.
      ValueError: they are neither.
    """
    if isinstance(obj, slice):
        try:
            range(size)[obj]
        except TypeError:
            raise TypeError(
                f"{name} got obj={obj!r:.100}: the bounds of a slice are whole numbers"
            ) from None
        return obj
    places = np.asarray(known_now(name, obj, None))
    if not places.size:
        return places.astype(np.int64)
    if places.dtype.kind not in "iub":
        raise ValueError(
            f"{name} got obj={obj!r:.100} of dtype {places.dtype.name}: it takes positions or a "
            "mask"
        )
    if places.dtype.kind == "b":
        if places.shape != (size,):
            raise IndexError(
                f"{name} got a mask of shape {places.shape} as obj for an axis of size {size}: "
                "their sizes must be equal"
            )
        return np.flatnonzero(places)
    if places.min() < -size or places.max() > size - (name == "delete"):
        raise IndexError(
            f"{name} got obj={obj!r:.100}, out of bounds for an axis of size {size}: positions are "
            f"from {-size} to {size - (name == 'delete')}"
        )
    return places.astype(np.int64)


@fused(static=("axis",), name="delete")
def _deleted(arr: Any, places: Any, axis: int) -> Any:
    """Read past each deleted position: as many as lie at or before it, counted as read."""
    size = arr.shape[axis]
    hits = ones_like(arange(size), dtype=bool)
    hits = IndexUpdater(hits)[places].set(False)
    (kept,) = positions_of("delete", hits, size - places.size, None)
    return take(arr, kept, axis, mode="promise_in_bounds")


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """Return an array with values put before positions along an axis.

    Args:
      arr: an array.
      obj: an integer, a slice, an array of integers, or a mask; integers may be traced, and then
        those out of bounds count as the nearest bound.
      values: what to put in; it broadcasts.
      axis: the axis; None for the flattened array.

    Raises:
      ConcretizationTypeError: a mask is traced.
      IndexError: a position is out of bounds, or a mask does not fit.
      ShapeMismatchError: the values do not broadcast to the parts put in.

    >>> jnp.insert(jnp.array([5, 6]), 1, jnp.array([8, 9]))
    Array([5, 8, 9, 6], dtype=int32)
    """
    check_arguments("insert", arr, 0 if isinstance(obj, slice) else obj, values)
    arr, axis = (ravel(arr), 0) if axis is None else (asarray(arr), axis)
    axis = canonical_axis("insert", axis, arr.ndim)
    size = arr.shape[axis]
    traced = is_unknown(obj) and dtype_of(obj) in dtypes.INTEGRAL
    place = obj if traced else _places("insert", obj, size)
    values = cast(asarray(values, arr.dtype), arr.dtype, arr.aval.weak_type)
    given = values.shape
    wanted = len(range(size)[place]) if isinstance(place, slice) else place.size
    if wanted == 1 and values.ndim:  # at one place there may go several parts
        values = reshape(values, (1,) * (arr.ndim - values.ndim) + given)
        if not isinstance(place, slice) and not place.ndim:
            values = moveaxis(values, 0, axis)  # as NumPy reads values for an integer
        wanted = values.shape[axis]
    lead = _fitted(values, given, arr.shape, axis, wanted)
    if traced:
        source = _sources(place, size, wanted)
    else:  # NumPy itself says where each old and new part goes
        source = np.insert(np.arange(size), place, np.arange(size, size + wanted))
    both = joined([arr, lead], axis)
    return take(both, source, axis, mode="promise_in_bounds")


@fused(static=("size", "count"), name="insert")
def _sources(places: Any, size: int, count: int) -> Any:
    """Return for each part of the result its place among the old parts and, after them, the new.

    Of new parts at one place the earlier comes first, and each moves the later ones on by one.
    """
    # In a dtype that holds every position of the result.
    places = cast(broadcast_to_shape(ravel(places), (count,)), dtypes.default_int_dtype())
    places = clip(where(places < 0, places + size, places), 0, size)
    order = argsort(places)
    goals = places[order] + arange(count)
    old = IndexUpdater(ones_like(arange(size + count), dtype=bool))[goals].set(False)
    source = cumsum(old) - 1
    return IndexUpdater(source)[goals].set(size + order)


def _fitted(
    values: Any, given: tuple[int, ...], shape: tuple[int, ...], axis: int, count: int
) -> Any:
    """Return values, of the shape ``given``, as ``count`` parts of an array of another shape."""
    wanted = (*shape[:axis], count, *shape[axis + 1 :])
    try:
        return broadcast_to_shape(values, wanted)
    except ValueError:
        raise ShapeMismatchError(
            "insert", [shape, given], f"values broadcast to shape {wanted}"
        ) from None
