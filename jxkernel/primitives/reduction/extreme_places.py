"""The first position of an extreme along an axis, or of NaN, by the way that is quick on CPU."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.core.dimensions import is_symbolic
from jxkernel.dtypes import DType
from jxkernel.primitives.elementwise.compare import comparison_kind
from jxkernel.primitives.reduction.extremes import lower_extreme
from jxkernel.primitives.reduction.folding import Rows, rows_to_fold
from jxkernel.primitives.reduction.kernel_loops import (
    INDEX,
    State,
    counted,
    integer,
    lane_of,
    read,
    written,
)

__all__ = ["lower_position"]

_BOOL = np.dtype(np.bool_)

_FEW = 1 << 11
"""The most elements that are taken one by one, with their positions."""

_WIDTH, _WIDTH_OF_LONG, _LONG = 64, 256, 1 << 12
"""The elements of a piece, whose extremes are taken one by one; more in rows that are long."""


def lower_position(context: Any, x: hlo.Value, axis: int, operation: str, start: Any) -> Any:
    """Append the first position of the operand's extreme, or of NaN, along an axis.

    Few elements are reduced with their positions, one after the other: one loop, which is quick to
    compile.  Many are folded by vector instructions, in a kernel of its own.  What is between, or
    not for such a kernel, is reduced to the extreme first, and then to its least position.

    Args:
      context: the lowering context; its one operand and result give the types.
      x: the operand's value.
      axis: the axis.
      operation: ``stablehlo.maximum`` or ``stablehlo.minimum``.
      start: its neutral element.
    """
    aval, out = context.avals_in[0], context.avals_out[0]
    module = context.module
    few = not any(map(is_symbolic, aval.shape)) and aval.size <= _FEW
    if few and module.platform == "cpu" and not module.partitioned:
        return _in_pairs(context, x, axis, operation, start)
    rows = rows_to_fold(context, aval, (axis,), _FEW)
    if rows is not None and dtypes.itemsize_bits(aval.dtype) >= 8:
        return _folded(context, x, rows, operation)
    return _by_extremes(context, x, aval, axis, out.dtype, operation, start)


def _by_extremes(
    context: Any,
    x: Any,
    aval: ShapedArray,
    axis: int,
    index_dtype: DType,
    operation: str,
    start: Any,
) -> Any:
    """Reduce to the extreme, then to the least position that holds it (or NaN)."""
    last = np.iinfo(index_dtype).max
    extreme = lower_extreme(context, x, aval, (axis,), operation, start)
    kept = tuple([a for a in range(aval.ndim) if a != axis])
    everywhere = context.broadcast(extreme, kept, aval.shape, aval.dtype)
    kind = comparison_kind(aval.dtype)
    holds = context.compare(x, everywhere, "EQ", aval.shape, kind)
    if dtypes.issubdtype(aval.dtype, np.floating):
        nan = context.compare(x, x, "NE", aval.shape, kind)
        boolean = hlo.tensor_type(aval.shape, _BOOL)
        holds = context.value("stablehlo.or", boolean, (holds, nan))
    whole = hlo.tensor_type(aval.shape, index_dtype)
    places = context.iota(index_dtype, aval.shape, axis)
    none = context.splat(last, aval.shape, index_dtype)
    found = context.value("stablehlo.select", whole, (holds, places, none))
    positions = ShapedArray(aval.shape, index_dtype)
    return lower_extreme(context, found, positions, (axis,), "stablehlo.minimum", last)


def _in_pairs(context: Any, x: Any, axis: int, operation: str, start: Any) -> Any:
    """Reduce pairs of an element and its position, one after the other."""
    aval, out = context.avals_in[0], context.avals_out[0]
    places = context.iota(out.dtype, aval.shape, axis)
    none = context.constant(np.iinfo(out.dtype).max, out.dtype)
    starts = (context.constant(start, aval.dtype), none)
    return _first_of_pairs(context, (x, places), starts, axis, operation, (aval.dtype, out.dtype))


def _first_of_pairs(
    builder: hlo.Builder,
    pairs: Sequence[Any],
    starts: Sequence[Any],
    axis: int,
    operation: str,
    dtypes_of: Sequence[DType],
) -> Any:
    """Append the position beside the extreme along an axis: of equal ones, and of NaN, the least.

    Args:
      builder: where to append.
      pairs: the elements, and their positions.
      starts: a pair that is not before any.
      axis: the axis.
      operation: ``stablehlo.maximum`` or ``stablehlo.minimum``.
      dtypes_of: those of the elements and of the positions.
    """
    element, position = (hlo.tensor_type((), dtype) for dtype in dtypes_of)
    shape = tuple(pairs[0].type.shape)
    left = (*shape[:axis], *shape[axis + 1 :])
    reduction = builder.op(
        "stablehlo.reduce",
        [hlo.tensor_type(left, dtype) for dtype in dtypes_of],
        (*pairs, *starts),
        {"dimensions": hlo.dense_i64_array((axis,))},
        1,
    )
    kind, number_kind = (comparison_kind(dtype) for dtype in dtypes_of)
    boolean = hlo.tensor_type((), _BOOL)

    def body(inner: Any, a: Any, i: Any, b: Any, j: Any) -> tuple[Any, Any]:
        further = inner.compare(a, b, _direction(operation), (), kind)
        same = inner.compare(a, b, "EQ", (), kind)
        if kind == "FLOAT":
            first, second = (inner.compare(y, y, "NE", (), kind) for y in (a, b))
            number = inner.value("stablehlo.not", boolean, (second,))
            alone = inner.value("stablehlo.and", boolean, (first, number))
            both = inner.value("stablehlo.and", boolean, (first, second))
            further = inner.value("stablehlo.or", boolean, (further, alone))
            same = inner.value("stablehlo.or", boolean, (same, both))
        before = inner.compare(i, j, "LT", (), number_kind)
        before = inner.value("stablehlo.and", boolean, (same, before))
        keeps = inner.value("stablehlo.or", boolean, (further, before))
        return (
            inner.value("stablehlo.select", element, (keeps, a, b)),
            inner.value("stablehlo.select", position, (keeps, i, j)),
        )

    builder.region(reduction, 0, (element, position, element, position), body)
    return reduction.results[1]


def _direction(operation: str) -> str:
    return "GT" if operation == "stablehlo.maximum" else "LT"


def _narrow(rows: Rows) -> Rows:
    """Return rows that are read in narrower pieces."""
    width = _WIDTH_OF_LONG if rows.size >= _LONG else _WIDTH
    return replace(rows, width=width, pieces=-(-rows.size // width))


def _folded(context: Any, x: Any, rows: Rows, operation: str) -> Any:
    """Fold rows in a kernel of its own."""
    aval, out = context.avals_in[0], context.avals_out[0]
    if rows.left == 1:
        rows = _narrow(rows)
    fold = _Fold(rows, aval.dtype, operation)
    flat = hlo.tensor_type((rows.count * rows.size,), aval.dtype)
    x = context.value("stablehlo.reshape", flat, (x,))
    found = hlo.tensor_type((rows.count * rows.left,), INDEX)
    (places,) = context.one_kernel("extreme_places", (x,), (found,), fold.all_rows)
    places = context.value("stablehlo.reshape", hlo.tensor_type(out.shape, INDEX), (places,))
    return (
        places
        if out.dtype == INDEX
        else context.value("stablehlo.convert", context.out_type, (places,))
    )


class _Fold:
    """The loops over rows, and over the pieces of each.

    The extreme so far at each place of a piece is kept, and the number of the piece that has it.
    """

    def __init__(self, rows: Rows, dtype: DType, operation: str) -> None:
        self.rows, self.dtype = rows, dtype
        self.operation = operation
        self.shape = (rows.width,)
        self.kind = comparison_kind(dtype)
        self.types = [hlo.tensor_type(self.shape, kind) for kind in (dtype, INDEX, _BOOL)]

    def all_rows(self, builder: hlo.Builder, x: Any) -> tuple[Any]:
        """Return the positions in every row of a vector, side by side."""
        rows = self.rows
        if rows.count == 1:
            return (self._row(builder, x, builder.constant(0, INDEX)),)

        def turn(inner: hlo.Builder, number: Any, out: Any) -> State:
            found = self._row(inner, x, integer(inner, "multiply", number, rows.size))
            return (written(inner, out, found, integer(inner, "multiply", number, rows.left)),)

        none = builder.splat(0, (rows.count * rows.left,), INDEX)
        return (counted(builder, rows.count, (none,), turn)[0],)

    def _row(self, builder: hlo.Builder, x: Any, start: Any) -> Any:
        """Return the positions in the row that begins at a place."""
        rows = self.rows

        def turn(inner: hlo.Builder, number: Any, kept: Any, pieces: Any) -> State:
            number = integer(inner, "add", number, 1)
            own = self._piece(inner, x, start, number)
            wins = self._wins(inner, own, kept)
            numbers = inner.broadcast(number, (), self.shape, INDEX)
            return (
                inner.value("stablehlo.select", self.types[0], (wins, own, kept)),
                inner.value("stablehlo.select", self.types[1], (wins, numbers, pieces)),
            )

        zero = builder.constant(0, INDEX)
        state = (self._piece(builder, x, start, zero), builder.splat(0, self.shape, INDEX))
        kept, pieces = counted(builder, rows.pieces - 1, state, turn)
        if rows.left > 1:
            return pieces
        return self._first(builder, kept, self._positions(builder, pieces))

    def _piece(self, builder: hlo.Builder, x: Any, start: Any, number: Any) -> Any:
        begin = integer(builder, "multiply", number, self.rows.width)
        begin = integer(builder, "minimum", begin, self.rows.size - self.rows.width)
        place = integer(builder, "add", start, begin)
        return read(builder, x, place, self.types[0], self.rows.width)

    def _wins(self, builder: hlo.Builder, own: Any, kept: Any) -> Any:
        """Return where an element is further than the one kept, or the first NaN."""
        further = builder.compare(own, kept, _direction(self.operation), self.shape, self.kind)
        if self.kind != "FLOAT":
            return further
        nan = builder.compare(own, own, "NE", self.shape, self.kind)
        number = builder.compare(kept, kept, "EQ", self.shape, self.kind)
        first = builder.value("stablehlo.and", self.types[2], (nan, number))
        return builder.value("stablehlo.or", self.types[2], (further, first))

    def _positions(self, builder: hlo.Builder, pieces: Any) -> Any:
        """Return where in the row an element is, from the piece that it is in."""
        width, size = (
            builder.splat(n, self.shape, INDEX)
            for n in (self.rows.width, self.rows.size - self.rows.width)
        )
        begin = builder.value("stablehlo.multiply", self.types[1], (pieces, width))
        begin = builder.value("stablehlo.minimum", self.types[1], (begin, size))
        within = builder.iota(INDEX, self.shape, 0)
        return builder.value("stablehlo.add", self.types[1], (begin, within))

    def _first(self, builder: hlo.Builder, kept: Any, positions: Any) -> Any:
        """Return the first position of the extreme of those kept, as a vector of one."""
        kinds = (self.dtype, INDEX)
        first = [
            builder.value(
                "stablehlo.reshape",
                hlo.tensor_type((), kind),
                (lane_of(builder, x, kind, 0, self.rows.width),),
            )
            for x, kind in zip((kept, positions), kinds, strict=True)
        ]
        found = _first_of_pairs(builder, (kept, positions), first, 0, self.operation, kinds)
        return builder.value("stablehlo.reshape", hlo.tensor_type((1,), INDEX), (found,))
