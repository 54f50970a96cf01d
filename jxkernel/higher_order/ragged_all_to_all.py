"""``ragged_all_to_all``: members of an axis send each other rows, to each as many as they like.

XLA has this collective for some accelerators only.  Here it is made of others, so that it runs
anywhere and has every transform: all members' rows are gathered, and each takes what is for it.
In programs it stands by its own name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel.core.avals import abstractify, rank_of, shape_of
from jxkernel.core.axes import axis_environment, bound_axis_size, extend_axes
from jxkernel.core.jaxpr import Value
from jxkernel.dtypes import issubdtype
from jxkernel.primitives.collective.all_gather import all_gather
from jxkernel.primitives.collective.psum import (
    AxisNames,
    Groups,
    axis_index,
    checked_groups,
    named_params,
    names_of,
    size_of,
)
from jxkernel.primitives.collective.varying import agreeing
from jxkernel.primitives.creation import iota
from jxkernel.primitives.elementwise.arithmetic import add, mul, sub
from jxkernel.primitives.elementwise.bits import bitwise_and
from jxkernel.primitives.elementwise.compare import ge, lt
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.indexing.dynamic_slicing import dynamic_index_in_dim
from jxkernel.primitives.indexing.gather import GatherDimensionNumbers, gather
from jxkernel.primitives.reduction.reduce import argmax, reduce_or
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.primitives.shape.reshape import reshape
from jxkernel.transforms.composed import Composed

__all__ = ["ragged_all_to_all", "ragged_all_to_all_p"]

_INT32 = np.dtype(np.int32)


def ragged_all_to_all(
    operand: Value,
    output: Value,
    input_offsets: Value,
    send_sizes: Value,
    output_offsets: Value,
    recv_sizes: Value,
    *,
    axis_name: AxisNames,
    axis_index_groups: Any = None,
) -> Any:
    """Send each member of a named axis some rows, and receive rows from each into an array.

    Args:
      operand: the rows to send, along axis 0.
      output: the array into which they are received; rows that nobody sends keep their values.
      input_offsets: integers ``[members]``: where in ``operand`` the rows for each member begin.
      send_sizes: integers ``[members]``: how many rows are for each member.
      output_offsets: integers ``[members]``: where in each member's ``output`` they are put.
      recv_sizes: integers ``[members]``: how many rows come from each member.  It must be what the
        members send; it is not read.
      axis_name: a name or a tuple of names.
      axis_index_groups: lists of indices, all of one size, that exchange apart.

    Returns:
      ``output`` with the rows received.

    Raises:
      NameError: the name is not bound here.
      TypeError: offsets or sizes are no integers, or the rows' dtypes differ.
      ValueError: shapes do not fit.

    Linear in ``operand`` and ``output``.  Where two members send to one row, one of them wins.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> one = jnp.ones(2, int)
    >>> def swap(x):  # each member sends its row i to member i
    ...     at = jnp.full(2, jx.lax.axis_index("i"))
    ...     given = (jnp.arange(2), one, at, one)
    ...     return jx.lax.ragged_all_to_all(x, jnp.zeros(2), *given, axis_name="i")
    >>> jx.vmap(swap, axis_name="i")(jnp.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    names = names_of(axis_name)
    size = size_of(names)
    groups = checked_groups("ragged_all_to_all", axis_index_groups, size, equal=True)
    integers = (input_offsets, send_sizes, output_offsets, recv_sizes)
    _check(operand, output, integers, len(groups[0]) if groups else size)
    return ragged_all_to_all_p.bind(
        *agreeing([operand, output, *integers]),
        axis_name=names,
        axis_sizes=tuple([bound_axis_size(name) for name in names]),
        axis_index_groups=groups,
    )


def _exchanged(
    *args: Value,
    axis_name: tuple[Any, ...],
    axis_sizes: tuple[int, ...],
    axis_index_groups: Groups,
) -> Any:
    """Bind the names where they are not: while a program that has the collective is transformed."""
    bound = {name for name, _ in axis_environment()[0]}
    axes = [pair for pair in zip(axis_name, axis_sizes, strict=True) if pair[0] not in bound]
    with extend_axes(axes):
        return _received(args, axis_name, axis_index_groups)


ragged_all_to_all_p = Composed("ragged_all_to_all", _exchanged)
ragged_all_to_all_p.axis_names = named_params


def _received(args: Sequence[Value], names: tuple[Any, ...], groups: Groups) -> Any:
    """Return the output with the rows received, made of other collectives."""
    operand, output, input_offsets, send_sizes, output_offsets, _ = args
    count = len(groups[0]) if groups else size_of(names)
    me = _place(names, groups)

    def gathered(x: Value) -> Any:
        return all_gather(x, names, axis_index_groups=groups)

    begin, sizes, put = [
        dynamic_index_in_dim(gathered(convert_element_type(x, _INT32)), me, 1, keepdims=False)
        for x in (input_offsets, send_sizes, output_offsets)
    ]
    length, rows = shape_of(output)[0], shape_of(operand)[0]
    if not length or not rows:
        return output
    place = broadcast_in_dim(iota(_INT32, length), (count, length), (1,))
    first, last = (broadcast_in_dim(x, (count, length), (0,)) for x in (put, add(put, sizes)))
    here = bitwise_and(*agreeing([ge(place, first), lt(place, last)]))
    sender = argmax(here, 0, _INT32)
    row = add(_at(sub(begin, put), sender), iota(_INT32, length))
    whole = gathered(operand)
    flat = reshape(whole, (count * rows, *shape_of(operand)[1:]))
    received = _at(flat, add(mul(sender, np.int32(rows)), row))
    taken = broadcast_in_dim(reduce_or(here, (0,)), shape_of(output), (0,))
    return select(taken, received, output)


def _place(names: tuple[Any, ...], groups: Groups) -> Any:
    """Return which member of its group this is."""
    index = axis_index(names)
    if groups is None:
        return index
    places = np.zeros(sum(map(len, groups)), np.int32)
    for group in groups:
        places[list(group)] = range(len(group))
    return dynamic_index_in_dim(places, index, 0, keepdims=False)


def _at(x: Value, rows: Value) -> Any:
    """Return rows of an array; of one that is not there the nearest."""
    numbers = GatherDimensionNumbers(tuple(range(1, rank_of(x))), (0,), (0,))
    indices = reshape(rows, (*shape_of(rows), 1))
    return gather(x, indices, numbers, (1, *shape_of(x)[1:]), mode="clip")


def _check(operand: Value, output: Value, integers: tuple[Any, ...], count: int) -> None:
    names = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")
    for name, value in zip(names, integers, strict=True):
        aval = abstractify(value)
        if not issubdtype(aval.dtype, np.integer):
            raise TypeError(f"ragged_all_to_all: {name} must be integers, got {aval.short()}")
        if aval.shape != (count,):
            raise ValueError(
                f"ragged_all_to_all: {name} needs an entry for each of the {count} members, got "
                f"shape {aval.shape}"
            )
    sent, into = abstractify(operand), abstractify(output)
    if sent.dtype != into.dtype:
        raise TypeError(
            f"ragged_all_to_all: operand is {sent.short()} and output {into.short()}: give them "
            "one dtype"
        )
    if not sent.shape or not into.shape or sent.shape[1:] != into.shape[1:]:
        raise ValueError(
            f"ragged_all_to_all: operand has shape {sent.shape} and output {into.shape}: their "
            "rows (all axes but the first) must be alike"
        )
