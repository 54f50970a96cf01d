"""Windows of few elements, taken tap by tap.

XLA's CPU compiler computes windows one after the other, and finds no vectors in them.  Here each
tap, one element of every window, is an array: a slice of the padded operand with the windows'
strides.  Sums and extremes of windows are then those of a few arrays, element by element, and so is
the number of the tap that holds the first extreme.

What is added at the places of extremes goes to blocks.  With stride s, windows begin s elements
apart; a block is s elements, and a window lies in as many blocks as it takes, A.  The element at
place r of block b is tap a s + r of window b - a, for each a below A.  So each block gets what A
windows have for it: where the number of the window's tap is that of the element.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.core.dimensions import is_symbolic
from jxkernel.primitives.conv.conv_numbers import dilated

__all__ = [
    "are_few_taps",
    "has_few_taps",
    "lower_by_taps",
    "lower_places",
    "lower_spread",
    "tap_arrays",
]

_MOST_TAPS = 16
_VECTOR_TAPS = 8
"""Up to so many XLA takes by vectors, where windows along the last axis are a step apart."""
_INT = np.dtype(np.int32)
_EVEN, _ODD = range(0, 64, 2), range(1, 64, 2)
"""Where the axes of blocks, and of places in them, are."""


def has_few_taps(context: Any, aval: ShapedArray, window: Any) -> bool:
    """Return whether the windows of an array are computed tap by tap."""
    module = context.module
    return module.platform == "cpu" and not module.partitioned and are_few_taps(aval, window)


def are_few_taps(aval: ShapedArray, window: Any) -> bool:
    """Return whether the windows of an array are computed sooner tap by tap, on CPU."""
    *others, last = window.window_dimensions
    taps = prod(others) * last
    if any(map(is_symbolic, aval.shape)) or not 1 < taps <= _MOST_TAPS:
        return False
    if taps == last <= _VECTOR_TAPS and window.window_strides[-1] == 1:
        return False
    return min(aval.size, prod(window.result_shape(aval.shape))) > 0


def lower_by_taps(
    context: Any, x: Any, aval: ShapedArray, window: Any, operation: str, start: Any
) -> Any:
    """Append the reduction of windows.

    Args:
      context: the lowering context.
      x: the operand's value.
      aval: its type.
      window: its windows.
      operation: the operation on two elements.
      start: its neutral element.
    """
    result = hlo.tensor_type(window.result_shape(aval.shape), aval.dtype)
    found, *others = tap_arrays(context, x, aval, window, start)
    for other in others:
        found = context.value(operation, result, (found, other))
    return found


def lower_places(
    context: Any,
    x: Any,
    aval: ShapedArray,
    window: Any,
    first: Callable[..., Any],
    worst: Any,
    carried: Any = None,
) -> tuple[Any, Any]:
    """Append the number of the tap that is each window's first extreme, and what is there.

    Args:
      context: the lowering context.
      x: the operand's value.
      aval: its type.
      window: its windows.
      first: says which of two elements is the extreme.
      worst: an element that is never the extreme, unless there is no other.
      carried: an array like the operand and its type, to take elements from; or None.

    Returns:
      the numbers, of int32: for windows of padding alone, how many taps there are; and the
      elements of the array at these places, or None.
    """
    shape = window.result_shape(aval.shape)
    others = iter(()) if carried is None else tap_arrays(context, carried[0], carried[1], window, 0)
    best: Any = None
    number: Any = None
    held: Any = None
    elements = tap_arrays(context, x, aval, window, worst)
    for element, place in zip(elements, _numbers(context, aval, window), strict=True):
        other: Any = next(others, None)
        if best is None:
            best, number, held = element, place, other
            continue
        stays = first(context, shape, best, number, element, place)
        best = _chosen(context, stays, best, element, shape, aval.dtype)
        number = _chosen(context, stays, number, place, shape, _INT)
        if carried is not None:
            held = _chosen(context, stays, held, other, shape, carried[1].dtype)
    return number, held


def lower_spread(
    context: Any, source: Any, number: Any, dtype: Any, operand: Sequence[int], window: Any
) -> Any:
    """Append an array of zeros with elements added at one tap of each window.

    Args:
      context: the lowering context.
      source: the elements, one for each window.
      number: the taps' numbers; where it is the number of taps, nothing is added.
      dtype: the elements' dtype.
      operand: the result's shape.
      window: the windows.
    """
    counts, steps = window.result_shape(operand), window.window_strides
    spans = map(dilated, window.window_dimensions, window.window_dilation)
    lengths = [-(-span // step) for span, step in zip(spans, steps, strict=True)]
    blocks = [count + length - 1 for count, length in zip(counts, lengths, strict=True)]
    parts = tuple([size for pair in zip(blocks, steps, strict=True) for size in pair])
    types = [hlo.tensor_type(counts, kind) for kind in (dtype, _INT)]
    # Else each element of a block would search its window anew.
    source, number = context.op("stablehlo.optimization_barrier", types, (source, number)).results
    zero = context.splat(0, parts, dtype)
    sums = hlo.tensor_type(parts, dtype)
    none = prod(window.window_dimensions)
    found = None
    for shift in product(*map(range, lengths)):
        edges = shift, [length - 1 - a for a, length in zip(shift, lengths, strict=True)]
        taps = _padded(context, number, blocks, _INT, none, *edges)
        elements = _padded(context, source, blocks, dtype, 0, *edges)
        numbers = context.constant(_numbers_in_block(window, shift))
        here = context.compare(
            context.broadcast(taps, _EVEN[: len(counts)], parts, _INT),
            context.broadcast(numbers, _ODD[: len(counts)], parts, _INT),
            "EQ",
            parts,
            "SIGNED",
        )
        elements = context.broadcast(elements, _EVEN[: len(counts)], parts, dtype)
        part = _chosen(context, here, elements, zero, parts, dtype)
        found = part if found is None else context.value("stablehlo.add", sums, (found, part))
    whole = tuple([block * step for block, step in zip(blocks, steps, strict=True)])
    found = context.value("stablehlo.reshape", hlo.tensor_type(whole, dtype), (found,))
    return _cut_out(context, found, whole, dtype, operand, window)


def _numbers_in_block(window: Any, shift: Sequence[int]) -> Any:
    """Return, for each place of a block, which tap of the window ``shift`` blocks before it is.

    Where it is none, the number is -1.
    """
    numbers = np.zeros((1,) * len(shift), np.int32)
    sizes = window.window_dimensions
    rows = zip(sizes, window.window_strides, window.window_dilation, shift, strict=True)
    for axis, (size, step, apart, moved) in enumerate(rows):
        taps, rest = np.divmod(moved * step + np.arange(step, dtype=np.int32), apart)
        met = (rest == 0) & (taps < size)
        place = [1] * len(shift)
        place[axis] = step
        taps[~met] = -prod(sizes)
        numbers = numbers + (taps * prod(sizes[axis + 1 :])).reshape(place)
    return np.maximum(numbers, -1).astype(np.int32)


def tap_arrays(context: Any, x: Any, aval: ShapedArray, window: Any, fill: Any) -> Iterator[Any]:
    """Yield the taps of the windows of an array, in the order of their places."""
    if not window.are_blocks(aval):
        # Else each tap would compute what the operand is made of anew.
        kind = hlo.tensor_type(aval.shape, aval.dtype)
        x = context.value("stablehlo.optimization_barrier", kind, (x,))
    x = _wide(context, x, aval, window, fill)
    for place in product(*map(range, window.window_dimensions)):
        yield _tap(context, x, aval, window, place)


def _numbers(context: Any, aval: ShapedArray, window: Any) -> Iterator[Any]:
    """Yield the number of each tap for all windows; of padding, how many taps there are."""
    count = prod(window.window_dimensions)
    places = product(*map(range, window.window_dimensions))
    numbers = ShapedArray(aval.shape, _INT)
    for tap, place in enumerate(places):
        if not _has_padding(window):
            yield context.splat(tap, window.result_shape(aval.shape), _INT)
            continue
        same = context.splat(tap, aval.shape, _INT)
        wide = _wide(context, same, numbers, window, count)
        yield _tap(context, wide, numbers, window, place)


def _wide(context: Any, x: Any, aval: ShapedArray, window: Any, fill: Any) -> Any:
    """Append the padding that the windows of an array ask for."""
    if not _has_padding(window):
        return x
    low, high = zip(*window.padding, strict=True)
    sizes = map(dilated, aval.shape, window.base_dilation)
    shape = [n + a + b for n, a, b in zip(sizes, low, high, strict=True)]
    gaps = [apart - 1 for apart in window.base_dilation]
    return _padded(context, x, shape, aval.dtype, fill, low, high, gaps)


def _tap(context: Any, x: Any, aval: ShapedArray, window: Any, place: Sequence[int]) -> Any:
    """Append the elements at one place of all windows of a padded array."""
    counts, steps = window.result_shape(aval.shape), window.window_strides
    starts = [i * apart for i, apart in zip(place, window.window_dilation, strict=True)]
    ends = [a + (n - 1) * by + 1 for a, n, by in zip(starts, counts, steps, strict=True)]
    bounds = {
        "start_indices": hlo.dense_i64_array(tuple(starts)),
        "limit_indices": hlo.dense_i64_array(tuple(ends)),
        "strides": hlo.dense_i64_array(steps),
    }
    return context.value("stablehlo.slice", hlo.tensor_type(counts, aval.dtype), (x,), bounds)


def _has_padding(window: Any) -> bool:
    return any(map(any, window.padding)) or max(window.base_dilation) > 1


def _padded(
    context: Any,
    x: Any,
    shape: Sequence[int],
    dtype: Any,
    fill: Any,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int] = (),
) -> Any:
    """Append padding to a shape; negative padding takes elements away."""
    return context.value(
        "stablehlo.pad",
        hlo.tensor_type(tuple(shape), dtype),
        (x, context.constant(fill, dtype)),
        {
            "edge_padding_low": hlo.dense_i64_array(tuple(low)),
            "edge_padding_high": hlo.dense_i64_array(tuple(high)),
            "interior_padding": hlo.dense_i64_array(tuple(interior) or (0,) * len(shape)),
        },
    )


def _cut_out(
    context: Any, x: Any, whole: Sequence[int], dtype: Any, operand: Sequence[int], window: Any
) -> Any:
    """Append the elements of the operand among those of its padded blocks."""
    wide = tuple(map(dilated, operand, window.base_dilation))
    low = [-before for before, _ in window.padding]
    high = [n - size - first for n, size, first in zip(wide, whole, low, strict=True)]
    x = _padded(context, x, wide, dtype, 0, low, high)
    if wide == tuple(operand):
        return x
    bounds = {
        "start_indices": hlo.dense_i64_array((0,) * len(wide)),
        "limit_indices": hlo.dense_i64_array(wide),
        "strides": hlo.dense_i64_array(window.base_dilation),
    }
    return context.value("stablehlo.slice", hlo.tensor_type(tuple(operand), dtype), (x,), bounds)


def _chosen(context: Any, where: Any, a: Any, b: Any, shape: Sequence[int], dtype: Any) -> Any:
    return context.value("stablehlo.select", hlo.tensor_type(tuple(shape), dtype), (where, a, b))
