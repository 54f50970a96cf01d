"""Calls of a function with a derivative rule, for many examples: which results have the batch axis.

The function and its rule compute the same results, and need not agree on what differs between
examples: a rule may mix in an argument that the function leaves out, or give a tangent that
differs where its value does not.  A result has the axis where any of them gives it one.  While
functions are run as they are called, whichever runs tells.  A program that is recorded has fixed
types, so there the rule is asked too, unless the function alone gives every result the axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel.core.avals import abstractify
from jxkernel.core.axes import Axis
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.primitives.shape.broadcast import batch_to_front
from jxkernel.transforms.batching import batch_flat, batch_program
from jxkernel.transforms.stage import trace_flat

__all__ = [
    "BatchedFunction",
    "BatchedResults",
    "batched_program",
    "traced_call",
    "traced_operands",
]

Ask = Callable[[], object]
"""Runs the rule to learn which results have the batch axis: see ``BatchedResults``."""


class BatchedResults:
    """Which results have the batch axis, in front, as far as the runs of a call have told.

    Attributes:
      axis: the batch axis.
      flags: for each result whether it has the axis; empty before the first run.
    """

    __slots__ = ("axis", "flags")

    def __init__(self, axis: Axis) -> None:
        self.axis = axis
        self.flags: tuple[bool, ...] = ()

    def note(self, dims: Sequence[int | None]) -> None:
        """Take notice of the batch dims that a run gave."""
        known = self.flags or (False,) * len(dims)
        self.flags = tuple([old or dim is not None for old, dim in zip(known, dims, strict=True)])

    def placed(self, outs: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
        """Return the results of a run, with the axis in front where they are to have it."""
        return [self.place(*each) for each in zip(outs, dims, self.flags, strict=True)]

    def place(self, out: Any, dim: int | None, flag: bool) -> Any:
        """Return a value that belongs to a result, with the axis in front if that has it."""
        return batch_to_front(out, dim, self.axis.size) if flag else out

    @property
    def dims(self) -> list[int | None]:
        """The batch dim of each result."""
        return [0 if flag else None for flag in self.flags]


class BatchedFunction:
    """A Python function over examples."""

    __slots__ = ("_call", "_dims", "results")

    def __init__(self, call: Any, has: tuple[bool, ...], results: BatchedResults) -> None:
        self._call = call
        self._dims = [0 if flag else None for flag in has]
        self.results = results

    def __call__(self, *args: Any) -> list[Any]:
        """Return the results for all examples, with the axis where they are to have it."""
        outs, dims = batch_flat(self._call, args, self._dims, self.results.axis)
        self.results.note(dims)
        return self.results.placed(outs, dims)

    @property
    def is_settled(self) -> bool:
        """Whether its rule cannot give the axis to further results, for it and what it calls."""
        inner = self._call
        return all(self.results.flags) and (
            not isinstance(inner, BatchedFunction) or inner.is_settled
        )


def batched_program(
    closed: ClosedJaxpr, has: tuple[bool, ...], results: BatchedResults, ask: Ask
) -> ClosedJaxpr:
    """Return a program over examples, with the batch axis where it or its rule needs it.

    Args:
      closed: the program for one example.
      has: which arguments have the batch axis, in front.
      results: takes notice of which results have it.
      ask: runs the rule, which takes notice too.
    """
    program, flags = batch_program(closed, results.axis, has, False)
    results.note([0 if flag else None for flag in flags])
    if all(flags):
        return program
    _ask_rule(ask)
    return batch_program(closed, results.axis, has, results.flags)[0]


def traced_call(
    call: Callable[..., Sequence[Any]], operands: Sequence[Any], ask: Ask
) -> tuple[list[Any], ClosedJaxpr]:
    """Return a function's constants, and its program with them as leading arguments.

    Args:
      call: the function.
      operands: examples of its arguments.
      ask: runs its rule, for a function over examples.
    """
    traced = traced_operands(call, operands)
    if isinstance(call, BatchedFunction) and not call.is_settled:
        _ask_rule(ask)
        return traced_operands(call, operands)
    return traced


def traced_operands(
    fun: Callable[..., Sequence[Any]], operands: Sequence[Any]
) -> tuple[list[Any], ClosedJaxpr]:
    """Return a function's constants, and its program with them as leading arguments."""
    closed = trace_flat(fun, [abstractify(operand) for operand in operands])
    return closed.consts, closed.hoisted()


def _ask_rule(ask: Ask) -> None:
    """Run a rule to learn which results have the axis; its errors are raised where it is needed."""
    try:
        ask()
    except Exception:
        return
