"""Convolving a dilated operand phase by phase.

With dilation L there are L - 1 zeros behind each element of the operand, and XLA's CPU backend
meets each of them.  The results at places q L + p, for one phase p, meet only every L-th element of
the kernel: they are a convolution of the operand as it is, by a smaller kernel.  So a transposed
convolution, and the derivative of one with steps, is as many ordinary ones as there are phases.

Along one axis, with padding b before, result o is the sum over k of w[k] x[(o + k - b) / L] where
that is whole.  For o = q L + p that holds for k = f + L m, with f = (b - p) mod L; the operand's
place is then q + m - e, with e = floor((b - p) / L).  So each phase has a kernel that begins at f
and takes every L-th element, and padding e before.
"""

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.core.dimensions import is_symbolic
from jxkernel.dtypes import DType
from jxkernel.primitives.conv.conv_numbers import ConvDimensionNumbers
from jxkernel.records import record

__all__ = ["has_phases", "lower_phases"]

_MOST_PHASES = 16
_LEAST_SIZE, _LEAST_PLAIN_SIZE = 1 << 16, 1 << 19
"""From so many results on this is faster; in one or two dimensions and one group XLA is quicker."""

Convolve = Callable[[Any, Any, tuple[tuple[int, int], ...], Any], Any]


def has_phases(context: Any, window: Any) -> bool:
    """Return whether a convolution has an operand that is dilated, and is faster by phases."""
    lhs, rhs, out = *context.avals_in, context.avals_out[0]
    steps = (*window.window_strides, *window.rhs_dilation)
    phases = prod(window.lhs_dilation)
    plain = lhs.ndim <= 4 and window.feature_group_count == 1
    return (
        context.module.platform == "cpu"
        and not context.module.partitioned
        and not any(map(is_symbolic, (*lhs.shape, *rhs.shape, *out.shape)))
        and dtypes.issubdtype(out.dtype, np.floating)
        and set(steps) == {1}
        and window.batch_group_count == 1
        and 1 < phases <= _MOST_PHASES
        and min(lhs.size, rhs.size) > 0
        and out.size >= (_LEAST_PLAIN_SIZE if plain else _LEAST_SIZE)
    )


@record()
class _Axis:
    """One phase along one spatial axis.

    Attributes:
      first: where its kernel begins.
      length: the elements of its kernel.
      padding: the operand's padding, before and after; negative where elements are left out.
      empty: whether no result meets an element of both.
    """

    first: int
    length: int
    padding: tuple[int, int]
    empty: bool

    @classmethod
    def of(
        cls, phase: int, dilation: int, size: int, kernel: int, before: int, out: int
    ) -> "_Axis":
        """Return a phase of an operand and a kernel of some sizes that has ``out`` results."""
        skipped, first = divmod(before - phase, dilation)
        length = len(range(first, kernel, dilation))
        padding = (skipped, out - 1 - size - skipped + length)
        return cls(first, length, padding, not length or min(padding) <= -size)


def lower_phases(context: Any, x: hlo.Value, y: hlo.Value, window: Any, convolve: Convolve) -> Any:
    """Append a convolution for each phase, and their results in turn.

    Args:
      context: the lowering context.
      x: the operand that is dilated.
      y: the kernel.
      window: the parameters of the convolution.
      convolve: appends ``convolve(x, y, padding, type)``, a convolution that is not dilated.
    """
    lhs, rhs = context.avals_in
    out: ShapedArray = context.avals_out[0]
    numbers: ConvDimensionNumbers = window.dimension_numbers
    dilations: tuple[int, ...] = window.lhs_dilation
    pads: tuple[tuple[int, int], ...] = window.padding
    sizes = [
        (lhs.shape[a], rhs.shape[b], pad[0])
        for a, b, pad in zip(numbers.lhs_spec[2:], numbers.rhs_spec[2:], pads, strict=True)
    ]
    counts = [-(-out.shape[a] // n) for a, n in zip(numbers.out_spec[2:], dilations, strict=True)]
    rows: list[int] = list(out.shape)
    for axis, count in zip(numbers.out_spec[2:], counts, strict=True):
        rows[axis] = count
    kind = hlo.tensor_type((1, *rows), out.dtype)
    found: list[Any] = []
    for phases in product(*map(range, dilations)):
        axes = [
            _Axis.of(p, n, *own, count)
            for p, n, own, count in zip(phases, dilations, sizes, counts, strict=True)
        ]
        if any(axis.empty for axis in axes):
            found.append(context.splat(0, (1, *rows), out.dtype))
            continue
        kernel = _sliced(context, y, rhs.shape, out.dtype, numbers.rhs_spec[2:], axes, dilations)
        operand, padding = _cropped(context, x, lhs.shape, out.dtype, numbers.lhs_spec[2:], axes)
        one = convolve(operand, kernel, padding, hlo.tensor_type(tuple(rows), out.dtype))
        found.append(context.value("stablehlo.reshape", kind, (one,)))
    return _in_turn(context, found, tuple(rows), out, numbers.out_spec[2:], dilations)


def _sliced(
    context: Any,
    y: Any,
    shape: tuple[int, ...],
    dtype: DType,
    places: Sequence[int],
    axes: Sequence[_Axis],
    dilations: Sequence[int],
) -> Any:
    """Return the kernel of a phase: every so many elements of the whole one."""
    starts, steps, sizes = [0] * len(shape), [1] * len(shape), list(shape)
    for place, axis, dilation in zip(places, axes, dilations, strict=True):
        starts[place], steps[place], sizes[place] = axis.first, dilation, axis.length
    bounds = {
        "start_indices": hlo.dense_i64_array(tuple(starts)),
        "limit_indices": hlo.dense_i64_array(shape),
        "strides": hlo.dense_i64_array(tuple(steps)),
    }
    return context.value("stablehlo.slice", hlo.tensor_type(tuple(sizes), dtype), (y,), bounds)


def _cropped(
    context: Any,
    x: Any,
    shape: tuple[int, ...],
    dtype: DType,
    places: Sequence[int],
    axes: Sequence[_Axis],
) -> tuple[Any, tuple[tuple[int, int], ...]]:
    """Return the operand without what negative padding leaves out, and the padding that remains."""
    starts, limits = [0] * len(shape), list(shape)
    padding: list[tuple[int, int]] = []
    for place, axis in zip(places, axes, strict=True):
        before, after = axis.padding
        starts[place] = max(-before, 0)
        limits[place] = shape[place] - max(-after, 0)
        padding.append((max(before, 0), max(after, 0)))
    sizes = tuple([limit - start for start, limit in zip(starts, limits, strict=True)])
    if sizes == shape:
        return x, tuple(padding)
    bounds = {
        "start_indices": hlo.dense_i64_array(tuple(starts)),
        "limit_indices": hlo.dense_i64_array(tuple(limits)),
        "strides": hlo.dense_i64_array((1,) * len(shape)),
    }
    x = context.value("stablehlo.slice", hlo.tensor_type(sizes, dtype), (x,), bounds)
    return x, tuple(padding)


def _in_turn(
    context: Any,
    found: Sequence[Any],
    rows: tuple[int, ...],
    out: ShapedArray,
    places: Sequence[int],
    dilations: Sequence[int],
) -> Any:
    """Return the results of all phases, those of each axis in turn."""
    many = hlo.tensor_type((len(found), *rows), out.dtype)
    dimension = {"dimension": hlo.i64_attr(0)}
    x = context.value("stablehlo.concatenate", many, found, dimension)
    apart = (*dilations, *rows)
    x = context.value("stablehlo.reshape", hlo.tensor_type(apart, out.dtype), (x,))
    order: list[int] = []
    for axis in range(len(rows)):
        order.append(len(dilations) + axis)
        if axis in places:
            order.append(list(places).index(axis))
    turned = tuple([apart[axis] for axis in order])
    permutation = {"permutation": hlo.dense_i64_array(tuple(order))}
    x = context.value("stablehlo.transpose", hlo.tensor_type(turned, out.dtype), (x,), permutation)
    whole = list(rows)
    for place, dilation in zip(places, dilations, strict=True):
        whole[place] *= dilation
    x = context.value("stablehlo.reshape", hlo.tensor_type(tuple(whole), out.dtype), (x,))
    if tuple(whole) == out.shape:
        return x
    bounds = {
        "start_indices": hlo.dense_i64_array((0,) * len(rows)),
        "limit_indices": hlo.dense_i64_array(out.shape),
        "strides": hlo.dense_i64_array((1,) * len(rows)),
    }
    return context.value("stablehlo.slice", hlo.tensor_type(out.shape, out.dtype), (x,), bounds)
