"""``cond_p``: one of several programs, chosen while running by an index.

The first operand is the index: a boolean scalar (for two branches, False the first) or an int32
scalar in range.  All branches take the same operands: the constants of all of them come first,
so each branch ignores what belongs to the others.

Where the examples of a batch choose differently, every branch runs on all of them and the
results are selected.  A branch must then not harm the examples that did not choose it:

* its operands pass through a select whose other side is constant to derivatives, so a NaN that
  the branch's derivative makes of foreign operands never leaves it;
* a branch with a ``while`` inside runs on operands of an example that chose it, in place of those
  that did not, and not at all where none did: else its loop might not end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.effects import acting_effects, effect_names, has_ordered
from jxkernel.core.explicit_sharding import AS_TYPED
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, eval_jaxpr
from jxkernel.core.primitive import Primitive
from jxkernel.core.unfolding import Call, Unfolding
from jxkernel.core.zeros import Zero, is_linear
from jxkernel.higher_order.groups import Flags
from jxkernel.higher_order.programs import (
    add_zero_results,
    contains,
    cotangents,
    evaluate_compiled,
    keep_arguments,
    keep_results,
    merge,
    permute,
    pick,
    place_arguments,
    split_tangents,
    transposed,
    vary_arguments,
)
from jxkernel.higher_order.while_loop import while_p
from jxkernel.primitives.collective.varying import vary
from jxkernel.primitives.elementwise.bits import bitwise_not
from jxkernel.primitives.elementwise.compare import eq
from jxkernel.primitives.elementwise.identity import copy_p, untaken
from jxkernel.primitives.elementwise.select import select, select_n
from jxkernel.primitives.indexing.dynamic_slicing import dynamic_index_in_dim
from jxkernel.primitives.reduction.reduce import argmax, reduce_or
from jxkernel.primitives.shape.broadcast import batch_to_front, broadcast_in_dim, instantiate
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.transforms.batching import batch_program
from jxkernel.transforms.jvp import jvp_program
from jxkernel.transforms.partial_eval import PartialTrace, partial_eval_program
from jxkernel.transforms.stage import trace_flat

__all__ = ["bind_cond", "cond_p", "shared_slots"]

Branches = tuple[ClosedJaxpr, ...]

cond_p = Primitive("cond", multiple_results=True).define(sharding=AS_TYPED)


def bind_cond(index: Any, branches: Sequence[ClosedJaxpr], operands: Sequence[Any]) -> list[Any]:
    """Choose among programs under the current trace; their constants become operands.

    Args:
      index: which branch: a boolean scalar, or an int32 scalar in range.
      branches: programs of the same argument and result types.
      operands: the arguments of the branch.
    """
    consts = list({id(const): const for branch in branches for const in branch.consts}.values())
    places = {id(const): place for place, const in enumerate(consts)}
    avals = [*map(abstractify, consts), *branches[0].in_avals]
    own = range(len(consts), len(avals))
    joined = [
        place_arguments(
            branch.hoisted(), (*[places[id(const)] for const in branch.consts], *own), avals
        )
        for branch in branches
    ]
    axes = abstractify(index).vma
    if axes:
        # Devices choose apart, so what a branch reads each reads for itself: no sum over devices
        # may stand in a branch, when it runs backwards, that only some of them take.
        joined = [vary_arguments(branch, axes) for branch in joined]
        consts, operands = ([vary(x, axes) for x in values] for values in (consts, operands))
    return cond_p.bind(index, *consts, *operands, branches=tuple(joined))


def _union(rows: Sequence[Sequence[bool]]) -> Flags:
    return tuple([any(column) for column in zip(*rows, strict=True)])


@cond_p.def_abstract_eval
def _cond_abstract_eval(*avals: ShapedArray, branches: Branches) -> list[ShapedArray]:
    return branches[0].out_avals


def _cond_varies(avals: Any, outs: Any, params: dict[str, Any]) -> list[ShapedArray]:
    """A result varies where that of any branch does, and where the choice does."""
    columns = zip(*[branch.out_avals for branch in params["branches"]], strict=True)
    return [
        out.update(vma=avals[0].vma.union(*[aval.vma for aval in column]))
        for out, column in zip(outs, columns, strict=True)
    ]


cond_p.varies = _cond_varies


def _cond_effects(*avals: ShapedArray, branches: Branches) -> frozenset[Any]:
    return frozenset().union(*[branch.effects for branch in branches])


@cond_p.def_lower
def _cond_lower(context: Any, index: Any, *values: Any, branches: Branches) -> Sequence[Any]:
    boolean = context.avals_in[0].dtype == np.bool_
    known = hlo.known_integer(index)
    if known is not None and not boolean:
        # The platform decides: what is for others need not be possible here.
        return context.nested(branches[known], values)
    token = context.take_token() if has_ordered(_cond_effects(branches=branches)) else None
    operation = context.op(
        "stablehlo.if" if boolean else "stablehlo.case",
        context.out_types if token is None else [*context.out_types, token.type],
        (index,),
        regions=len(branches),
    )
    # The first region of ``if`` is the one for True, the second branch.
    for region, branch in enumerate(reversed(branches) if boolean else branches):
        context.lower_region(
            operation,
            region,
            (),
            lambda inner, branch=branch: inner.threaded(branch, values, token),
        )
    outs = list(operation.results)
    if token is not None:
        context.token = outs.pop()
    return outs


# ---------------------------------------------------------------- derivatives


@cond_p.def_jvp
def _cond_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, branches: Branches
) -> tuple[list[Any], list[Any]]:
    given = [t for t in tangents[1:] if type(t) is not Zero]
    nonzero = tuple([type(t) is not Zero for t in tangents[1:]])
    # An index has no tangent.
    out_nonzero = _union([jvp_program(branch, nonzero)[1] for branch in branches])
    programs = tuple([jvp_program(branch, nonzero, out_nonzero)[0] for branch in branches])
    outs = cond_p.bind(*primals, *given, branches=programs)
    avals = branches[0].out_avals
    return split_tangents(outs, len(avals), out_nonzero, avals)


def _cond_partial_eval(
    trace: PartialTrace, args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    index, *operands = args
    if trace.is_unknown(index):
        return trace.stage(cond_p, args, params)
    branches: Branches = params["branches"]
    unknown = tuple([trace.is_unknown(operand) for operand in operands])
    known, rest, unknown_out = branches[0].remember(_split, branches[1:], unknown)
    known_args = pick(operands, unknown, wanted=False)
    runs = known[0].out_avals or _cond_effects(branches=known)
    outs = cond_p.bind(index, *known_args, branches=known) if runs else []
    count = unknown_out.count(False)
    staged = trace.stage(
        cond_p, [index, *outs[count:], *pick(operands, unknown)], {"branches": rest}
    )
    return merge(unknown_out, staged, outs[:count])


def _split(
    first: ClosedJaxpr, others: Branches, unknown: Flags
) -> tuple[Branches, Branches, Flags]:
    """Return the branches' known and unknown programs, and which results are unknown.

    The branches agree on which results are unknown and on the types of the residuals: each
    branch puts its own into slots that all share, and zeros into the slots it has no use for.
    """
    branches = (first, *others)
    out = _union([partial_eval_program(branch, unknown)[2] for branch in branches])
    parts = [partial_eval_program(branch, unknown, out) for branch in branches]
    slots, places = shared_slots([rest.in_avals[:count] for _, rest, _, count in parts])
    given = out.count(False)
    known, rests = [], []
    for (program, rest, _, count), place in zip(parts, places, strict=True):
        order = sorted(range(count), key=lambda residual, place=place: place[residual])
        filled = tuple([slot in place for slot in range(len(slots))])
        ordered = permute(program, None, (*range(given), *[given + i for i in order]))
        avals = [*program.out_avals[:given], *slots]
        known.append(
            add_zero_results(ordered, (True,) * given + filled, (True,) * len(avals), avals)
        )
        hidden = rest.in_avals[count:]
        own = range(len(slots), len(slots) + len(hidden))
        rests.append(place_arguments(rest, (*place, *own), [*slots, *hidden]))
    return tuple(known), tuple(rests), out


def shared_slots(
    rows: Sequence[Sequence[ShapedArray]],
) -> tuple[list[ShapedArray], list[tuple[int, ...]]]:
    """Return types such that each row can be placed among them, and the places of each row."""
    slots: list[ShapedArray] = []
    places: list[tuple[int, ...]] = []
    for row in rows:
        free = dict(enumerate(slots))
        place: list[int] = []
        for aval in row:
            plain = aval.strip_weak_type()
            found = next((slot for slot, own in free.items() if own is plain), None)
            if found is None:
                found = len(slots)
                slots.append(plain)
            free.pop(found, None)
            place.append(found)
        places.append(tuple(place))
    return slots, places


@cond_p.def_transpose
def _cond_transpose(
    cts: Sequence[Any], index: Any, *operands: Any, branches: Branches
) -> list[Any]:
    linear = tuple([is_linear(operand) for operand in operands])
    nonzero = tuple([type(ct) is not Zero for ct in cts])
    parts, refs = transposed(branches, linear, nonzero)
    produced = _union([part for _, part in parts])
    avals = [operand.aval.cotangent() for operand in pick(operands, linear)]
    values = refs.values()
    outs: list[Any] = []
    if any(produced) or values:
        after = (True,) * len(values)
        every = [*refs.avals, *avals]
        programs = [
            add_zero_results(program, after + part, after + produced, every)
            for program, part in parts
        ]
        known = [*values, *pick(operands, linear, wanted=False)]
        outs = cond_p.bind(index, *known, *pick(cts, nonzero), branches=tuple(programs))
        refs.write(outs[: len(values)])
    return [None, *cotangents(operands, produced, outs[len(values) :])]


# ---------------------------------------------------------------- batching


@cond_p.def_batch
def _cond_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, branches: Branches
) -> tuple[list[Any], list[int | None]]:
    if dims[0] is not None:
        return _batch_of_choices(axis, args, dims, branches)
    has = tuple([dim is not None for dim in dims[1:]])
    out_has = _union([batch_program(branch, axis, has, False)[1] for branch in branches])
    programs = tuple([batch_program(branch, axis, has, out_has)[0] for branch in branches])
    moved = [
        arg if dim is None else move_axis(arg, dim, 0) for arg, dim in zip(args, dims, strict=True)
    ]
    return cond_p.bind(*moved, branches=programs), [0 if flag else None for flag in out_has]


def _batch_of_choices(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], branches: Branches
) -> tuple[list[Any], list[int | None]]:
    """Select for each example among the branches' results; what all pass on stays as it is."""
    passed = [_passed_on(branches, place) for place in range(len(branches[0].out_avals))]
    left = tuple([place is None for place in passed])
    programs = tuple([keep_results(branch, left)[0] for branch in branches])
    runs = any(left) or _cond_effects(branches=branches)
    selected = _select_among(axis, args, dims, programs) if runs else []
    given = [place for place in passed if place is not None]
    outs = merge(left, selected, [copy_p.bind(args[1 + place]) for place in given])
    return outs, merge(left, [0] * len(selected), [dims[1 + place] for place in given])


def _passed_on(branches: Branches, result: int) -> int | None:
    """Return the operand that is a result of every branch; None where there is none."""
    places = {
        branch.jaxpr.invars.index(atom) if atom in branch.jaxpr.invars else None
        for branch in branches
        for atom in (branch.jaxpr.outvars[result],)
    }
    return places.pop() if len(places) == 1 else None


def _select_among(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], branches: Branches
) -> list[Any]:
    """Run every branch on all examples and select for each example the result it chose."""
    acting = acting_effects(_cond_effects(branches=branches))
    if acting:
        raise NotImplementedError(
            f"vmap of cond or switch where examples choose differently, with a branch that has "
            f"the effect {effect_names(acting)}: every branch would run, for examples that did "
            "not choose it as well. Loop over the examples with lax.map, or make the callback "
            "itself look at the condition"
        )
    index = move_axis(args[0], dims[0] or 0, 0)
    smooth = [dtypes.issubdtype(abstractify(arg).dtype, np.inexact) for arg in args[1:]]
    has = tuple([dim is not None or s for dim, s in zip(dims[1:], smooth, strict=True)])
    operands = [
        batch_to_front(arg, dim, axis.size) if flag else arg
        for arg, dim, flag in zip(args[1:], dims[1:], has, strict=True)
    ]
    rows = []
    for number, branch in enumerate(branches):
        taken = _is(index, number)
        program, _ = batch_program(branch, axis, has, True)
        run = _run_if_taken if contains(branch, while_p) else _run_guarded
        rows.append(run(program, taken, operands, has))
    return [select_n(_along(index, cases[0]), *cases) for cases in zip(*rows, strict=True)]


def _is(index: Any, number: int) -> Any:
    """Return, for each example, whether it chose the branch of a number."""
    if abstractify(index).dtype != np.bool_:
        return eq(index, np.int32(number))
    return index if number else bitwise_not(index)


def _along(flags: Any, like: Any) -> Any:
    """Return one value per example, repeated over the shape of the examples of ``like``."""
    shape = np.shape(like)
    return broadcast_in_dim(flags, shape, (0,)) if len(shape) > 1 else flags


def _run_guarded(
    program: ClosedJaxpr, taken: Any, operands: Sequence[Any], has: Flags
) -> list[Any]:
    """Run a branch on all examples; derivatives pass only to those that chose it."""
    guarded = [
        select(_along(taken, x), x, untaken(x)) if flag else x
        for x, flag in zip(operands, has, strict=True)
    ]
    return eval_jaxpr(program.jaxpr, program.consts, *guarded)


def _run_if_taken(
    program: ClosedJaxpr, taken: Any, operands: Sequence[Any], has: Flags
) -> list[Any]:
    """Run a branch with the operands of an example that chose it in place of the others."""
    first = argmax(taken, 0, np.int32)
    safe = []
    for x, flag in zip(operands, has, strict=True):
        if flag:
            row = untaken(dynamic_index_in_dim(x, first, 0))
            places = tuple(range(rank_of(x)))
            x = select(_along(taken, x), x, broadcast_in_dim(row, shape_of(x), places))
        safe.append(x)
    idle = program.remember(_idle)
    return bind_cond(reduce_or(taken, (0,)), (idle, program), safe)


def _idle(program: ClosedJaxpr) -> ClosedJaxpr:
    """Return the program that gives zeros in place of a program's results, and does nothing."""
    avals = program.out_avals
    return trace_flat(
        lambda *args: [instantiate(Zero(aval)) for aval in avals], program.in_avals, name="idle"
    )


# ---------------------------------------------------------------- dead code


def _cond_dce(used_outputs: list[bool], eqn: Eqn) -> Eqn:
    parts = [keep_results(branch, tuple(used_outputs)) for branch in eqn.params["branches"]]
    read = _union([reads for _, reads in parts])
    return eqn.replace(
        invars=[eqn.invars[0], *pick(eqn.invars[1:], read)],
        outvars=pick(eqn.outvars, used_outputs),
        params={"branches": tuple([keep_arguments(program, read) for program, _ in parts])},
    )


# ---------------------------------------------------------------- one by one


def _cond_unfold(index: Any, *operands: Any, branches: Branches) -> Unfolding:
    number = int(index)
    boolean = abstractify(index).dtype == np.bool_
    label = f"{bool(number)} branch".lower() if boolean else f"branch {number}"
    return (yield Call(label, branches[number], operands))


cond_p.define(
    effects=_cond_effects,
    evaluate=evaluate_compiled(cond_p),
    partial_eval=_cond_partial_eval,
    dce=_cond_dce,
    unfold=_cond_unfold,
)
