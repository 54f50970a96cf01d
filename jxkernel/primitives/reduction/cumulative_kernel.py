"""Accumulation along rows by one loop over the elements, in a kernel of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jxkernel import hlo
from jxkernel.dtypes import DType
from jxkernel.primitives.reduction.kernel_loops import (
    INDEX,
    State,
    counted,
    divided,
    integer,
    lane_of,
    read,
    written,
)

__all__ = ["Accumulation"]

_LANES = 4
"""How many elements a turn takes.  Eight take as long, and compile for 50 ms longer."""


@dataclass(frozen=True)
class Accumulation:
    """The loops that accumulate arrays along one axis, which lie side by side in a vector.

    What is at one position of the axis is a vector too.  An axis is taken in blocks.  A position is
    joined with those before it in the block first, and what comes out with all blocks before it,
    so that rounding errors do not grow with the axis.

    Attributes:
      count: how many arrays.
      size: the positions of the axis.
      beside: the elements at each position.
      block: the most positions of a block.
      dtype: the dtype of the elements.
      start: the neutral element.
      combine: ``combine(builder, a, b)`` joins what is at two positions.
      reverse: whether to accumulate from the end.
    """

    count: int
    size: int
    beside: int
    block: int
    dtype: DType
    start: Any
    combine: Callable[[hlo.Builder, Any, Any], Any]
    reverse: bool

    def every(self, builder: hlo.Builder, x: Any) -> tuple[Any]:
        """Return the accumulated arrays, of the vector that has all of them."""
        y = builder.splat(self.start, (self.count * self.size * self.beside,), self.dtype)
        if self.count == 1:
            return (self._array(builder, x, builder.constant(0, INDEX), y),)

        def turn(inner: hlo.Builder, number: Any, y: Any) -> State:
            return (self._array(inner, x, integer(inner, "multiply", number, self.size), y),)

        return (counted(builder, self.count, (y,), turn)[0],)

    def _array(self, builder: hlo.Builder, x: Any, begin: Any, y: Any) -> Any:
        """Write the accumulated array that begins at a position."""
        if self.size <= self.block:
            return self._block(builder, x, begin, self.size, self._nothing(builder), y)[1]

        def turn(inner: hlo.Builder, number: Any, before: Any, y: Any) -> State:
            first = integer(inner, "multiply", number, self.block)
            left = integer(inner, "subtract", self.size, first)
            count = integer(inner, "minimum", left, self.block)
            if self.reverse:
                first = integer(inner, "subtract", left, count)
            total, y = self._block(inner, x, integer(inner, "add", begin, first), count, before, y)
            return self.combine(inner, before, total), y

        blocks = -(-self.size // self.block)
        return counted(builder, blocks, (self._nothing(builder), y), turn)[1]

    def _nothing(self, builder: hlo.Builder) -> Any:
        return builder.splat(self.start, (self.beside,), self.dtype)

    def _block(
        self, builder: hlo.Builder, x: Any, begin: Any, count: Any, before: Any, y: Any
    ) -> State:
        """Return what a block comes to, and the result with it written.

        Args:
          builder: where to append.
          x: all elements.
          begin: the position where the block begins.
          count: how many positions it has, known or a value.
          before: what all blocks before it come to.
          y: the result.
        """
        together = _LANES if self.size >= 2 * _LANES else 1
        whole, left = divided(builder, count, together)
        passed = integer(builder, "multiply", whole, together)
        several, single = (left, 0) if self.reverse else (0, passed)

        def visited(lanes: int, first: Any, turns: Any) -> Callable[..., State]:
            def turn(inner: hlo.Builder, number: Any, total: Any, y: Any) -> State:
                if self.reverse:
                    last = integer(inner, "subtract", turns, 1)
                    number = integer(inner, "subtract", last, number)
                ahead = integer(inner, "add", first, integer(inner, "multiply", number, lanes))
                place = integer(inner, "add", begin, ahead)
                return self._positions(inner, x, place, lanes, before, total, y)

            return turn

        state: State = (self._nothing(builder), y)
        state = counted(builder, whole, state, visited(together, several, whole))
        return counted(builder, left, state, visited(1, single, left))

    def _positions(
        self, builder: hlo.Builder, x: Any, place: Any, lanes: int, before: Any, total: Any, y: Any
    ) -> State:
        """Write some positions; return what the block comes to with them, and the result."""
        width = lanes * self.beside
        at = integer(builder, "multiply", place, self.beside)
        found = read(builder, x, at, hlo.tensor_type((width,), self.dtype), width)
        order = range(lanes)[::-1] if self.reverse else range(lanes)
        for lane in order:
            own = lane_of(builder, found, self.dtype, lane, lanes, self.beside)
            total = self.combine(builder, total, own)
            to = integer(builder, "add", at, lane * self.beside) if lane else at
            y = written(builder, y, self.combine(builder, before, total), to)
        return total, y
