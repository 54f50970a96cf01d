"""Depthwise convolutions, in which each feature has a kernel of its own, tap by tap.

XLA's CPU convolution takes one product after the other where features are in groups.  A depthwise
convolution is a sum of few products of arrays instead: a tap of all windows (``conv/taps.py``) by
the kernel's element there, which is a number for each feature.
"""

from itertools import product
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.core.dimensions import is_symbolic
from jxkernel.primitives.conv.reduce_window import Window
from jxkernel.primitives.conv.taps import tap_arrays
from jxkernel.primitives.shape.broadcast import accumulation_dtype

__all__ = ["is_depthwise", "lower_depthwise"]

_MOST_TAPS = 49
_LEAST_WORK = 1 << 14
"""The products from which a call saves what compiling a loop costs within a few hundred calls."""


def is_depthwise(context: Any, window: Any) -> bool:
    """Return whether each feature is convolved by itself, and sooner tap by tap."""
    lhs, rhs, out = *context.avals_in, context.avals_out[0]
    lhs_spec, rhs_spec, _ = window.dimension_numbers
    if context.module.platform != "cpu" or context.module.partitioned:
        return False
    if any(map(is_symbolic, (*lhs.shape, *rhs.shape, *out.shape))):
        return False
    features = lhs.shape[lhs_spec[1]]
    return (
        1 < features == window.feature_group_count == rhs.shape[rhs_spec[0]]
        and dtypes.issubdtype(out.dtype, np.floating)
        and rhs.size <= _MOST_TAPS * features
        and out.size * rhs.size >= _LEAST_WORK * features
    )


def lower_depthwise(context: Any, x: Any, y: Any, window: Any) -> Any:
    """Append the sum of products.

    Args:
      context: the lowering context.
      x: the operand's value.
      y: the kernel's value.
      window: how the kernel slides, and the axes of both.
    """
    lhs, rhs, out = *context.avals_in, context.avals_out[0]
    dtype = accumulation_dtype(out.dtype) or out.dtype
    x, y = (_converted(context, v, aval, dtype) for v, aval in ((x, lhs), (y, rhs)))
    lhs_spec, rhs_spec, out_spec = window.dimension_numbers
    windows = _windows(window, rhs)
    shape = windows.result_shape(lhs.shape)
    kind = hlo.tensor_type(shape, dtype)
    places = product(*[range(rhs.shape[axis]) for axis in rhs_spec[2:]])
    by_place = sorted(places, key=lambda place: _in_order(lhs_spec, (0, 0, *place)))
    found = None
    arrays = tap_arrays(context, x, lhs.update(dtype=dtype), windows, 0)
    for place, elements in zip(by_place, arrays, strict=True):
        weights = _weights(context, y, rhs, dtype, rhs_spec, place)
        weights = context.broadcast(weights, (lhs_spec[1],), shape, dtype)
        part = context.value("stablehlo.multiply", kind, (elements, weights))
        found = part if found is None else context.value("stablehlo.add", kind, (found, part))
    found = _converted(context, found, ShapedArray(shape, dtype), out.dtype)
    order = _in_order(out_spec, lhs_spec)
    if order == tuple(range(out.ndim)):
        return found
    permutation = {"permutation": hlo.dense_i64_array(order)}
    return context.value("stablehlo.transpose", context.out_type, (found,), permutation)


def _windows(window: Any, rhs: ShapedArray) -> Window:
    """Return the windows on the operand's own axes."""
    lhs_spec, rhs_spec, _ = window.dimension_numbers
    kernel: list[int] = [rhs.shape[axis] for axis in rhs_spec[2:]]

    def on_axes(values: tuple[Any, ...], other: Any = 1) -> tuple[Any, ...]:
        return _in_order(lhs_spec, (other, other, *values))

    return Window(
        on_axes(tuple(kernel)),
        on_axes(window.window_strides),
        on_axes(window.padding, (0, 0)),
        on_axes(window.lhs_dilation),
        on_axes(window.rhs_dilation),
    )


def _in_order(spec: Any, values: Any) -> tuple[Any, ...]:
    """Return values given for batch, features and spatial axes in the order of the axes."""
    found = [None] * len(spec)
    for axis, value in zip(spec, values, strict=True):
        found[axis] = value
    return tuple(found)


def _weights(
    context: Any, y: Any, rhs: ShapedArray, dtype: Any, spec: Any, place: tuple[int, ...]
) -> Any:
    """Append the kernel's elements at one place, one for each feature."""
    starts = _in_order(spec, (0, 0, *place))
    ends = _in_order(spec, (rhs.shape[spec[0]], 1, *[at + 1 for at in place]))
    sizes = tuple([end - start for start, end in zip(starts, ends, strict=True)])
    bounds = {
        "start_indices": hlo.dense_i64_array(starts),
        "limit_indices": hlo.dense_i64_array(ends),
        "strides": hlo.dense_i64_array((1,) * len(sizes)),
    }
    part = context.value("stablehlo.slice", hlo.tensor_type(sizes, dtype), (y,), bounds)
    return context.value("stablehlo.reshape", hlo.tensor_type((prod(sizes),), dtype), (part,))


def _converted(context: Any, value: Any, aval: ShapedArray, dtype: Any) -> Any:
    if aval.dtype == dtype:
        return value
    return context.value("stablehlo.convert", hlo.tensor_type(aval.shape, dtype), (value,))
