"""``custom_vmap_call_p``: a call of a function whose batch rule the user gives.

Function and rule are Python callables of flat values while nothing is staged; where the call is
recorded the function is traced, and its constants become leading operands.  Its derivative is
such a call again, of the function's derivative, whose batch rule is the derivative of the rule:
so ``vmap`` of a derivative takes the rule too.  Where derivatives are recorded the call is split,
so that values stay known.  What is transposed is a program like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any

import numpy as np

from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.axes import Axis
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, jaxpr_as_fun
from jxkernel.core.zeros import Zero
from jxkernel.higher_order.batched_calls import traced_operands
from jxkernel.higher_order.custom_jvp import has_tangent
from jxkernel.higher_order.jit import transpose_call
from jxkernel.higher_order.programs import (
    call_primitive,
    drop_effects,
    keep_arguments,
    keep_results,
    pick,
)
from jxkernel.primitives.creation import broadcasted_iota
from jxkernel.primitives.indexing.dynamic_slicing import dynamic_index_in_dim
from jxkernel.primitives.shape.broadcast import batch_to_front, instantiate
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.transforms.batching import batch_flat
from jxkernel.transforms.jvp import jvp_flat
from jxkernel.transforms.partial_eval import PartialTrace

__all__ = ["BatchRule", "bind_custom_vmap", "custom_vmap_call_p"]

FlatRule = Callable[[int, Sequence[bool], Sequence[Any]], tuple[Sequence[Any], Sequence[bool]]]
"""From the batch size, which arguments have it (in front), and the arguments, to results and
which of them have it.
"""

custom_vmap_call_p = call_primitive("custom_vmap_call")


class BatchRule:
    """A batch rule of flat values.

    Attributes:
      function: the rule.
      name: the name of the function that it is the rule of.
      entered: the threads that run it, or another rule of the function, on one example at a time.
    """

    __slots__ = ("entered", "function", "name")

    def __init__(self, function: FlatRule, name: str, entered: set[int]) -> None:
        self.function = function
        self.name = name
        self.entered = entered

    def __call__(
        self, size: int, batched: Sequence[bool], args: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[bool]]:
        """Return results for all examples, and which of them have the batch axis."""
        return self.function(size, batched, args)

    def __repr__(self) -> str:
        return f"vmap of {self.name}"


def bind_custom_vmap(
    fun: Callable[..., Sequence[Any]], rule: BatchRule, args: Sequence[Any], *, captures: bool
) -> list[Any]:
    """Call a function that has a batch rule, under the current trace.

    Args:
      fun: the function of flat arguments.
      rule: its rule.
      args: the arguments.
      captures: whether the function closes over tracers.
    """
    params = {"call_jaxpr": fun, "rule": rule, "num_consts": 0}
    operands, params = _custom_vmap_stage(tuple(args), params) if captures else (args, params)
    return custom_vmap_call_p.bind(*operands, **params)


def _custom_vmap_stage(
    args: tuple[Any, ...], params: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Trace the function, unless it is a program already."""
    call = params["call_jaxpr"]
    if isinstance(call, ClosedJaxpr):
        return args, params
    first, program = traced_operands(call, args)
    count = params["num_consts"] + len(first)
    return (*first, *args), {**params, "call_jaxpr": program, "num_consts": count}


@custom_vmap_call_p.def_batch
def _custom_vmap_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    rule: BatchRule,
    num_consts: int,
    **params: Any,
) -> tuple[list[Any], list[int | None]]:
    if any(dim is not None for dim in dims[:num_consts]):
        raise TypeError(
            f"the custom_vmap function {rule.name} closes over a value that vmap maps over, and "
            "its rule cannot know of it: pass the value as an argument of its own"
        )
    moved = [
        arg if dim is None else move_axis(arg, dim, 0) for arg, dim in zip(args, dims, strict=True)
    ]
    has = [dim is not None for dim in dims[num_consts:]]
    outs, batched = rule(axis.size, has, moved[num_consts:])
    return list(outs), [0 if flag else None for flag in batched]


# ---------------------------------------------------------------- derivatives


@custom_vmap_call_p.def_jvp
def _custom_vmap_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    call_jaxpr: Any,
    rule: BatchRule,
    num_consts: int,
) -> tuple[list[Any], list[Any]]:
    moves = [type(t) is not Zero for t in tangents]
    if not any(moves):
        params = {"call_jaxpr": call_jaxpr, "rule": rule, "num_consts": num_consts}
        outs = custom_vmap_call_p.bind(*primals, **params)
        return outs, [Zero.tangent_of(out) for out in outs]
    moving = _Moving(moves, num_consts)
    # Constants and their tangents come first: no batch rule is told of either.
    found = custom_vmap_call_p.bind(
        *primals[:num_consts],
        *pick(tangents[:num_consts], moves[:num_consts]),
        *primals[num_consts:],
        *pick(tangents[num_consts:], moves[num_consts:]),
        call_jaxpr=moving.function(call_jaxpr),
        rule=_DerivativeRule(rule, moving),
        num_consts=moving.ahead,
    )
    outs = found[: _value_count([*map(abstractify, found)])]
    given = iter(found[len(outs) :])
    return outs, [
        next(given) if has_tangent(abstractify(out)) else Zero.tangent_of(out) for out in outs
    ]


class _Moving:
    """The derivative of a function, and of its batch rule, of values and tangents.

    Its operands are: constants, their tangents, arguments, their tangents; tangents only where
    there are some.  Its results are those of the function, and then the tangents of those that
    have one.

    Attributes:
      moves: for each constant and argument, whether it has a tangent.
      num_consts: how many constants there are.
      ahead: how many operands come before the arguments.
    """

    __slots__ = ("ahead", "moves", "num_consts")

    def __init__(self, moves: Sequence[bool], num_consts: int) -> None:
        self.moves = moves
        self.num_consts = num_consts
        self.ahead = num_consts + sum(moves[:num_consts])

    @property
    def of_values(self) -> list[bool]:
        """For each operand, whether it is a value, and no tangent."""
        consts, args = self.moves[: self.num_consts], self.moves[self.num_consts :]
        parts = (consts, args)
        return [flag for m in parts for flag in [True] * len(m) + [False] * sum(m)]

    def split(self, flat: Sequence[Any], moves: Sequence[bool]) -> tuple[list[Any], list[Any]]:
        """Return values, and a tangent (or flag) or None for each."""
        given = iter(flat[len(moves) :])
        return list(flat[: len(moves)]), [next(given) if flag else None for flag in moves]

    def function(self, call: Any) -> Callable[..., list[Any]]:
        """Return the function of values and tangents."""

        def run(*operands: Any) -> list[Any]:
            consts = self.split(operands[: self.ahead], self.moves[: self.num_consts])
            args = self.split(operands[self.ahead :], self.moves[self.num_consts :])
            flat = jaxpr_as_fun(call) if isinstance(call, ClosedJaxpr) else call
            return _push(flat, [*consts[0], *args[0]], [*consts[1], *args[1]])

        return run

    def rule(self, rule: BatchRule) -> FlatRule:
        """Return the batch rule of the derivative: the derivative of the batch rule."""
        moves = self.moves[self.num_consts :]

        def run(
            size: int, batched: Sequence[bool], flat: Sequence[Any]
        ) -> tuple[Sequence[Any], Sequence[bool]]:
            primals, tangents = self.split(flat, moves)
            has, has_t = self.split(batched, moves)
            together = any(
                a and (t is None or b) for a, b, t in zip(has, has_t, tangents, strict=True)
            )
            # A rule that calls its function would come here for ever.
            if together or get_ident() in rule.entered:
                return _of_all_examples(rule, size, (primals, has), (tangents, has_t))
            rule.entered.add(get_ident())
            try:
                return _of_each_example(rule, size, (primals, has), (tangents, has_t))
            finally:
                rule.entered.remove(get_ident())

        return run


_Flagged = tuple[Sequence[Any], Sequence[Any]]
"""Values (or None), and for each whether it has the batch axis."""


def _of_all_examples(
    rule: BatchRule, size: int, primals: _Flagged, tangents: _Flagged
) -> tuple[list[Any], list[bool]]:
    """Push tangents through a rule that gets all examples.

    An argument without the batch axis whose tangent has it, or the other way round, gets it.  Then
    values are asked for apart, so that those stay without the axis which need not have it.
    """
    either = [a or bool(b) for a, b in zip(primals[1], tangents[1], strict=True)]
    flags: list[bool] = []

    def apply(*args: Any) -> Sequence[Any]:
        outs, flags[:] = rule(size, either, args)
        return outs

    found = _push(apply, _spread(*primals, either, size), _spread(*tangents, either, size))
    outs, moved = found[: len(flags)], found[len(flags) :]
    moved_flags = pick(flags, _smooth(outs))
    if either != list(primals[1]):
        outs, flags[:] = rule(size, primals[1], primals[0])
    return [*outs, *moved], [*flags, *moved_flags]


def _of_each_example(
    rule: BatchRule, size: int, primals: _Flagged, tangents: _Flagged
) -> tuple[list[Any], list[bool]]:
    """Push tangents through a rule that gets one example at a time, by ``vmap``.

    No argument has the batch axis together with its tangent: what differs between examples is
    the point or the direction, not both.  So the rule, at the point, has nothing to vectorize.
    """
    moves = [t is not None for t in tangents[0]]
    none = [False] * len(moves)

    def one(place: Any, *flat: Any) -> list[Any]:
        flags: list[bool] = []

        def apply(*args: Any) -> Sequence[Any]:
            outs, flags[:] = rule(size, none, args)
            return outs

        given = iter(flat[len(moves) :])
        found = _push(apply, flat[: len(moves)], [next(given) if m else None for m in moves])
        flags += pick(flags, _smooth(found[: len(flags)]))
        return [
            dynamic_index_in_dim(x, place, 0, keepdims=False) if flag else x
            for x, flag in zip(found, flags, strict=True)
        ]

    values = [*primals[0], *pick(tangents[0], moves)]
    has = [*primals[1], *pick(tangents[1], moves)]
    places = broadcasted_iota(np.int32, (size,), 0)
    dims = [0, *[0 if flag else None for flag in has]]
    outs, out_dims = batch_flat(one, [places, *values], dims, Axis(size))
    return [
        x if dim is None else move_axis(x, dim, 0) for x, dim in zip(outs, out_dims, strict=True)
    ], [dim is not None for dim in out_dims]


def _push(flat: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """Return a function's results, and then the tangents of those that have one."""
    full = [Zero.tangent_of(p) if t is None else t for p, t in zip(primals, tangents, strict=True)]
    outs, moved = jvp_flat(flat, primals, full)
    return [*outs, *[instantiate(t) for t in pick(moved, _smooth(outs))]]


def _smooth(outs: Sequence[Any]) -> list[bool]:
    return [has_tangent(abstractify(out)) for out in outs]


def _value_count(avals: Sequence[ShapedArray]) -> int:
    """Return how many results of a derivative are values: after them come their tangents."""
    smooth = [has_tangent(aval) for aval in avals]
    return next(n for n in range(len(avals) + 1) if n + sum(smooth[:n]) == len(avals))


def _spread(
    values: Sequence[Any], has: Sequence[Any], wanted: Sequence[bool], size: int
) -> list[Any]:
    """Return values (None for none) with the batch axis in front wherever it is wanted."""
    return [
        batch_to_front(x, 0 if had else None, size) if want and x is not None else x
        for x, had, want in zip(values, has, wanted, strict=True)
    ]


class _DerivativeRule(BatchRule):
    """The batch rule of a derivative.

    Attributes:
      primal: the rule that it is the derivative of.
      moving: the derivative.
    """

    __slots__ = ("moving", "primal")

    def __init__(self, primal: BatchRule, moving: _Moving) -> None:
        super().__init__(moving.rule(primal), f"jvp of {primal.name}", primal.entered)
        self.primal = primal
        self.moving = moving

    def of_tangents(self) -> BatchRule:
        """Return the rule that gives the tangents alone."""

        def run(
            size: int, batched: Sequence[bool], flat: Sequence[Any]
        ) -> tuple[Sequence[Any], Sequence[bool]]:
            found, flags = self(size, batched, flat)
            count = _value_count([*map(abstractify, found)])
            return found[count:], flags[count:]

        return BatchRule(run, self.name, self.entered)


def _custom_vmap_partial_eval(
    trace: PartialTrace, args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """Split a derivative into its values, which are known, and the tangents.

    Its values are those of the function, whose rule is told of them alone.
    """
    rule = params["rule"]
    if not isinstance(rule, _DerivativeRule):
        return trace.stage(custom_vmap_call_p, args, params)
    operands, params = _custom_vmap_stage(tuple(args), params)
    known = pick(operands, _of_values(rule, params))
    if any(trace.is_unknown(value) for value in known):
        return trace.stage(custom_vmap_call_p, args, params)
    outs = custom_vmap_call_p.bind(*known, **_values_alone(rule, params))
    program: ClosedJaxpr = params["call_jaxpr"]
    wanted = tuple([place >= len(outs) for place in range(len(program.out_avals))])
    tangents = keep_results(drop_effects(program), wanted)[0]
    staged = trace.stage(
        custom_vmap_call_p,
        operands,
        {**params, "call_jaxpr": tangents, "rule": rule.of_tangents()},
    )
    return [*outs, *staged]


def _of_values(rule: _DerivativeRule, params: dict[str, Any]) -> tuple[bool, ...]:
    """Return for each operand of a derivative, constants too, whether it is a value."""
    first = params["num_consts"] - rule.moving.ahead
    return (*[True] * first, *rule.moving.of_values)


def _values_alone(rule: _DerivativeRule, params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of the call that gives the values of a derivative: the function's."""
    program: ClosedJaxpr = params["call_jaxpr"]
    count = _value_count(program.out_avals)
    wanted = tuple([place < count for place in range(len(program.out_avals))])
    values = keep_arguments(keep_results(program, wanted)[0], _of_values(rule, params))
    first = params["num_consts"] - rule.moving.ahead
    return {
        "call_jaxpr": values,
        "rule": rule.primal,
        "num_consts": first + rule.moving.num_consts,
    }


def _custom_vmap_dce(used_outputs: list[bool], eqn: Eqn) -> Eqn:
    """Return the function's own call where no tangent is read: it reads none."""
    rule = eqn.params["rule"]
    if not isinstance(rule, _DerivativeRule):
        return eqn
    count = _value_count(eqn.params["call_jaxpr"].out_avals)
    if any(used_outputs[count:]):
        return eqn
    return eqn.replace(
        invars=pick(eqn.invars, _of_values(rule, eqn.params)),
        outvars=eqn.outvars[:count],
        params=_values_alone(rule, eqn.params),
    )


@custom_vmap_call_p.def_transpose
def _custom_vmap_transpose(
    cts: Sequence[Any], *args: Any, call_jaxpr: ClosedJaxpr, rule: BatchRule, **params: Any
) -> list[Any]:
    return transpose_call(cts, *args, jaxpr=call_jaxpr, name=rule.name)


custom_vmap_call_p.define(
    stage=_custom_vmap_stage,
    partial_eval=_custom_vmap_partial_eval,
    dce=_custom_vmap_dce,
)
