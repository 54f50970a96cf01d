"""Taking and placing: elements at positions given by data, repeated, rolled or padded.

Positions out of bounds are clamped or filled as ``mode`` says, the same eagerly and traced.  What
gives an array whose size depends on values needs ``size=`` while it is traced.
"""

from math import prod
from operator import index
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._lazy import late_function
from jxkernel.core.dimensions import is_symbolic
from jxkernel.core.trace import Tracer, is_unknown
from jxkernel.errors import ShapeError
from jxkernel.numpy.creation import asarray, zeros
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.indexing import getitem, static_fill, within, wrapped
from jxkernel.numpy.joining import stack
from jxkernel.numpy.logic import truth
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_shapes,
    broadcast_to_shape,
    cast,
    check_arguments,
    check_known,
    dtype_of,
    refuse_out,
    scalar_of,
    static_axis,
)
from jxkernel.numpy.ranges import arange
from jxkernel.numpy.shapes import ravel, reshape
from jxkernel.numpy.updating import IndexUpdater
from jxkernel.primitives.arguments import canonical_axis, whole_number
from jxkernel.primitives.elementwise import arithmetic as ops
from jxkernel.primitives.elementwise.identity import stop_gradient
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.indexing.gather import GatherDimensionNumbers, gather
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.primitives.shape.reshape import expand_dims
from jxkernel.primitives.sharding.constraints import with_out_sharding
from jxkernel.runtime import ArrayImpl, ArrayLike, value_of
from jxkernel.transforms.composed import Composed

__all__ = [
    "argwhere",
    "compress",
    "extract",
    "flatnonzero",
    "nonzero",
    "put_along_axis",
    "repeat",
    "take",
    "take_along_axis",
]

append_places = late_function("jxkernel.primitives.reduction.places", "append_places")
cumsum = late_function("jxkernel.primitives.reduction.cumulative", "cumsum")


# ---------------------------------------------------------------- take


def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    """Return the elements of an array at positions along an axis.

    Args:
      a: an array.
      indices: an array of integers; negative ones count from the end.  Booleans are 0 and 1.
      axis: the axis; None for the flattened array.
      out: must be None.
      mode: what happens out of bounds: ``"fill"`` (None) reads ``fill_value``, ``"clip"`` the
        nearest element (and does not count negative positions from the end), ``"wrap"`` counts on
        from the other end, ``"promise_in_bounds"`` leaves it to the caller.
      unique_indices: the caller's promise.
      indices_are_sorted: the caller's promise.
      fill_value: NaN, or the extreme integer, where not given.

    Returns:
      an array with the axes of ``indices`` in place of the axis.

    Raises:
      TypeError: ``indices`` are not integers.
      NotImplementedError: the mode is ``"raise"``: a compiled program cannot.

    >>> jnp.take(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1, 0]), axis=0)
    Array([[3, 4],
           [3, 4],
           [1, 2]], dtype=int32)
    >>> jnp.take(jnp.array([5.0, 6.0]), 2)
    Array(nan, dtype=float32)
    """
    if out is not None:
        refuse_out("take", out)
    if mode == "raise":
        raise NotImplementedError("take(mode='raise'): a compiled program cannot raise")
    if fill_value is not None:
        fill_value = static_fill(fill_value)
    axis = static_axis("take", axis)
    return _taken(
        a, indices, axis, mode, fill_value, bool(indices_are_sorted), bool(unique_indices)
    )


@fused(static=("axis", "mode", "fill_value", "indices_are_sorted", "unique_indices"), name="take")
def _taken(
    a: Any,
    indices: Any,
    axis: int | None,
    mode: str | None,
    fill_value: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Any:
    check_arguments("take", a)
    dtype = argument_aval("take", indices, 1).dtype
    if dtype in dtypes.BOOLEAN:
        indices = cast(indices, np.dtype(np.int32))
    elif dtype not in dtypes.INTEGRAL:
        raise TypeError(f"take got indices of dtype {dtype.name}: they are integers")
    if axis is None:
        a, axis = ravel(a), 0
    a = asarray(a)
    axis = canonical_axis("take", axis, a.ndim)
    if mode in ("wrap", "clip"):
        indices = within(indices, a.shape[axis], mode)
        mode = "promise_in_bounds"
    place = (*[slice(None)] * axis, indices)
    return getitem(a, place, mode or "fill", fill_value, indices_are_sorted, unique_indices)


@fused(static=("fill_value", "axis", "mode", "wrap"), name="take_along_axis")
def _along(arr: Any, indices: Any, fill_value: Any, axis: int, mode: str, wrap: bool) -> Any:
    shape, places = list(np.shape(arr)), list(np.shape(indices))
    size, count = shape[axis], places[axis]
    rest = broadcast_shapes(
        [n for i, n in enumerate(shape) if i != axis],
        [n for i, n in enumerate(places) if i != axis],
    )
    arr = broadcast_to_shape(arr, (*rest[:axis], size, *rest[axis:]))
    indices = broadcast_to_shape(indices, (*rest[:axis], count, *rest[axis:]))
    if wrap:
        indices = wrapped(indices, size)
    if not size and 0 not in np.shape(indices):
        raise IndexError(f"take_along_axis has no positions along axis {axis}, which is of size 0")
    if 0 in np.shape(indices):
        return broadcast_in_dim(scalar_of(dtype_of(arr), 0), np.shape(indices), ())
    others = tuple(i for i in range(len(shape)) if i != axis)
    sizes = (1,) * len(shape)
    numbers = GatherDimensionNumbers((), (axis,), (axis,), others, others)
    vectors = expand_dims(indices, (len(shape),))
    return gather(arr, vectors, numbers, sizes, mode=mode, fill_value=fill_value)


def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: str | None = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool = True,
) -> Any:
    """Return the elements at positions along an axis, each row with positions of its own.

    Args:
      arr: an array.
      indices: integers of the same rank; the other axes broadcast.
      axis: the axis; None for the flattened array.
      mode: what happens out of bounds; ``"fill"`` where not given.
      fill_value: what ``"fill"`` reads.
      wrap_negative_indices: whether negative positions count from the end; they are out of bounds
        otherwise.

    Raises:
      TypeError: ``indices`` are not integers.
      ValueError: the ranks differ.

    >>> jnp.take_along_axis(jnp.array([[1, 2], [3, 4]]), jnp.array([[1], [0]]), axis=1)
    Array([[2],
           [3]], dtype=int32)
    """
    check_arguments("take_along_axis", arr, indices)
    kind = argument_aval("take_along_axis", indices, 1)
    if kind.dtype not in dtypes.INTEGRAL:
        raise TypeError(f"take_along_axis takes integer indices, got dtype {kind.dtype.name}")
    if axis is None:
        arr, axis = ravel(arr), 0
    rank = np.ndim(arr)
    if kind.ndim != rank:
        raise ValueError(
            f"take_along_axis needs indices of the array's rank {rank}, got shape {kind.shape}"
        )
    axis = canonical_axis("take_along_axis", axis, rank)
    return _along(arr, indices, fill_value, axis, mode or "fill", wrap_negative_indices)


def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Any:
    """Return a copy of an array with values put at positions along an axis.

    Args:
      arr: an array.
      indices: integers of the same rank; other axes than ``axis`` may have size 1.
      values: what to put there; it broadcasts to ``indices``.
      axis: the axis; None for the flattened array.
      inplace: must be False: arrays do not change.
      mode: what happens out of bounds; values there are dropped where not given.

    Raises:
      ValueError: ``inplace`` is True, or the ranks differ.

    >>> x = jnp.array([[1, 2], [3, 4]])
    >>> jnp.put_along_axis(x, jnp.array([[0], [1]]), 9, axis=1, inplace=False)
    Array([[9, 2],
           [3, 9]], dtype=int32)
    """
    if inplace:
        raise ValueError("arrays do not change: put_along_axis(..., inplace=False) returns a copy")
    arr = asarray(arr)
    if axis is None:
        shape = arr.shape
        flat = put_along_axis(ravel(arr), ravel(indices), values, 0, False, mode=mode)
        return reshape(flat, shape)
    axis = canonical_axis("put_along_axis", axis, arr.ndim)
    own = np.shape(indices)
    if len(own) != arr.ndim:
        raise ValueError(f"put_along_axis got an array of rank {arr.ndim}, indices of {len(own)}")
    values = broadcast_to_shape(asarray(values), own)
    sizes = [n if i != axis and own[i] == 1 else own[i] for i, n in enumerate(arr.shape)]
    grid = [
        reshape(np.arange(n), tuple(n if j == i else 1 for j in range(len(sizes))))
        for i, n in enumerate(sizes)
    ]
    grid[axis] = asarray(indices)
    return IndexUpdater(arr)[tuple(grid)].set(values, mode=mode)


# ---------------------------------------------------------------- positions of what holds


def _first_places(holds: Any, *, size: int, dtype: Any) -> tuple[Any, Any]:
    """Return the first places where something holds, and how many there are.

    An element's running count says where its place goes.
    """
    counts = cumsum(cast(holds, dtype), 0)
    places = select(holds, ops.sub(counts, 1), size)
    found = zeros(size, dtype)
    total = counts[-1] if holds.size else counts.sum()
    return IndexUpdater(found)[places].set(arange(holds.size), mode="drop"), total


_MOST_SIZE = 1 << 31
"""Places below it are known to a kernel."""


def _lower_nonzero(context: Any, holds: Any, *, size: int, dtype: Any) -> Any:
    (length,) = context.avals_in[0].shape
    if not context.makes_one_kernel or is_symbolic(length) or not 0 < length < _MOST_SIZE:
        params = {"size": size, "dtype": dtype}
        return context.inline(nonzero_p.program(context.avals_in, params), [holds])
    return append_places(context, holds, length, size, dtype)


nonzero_p = Composed("nonzero", _first_places, multiple_results=True, lower=_lower_nonzero)


@fused(static=("size",), name="nonzero")
def _found(a: Any, size: int) -> tuple[Any, Any]:
    """Return the flat positions of the first nonzero elements, and how many there are."""
    # The default dtype changes with the switch of 64 bits: it is part of what is asked for.
    dtype = dtypes.default_int_dtype()
    places, count = nonzero_p.bind(ravel(truth(a)), size=size, dtype=dtype)
    return places, count


def positions_of(name: str, a: Any, size: int | None, fill_value: Any) -> tuple[Any, ...]:
    """Return the positions of nonzero elements along each axis."""
    aval = argument_aval(name, a)
    if aval.ndim == 0:
        raise ValueError(f"{name} of a scalar is not defined: use atleast_1d first")
    if size is None:
        return tuple(asarray(found) for found in np.nonzero(known_now(name, a)))
    flat, count = _found(a, whole_number("nonzero", "size", size))
    places = unravel(flat, aval.shape)
    beyond = arange(size) >= count
    fills = (
        fill_value
        if isinstance(fill_value, tuple)
        else ((0 if fill_value is None else fill_value,) * aval.ndim)
    )
    return tuple(
        _where_beyond(beyond, fill, place) for fill, place in zip(fills, places, strict=True)
    )


@fused
def _where_beyond(beyond: Any, fill: Any, place: Any) -> Any:
    return select(beyond, cast(fill, place.dtype), place)


def unravel(flat: Any, shape: tuple[int, ...]) -> list[Any]:
    """Return flat positions as positions along each axis of a shape."""
    places: list[Any] = []
    for axis, size in enumerate(shape):
        stride = prod(shape[axis + 1 :])
        places.append((flat // max(stride, 1)) % max(size, 1))
    return places


def known_now(name: str, a: ArrayLike, length: str | None = "size") -> Any:
    """Return an array's data now.

    Args:
      name: the function that needs it.
      a: the array.
      length: the argument of the function that would make it unneeded, if there is one.

    Raises:
      ConcretizationTypeError: it is traced.
    """
    if isinstance(a, ArrayImpl):
        return value_of(a)
    if length:
        instead = f"give the length: jnp.{name}(..., {length}=n)"
        check_known(f"{name} without {length}=", a, instead)
    else:
        check_known(name, a)
    return np.asarray(stop_gradient(a) if isinstance(a, Tracer) else a)


def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> tuple[Any, ...]:
    """Return the positions of the nonzero elements, an array for each axis.

    Args:
      a: an array.
      size: how many to return: the first ones, and ``fill_value`` after the last.  Needed while
        traced.
      fill_value: a number, or a tuple of one for each axis; 0 where not given.

    Raises:
      ConcretizationTypeError: ``a`` is traced and ``size`` not given.
      ValueError: ``a`` is a scalar.

    >>> jnp.nonzero(jnp.array([0, 3, 4]))
    (Array([1, 2], dtype=int32),)
    >>> jx.jit(lambda x: jnp.nonzero(x, size=3, fill_value=-1))(jnp.array([0, 3, 4]))
    (Array([ 1,  2, -1], dtype=int32),)
    """
    return positions_of("nonzero", a, size, fill_value)


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the positions of the nonzero elements of the flattened array; see ``nonzero``.

    >>> jnp.flatnonzero(jnp.array([[0, 1], [2, 0]]))
    Array([1, 2], dtype=int32)
    """
    argument_aval("flatnonzero", a)
    return positions_of("flatnonzero", ravel(a), size, fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the positions of the nonzero elements as the rows of a matrix; see ``nonzero``.

    >>> jnp.argwhere(jnp.array([[0, 1], [2, 0]]))
    Array([[0, 1],
           [1, 0]], dtype=int32)
    """
    if argument_aval("argwhere", a).ndim == 0:
        count = int(known_now("argwhere", a) != 0) if size is None else index(size)
        return zeros((count, 0), dtypes.default_int_dtype())
    return stack(positions_of("argwhere", a, size, fill_value), 1)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """Return the elements where a condition holds, in a row; see ``compress``.

    >>> x = jnp.array([1, 5, 9])
    >>> jnp.extract(x > 2, x)
    Array([5, 9], dtype=int32)
    """
    check_arguments("extract", condition, arr)
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


def _refuse_beyond(condition: Any, length: int) -> None:
    """Refuse a known condition of ``compress`` that holds beyond the axis."""
    (given,) = np.shape(condition)
    if given <= length or is_unknown(condition):
        return
    if np.any(known_now("compress", condition)[length:]):
        raise ValueError(
            f"compress got a condition of {given} elements that holds beyond the {length} parts "
            "along the axis"
        )


def compress(
    condition: Any,
    a: Any,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
    out: None = None,
) -> Any:
    """Return the parts of an array along an axis where a condition holds.

    Args:
      condition: a rank-1 array; beyond the axis it holds nowhere.
      a: an array.
      axis: the axis; None for the flattened array.
      size: how many parts to return; needed while traced.
      fill_value: what follows the last part.
      out: must be None.

    Raises:
      ValueError: ``condition`` is not of rank 1, or holds beyond the axis (where it is known).

    >>> jnp.compress(jnp.array([False, True]), jnp.array([[1, 2], [3, 4]]), axis=0)
    Array([[3, 4]], dtype=int32)
    """
    refuse_out("compress", out)
    check_arguments("compress", condition, a)
    if np.ndim(condition) != 1:
        raise ValueError(f"compress needs a condition of rank 1, got shape {np.shape(condition)}")
    a, axis = (ravel(a), 0) if axis is None else (asarray(a), axis)
    axis = canonical_axis("compress", axis, a.ndim)
    length = a.shape[axis]
    if size is None:
        _refuse_beyond(condition, length)
    (places,) = positions_of("compress", condition, size, (length,) if size is not None else None)
    kind = argument_aval("compress", a)
    return cast(take(a, places, axis, fill_value=fill_value), kind.dtype, kind.weak_type)


# ---------------------------------------------------------------- repeat and roll


@fused(static=("count", "axis"), name="repeat")
def _repeated_equally(a: Any, count: int, axis: int) -> Any:
    sizes = np.shape(a)
    spread = (*sizes[: axis + 1], count, *sizes[axis + 1 :])
    kept = tuple(i for i in range(len(spread)) if i != axis + 1)
    result = (*sizes[:axis], sizes[axis] * count, *sizes[axis + 1 :])
    return reshape(broadcast_in_dim(a, spread, kept), result)


def repeat(
    a: Any,
    repeats: Any,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Any = None,
) -> Any:
    """Return an array with each part along an axis repeated.

    Args:
      a: an array.
      repeats: how often, a number or one for each part.
      axis: the axis; None for the flattened array.
      total_repeat_length: the result's length, needed while ``repeats`` is traced: what is beyond
        is cut off, what is missing repeats the last part.
      out_sharding: how the result is divided over explicit mesh axes; where None, operands decide.

    Raises:
      ConcretizationTypeError: ``repeats`` is traced and no length given.
      ValueError: there is not one number for each part.

    >>> jnp.repeat(jnp.array([5, 6]), jnp.array([1, 3]))
    Array([5, 6, 6, 6], dtype=int32)
    """
    if out_sharding is not None:
        how = {"total_repeat_length": total_repeat_length}
        return with_out_sharding(repeat, (a,), out_sharding, repeats, axis, **how)
    argument_aval("repeat", a)
    a, axis = (ravel(a), 0) if axis is None else (asarray(a), axis)
    if not a.ndim:
        a, axis = reshape(a, (1,)), 0
    axis = canonical_axis("repeat", axis, a.ndim)
    if isinstance(repeats, (int, np.integer)) and total_repeat_length is None:
        if repeats < 0:
            raise ShapeError(f"repeat got repeats={repeats}: it is not negative")
        return _repeated_equally(a, int(repeats), axis)
    if total_repeat_length is not None:
        return _repeated_to_length(
            a,
            asarray(repeats),
            axis,
            whole_number("repeat", "total_repeat_length", total_repeat_length),
        )
    counts = np.ravel(known_now("repeat", repeats, "total_repeat_length"))
    if counts.size and counts.dtype.kind not in "iub":
        raise TypeError(f"repeat got repeats={repeats!r:.100}: it takes whole numbers")
    if counts.size and counts.min() < 0:
        raise ShapeError(f"repeat got repeats={repeats!r:.100}: they are not negative")
    if counts.size == 1:
        return _repeated_equally(a, int(counts[0]), axis)
    if counts.size != a.shape[axis]:
        raise ValueError(f"repeat got {counts.size} counts for an axis of size {a.shape[axis]}")
    return take(a, np.repeat(np.arange(counts.size), counts), axis, mode="promise_in_bounds")


@fused(static=("axis", "length"), name="repeat")
def _repeated_to_length(a: Any, repeats: Any, axis: int, length: int) -> Any:
    size = a.shape[axis]
    ends = cumsum(broadcast_to_shape(ravel(repeats), (size,)), 0)
    # A part covers the positions below its end that are past all ends before it.
    passed = ends[:, None] <= arange(length)[None, :]
    places = passed.sum(0)
    return take(a, places.clip(0, max(size - 1, 0)), axis, mode="promise_in_bounds")
