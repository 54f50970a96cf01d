"""``scan_p``: apply a program to each element of arrays in turn, passing a carry along.

Operands are constants, the initial carry, and arrays (``xs``) whose leading axis is scanned;
results are the last carry and, stacked along a new leading axis, what each turn gave (``ys``).
The length is static, so reverse mode can keep what the way back needs: the known part of the body
becomes a scan of its own whose residuals are stacked, and the rest is scanned backwards.

Residuals are kept thriftily.  One that depends on constants alone is computed once, outside of
the loop; one that is an element of ``xs`` is not copied but read again; and one that is easily made
of others is made again (``transforms/residuals.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel.core.avals import ShapedArray
from jxkernel.core.axes import Axis
from jxkernel.core.explicit_sharding import AS_TYPED
from jxkernel.core.jaxpr import NO_EFFECTS, ClosedJaxpr, Eqn, Literal, Var, eval_jaxpr
from jxkernel.core.primitive import Primitive
from jxkernel.core.unfolding import Call, Unfolding
from jxkernel.core.zeros import Zero, is_linear
from jxkernel.higher_order.groups import Flags, Groups, grown_to_fixpoint
from jxkernel.higher_order.jit import call
from jxkernel.higher_order.programs import (
    evaluate_compiled,
    keep_arguments,
    keep_results,
    merge,
    permute,
    pick,
    split_tangents,
    transposed,
    typed_by_programs,
)
from jxkernel.higher_order.references import Carried
from jxkernel.higher_order.scan_lowering import lower_scan
from jxkernel.primitives.indexing.dynamic_slicing import dynamic_index_in_dim
from jxkernel.primitives.shape.broadcast import add_any, batch_to_front, instantiate
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.records import record
from jxkernel.runtime import as_device_array
from jxkernel.transforms.batching import batch_program, batched_aval
from jxkernel.transforms.jvp import jvp_program
from jxkernel.transforms.partial_eval import PartialTrace, partial_eval_program
from jxkernel.transforms.residuals import fewer_residuals
from jxkernel.transforms.stage import trace_flat

__all__ = ["bind_scan", "scan_p", "stacked"]

scan_p = Primitive("scan", multiple_results=True).define(sharding=AS_TYPED)
scan_p.varies = typed_by_programs


def bind_scan(
    body: ClosedJaxpr,
    consts: Sequence[Any],
    init: Sequence[Any],
    xs: Sequence[Any],
    *,
    length: int,
    reverse: bool = False,
    unroll: int = 1,
) -> list[Any]:
    """Scan under the current trace and return the last carry, then the stacked results.

    Args:
      body: from constants, carry and elements to the next carry, of the same types, and results.
      consts: the constants.
      init: the first carry.
      xs: the arrays to scan over.
      length: their leading size.
      reverse: whether to begin with the last element.
      unroll: how many turns one turn of the compiled loop makes.
    """
    return scan_p.bind(
        *consts,
        *init,
        *xs,
        jaxpr=body,
        length=length,
        num_carry=len(init),
        num_consts=len(consts),
        reverse=reverse,
        unroll=unroll,
    )


@record()
class _Scan:
    """The parameters of a scan, with its operands (or flags or atoms beside them) in parts."""

    jaxpr: ClosedJaxpr
    length: int
    num_carry: int
    num_consts: int
    reverse: bool
    unroll: int

    @property
    def ins(self) -> Groups:
        """Constants, carry and scanned operands."""
        scanned = len(self.jaxpr.in_avals) - self.num_consts - self.num_carry
        return Groups((self.num_consts, self.num_carry, scanned))

    @property
    def outs(self) -> Groups:
        """Carry and stacked results."""
        return Groups((self.num_carry, len(self.jaxpr.out_avals) - self.num_carry))

    def split(self, operands: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
        """Return constants, carry and scanned operands."""
        return self.ins.split(operands)

    def split_out(self, results: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
        """Return carry and stacked results."""
        return self.outs.split(results)

    def bind(
        self,
        body: ClosedJaxpr,
        consts: Sequence[Any],
        init: Sequence[Any],
        xs: Sequence[Any],
        *,
        backwards: bool = False,
    ) -> list[Any]:
        """Scan another body as this scan goes, or the other way."""
        return bind_scan(
            body,
            consts,
            init,
            xs,
            length=self.length,
            reverse=self.reverse is not backwards,
            unroll=self.unroll,
        )


def stacked(aval: ShapedArray, length: int) -> ShapedArray:
    """Return the type of a value of each turn, stacked over the turns."""
    return batched_aval(aval, Axis(length))


@scan_p.def_abstract_eval
def _scan_abstract_eval(*avals: ShapedArray, **params: Any) -> list[ShapedArray]:
    scan = _Scan(**params)
    _, carry, _ = scan.split(scan.jaxpr.in_avals)
    _, ys = scan.split_out(scan.jaxpr.out_avals)
    return [*carry, *[stacked(aval, scan.length) for aval in ys]]


def _scan_effects(*avals: ShapedArray, **params: Any) -> frozenset[Any]:
    return params["jaxpr"].effects


@scan_p.def_lower
def _scan_lower(context: Any, *values: Any, **params: Any) -> Sequence[Any]:
    scan = _Scan(**params)
    return lower_scan(
        context,
        scan.jaxpr,
        *scan.split(values),
        length=scan.length,
        reverse=scan.reverse,
        unroll=scan.unroll,
    )


# ---------------------------------------------------------------- forward derivative


@scan_p.def_jvp
def _scan_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    scan = _Scan(**params)
    consts, init, xs = scan.split(primals)
    consts_t, init_t, xs_t = scan.split(tangents)
    nonzero = tuple([type(t) is not Zero for t in tangents])
    consts_has, _, xs_has = scan.split(nonzero)
    carry_has, ys_has, body = _body_jvp(scan, nonzero)
    outs = scan.bind(
        body,
        [*consts, *pick(consts_t, consts_has)],
        [*init, *[instantiate(t) for t in pick(init_t, carry_has)]],
        [*xs, *pick(xs_t, xs_has)],
    )
    carry, carry_t, ys, ys_t = Groups(
        (len(carry_has), sum(carry_has), len(ys_has), sum(ys_has))
    ).split(outs)
    avals = _scan_abstract_eval(**params)
    return split_tangents([*carry, *ys, *carry_t, *ys_t], len(avals), carry_has + ys_has, avals)


def _body_jvp(scan: _Scan, nonzero: Flags) -> tuple[Flags, Flags, ClosedJaxpr]:
    """Return which of carry and results have tangents, and the body with them.

    A part of the carry has a tangent if it has one at some turn.
    """
    consts, carry, xs = scan.split(nonzero)
    _, none = scan.split_out((False,) * len(scan.jaxpr.out_avals))

    def step(carry: Flags) -> tuple[Flags, tuple[ClosedJaxpr, Flags]]:
        program, out = jvp_program(scan.jaxpr, consts + carry + xs, carry + none)
        carry_out, ys = scan.split_out(out)
        return carry_out, (program, ys)

    carry, (program, ys) = grown_to_fixpoint(carry, step)
    ins = scan.ins.interleaved(Groups.marked(consts, carry, xs))
    outs = scan.outs.interleaved(Groups.marked(carry, ys))
    return carry, ys, permute(program, ins, outs)


# ---------------------------------------------------------------- partial evaluation


@record()
class _Split:
    """A body split by what is known at every turn.

    Attributes:
      unknown: for each operand, whether it is unknown at some turn.
      unknown_out: for each result.
      known: the known part: known operands to known results, then residuals to stack.
      invariant: from known constants to the residuals that are the same at every turn.
      reused: which of the known scanned operands are residuals as they are.
      rest: the unknown part: invariant residuals and unknown constants; unknown carry; reused
        and stacked residuals and unknown scanned operands.
    """

    unknown: Flags
    unknown_out: Flags
    known: ClosedJaxpr
    invariant: ClosedJaxpr
    reused: tuple[int, ...]
    rest: ClosedJaxpr


def _split(scan: _Scan, unknown: Flags) -> _Split:
    consts, carry, xs = scan.split(unknown)
    return scan.jaxpr.remember(_make_split, consts, carry, xs)


def _make_split(body: ClosedJaxpr, consts: Flags, carry: Flags, xs: Flags) -> _Split:
    none = (False,) * (len(body.out_avals) - len(carry))

    def step(carry: Flags) -> tuple[Flags, tuple[ClosedJaxpr, ClosedJaxpr, Flags, int]]:
        found = partial_eval_program(body, consts + carry + xs, carry + none)
        return found[2][: len(carry)], found

    carry, (known, whole, out, count) = grown_to_fixpoint(carry, step)
    jaxpr = known.jaxpr
    shown, residuals = jaxpr.outvars[: -count or None], jaxpr.outvars[len(jaxpr.outvars) - count :]
    first = consts.count(False)
    second = first + carry.count(False)
    varying = _depending_on(jaxpr.eqns, jaxpr.invars[first:])
    scanned: dict[Any, int] = {var: place for place, var in enumerate(jaxpr.invars[second:])}
    residuals, rest = fewer_residuals(jaxpr, residuals, whole, varying.difference(scanned))
    count = len(residuals)
    same = [i for i, atom in enumerate(residuals) if atom not in varying]
    reused = [i for i, atom in enumerate(residuals) if atom in scanned]
    stacked = [i for i in range(count) if i not in same and i not in reused]
    # Effects happen in the loop; none of what is the same at every turn depends on one.
    pure = [eqn for eqn in jaxpr.eqns if not eqn.effects]
    invariant = jaxpr.replace(outvars=[residuals[i] for i in same], eqns=pure, effects=NO_EFFECTS)
    looped = jaxpr.replace(outvars=[*shown, *[residuals[i] for i in stacked]])
    end = count + sum(consts) + sum(carry)
    order = (
        *same,
        *range(count, end),
        *reused,
        *stacked,
        *range(end, len(rest.in_avals)),
    )
    return _Split(
        consts + carry + xs,
        out,
        _lean(ClosedJaxpr(looped, known.consts)),
        _constants_only(ClosedJaxpr(invariant, known.consts), first),
        tuple([scanned[residuals[i]] for i in reused]),
        permute(rest, order, None),
    )


def _depending_on(eqns: Sequence[Eqn], variables: Sequence[Var]) -> set[Any]:
    """Return the given variables and all that are computed from them."""
    found: set[Any] = set(variables)
    for eqn in eqns:
        if eqn.effects or not found.isdisjoint([a for a in eqn.invars if type(a) is not Literal]):
            found.update(eqn.outvars)
    return found


def _lean(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return the program without what no result needs; it keeps its arguments."""
    return keep_results(closed, (True,) * len(closed.out_avals))[0]


def _constants_only(closed: ClosedJaxpr, count: int) -> ClosedJaxpr:
    """Return the program as one of its first arguments, the only ones it needs."""
    lean = _lean(closed)
    return keep_arguments(lean, (True,) * count + (False,) * (len(lean.in_avals) - count))


def _scan_partial_eval(
    trace: PartialTrace, args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    scan = _Scan(**params)
    split = _split(scan, tuple([trace.is_unknown(arg) for arg in args]))
    known, operands, counts = _run_known(scan, split, args)
    staged = trace.stage(
        scan_p,
        operands,
        {**params, "jaxpr": split.rest, "num_consts": counts[0], "num_carry": counts[1]},
    )
    return merge(split.unknown_out, staged, known)


def _run_known(
    scan: _Scan, split: _Split, args: Sequence[Any]
) -> tuple[list[Any], list[Any], tuple[int, int]]:
    """Scan the known part; return its results, and the operands of the rest in parts."""
    consts, init, xs = scan.split(args)
    consts_hidden, carry_hidden, xs_hidden = scan.split(split.unknown)
    known_consts = pick(consts, consts_hidden, wanted=False)
    known_xs = pick(xs, xs_hidden, wanted=False)
    outs: list[Any] = []
    if split.known.out_avals or split.known.effects:
        outs = scan.bind(
            split.known, known_consts, pick(init, carry_hidden, wanted=False), known_xs
        )
    invariant = call(
        split.invariant, known_consts, name="loop_invariant", inline=not split.invariant.eqns
    )
    count = split.unknown_out.count(False)
    rest_consts = [*invariant, *pick(consts, consts_hidden)]
    rest_init = pick(init, carry_hidden)
    rest_xs = [*[known_xs[i] for i in split.reused], *outs[count:], *pick(xs, xs_hidden)]
    counts = (len(rest_consts), len(rest_init))
    return outs[:count], [*rest_consts, *rest_init, *rest_xs], counts


# ---------------------------------------------------------------- transposition


@scan_p.def_transpose
def _scan_transpose(cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
    """Scan the other way, carrying cotangents of the carry and sums of those of constants."""
    scan = _Scan(**params)
    linear = tuple([is_linear(arg) for arg in args])
    split = _split(scan, linear)
    _, carry_linear, _ = scan.split(split.unknown)
    if all(carry_linear):
        return _transpose_linear(scan, cts, args)
    # Part of the carry is known, such as a counter: it is run first, and leaves a linear scan.
    _, operands, counts = _run_known(scan, split, args)
    rest = _Scan(split.rest, scan.length, counts[1], counts[0], scan.reverse, scan.unroll)
    pulled = iter(
        ct
        for ct, operand in zip(
            _transpose_linear(rest, pick(cts, split.unknown_out), operands),
            operands,
            strict=True,
        )
        if is_linear(operand)
    )
    return [next(pulled) if flag else None for flag in linear]


@record()
class _Backward:
    """The body of a transposed scan.

    Attributes:
      body: from known constants; values of references, sums of constants' cotangents and cotangents
        of the carry; known scanned operands and cotangents of results; to the next values, sums and
        cotangents of the carry, and cotangents of scanned operands.
      refs: the references that custom rules of the body use.
      sums: the types of the sums.
      consts: for each linear constant, whether it gets a cotangent.
      carry: for each part of the carry, whether its cotangent is nonzero at some turn.
      xs: for each linear scanned operand, whether it gets a cotangent.
    """

    body: ClosedJaxpr
    refs: Carried
    sums: list[ShapedArray]
    consts: Flags
    carry: Flags
    xs: Flags


def _transpose_linear(scan: _Scan, cts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """Transpose a scan whose carry is linear, all of it."""
    consts, init, xs = scan.split(args)
    consts_linear, xs_linear = tuple(map(is_linear, consts)), tuple(map(is_linear, xs))
    nonzero = tuple([type(ct) is not Zero for ct in cts])
    carry_nonzero, ys_nonzero = scan.split_out(nonzero)
    back = scan.jaxpr.remember(_make_backward, consts_linear, xs_linear, carry_nonzero, ys_nonzero)
    cts_carry, cts_ys = scan.split_out(cts)
    values = back.refs.values()
    outs = scan.bind(
        back.body,
        pick(consts, consts_linear, wanted=False),
        [
            *values,
            *[instantiate(Zero(aval)) for aval in back.sums],
            *[instantiate(ct) for ct in pick(cts_carry, back.carry)],
        ],
        [*pick(xs, xs_linear, wanted=False), *[ct for ct in cts_ys if type(ct) is not Zero]],
        backwards=True,
    )
    back.refs.write(outs[: len(values)])
    linear = consts_linear + (True,) * len(init) + xs_linear
    given = iter(outs[len(values) :])
    pulled = iter(
        [
            next(given) if has else Zero(arg.aval.cotangent()) if is_linear(arg) else None
            for arg, has in zip(pick(args, linear), back.consts + back.carry + back.xs, strict=True)
        ]
    )
    # A part of the carry that begins with a known value (zeros) is linear at later turns only.
    every = [next(pulled) if flag else None for flag in linear]
    return [ct if is_linear(arg) else None for ct, arg in zip(every, args, strict=True)]


def _make_backward(
    scanned: ClosedJaxpr, consts_linear: Flags, xs_linear: Flags, carry: Flags, ys: Flags
) -> _Backward:
    whole = (True,) * len(carry)
    consts, carry_avals, xs = Groups.of(consts_linear, carry, xs_linear).split(scanned.in_avals)
    _, ys_avals = Groups.of(carry, ys).split(scanned.out_avals)
    pulled_back = Groups.marked(consts_linear, whole, xs_linear)

    def step(carry: Flags) -> tuple[Flags, tuple[ClosedJaxpr, Carried, tuple[Flags, ...]]]:
        linear = consts_linear + whole + xs_linear
        [(program, produced)], refs = transposed([scanned], linear, carry + ys)
        parts = pulled_back.split(produced)
        return parts[1], (program, refs, parts)

    carry, (program, refs, (consts_out, carry_out, xs_out)) = grown_to_fixpoint(carry, step)
    sums = [aval.cotangent() for aval in pick(pick(consts, consts_linear), consts_out)]
    cts_carry = [aval.cotangent() for aval in pick(carry_avals, carry)]
    cts_ys = [aval.cotangent() for aval in pick(ys_avals, ys)]
    known = pick(consts, consts_linear, wanted=False)
    known_xs = pick(xs, xs_linear, wanted=False)
    operands_of = Groups.of(known, refs.avals, sums, cts_carry, known_xs, cts_ys)

    def turn(*operands: Any) -> list[Any]:
        known, values, sums, cts_carry, known_xs, cts_ys = operands_of.split(operands)
        given = [*values, *known, *known_xs, *cts_carry, *cts_ys]
        outs = iter(eval_jaxpr(program.jaxpr, program.consts, *given))
        after = [next(outs) for _ in values]
        added = [add_any(total, next(outs)) for total in sums]
        pulled = [
            next(outs) if has else Zero(aval.cotangent())
            for has, aval in zip(carry_out, carry_avals, strict=True)
        ]
        return [*after, *added, *[instantiate(ct) for ct in pick(pulled, carry)], *outs]

    body = trace_flat(
        turn,
        [*known, *refs.avals, *sums, *cts_carry, *known_xs, *cts_ys],
        name=f"transpose_{scanned.jaxpr.name}",
    )
    return _Backward(body, refs, sums, consts_out, carry, xs_out)


# ---------------------------------------------------------------- batching


@scan_p.def_batch
def _scan_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[list[Any], list[int | None]]:
    scan = _Scan(**params)
    has = tuple([dim is not None for dim in dims])
    consts, carry, xs = scan.split(has)
    _, none = scan.split_out((False,) * len(scan.jaxpr.out_avals))

    def step(carry: Flags) -> tuple[Flags, tuple[ClosedJaxpr, tuple[Flags, ...]]]:
        body, out = batch_program(scan.jaxpr, axis, consts + carry + xs, carry + none)
        parts = scan.split_out(out)
        return parts[0], (body, parts)

    carry, (body, (carry_out, ys_out)) = grown_to_fixpoint(carry, step)
    operands = scan.split(list(zip(args, dims, strict=True)))
    outs = scan.bind(
        body,
        [arg if dim is None else move_axis(arg, dim, 0) for arg, dim in operands[0]],
        [
            batch_to_front(arg, dim, axis.size) if flag else arg
            for (arg, dim), flag in zip(operands[1], carry, strict=True)
        ],
        # The leading axis is the one scanned over, so the batch comes second.
        [arg if dim is None else move_axis(arg, dim, 1) for arg, dim in operands[2]],
    )
    return outs, [
        *[0 if flag else None for flag in carry_out],
        *[1 if flag else None for flag in ys_out],
    ]


# ---------------------------------------------------------------- dead code


def _scan_dce(used_outputs: list[bool], eqn: Eqn) -> Eqn:
    """Drop unread results, and the parts of the carry that nothing read depends on."""
    scan = _Scan(**eqn.params)
    carry, ys = scan.split_out(used_outputs)

    def step(carry: Flags) -> tuple[Flags, tuple[ClosedJaxpr, tuple[Flags, ...]]]:
        body, reads = keep_results(scan.jaxpr, carry + ys)
        parts = scan.split(reads)
        return parts[1], (body, parts)

    carry, (body, (consts_read, _, xs_read)) = grown_to_fixpoint(carry, step)
    kept = consts_read + carry + xs_read
    return eqn.replace(
        invars=pick(eqn.invars, kept),
        outvars=pick(eqn.outvars, carry + ys),
        params={
            **eqn.params,
            "jaxpr": keep_arguments(body, kept),
            "num_consts": sum(consts_read),
            "num_carry": sum(carry),
        },
    )


# ---------------------------------------------------------------- one by one


def _scan_unfold(*args: Any, **params: Any) -> Unfolding:
    scan = _Scan(**params)
    consts, carry, xs = scan.split(args)
    rows: list[tuple[Any, ...]] = []
    turns = range(scan.length)
    for turn in reversed(turns) if scan.reverse else turns:
        elements = [dynamic_index_in_dim(x, np.int32(turn), 0, keepdims=False) for x in xs]
        outs = yield Call(f"turn {turn}", scan.jaxpr, (*consts, *carry, *elements), turn)
        carry, ys = scan.split_out(outs)
        rows.append(tuple(ys))
    if scan.reverse:
        rows.reverse()
    _, avals = scan.split_out(scan.jaxpr.out_avals)
    columns = [[row[i] for row in rows] for i in range(len(avals))]
    return [*carry, *[_stack(ys, aval) for ys, aval in zip(columns, avals, strict=True)]]


def _stack(rows: Sequence[Any], aval: ShapedArray) -> Any:
    flat = np.asarray([np.asarray(row) for row in rows], aval.dtype)
    return as_device_array(flat.reshape(len(rows), *aval.shape))


scan_p.define(
    effects=_scan_effects,
    evaluate=evaluate_compiled(scan_p),
    partial_eval=_scan_partial_eval,
    dce=_scan_dce,
    unfold=_scan_unfold,
)
