"""Lowering of cumulative operations: a loop over positions, or a windowed reduction.

XLA compiles the loop to native code that updates the result in place, at a few nanoseconds per
position, and vectorises its body over the other axes.  Axes that are long, or that would be moved
to the front, are walked in a kernel of its own (``cumulative_kernel``).  To begin a loop takes it
longer than the quadratic work of a windowed reduction of a few numbers.
"""

from collections.abc import Callable, Sequence
from math import gcd, prod
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.core.dimensions import is_symbolic
from jxkernel.dtypes import DType, DTypeLike
from jxkernel.primitives.reduction.cumulative_kernel import Accumulation
from jxkernel.primitives.shape.transpose import inverse_permutation

__all__ = ["Combine", "lower_cumulative"]

Combine = Callable[[Any, ShapedArray, Any, Any], Any]
"""``(builder, aval, a, b) -> value``: joins accumulated values with the next, both of one type."""

_BLOCK = 1000
"""The longest axis that one loop walks; measured, and a bound on the growth of rounding errors.

It is no power of two, for blocks that lie so far apart would share few lines of a cache.
"""

_WAYS, _PAGE = 8, 4096
"""Of a processor's first cache: how many lines it has for addresses that differ by a page."""

_LARGE = 1 << 16
"""From this size on, moving the axis to the front costs less than strided access to it."""

_FEW = 512
"""Up to that many additions a windowed reduction takes less time than a loop begins in."""

_INT = np.dtype(np.int32)


class _Cumulation:
    """What the steps of one lowering share: where to emit, how to combine, which numbers."""

    def __init__(self, context: Any, combine: Combine, start: Any, dtype: Any, light: bool) -> None:
        self.context = context
        self.combine = combine
        self.light = light
        self.start = start
        self.dtype = dtype

    def combined(self, builder: Any, shape: tuple[int, ...], a: Any, b: Any) -> Any:
        return self.combine(builder, ShapedArray(shape, self.dtype), a, b)

    def kind(self, shape: tuple[int, ...]) -> Any:
        return hlo.tensor_type(shape, self.dtype)

    def reshape(self, x: Any, shape: tuple[int, ...]) -> Any:
        return self.context.value("stablehlo.reshape", self.kind(shape), (x,))

    def transpose(self, x: Any, shape: tuple[int, ...], order: Sequence[int]) -> Any:
        return self.context.value(
            "stablehlo.transpose",
            self.kind(tuple(shape[axis] for axis in order)),
            (x,),
            {"permutation": hlo.dense_i64_array(tuple(order))},
        )

    def reverse(self, x: Any, shape: tuple[int, ...], axis: int) -> Any:
        attributes = {"dimensions": hlo.dense_i64_array((axis,))}
        return self.context.value("stablehlo.reverse", self.kind(shape), (x,), attributes)

    def pad(self, x: Any, shape: tuple[int, ...], axis: int, low: int, high: int) -> Any:
        """Add the start value before and after an axis; negative numbers cut."""
        zeros = (0,) * len(shape)
        padded = _resized(shape, axis, shape[axis] + low + high)
        return self.context.value(
            "stablehlo.pad",
            self.kind(padded),
            (x, self.context.constant(self.start, self.dtype)),
            {
                "edge_padding_low": hlo.dense_i64_array(_resized(zeros, axis, low)),
                "edge_padding_high": hlo.dense_i64_array(_resized(zeros, axis, high)),
                "interior_padding": hlo.dense_i64_array(zeros),
            },
        )


def _resized(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


def lower_cumulative(
    context: Any,
    x: hlo.Value,
    aval: ShapedArray,
    axis: int,
    reverse: bool,
    combine: Combine,
    start: Any,
    dtype: DTypeLike,
    light: bool,
) -> Any:
    """Append the accumulation of ``x`` along an axis.

    Args:
      context: the lowering context.
      x: the operand.
      aval: its type.
      axis: the axis.
      reverse: whether to accumulate from the end.
      combine: joins accumulated values with the next.
      start: the neutral element.
      dtype: the dtype to accumulate in.
      light: whether to combine takes an instruction or two, so that vectors gain little.
    """
    if aval.size == 0 or aval.shape[axis] == 1:
        return x
    work = _Cumulation(context, combine, start, dtype, light)
    if dtype != aval.dtype:
        x = context.value("stablehlo.convert", work.kind(aval.shape), (x,))
    if context.module.platform == "cpu":
        y = _by_loops(work, x, aval.shape, axis, reverse)
    else:
        y = _by_windows(work, x, aval.shape, axis, reverse)
    if dtype != aval.dtype:
        kind = hlo.tensor_type(aval.shape, aval.dtype)
        y = context.value("stablehlo.convert", kind, (y,))
    return y


def _by_loops(work: _Cumulation, x: Any, shape: tuple[int, ...], axis: int, reverse: bool) -> Any:
    if any(map(is_symbolic, shape)):
        return _loop(work, x, shape, axis, reverse)
    if prod(shape) * shape[axis] <= _FEW:
        return _by_windows(work, x, shape, axis, reverse)
    is_long = shape[axis] > _BLOCK
    moves = axis and (prod(shape) >= _LARGE or _collides(shape, axis, work.dtype))
    if (is_long or moves) and _suits_one_kernel(work, shape, axis):
        return _in_one_kernel(work, x, shape, axis, reverse)
    if is_long:
        return _by_blocks(work, x, shape, axis, reverse)
    if moves:
        order = [axis, *(a for a in range(len(shape)) if a != axis)]
        moved = tuple(shape[a] for a in order)
        y = _loop(work, work.transpose(x, shape, order), moved, 0, reverse)
        return work.transpose(y, moved, inverse_permutation(order))
    return _loop(work, x, shape, axis, reverse)


def _collides(shape: tuple[int, ...], axis: int, dtype: DType) -> bool:
    """Whether what one turn of the loop reads lies so that it pushes itself out of the cache."""
    apart = prod(shape[axis:]) * np.dtype(dtype).itemsize
    return prod(shape[:axis]) > _WAYS * (_PAGE // gcd(apart, _PAGE))


def _suits_one_kernel(work: _Cumulation, shape: tuple[int, ...], axis: int) -> bool:
    """Whether the elements are few enough, of whole bytes, and quick to combine."""
    return (
        work.light
        and work.context.makes_one_kernel
        and prod(shape) < 1 << 31
        and dtypes.itemsize_bits(work.dtype) >= 8
    )


def _in_one_kernel(
    work: _Cumulation, x: Any, shape: tuple[int, ...], axis: int, reverse: bool
) -> Any:
    def combine(builder: hlo.Builder, a: Any, b: Any) -> Any:
        return work.combined(builder, (beside,), a, b)

    count, size, beside = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    loops = Accumulation(count, size, beside, _BLOCK, work.dtype, work.start, combine, reverse)
    flat = (prod(shape),)
    (y,) = work.context.one_kernel(
        "accumulation", (work.reshape(x, flat),), (work.kind(flat),), loops.every
    )
    return work.reshape(y, shape)


def _by_blocks(work: _Cumulation, x: Any, shape: tuple[int, ...], axis: int, reverse: bool) -> Any:
    """Accumulate within blocks, then add to each block what all blocks before it come to."""
    if reverse:
        y = _by_blocks(work, work.reverse(x, shape, axis), shape, axis, False)
        return work.reverse(y, shape, axis)
    size = shape[axis]
    count = -(-size // _BLOCK)
    whole = _resized(shape, axis, count * _BLOCK)
    before, after = shape[:axis], shape[axis + 1 :]
    blocked = (*before, count, _BLOCK, *after)
    padded = work.pad(x, shape, axis, 0, whole[axis] - size)
    y = _by_loops(work, work.reshape(padded, blocked), blocked, axis + 1, False)
    totals = _last(work, y, blocked, axis + 1)
    one_each = (*before, count, *after)
    ends = _by_loops(work, totals, one_each, axis, False)
    offsets = work.pad(ends, one_each, axis, 1, -1)
    kept = tuple(a for a in range(len(blocked)) if a != axis + 1)
    spread = work.context.broadcast(offsets, kept, blocked, work.dtype)
    y = work.combined(work.context, blocked, spread, y)
    return work.pad(work.reshape(y, whole), whole, axis, 0, size - whole[axis])


def _last(work: _Cumulation, x: Any, shape: tuple[int, ...], axis: int) -> Any:
    """Return the part at the last position of an axis, without the axis."""
    starts = _resized((0,) * len(shape), axis, shape[axis] - 1)
    part = work.context.value(
        "stablehlo.slice",
        work.kind(_resized(shape, axis, 1)),
        (x,),
        {
            "start_indices": hlo.dense_i64_array(starts),
            "limit_indices": hlo.dense_i64_array(shape),
            "strides": hlo.dense_i64_array((1,) * len(shape)),
        },
    )
    return work.reshape(part, (*shape[:axis], *shape[axis + 1 :]))


def _loop(work: _Cumulation, x: Any, shape: tuple[int, ...], axis: int, reverse: bool) -> Any:
    """Walk an axis, replacing each position by what has been accumulated."""
    context = work.context
    step_shape = _resized(shape, axis, 1)
    step_kind, counter = work.kind(step_shape), hlo.tensor_type((), _INT)
    carried = context.splat(work.start, step_shape, work.dtype)
    types = (counter, work.kind(shape), step_kind)
    loop = context.op("stablehlo.while", types, (context.constant(0, _INT), x, carried), None, 2)

    def proceeds(builder: Any, index: Any, y: Any, total: Any) -> tuple[Any]:
        count = builder.constant(shape[axis], _INT)
        return (builder.compare(index, count, "LT", (), "SIGNED"),)

    def advance(builder: Any, index: Any, y: Any, total: Any) -> tuple[Any, Any, Any]:
        zero, one = builder.constant(0, _INT), builder.constant(1, _INT)
        place = index
        if reverse:
            last = builder.constant(shape[axis] - 1, _INT)
            place = builder.value("stablehlo.subtract", counter, (last, index))
        starts = [place if a == axis else zero for a in range(len(shape))]
        sizes = {"slice_sizes": hlo.dense_i64_array(step_shape)}
        item = builder.value("stablehlo.dynamic_slice", step_kind, (y, *starts), sizes)
        total = work.combined(builder, step_shape, total, item)
        y = builder.value("stablehlo.dynamic_update_slice", types[1], (y, total, *starts))
        return builder.value("stablehlo.add", counter, (index, one)), y, total

    context.region(loop, 0, types, proceeds)
    context.region(loop, 1, types, advance)
    return loop.results[1]


def _by_windows(work: _Cumulation, x: Any, shape: tuple[int, ...], axis: int, reverse: bool) -> Any:
    """Reduce, for each position, the window of all positions up to it."""
    context = work.context
    ones = (1,) * len(shape)
    padding = np.zeros((len(shape), 2), np.int64)
    padding[axis, 1 if reverse else 0] = shape[axis] - 1
    operation = context.op(
        "stablehlo.reduce_window",
        (work.kind(shape),),
        (x, context.constant(work.start, work.dtype)),
        {
            "window_dimensions": hlo.dense_i64_array(_resized(ones, axis, shape[axis])),
            "window_strides": hlo.dense_i64_array(ones),
            "padding": hlo.dense_elements(padding),
        },
        1,
    )
    scalar = work.kind(())

    def body(builder: Any, a: Any, b: Any) -> tuple[Any]:
        return (work.combined(builder, (), a, b),)

    context.region(operation, 0, (scalar, scalar), body)
    return operation.result
