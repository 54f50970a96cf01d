"""Slicing and padding at places known while tracing: each the transpose of the other.

Places known only when the program runs are ``dynamic_slicing``'s, general indexing is
``indexing``'s.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.zeros import UndefinedPrimal, Zero, is_linear, typed_scalar, zero_scalar
from jxkernel.errors import ShapeError
from jxkernel.primitives.arguments import (
    canonical_axis,
    integers,
    operand_aval,
    sequence,
    whole_number,
    whole_numbers,
)
from jxkernel.primitives.elementwise.arithmetic import sub
from jxkernel.primitives.elementwise.families import PYTHON_NUMBERS, number_like
from jxkernel.primitives.elementwise.select import select_n
from jxkernel.primitives.shape.broadcast import batch_to_front, broadcast_in_dim, reduce_sum
from jxkernel.primitives.shape.reshape import squeeze
from jxkernel.primitives.shape.structural import (
    joint_weak_type,
    linear_jvp,
    same_dtype,
    zero_cotangents,
)
from jxkernel.primitives.shape.transpose import MovingPrimitive, move_axis
from jxkernel.primitives.sharding import rules
from jxkernel.primitives.sharding.constraints import bind_alike
from jxkernel.runtime import ArrayLike

__all__ = ["index_in_dim", "pad", "pad_p", "slice", "slice_in_dim", "slice_p"]

PaddingConfig = tuple[tuple[int, int, int], ...]

# ---------------------------------------------------------------- slice

slice_p = MovingPrimitive("slice", element_work=1).define(sharding=rules.Linear(rules.cutting))


def slice(
    operand: ArrayLike,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Any:
    """Return the elements from ``start_indices`` up to ``limit_indices``, by ``strides``.

    Args:
      operand: an array of any dtype.
      start_indices: the first position of each axis.
      limit_indices: the position after the last, at most the axis's size.
      strides: the positive steps, 1 where not given.

    Raises:
      ValueError: a position or step does not fit its axis.

    Linear: cotangents are padded with zeros.  StableHLO ``slice``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.slice(jnp.arange(10), (1,), (8,), (3,)).tolist()
    [1, 4, 7]
    """
    steps = None if strides is None else integers("slice", "strides", strides)
    starts = integers("slice", "start_indices", start_indices)
    if steps == (1,) * len(starts):
        steps = None
    return slice_p.bind(
        operand,
        start_indices=starts,
        limit_indices=integers("slice", "limit_indices", limit_indices),
        strides=steps,
    )


@slice_p.def_abstract_eval
def _slice_abstract_eval(
    operand: ShapedArray,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> ShapedArray:
    steps = strides or (1,) * operand.ndim
    fits = len(start_indices) == len(limit_indices) == len(steps) == operand.ndim and all(
        0 <= start <= limit <= size and step > 0
        for start, limit, size, step in zip(
            start_indices, limit_indices, operand.shape, steps, strict=True
        )
    )
    if not fits:
        raise ShapeError(
            f"cannot slice shape {operand.shape} from {start_indices} to {limit_indices} by "
            f"{steps}: each axis needs 0 <= start <= limit <= size and a positive step"
        )
    shape = tuple(
        -((start - limit) // step)
        for start, limit, step in zip(start_indices, limit_indices, steps, strict=True)
    )
    return operand.update(shape=shape)


@slice_p.def_lower
def _slice_lower(
    context: Any,
    x: Any,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> Any:
    return context.value(
        "stablehlo.slice",
        context.out_type,
        (x,),
        {
            "start_indices": hlo.dense_i64_array(start_indices),
            "limit_indices": hlo.dense_i64_array(limit_indices),
            "strides": hlo.dense_i64_array(strides or (1,) * len(start_indices)),
        },
    )


@slice_p.def_transpose
def _slice_transpose(
    ct: Any,
    operand: UndefinedPrimal,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    steps = strides or (1,) * len(start_indices)
    config = tuple(
        (start, size - start - (1 + (count - 1) * step if count else 0), step - 1)
        for start, size, count, step in zip(
            start_indices, operand.shape, shape_of(ct), steps, strict=True
        )
    )
    return [pad(ct, typed_scalar(operand.dtype, 0), config)]


@slice_p.def_batch
def _slice_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int],
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> tuple[Any, int]:
    (operand,), (dim,) = args, dims
    y = slice_p.bind(
        operand,
        start_indices=(*start_indices[:dim], 0, *start_indices[dim:]),
        limit_indices=(*limit_indices[:dim], axis.size, *limit_indices[dim:]),
        strides=None if strides is None else (*strides[:dim], 1, *strides[dim:]),
    )
    return y, dim


slice_p.define(jvp=linear_jvp(slice_p))


def slice_in_dim(
    operand: Any,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Any:
    """Slice along one axis; negative positions count from its end, None means to the end.

    Raises:
      ValueError: there is no such axis, or a position does not lie in it.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.slice_in_dim(jnp.array([[1, 2, 3], [4, 5, 6]]), 1, None, axis=1).tolist()
    [[2, 3], [5, 6]]
    """
    shape = shape_of(operand)
    place = canonical_axis("slice_in_dim", axis, len(shape))
    starts, limits, steps = [0] * len(shape), list(shape), [1] * len(shape)
    size = shape[place]
    if start_index is not None:
        (start,) = whole_numbers("slice_in_dim", "start_index", start_index)
        starts[place] = start + size if start < 0 else start
    if limit_index is not None:
        (limit,) = whole_numbers("slice_in_dim", "limit_index", limit_index)
        limits[place] = limit + size if limit < 0 else limit
    (steps[place],) = whole_numbers("slice_in_dim", "stride", stride)
    if not (0 <= starts[place] <= limits[place] <= size and steps[place] > 0):
        raise ValueError(
            f"slice_in_dim got start_index={start_index}, limit_index={limit_index} and "
            f"stride={stride} for axis {place} of size {size}: the start is at most the limit, "
            "both lie in the axis, and the stride is positive"
        )
    return slice(operand, starts, limits, steps)


def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """Return the part of an array at one position of an axis.

    Args:
      operand: an array.
      index: the position; negative counts from the end.
      axis: the axis.
      keepdims: whether the axis stays, with size 1.

    Raises:
      IndexError: the axis has no such position.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.index_in_dim(jnp.array([[1, 2], [3, 4]]), -1).tolist()
    [[3, 4]]
    """
    place = canonical_axis("index_in_dim", axis, rank_of(operand))
    size = shape_of(operand)[place]
    index = whole_number("index_in_dim", "index", index)
    if not -size <= index < size:
        raise IndexError(
            f"index_in_dim got index {index}, out of bounds for axis {place} of size {size}"
        )
    start = index + size if index < 0 else index
    part = slice_in_dim(operand, start, start + 1, 1, place)
    return part if keepdims else squeeze(part, (place,))


# ---------------------------------------------------------------- pad

pad_p = MovingPrimitive("pad", element_work=1).define(sharding=rules.Linear(rules.cutting))


def pad(
    operand: ArrayLike, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]
) -> Any:
    """Put a value before, after and between the elements of an array.

    Args:
      operand: an array of any dtype.
      padding_value: a scalar of its dtype, or a Python number.
      padding_config: for each axis ``(low, high, interior)``: how many values go before the
        first element, after the last, and between neighbours.  Negative ``low`` or ``high``
        remove elements, after the interior has been filled.

    Raises:
      ValueError: the configuration does not fit the array.
      TypeError: the dtypes differ, or the value is no scalar.

    Linear in both operands.  StableHLO ``pad``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.pad(jnp.array([5, 6]), 0, [(1, 2, 1)]).tolist()
    [0, 5, 0, 6, 0, 0]
    """
    operand_aval("pad", operand)
    if type(padding_value) in PYTHON_NUMBERS:
        padding_value = number_like("pad", operand, padding_value)
    config = sequence("pad", "padding_config", padding_config, "(low, high, interior)")
    wanted = tuple([integers("pad", "padding_config", entry) for entry in config])
    return bind_alike(pad_p, (operand, padding_value), padding_config=wanted)


@pad_p.def_abstract_eval
def _pad_abstract_eval(
    operand: ShapedArray, padding_value: ShapedArray, *, padding_config: PaddingConfig
) -> ShapedArray:
    dtype = same_dtype("pad", (operand, padding_value))
    if padding_value.shape:
        raise TypeError(f"pad got a padding value of shape {padding_value.shape}: it is a scalar")
    well_formed = len(padding_config) == operand.ndim and all(
        len(entry) == 3 and entry[2] >= 0 for entry in padding_config
    )
    if not well_formed:
        raise ValueError(
            f"pad got configuration {padding_config} for shape {operand.shape}: it takes one "
            "(low, high, interior) per axis, with interior >= 0"
        )
    shape = tuple(
        low + high + size + max(size - 1, 0) * interior
        for size, (low, high, interior) in zip(operand.shape, padding_config, strict=True)
    )
    if any(size < 0 for size in shape):
        raise ValueError(
            f"pad would give shape {shape} from shape {operand.shape} by {padding_config}: "
            "negative padding removes at most what there is"
        )
    return ShapedArray(shape, dtype, joint_weak_type((operand, padding_value)))


@pad_p.def_lower
def _pad_lower(context: Any, x: Any, value: Any, *, padding_config: PaddingConfig) -> Any:
    low, high, interior = zip(*padding_config, strict=True) if padding_config else ((), (), ())
    return context.value(
        "stablehlo.pad",
        context.out_type,
        (x, value),
        {
            "edge_padding_low": hlo.dense_i64_array(low),
            "edge_padding_high": hlo.dense_i64_array(high),
            "interior_padding": hlo.dense_i64_array(interior),
        },
    )


@pad_p.def_transpose
def _pad_transpose(
    ct: Any, operand: Any, padding_value: Any, *, padding_config: PaddingConfig
) -> list[Any]:
    """Cut the operand's cotangent out; what lies outside of it belongs to the padding value."""
    if type(ct) is Zero:
        return zero_cotangents((operand, padding_value))
    inside = _unpad(ct, padding_config)
    total = None
    if is_linear(padding_value):
        everywhere = reduce_sum(ct, tuple(range(rank_of(ct))))
        total = sub(everywhere, reduce_sum(inside, tuple(range(rank_of(inside)))))
    return [inside if is_linear(operand) else None, total]


def _unpad(ct: Any, padding_config: PaddingConfig) -> Any:
    """Return the part of a padded array that came from the operand, zero where it was cut off."""
    cut = tuple((-low, -high, 0) for low, high, _ in padding_config)
    whole = pad(ct, typed_scalar(abstractify(ct).dtype, 0), cut)
    steps = [interior + 1 for _, _, interior in padding_config]
    return slice(whole, (0,) * len(cut), shape_of(whole), steps)


@pad_p.def_batch
def _pad_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    padding_config: PaddingConfig,
) -> tuple[Any, int]:
    operand, value = args
    dim = dims[0]
    if dims[1] is None:
        assert dim is not None, "one operand at least is batched"
        config = (*padding_config[:dim], (0, 0, 0), *padding_config[dim:])
        return pad(operand, value, config), dim
    operand = batch_to_front(operand, dim, axis.size)
    value = move_axis(value, dims[1], 0)
    return _pad_with_many(operand, value, ((0, 0, 0), *padding_config)), 0


def _pad_with_many(operand: Any, values: Any, padding_config: PaddingConfig) -> Any:
    """Pad each entry along axis 0 with a value of its own."""
    aval = abstractify(operand)
    padded = pad(operand, zero_scalar(aval), padding_config)
    inside = pad(broadcast_in_dim(np.True_, aval.shape, ()), np.False_, padding_config)
    return select_n(inside, broadcast_in_dim(values, shape_of(padded), (0,)), padded)


pad_p.define(jvp=linear_jvp(pad_p))
