"""Sets: distinct elements, and what arrays as sets have in common.

The size of a result depends on values, so it is computed at once, unless ``size=`` gives it: then
the result is cut off or filled to that size, and the function may be traced.
"""

from operator import index
from typing import Any, NamedTuple

import numpy as np

from jxkernel import dtypes
from jxkernel.core.trace import is_unknown
from jxkernel.numpy.creation import asarray, full, zeros
from jxkernel.numpy.cumulative import cumsum
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.joining import append, concatenate
from jxkernel.numpy.logic import isnan
from jxkernel.numpy.promotion import (
    argument_aval,
    cast,
    check_arguments,
    check_known,
    promote_dtypes,
)
from jxkernel.numpy.ranges import arange
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import moveaxis, ravel, reshape
from jxkernel.numpy.sorting import argsort, lexsort, searchsorted, sort
from jxkernel.numpy.taking import nonzero, take
from jxkernel.numpy.updating import IndexUpdater
from jxkernel.primitives.arguments import canonical_axis, whole_number
from jxkernel.runtime import ArrayLike

__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


def _check_known(name: str, size: int | None, *arrays: Any) -> None:
    """Raise unless the values are known now, or the result's size is given."""
    for x in arrays:
        if size is None and is_unknown(x):
            instead = f"give the result's size: jnp.{name}(..., size=n, fill_value=...)"
            check_known(f"{name} without size=", x, instead)


# ---------------------------------------------------------------- unique


def _with_one_nan(x: Any) -> Any:
    """Return complex numbers with all that are NaN alike, so that sorted they are neighbours."""
    return where(isnan(x), np.nan, x) if x.dtype in dtypes.COMPLEX else x


@fused(static=("equal_nan",), name="unique")
def _grouped(rows: Any, equal_nan: bool) -> tuple[Any, Any, Any]:
    """Return the order that sorts rows, where a new one begins, and each row's group."""
    length, width = rows.shape
    if not width:
        order = arange(length)
    elif width == 1:
        order = argsort(rows[:, 0])
    else:
        order = lexsort(rows.T[::-1])
    ordered = rows[order]
    differs = ordered[1:] != ordered[:-1]
    if equal_nan:
        differs = differs & ~(isnan(ordered[1:]) & isnan(ordered[:-1]))
    begins = concatenate([full(min(1, length), True), differs.any(1)])
    groups = cumsum(begins) - 1
    inverse = IndexUpdater(zeros(length, groups.dtype))[order].set(groups)
    return order, begins, inverse


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,
) -> Any:
    """Return the distinct elements of an array, sorted.

    Args:
      ar: an array.
      return_index: whether to return the first position of each as well.
      return_inverse: whether to return, for each element, the number of its equal.
      return_counts: whether to return how often each occurs.
      axis: the axis along which parts are compared; None compares single elements.
      equal_nan: whether all NaN count as one.
      size: how many to return, needed while traced.
      fill_value: what follows the last one; the least where not given.  First positions are
        followed by that of the least, counts by 0.
      sorted: accepted; the result is always sorted.

    Returns:
      an array, or a tuple of it and what else was asked for.

    Raises:
      ConcretizationTypeError: ``ar`` is traced and ``size`` not given.

    >>> values, counts = jnp.unique(jnp.array([3, 1, 3]), return_counts=True)
    >>> values.tolist(), counts.tolist()
    ([1, 3], [1, 2])
    >>> jx.jit(lambda x: jnp.unique(x, size=3, fill_value=0))(jnp.array([3, 1, 3]))
    Array([1, 3, 0], dtype=int32)
    """
    argument_aval("unique", ar)
    _check_known("unique", size, ar)
    ar = _with_one_nan(asarray(ar))
    shape = ar.shape
    if axis is None:
        parts = reshape(ar, (ar.size, 1))
        axis_shape: tuple[int, ...] = ()
    else:
        axis = canonical_axis("unique", axis, ar.ndim)
        moved = moveaxis(ar, axis, 0)
        axis_shape = moved.shape[1:]
        parts = reshape(moved, (moved.shape[0], int(np.prod(axis_shape))))
    if size is not None:
        size = whole_number("unique", "size", size)
        if size < 0:
            raise ValueError(f"unique got size={size}: it is 0 or more")
        if size and not parts.shape[0] and fill_value is None:
            raise ValueError("unique of no elements has no least one to fill with: fill_value=...")
    order, begins, inverse = _grouped(parts, equal_nan)
    # One more than is wanted, so that the last of a known size has an end as well.
    bounds = _bounds(begins, None if size is None else size + 1)
    starts = bounds[:-1]
    count = begins.sum()
    if parts.shape[0]:
        first = take(order, starts, 0, mode="fill", fill_value=0)
        values = take(parts, first, 0, mode="clip")
    else:
        first = zeros(starts.shape, order.dtype)
        values = zeros((first.size, *parts.shape[1:]), parts.dtype)
    values = cast(values, ar.dtype, ar.aval.weak_type and ar.dtype not in dtypes.COMPLEX)
    if size is not None:
        values = _filled_past(values, count, fill_value)
        first = _filled_past(first[:, None], count, None)[:, 0]
    values = reshape(values, (values.shape[0], *axis_shape))
    results = [values if axis is None else moveaxis(values, 0, axis)]
    if return_index:
        results.append(first)
    if return_inverse:
        results.append(reshape(inverse, shape) if axis is None else inverse)
    if return_counts:
        results.append(bounds[1:] - starts)
    return results[0] if len(results) == 1 else tuple(results)


@fused
def _filled_past(values: Any, count: Any, fill_value: Any) -> Any:
    """Return rows with those past a count replaced; by the first one, the least, for None."""
    if not values.shape[0]:
        return values
    fill = values[:1] if fill_value is None else asarray(fill_value, values.dtype)
    return where((arange(values.shape[0]) < count)[:, None], values, fill)


def _bounds(begins: Any, size: int | None) -> Any:
    """Return the positions where groups begin, and where the last one ends."""
    length = begins.shape[0]
    (starts,) = nonzero(begins, size=size, fill_value=length)
    return starts if size is not None else append(starts, length)


class UniqueAll(NamedTuple):
    """What ``unique_all`` returns."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What ``unique_counts`` returns."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What ``unique_inverse`` returns."""

    values: Any
    inverse_indices: Any


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueAll:
    """Return distinct elements, first positions, inverse and counts; NaN are distinct.

    Arguments and errors are those of ``unique``.

    >>> found = jnp.unique_all(jnp.array([3, 1, 3]))
    >>> found.values.tolist(), found.indices.tolist(), found.inverse_indices.tolist()
    ([1, 3], [1, 0], [1, 0, 1])
    """
    argument_aval("unique_all", x)
    found = unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueAll(*found)


def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueCounts:
    """Return distinct elements and how often each occurs; NaN are distinct.

    Arguments and errors are those of ``unique``.

    >>> jnp.unique_counts(jnp.array([3, 1, 3])).counts
    Array([1, 2], dtype=int32)
    """
    argument_aval("unique_counts", x)
    found = unique(x, False, False, True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueCounts(*found)


def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueInverse:
    """Return distinct elements and the number of each element's equal; NaN are distinct.

    Arguments and errors are those of ``unique``.

    >>> jnp.unique_inverse(jnp.array([3, 1, 3])).inverse_indices
    Array([1, 0, 1], dtype=int32)
    """
    argument_aval("unique_inverse", x)
    found = unique(x, False, True, False, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueInverse(*found)


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return distinct elements; NaN are distinct.

    Arguments and errors are those of ``unique``.

    >>> jnp.unique_values(jnp.array([3, 1, 3]))
    Array([1, 3], dtype=int32)
    """
    argument_aval("unique_values", x)
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# ---------------------------------------------------------------- isin and set operations


@fused(name="isin")
def _contained(element: Any, test: Any) -> Any:
    """Look each element up among the sorted others."""
    element, test = promote_dtypes("isin", element, test)
    if not test.size:
        return zeros(element.shape, bool)
    ordered = sort(ravel(test))
    place = searchsorted(ordered, element).clip(0, ordered.size - 1)
    return ordered[place] == element


def isin(
    element: ArrayLike,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Any:
    """Return which elements of an array are among others.

    Args:
      element: an array.
      test_elements: the others.
      assume_unique: accepted; it changes nothing.
      invert: whether to return which are not.
      method: ``"auto"``, ``"sort"``, ``"compare_all"`` or ``"binary_search"``; all give the same.

    NaN equals nothing, so it is not found.

    >>> jnp.isin(jnp.array([[1, 2], [3, 4]]), jnp.array([2, 4]))
    Array([[False,  True],
           [False,  True]], dtype=bool)
    """
    check_arguments("isin", element, test_elements)
    if method not in ("auto", "sort", "compare_all", "binary_search"):
        raise ValueError(f"isin got method {method!r}")
    found = _contained(asarray(element), asarray(test_elements))
    return ~found if invert else found


def _selected(
    values: Any, mask: Any, size: int | None, fill_value: Any, least: bool = False
) -> Any:
    """Return the values where a mask holds, cut off or filled to a size.

    What fills is ``fill_value``, else 0, or the first of the chosen if ``least`` says so.
    """
    (places,) = nonzero(mask, size=size, fill_value=values.size)
    if size is None:
        return take(values, places, 0, mode="clip") if values.size else values
    fill = asarray(0 if fill_value is None else fill_value, values.dtype)
    if not values.size:
        return full((index(size),), fill)
    chosen = take(values, places, 0, mode="clip")
    if fill_value is None and least:
        fill = where(mask.any(), chosen[:1], fill)
    return _filled(chosen, mask.sum(), fill)


def _filled(chosen: Any, count: Any, fill: Any) -> Any:
    """Return the first ``count`` of the chosen, and after them what fills."""
    return where(arange(chosen.shape[0]) < count, chosen, fill)


def _flat_pair(name: str, ar1: Any, ar2: Any) -> tuple[Any, Any]:
    check_arguments(name, ar1, ar2)
    first, second = promote_dtypes(name, ravel(ar1), ravel(ar2))
    return asarray(first), asarray(second)


def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """Return the distinct elements of two arrays together, sorted.

    Args:
      ar1: an array.
      ar2: an array.
      size: how many to return, needed while traced.
      fill_value: what follows the last one; the least where not given.

    >>> jnp.union1d(jnp.array([3, 1]), jnp.array([1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    _check_known("union1d", size, ar1, ar2)
    first, second = _flat_pair("union1d", ar1, ar2)
    return unique(concatenate([first, second]), size=size, fill_value=fill_value)


def setdiff1d(
    ar1: ArrayLike,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Return the distinct elements of one array that are not in another, sorted.

    Args:
      ar1: an array; the result has its dtype.
      ar2: the other.
      assume_unique: whether the first has no element twice; then its order is kept.
      size: how many to return, needed while traced.
      fill_value: what follows the last one; 0 where not given.

    >>> jnp.setdiff1d(jnp.array([3, 1, 2]), jnp.array([2]))
    Array([1, 3], dtype=int32)
    """
    _check_known("setdiff1d", size, ar1, ar2)
    values: Any = asarray(ravel(ar1))
    chosen: Any = True
    if not assume_unique:
        values, chosen = _distinct(values)
    first, second = _flat_pair("setdiff1d", values, ar2)
    found = _selected(values, chosen & ~_contained(first, second), size, fill_value)
    weak = values.aval.weak_type and values.dtype not in dtypes.COMPLEX
    return cast(found, values.dtype, weak)


@fused
def _distinct(x: Any) -> tuple[Any, Any]:
    """Return sorted values, and which differ from the one before; all NaN are one."""
    ordered = sort(_with_one_nan(x))
    differs = (ordered[1:] != ordered[:-1]) & ~(isnan(ordered[1:]) & isnan(ordered[:-1]))
    return ordered, concatenate([full(min(1, ordered.size), True), differs])


def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Return the distinct elements that are in one of two arrays only, sorted.

    Args:
      ar1: an array.
      ar2: an array.
      assume_unique: whether neither has an element twice; then what occurs once in both together
        is returned.
      size: how many to return, needed while traced.
      fill_value: what follows the last one; the least of them where not given, 0 if there is none.

    NaN of either array is in that one only.

    >>> jnp.setxor1d(jnp.array([3, 1]), jnp.array([1, 2]))
    Array([2, 3], dtype=int32)
    """
    _check_known("setxor1d", size, ar1, ar2)
    first, second = _flat_pair("setxor1d", ar1, ar2)
    ordered, mask = (_alone if assume_unique else _exclusive)(first, second)
    return _selected(ordered, mask, size, fill_value, least=True)


@fused
def _alone(first: Any, second: Any) -> tuple[Any, Any]:
    """Return all values sorted, and which differ from both neighbours."""
    values = sort(concatenate([first, second]))
    differs, end = values[1:] != values[:-1], full(min(1, values.size), True)
    return values, concatenate([end, differs]) & concatenate([differs, end])


@fused
def _exclusive(first: Any, second: Any) -> tuple[Any, Any]:
    """Return all values sorted, and which are the first of their kind in one array only."""
    (x, new_in_x), (y, new_in_y) = _distinct(first), _distinct(second)
    values = concatenate([x, y])
    mask = concatenate([new_in_x & ~_contained(x, second), new_in_y & ~_contained(y, first)])
    order = argsort(values)
    return values[order], mask[order]


def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Return the distinct elements that two arrays share, sorted.

    Args:
      ar1: an array.
      ar2: an array.
      assume_unique: accepted; it changes nothing.
      return_indices: whether to return the first position of each in both arrays; for fill values
        these are the arrays' sizes.
      size: how many to return, needed while traced.
      fill_value: what follows the last one; the least of them where not given, 0 if there is none.

    >>> jnp.intersect1d(jnp.array([3, 1, 2, 3]), jnp.array([5, 3, 2]))
    Array([2, 3], dtype=int32)
    """
    _check_known("intersect1d", size, ar1, ar2)
    first, second = _flat_pair("intersect1d", ar1, ar2)
    ordered, new = _distinct(first)
    mask = new & _contained(ordered, second)
    common = _selected(ordered, mask, size, fill_value, least=True)
    if not return_indices:
        return common
    count = mask.sum()
    return common, *(_filled(_first_places(x, common), count, x.size) for x in (first, second))


@fused
def _first_places(x: Any, values: Any) -> Any:
    order = argsort(x)
    return take(order, searchsorted(x[order], values), 0, mode="clip")
