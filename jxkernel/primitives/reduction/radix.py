"""Sorting unsigned integers digit by digit, without comparing them: a loop that XLA compiles whole.

The loops are one kernel (``one_kernel``), so that a turn, which moves one element, takes 1 to 4 ns.
"""

from collections.abc import Callable
from math import prod
from typing import Any, Protocol

from jxkernel import hlo
from jxkernel.dtypes import DType
from jxkernel.primitives.reduction.kernel_loops import (
    INDEX,
    ONE,
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

__all__ = ["LONG", "Sortable", "in_rows", "lanes_for", "sorted_by_digits"]

LONG = 1 << 14
"""From so many elements on a digit has 11 bits: fewer passes, over tables that are longer."""

_MANY, _LANES = 1 << 17, 4
"""From so many elements on, loops take several in a turn, which takes 30 ms longer to compile."""


def lanes_for(count: int) -> int:
    """Return how many elements loops over so many take in a turn."""
    return _LANES if count >= _MANY else 1


class Sortable(Protocol):
    """What is sorted.

    Attributes:
      kinds: the dtypes of the array that is given, of the unsigned integers that are sorted
        instead, and of the result.
      bits: those of the integers that count; integers that differ in lower ones keep their order.
    """

    kinds: tuple[Any, Any, Any]
    bits: range

    def encoded(self, builder: hlo.Builder, x: Any, shape: tuple[int, ...], axis: int) -> Any:
        """Append the integers that are made of an array, to be sorted along an axis."""

    def decoded(self, builder: hlo.Builder, key: Any, shape: tuple[int, ...]) -> Any:
        """Append what is wanted of the sorted integers."""


def sorted_by_digits(
    context: Any, x: hlo.Value, shape: tuple[int, ...], dimension: int, kind: Sortable
) -> Any:
    """Append a sort of an array, of less than 2^31 elements, along an axis by digits.

    Args:
      context: the lowering context.
      x: the array.
      shape: its shape.
      dimension: the axis.
      kind: how it becomes integers, and they the result.
    """

    def ordered(builder: hlo.Builder, keys: Any, count: int, length: int) -> Any:
        sort = _Sort(kind.kinds[1], length, kind.bits, lanes_for(count * length))
        return sort.rows(builder, keys, count)

    return in_rows(context, "sort_by_digits", x, shape, dimension, kind, ordered)


def in_rows(
    context: Any,
    name: str,
    x: hlo.Value,
    shape: tuple[int, ...],
    dimension: int,
    kind: Sortable,
    order: Callable[[hlo.Builder, Any, int, int], Any],
) -> Any:
    """Append a kernel that puts integers made of an array in another order along an axis.

    Args:
      context: the lowering context.
      name: what the kernel is called.
      x: the array.
      shape: its shape.
      dimension: the axis.
      kind: how it becomes integers, and they the result.
      order: ``order(builder, keys, count, length)`` gives the integers of so many rows of a length,
        all in one vector, in their new order.
    """
    given, dtype, wanted = kind.kinds
    last = len(shape) - 1
    turned = (*range(dimension), *range(dimension + 1, last + 1), dimension)
    rows = tuple([shape[axis] for axis in turned])
    if dimension != last:
        x = _transposed(context, x, turned, rows, given)

    def body(builder: hlo.Builder, x: Any) -> tuple[Any]:
        flat = hlo.tensor_type((prod(shape),), dtype)
        keys = builder.value("stablehlo.reshape", flat, (kind.encoded(builder, x, rows, last),))
        found = order(builder, stored(builder, keys), prod(rows[:-1]), rows[-1])
        found = builder.value("stablehlo.reshape", hlo.tensor_type(rows, dtype), (found,))
        return (kind.decoded(builder, found, rows),)

    (found,) = context.one_kernel(name, (x,), (hlo.tensor_type(rows, wanted),), body)
    if dimension == last:
        return found
    back = tuple([turned.index(axis) for axis in range(last + 1)])
    return _transposed(context, found, back, shape, wanted)


def _transposed(
    context: Any, x: Any, axes: tuple[int, ...], shape: tuple[int, ...], dtype: DType
) -> Any:
    permutation = {"permutation": hlo.dense_i64_array(axes)}
    return context.value("stablehlo.transpose", hlo.tensor_type(shape, dtype), (x,), permutation)


class _Sort:
    """The loops of a sort: one that counts the values of all digits, and one pass for each digit.

    The lowest digit comes first, and each pass keeps the order of elements whose digits are equal.
    Passes go from the rows to a buffer of one row and back, so that the last one writes the result.
    """

    def __init__(self, dtype: DType, length: int, bits: range, lanes: int) -> None:
        self.dtype, self.length, self.lanes = dtype, length, lanes
        self.scalar = hlo.tensor_type((), dtype)
        self.one = hlo.tensor_type((1,), dtype)
        width = min(11 if length >= LONG else 8, len(bits))
        self.values = 1 << width
        self.places = tuple(bits[::width])

    def rows(self, builder: hlo.Builder, keys: Any, count: int) -> Any:
        """Return keys, sorted row by row."""
        buffer = builder.splat(0, (self.length,), self.dtype)
        result = builder.splat(0, (count * self.length,), self.dtype)
        if count == 1:
            return self._row(builder, keys, builder.constant(0, INDEX), result, buffer)[0]

        def turn(inner: hlo.Builder, row: Any, result: Any, buffer: Any) -> State:
            start = integer(inner, "multiply", row, self.length)
            return self._row(inner, keys, start, result, buffer)

        return counted(builder, count, (result, buffer), turn)[0]

    def _row(self, builder: hlo.Builder, keys: Any, start: Any, result: Any, buffer: Any) -> State:
        """Sort the row that begins at a place; return the results, and the buffer."""
        zero = builder.constant(0, INDEX)
        source, begin = keys, start
        left = len(self.places)
        starts = self._starts(builder, self._counts(builder, keys, start), start)
        for place, own in zip(self.places, starts, strict=True):
            left -= 1
            if left % 2:
                buffer = self._moved(builder, source, begin, buffer, own, place)
                source, begin = buffer, zero
            else:
                result = self._moved(builder, source, begin, result, own, place)
                source, begin = result, start
        return result, buffer

    def _digit(self, builder: hlo.Builder, key: Any, bit: int) -> Any:
        """Return the digit of a key, a vector of one, that begins at a bit."""
        word = builder.value("stablehlo.reshape", self.scalar, (key,))
        if bit:
            shift = builder.constant(bit, self.dtype)
            word = builder.value("stablehlo.shift_right_logical", self.scalar, (word, shift))
        mask = builder.constant(self.values - 1, self.dtype)
        word = builder.value("stablehlo.and", self.scalar, (word, mask))
        return builder.value("stablehlo.convert", SCALAR, (word,))

    def _counts(self, builder: hlo.Builder, keys: Any, start: Any) -> State:
        """Return, for each digit, how many elements of a row have each of its values.

        Each count stands at the place after its value.
        """
        none = builder.splat(0, (self.values + 1,), INDEX)

        def count(inner: hlo.Builder, _: Any, key: Any, *counts: Any) -> State:
            return [
                next_number(inner, own, integer(inner, "add", self._digit(inner, key, bit), 1))[1]
                for own, bit in zip(counts, self.places, strict=True)
            ]

        state = [none] * len(self.places)
        return visited(
            builder, start, self.length, self.lanes, self.dtype, state, lambda *_: keys, count
        )

    def _starts(self, builder: hlo.Builder, counts: State, start: Any) -> State:
        """Return, for each digit, where the first element of each of its values goes."""

        def add(inner: hlo.Builder, turn: Any, *counts: Any) -> State:
            after = integer(inner, "add", turn, 1)
            found: list[Any] = []
            for own in counts:
                both = [read(inner, own, place) for place in (turn, after)]
                total = stored(inner, inner.value("stablehlo.add", ONE, both))
                found.append(written(inner, own, total, after))
            return found

        base = builder.value("stablehlo.reshape", ONE, (start,))
        zero = builder.constant(0, INDEX)
        counts = [
            own if (len(counts) - number) % 2 == 0 else written(builder, own, base, zero)
            for number, own in enumerate(counts)
        ]
        return counted(builder, self.values, counts, add)

    def _moved(
        self, builder: hlo.Builder, source: Any, start: Any, target: Any, starts: Any, bit: int
    ) -> Any:
        """Write a row, in its order, to the places of its digits."""

        def move(inner: hlo.Builder, _: Any, key: Any, starts: Any, target: Any) -> State:
            at, starts = next_number(inner, starts, self._digit(inner, key, bit))
            at = inner.value("stablehlo.reshape", SCALAR, (at,))
            return starts, written(inner, target, key, at)

        state, count = (starts, target), self.length
        return visited(
            builder, start, count, self.lanes, self.dtype, state, lambda *_: source, move
        )[1]
