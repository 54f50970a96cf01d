"""Sliding one short vector over long ones, as a product of matrices.

XLA's CPU convolution of one channel does a multiplication at a time.  Here the long vector is cut
into blocks of B elements; each block and the k - 1 elements after it are a row, and a matrix with
the short vector on its k diagonals gives B results of each row.  That is (B + k - 1) / k times the
multiplications, but by the library for matrix products.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.core.dimensions import is_symbolic

__all__ = ["lower_sliding", "slides"]

_FEWEST, _MOST, _LEAST_WORK = 4, 1 << 10, 1 << 17
"""The lengths of the short vector, and the multiplications, between which this was faster."""
_FLOATS = ("float32", "float64")


def slides(context: Any, window: Any) -> bool:
    """Return whether a convolution is of vectors of one channel, and faster as a product."""
    lhs, rhs, out = *context.avals_in, context.avals_out[0]
    sizes = (*lhs.shape, *rhs.shape, *out.shape)
    if context.module.platform != "cpu" or lhs.ndim != 3 or any(map(is_symbolic, sizes)):
        return False
    if context.module.partitioned or lhs.dtype.name not in _FLOATS:
        return False
    if rhs.dtype != lhs.dtype or out.dtype != lhs.dtype or not out.size:
        return False
    lhs_spec, _, out_spec = window.dimension_numbers
    steps = (*window.window_strides, *window.lhs_dilation, *window.rhs_dilation)
    examples = lhs.shape[lhs_spec[0]]
    in_order = lhs_spec[0] < lhs_spec[2] and out_spec[0] < out_spec[2]
    return (
        set(steps) == {1}
        and window.batch_group_count == 1
        and lhs.shape[lhs_spec[1]] == 1
        and out.shape[out_spec[1]] == 1
        and (examples == 1 or in_order)
        and min(window.padding[0]) >= 0
        and _FEWEST <= rhs.size <= _MOST
        and out.size * rhs.size >= _LEAST_WORK
        and out.size >= 2 * rhs.size
    )


def lower_sliding(context: Any, x: Any, y: Any, window: Any, convolution: Any) -> Any:
    """Append the product; or, where an element is infinite or NaN, the convolution.

    Each element meets zeros of the matrix, and only finite ones leave nothing there.

    Args:
      context: the lowering context.
      x: the long vectors.
      y: the short one.
      window: how it slides.
      convolution: appends the ordinary operation, of a builder.
    """
    lhs, out = context.avals_in[0], context.avals_out[0]
    examples = lhs.shape[window.dimension_numbers[0][0]]
    kind = context.out_type
    finite = _all_finite(context, x, lhs)
    choice = context.op("stablehlo.if", (kind,), (finite,), None, 2)

    def product(builder: Any) -> Sequence[Any]:
        work = _Sliding(builder, examples, context.avals_in[1].size, lhs.dtype)
        flat = work.reshape(x, (examples, lhs.size // examples))
        short = work.reshape(y, (context.avals_in[1].size,))
        found = work.slide(flat, short, window.padding[0], out.size // examples)
        return (builder.value("stablehlo.reshape", kind, (found,)),)

    def ordinary(builder: Any) -> Sequence[Any]:
        return (convolution(builder),)

    context.region(choice, 0, (), product)
    context.region(choice, 1, (), ordinary)
    return choice.result


def _all_finite(context: Any, x: Any, aval: ShapedArray) -> Any:
    boolean = np.dtype(np.bool_)
    flag = hlo.tensor_type((), boolean)
    flags = context.value("stablehlo.is_finite", hlo.tensor_type(aval.shape, boolean), (x,))
    axes = hlo.dense_i64_array(tuple(range(aval.ndim)))
    start = context.constant(True, boolean)
    reduction = context.op("stablehlo.reduce", (flag,), (flags, start), {"dimensions": axes}, 1)

    def both(builder: Any, a: Any, b: Any) -> Sequence[Any]:
        return (builder.value("stablehlo.and", flag, (a, b)),)

    context.region(reduction, 0, (flag, flag), both)
    return reduction.result


class _Sliding:
    """The product, for so many long vectors and a short one of ``count`` elements."""

    def __init__(self, builder: Any, examples: int, count: int, dtype: Any) -> None:
        self.builder, self.examples, self.count, self.dtype = builder, examples, count, dtype
        self.block = min(128, max(32, 1 << (count - 1).bit_length()))

    def reshape(self, x: Any, shape: tuple[int, ...]) -> Any:
        """Return the same elements in another shape."""
        return self.builder.value("stablehlo.reshape", hlo.tensor_type(shape, self.dtype), (x,))

    def slide(self, x: Any, y: Any, padding: tuple[int, int], size: int) -> Any:
        """Return the results, of shape (examples, size)."""
        rows = -(-size // self.block)
        after = -(-(self.count - 1) // self.block)
        total = (rows + after) * self.block
        low, own = padding[0], size + self.count - 1 - sum(padding)
        padded = self._pad(x, (self.examples, total), low, total - low - own)
        blocks = self.reshape(padded, (self.examples, rows + after, self.block))
        matrix = self._matrix(y)
        width = self.block + self.count - 1
        lines = [
            self._cut(blocks, (first, first + rows), min(self.block, width - first * self.block))
            for first in range(after + 1)
        ]
        line_kind = hlo.tensor_type((self.examples, rows, width), self.dtype)
        line = self.builder.value(
            "stablehlo.concatenate", line_kind, lines, {"dimension": hlo.i64_attr(2)}
        )
        found = self.builder.value(
            "stablehlo.dot_general",
            hlo.tensor_type((self.examples, rows, self.block), self.dtype),
            (line, matrix),
            {
                "dot_dimension_numbers": hlo.parse_attribute(
                    "#stablehlo.dot<lhs_contracting_dimensions = [2], "
                    "rhs_contracting_dimensions = [0]>"
                )
            },
        )
        flat = self.reshape(found, (self.examples, rows * self.block))
        return self._slice(flat, (0, 0), (self.examples, size))

    def _pad(self, x: Any, shape: tuple[int, ...], low: int, high: int) -> Any:
        return self.builder.value(
            "stablehlo.pad",
            hlo.tensor_type(shape, self.dtype),
            (x, self.builder.constant(0, self.dtype)),
            {
                "edge_padding_low": hlo.dense_i64_array((0, low)),
                "edge_padding_high": hlo.dense_i64_array((0, high)),
                "interior_padding": hlo.dense_i64_array((0, 0)),
            },
        )

    def _cut(self, blocks: Any, rows: tuple[int, int], columns: int) -> Any:
        first, last = rows
        return self._slice(blocks, (0, first, 0), (self.examples, last, columns))

    def _slice(self, x: Any, first: tuple[int, ...], last: tuple[int, ...]) -> Any:
        shape = tuple([b - a for a, b in zip(first, last, strict=True)])
        bounds = {
            "start_indices": hlo.dense_i64_array(first),
            "limit_indices": hlo.dense_i64_array(last),
            "strides": hlo.dense_i64_array((1,) * len(first)),
        }
        return self.builder.value(
            "stablehlo.slice", hlo.tensor_type(shape, self.dtype), (x,), bounds
        )

    def _matrix(self, y: Any) -> Any:
        """Return y[i - j] at (i, j), 0 where there is none.

        The columns are y and B zeros, over and over, cut one element shorter each time.
        """
        width = self.block + self.count - 1
        line = width + 1
        spread = self.builder.broadcast(y, (1,), (self.block, self.count), self.dtype)
        padded = self._pad(spread, (self.block, line), 0, line - self.count)
        flat = self.reshape(padded, (self.block * line,))
        cut = self._slice(flat, (0,), (self.block * width,))
        columns = self.reshape(cut, (self.block, width))
        order = {"permutation": hlo.dense_i64_array((1, 0))}
        kind = hlo.tensor_type((width, self.block), self.dtype)
        return self.builder.value("stablehlo.transpose", kind, (columns,), order)
