"""Lowering of gather and scatter, with what their modes do to indices out of bounds.

XLA clips the indices of a gather and drops scattered windows that are not wholly inside; the
other modes are built around that here, so that they hold eagerly and compiled alike.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.core.dimensions import is_symbolic
from jxkernel.dtypes import DType
from jxkernel.primitives.indexing.gather_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    scatter_slice_sizes,
)

__all__ = ["lower_gather", "lower_scatter"]


def _default_fill(dtype: DType) -> Any:
    if dtypes.issubdtype(dtype, np.inexact):
        return np.nan
    if dtype == np.bool_:
        return True
    bits = dtypes.itemsize_bits(dtype)
    signed = dtypes.issubdtype(dtype, np.signedinteger)
    return -(2 ** (bits - 1)) if signed else 2**bits - 1


def widened_indices(context: Any, indices: Any, aval: ShapedArray) -> tuple[Any, ShapedArray]:
    """Return indices in at least 32 bits: sizes of axes may exceed what narrower ones hold."""
    if dtypes.itemsize_bits(aval.dtype) >= 32:
        return indices, aval
    wide = aval.update(dtype=np.dtype(np.int32))
    kind = hlo.tensor_type(wide.shape, wide.dtype)
    return context.value("stablehlo.convert", kind, (indices,)), wide


def lower_gather(
    context: Any,
    x: Any,
    indices: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    fill_value: Any,
    **params: Any,
) -> Any:
    """Lower a gather; indices outside are clipped by XLA, and what they read is then replaced."""
    operand, aval = context.avals_in
    indices, aval = widened_indices(context, indices, aval)
    numbers = dimension_numbers
    attribute = hlo.parse_attribute(
        f"#stablehlo.gather<offset_dims = {list(numbers.offset_dims)}, "
        f"collapsed_slice_dims = {list(numbers.collapsed_slice_dims)}, "
        f"operand_batching_dims = {list(numbers.operand_batching_dims)}, "
        f"start_indices_batching_dims = {list(numbers.start_indices_batching_dims)}, "
        f"start_index_map = {list(numbers.start_index_map)}, index_vector_dim = {aval.ndim - 1}>"
    )
    y = context.value(
        "stablehlo.gather",
        context.out_type,
        (x, indices),
        {
            "dimension_numbers": attribute,
            "slice_sizes": hlo.dense_i64_array(slice_sizes),
            "indices_are_sorted": hlo.bool_attr(indices_are_sorted),
        },
    )
    if mode in (GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS):
        return y
    if mode is GatherScatterMode.ONE_HOT:
        fill_value = 0
    elif fill_value is None:
        fill_value = _default_fill(operand.dtype)
    limits = _limits(operand.shape, slice_sizes, numbers.start_index_map)
    return _filled(context, y, indices, aval, limits, numbers.offset_dims, fill_value)


def _limits(
    shape: Sequence[int], slice_sizes: Sequence[int], addressed: Sequence[int]
) -> tuple[int, ...]:
    """Return, for each component of an index vector, the greatest index that is inside."""
    return tuple(shape[axis] - slice_sizes[axis] for axis in addressed)


def _filled(
    context: Any,
    y: Any,
    indices: Any,
    aval: ShapedArray,
    limits: tuple[int, ...],
    offset_dims: tuple[int, ...],
    fill_value: Any,
) -> Any:
    """Replace, in what was read with indices clipped, what lies outside by a fill value."""
    out = context.avals_out[0]
    inside = _inside(context, indices, aval, limits)
    batch = tuple([axis for axis in range(out.ndim) if axis not in offset_dims])
    chosen = context.broadcast(inside, batch, out.shape, np.dtype(np.bool_))
    fill = context.splat(fill_value, out.shape, out.dtype)
    return context.value("stablehlo.select", context.out_type, (chosen, y, fill))


def _bounds(context: Any, aval: ShapedArray, limits: tuple[int, ...]) -> Any:
    """Return the limits, in the shape of the index vectors."""
    if any(map(is_symbolic, limits)):
        bounds = context.sizes(limits)
        kind = hlo.tensor_type((len(limits),), aval.dtype)
        bounds = context.value("stablehlo.convert", kind, (bounds,))
    else:
        bounds = context.constant(np.array(limits, aval.dtype))
    return context.broadcast(bounds, (aval.ndim - 1,), aval.shape, aval.dtype)


def _inside(context: Any, indices: Any, aval: ShapedArray, limits: tuple[int, ...]) -> Any:
    """Say of each index vector whether all its components lie from 0 to their limits."""
    signed = dtypes.issubdtype(aval.dtype, np.signedinteger)
    kind = "SIGNED" if signed else "UNSIGNED"
    bounds = _bounds(context, aval, limits)
    inside = context.compare(indices, bounds, "LE", aval.shape, kind)
    boolean = np.dtype(np.bool_)
    if signed:
        zero = context.splat(0, aval.shape, aval.dtype)
        positive = context.compare(indices, zero, "GE", aval.shape, kind)
        both = hlo.tensor_type(aval.shape, boolean)
        inside = context.value("stablehlo.and", both, (inside, positive))
    kept = hlo.tensor_type(aval.shape[:-1], boolean)
    if len(limits) == 1:
        return context.value("stablehlo.reshape", kept, (inside,))
    scalar = hlo.tensor_type((), boolean)
    reduction = context.op(
        "stablehlo.reduce",
        (kept,),
        (inside, context.constant(True, boolean)),
        {"dimensions": hlo.dense_i64_array((aval.ndim - 1,))},
        regions=1,
    )

    def both_hold(inner: Any, a: Any, b: Any) -> tuple[Any]:
        return (inner.value("stablehlo.and", scalar, (a, b)),)

    context.region(reduction, 0, (scalar, scalar), both_hold)
    return reduction.result


def lower_scatter(
    context: Any,
    x: Any,
    indices: Any,
    updates: Any,
    combine: str | Callable[..., Any] | None,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
) -> Any:
    """Lower a scatter; XLA drops windows that lie outside.

    ``combine`` joins an element with its update: a StableHLO operation, a function of a builder
    and both, or None to replace it.
    """
    operand, aval, update_aval = context.avals_in
    numbers = dimension_numbers
    indices, aval = widened_indices(context, indices, aval)
    if mode is GatherScatterMode.CLIP:
        sizes = scatter_slice_sizes(operand.shape, update_aval.shape, numbers)
        limits = _limits(operand.shape, sizes, numbers.scatter_dims_to_operand_dims)
        indices = _clipped(context, indices, aval, limits)
    attribute = hlo.parse_attribute(
        f"#stablehlo.scatter<update_window_dims = {list(numbers.update_window_dims)}, "
        f"inserted_window_dims = {list(numbers.inserted_window_dims)}, "
        f"input_batching_dims = {list(numbers.operand_batching_dims)}, "
        f"scatter_indices_batching_dims = {list(numbers.scatter_indices_batching_dims)}, "
        f"scatter_dims_to_operand_dims = {list(numbers.scatter_dims_to_operand_dims)}, "
        f"index_vector_dim = {aval.ndim - 1}>"
    )
    operation = context.op(
        "stablehlo.scatter",
        (context.out_type,),
        (x, indices, updates),
        {
            "scatter_dimension_numbers": attribute,
            "indices_are_sorted": hlo.bool_attr(indices_are_sorted),
            "unique_indices": hlo.bool_attr(unique_indices),
        },
        regions=1,
    )
    scalar = hlo.tensor_type((), operand.dtype)

    def body(inner: Any, old: Any, new: Any) -> tuple[Any]:
        if combine is None:
            return (new,)
        if isinstance(combine, str):
            return (inner.value(combine, scalar, (old, new)),)
        return (combine(inner, old, new),)

    context.region(operation, 0, (scalar, scalar), body)
    return operation.result


def _clipped(context: Any, indices: Any, aval: ShapedArray, limits: tuple[int, ...]) -> Any:
    """Return indices moved into their bounds."""
    kind = hlo.tensor_type(aval.shape, aval.dtype)
    greatest = _bounds(context, aval, limits)
    least = context.splat(0, aval.shape, aval.dtype)
    return context.value("stablehlo.clamp", kind, (least, indices, greatest))
