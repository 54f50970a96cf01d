"""The StableHLO of a scan: a counted loop over slices, or its turns written out.

Sums over devices that are put off are handed from turn to turn: what a loop reads from outside,
XLA's partitioner would sum first.

The loop's state is a counter, the carry and one buffer per stacked result, written slice by
slice; constants and scanned arrays are read from outside of the loop.  With ``unroll`` each turn
of the loop makes several turns of the scan; those left over are written out behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.core.dimensions import is_symbolic
from jxkernel.core.effects import TOKEN, has_ordered
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.sharding import NamedSharding

__all__ = ["HeldSums", "lower_scan"]

_INT32_MAX = 2**31 - 1


class _Turns:
    """What every turn needs: the body, what it reads from outside, and the types of it all."""

    __slots__ = ("avals", "body", "carry_count", "consts", "index_dtype", "length", "reverse", "xs")

    def __init__(
        self,
        body: ClosedJaxpr,
        consts: Sequence[Any],
        xs: Sequence[Any],
        carry_count: int,
        length: int,
        reverse: bool,
    ) -> None:
        self.body = body
        self.consts = consts
        self.xs = xs
        self.carry_count = carry_count
        self.length = length
        self.reverse = reverse
        self.avals = body.in_avals[len(consts) + carry_count :]
        self.index_dtype = np.dtype(np.int32 if length <= _INT32_MAX else np.int64)

    def reading(self, consts: Sequence[Any], xs: Sequence[Any]) -> _Turns:
        """Return the same turns that read other values."""
        return _Turns(self.body, consts, xs, self.carry_count, self.length, self.reverse)

    @property
    def y_avals(self) -> list[ShapedArray]:
        """The types of one turn's stacked results."""
        return self.body.out_avals[self.carry_count :]

    def at(
        self, context: Any, position: Any, carry: Sequence[Any], buffers: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Append the turn at a position of the scanned arrays; return carry and buffers."""
        elements = [
            self._element(context, x, aval, position)
            for x, aval in zip(self.xs, self.avals, strict=True)
        ]
        outs = context.inline(self.body, [*self.consts, *carry, *elements])
        written = [
            self._write(context, buffer, y, aval, position)
            for buffer, y, aval in zip(buffers, outs[self.carry_count :], self.y_avals, strict=True)
        ]
        return outs[: self.carry_count], written

    def _element(self, context: Any, x: Any, aval: ShapedArray, position: Any) -> Any:
        """Append the element of a scanned array at a position."""
        piece = context.value(
            "stablehlo.dynamic_slice",
            hlo.tensor_type((1, *aval.shape), aval.dtype),
            (x, *self._starts(context, position, aval)),
            {"slice_sizes": hlo.dense_i64_array((1, *aval.shape))},
        )
        piece = _as_sum(context, piece, aval, stacked=True)
        kind = hlo.tensor_type(aval.shape, aval.dtype)
        return _as_sum(context, context.value("stablehlo.reshape", kind, (piece,)), aval)

    def _write(self, context: Any, buffer: Any, y: Any, aval: ShapedArray, position: Any) -> Any:
        """Append a buffer with a result written at a position."""
        row = context.value(
            "stablehlo.reshape", hlo.tensor_type((1, *aval.shape), aval.dtype), (y,)
        )
        row = _as_sum(context, row, aval, stacked=True)
        operands = (buffer, row, *self._starts(context, position, aval))
        written = context.value("stablehlo.dynamic_update_slice", buffer.type, operands)
        return _as_sum(context, written, aval, stacked=True)

    def _starts(self, context: Any, position: Any, aval: ShapedArray) -> list[Any]:
        """Append where a slice begins: at the position of the first axis and 0 of the others."""
        return [position, *([self.number(context, 0)] * aval.ndim if aval.ndim else ())]

    def number(self, context: Any, value: int) -> Any:
        """Append a constant of the counter's dtype."""
        return context.constant(value, self.index_dtype)

    def position(self, context: Any, turn: Any) -> Any:
        """Append the position that a turn reads: its number, from the end if reversed."""
        if not self.reverse:
            return turn
        kind = hlo.tensor_type((), self.index_dtype)
        last = self.number(context, self.length - 1)
        return context.value("stablehlo.subtract", kind, (last, turn))


class _Divides(Protocol):
    """A lowering context, as far as it says how values are divided."""

    module: Any

    def divided(self, value: object, sharding: NamedSharding) -> Any:
        """Append a sharding constraint of a value, and return the value."""
        ...


class HeldSums:
    """What a loop reads from outside that is a sum over devices which is put off.

    Args:
      partitioned: whether the module is for several devices.
      values: what the loop reads from outside.
      avals: their types.
    """

    def __init__(
        self, partitioned: bool, values: Sequence[Any], avals: Sequence[ShapedArray]
    ) -> None:
        pairs = [
            (value, aval)
            for value, aval in zip(values, avals, strict=True)
            if partitioned and aval.unreduced
        ]
        self.values = [value for value, _ in pairs]
        self.avals = [aval for _, aval in pairs]

    def among(self, context: _Divides, values: Sequence[Any], held: Sequence[Any]) -> list[Any]:
        """Return what the loop reads, with what it holds in a turn in the place of sums."""
        said = [_as_sum(context, value, aval) for value, aval in zip(held, self.avals, strict=True)]
        places = dict(zip(map(id, self.values), said, strict=True))
        return [places.get(id(value), value) for value in values]


def _as_sum(context: _Divides, value: object, aval: ShapedArray, *, stacked: bool = False) -> Any:
    """Return a value of a loop, which says so where it is a sum over devices that is put off.

    Args:
      context: the lowering context.
      value: the value.
      aval: the type of an element.
      stacked: whether the value is a stack of elements.
    """
    sharding = aval.explicit_sharding
    if sharding is None or not aval.unreduced or not context.module.partitioned:
        return value
    entries = (None, *aval.entries) if stacked else aval.entries
    return context.divided(value, sharding.update(spec=sharding.spec.update(partitions=entries)))


def lower_scan(
    context: Any,
    body: ClosedJaxpr,
    consts: Sequence[Any],
    init: Sequence[Any],
    xs: Sequence[Any],
    *,
    length: int,
    reverse: bool,
    unroll: int,
) -> list[Any]:
    """Append a scan and return the values of its last carry and stacked results.

    Args:
      context: the lowering context of the scan's equation.
      body: the program of one turn.
      consts: the values of its constants.
      init: the values of the first carry.
      xs: the values of the scanned arrays.
      length: the number of turns.
      reverse: whether to begin with the last element.
      unroll: how many turns one turn of the loop makes; all are written out if not fewer.
    """
    turns = _Turns(body, consts, xs, len(init), length, reverse)
    carry: list[Any] = list(init)
    buffers = [
        _as_sum(context, context.splat(0, (length, *aval.shape), aval.dtype), aval, stacked=True)
        for aval in turns.y_avals
    ]
    looped = length - length % unroll if is_symbolic(length) or length > unroll else 0
    if looped:
        carry, buffers = _loop(context, turns, carry, buffers, looped, unroll)
    for turn in range(length - looped):
        place = length - 1 - looped - turn if reverse else looped + turn
        carry, buffers = turns.at(context, turns.number(context, place), carry, buffers)
    return [*carry, *buffers]


def _loop(
    context: Any,
    turns: _Turns,
    carry: Sequence[Any],
    buffers: Sequence[Any],
    count: int,
    unroll: int,
) -> tuple[list[Any], list[Any]]:
    """Append the loop that makes the first ``count`` turns."""
    index = ShapedArray((), turns.index_dtype)
    kind = hlo.tensor_type((), turns.index_dtype)
    tokens = [context.take_token()] if has_ordered(turns.body.effects) else []
    read = [*turns.consts, *turns.xs]
    held = HeldSums(context.module.partitioned, read, _types_read(turns))
    avals = [
        *[TOKEN] * len(tokens),
        index,
        *turns.body.out_avals[: turns.carry_count],
        *[aval.update(shape=(turns.length, *aval.shape)) for aval in turns.y_avals],
        *held.avals,
    ]
    state = [*tokens, turns.number(context, 0), *carry, *buffers, *held.values]
    stop = turns.carry_count + len(buffers)
    operation = context.op("stablehlo.while", [value.type for value in state], state, regions=2)

    def going(inner: Any, *parts: Any) -> tuple[Any]:
        turn = parts[len(tokens)]
        return (inner.compare(turn, turns.number(inner, count), "LT", (), "SIGNED"),)

    def step(inner: Any, *parts: Any) -> list[Any]:
        if tokens:
            inner.token = parts[0]
        turn, *rest = parts[len(tokens) :]
        now, written = rest[: turns.carry_count], rest[turns.carry_count : stop]
        here = held.among(inner, read, rest[stop:])
        reading = turns.reading(here[: len(turns.consts)], here[len(turns.consts) :])
        for _ in range(unroll):
            now, written = reading.at(inner, turns.position(inner, turn), now, written)
            turn = inner.value("stablehlo.add", kind, (turn, turns.number(inner, 1)))
        return [*([inner.token] if tokens else ()), turn, *now, *written, *rest[stop:]]

    context.lower_region(operation, 0, avals, going)
    context.lower_region(operation, 1, avals, step)
    results = list(operation.results)
    if tokens:
        context.token = results.pop(0)
    carried = [
        _as_sum(context, value, aval)
        for value, aval in zip(results[1:], turns.body.out_avals[: turns.carry_count], strict=False)
    ]
    stacks = [
        _as_sum(context, value, aval, stacked=True)
        for value, aval in zip(
            results[1 + turns.carry_count : 1 + stop], turns.y_avals, strict=True
        )
    ]
    return carried, stacks


def _types_read(turns: _Turns) -> list[ShapedArray]:
    """Return the types of constants and of scanned arrays, as types of stacks."""
    elements = turns.avals
    stacks = [
        aval
        if aval.explicit_sharding is None
        else aval.update(
            shape=(turns.length, *aval.shape),
            explicit_sharding=aval.explicit_sharding.update(
                spec=aval.explicit_sharding.spec.update(partitions=(None, *aval.entries))
            ),
        )
        for aval in elements
    ]
    return [*turns.body.in_avals[: len(turns.consts)], *stacks]
