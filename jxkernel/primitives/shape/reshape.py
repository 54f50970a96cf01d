"""Shape: other views of the same elements, in another shape or order.

All are linear, and their transposes are among themselves.  Broadcasting and the permutation of
axes stand in ``broadcast``, cutting and padding in ``slicing``, joining in ``joining``.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray, rank_of, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.zeros import UndefinedPrimal, Zero
from jxkernel.errors import ShapeError
from jxkernel.primitives.arguments import (
    canonical_axes,
    integers,
    is_array,
    operand_aval,
    whole_number,
    whole_numbers,
)
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.primitives.shape.structural import linear_jvp
from jxkernel.primitives.shape.transpose import MovingPrimitive, move_axis, transpose
from jxkernel.primitives.sharding import rules
from jxkernel.primitives.sharding.constraints import with_out_sharding
from jxkernel.runtime import ArrayLike

__all__ = [
    "broadcast",
    "broadcast_shapes",
    "broadcast_to_rank",
    "collapse",
    "expand_dims",
    "reshape",
    "reshape_p",
    "rev",
    "rev_p",
    "shape_as_value",
    "squeeze",
    "squeeze_p",
]

# ---------------------------------------------------------------- reshape

reshape_p = MovingPrimitive("reshape", element_work=1).define(
    sharding=rules.Linear(rules.reshaping)
)


def reshape(
    operand: ArrayLike,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return the elements of an array, in row-major order, in another shape of the same size.

    Args:
      operand: an array of any dtype.
      new_sizes: the result's shape.
      dimensions: an order of the operand's axes in which to read it, if not its own.
      out_sharding: how the result is divided over explicit mesh axes; where None, operands decide.

    Raises:
      TypeError: the sizes differ, or ``dimensions`` is no permutation.

    Linear: cotangents are reshaped back.  StableHLO ``reshape``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.reshape(jnp.arange(6), (3, 2)).tolist()
    [[0, 1], [2, 3], [4, 5]]
    >>> lax.reshape(jnp.arange(6).reshape(2, 3), (6,), dimensions=(1, 0)).tolist()
    [0, 3, 1, 4, 2, 5]
    """
    if out_sharding is not None:
        return with_out_sharding(reshape, (operand,), out_sharding, new_sizes, dimensions)
    shape = whole_numbers("reshape", "new_sizes", new_sizes)
    if dimensions is not None:
        operand = transpose(operand, integers("reshape", "dimensions", dimensions))
    if shape_of(operand) == shape and is_array(operand):
        return operand
    return reshape_p.bind(operand, new_sizes=shape, dimensions=None)


@reshape_p.def_abstract_eval
def _reshape_abstract_eval(
    operand: ShapedArray, *, new_sizes: tuple[int, ...], dimensions: None
) -> ShapedArray:
    if prod(new_sizes) != operand.size or any(size < 0 for size in new_sizes):
        raise ShapeError(
            f"cannot reshape array of shape {operand.shape} (size {operand.size}) into shape "
            f"{new_sizes} (size {prod(new_sizes)}): sizes must be equal, and none negative"
        )
    return operand.update(shape=new_sizes)


@reshape_p.def_lower
def _reshape_lower(context: Any, x: Any, **params: Any) -> Any:
    return context.value("stablehlo.reshape", context.out_type, (x,))


def _transpose_by_shape(ct: Any, operand: UndefinedPrimal, **params: Any) -> list[Any]:
    """Transpose ``reshape`` and ``squeeze``: give the cotangent the operand's shape."""
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    return [reshape(ct, operand.shape)]


@reshape_p.def_batch
def _reshape_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, new_sizes: tuple[int, ...], **rest: Any
) -> tuple[Any, int]:
    return reshape(move_axis(args[0], dims[0], 0), (axis.size, *new_sizes)), 0


reshape_p.define(jvp=linear_jvp(reshape_p), transpose=_transpose_by_shape)


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """Return an array with the axes from ``start_dimension`` up to ``stop_dimension`` as one.

    The range is read as that of a slice; an empty one gives a new axis of size 1.

    Raises:
      ShapeError: the range is reversed.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.collapse(jnp.ones((2, 3, 4, 5)), 1, 3).shape
    (2, 12, 5)
    """
    shape = operand_aval("collapse", operand).shape
    first, last = (
        None if place is None else whole_number("collapse", argument, place)
        for argument, place in (
            ("start_dimension", start_dimension),
            ("stop_dimension", stop_dimension),
        )
    )
    start, stop, _ = slice(first, last).indices(len(shape))
    if start > stop:
        raise ShapeError(
            f"collapse got axes {start_dimension} to {stop_dimension} of shape {shape}: the range "
            "is reversed"
        )
    return reshape(operand, (*shape[:start], prod(shape[start:stop]), *shape[stop:]))


# ---------------------------------------------------------------- squeeze, expand_dims

squeeze_p = MovingPrimitive("squeeze", element_work=1).define(
    sharding=rules.Linear(rules.squeezing)
)


def squeeze(array: Any, dimensions: Sequence[int]) -> Any:
    """Remove axes of size 1.

    Raises:
      ValueError: an axis does not exist, is named twice, or has another size.

    Linear: the axes come back.  StableHLO ``reshape``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.squeeze(jnp.ones((1, 3, 1)), (0,)).shape
    (3, 1)
    """
    axes = canonical_axes("squeeze", dimensions, rank_of(array))
    if not axes and is_array(array):
        return array
    return squeeze_p.bind(array, dimensions=tuple(sorted(axes)))


@squeeze_p.def_abstract_eval
def _squeeze_abstract_eval(operand: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    if any(operand.shape[axis] != 1 for axis in dimensions):
        raise ShapeError(
            f"cannot squeeze axes {dimensions} of shape {operand.shape}: their sizes must be 1"
        )
    kept = [size for axis, size in enumerate(operand.shape) if axis not in dimensions]
    return operand.update(shape=tuple(kept))


@squeeze_p.def_lower
def _squeeze_lower(context: Any, x: Any, *, dimensions: tuple[int, ...]) -> Any:
    return context.value("stablehlo.reshape", context.out_type, (x,))


@squeeze_p.def_batch
def _squeeze_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, dimensions: tuple[int, ...]
) -> tuple[Any, int]:
    dim = dims[0]
    result = squeeze(args[0], [place + (place >= dim) for place in dimensions])
    return result, dim - sum(place < dim for place in dimensions)


squeeze_p.define(jvp=linear_jvp(squeeze_p), transpose=_transpose_by_shape)


def expand_dims(array: Any, dimensions: Sequence[int]) -> Any:
    """Insert axes of size 1 at the given places of the result.

    Raises:
      ValueError: a place does not exist or is named twice.

    Linear.  StableHLO ``broadcast_in_dim``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.expand_dims(jnp.ones((3, 4)), (0, 2)).shape
    (1, 3, 1, 4)
    """
    shape = operand_aval("expand_dims", array).shape
    dimensions = integers("expand_dims", "dimensions", dimensions)
    count = len(dimensions)
    places = canonical_axes("expand_dims", dimensions, len(shape) + count)
    if not places and is_array(array):
        return array
    kept = tuple([axis for axis in range(len(shape) + count) if axis not in places])
    sizes = [1] * (len(shape) + count)
    for axis, size in zip(kept, shape, strict=True):
        sizes[axis] = size
    return broadcast_in_dim(array, tuple(sizes), kept)


# ---------------------------------------------------------------- broadcasting as NumPy does


def broadcast(operand: ArrayLike, sizes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """Add leading axes of the given sizes, along which the array is repeated.

    Args:
      operand: an array.
      sizes: the sizes of the new axes.
      out_sharding: how the result is divided over explicit mesh axes; where None, operands decide.

    Linear: cotangents are summed over the new axes.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.broadcast(jnp.array([1, 2]), (2,)).tolist()
    [[1, 2], [1, 2]]
    """
    if out_sharding is not None:
        return with_out_sharding(broadcast, (operand,), out_sharding, sizes)
    shape = operand_aval("broadcast", operand).shape
    new = integers("broadcast", "sizes", sizes)
    places = tuple(range(len(new), len(new) + len(shape)))
    return broadcast_in_dim(operand, (*new, *shape), places)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to: aligned at the end, sizes equal or 1.

    Raises:
      TypeError: a shape is no sequence of whole numbers.
      ShapeError: a size is negative.
      ValueError: two sizes of one axis differ and neither is 1.

    >>> from jxkernel import lax
    >>> lax.broadcast_shapes((5, 1), (3,))
    (5, 3)
    >>> lax.broadcast_shapes((5, 2), (3,))
    Traceback (most recent call last):
        ...
    ValueError: ...
    """
    given = [whole_numbers("broadcast_shapes", "shapes", shape) for shape in shapes]
    if any(size < 0 for shape in given for size in shape):
        raise ShapeError(f"broadcast_shapes got shapes {given}: sizes are not negative")
    rank = max(map(len, given), default=0)
    aligned = [(1,) * (rank - len(shape)) + shape for shape in given]
    result: list[int] = []
    for sizes in zip(*aligned, strict=True):
        wide = {size for size in sizes if size != 1}
        if len(wide) > 1:
            listed = ", ".join(map(str, given))
            raise ValueError(f"Incompatible shapes for broadcasting: {listed}")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """Add leading axes of size 1 until an array has the given rank, if it has fewer axes.

    An array of that rank or a greater one is given back as it is.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.broadcast_to_rank(jnp.ones((4, 2)), 3).shape
    (1, 4, 2)
    """
    missing = whole_number("broadcast_to_rank", "rank", rank) - rank_of(x)
    return expand_dims(x, range(missing)) if missing > 0 else x


# ---------------------------------------------------------------- rev

rev_p = MovingPrimitive("rev", element_work=1).define(sharding=rules.Linear(rules.same))


def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """Reverse an array along axes.

    Raises:
      ValueError: an axis does not exist or is named twice.

    Linear, and its own transpose.  StableHLO ``reverse``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.rev(jnp.array([[1, 2], [3, 4]]), (1,)).tolist()
    [[2, 1], [4, 3]]
    """
    return rev_p.bind(operand, dimensions=integers("rev", "dimensions", dimensions))


@rev_p.def_abstract_eval
def _rev_abstract_eval(operand: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    canonical_axes("rev", dimensions, operand.ndim)
    if any(axis < 0 for axis in dimensions):
        raise ValueError(f"rev got axes {dimensions}: axes are counted from the front")
    return operand


@rev_p.def_lower
def _rev_lower(context: Any, x: Any, *, dimensions: tuple[int, ...]) -> Any:
    return context.value(
        "stablehlo.reverse",
        context.out_type,
        (x,),
        {"dimensions": hlo.dense_i64_array(dimensions)},
    )


@rev_p.def_transpose
def _rev_transpose(ct: Any, operand: UndefinedPrimal, *, dimensions: tuple[int, ...]) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    return [rev(ct, dimensions)]


@rev_p.def_batch
def _rev_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, dimensions: tuple[int, ...]
) -> tuple[Any, int]:
    dim = dims[0]
    return rev(args[0], [a + (a >= dim) for a in dimensions]), dim


rev_p.define(jvp=linear_jvp(rev_p))


def shape_as_value(shape: Sequence[int]) -> Any:
    """Return a shape as a vector of int32.

    Args:
      shape: sizes, known while tracing.

    >>> from jxkernel import lax
    >>> lax.shape_as_value((2, 5)).tolist()
    [2, 5]
    """
    return np.asarray(integers("shape_as_value", "shape", shape), np.int32)
