"""``while_p``: repeat a program on a carry while a condition on it holds.

Operands are the constants of the condition, those of the body, and the initial carry.  How often
the body runs is known only while running, so there is no room to keep what a backward pass would
need: forward derivatives work, reverse mode is an error.  (``fori_loop`` with static bounds is a
``scan``, which has both.)

In a batch, examples may end at different turns.  The loop then runs until the last has ended,
and keeps the carry of those that have: their state is frozen, whatever the body makes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from jxkernel import source
from jxkernel.core.avals import ShapedArray
from jxkernel.core.axes import Axis
from jxkernel.core.effects import TOKEN, acting_effects, effect_names, has_ordered
from jxkernel.core.explicit_sharding import AS_TYPED
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, eval_jaxpr
from jxkernel.core.primitive import Primitive
from jxkernel.core.trace import state
from jxkernel.core.unfolding import Call, Unfolding
from jxkernel.core.zeros import Zero
from jxkernel.errors import ReverseModeError
from jxkernel.higher_order.groups import Flags, Groups, grown_to_fixpoint
from jxkernel.higher_order.programs import (
    drop_effects,
    evaluate_compiled,
    keep_arguments,
    keep_results,
    merge,
    permute,
    pick,
    place_arguments,
    split_tangents,
)
from jxkernel.higher_order.scan_lowering import HeldSums
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.reduction.reduce import reduce_or
from jxkernel.primitives.shape.broadcast import batch_to_front, broadcast_in_dim, instantiate
from jxkernel.transforms.batching import batch_program
from jxkernel.transforms.jvp import jvp_program
from jxkernel.transforms.partial_eval import PartialTrace, partial_eval_program
from jxkernel.transforms.stage import trace_flat

__all__ = ["bind_while", "while_p"]

while_p = Primitive("while", multiple_results=True).define(sharding=AS_TYPED)


def bind_while(
    condition: ClosedJaxpr,
    body: ClosedJaxpr,
    condition_consts: Sequence[Any],
    body_consts: Sequence[Any],
    init: Sequence[Any],
) -> list[Any]:
    """Run a loop under the current trace and return its last carry.

    Args:
      condition: from its constants and the carry to a boolean scalar.
      body: from its constants and the carry to the next carry, of the same types.
      condition_consts: the condition's constants.
      body_consts: the body's constants.
      init: the first carry.
    """
    return while_p.bind(
        *condition_consts,
        *body_consts,
        *init,
        cond_jaxpr=condition,
        cond_nconsts=len(condition_consts),
        body_jaxpr=body,
        body_nconsts=len(body_consts),
    )


class _Loop:
    """The parameters of a loop, with its operands (or flags or atoms beside them) in parts."""

    __slots__ = ("body", "body_count", "condition", "condition_count")

    def __init__(
        self,
        *,
        cond_jaxpr: ClosedJaxpr,
        cond_nconsts: int,
        body_jaxpr: ClosedJaxpr,
        body_nconsts: int,
    ) -> None:
        self.condition = cond_jaxpr
        self.condition_count = cond_nconsts
        self.body = body_jaxpr
        self.body_count = body_nconsts

    def split(self, operands: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
        """Return the condition's constants, the body's, and the carry."""
        count = len(self.body.out_avals)
        return Groups((self.condition_count, self.body_count, count)).split(operands)

    def split_body(self, operands: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
        """Return the body's constants, and the carry."""
        return Groups((self.body_count, len(self.body.out_avals))).split(operands)

    @property
    def carry_avals(self) -> list[ShapedArray]:
        """The types of the carry."""
        return list(self.split_body(self.body.in_avals)[1])


@while_p.def_abstract_eval
def _while_abstract_eval(*avals: ShapedArray, **params: Any) -> list[ShapedArray]:
    return _Loop(**params).carry_avals


def _while_varies(avals: Any, outs: Any, params: dict[str, Any]) -> list[ShapedArray]:
    """Everything varies where the number of turns does."""
    axes = params["cond_jaxpr"].out_avals[0].vma
    return [out.update(vma=out.vma | axes) for out in outs]


while_p.varies = _while_varies


def _while_effects(*avals: ShapedArray, **params: Any) -> frozenset[Any]:
    loop = _Loop(**params)
    return loop.condition.effects | loop.body.effects


@while_p.def_lower
def _while_lower(context: Any, *values: Any, **params: Any) -> Sequence[Any]:
    loop = _Loop(**params)
    condition_consts, body_consts, init = loop.split(values)
    avals = context.avals_out
    if loop.condition.effects or has_ordered(loop.body.effects):
        return _lower_with_effects(context, loop, condition_consts, body_consts, init)
    count, read = len(init), [*condition_consts, *body_consts]
    held = HeldSums(context.module.partitioned, read, context.avals_in[: len(read)])
    avals, state = [*avals, *held.avals], [*init, *held.values]
    operation = context.op("stablehlo.while", [x.type for x in state], state, regions=2)

    def going(inner: Any, *parts: Any) -> Sequence[Any]:
        consts = held.among(inner, condition_consts, parts[count:])
        return inner.nested(loop.condition, [*consts, *parts[:count]])

    def turn(inner: Any, *parts: Any) -> Sequence[Any]:
        consts = held.among(inner, body_consts, parts[count:])
        return [*inner.nested(loop.body, [*consts, *parts[:count]]), *parts[count:]]

    context.lower_region(operation, 0, avals, going)
    context.lower_region(operation, 1, avals, turn)
    return list(operation.results)[:count]


def _lower_with_effects(
    context: Any,
    loop: _Loop,
    condition_consts: Sequence[Any],
    body_consts: Sequence[Any],
    init: Sequence[Any],
) -> list[Any]:
    """Lower a loop whose carry holds, first, the token (if order is kept) and whether it goes on.

    The condition's region can give no token, and the compiler drops its effects where it sees
    that the loop has no turn; so the condition is asked before the loop and after each turn.
    """
    tokens = int(has_ordered(loop.condition.effects | loop.body.effects))
    count, read = len(init), [*condition_consts, *body_consts]
    held = HeldSums(context.module.partitioned, read, context.avals_in[: len(read)])
    avals = [*[TOKEN] * tokens, *loop.condition.out_avals, *context.avals_out, *held.avals]

    def state_of(inner: Any, carry: Sequence[Any], sums: Sequence[Any]) -> list[Any]:
        consts = held.among(inner, condition_consts, sums)
        (going,) = inner.inline(loop.condition, [*consts, *carry])
        return [*([inner.take_token()] if tokens else ()), going, *carry, *sums]

    def turn(inner: Any, *parts: Any) -> list[Any]:
        if tokens:
            inner.token = parts[0]
        carry, sums = parts[tokens + 1 :][:count], parts[tokens + 1 :][count:]
        consts = held.among(inner, body_consts, sums)
        return state_of(inner, inner.inline(loop.body, [*consts, *carry]), sums)

    state = state_of(context, init, held.values)
    operation = context.op("stablehlo.while", [x.type for x in state], state, regions=2)
    context.lower_region(operation, 0, avals, lambda inner, *parts: [parts[tokens]])
    context.lower_region(operation, 1, avals, turn)
    results = list(operation.results)
    if tokens:
        context.token = results[0]
    return results[tokens + 1 :][:count]


# ---------------------------------------------------------------- forward derivative


@while_p.def_jvp
def _while_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    loop = _Loop(**params)
    condition_consts, body_consts, init = loop.split(primals)
    _, consts_t, init_t = loop.split(tangents)
    consts_nonzero = tuple([type(t) is not Zero for t in consts_t])
    carry_nonzero, body = _body_jvp(
        loop, consts_nonzero, tuple([type(t) is not Zero for t in init_t])
    )
    moved = [instantiate(t) for t in pick(init_t, carry_nonzero)]
    outs = bind_while(
        _ignoring(loop.condition, [body.in_avals[-len(moved) + i] for i in range(len(moved))]),
        body,
        condition_consts,
        [*body_consts, *pick(consts_t, consts_nonzero)],
        [*init, *moved],
    )
    return split_tangents(outs, len(init), carry_nonzero, loop.carry_avals)


def _ignoring(condition: ClosedJaxpr, more: Sequence[ShapedArray]) -> ClosedJaxpr:
    """Return the condition of a carry that has further parts at its end."""
    avals = condition.in_avals
    return place_arguments(condition, tuple(range(len(avals))), [*avals, *more])


def _body_jvp(loop: _Loop, consts: Flags, init: Flags) -> tuple[Flags, ClosedJaxpr]:
    """Return which parts of the carry have tangents at some turn, and the body with them."""

    def step(carry: Flags) -> tuple[Flags, ClosedJaxpr]:
        program, nonzero = jvp_program(loop.body, consts + carry, carry)
        return nonzero, program

    carry, program = grown_to_fixpoint(init, step)
    order = Groups.of(consts, carry).interleaved(Groups.marked(consts, carry))
    return carry, permute(program, order, None)


# ---------------------------------------------------------------- partial evaluation


def _while_partial_eval(
    trace: PartialTrace, args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """Run the part of the carry that is known; record the whole loop for the rest.

    Effects of the known part happen when that runs, and not again in the loop that is recorded.
    """
    loop = _Loop(**params)
    unknown = tuple([trace.is_unknown(arg) for arg in args])
    condition_consts, body_consts, init = loop.split(args)
    condition_unknown, body_unknown, carry_unknown = loop.split(unknown)
    carry_unknown = _unknown_carry(loop, body_unknown, carry_unknown)
    condition_reads = keep_results(loop.condition, (True,))[1]
    hidden = any(condition_unknown) or any(
        read and part
        for read, part in zip(condition_reads, condition_unknown + carry_unknown, strict=True)
    )
    if hidden or all(carry_unknown):
        return trace.stage(while_p, args, params)
    known = tuple([not part for part in carry_unknown])
    keep = tuple([not part for part in body_unknown])
    body = partial_eval_program(loop.body, body_unknown + carry_unknown, carry_unknown)[0]
    outs = bind_while(
        keep_arguments(loop.condition, (True,) * loop.condition_count + known),
        keep_results(body, _first(known.count(True), len(body.out_avals)))[0],
        condition_consts,
        pick(body_consts, keep),
        pick(init, known),
    )
    recorded = {"cond_jaxpr": drop_effects(loop.condition), "body_jaxpr": drop_effects(loop.body)}
    staged = trace.stage(while_p, args, {**params, **recorded})
    return merge(known, outs, pick(staged, known, wanted=False))


def _first(count: int, total: int) -> Flags:
    return (True,) * count + (False,) * (total - count)


def _unknown_carry(loop: _Loop, consts: Flags, init: Flags) -> Flags:
    """Return which parts of the carry are unknown at some turn."""

    def step(carry: Flags) -> tuple[Flags, None]:
        return partial_eval_program(loop.body, consts + carry, carry)[2], None

    return grown_to_fixpoint(init, step)[0]


@while_p.def_transpose
def _while_transpose(cts: Sequence[Any], *args: Any, **params: Any) -> NoReturn:
    """Raise, at the line of the loop: what a backward pass needs is not kept."""
    frame = source.user_frame(state.replayed_source)
    raise ReverseModeError(
        "while_loop",
        **({"where": f"{frame.file}:{frame.line}, in {frame.function}"} if frame else {}),
    )


# ---------------------------------------------------------------- batching


@while_p.def_batch
def _while_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[list[Any], list[int | None]]:
    loop = _Loop(**params)
    moved = [
        arg if dim is None else batch_to_front(arg, dim, axis.size)
        for arg, dim in zip(args, dims, strict=True)
    ]
    condition_consts, body_consts, init = loop.split(moved)
    condition_has, body_has, init_has = loop.split(tuple([dim is not None for dim in dims]))
    carry_has, body = _batched_body(loop, axis, body_has, init_has)
    condition, (ends_apart,) = batch_program(loop.condition, axis, condition_has + carry_has, False)
    if ends_apart:
        _check_may_end_apart(_while_effects(**params))
        # What the body passes on is the same for an example that has ended and one that has not.
        carry_has = _changed(loop, carry_has)
    carry = [
        batch_to_front(x, 0 if had else None, axis.size) if has else x
        for x, had, has in zip(init, init_has, carry_has, strict=True)
    ]
    if ends_apart:
        consts = [*condition_consts, *body_consts]
        has = (condition_has, body_has, carry_has)
        outs = _run_until_all_end(loop, axis, has, consts, carry)
    else:
        outs = bind_while(condition, body, condition_consts, body_consts, carry)
    return outs, [0 if has else None for has in carry_has]


def _check_may_end_apart(effects: frozenset[Any]) -> None:
    """Raise a NotImplementedError if effects may not happen for examples that have ended."""
    acting = acting_effects(effects)
    if acting:
        raise NotImplementedError(
            f"vmap of a while_loop with the effect {effect_names(acting)} whose examples end at "
            "different turns: the body would run for examples that have ended as well. Loop over "
            "the examples with lax.map"
        )


def _batched_body(loop: _Loop, axis: Axis, consts: Flags, init: Flags) -> tuple[Flags, ClosedJaxpr]:
    """Return which parts of the carry differ between examples at some turn, and the body."""

    def step(carry: Flags) -> tuple[Flags, ClosedJaxpr]:
        body, has = batch_program(loop.body, axis, consts + carry, carry)
        return has, body

    return grown_to_fixpoint(init, step)


def _changed(loop: _Loop, has: Flags) -> Flags:
    """Return which parts of the carry differ between examples, or change from turn to turn."""
    jaxpr = loop.body.jaxpr
    passed = zip(jaxpr.invars[loop.body_count :], jaxpr.outvars, strict=True)
    changes = [before is not after for before, after in passed]
    return tuple([a or b for a, b in zip(has, changes, strict=True)])


def _run_until_all_end(
    loop: _Loop,
    axis: Axis,
    has: tuple[Flags, Flags, Flags],
    consts: Sequence[Any],
    init: Sequence[Any],
) -> list[Any]:
    """Loop while any example goes on; the carry holds, first, which examples do."""
    condition_has, body_has, carry_has = has
    condition, _ = batch_program(loop.condition, axis, condition_has + carry_has, True)
    body, _ = batch_program(loop.body, axis, body_has + carry_has, carry_has)
    count = loop.condition_count
    (going,) = eval_jaxpr(condition.jaxpr, condition.consts, *consts[:count], *init)
    until, step = body.remember(_until_all_end, condition, count, loop.body_count, carry_has)
    return bind_while(until, step, (), consts, [going, *init])[1:]


def _until_all_end(
    body: ClosedJaxpr,
    condition: ClosedJaxpr,
    condition_count: int,
    body_count: int,
    carry_has: Flags,
) -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """Return the condition and the body of a loop whose carry holds which examples go on."""
    operands_of = Groups((condition_count, body_count, 1, len(carry_has)))

    def turn(*operands: Any) -> list[Any]:
        condition_consts, body_consts, (going,), carry = operands_of.split(operands)
        new = eval_jaxpr(body.jaxpr, body.consts, *body_consts, *carry)
        kept = [
            select(_repeated(going, y), y, x) if flag else x
            for x, y, flag in zip(carry, new, carry_has, strict=True)
        ]
        return [*eval_jaxpr(condition.jaxpr, condition.consts, *condition_consts, *kept), *kept]

    carry_avals = condition.in_avals[condition_count:]
    (going_aval,) = condition.out_avals
    const_avals = [*condition.in_avals[:condition_count], *body.in_avals[:body_count]]
    return (
        trace_flat(lambda going, *carry: [reduce_or(going, (0,))], [going_aval, *carry_avals]),
        trace_flat(turn, [*const_avals, going_aval, *carry_avals]),
    )


def _repeated(flags: Any, like: Any) -> Any:
    """Return one flag per example, repeated over the example's shape."""
    return broadcast_in_dim(flags, like.shape, (0,)) if len(like.shape) > 1 else flags


# ---------------------------------------------------------------- dead code


def _while_dce(used_outputs: list[bool], eqn: Eqn) -> Eqn:
    """Drop the parts of the carry that neither the results nor the condition depend on."""
    loop = _Loop(**eqn.params)
    condition_reads = keep_results(loop.condition, (True,))[1][loop.condition_count :]
    used = tuple([a or b for a, b in zip(used_outputs, condition_reads, strict=True)])

    def step(used: Flags) -> tuple[Flags, tuple[ClosedJaxpr, Flags]]:
        body, reads = keep_results(loop.body, used)
        consts_read, carry_read = loop.split_body(reads)
        return carry_read, (body, consts_read)

    used, (body, consts_used) = grown_to_fixpoint(used, step)
    condition_atoms, body_atoms, init = loop.split(eqn.invars)
    kept_consts = pick(body_atoms, consts_used)
    return eqn.replace(
        invars=[*condition_atoms, *kept_consts, *pick(init, used)],
        outvars=pick(eqn.outvars, used),
        params={
            "cond_jaxpr": keep_arguments(loop.condition, (True,) * loop.condition_count + used),
            "cond_nconsts": loop.condition_count,
            "body_jaxpr": keep_arguments(body, consts_used + used),
            "body_nconsts": len(kept_consts),
        },
    )


# ---------------------------------------------------------------- one by one


def _while_unfold(*args: Any, **params: Any) -> Unfolding:
    loop = _Loop(**params)
    condition_consts, body_consts, carry = loop.split(args)
    turn = 0
    while True:
        condition = Call("condition", loop.condition, (*condition_consts, *carry), turn)
        (going,) = yield condition
        if not going:
            return list(carry)
        carry = tuple((yield Call(f"turn {turn}", loop.body, (*body_consts, *carry), turn)))
        turn += 1


while_p.define(
    effects=_while_effects,
    evaluate=evaluate_compiled(while_p),
    partial_eval=_while_partial_eval,
    dce=_while_dce,
    unfold=_while_unfold,
)
