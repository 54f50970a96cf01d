"""Extremes in one pass that keeps NaN: wide pieces of a row are folded into one of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.core.dimensions import is_symbolic
from jxkernel.dtypes import DType
from jxkernel.primitives.reduction.kernel_loops import INDEX, State, counted, integer, read, written

__all__ = [
    "Rows",
    "append_extreme_keys",
    "folds",
    "lower_by_folding",
    "magnitudes_turned",
    "rows_to_fold",
]

_DTYPES = frozenset([np.dtype(name) for name in ("float32", "float64", "int32", "int64")])
"""Those that processors have vector instructions for the extremes of."""

_LEAST_SIZE = 1 << 18
"""The elements from which running gains more than compiling a kernel costs."""

_LEAST_LENGTH, _LONG, _WIDEST = 96, 1 << 12, 1 << 10
"""The elements of the shortest row, of a row that a loop goes through, and of a piece of one."""

_LEAST_WIDTH, _MOST_WIDTH, _LEAST_DEPTH = 16, 1 << 14, 8
"""How wide arrays are that are folded whole, and the fewest of them."""

_AT_ONCE = 3
"""How many pieces are folded in one turn into the one that is kept."""

_KEY = np.dtype(np.int32)

_NARROW = 16
"""The elements that are folded into one at once; wider vectors keep a fourth, which is wide too."""


@dataclass(frozen=True)
class Rows:
    """Rows of one size, one after the other, and the pieces that each is read in.

    Attributes:
      count: how many rows.
      size: the elements of each.
      width: the elements of a piece; those of one place in each of them are compared.
      pieces: how many cover a row. The last ends where the row does and may overlap.
      left: how many elements are left of a row.
    """

    count: int
    size: int
    width: int
    pieces: int
    left: int


def folds(context: Any, aval: ShapedArray, axes: tuple[int, ...]) -> bool:
    """Return whether the extremes of an array along axes are found in one pass."""
    return aval.dtype in _DTYPES and rows_to_fold(context, aval, axes, _LEAST_SIZE) is not None


def rows_to_fold(
    context: Any, aval: ShapedArray, axes: tuple[int, ...], least_size: int
) -> Rows | None:
    """Return how an array of so many elements or more is folded along axes; None if it is not."""
    shape = aval.shape
    if not context.makes_one_kernel or any(map(is_symbolic, shape)):
        return None
    if not axes or not least_size <= prod(shape) < 1 << 31:
        return None
    first, end = min(axes), max(axes) + 1
    if end - first != len(axes):
        return None
    count, depth, beside = prod(shape[:first]), prod(shape[first:end]), prod(shape[end:])
    if beside > 1:
        if depth < _LEAST_DEPTH or not _LEAST_WIDTH <= beside <= _MOST_WIDTH:
            return None
        return Rows(count, depth * beside, beside, depth, beside)
    if depth < _LEAST_LENGTH:
        return None
    width = -(-depth // 32) * 8 if depth < _LONG else _WIDEST
    return Rows(count, depth, width, -(-depth // width), 1)


def lower_by_folding(
    context: Any, x: hlo.Value, aval: ShapedArray, axes: tuple[int, ...], operation: str
) -> Any:
    """Append the extremes of an array along neighbouring axes, in a kernel of their own.

    Args:
      context: the lowering context.
      x: the array's value.
      aval: its type, for which ``folds`` holds.
      axes: the axes to reduce.
      operation: ``stablehlo.maximum`` or ``stablehlo.minimum``.
    """
    rows = rows_to_fold(context, aval, axes, _LEAST_SIZE)
    assert rows
    fold = _Fold(rows, aval.dtype, operation)
    flat = hlo.tensor_type((rows.count * rows.size,), aval.dtype)
    x = context.value("stablehlo.reshape", flat, (x,))
    out = fold.kind(rows.count * rows.left)
    (found,) = context.one_kernel("extremes", (x,), (out,), fold.all_rows)
    left = tuple([size for axis, size in enumerate(aval.shape) if axis not in axes])
    return context.value("stablehlo.reshape", hlo.tensor_type(left, aval.dtype), (found,))


def append_extreme_keys(context: Any, x: hlo.Value, aval: ShapedArray, operation: str) -> Any:
    """Append the extremes of the rows of a matrix of float32 as integers of the same order.

    As ``top_k`` orders them: -0 before 0, and after infinity NaN of either sign.

    Args:
      context: the lowering context.
      x: the matrix.
      aval: its type, for whose last axis ``folds`` holds.
      operation: ``stablehlo.maximum`` or ``stablehlo.minimum``.
    """
    rows = rows_to_fold(context, aval, (1,), _LEAST_SIZE)
    assert rows
    flat = hlo.tensor_type((rows.count * rows.size,), aval.dtype)
    x = context.value("stablehlo.reshape", flat, (x,))
    fold = _Fold(rows, _KEY, operation, _keys)
    return context.one_kernel("extremes", (x,), (fold.kind(rows.count),), fold.all_rows)[0]


def _keys(builder: hlo.Builder, x: Any) -> Any:
    """Return float32 numbers as integers; see ``append_extreme_keys``."""
    shape = tuple(x.type.shape)
    kind = hlo.tensor_type(shape, _KEY)
    nan = builder.compare(x, x, "NE", shape, "FLOAT")
    nans = builder.splat(np.nan, shape, np.dtype(np.float32))
    x = builder.value("stablehlo.select", x.type, (nan, nans, x))
    bits = builder.value("stablehlo.bitcast_convert", kind, (x,))
    return magnitudes_turned(builder, bits)


def magnitudes_turned(builder: hlo.Builder, bits: Any) -> Any:
    """Return the bits of float32 numbers with the magnitudes of negative ones turned around.

    As integers these have the order of the numbers.  Done twice it gives the bits.
    """
    kind, shape = bits.type, tuple(bits.type.shape)
    last, magnitude = (builder.splat(number, shape, _KEY) for number in (31, 2**31 - 1))
    signs = builder.value("stablehlo.shift_right_arithmetic", kind, (bits, last))
    turned = builder.value("stablehlo.and", kind, (signs, magnitude))
    return builder.value("stablehlo.xor", kind, (bits, turned))


class _Fold:
    """The loops over rows, and over the pieces of each."""

    def __init__(
        self,
        rows: Rows,
        dtype: DType,
        operation: str,
        encoded: Callable[[hlo.Builder, Any], Any] | None = None,
    ) -> None:
        self.rows, self.dtype, self.operation = rows, dtype, operation
        self.encoded, self.given = encoded, np.dtype(np.float32) if encoded else dtype
        self.direction = "GT" if operation == "stablehlo.maximum" else "LT"

    def kind(self, width: int) -> Any:
        """The type of a vector."""
        return hlo.tensor_type((width,), self.dtype)

    def all_rows(self, builder: hlo.Builder, x: Any) -> tuple[Any]:
        """Return the extremes of every row of a vector, side by side."""
        if self.rows.count == 1:
            return (self.row(builder, x, builder.constant(0, INDEX)),)
        none = builder.splat(0, (self.rows.count * self.rows.left,), self.dtype)

        def turn(inner: hlo.Builder, number: Any, out: Any) -> State:
            found = self.row(inner, x, integer(inner, "multiply", number, self.rows.size))
            place = integer(inner, "multiply", number, self.rows.left)
            return (written(inner, out, found, place),)

        return (counted(builder, self.rows.count, (none,), turn)[0],)

    def row(self, builder: hlo.Builder, x: Any, start: Any) -> Any:
        """Return the extremes of the row that begins at a place."""
        rows = self.rows
        last = integer(builder, "add", start, rows.size - rows.width)

        def piece(inner: hlo.Builder, place: Any) -> Any:
            place = integer(inner, "minimum", place, last)
            kind = hlo.tensor_type((rows.width,), self.given)
            found = read(inner, x, place, kind, rows.width)
            return self.encoded(inner, found) if self.encoded else found

        def turn(inner: hlo.Builder, number: Any, kept: Any) -> State:
            ahead = integer(inner, "multiply", number, _AT_ONCE * rows.width)
            return (joined(inner, integer(inner, "add", start, ahead), _AT_ONCE, kept),)

        def joined(inner: hlo.Builder, ahead: Any, count: int, kept: Any) -> Any:
            places = [integer(inner, "add", ahead, (i + 1) * rows.width) for i in range(count)]
            return self.folded(inner, [kept, *[piece(inner, place) for place in places]])

        kept, others = piece(builder, start), rows.pieces - 1
        if others > _AT_ONCE:
            (kept,) = counted(builder, -(-others // _AT_ONCE), (kept,), turn)
        else:
            kept = joined(builder, start, others, kept)
        return kept if rows.left == rows.width else self.narrowed(builder, kept, rows.width)

    def narrowed(self, builder: hlo.Builder, x: Any, width: int) -> Any:
        """Return the extreme of a vector, as a vector of one: it is folded to a part, and again."""
        while width > 1:
            ways = 4 if width > _NARROW else _NARROW
            part = -(-width // ways)
            starts = sorted({min(i * part, width - part) for i in range(ways)})
            x = self.folded(builder, [self._part(builder, x, start, part) for start in starts])
            width = part
        return x

    def _part(self, builder: hlo.Builder, x: Any, start: int, width: int) -> Any:
        bounds = {
            "start_indices": hlo.dense_i64_array((start,)),
            "limit_indices": hlo.dense_i64_array((start + width,)),
            "strides": hlo.dense_i64_array((1,)),
        }
        return builder.value("stablehlo.slice", self.kind(width), (x,), bounds)

    def folded(self, builder: hlo.Builder, pieces: Sequence[Any]) -> Any:
        """Return the extremes of several vectors at each place, NaN where one is.

        Floats are compared and chosen, which is one instruction but passes over NaN; what is not
        equal to itself is sought beside.
        """
        kind = pieces[0].type
        if np.issubdtype(self.dtype, np.integer):
            return _halved(pieces, lambda x, y: builder.value(self.operation, kind, (x, y)))
        shape = tuple(kind.shape)
        boolean = hlo.tensor_type(shape, np.dtype(np.bool_))

        def further(x: Any, y: Any) -> Any:
            own = builder.compare(x, y, self.direction, shape, "FLOAT")
            return builder.value("stablehlo.select", kind, (own, x, y))

        nans = [builder.compare(x, x, "NE", shape, "FLOAT") for x in pieces]
        some = _halved(nans, lambda x, y: builder.value("stablehlo.or", boolean, (x, y)))
        nan = builder.splat(np.nan, shape, self.dtype)
        return builder.value("stablehlo.select", kind, (some, nan, _halved(pieces, further)))


def _halved(values: Sequence[Any], join: Callable[[Any, Any], Any]) -> Any:
    """Join the first half of several values to the second, until one is left."""
    while len(values) > 1:
        half = len(values) // 2
        joined = [join(x, y) for x, y in zip(values[:half], values[half : 2 * half], strict=True)]
        values = [*joined, *values[2 * half :]]
    return values[0]
