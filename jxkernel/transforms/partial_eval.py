"""Partial evaluation: what is known is computed now, the rest is recorded.

``PartialTrace`` records, as staging does, every equation with an unknown argument, and passes
every other one on to the trace below, where it is evaluated (or staged, under ``jit``).  Known
values that recorded equations read become constants of the recorded program: the residuals of
reverse-mode differentiation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel.core.jaxpr import ClosedJaxpr, Jaxpr, eval_jaxpr
from jxkernel.core.primitive import Primitive
from jxkernel.core.trace import state, swap_current
from jxkernel.transforms.dce import dce_jaxpr
from jxkernel.transforms.stage import StageTrace, StageTracer, trace_flat

__all__ = ["PartialTrace", "is_split", "partial_eval_program", "pruned_program", "trace_partial"]


class PartialTrace(StageTrace):
    """Records equations that read an unknown; known ones go to the trace below."""

    __slots__ = ()
    stages = False

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Record an equation with unknowns; evaluate any other in the trace below."""
        unknown = False
        for arg in args:
            if type(arg) is StageTracer and arg.owner is self:
                unknown = True
                break
        if unknown and primitive.partial_eval is None:
            return StageTrace.process(self, primitive, args, params)
        previous = swap_current(self.parent)
        try:
            if unknown:
                return primitive.partial_eval(self, args, params)
            return self.parent.process(primitive, args, params)
        finally:
            swap_current(previous)

    def is_unknown(self, value: Any) -> bool:
        """Whether a value is recorded by this trace."""
        return type(value) is StageTracer and value.owner is self

    def stage(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Record an equation whatever its arguments; for ``partial_eval`` rules."""
        return StageTrace.process(self, primitive, tuple(args), params)


def trace_partial(
    function: Callable[..., Sequence[Any]],
    args: Sequence[Any],
    unknown: Sequence[bool],
    force: Sequence[bool] = (),
) -> tuple[list[Any], list[bool], ClosedJaxpr]:
    """Run a function whose unknown arguments are recorded.

    Args:
      function: takes and returns flat sequences.
      args: values for known arguments, avals for unknown ones.
      unknown: which are which.
      force: which results count as unknown even where they are known; empty for none.

    Returns:
      the values of the known results (None for unknown ones), which results are unknown, and
      the recorded program, whose arguments are the unknown arguments, whose constants are the
      residuals and whose results are the unknown results.
    """
    trace = PartialTrace(state.trace)
    inputs = [
        trace.argument(arg) if is_unknown else arg
        for arg, is_unknown in zip(args, unknown, strict=True)
    ]
    previous = swap_current(trace)
    try:
        outs = function(*inputs)
    finally:
        swap_current(previous)
    forced = force or [False] * len(outs)
    unknown_out = [trace.is_unknown(out) or must for out, must in zip(outs, forced, strict=True)]
    known = [None if hidden else out for out, hidden in zip(outs, unknown_out, strict=True)]
    program = trace.close([out for out, hidden in zip(outs, unknown_out, strict=True) if hidden])
    return known, unknown_out, program


def partial_eval_program(
    closed: ClosedJaxpr, unknown: tuple[bool, ...], force: tuple[bool, ...] = ()
) -> tuple[ClosedJaxpr, ClosedJaxpr, tuple[bool, ...], int]:
    """Split a program by which of its arguments are known.

    Args:
      closed: the program.
      unknown: for each argument, whether it is unknown.
      force: for each result, whether it counts as unknown even where it is known (the branches
        of one choice, or a loop's turns, must agree); empty for none.

    Returns:
      the known program (known arguments to known results, then residuals), the unknown program
      (residuals, then unknown arguments, to unknown results), which results are unknown, and
      the number of residuals.
    """
    return closed.remember(_split, unknown, force)


def _split(
    closed: ClosedJaxpr, unknown: tuple[bool, ...], force: tuple[bool, ...]
) -> tuple[ClosedJaxpr, ClosedJaxpr, tuple[bool, ...], int]:
    jaxpr = closed.jaxpr
    recorded: list[tuple[list[bool], ClosedJaxpr]] = []

    def known_part(*known_args: Any) -> list[Any]:
        values = iter(known_args)
        args = [
            var.aval if hidden else next(values)
            for var, hidden in zip(jaxpr.invars, unknown, strict=True)
        ]
        known, unknown_out, rest = trace_partial(
            lambda *xs: eval_jaxpr(jaxpr, closed.consts, *xs), args, unknown, force
        )
        rest = pruned_program(rest)
        recorded.append((unknown_out, rest))
        shown = [out for out, hidden in zip(known, unknown_out, strict=True) if not hidden]
        return [*shown, *rest.consts]

    known_avals = [v.aval for v, hidden in zip(jaxpr.invars, unknown, strict=True) if not hidden]
    known_program = trace_flat(known_part, known_avals, name=f"known_{jaxpr.name}")
    unknown_out, rest = recorded[0]
    residuals = len(rest.consts)
    hoisted = rest.hoisted()
    hoisted.remember(_splits).add((*[False] * residuals, *[True] * sum(unknown)))
    return known_program, hoisted, tuple(unknown_out), residuals


def is_split(closed: ClosedJaxpr, unknown: tuple[bool, ...]) -> bool:
    """Whether a program is what partial evaluation left, with these arguments unknown."""
    return unknown in closed.remember(_splits)


def _splits(closed: ClosedJaxpr) -> set[tuple[bool, ...]]:
    """Return with which arguments unknown a program is what partial evaluation left."""
    return set()


def pruned_program(program: ClosedJaxpr) -> ClosedJaxpr:
    """Return a program without the equations and residuals that no result needs."""
    jaxpr, used = dce_jaxpr(program.jaxpr, [True] * len(program.jaxpr.outvars), keep_invars=True)
    keep = used[: len(program.consts)]
    consts = [const for const, kept in zip(program.consts, keep, strict=True) if kept]
    constvars = [var for var, kept in zip(jaxpr.constvars, keep, strict=True) if kept]
    pruned: Jaxpr = jaxpr.replace(constvars=constvars)
    return ClosedJaxpr(pruned, consts)
