"""Broadcasting and summing: each the transpose of the other; and the sum of two tangents.

These three stand below the regular families because every elementwise derivative needs them: a
scalar operand is broadcast, so its cotangent is summed; a value used twice gets two cotangents,
which are added.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel._lazy import late_function
from jxkernel.config import allow_f16_reductions
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.axes import Axis, sums_put_off
from jxkernel.core.primitive import Primitive
from jxkernel.core.widths import at_width
from jxkernel.core.zeros import UndefinedPrimal, Zero, is_linear, zero_scalar
from jxkernel.dtypes import DTypeLike
from jxkernel.errors import ShapeError, ShapeMismatchError
from jxkernel.primitives.arguments import integers, is_array
from jxkernel.primitives.shape.transpose import MovingPrimitive, move_axis, transpose
from jxkernel.primitives.sharding import rules
from jxkernel.primitives.sharding.constraints import reshard_like, with_out_sharding
from jxkernel.runtime import ArrayLike

__all__ = [
    "add_any",
    "add_any_p",
    "add_tangents",
    "broadcast_in_dim",
    "broadcast_in_dim_p",
    "broadcast_like",
    "filled",
    "filled_like",
    "instantiate",
    "is_short_float",
    "reduce_sum",
    "reduce_sum_p",
    "sum_to_shape",
]

goes_by_columns = late_function("jxkernel.primitives.shape.short_rows", "goes_by_columns")
lower_by_columns = late_function("jxkernel.primitives.shape.short_rows", "lower_by_columns")
rows_in_one = late_function("jxkernel.primitives.shape.few_columns", "rows_in_one")

# ---------------------------------------------------------------- broadcast_in_dim

broadcast_in_dim_p = MovingPrimitive("broadcast_in_dim", element_work=1).define(
    sharding=rules.Linear(rules.broadcasting)
)


def broadcast_in_dim(
    operand: Any,
    shape: tuple[int, ...],
    broadcast_dimensions: tuple[int, ...],
    *,
    out_sharding: Any = None,
) -> Any:
    """Place the axes of an array among the axes of a larger shape and repeat it along the rest.

    Args:
      operand: an array of any dtype.
      shape: the result's shape.
      broadcast_dimensions: for each axis of ``operand``, the axis of the result it becomes; its
        size is 1 or that of the result's axis.  Where they do not increase, ``operand`` is
        transposed first.
      out_sharding: how the result is divided over explicit mesh axes; where None, operands decide.

    Raises:
      ValueError: the dimensions do not fit.

    The derivative is linear: cotangents are summed over the repeated axes.  StableHLO
    ``broadcast_in_dim``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.broadcast_in_dim(jnp.array([4, 5]), (3, 2), (1,)).tolist()
    [[4, 5], [4, 5], [4, 5]]
    >>> lax.broadcast_in_dim(jnp.array([4, 5]), (2, 3), (0,)).tolist()
    [[4, 4, 4], [5, 5, 5]]
    """
    if out_sharding is not None:
        how = (shape, broadcast_dimensions)
        return with_out_sharding(broadcast_in_dim, (operand,), out_sharding, *how)
    dims = integers("broadcast_in_dim", "broadcast_dimensions", broadcast_dimensions)
    if len(dims) == rank_of(operand) and any(a > b for a, b in pairwise(dims)):
        order = sorted(range(len(dims)), key=dims.__getitem__)
        operand, dims = transpose(operand, tuple(order)), tuple(sorted(dims))
    return broadcast_in_dim_p.bind(
        operand,
        shape=integers("broadcast_in_dim", "shape", shape),
        broadcast_dimensions=dims,
    )


@broadcast_in_dim_p.def_abstract_eval
def _broadcast_in_dim_abstract_eval(
    operand: ShapedArray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> ShapedArray:
    dims = broadcast_dimensions
    fits = (
        len(dims) == operand.ndim
        and all(0 <= dim < len(shape) for dim in dims)
        and all(a < b for a, b in pairwise(dims))
        and all(size in (1, shape[dim]) for size, dim in zip(operand.shape, dims, strict=True))
    )
    if any(size < 0 for size in shape):
        raise ShapeError(f"broadcast_in_dim got shape {shape}: sizes are not negative")
    if not fits:
        raise ShapeError(
            f"broadcast_in_dim cannot place shape {operand.shape} at dimensions {dims} of shape "
            f"{shape}: dimensions must differ, and sizes be equal or 1"
        )
    return operand.update(shape=shape)


@broadcast_in_dim_p.def_lower
def _broadcast_in_dim_lower(
    context: Any, x: Any, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> Any:
    return context.broadcast(x, broadcast_dimensions, shape, context.avals_out[0].dtype)


@broadcast_in_dim_p.def_jvp
def _broadcast_in_dim_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    return (
        broadcast_in_dim_p.bind(*primals, **params),
        broadcast_in_dim_p.bind(*tangents, **params),
    )


@broadcast_in_dim_p.def_transpose
def _broadcast_in_dim_transpose(
    ct: Any,
    operand: UndefinedPrimal,
    *,
    shape: tuple[int, ...],
    broadcast_dimensions: tuple[int, ...],
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    expanded = tuple(
        dim
        for size, dim in zip(operand.shape, broadcast_dimensions, strict=True)
        if size == 1 and shape[dim] != 1
    )
    new = tuple(axis for axis in range(len(shape)) if axis not in broadcast_dimensions)
    summed = reduce_sum(ct, axes=tuple(sorted(expanded + new)))
    if not expanded:
        return [summed]
    kept = [axis for axis, dim in enumerate(broadcast_dimensions) if dim not in expanded]
    return [broadcast_in_dim(summed, operand.shape, tuple(kept))]


@broadcast_in_dim_p.def_batch
def _broadcast_in_dim_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int],
    *,
    shape: tuple[int, ...],
    broadcast_dimensions: tuple[int, ...],
) -> tuple[Any, int]:
    operand = move_axis(args[0], dims[0], 0)
    moved = (0, *(dim + 1 for dim in broadcast_dimensions))
    return broadcast_in_dim(operand, (axis.size, *shape), moved), 0


# ---------------------------------------------------------------- reduce_sum

reduce_sum_p = Primitive("reduce_sum").define(sharding=rules.Linear(rules.reducing))


def reduce_sum(operand: ArrayLike, axes: tuple[int, ...], *, out_sharding: Any = None) -> Any:
    """Sum an array over axes, in its own dtype (16-bit floats accumulate in float32).

    Args:
      operand: an array of a numeric dtype.
      axes: the axes to sum over, non-negative and distinct.
      out_sharding: how the result is divided over explicit mesh axes; where None, operands decide.

    Raises:
      ValueError: an axis is out of range or repeated.
      TypeError: the dtype is not numeric.

    The derivative is linear: cotangents are broadcast back.  StableHLO ``reduce`` with ``add``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.reduce_sum(jnp.array([[1, 2], [30, 40]]), (0,)).tolist()
    [31, 42]
    """
    if out_sharding is not None:
        return with_out_sharding(reduce_sum, (operand,), out_sharding, axes)
    axes = integers("reduce_sum", "axes", axes)
    if not axes and is_array(operand):
        return operand
    if not allow_f16_reductions.value:
        _refuse_short_floats(operand)
    return reduce_sum_p.bind(operand, axes=axes, **sums_put_off(operand, axes))


def is_short_float(dtype: DTypeLike) -> bool:
    """Whether a dtype is one of floats of 16 bits."""
    return dtype.name in ("float16", "bfloat16")


def _refuse_short_floats(operand: Any) -> None:
    """Refuse to sum 16-bit floats, under ``allow_f16_reductions(False)``.

    Raises:
      ValueError: the operand is of such.
    """
    aval = abstractify(operand)
    if is_short_float(aval.dtype):
        raise ValueError(
            f"reduce_sum got {aval.short()}, and allow_f16_reductions is off: sum it as float32, "
            "jxkernel.numpy.sum(x), or convert it first"
        )


def reduced_shape(name: str, aval: ShapedArray, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape without the reduced axes, checking them."""
    if len(set(axes)) != len(axes) or not all(0 <= axis < aval.ndim for axis in axes):
        raise ValueError(
            f"{name} got axes {axes} for an array of shape {aval.shape}: axes are distinct and "
            f"from 0 to {aval.ndim - 1}"
        )
    return tuple(size for axis, size in enumerate(aval.shape) if axis not in axes)


@reduce_sum_p.def_abstract_eval
def _reduce_sum_abstract_eval(
    operand: ShapedArray, *, axes: tuple[int, ...], unreduced: tuple[Any, ...] = ()
) -> ShapedArray:
    if not dtypes.issubdtype(operand.dtype, np.number):
        raise TypeError(
            f"reduce_sum does not accept dtype {operand.dtype.name}: it takes number dtypes"
        )
    return operand.update(shape=reduced_shape("reduce_sum", operand, axes))


def lower_reduction(
    context: Any,
    x: hlo.Value,
    axes: tuple[int, ...],
    operation: str,
    start: Any,
    wide: Any = None,
) -> Any:
    """Append a reduction by one binary operation, accumulating in dtype ``wide``.

    Args:
      context: the lowering context; its one operand and result give the types.
      x: the operand's value.
      axes: the axes to reduce.
      operation: the StableHLO name of the binary operation.
      start: its neutral element.
      wide: the dtype to accumulate in, where not the operand's own.
    """
    aval = context.avals_in[0]
    if wide is not None:
        x = context.value("stablehlo.convert", hlo.tensor_type(aval.shape, wide), (x,))
    value = append_reduction(
        context, x, aval.update(dtype=wide or aval.dtype), axes, operation, start
    )
    if wide is not None:
        value = context.value("stablehlo.convert", context.out_type, (value,))
    return value


def append_reduction(
    context: Any, x: Any, aval: ShapedArray, axes: tuple[int, ...], operation: str, start: Any
) -> Any:
    """Append the reduction of a value of any type; see ``lower_reduction``."""
    dtype = aval.dtype
    if goes_by_columns(context, aval, axes, operation):
        return lower_by_columns(context, x, aval, axes, operation)
    rows = rows_in_one(context, aval, axes, operation)
    if rows:
        return _reduce_wide_rows(context, x, aval, axes, operation, start, rows)
    scalar = hlo.tensor_type((), dtype)
    left = tuple([size for axis, size in enumerate(aval.shape) if axis not in axes])
    reduction = context.op(
        "stablehlo.reduce",
        (hlo.tensor_type(left, dtype),),
        (x, context.constant(start, dtype)),
        {"dimensions": hlo.dense_i64_array(tuple(axes))},
        regions=1,
    )

    def step(inner: Any, a: Any, b: Any) -> tuple[Any]:
        return (inner.value(operation, scalar, (a, b)),)

    context.region(reduction, 0, (scalar, scalar), step)
    return reduction.result


def _reduce_wide_rows(
    context: Any,
    x: Any,
    aval: ShapedArray,
    axes: tuple[int, ...],
    operation: str,
    start: Any,
    rows: int,
) -> Any:
    """Append a reduction down columns in two steps: of rows that are so many, then of these."""
    shape, dtype = aval.shape, aval.dtype
    before, after = prod(shape[: min(axes)]), prod(shape[max(axes) + 1 :])
    wide = aval.update(shape=(before, prod(shape) // (before * rows * after), rows * after))
    few = aval.update(shape=(before, rows, after))
    x = context.value("stablehlo.reshape", hlo.tensor_type(wide.shape, dtype), (x,))
    x = context.value("stablehlo.optimization_barrier", x.type, (x,))
    x = append_reduction(context, x, wide, (1,), operation, start)
    # XLA would make one reduction of the two.
    x = context.value("stablehlo.optimization_barrier", x.type, (x,))
    x = context.value("stablehlo.reshape", hlo.tensor_type(few.shape, dtype), (x,))
    x = append_reduction(context, x, few, (1,), operation, start)
    left = tuple([size for axis, size in enumerate(shape) if axis not in axes])
    return context.value("stablehlo.reshape", hlo.tensor_type(left, dtype), (x,))


def accumulation_dtype(dtype: DTypeLike) -> Any:
    """Return float32 for the floats narrower than it, else None."""
    narrow = dtypes.issubdtype(dtype, np.floating) and dtype.itemsize < 4
    return np.dtype(np.float32) if narrow else None


@reduce_sum_p.def_lower
def _reduce_sum_lower(
    context: Any, x: Any, *, axes: tuple[int, ...], unreduced: tuple[Any, ...] = ()
) -> Any:
    wide = accumulation_dtype(context.avals_in[0].dtype)
    return lower_reduction(context, x, axes, "stablehlo.add", 0, wide)


@reduce_sum_p.def_jvp
def _reduce_sum_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    return reduce_sum_p.bind(*primals, **params), reduce_sum_p.bind(*tangents, **params)


@reduce_sum_p.def_transpose
def _reduce_sum_transpose(
    ct: Any, operand: UndefinedPrimal, *, axes: tuple[int, ...], unreduced: tuple[Any, ...] = ()
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    kept = tuple(axis for axis in range(len(operand.shape)) if axis not in axes)
    return [broadcast_in_dim(ct, operand.shape, kept)]


def batch_reduction(primitive: Primitive) -> Any:
    """Return the batching rule of a reduction with a parameter ``axes``."""

    def batch(
        axis: Axis, args: Sequence[Any], dims: Sequence[int], *, axes: tuple[int, ...], **rest: Any
    ) -> tuple[Any, int]:
        (operand,), (dim,) = args, dims
        moved = tuple(a + (a >= dim) for a in axes)
        result_dim = dim - sum(a < dim for a in moved)
        return primitive.bind(operand, axes=moved, **rest), result_dim

    return batch


reduce_sum_p.define(batch=batch_reduction(reduce_sum_p))


# ---------------------------------------------------------------- add_any

add_any_p = Primitive("add_any", element_work=1).define(sharding=rules.Linear(rules.elementwise))


def add_any(x: Any, y: Any) -> Any:
    """Add two tangents or cotangents of one type.  StableHLO ``add``; linear in both."""
    return add_any_p.bind(x, y)


@add_any_p.def_abstract_eval
def _add_any_abstract_eval(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    if x.shape != y.shape or x.dtype != y.dtype:
        raise ShapeMismatchError("add_any", [x.shape, y.shape], "tangents of one value agree")
    return x if y.weak_type else y


@add_any_p.def_lower
def _add_any_lower(context: Any, x: Any, y: Any) -> Any:
    return context.value("stablehlo.add", context.out_type, (x, y))


@add_any_p.def_jvp
def _add_any_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    return add_any(*primals), add_tangents(*tangents)


@add_any_p.def_transpose
def _add_any_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    return [ct if is_linear(operand) else None for operand in (x, y)]


@add_any_p.def_batch
def _add_any_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[Any, int | None]:
    if dims[0] == dims[1]:
        return add_any(*args), dims[0]
    return add_any(*(batch_to_front(a, d, axis.size) for a, d in zip(args, dims, strict=True))), 0


def batch_to_front(x: Any, bdim: int | None, size: int) -> Any:
    """Return an array with the batch axis first, adding the axis where there is none."""
    if bdim is not None:
        return move_axis(x, bdim, 0)
    shape = shape_of(x)
    return broadcast_in_dim(x, (size, *shape), tuple(range(1, len(shape) + 1)))


# ---------------------------------------------------------------- helpers of derivative rules


def filled(shape: tuple[int, ...], scalar: Any) -> Any:
    """Return a NumPy or Python scalar (its dtype is kept) repeated over a shape."""
    return broadcast_in_dim(scalar, shape, ()) if shape else scalar


def instantiate(tangent: Any) -> Any:
    """Return a tangent as an array, making the zeros of a symbolic one."""
    if type(tangent) is not Zero:
        return tangent
    aval = tangent.aval
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    with at_width((aval,)):
        zeros = broadcast_in_dim(zero_scalar(aval), aval.shape, ())
    return reshard_like(zeros, aval)


def add_tangents(x: Any, y: Any) -> Any:
    """Add two tangents, either of which may be a symbolic zero."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else add_any(x, y)


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Any:
    """Return an array repeated over the shape of another, axes matched from the last on.

    Args:
      arr: the array, or a number.
      like_arr: an array of the wanted shape.

    Axes of size 1 are repeated, and new ones are added in front.

    Raises:
      TypeError: one of them is no array and no number.
      ShapeError: ``arr`` has more axes, or a size that is neither 1 nor the wanted one.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.broadcast_like(2.5, jnp.zeros(3)).tolist()
    [2.5, 2.5, 2.5]
    """
    shape, aval = abstractify(like_arr).shape, abstractify(arr)
    rank = len(aval.shape)
    if rank > len(shape):
        raise ShapeError(f"broadcast_like cannot broadcast {aval.short()} to shape {shape}")
    return broadcast_in_dim(arr, shape, tuple(range(len(shape) - rank, len(shape))))


def filled_like(arr: Any, like_arr: Any) -> Any:
    """Return a scalar repeated over the shape of another; what has that shape as it is.

    Axes of size 1 are repeated too, where the ranks agree.
    """
    shape, own = shape_of(like_arr), shape_of(arr)
    if own == shape:
        return arr
    return broadcast_in_dim(arr, shape, tuple(range(len(own))) if len(own) == len(shape) else ())


def sum_to_shape(ct: Any, shape: tuple[int, ...]) -> Any:
    """Return a cotangent summed to a scalar where the operand was one, or along axes of size 1."""
    current = shape_of(ct)
    if current == shape:
        return ct
    if not shape:
        return reduce_sum(ct, axes=tuple(range(len(current))))
    kept = tuple([i for i, size in enumerate(shape) if size == current[i]])
    repeated = tuple([i for i in range(len(shape)) if i not in kept])
    return broadcast_in_dim(reduce_sum(ct, axes=repeated), shape, kept)
