"""Grids: coordinates of all points of a rectangle, and positions in flattened arrays."""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._reprs import counted
from jxkernel.api.traced import check_callable
from jxkernel.api.vectorize import vmap
from jxkernel.core.filtering import filtered
from jxkernel.core.trace import is_unknown
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.creation import asarray, canonical_shape, user_dtype
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.indexing import within
from jxkernel.numpy.joining import concatenate, stack
from jxkernel.numpy.promotion import (
    argument_aval,
    cast,
    check_arguments,
    check_known,
    promote_dtypes,
)
from jxkernel.numpy.ranges import arange, linspace
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import ravel, reshape
from jxkernel.numpy.taking import nonzero
from jxkernel.primitives.arguments import listed
from jxkernel.primitives.creation import broadcasted_iota
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.runtime import ArrayLike

__all__ = [
    "c_",
    "fromfunction",
    "index_exp",
    "indices",
    "ix_",
    "meshgrid",
    "mgrid",
    "ogrid",
    "r_",
    "ravel_multi_index",
    "s_",
    "unravel_index",
]

index_exp = np.index_exp
s_ = np.s_


@fused(static=("sparse", "exchange"), name="meshgrid")
def _mesh(coordinates: tuple[Any, ...], sparse: bool, exchange: bool) -> list[Any]:
    rank = len(coordinates)
    order = [1, 0, *range(2, rank)] if exchange and rank > 1 else list(range(rank))
    sizes = [np.shape(c)[0] for c in coordinates]
    whole = tuple(sizes[i] for i in order)
    grids: list[Any] = []
    for place, coordinate in enumerate(coordinates):
        axis = order.index(place)
        shape = tuple(n if i == axis else 1 for i, n in enumerate(whole)) if sparse else whole
        grids.append(broadcast_in_dim(coordinate, shape, (axis,)))
    return grids


def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Any, ...]:
    """Return, for vectors of coordinates, the coordinates of all points of their grid.

    Args:
      *xi: vectors or numbers.
      copy: must be True: arrays are never views.
      sparse: whether the arrays keep size 1 along the axes that are not theirs.
      indexing: ``"xy"`` exchanges the first two axes, ``"ij"`` does not.

    Raises:
      ValueError: a coordinate is of higher rank, or ``indexing`` is neither.

    >>> x, y = jnp.meshgrid(jnp.array([1, 2, 3]), jnp.array([10, 20]))
    >>> x.tolist(), y.tolist()
    ([[1, 2, 3], [1, 2, 3]], [[10, 10, 10], [20, 20, 20]])
    """
    check_arguments("meshgrid", *xi)
    if not copy:
        raise ValueError("meshgrid(copy=False): arrays are never views")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid got indexing={indexing!r}: it is 'xy' or 'ij'")
    if any(np.ndim(x) > 1 for x in xi):
        raise ValueError(f"meshgrid takes vectors, got shapes {[np.shape(x) for x in xi]}")
    return tuple(_mesh(tuple(ravel(x) for x in xi), sparse, indexing == "xy"))


@fused(static=("shape", "dtype", "sparse"), name="indices")
def _positions(shape: tuple[int, ...], dtype: Any, sparse: bool) -> list[Any]:
    sizes = [
        tuple(n if i == axis else 1 for i, n in enumerate(shape)) if sparse else shape
        for axis in range(len(shape))
    ]
    return [broadcasted_iota(dtype, size, axis) for axis, size in enumerate(sizes)]


def indices(dimensions: Sequence[int], dtype: DTypeLike = None, sparse: bool = False) -> Any:
    """Return the positions along each axis of all elements of a shape.

    Args:
      dimensions: the shape.
      dtype: the default integer dtype where not given.
      sparse: whether to return a tuple of arrays of size 1 along the axes that are not theirs.

    >>> rows, columns = jnp.indices((2, 3))
    >>> rows.tolist(), columns.tolist()
    ([[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]])
    """
    shape = canonical_shape(dimensions, "indices", "dimensions")
    found = user_dtype(dtype, "indices") or dtypes.default_int_dtype()
    parts = tuple(_positions(shape, found, sparse))
    if sparse:
        return parts
    return stack(parts) if parts else asarray(np.zeros((0, *shape)), found)


@filtered
def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: DTypeLike = float, **kwargs: Any
) -> Any:
    """Return what a function gives for the position of each element of a shape.

    Args:
      function: a function of as many numbers as the shape has axes.  It is called once, under
        ``vmap``, and what it gives may have axes of its own, which come last, or be a pytree.
      shape: the shape.
      dtype: the dtype of the positions.
      **kwargs: further arguments of the function, which are not mapped over.

    >>> jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
    Array([[ 0,  1,  2],
           [10, 11, 12]], dtype=int32)
    """
    sizes = canonical_shape(shape, "fromfunction")
    found = user_dtype(dtype, "fromfunction")
    check_callable("fromfunction", "function", function)
    mapped = partial(function, **kwargs)
    for axis in reversed(range(len(sizes))):
        mapped = vmap(mapped, [0 if place == axis else None for place in range(len(sizes))])
    return mapped(*(arange(size, dtype=found) for size in sizes))


def ix_(*args: Any) -> tuple[Any, ...]:
    """Return vectors of positions shaped so that together they index a rectangle.

    Raises:
      ValueError: one is not of rank 1.

    Args:
      *args: vectors of integers, or of booleans, which stand for the positions of the true ones.
        One without elements may have any dtype: it becomes one of integers.

    Returns:
      one array for each, of size 1 along the axes of the others.

    >>> jnp.arange(12).reshape(3, 4)[jnp.ix_(jnp.array([0, 2]), jnp.array([1, 3]))]
    Array([[ 1,  3],
           [ 9, 11]], dtype=int32)
    """
    check_arguments("ix_", *args)
    parts: list[Any] = []
    for axis, arg in enumerate(args):
        array = asarray(arg)
        if array.ndim != 1:
            raise ValueError(f"ix_ takes vectors, got shape {array.shape} as argument {axis}")
        if array.dtype == bool:
            (array,) = nonzero(array)
        elif not array.size:
            array = array.astype(int)
        parts.append(reshape(array, (1,) * axis + array.shape + (1,) * (len(args) - axis - 1)))
    return tuple(parts)


# ---------------------------------------------------------------- mgrid, ogrid, r_, c_


def _line(name: str, part: Any) -> Any:
    """Return the numbers of a slice; a complex step is a count, both ends included."""
    if not isinstance(part, slice):
        raise TypeError(f"{name} takes slices, such as {name}[0:3], got {part!r}")
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if isinstance(step, (complex, np.complexfloating)):
        return linspace(start, part.stop, int(abs(step)))
    return arange(start, part.stop, step)


class _Mesh:
    """``mgrid`` and ``ogrid``: grids written as slices between brackets."""

    def __init__(self, name: str, sparse: bool) -> None:
        self.name = name
        self.sparse = sparse
        self.__doc__ = (
            f"Grids written as slices: ``{name}[0:3, 0:1:5j]``; a complex step is a count."
        )

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, (tuple, list)):
            return _line(self.name, key)
        lines = promote_dtypes(self.name, *[_line(self.name, part) for part in key])
        grids = meshgrid(*lines, indexing="ij", sparse=self.sparse)
        return list(grids) if self.sparse else stack(grids)

    def __repr__(self) -> str:
        return self.name


mgrid = _Mesh("mgrid", False)
ogrid = _Mesh("ogrid", True)


class _Joiner:
    """``r_`` and ``c_``: arrays, numbers and slices between brackets, joined along an axis."""

    def __init__(self, name: str, axis: int, rank: int, place: int) -> None:
        self.name = name
        self.axis, self.rank, self.place = axis, rank, place
        self.__doc__ = f"Arrays, numbers and slices joined along an axis: ``{name}[0:3, x, 5]``."

    def __getitem__(self, key: Any) -> Any:
        parts = list(key) if isinstance(key, tuple) else [key]
        axis, rank, place = self.axis, self.rank, self.place
        matrix = ""
        if parts and isinstance(parts[0], str):
            text = parts.pop(0)
            if text in ("r", "c"):
                matrix = text
            else:
                axis, rank, place = self._directive(text)
        arrays = [
            _line(self.name, part) if isinstance(part, slice) else asarray(part) for part in parts
        ]
        rank = max([rank, *(array.ndim for array in arrays)])
        joined = concatenate([_raised(array, rank, place) for array in arrays], axis)
        if not matrix or joined.ndim > 1:
            return joined
        return joined[:, None] if matrix == "c" else joined[None, :]

    def _directive(self, text: str) -> tuple[int, int, int]:
        try:
            numbers = list(map(int, text.split(",")))
        except ValueError:
            numbers = []
        if not 0 < len(numbers) <= 3:
            raise ValueError(
                f"{self.name} got directive {text!r}: it is one to three numbers, 'r' or 'c'"
            )
        return tuple(numbers + [self.axis, self.rank, self.place][len(numbers) :])  # type: ignore[return-value]  # three by construction

    def __repr__(self) -> str:
        return self.name


def _raised(array: Any, rank: int, place: int) -> Any:
    """Return an array with axes of size 1 added up to a rank, its own beginning at ``place``."""
    missing = rank - array.ndim
    if missing <= 0:
        return array
    before = place if place >= 0 else max(place + missing + 1, 0)
    before = min(before, missing)
    return reshape(array, (1,) * before + array.shape + (1,) * (missing - before))


r_ = _Joiner("r_", 0, 1, -1)
c_ = _Joiner("c_", -1, 2, 0)


# ---------------------------------------------------------------- flat positions


def unravel_index(indices: ArrayLike, shape: Any) -> tuple[Any, ...]:
    """Return positions in a flattened array as positions along each axis.

    Args:
      indices: integers; those out of bounds are clamped, negative ones count from the end.
      shape: the array's shape; its sizes may be traced.

    Raises:
      TypeError: ``indices`` are not integers.

    >>> [part.tolist() for part in jnp.unravel_index(jnp.array([4, 11]), (3, 4))]
    [[1, 2], [0, 3]]
    """
    aval = argument_aval("unravel_index", indices)
    if aval.dtype not in dtypes.INTEGRAL:
        raise TypeError(f"unravel_index takes integers, got dtype {aval.dtype.name}")
    if any(is_unknown(size) for size in listed(shape)):
        return tuple(_places(indices, listed(shape)))
    sizes = canonical_shape(shape, "unravel_index")
    return tuple(_places_in_known(indices, tuple([max(size, 1) for size in sizes])))


def _places(flat: Any, sizes: Sequence[Any]) -> list[Any]:
    aval, count = argument_aval("unravel_index", flat), prod(sizes)
    flat = cast(flat, np.promote_types(aval.dtype, np.int32))
    flat = where(flat < 0, flat + count, flat).clip(0, count - 1)
    places: list[Any] = []
    for size in reversed(sizes):
        places.append(cast(flat % size, aval.dtype, aval.weak_type))
        flat = flat // size
    return places[::-1]


_places_in_known = fused(_places, static=("sizes",), name="unravel_index")


def ravel_multi_index(
    multi_index: Sequence[Any],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike = None,
) -> Any:
    """Return positions along each axis as positions in the flattened array.

    Args:
      multi_index: an array of integers for each axis.
      dims: the array's shape.
      mode: out of bounds: ``"clip"``, ``"wrap"``, ``"raise"``, which needs values known now, or
        ``"ignore"``, which does not look.
      order: ``"C"`` or ``"F"``.
      dtype: the result's dtype; the default integer one where not given.

    Raises:
      ValueError: the numbers of axes differ, or (``"raise"``) a position is out of bounds.
      ConcretizationTypeError: (``"raise"``) the positions are traced.

    >>> jnp.ravel_multi_index((jnp.array([1, 2]), jnp.array([0, 3])), (3, 4))
    Array([ 4, 11], dtype=int32)
    """
    sizes = canonical_shape(dims, "ravel_multi_index", "dims")
    parts = [asarray(part) for part in multi_index]
    if len(parts) != len(sizes):
        raise ValueError(
            f"ravel_multi_index got {counted(len(parts), 'position')} for "
            f"{counted(len(sizes), 'axis')}"
        )
    if mode not in ("raise", "clip", "wrap", "ignore") or order not in ("C", "F"):
        raise ValueError(f"ravel_multi_index got mode {mode!r} and order {order!r}")
    strides = [prod(sizes[i + 1 :]) if order == "C" else prod(sizes[:i]) for i in range(len(sizes))]
    chosen = user_dtype(dtype, "ravel_multi_index")
    result: Any = asarray(0, chosen or dtypes.default_int_dtype())
    for part, size, stride in zip(parts, sizes, strides, strict=True):
        result = result + _within(part, size, mode) * stride
    return result if chosen is None else result.astype(chosen)


def _within(part: Any, size: int, mode: str) -> Any:
    if mode == "ignore":
        return part
    if mode != "raise":
        return within(part, size, mode)
    check_known("ravel_multi_index(mode='raise')", part, "choose another mode")
    if bool(((part < 0) | (part >= size)).any()):
        raise ValueError(f"ravel_multi_index got positions out of bounds for size {size}")
    return part
