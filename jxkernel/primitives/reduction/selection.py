"""Integers put in order around the one of a rank: lesser before it, greater after it."""

from typing import Any

from jxkernel import hlo
from jxkernel.dtypes import DTypeLike
from jxkernel.primitives.reduction.kernel_loops import (
    INDEX,
    SCALAR,
    State,
    counted,
    integer,
    next_number,
    read,
    stored,
    visited,
    written,
)
from jxkernel.primitives.reduction.radix import LONG, Sortable, in_rows, lanes_for

__all__ = ["Selection", "partitioned_by_digits"]

_PIECE = 512
"""How many keys are compared at once with one."""


def partitioned_by_digits(
    context: Any, x: hlo.Value, shape: tuple[int, ...], dimension: int, kind: Sortable, rank: int
) -> Any:
    """Append a partition of an array, of less than 2^31 elements, along an axis by digits.

    Args:
      context: the lowering context.
      x: the array.
      shape: its shape.
      dimension: the axis.
      kind: how it becomes integers, and they the result.
      rank: of what rank the element is that lesser ones come before, and greater ones after.
    """

    def arranged(builder: hlo.Builder, keys: Any, count: int, length: int) -> Any:
        selection = Selection(kind.kinds[1], length, kind.bits, lanes_for(count * length))
        result = stored(builder, builder.splat(0, (count * length,), kind.kinds[1]))
        place = builder.constant(rank, INDEX)

        def turn(inner: hlo.Builder, row: Any, result: Any) -> State:
            start = integer(inner, "multiply", row, length)
            return (selection.arranged(inner, keys, start, result, start, place),)

        return counted(builder, count, (result,), turn)[0]

    return in_rows(context, "partition_by_digits", x, shape, dimension, kind, arranged)


class Selection:
    """The loops that look for the element of a rank.

    The highest digit comes first.  One loop counts its values among the elements of a row; in one
    of these the rank falls.  A second writes elements of lower values first, then those of this
    value, then the others, each in their order, and so on among those of this value.  Where the
    element alone is wanted, the second keeps those of this value.
    """

    def __init__(self, dtype: DTypeLike, length: int, bits: range, lanes: int) -> None:
        self.dtype, self.length, self.bits, self.lanes = dtype, length, bits, lanes
        self.scalar = hlo.tensor_type((), dtype)
        self.width = min(11 if length >= LONG else 8, len(bits))

    def arranged(
        self, builder: hlo.Builder, keys: Any, start: Any, result: Any, begin: Any, rank: Any
    ) -> Any:
        """Write a row of keys to the result, from places on, in order around an element."""
        kind = hlo.tensor_type((self.length,), self.dtype)
        pending = stored(builder, read(builder, keys, start, kind, self.length))
        first = builder.constant(self.bits.stop - self.width, INDEX)
        count, begin = builder.constant(self.length, INDEX), integer(builder, "add", begin, 0)
        state = (first, pending, result, begin, count, rank)
        types = [value.type for value in state]
        loop = builder.op("stablehlo.while", types, state, regions=2)

        builder.region(loop, 0, types, self._is_digit_left)
        builder.region(loop, 1, types, self._level)
        return loop.results[2]

    def found(self, builder: hlo.Builder, keys: Any, start: Any, rank: Any) -> tuple[Any, Any]:
        """Return the key of a rank in a row of keys, and that of the next rank, as vectors of one.

        After the last rank comes the last again.
        """
        kind = hlo.tensor_type((self.length,), self.dtype)
        pending = stored(builder, read(builder, keys, start, kind, self.length))
        first = builder.constant(self.bits.stop - self.width, INDEX)
        count = builder.constant(self.length, INDEX)
        state = (first, pending, count, rank, builder.constant(0, self.dtype))
        types = [value.type for value in state]
        loop = builder.op("stablehlo.while", types, state, regions=2)
        builder.region(loop, 0, types, self._is_digit_left)
        builder.region(loop, 1, types, self._kept)
        _, _, equal, place, key = loop.results
        key = builder.value("stablehlo.reshape", hlo.tensor_type((1,), self.dtype), (key,))
        after = builder.compare(integer(builder, "add", place, 1), equal, "LT", (), "SIGNED")
        last = builder.constant(self.length - 1, INDEX)
        is_last = builder.compare(rank, last, "EQ", (), "SIGNED")
        is_same = builder.value("stablehlo.or", after.type, (after, is_last))
        above = self._least_above(builder, keys, start, key)
        return key, builder.value("stablehlo.select", key.type, (is_same, key, above))

    def _is_digit_left(self, builder: hlo.Builder, shift: Any, *now: Any) -> tuple[Any]:
        least = builder.constant(self.bits.start, INDEX)
        return (builder.compare(shift, least, "GE", (), "SIGNED"),)

    def _kept(
        self, builder: hlo.Builder, shift: Any, pending: Any, count: Any, rank: Any, key: Any
    ) -> State:
        """Keep the pending elements of the digit that the rank falls on, and add it to the key."""
        value, below, equal = self._value(builder, shift, pending, count, rank)

        def keep(inner: hlo.Builder, _: Any, own: Any, place: Any, pending: Any) -> State:
            is_kept = inner.compare(self._digit(inner, own, shift), value, "EQ", (), "SIGNED")
            one = inner.value("stablehlo.convert", SCALAR, (is_kept,))
            pending = written(inner, pending, own, place)
            return integer(inner, "add", place, one), pending

        def source(_: Any, pending: Any) -> Any:
            return pending

        zero = builder.constant(0, INDEX)
        _, pending = visited(
            builder,
            zero,
            count,
            self.lanes,
            self.dtype,
            (zero, pending),
            source,
            keep,
        )
        digit, by = (builder.value("stablehlo.convert", self.scalar, (x,)) for x in (value, shift))
        digit = builder.value("stablehlo.shift_left", self.scalar, (digit, by))
        key = builder.value("stablehlo.or", self.scalar, (key, digit))
        rank = integer(builder, "subtract", rank, below)
        return self._next_shift(builder, shift), pending, equal, rank, key

    def _next_shift(self, builder: hlo.Builder, shift: Any) -> Any:
        """Return where the next digit begins; after the last, a place before all.

        The last may overlap with the one before, which is the same in all that are left.
        """
        least = self.bits.start
        is_last = builder.compare(shift, builder.constant(least, INDEX), "EQ", (), "SIGNED")
        lower = integer(builder, "maximum", integer(builder, "subtract", shift, self.width), least)
        over = builder.constant(least - 1, INDEX)
        return builder.value("stablehlo.select", SCALAR, (is_last, over, lower))

    def _least_above(self, builder: hlo.Builder, keys: Any, start: Any, key: Any) -> Any:
        """Return the least key of a row above a key: the greatest number where there is none.

        Pieces of the row are compared place by place; the last ends where the row does.
        """
        width = min(self.length, _PIECE)
        kind = hlo.tensor_type((width,), self.dtype)
        greatest = builder.splat(2 ** len(self.bits) - 1, (width,), self.dtype)
        last = integer(builder, "add", start, self.length - width)

        def turn(inner: hlo.Builder, number: Any, least: Any) -> State:
            ahead = integer(inner, "add", start, integer(inner, "multiply", number, width))
            own = read(inner, keys, integer(inner, "minimum", ahead, last), kind, width)
            spread = inner.broadcast(key, (0,), (width,), self.dtype)
            above = inner.compare(own, spread, "GT", (width,), "UNSIGNED")
            own = inner.value("stablehlo.select", kind, (above, own, greatest))
            return (inner.value("stablehlo.minimum", kind, (least, own)),)

        (least,) = counted(builder, -(-self.length // width), (greatest,), turn)
        reduction = builder.op(
            "stablehlo.reduce",
            (self.scalar,),
            (least, builder.constant(2 ** len(self.bits) - 1, self.dtype)),
            {"dimensions": hlo.dense_i64_array((0,))},
            regions=1,
        )

        def body(inner: hlo.Builder, a: Any, b: Any) -> tuple[Any]:
            return (inner.value("stablehlo.minimum", self.scalar, (a, b)),)

        builder.region(reduction, 0, (self.scalar, self.scalar), body)
        return builder.value(
            "stablehlo.reshape", hlo.tensor_type((1,), self.dtype), (reduction.result,)
        )

    def _level(
        self,
        builder: hlo.Builder,
        shift: Any,
        pending: Any,
        result: Any,
        start: Any,
        count: Any,
        rank: Any,
    ) -> State:
        """Write the pending elements by one digit; those of one value are left pending."""
        value, below, equal = self._value(builder, shift, pending, count, rank)
        middle = integer(builder, "add", start, below)
        end = integer(builder, "add", middle, equal)
        result = self._moved(builder, shift, pending, count, result, value, (start, middle, end))

        def copy(inner: hlo.Builder, number: Any, key: Any, pending: Any) -> State:
            return (written(inner, pending, key, number),)

        (pending,) = visited(
            builder, middle, equal, self.lanes, self.dtype, (pending,), lambda *_: result, copy
        )
        rank = integer(builder, "subtract", rank, below)
        return self._next_shift(builder, shift), pending, result, middle, equal, rank

    def _digit(self, builder: hlo.Builder, key: Any, shift: Any) -> Any:
        word = builder.value("stablehlo.reshape", self.scalar, (key,))
        by = builder.value("stablehlo.convert", self.scalar, (shift,))
        word = builder.value("stablehlo.shift_right_logical", self.scalar, (word, by))
        mask = builder.constant((1 << self.width) - 1, self.dtype)
        word = builder.value("stablehlo.and", self.scalar, (word, mask))
        return builder.value("stablehlo.convert", SCALAR, (word,))

    def _value(
        self, builder: hlo.Builder, shift: Any, pending: Any, count: Any, rank: Any
    ) -> list[Any]:
        """Return the digit of the element of a rank; how many are lower, and how many the same."""

        def add(inner: hlo.Builder, _: Any, key: Any, counts: Any) -> State:
            return [next_number(inner, counts, self._digit(inner, key, shift))[1]]

        none = builder.splat(0, (1 << self.width,), INDEX)
        (counts,) = visited(
            builder,
            builder.constant(0, INDEX),
            count,
            self.lanes,
            self.dtype,
            [none],
            lambda *_: pending,
            add,
        )
        zero = builder.constant(0, INDEX)
        own = builder.value("stablehlo.reshape", SCALAR, (read(builder, counts, zero),))
        state = (zero, zero, own, counts)
        types = [x.type for x in state]
        loop = builder.op("stablehlo.while", types, state, regions=2)

        def going(inner: hlo.Builder, value: Any, below: Any, own: Any, counts: Any) -> tuple[Any]:
            return (inner.compare(integer(inner, "add", below, own), rank, "LE", (), "SIGNED"),)

        def step(inner: hlo.Builder, value: Any, below: Any, own: Any, counts: Any) -> State:
            value, below = integer(inner, "add", value, 1), integer(inner, "add", below, own)
            own = inner.value("stablehlo.reshape", SCALAR, (read(inner, counts, value),))
            return value, below, own, counts

        builder.region(loop, 0, types, going)
        builder.region(loop, 1, types, step)
        return list(loop.results)[:3]

    def _moved(
        self,
        builder: hlo.Builder,
        shift: Any,
        pending: Any,
        count: Any,
        result: Any,
        value: Any,
        starts: tuple[Any, Any, Any],
    ) -> Any:
        """Write elements of lower digits, of a digit and of greater ones, each from a place on."""

        def move(
            inner: hlo.Builder, _: Any, key: Any, low: Any, same: Any, high: Any, result: Any
        ) -> State:
            digit = self._digit(inner, key, shift)
            below = inner.compare(digit, value, "LT", (), "SIGNED")
            above = inner.compare(digit, value, "GT", (), "SIGNED")
            at = inner.value("stablehlo.select", SCALAR, (above, high, same))
            at = inner.value("stablehlo.select", SCALAR, (below, low, at))
            result = written(inner, result, key, at)
            below, above = (inner.value("stablehlo.convert", SCALAR, (x,)) for x in (below, above))
            other = integer(inner, "add", below, above)
            low, high = integer(inner, "add", low, below), integer(inner, "add", high, above)
            same = integer(inner, "add", same, integer(inner, "subtract", 1, other))
            return low, same, high, result

        return visited(
            builder,
            builder.constant(0, INDEX),
            count,
            self.lanes,
            self.dtype,
            (*starts, result),
            lambda *_: pending,
            move,
        )[-1]
