"""Loops over the elements of an array, in a kernel of their own (``LoweringContext.one_kernel``).

XLA keeps the number of a turn, and what a turn hands to the next, in memory.  So a turn may take
several elements, which are read at once and visited in order: with 4 or 8 an element takes half
the time that it takes alone.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel.dtypes import DType, DTypeLike

__all__ = [
    "INDEX",
    "ONE",
    "SCALAR",
    "State",
    "counted",
    "divided",
    "integer",
    "lane_of",
    "next_number",
    "read",
    "stored",
    "visited",
    "written",
]

INDEX = np.dtype(np.int32)
SCALAR = hlo.tensor_type((), INDEX)
ONE = hlo.tensor_type((1,), INDEX)

State = Sequence[Any]


def integer(builder: hlo.Builder, name: str, *operands: Any) -> Any:
    """Append an operation of whole numbers; Python's are made constants."""
    made = [builder.constant(x, INDEX) if isinstance(x, int) else x for x in operands]
    return builder.value(f"stablehlo.{name}", SCALAR, made)


def stored(builder: hlo.Builder, x: Any) -> Any:
    """Append a barrier: what is read, and then written over, XLA reads in time and keeps.

    Without it XLA may read the element again after it is overwritten, for which it would copy the
    whole array in every turn.
    """
    return builder.value("stablehlo.optimization_barrier", x.type, (x,))


def read(builder: hlo.Builder, x: Any, place: Any, kind: Any = ONE, count: int = 1) -> Any:
    """Return so many elements of a vector from a place on, as a value of a type."""
    sizes = {"slice_sizes": hlo.dense_i64_array((count,))}
    return builder.value("stablehlo.dynamic_slice", kind, (x, place), sizes)


def written(builder: hlo.Builder, x: Any, elements: Any, place: Any) -> Any:
    """Return a vector with other elements from a place on."""
    return builder.value("stablehlo.dynamic_update_slice", x.type, (x, elements, place))


def next_number(builder: hlo.Builder, numbers: Any, place: Any) -> tuple[Any, Any]:
    """Return the number that an array has at a place, and the array with one more there."""
    number = stored(builder, read(builder, numbers, place))
    more = builder.value("stablehlo.add", ONE, (number, builder.splat(1, (1,), INDEX)))
    return number, written(builder, numbers, more, place)


def counted(
    builder: hlo.Builder, count: Any, state: State, turn: Callable[..., State]
) -> list[Any]:
    """Append a loop whose turns are numbered, and return its state at the end.

    Args:
      builder: where to append.
      count: how many turns there are, known or a value.
      state: what the first turn gets.
      turn: ``turn(builder, number, *state)`` gives what the next turn gets.
    """
    first = builder.constant(0, INDEX)
    types = [SCALAR, *[value.type for value in state]]
    loop = builder.op("stablehlo.while", types, (first, *state), regions=2)

    def going(inner: hlo.Builder, number: Any, *now: Any) -> tuple[Any]:
        end = inner.constant(count, INDEX) if isinstance(count, int) else count
        return (inner.compare(number, end, "LT", (), "SIGNED"),)

    def step(inner: hlo.Builder, number: Any, *now: Any) -> State:
        after = turn(inner, number, *now)
        return [integer(inner, "add", number, 1), *after]

    builder.region(loop, 0, types, going)
    builder.region(loop, 1, types, step)
    return list(loop.results)[1:]


def visited(
    builder: hlo.Builder,
    start: Any,
    count: Any,
    lanes: int,
    dtype: DTypeLike,
    state: State,
    source: Callable[..., Any],
    visit: Callable[..., State],
) -> list[Any]:
    """Append a visit to each of the elements from a place on, in order.

    Args:
      builder: where to append.
      start: the place of the first element.
      count: how many there are, known or a value.
      lanes: how many are read at once.
      dtype: their dtype.
      state: what the first visit gets.
      source: gives the array, of the state: a visit may write over elements that were visited.
      visit: ``visit(builder, number, element, *state)`` gives what the next one gets; the number of
        the element, counted from the first, is a value, and the element a vector of one.
    """

    def several(inner: hlo.Builder, first: Any, number: int, now: State) -> State:
        kind = hlo.tensor_type((number,), dtype)
        found = read(inner, source(*now), integer(inner, "add", start, first), kind, number)
        found = stored(inner, found)
        for lane in range(number):
            place = integer(inner, "add", first, lane) if lane else first
            now = visit(inner, place, lane_of(inner, found, dtype, lane, number), *now)
        return now

    whole, left = divided(builder, count, lanes)
    passed = integer(builder, "multiply", whole, lanes)

    def turn(inner: hlo.Builder, number: Any, *now: Any) -> State:
        return several(inner, integer(inner, "multiply", number, lanes), lanes, now)

    state = counted(builder, whole, state, turn)
    if isinstance(left, int) and not left:
        return list(state)

    def last(inner: hlo.Builder, number: Any, *now: Any) -> State:
        return several(inner, integer(inner, "add", number, passed), 1, now)

    return counted(builder, left, state, last)


def divided(builder: hlo.Builder, count: Any, lanes: int) -> tuple[Any, Any]:
    """Return how many turns take several elements, and how many elements are left.

    One is never left: XLA writes a loop of one turn out, and then copies the array it writes to.
    """
    if isinstance(count, int):
        whole, left = divmod(count, lanes)
        return (whole - 1, left + lanes) if left == 1 and whole else (whole, left)
    whole = integer(builder, "divide", count, lanes)
    return whole, integer(builder, "remainder", count, lanes)


def lane_of(
    builder: hlo.Builder, x: Any, dtype: DType, lane: int, lanes: int, width: int = 1
) -> Any:
    """Return one of the equal parts, so wide, of a vector."""
    if lanes == 1:
        return x
    bounds = {
        "start_indices": hlo.dense_i64_array((lane * width,)),
        "limit_indices": hlo.dense_i64_array((lane * width + width,)),
        "strides": hlo.dense_i64_array((1,)),
    }
    return builder.value("stablehlo.slice", hlo.tensor_type((width,), dtype), (x,), bounds)
