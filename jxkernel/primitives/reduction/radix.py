"""Sorting unsigned integers digit by digit, without comparing them: a loop that XLA compiles whole.

The loops are one kernel (``one_kernel``), so that a turn, which moves one element, takes 2 to 4 ns.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np

from jxkernel import hlo
from jxkernel.dtypes import DType
from jxkernel.runtime import ArrayLike

__all__ = ["sorted_by_digits"]

_INDEX = np.dtype(np.int32)
_SCALAR = hlo.tensor_type((), _INDEX)
_ONE = hlo.tensor_type((1,), _INDEX)
_LONG = 1 << 14
"""From so many elements on a digit has 11 bits: fewer passes, over tables that are longer."""

State = Sequence[Any]


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
    context: Any, x: ArrayLike, shape: tuple[int, ...], dimension: int, kind: Sortable
) -> Any:
    """Append a sort of an array, of less than 2^31 elements, along an axis by digits.

    Args:
      context: the lowering context.
      x: the array.
      shape: its shape.
      dimension: the axis.
      kind: how it becomes integers, and they the result.
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
        keys = builder.value("stablehlo.optimization_barrier", flat, (keys,))
        ordered = _Sort(dtype, rows[-1], kind.bits).rows(builder, keys, prod(rows[:-1]))
        ordered = builder.value("stablehlo.reshape", hlo.tensor_type(rows, dtype), (ordered,))
        return (kind.decoded(builder, ordered, rows),)

    (found,) = context.one_kernel("sort_by_digits", (x,), (hlo.tensor_type(rows, wanted),), body)
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

    def __init__(self, dtype: Any, length: int, bits: range) -> None:
        self.dtype, self.length = dtype, length
        self.scalar = hlo.tensor_type((), dtype)
        self.one = hlo.tensor_type((1,), dtype)
        width = min(11 if length >= _LONG else 8, len(bits))
        self.values = 1 << width
        self.places = tuple(bits[::width])

    def rows(self, builder: hlo.Builder, keys: Any, count: int) -> Any:
        """Return keys, sorted row by row."""
        buffer = builder.splat(0, (self.length,), self.dtype)
        result = builder.splat(0, (count * self.length,), self.dtype)
        if count == 1:
            return self._row(builder, keys, builder.constant(0, _INDEX), result, buffer)[0]

        def turn(inner: hlo.Builder, row: Any, result: Any, buffer: Any) -> State:
            length = inner.constant(self.length, _INDEX)
            start = inner.value("stablehlo.multiply", _SCALAR, (row, length))
            return self._row(inner, keys, start, result, buffer)

        return _counted(builder, count, (result, buffer), turn)[0]

    def _row(self, builder: hlo.Builder, keys: Any, start: Any, result: Any, buffer: Any) -> State:
        """Sort the row that begins at a place; return the results, and the buffer."""
        zero = builder.constant(0, _INDEX)
        source, begin = keys, start
        left = len(self.places)
        for place, starts in zip(self.places, self._starts(builder, keys, start), strict=True):
            left -= 1
            if left % 2:
                buffer = self._moved(builder, source, begin, buffer, starts, place)
                source, begin = buffer, zero
            else:
                result = self._moved(builder, source, begin, result, starts, place)
                source, begin = result, start
        return result, buffer

    def _digit(self, builder: hlo.Builder, key: Any, bit: int) -> Any:
        """Return the digit of a key that begins at a bit."""
        word = key
        if bit:
            shift = builder.constant(bit, self.dtype)
            word = builder.value("stablehlo.shift_right_logical", self.scalar, (key, shift))
        mask = builder.constant(self.values - 1, self.dtype)
        word = builder.value("stablehlo.and", self.scalar, (word, mask))
        return builder.value("stablehlo.convert", _SCALAR, (word,))

    def _starts(self, builder: hlo.Builder, keys: Any, start: Any) -> State:
        """Return, for each digit, where the first element of each of its values goes.

        Each count stands at the place after its value, so that sums of them are these starts.
        """
        size = self.values + 1
        none = builder.splat(0, (size,), _INDEX)
        one = builder.constant(1, _INDEX)

        def count(inner: hlo.Builder, turn: Any, *counts: Any) -> State:
            place = inner.value("stablehlo.add", _SCALAR, (start, turn))
            key = inner.value("stablehlo.reshape", self.scalar, (self._key(inner, keys, place),))
            found: list[Any] = []
            for own, bit in zip(counts, self.places, strict=True):
                digit = self._digit(inner, key, bit)
                found.append(
                    _next(inner, own, inner.value("stablehlo.add", _SCALAR, (digit, one)))[1]
                )
            return found

        def add(inner: hlo.Builder, turn: Any, *counts: Any) -> State:
            after = inner.value("stablehlo.add", _SCALAR, (turn, one))
            found: list[Any] = []
            for own in counts:
                both = [_read(inner, own, place) for place in (turn, after)]
                total = inner.value("stablehlo.add", _ONE, both)
                total = inner.value("stablehlo.optimization_barrier", _ONE, (total,))
                found.append(_written(inner, own, total, after))
            return found

        counts = _counted(builder, self.length, [none] * len(self.places), count)
        base = builder.value("stablehlo.reshape", _ONE, (start,))
        zero = builder.constant(0, _INDEX)
        counts = [
            own if (len(counts) - number) % 2 == 0 else _written(builder, own, base, zero)
            for number, own in enumerate(counts)
        ]
        return _counted(builder, self.values, counts, add)

    def _key(self, builder: hlo.Builder, keys: Any, place: Any) -> Any:
        key = _read(builder, keys, place, self.one)
        return builder.value("stablehlo.optimization_barrier", self.one, (key,))

    def _moved(
        self, builder: hlo.Builder, source: Any, start: Any, target: Any, starts: Any, bit: int
    ) -> Any:
        """Write a row, in its order, to the places of its digits."""

        def move(inner: hlo.Builder, turn: Any, starts: Any, target: Any) -> State:
            place = inner.value("stablehlo.add", _SCALAR, (start, turn))
            key = self._key(inner, source, place)
            digit = self._digit(inner, inner.value("stablehlo.reshape", self.scalar, (key,)), bit)
            at, starts = _next(inner, starts, digit)
            at = inner.value("stablehlo.reshape", _SCALAR, (at,))
            return starts, _written(inner, target, key, at)

        return _counted(builder, self.length, (starts, target), move)[1]


def _next(builder: hlo.Builder, counts: Any, digit: Any) -> tuple[Any, Any]:
    """Return the number that an array has at a place, and the array with one more there.

    The barrier keeps XLA from reading the number again after it is overwritten, for which it
    would copy the array.
    """
    number = _read(builder, counts, digit)
    number = builder.value("stablehlo.optimization_barrier", _ONE, (number,))
    more = builder.value("stablehlo.add", _ONE, (number, builder.splat(1, (1,), _INDEX)))
    return number, _written(builder, counts, more, digit)


def _read(builder: hlo.Builder, x: Any, place: Any, kind: Any = _ONE) -> Any:
    """Return the element of a vector at a place, as a vector of one."""
    sizes = {"slice_sizes": hlo.dense_i64_array((1,))}
    return builder.value("stablehlo.dynamic_slice", kind, (x, place), sizes)


def _written(builder: hlo.Builder, x: Any, element: Any, place: Any) -> Any:
    return builder.value("stablehlo.dynamic_update_slice", x.type, (x, element, place))


def _counted(
    builder: hlo.Builder, count: int, state: State, turn: Callable[..., State]
) -> list[Any]:
    """Append a loop whose turns are numbered, and return its state at the end."""
    first = builder.constant(0, _INDEX)
    types = [_SCALAR, *[value.type for value in state]]
    loop = builder.op("stablehlo.while", types, (first, *state), regions=2)

    def going(inner: hlo.Builder, number: Any, *now: Any) -> tuple[Any]:
        return (inner.compare(number, inner.constant(count, _INDEX), "LT", (), "SIGNED"),)

    def step(inner: hlo.Builder, number: Any, *now: Any) -> State:
        after = turn(inner, number, *now)
        one = inner.constant(1, _INDEX)
        return [inner.value("stablehlo.add", _SCALAR, (number, one)), *after]

    builder.region(loop, 0, types, going)
    builder.region(loop, 1, types, step)
    return list(loop.results)[1:]
