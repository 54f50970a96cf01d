"""``custom_jvp_call_p``: a call of a function whose forward derivative the user gives.

The function and its rule are Python callables of flat values while nothing is staged, so that
both may look at values that are known.  Where the call is recorded in a program, the function is
traced: its constants become leading operands, which have no derivative by the rule.  The rule
stays a callable until a derivative is asked for, save where it closes over tracers, which would
be gone by then: such a rule is traced with the function.

Operands are ``num_consts`` values that the rule does not differentiate by (constants, and tracers
among arguments that are not differentiated), then the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.axes import Axis
from jxkernel.core.jaxpr import Atom, ClosedJaxpr, Literal, eval_jaxpr
from jxkernel.core.trace import Trace, place_in_source, state
from jxkernel.core.zeros import Zero
from jxkernel.errors import ClosedOverTracerError
from jxkernel.higher_order.batched_calls import (
    BatchedFunction,
    BatchedResults,
    batched_program,
    traced_call,
    traced_operands,
)
from jxkernel.higher_order.jit import transpose_call
from jxkernel.higher_order.programs import (
    call_primitive,
    ignore_first,
)
from jxkernel.primitives.shape.broadcast import broadcast_in_dim_p, instantiate
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.transforms.batching import batch_flat
from jxkernel.transforms.partial_eval import PartialTrace
from jxkernel.transforms.stage import StageTrace, StageTracer, trace_flat

__all__ = ["JvpRule", "bind_custom_jvp", "custom_jvp_call_p", "has_tangent"]

FlatFunction = Callable[..., Sequence[Any]]

custom_jvp_call_p = call_primitive("custom_jvp_call")


class JvpRule:
    """A rule as a function of flat values: (operands, tangents) to (results, their tangents).

    Attributes:
      function: takes the operands that follow the first ``skipped``, and one tangent for each
        argument.
      name: the name of the function that it differentiates.
      symbolic: whether zero tangents reach it as ``Zero``; else they are made explicit.
    """

    __slots__ = ("function", "name", "skipped", "symbolic")

    def __init__(
        self,
        function: Callable[[Sequence[Any], Sequence[Any]], tuple[Sequence[Any], Sequence[Any]]],
        name: str,
        skipped: int = 0,
        symbolic: bool = False,
    ) -> None:
        self.function = function
        self.name = name
        self.skipped = skipped
        self.symbolic = symbolic

    def __call__(
        self, operands: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return results and their tangents, ``Zero`` for results that have none."""
        given = tangents if self.symbolic else [instantiate(t) for t in tangents]
        outs, out_tangents = self.function(operands[self.skipped :], given)
        return list(outs), [
            t if has_tangent(abstractify(y)) else Zero.tangent_of(y)
            for y, t in zip(outs, out_tangents, strict=True)
        ]

    def after(self, count: int) -> JvpRule:
        """Return the rule of operands among which ``count`` more come first."""
        return JvpRule(self.function, self.name, self.skipped + count, self.symbolic)

    def __repr__(self) -> str:
        return f"jvp of {self.name}"


def has_tangent(aval: ShapedArray) -> bool:
    """Whether values of a type have tangents: floating and complex ones."""
    return dtypes.issubdtype(aval.dtype, np.inexact)


def bind_custom_jvp(
    fun: FlatFunction,
    rule: JvpRule,
    consts: Sequence[Any],
    args: Sequence[Any],
    *,
    captures: bool,
) -> list[Any]:
    """Call a function that has a rule, under the current trace.

    Args:
      fun: takes ``consts`` and ``args``.
      rule: its rule, of the same operands.
      consts: values it is not differentiated by.
      args: values that it is.
      captures: whether the function or the rule closes over tracers.
    """
    call: Any = fun
    count = len(consts)
    operands: list[Any] = [*consts, *args]
    if captures:
        first, call = traced_operands(fun, operands)
        rule = rule.after(len(first))
        rule, more = _traced_rule(rule, [*first, *operands], len(first) + count)
        call = ignore_first(call, [abstractify(one) for one in more])
        operands = [*more, *first, *operands]
        count += len(first) + len(more)
    return custom_jvp_call_p.bind(*operands, call_jaxpr=call, jvp=rule, num_consts=count)


def _traced_rule(rule: JvpRule, operands: Sequence[Any], count: int) -> tuple[JvpRule, list[Any]]:
    """Return a rule as one that is a program, and the constants that it takes first."""
    avals = [abstractify(operand) for operand in operands]
    moving = [aval.tangent() for aval in avals[count:] if has_tangent(aval)]
    zeros: list[Any] = []
    total = len(avals)

    def run(*flat: Any) -> list[Any]:
        outs, out_tangents = rule(flat[:total], _all_tangents(avals[count:], flat[total:]))
        zeros[:] = [t if type(t) is Zero else None for t in out_tangents]
        return [*outs, *[t for t in out_tangents if type(t) is not Zero]]

    closed = trace_flat(run, [*avals, *moving], name=f"jvp_{rule.name}")
    program = closed.hoisted()

    def apply(
        values: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        given = [t for t in tangents if _moves(t)]
        results = eval_jaxpr(program.jaxpr, (), *values, *given)
        moved = iter(results[len(zeros) :])
        return results[: len(zeros)], [next(moved) if zero is None else zero for zero in zeros]

    return JvpRule(apply, rule.name), closed.consts


def _all_tangents(avals: Sequence[ShapedArray], given: Sequence[Any]) -> list[Any]:
    """Return a tangent for each type, explicit zeros for those that have none."""
    rest = iter(given)
    return [
        next(rest) if has_tangent(aval) else np.zeros(aval.shape, dtypes.float0) for aval in avals
    ]


# ---------------------------------------------------------------- the rules of the primitive


def _custom_jvp_stage(
    args: tuple[Any, ...], params: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Trace the function, unless it is a program already."""
    call = params["call_jaxpr"]
    if isinstance(call, ClosedJaxpr):
        return args, params
    first, program = traced_call(
        call, args, partial(_traced_rule, params["jvp"], args, params["num_consts"])
    )
    count = params["num_consts"] + len(first)
    return (*first, *args), {
        "call_jaxpr": program,
        "jvp": params["jvp"].after(len(first)),
        "num_consts": count,
    }


@custom_jvp_call_p.def_jvp
def _custom_jvp_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    call_jaxpr: Any,
    jvp: JvpRule,
    num_consts: int,
) -> tuple[list[Any], list[Any]]:
    refuse_moving_constants("custom_jvp", jvp.name, call_jaxpr, tangents[:num_consts])
    if all(type(t) is Zero for t in tangents[num_consts:]):
        outs = custom_jvp_call_p.bind(
            *primals, call_jaxpr=call_jaxpr, jvp=jvp, num_consts=num_consts
        )
        return outs, [Zero.tangent_of(y) for y in outs]
    trace = state.trace
    start = len(trace.eqns) if isinstance(trace, StageTrace) else 0
    outs, out_tangents = jvp(primals, tangents[num_consts:])
    if isinstance(call_jaxpr, ClosedJaxpr):
        check_results("custom_jvp", "jvp", jvp.name, outs, call_jaxpr.out_avals)
    return outs, [Zero(abstractify(t)) if _is_zero(t, trace, start) else t for t in out_tangents]


def _is_zero(tangent: Any, trace: Trace, start: int) -> bool:
    """Whether a rule gave a tangent that is zero as an array, such as ``jnp.zeros_like(x)``.

    The symbol spares what comes after it a computation with zeros, and a function that has a
    ``custom_vjp`` rule alone a question it cannot answer.  In reverse mode tangents are unknown:
    one that is known does not depend on them, so the linear map that it belongs to is zero.

    Args:
      tangent: what the rule gave.
      trace: the trace that the rule ran in.
      start: the number of equations that were recorded there before.
    """
    if type(tangent) is Zero or not isinstance(trace, StageTrace):
        return False
    if isinstance(trace, PartialTrace):
        return not trace.is_unknown(tangent)
    if type(tangent) is not StageTracer:
        return np.isscalar(tangent) and tangent == 0
    filled = (eqn for eqn in trace.eqns[start:] if eqn.primitive is broadcast_in_dim_p)
    return any(eqn.outvars == [tangent.variable] and _is_nought(eqn.invars[0]) for eqn in filled)


def _is_nought(atom: Atom) -> bool:
    return isinstance(atom, Literal) and atom.val == 0


def refuse_moving_constants(kind: str, name: str, call: Any, tangents: Sequence[Any]) -> None:
    """Check that nothing is differentiated by that the rule says nothing about.

    A value that the rule alone reads may be: the function does not depend on it.

    Args:
      kind: the decorator.
      name: the function's.
      call: the function, or its program.
      tangents: those of the operands that come first, by which the rule does not differentiate.

    Raises:
      ClosedOverTracerError: a closed-over value, or one among the arguments that are not
        differentiated, has a tangent.
    """
    moving = [index for index, t in enumerate(tangents) if type(t) is not Zero]
    if not moving or (isinstance(call, ClosedJaxpr) and not _reads(call, moving)):
        return
    raise ClosedOverTracerError(kind, name, **place_in_source())


def _reads(call: ClosedJaxpr, places: Sequence[int]) -> bool:
    """Whether a program reads any of its arguments at these places."""
    jaxpr = call.jaxpr
    asked = {id(jaxpr.invars[place]) for place in places}
    read = chain(jaxpr.outvars, *[eqn.invars for eqn in jaxpr.eqns])
    return any(id(atom) in asked for atom in read)


def check_results(
    kind: str, rule: str, name: str, outs: Sequence[Any], wanted: Sequence[ShapedArray]
) -> None:
    """Check that a rule gives the values that the function gives.

    Raises:
      TypeError: it gives others.
    """
    found = [abstractify(out) for out in outs]
    if [(a.shape, a.dtype) for a in found] != [(a.shape, a.dtype) for a in wanted]:
        raise TypeError(
            f"the {rule} rule of the {kind} function {name} must give the results that the "
            f"function gives, {' '.join(a.short() for a in wanted)}; it gives "
            f"{' '.join(a.short() for a in found)}"
        )


@custom_jvp_call_p.def_transpose
def _custom_jvp_transpose(
    cts: Sequence[Any], *args: Any, call_jaxpr: ClosedJaxpr, jvp: JvpRule, **params: Any
) -> list[Any]:
    """Transpose the function itself: it is linear, and is not differentiated here."""
    return transpose_call(cts, *args, jaxpr=call_jaxpr, name=jvp.name)


@custom_jvp_call_p.def_batch
def _custom_jvp_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    call_jaxpr: Any,
    jvp: JvpRule,
    num_consts: int,
) -> tuple[list[Any], list[int | None]]:
    has = tuple([dim is not None for dim in dims])
    moved = [
        arg if dim is None else move_axis(arg, dim, 0) for arg, dim in zip(args, dims, strict=True)
    ]
    results = BatchedResults(axis)
    rule = _batched_rule(jvp, results, has, num_consts)
    if isinstance(call_jaxpr, ClosedJaxpr):
        ask = partial(_traced_rule, rule, moved, num_consts)
        call: Any = batched_program(call_jaxpr, has, results, ask)
    else:
        call = BatchedFunction(call_jaxpr, has, results)
    outs = custom_jvp_call_p.bind(*moved, call_jaxpr=call, jvp=rule, num_consts=num_consts)
    return outs, results.dims


def _batched_rule(
    rule: JvpRule, results: BatchedResults, has: tuple[bool, ...], num_consts: int
) -> JvpRule:
    dims = [0 if flag else None for flag in has]

    def run(
        operands: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        moving = [_moves(t) for t in tangents]
        tangent_dims = [dim for dim, moves in zip(dims[num_consts:], moving, strict=True) if moves]
        zeros: list[bool] = []

        def one(*flat: Any) -> list[Any]:
            values, given = flat[: len(dims)], iter(flat[len(dims) :])
            still = [Zero.tangent_of(value) for value in values[num_consts:]]
            each = [next(given) if m else zero for m, zero in zip(moving, still, strict=True)]
            outs, out_tangents = rule(values, each)
            zeros[:] = [type(t) is Zero for t in out_tangents]
            return [*outs, *[t for t in out_tangents if type(t) is not Zero]]

        flat = [*operands, *[t for t, moves in zip(tangents, moving, strict=True) if moves]]
        found, found_dims = batch_flat(one, flat, [*dims, *tangent_dims], results.axis)
        count = len(zeros)
        results.note(found_dims[:count])
        rest = iter(found_dims[count:])
        results.note([None if zero else next(rest) for zero in zeros])
        outs = results.placed(found[:count], found_dims[:count])
        moved = iter(zip(found[count:], found_dims[count:], strict=True))
        return outs, [
            Zero.tangent_of(y) if zero else results.place(*next(moved), flag)
            for y, zero, flag in zip(outs, zeros, results.flags, strict=True)
        ]

    return JvpRule(run, rule.name, symbolic=True)


def _moves(tangent: Any) -> bool:
    return type(tangent) is not Zero and abstractify(tangent).dtype != dtypes.float0


custom_jvp_call_p.define(stage=_custom_jvp_stage)
