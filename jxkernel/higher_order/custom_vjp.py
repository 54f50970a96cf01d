"""``custom_vjp_call_p``: a call of a function whose backward derivative the user gives.

As ``custom_jvp_call_p`` (which see for operands and for how functions become programs), with a
rule in two halves.  Forward differentiation runs the first half, which gives the results and
residuals, and binds ``custom_vjp_linear_p``: the derivative as a linear map that exists only to
be transposed, by the second half.  To run it forwards is an error that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.axes import Axis
from jxkernel.core.explicit_sharding import AS_TYPED
from jxkernel.core.jaxpr import ClosedJaxpr, eval_jaxpr
from jxkernel.core.primitive import Primitive
from jxkernel.core.zeros import Zero, is_linear
from jxkernel.higher_order.batched_calls import (
    BatchedFunction,
    BatchedResults,
    batched_program,
    traced_call,
    traced_operands,
)
from jxkernel.higher_order.batched_pullback import BatchedPull, Pull
from jxkernel.higher_order.custom_jvp import (
    check_results,
    has_tangent,
    refuse_moving_constants,
)
from jxkernel.higher_order.groups import Groups
from jxkernel.higher_order.jit import transpose_call
from jxkernel.higher_order.programs import (
    call_primitive,
    ignore_first,
    pick,
    typed_by_programs,
)
from jxkernel.primitives.shape.broadcast import batch_to_front, instantiate
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.transforms.batching import batch_flat, batched_aval, example_aval
from jxkernel.transforms.stage import trace_flat

__all__ = ["VjpRule", "bind_custom_vjp", "custom_vjp_call_p", "custom_vjp_linear_p"]

Forward = Callable[[Sequence[Any], Sequence[bool]], tuple[Sequence[Any], Sequence[Any], Pull]]
"""From operands, and for each argument whether it is differentiated, to results, residuals and
the way back.
"""

custom_vjp_call_p = call_primitive("custom_vjp_call")
custom_vjp_linear_p = Primitive("custom_vjp_linear", multiple_results=True).define(
    sharding=AS_TYPED
)
custom_vjp_linear_p.varies = typed_by_programs


class VjpRule:
    """A rule as a function of flat operands to results, residuals and the way back.

    Attributes:
      function: takes the operands that follow the first ``skipped``.
      name: the name of the function that it differentiates.
    """

    __slots__ = ("function", "name", "skipped")

    def __init__(self, function: Forward, name: str, skipped: int = 0) -> None:
        self.function = function
        self.name = name
        self.skipped = skipped

    def __call__(
        self, operands: Sequence[Any], active: Sequence[bool]
    ) -> tuple[Sequence[Any], Sequence[Any], Pull]:
        """Return results, residuals and the way back.

        Args:
          operands: constants, then arguments.
          active: for each argument, whether it is differentiated by.
        """
        return self.function(operands[self.skipped :], active)

    def after(self, count: int) -> VjpRule:
        """Return the rule of operands among which ``count`` more come first."""
        return VjpRule(self.function, self.name, self.skipped + count)

    def __repr__(self) -> str:
        return f"vjp of {self.name}"


def bind_custom_vjp(
    fun: Callable[..., Sequence[Any]],
    rule: VjpRule,
    consts: Sequence[Any],
    args: Sequence[Any],
    *,
    captures: bool,
) -> list[Any]:
    """Call a function that has a rule, under the current trace; see ``bind_custom_jvp``."""
    call: Any = fun
    count = len(consts)
    operands: list[Any] = [*consts, *args]
    if captures:
        first, call = traced_operands(fun, operands)
        rule = rule.after(len(first))
        rule, more = _traced_rule(rule, [*first, *operands], len(args))
        call = ignore_first(call, [abstractify(one) for one in more])
        operands = [*more, *first, *operands]
        count += len(first) + len(more)
    return custom_vjp_call_p.bind(*operands, call_jaxpr=call, vjp=rule, num_consts=count)


def _traced_rule(rule: VjpRule, operands: Sequence[Any], count: int) -> tuple[VjpRule, list[Any]]:
    """Return a rule whose halves are programs, and the constants that it takes first.

    It is traced before anyone differentiates, so each of the ``count`` arguments counts as
    differentiated.
    """
    there, out_count, pull = _traced_forward(rule, operands, count)
    cts = [aval.cotangent() for aval in there.out_avals[:out_count] if has_tangent(aval)]
    residuals = there.out_avals[out_count:]
    zeros: list[Any] = []

    def backward(*values: Any) -> list[Any]:
        pulled = pull(values[: len(residuals)], values[len(residuals) :])
        zeros.extend([ct if type(ct) is Zero else None for ct in pulled])
        return [ct for ct in pulled if type(ct) is not Zero]

    back = trace_flat(backward, [*residuals, *cts], name=f"bwd_{rule.name}")
    there_program, back_program = there.hoisted(), back.hoisted()
    groups = Groups.of(there.consts, back.consts, there.in_avals)

    def pull_program(values: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        explicit = [instantiate(ct) for ct in given]
        pulled = iter(eval_jaxpr(back_program.jaxpr, (), *values, *explicit))
        return [next(pulled) if zero is None else zero for zero in zeros]

    def run(
        values: Sequence[Any], active: Sequence[bool]
    ) -> tuple[Sequence[Any], Sequence[Any], Pull]:
        there_consts, back_consts, args = groups.split(values)
        results = eval_jaxpr(there_program.jaxpr, (), *there_consts, *args)
        return results[:out_count], [*back_consts, *results[out_count:]], pull_program

    return VjpRule(run, rule.name), [*there.consts, *back.consts]


def _traced_forward(
    rule: VjpRule, operands: Sequence[Any], count: int
) -> tuple[ClosedJaxpr, int, Pull]:
    """Return the way there as a program, the number of its results, and the way back.

    Args:
      rule: the rule.
      operands: constants, then arguments; their types count.
      count: the number of arguments, each of which counts as differentiated.
    """
    found: list[tuple[int, Pull]] = []

    def forward(*values: Any) -> list[Any]:
        outs, residuals, pull = rule(values, (True,) * count)
        found.append((len(outs), pull))
        return [*outs, *residuals]

    there = trace_flat(forward, [abstractify(x) for x in operands], name=f"fwd_{rule.name}")
    return there, *found[0]


# ---------------------------------------------------------------- the call


def _custom_vjp_stage(
    args: tuple[Any, ...], params: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Trace the function, unless it is a program already."""
    call = params["call_jaxpr"]
    if isinstance(call, ClosedJaxpr):
        return args, params
    num_consts = params["num_consts"]
    ask = partial(_traced_forward, params["vjp"], args, len(args) - num_consts)
    first, program = traced_call(call, args, ask)
    return (*first, *args), {
        "call_jaxpr": program,
        "vjp": params["vjp"].after(len(first)),
        "num_consts": num_consts + len(first),
    }


@custom_vjp_call_p.def_jvp
def _custom_vjp_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    call_jaxpr: Any,
    vjp: VjpRule,
    num_consts: int,
) -> tuple[list[Any], list[Any]]:
    refuse_moving_constants("custom_vjp", vjp.name, call_jaxpr, tangents[:num_consts])
    given = tangents[num_consts:]
    active = tuple([type(t) is not Zero for t in given])
    if not any(active):
        outs = custom_vjp_call_p.bind(
            *primals, call_jaxpr=call_jaxpr, vjp=vjp, num_consts=num_consts
        )
        return outs, [Zero.tangent_of(y) for y in outs]
    outs, residuals, pull = vjp(primals, active)
    if isinstance(call_jaxpr, ClosedJaxpr):
        check_results("custom_vjp", "fwd", vjp.name, outs, call_jaxpr.out_avals)
    avals = [abstractify(out) for out in outs]
    moved = iter(
        custom_vjp_linear_p.bind(
            *residuals,
            *[t for t in given if type(t) is not Zero],
            active=active,
            name=vjp.name,
            num_residuals=len(residuals),
            out_avals=tuple([aval.tangent() for aval in avals if has_tangent(aval)]),
            pull=pull,
        )
    )
    return list(outs), [next(moved) if has_tangent(a) else Zero(a.tangent()) for a in avals]


@custom_vjp_call_p.def_transpose
def _custom_vjp_transpose(
    cts: Sequence[Any], *args: Any, call_jaxpr: ClosedJaxpr, vjp: VjpRule, **params: Any
) -> list[Any]:
    """Transpose the function itself: it is linear, and is not differentiated here."""
    return transpose_call(cts, *args, jaxpr=call_jaxpr, name=vjp.name)


@custom_vjp_call_p.def_batch
def _custom_vjp_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    call_jaxpr: Any,
    vjp: VjpRule,
    num_consts: int,
) -> tuple[list[Any], list[int | None]]:
    has = tuple([dim is not None for dim in dims])
    moved = [
        arg if dim is None else move_axis(arg, dim, 0) for arg, dim in zip(args, dims, strict=True)
    ]
    results = BatchedResults(axis)
    rule = _batched_rule(vjp, results, has, num_consts)
    if isinstance(call_jaxpr, ClosedJaxpr):
        ask = partial(_traced_forward, rule, moved, len(moved) - num_consts)
        call: Any = batched_program(call_jaxpr, has, results, ask)
    else:
        call = BatchedFunction(call_jaxpr, has, results)
    outs = custom_vjp_call_p.bind(*moved, call_jaxpr=call, vjp=rule, num_consts=num_consts)
    return outs, results.dims


def _batched_rule(
    rule: VjpRule, results: BatchedResults, has: tuple[bool, ...], num_consts: int
) -> VjpRule:
    axis = results.axis

    def run(
        operands: Sequence[Any], active: Sequence[bool]
    ) -> tuple[Sequence[Any], Sequence[Any], Pull]:
        found: list[tuple[int, Pull]] = []

        def one(*values: Any) -> list[Any]:
            outs, residuals, pull = rule(values, active)
            found.append((len(outs), pull))
            return [*outs, *residuals]

        dims = [0 if flag else None for flag in has]
        there, there_dims = batch_flat(one, operands, dims, axis)
        count, pull = found[0]
        residuals = [
            x if dim is None else move_axis(x, dim, 0)
            for x, dim in zip(there[count:], there_dims[count:], strict=True)
        ]
        results.note(there_dims[:count])
        stacked = tuple([dim is not None for dim in there_dims[count:]])
        avals = [_of_example(abstractify(x), dim) for x, dim in zip(there, there_dims, strict=True)]
        smooth = [has_tangent(aval) for aval in avals[:count]]
        back = BatchedPull(
            pull, axis, stacked, has[num_consts:], tuple(pick(results.flags, smooth))
        )
        cts = [aval.cotangent() for aval in pick(avals[:count], smooth)]
        if back.sends_apart(avals[count:], cts):
            results.note((0,) * count)
            back = back.of_examples()
        return results.placed(there[:count], there_dims[:count]), residuals, back

    return VjpRule(run, rule.name)


def _of_example(aval: ShapedArray, dim: int | None) -> ShapedArray:
    return aval if dim is None else example_aval(aval, dim)


# ---------------------------------------------------------------- the linear map


@custom_vjp_linear_p.def_abstract_eval
def _linear_abstract_eval(
    *avals: ShapedArray, out_avals: tuple[ShapedArray, ...], **params: Any
) -> list[ShapedArray]:
    return list(out_avals)


def _refuse(*args: Any, name: str, **params: Any) -> NoReturn:
    """Raise: there is no forward derivative."""
    raise TypeError(
        f"can't apply forward-mode differentiation (jvp) to a custom_vjp function: {name} only has "
        "a rule for the way back. Use grad, vjp or jacrev, or give it a custom_jvp rule, which "
        "serves both ways"
    )


def _linear_lower(context: Any, *values: Any, **params: Any) -> NoReturn:
    _refuse(**params)


def _linear_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> NoReturn:
    _refuse(**params)


@custom_vjp_linear_p.def_transpose
def _linear_transpose(
    cts: Sequence[Any],
    *args: Any,
    active: tuple[bool, ...],
    num_residuals: int,
    pull: Pull,
    **params: Any,
) -> list[Any]:
    residuals, tangents = args[:num_residuals], args[num_residuals:]
    pulled = pick(pull(residuals, cts), active)
    return [
        *[None] * num_residuals,
        *[ct if is_linear(t) else None for ct, t in zip(pulled, tangents, strict=True)],
    ]


@custom_vjp_linear_p.def_batch
def _linear_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    active: tuple[bool, ...],
    num_residuals: int,
    out_avals: tuple[ShapedArray, ...],
    pull: Pull,
    name: str,
) -> tuple[list[Any], list[int | None]]:
    residuals = [
        x if dim is None else move_axis(x, dim, 0)
        for x, dim in zip(args[:num_residuals], dims[:num_residuals], strict=True)
    ]
    stacked = tuple([dim is not None for dim in dims[:num_residuals]])
    tangents = [
        batch_to_front(x, dim, axis.size)
        for x, dim in zip(args[num_residuals:], dims[num_residuals:], strict=True)
    ]
    outs = custom_vjp_linear_p.bind(
        *residuals,
        *tangents,
        active=active,
        name=name,
        num_residuals=num_residuals,
        out_avals=tuple([batched_aval(a, axis) for a in out_avals]),
        pull=BatchedPull(pull, axis, stacked, (True,) * len(active), (True,) * len(out_avals)),
    )
    return outs, [0] * len(outs)


custom_vjp_call_p.define(stage=_custom_vjp_stage)
custom_vjp_linear_p.define(lower=_linear_lower, jvp=_linear_jvp, evaluate=_refuse)
