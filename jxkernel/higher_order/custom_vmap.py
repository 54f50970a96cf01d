"""``custom_vmap_call_p``: a call of a function whose batch rule the user gives.

Function and rule are Python callables of flat values while nothing is staged; where the call is
recorded the function is traced, and its constants become leading operands.  Its derivative is
such a call again, of the function's derivative, whose batch rule is the derivative of the rule:
so ``vmap`` of a derivative takes the rule too.  Values and tangents are calls of their own, so
values stay known where derivatives are recorded.  What is transposed is a program like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.axes import Axis
from jxkernel.core.division import AS_TYPED
from jxkernel.core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from jxkernel.core.primitive import Primitive
from jxkernel.core.unfolding import unfold_call
from jxkernel.core.zeros import Zero
from jxkernel.higher_order.batched_calls import traced_operands
from jxkernel.higher_order.custom_jvp import has_tangent
from jxkernel.higher_order.jit import transpose_call
from jxkernel.higher_order.programs import chosen, compiled_when_repeated, typed_by_programs
from jxkernel.ops.broadcast import batch_to_front, instantiate
from jxkernel.ops.moving import move_axis
from jxkernel.transforms.jvp import jvp_flat

__all__ = ["BatchRule", "bind_custom_vmap", "custom_vmap_call_p"]

FlatRule = Callable[[int, Sequence[bool], Sequence[Any]], tuple[Sequence[Any], Sequence[bool]]]
"""From the batch size, which arguments have it (in front), and the arguments, to results and
which of them have it.
"""

custom_vmap_call_p = Primitive("custom_vmap_call", multiple_results=True).define(sharding=AS_TYPED)
custom_vmap_call_p.varies = typed_by_programs


class BatchRule:
    """A batch rule of flat values.

    Attributes:
      function: the rule.
      name: the name of the function that it is the rule of.
    """

    __slots__ = ("function", "name")

    def __init__(self, function: FlatRule, name: str) -> None:
        self.function = function
        self.name = name

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


def _custom_vmap_evaluate(*args: Any, call_jaxpr: Any, **params: Any) -> list[Any]:
    if isinstance(call_jaxpr, ClosedJaxpr):
        return _evaluate_program(*args, call_jaxpr=call_jaxpr, **params)
    return list(call_jaxpr(*args))


_evaluate_program = compiled_when_repeated(custom_vmap_call_p, "call_jaxpr")


@custom_vmap_call_p.def_abstract_eval
def _custom_vmap_abstract_eval(
    *avals: ShapedArray, call_jaxpr: ClosedJaxpr, **params: Any
) -> list[ShapedArray]:
    return call_jaxpr.out_avals


def _custom_vmap_effects(
    *avals: ShapedArray, call_jaxpr: ClosedJaxpr, **params: Any
) -> frozenset[Any]:
    return call_jaxpr.effects


@custom_vmap_call_p.def_lower
def _custom_vmap_lower(
    context: Any, *values: Any, call_jaxpr: ClosedJaxpr, **params: Any
) -> Sequence[Any]:
    return context.inline(call_jaxpr, values)


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
    outs = custom_vmap_call_p.bind(
        *primals, call_jaxpr=call_jaxpr, rule=rule, num_consts=num_consts
    )
    moves = [type(t) is not Zero for t in tangents]
    moving = _Moving(moves, num_consts)
    # Constants and their tangents come first: no batch rule is told of either.
    consts_t, rest_t = chosen(tangents[:num_consts], moves[:num_consts]), moves[num_consts:]
    moved = custom_vmap_call_p.bind(
        *primals[:num_consts],
        *consts_t,
        *primals[num_consts:],
        *chosen(tangents[num_consts:], rest_t),
        call_jaxpr=moving.function(call_jaxpr),
        rule=BatchRule(moving.rule(rule), f"jvp of {rule.name}"),
        num_consts=num_consts + len(consts_t),
    )
    given = iter(moved)
    return outs, [
        next(given) if has_tangent(abstractify(out)) else Zero.tangent_of(out) for out in outs
    ]


class _Moving:
    """The derivative of a function, and of its batch rule, of values and tangents.

    Its operands are: constants, their tangents, arguments, their tangents; tangents only where
    there are some.  Its results are the tangents of those results that have one.
    """

    __slots__ = ("moves", "num_consts")

    def __init__(self, moves: Sequence[bool], num_consts: int) -> None:
        self.moves = moves
        self.num_consts = num_consts

    def split(self, flat: Sequence[Any], moves: Sequence[bool]) -> tuple[list[Any], list[Any]]:
        """Return values, and a tangent (or flag) or None for each."""
        given = iter(flat[len(moves) :])
        return list(flat[: len(moves)]), [next(given) if flag else None for flag in moves]

    def function(self, call: Any) -> Callable[..., list[Any]]:
        """Return the function of values and tangents."""
        ahead = self.num_consts + sum(self.moves[: self.num_consts])

        def run(*operands: Any) -> list[Any]:
            consts = self.split(operands[:ahead], self.moves[: self.num_consts])
            args = self.split(operands[ahead:], self.moves[self.num_consts :])
            flat = jaxpr_as_fun(call) if isinstance(call, ClosedJaxpr) else call
            primals, tangents = [*consts[0], *args[0]], [*consts[1], *args[1]]
            return _push(flat, primals, tangents)[0]

        return run

    def rule(self, rule: BatchRule) -> FlatRule:
        """Return the batch rule of the derivative: the derivative of the batch rule.

        An argument without the batch axis whose tangent has it, or the other way round, gets it.
        """
        moves = self.moves[self.num_consts :]

        def run(
            size: int, batched: Sequence[bool], flat: Sequence[Any]
        ) -> tuple[Sequence[Any], Sequence[bool]]:
            has, has_t = self.split(batched, moves)
            either = [a or bool(b) for a, b in zip(has, has_t, strict=True)]
            values, tangents = self.split(flat, moves)
            primals = _spread(values, has, either, size)
            pushed = [
                None if t is None else _spread([t], [bool(h)], [e], size)[0]
                for t, h, e in zip(tangents, has_t, either, strict=True)
            ]
            flags: list[bool] = []

            def apply(*args: Any) -> Sequence[Any]:
                outs, flags[:] = rule(size, either, args)
                return outs

            moved, smooth = _push(apply, primals, pushed)
            return moved, chosen(flags, smooth)

        return run


def _push(
    flat: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[bool]]:
    """Return the tangents of a function's results, and which results have one."""
    full = [Zero.tangent_of(p) if t is None else t for p, t in zip(primals, tangents, strict=True)]
    outs, moved = jvp_flat(flat, primals, full)
    smooth = [has_tangent(abstractify(out)) for out in outs]
    return [instantiate(t) for t in chosen(moved, smooth)], smooth


def _spread(
    values: Sequence[Any], has: Sequence[bool], wanted: Sequence[bool], size: int
) -> list[Any]:
    """Return values with the batch axis in front wherever it is wanted."""
    return [
        batch_to_front(x, 0 if had else None, size) if want else x
        for x, had, want in zip(values, has, wanted, strict=True)
    ]


@custom_vmap_call_p.def_transpose
def _custom_vmap_transpose(
    cts: Sequence[Any], *args: Any, call_jaxpr: ClosedJaxpr, rule: BatchRule, **params: Any
) -> list[Any]:
    return transpose_call(cts, *args, jaxpr=call_jaxpr, name=rule.name)


custom_vmap_call_p.define(
    stage=_custom_vmap_stage,
    evaluate=_custom_vmap_evaluate,
    effects=_custom_vmap_effects,
    unfold=unfold_call("call_jaxpr"),
)
