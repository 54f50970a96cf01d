"""Shape: functions that move elements about without computing with them.

All are linear.  Axes, shapes and counts are Python values; a traced one is told so.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from jxkernel._reprs import counted
from jxkernel.core.avals import array_of
from jxkernel.errors import ShapeError
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_shapes,
    broadcast_to_shape,
    check_arguments,
    joint_shape,
    static_axes,
)
from jxkernel.primitives.arguments import (
    canonical_axes,
    canonical_axis,
    listed,
    whole_number,
    whole_numbers,
)
from jxkernel.primitives.shape import reshape as ops
from jxkernel.primitives.shape.transpose import transpose as permuted
from jxkernel.primitives.sharding.constraints import with_out_sharding
from jxkernel.runtime import ArrayLike

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "matrix_transpose",
    "moveaxis",
    "ndim",
    "permute_dims",
    "ravel",
    "reshape",
    "rollaxis",
    "rot90",
    "shape",
    "size",
    "squeeze",
    "swapaxes",
    "transpose",
]


def shape(a: Any) -> tuple[int, ...]:
    """Return the sizes of the axes of an array, a number, or nested lists.

    >>> jnp.shape(jnp.ones((2, 3))), jnp.shape(5)
    ((2, 3), ())
    """
    return np.shape(array_of(a))


def ndim(a: Any) -> int:
    """Return the number of axes of an array, a number, or nested lists.

    >>> jnp.ndim(5), jnp.ndim(jnp.ones((2, 3)))
    (0, 2)
    """
    return np.ndim(array_of(a))


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """Return the number of elements of an array, or the product of its sizes along axes.

    Raises:
      AxisError: an axis does not exist.

    >>> jnp.size(jnp.ones((2, 3))), jnp.size(jnp.ones((2, 3)), axis=1)
    (6, 3)
    """
    sizes = np.shape(array_of(a))
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
    given = sizes = whole_numbers(name, "shape", given)
    unknown = [i for i, n in enumerate(sizes) if n == -1]
    if len(unknown) > 1 or any(n < -1 for n in sizes):
        raise ShapeError(f"{name} got shape {sizes}: at most one size may be -1, none less")
    if unknown:
        rest = prod(n for n in sizes if n != -1)
        filled = aval.size // rest if rest else 0
        sizes = (*sizes[: unknown[0]], filled, *sizes[unknown[0] + 1 :])
    if prod(sizes) != aval.size:
        raise ShapeError(
            f"{name} cannot give shape {given} to an array of "
            f"shape {aval.shape} and {counted(aval.size, 'element')}"
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


def reshape(
    a: ArrayLike,
    shape: Any,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: Any = None,
) -> Any:
    """Return the elements of an array in another shape.

    Args:
      a: an array or number.
      shape: an int or a sequence of ints with the same number of elements; one may be -1.
      order: ``"C"`` reads and writes the last axis fastest, ``"F"`` the first.
      copy: False is accepted only where nothing changes.
      out_sharding: how the result is divided over explicit mesh axes; where None, operands decide.

    Raises:
      TypeError: the number of elements differs.
      ValueError: several sizes are -1, or the order is unknown.
      NotImplementedError: the order is ``"A"``, which device arrays do not have.

    >>> jnp.reshape(jnp.arange(6), (2, -1))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    if out_sharding is not None:
        return with_out_sharding(reshape, (a,), out_sharding, shape, order, copy=copy)
    if order not in ("C", "F"):
        if order == "A":
            raise NotImplementedError("reshape(order='A'): device arrays have no memory order")
        raise ValueError(f"reshape got order {order!r}: it is 'C' or 'F'")
    aval = argument_aval("reshape", a)
    return _reshaped(a, _sizes("reshape", aval, shape), order)


@fused(static=("order", "out_sharding"))
def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """Return the elements of an array along one axis; arguments are those of ``reshape``.

    >>> jnp.ravel(jnp.array([[1, 2], [3, 4]]), order="F")
    Array([1, 3, 2, 4], dtype=int32)
    """
    if out_sharding is not None:
        return with_out_sharding(ravel, (a,), out_sharding, order)
    argument_aval("ravel", a)
    return reshape(a, -1 if np.size(a) else 0, "C" if order == "K" else order)


@fused(static=("axis",))
def _squeezed(a: Any, axis: tuple[int, ...]) -> Any:
    return ops.squeeze(a, axis)


def squeeze(a: ArrayLike, axis: int | Sequence[int] | None = None) -> Any:
    """Return an array without axes of size 1.

    Args:
      a: an array or number.
      axis: the axes to drop; all of size 1 where not given.

    Raises:
      ValueError: an axis does not exist or is of another size.

    >>> jnp.squeeze(jnp.ones((1, 3, 1)), axis=0).shape
    (3, 1)
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


def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Any:
    """Return an array with axes of size 1 put in.

    Args:
      a: an array or number.
      axis: where they stand in the result.

    Raises:
      ValueError: a position does not exist or is given twice.

    >>> jnp.expand_dims(jnp.array([1, 2]), (0, 2)).shape
    (1, 2, 1)
    """
    rank = argument_aval("expand_dims", a).ndim
    axes = listed(axis)
    return _expanded(a, canonical_axes("expand_dims", axes, rank + len(axes)))


@fused(static=("axes",))
def _transposed(a: Any, axes: tuple[int, ...]) -> Any:
    return permuted(a, axes)


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Any:
    """Return an array with its axes permuted.

    Args:
      a: an array or number.
      axes: for each axis of the result, the axis of ``a``; all reversed where not given.

    Raises:
      ValueError: ``axes`` is no permutation.

    >>> jnp.transpose(jnp.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    >>> jnp.transpose(jnp.ones((2, 3, 4)), (1, 0, 2)).shape
    (3, 2, 4)
    """
    rank = argument_aval("transpose", a).ndim
    if axes is None:
        return _transposed(a, tuple(range(rank - 1, -1, -1)))
    order = canonical_axes("transpose", axes, rank)
    if len(order) != rank:
        raise ShapeError(f"transpose got axes {tuple(axes)} for an array of rank {rank}")
    return _transposed(a, order)


def permute_dims(a: ArrayLike, /, axes: Sequence[int]) -> Any:
    """Return an array with its axes permuted, as ``transpose`` does; the order must be given.

    Args:
      a: an array or number.
      axes: for each axis of the result, the axis of ``a``.

    Raises:
      ValueError: ``axes`` is no permutation.

    >>> jnp.permute_dims(jnp.ones((2, 3, 4)), (1, 0, 2)).shape
    (3, 2, 4)
    """
    return transpose(a, axes)


def matrix_transpose(x: Any, /) -> Any:
    """Return an array with its last two axes exchanged.

    Raises:
      ValueError: the rank is below 2.

    >>> jnp.matrix_transpose(jnp.ones((2, 3, 4))).shape
    (2, 4, 3)
    """
    if argument_aval("matrix_transpose", x).ndim < 2:
        raise ShapeError(f"matrix_transpose needs rank 2 or more, got shape {np.shape(x)}")
    return swapaxes(x, -1, -2)


@fused(static=("axis1", "axis2"), normalized=True)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Return an array with two axes exchanged.

    Raises:
      ValueError: an axis does not exist.

    >>> jnp.swapaxes(jnp.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    rank = argument_aval("swapaxes", a).ndim
    first, second = (canonical_axis("swapaxes", axis, rank) for axis in (axis1, axis2))
    order = list(range(rank))
    order[first], order[second] = order[second], order[first]
    return permuted(a, tuple(order))


def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """Return an array with axes moved to other places; the others keep their order.

    Raises:
      ValueError: the numbers of sources and destinations differ, or an axis does not exist.

    >>> jnp.moveaxis(jnp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    return _moved(a, static_axes("moveaxis", source), static_axes("moveaxis", destination))


@fused(static=("source", "destination"), name="moveaxis")
def _moved(a: Any, source: Any, destination: Any) -> Any:
    rank = argument_aval("moveaxis", a).ndim
    sources = canonical_axes("moveaxis", listed(source), rank)
    destinations = canonical_axes("moveaxis", listed(destination), rank)
    if len(sources) != len(destinations):
        raise ValueError(f"moveaxis got {len(sources)} sources for {len(destinations)} places")
    order = [axis for axis in range(rank) if axis not in sources]
    for place, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(place, axis)
    return permuted(a, tuple(order))


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Any:
    """Return an array with one axis moved before another.

    Args:
      a: an array.
      axis: the axis to move.
      start: the axis to put it before, negative ones counted from the end; the rank, for
        the end.

    Raises:
      AxisError: there is no such axis.

    >>> jnp.rollaxis(jnp.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    rank = argument_aval("rollaxis", a).ndim
    source = canonical_axis("rollaxis", axis, rank)
    end = whole_number("rollaxis", "start", start) == rank
    place = rank if end else canonical_axis("rollaxis", start, rank, "start")
    return moveaxis(a, source, place - (place > source))


@fused(static=("axes",))
def _flipped(m: Any, axes: tuple[int, ...]) -> Any:
    return ops.rev(m, axes)


def flip(m: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Return an array with the elements along axes (all, where not given) reversed.

    Raises:
      AxisError: an axis does not exist.
      ShapeError: an axis is named twice.

    >>> jnp.flip(jnp.array([[1, 2], [3, 4]]))
    Array([[4, 3],
           [2, 1]], dtype=int32)
    """
    rank = argument_aval("flip", m).ndim
    axes = range(rank) if axis is None else listed(axis)
    return _flipped(m, canonical_axes("flip", axes, rank))


def flipud(m: Any) -> Any:
    """Return an array reversed along axis 0.

    Raises:
      ValueError: the rank is 0.

    >>> jnp.flipud(jnp.array([[1, 2], [3, 4]]))
    Array([[3, 4],
           [1, 2]], dtype=int32)
    """
    if not argument_aval("flipud", m).ndim:
        raise ValueError("flipud needs an array of rank 1 or more, got a scalar")
    return flip(m, 0)


def fliplr(m: Any) -> Any:
    """Return an array reversed along axis 1.

    Raises:
      ValueError: the rank is below 2.

    >>> jnp.fliplr(jnp.array([[1, 2], [3, 4]]))
    Array([[2, 1],
           [4, 3]], dtype=int32)
    """
    if argument_aval("fliplr", m).ndim < 2:
        raise ValueError(f"fliplr needs an array of rank 2 or more, got shape {np.shape(m)}")
    return flip(m, 1)


def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """Return an array turned by 90 degrees in a plane.

    Args:
      m: an array of rank 2 or more.
      k: how many times.
      axes: the plane; turned from the first toward the second.

    Raises:
      ValueError: the axes are the same or do not exist.

    >>> jnp.rot90(jnp.array([[1, 2], [3, 4]]))
    Array([[2, 4],
           [1, 3]], dtype=int32)
    """
    first, second = canonical_axes("rot90", axes, argument_aval("rot90", m).ndim)
    turns = whole_number("rot90", "k", k) % 4
    if turns == 0:
        return _transposed(m, tuple(range(np.ndim(m))))
    if turns == 2:
        return flip(m, (first, second))
    if turns == 1:
        return flip(swapaxes(m, first, second), first)
    return swapaxes(flip(m, first), first, second)


# ---------------------------------------------------------------- broadcasting


@fused(static=("sizes",), name="broadcast_to")
def _broadcast(a: Any, sizes: tuple[int, ...]) -> Any:
    return broadcast_to_shape(a, sizes)


def broadcast_to(array: ArrayLike, shape: Any, *, out_sharding: Any = None) -> Any:
    """Return an array repeated to a shape, axes matched from the last.

    Args:
      array: an array or number.
      shape: an int or a sequence of ints.
      out_sharding: how the result is divided over explicit mesh axes; where None, operands decide.

    Raises:
      ValueError: its shape does not broadcast to that one.

    >>> jnp.broadcast_to(jnp.array([1, 2]), (2, 2))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    if out_sharding is not None:
        return with_out_sharding(broadcast_to, (array,), out_sharding, shape)
    argument_aval("broadcast_to", array)
    sizes = whole_numbers("broadcast_to", "shape", shape)
    return _broadcast(array, sizes)


def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """Return the arrays repeated to the shape they broadcast to.

    Raises:
      ValueError: their shapes do not broadcast.

    >>> [x.tolist() for x in jnp.broadcast_arrays(jnp.array([[1], [2]]), jnp.array([3, 4]))]
    [[[1, 1], [2, 2]], [[3, 4], [3, 4]]]
    """
    check_arguments("broadcast_arrays", *args)
    joint = joint_shape("broadcast_arrays", [np.shape(arg) for arg in args])
    return tuple([_broadcast(arg, joint) for arg in args])


# ---------------------------------------------------------------- least ranks


def _each(name: str, arrays: tuple[Any, ...], convert: Any) -> Any:
    check_arguments(name, *arrays)
    results = tuple([convert(array) for array in arrays])
    return results[0] if len(results) == 1 else results


def atleast_1d(*arys: Any) -> Any:
    """Return each array (one alone, or a tuple), scalars as arrays of rank 1.

    >>> jnp.atleast_1d(jnp.array(5)).shape
    (1,)
    """
    return _each("atleast_1d", arys, lambda a: reshape(a, np.shape(a) if np.ndim(a) else (1,)))


def atleast_2d(*arys: Any) -> Any:
    """Return each array (one alone, or a tuple) with axes put in front up to rank 2.

    >>> jnp.atleast_2d(jnp.array([5, 6]))
    Array([[5, 6]], dtype=int32)
    """
    return _each("atleast_2d", arys, lambda a: reshape(a, (1,) * (2 - np.ndim(a)) + np.shape(a)))


def atleast_3d(*arys: Any) -> Any:
    """Return each array (one alone, or a tuple) made rank 3; rank 2 gets its axis at the end.

    >>> jnp.atleast_3d(jnp.array([5, 6])).shape
    (1, 2, 1)
    """

    def convert(a: Any) -> Any:
        own = np.shape(a)
        if len(own) == 0:
            return reshape(a, (1, 1, 1))
        if len(own) == 1:
            return reshape(a, (1, *own, 1))
        return reshape(a, (*own, 1) if len(own) == 2 else own)

    return _each("atleast_3d", arys, convert)
