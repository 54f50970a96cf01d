"""Linearization: the value of a function and its derivative as a linear program.

Forward differentiation under partial evaluation: the values are known and computed now, the
tangents are unknown and recorded.  The recorded program is linear in its arguments; its
constants are the residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel.core.avals import ShapedArray, abstractify, canonical_value
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.trace import state, swap_current
from jxkernel.core.zeros import Zero
from jxkernel.records import record
from jxkernel.transforms.jvp import jvp_flat
from jxkernel.transforms.partial_eval import PartialTrace, pruned_program
from jxkernel.transforms.transpose import transpose_apply

__all__ = ["Linearized", "linearize_flat", "vjp_flat"]


@record()
class Linearized:
    """The derivative of a function at a point.

    Attributes:
      outs: the function's results there.
      program: the linear program, from tangents of the active arguments to the nonzero tangents.
      in_avals: the types of all arguments.
      active: for each argument, whether the program takes its tangent.
      nonzero: for each result, whether the program gives its tangent.
    """

    outs: list[Any]
    program: ClosedJaxpr
    in_avals: list[ShapedArray]
    active: list[bool]
    nonzero: list[bool]

    def pruned(self) -> Linearized:
        """Return the same without what only results read that have no tangent."""
        program = pruned_program(self.program)
        return Linearized(self.outs, program, self.in_avals, self.active, self.nonzero)


def linearize_flat(
    function: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    moving: Sequence[bool] | None = None,
) -> Linearized:
    """Linearize a function of flat arguments at a point; integer arguments have no tangent.

    Args:
      function: the function.
      primals: the point.
      moving: for each argument whether its tangent may be other than zero; all, if left out.
    """
    trace = PartialTrace(state.trace)
    avals = [abstractify(primal) for primal in primals]
    primals = [canonical_value(x, aval) for x, aval in zip(primals, avals, strict=True)]
    tangent_avals = [aval.tangent() for aval in avals]
    active = [t.dtype == a.dtype for t, a in zip(tangent_avals, avals, strict=True)]
    if moving is not None:
        active = [has and moves for has, moves in zip(active, moving, strict=True)]
    tangents = [
        trace.argument(aval) if moves else Zero(aval)
        for aval, moves in zip(tangent_avals, active, strict=True)
    ]
    previous = swap_current(trace)
    try:
        outs, out_tangents = jvp_flat(function, primals, tangents)
    finally:
        swap_current(previous)
    nonzero = [type(t) is not Zero for t in out_tangents]
    program = trace.close([t for t, kept in zip(out_tangents, nonzero, strict=True) if kept])
    return Linearized(outs, program, avals, active, nonzero)


def vjp_flat(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any]
) -> tuple[list[Any], Callable[[Sequence[Any]], list[Any]]]:
    """Return a function's results and its pullback, from cotangents of results to arguments."""
    linear = linearize_flat(function, primals)

    def pullback(cotangents: Sequence[Any]) -> list[Any]:
        """Return one cotangent per argument; ``Zero`` where the results do not depend on it."""
        given = [ct for ct, kept in zip(cotangents, linear.nonzero, strict=True) if kept]
        pulled = iter(transpose_apply(linear.program, given))
        return [
            next(pulled) if moves else Zero(aval.tangent())
            for aval, moves in zip(linear.in_avals, linear.active, strict=True)
        ]

    return linear.outs, pullback
