"""``checkpoint_p``: a call whose intermediate values are computed again on the way back.

Its derivative is split, as every derivative is, into what is known and what is linear.  Here the
linear part does not take the residuals: it takes the known arguments and computes the residuals
anew, so they need not be kept between the two.  A policy may name operations whose results are
kept all the same.  The compiler would find that the second computation equals the first and keep
the values; so the second's arguments pass through a barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jxkernel.core.avals import ShapedArray
from jxkernel.core.axes import Axis
from jxkernel.core.effects import acting_effects
from jxkernel.core.explicit_sharding import AS_TYPED
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, eval_jaxpr
from jxkernel.core.primitive import Primitive
from jxkernel.core.unfolding import unfold_call
from jxkernel.core.zeros import Zero, is_linear
from jxkernel.higher_order.groups import Groups
from jxkernel.higher_order.keeping import keep
from jxkernel.higher_order.programs import (
    cotangents,
    evaluate_compiled_when_repeated,
    keep_arguments,
    keep_results,
    merge,
    pick,
    split_tangents,
    transposed,
    typed_by_programs,
)
from jxkernel.primitives.elementwise.families import ANY, transpose_of_terms, unary
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.records import record
from jxkernel.transforms.batching import batch_program
from jxkernel.transforms.dce import dce_jaxpr
from jxkernel.transforms.jvp import jvp_program
from jxkernel.transforms.partial_eval import PartialTrace, partial_eval_program
from jxkernel.transforms.stage import trace_flat

__all__ = [
    "Offloadable",
    "Policy",
    "PreventCse",
    "Recompute",
    "Saveable",
    "bind_checkpoint",
    "checkpoint_p",
    "name_p",
]


class _Decision:
    """What a policy may answer in place of a boolean, true where values are kept."""

    __slots__ = ("_keeps", "_name")

    def __init__(self, name: str, keeps: bool) -> None:
        self._name = name
        self._keeps = keeps

    def __bool__(self) -> bool:
        return self._keeps

    def __repr__(self) -> str:
        return self._name


Saveable = _Decision("Saveable", True)
"""The answer of a policy that keeps a value: as True."""
Recompute = _Decision("Recompute", False)
"""The answer of a policy that has a value computed again: as False."""


@record()
class Offloadable:
    """The answer of a policy that keeps a value in another memory than the one it is made in.

    Attributes:
      src: the memory it is made in, such as ``"device"``.
      dst: the memory to keep it in, such as ``"pinned_host"``.

    The memory of a CPU device is the host's, so there the value is kept where it is.
    """

    src: Any
    dst: Any


PreventCse = bool | tuple[bool, ...]
"""Whether all operands are kept from the compiler's comparison, or which of them are."""

Policy = Callable[..., Any]
"""From a primitive, its operands' types and its parameters to whether its results are kept."""

checkpoint_p = Primitive("checkpoint", multiple_results=True).define(sharding=AS_TYPED)
checkpoint_p.varies = typed_by_programs

# ---------------------------------------------------------------- name

name_p = unary(
    "name",
    ANY,
    lower=lambda context, x, *, name: x,
    reference=lambda x, *, name: np.array(x),
    jvp=None,
    linear=True,
    transpose=transpose_of_terms(lambda ct, x, *, name: ct),
)
"""The identity, by whose name a policy may know a value."""

# ---------------------------------------------------------------- checkpoint


def bind_checkpoint(
    closed: ClosedJaxpr,
    args: Sequence[Any],
    *,
    name: str,
    policy: Policy | None,
    prevent_cse: PreventCse,
) -> list[Any]:
    """Call a program under the current trace, to be computed again on the way back.

    Args:
      closed: the program; its constants become leading arguments.
      args: flat arguments.
      name: what jaxprs call it.
      policy: which results are kept; None for none.
      prevent_cse: whether to keep the compiler from merging the second computation with the first;
        or which arguments are to be kept from it.
    """
    count = len(closed.consts)
    return checkpoint_p.bind(
        *closed.consts,
        *args,
        jaxpr=closed.hoisted(),
        name=name,
        policy=policy,
        prevent_cse=prevent_cse if prevent_cse in (True, False) else (True,) * count + prevent_cse,
        differentiated=False,
    )


@checkpoint_p.def_abstract_eval
def _checkpoint_abstract_eval(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any
) -> list[ShapedArray]:
    return jaxpr.out_avals


def _checkpoint_effects(*avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> frozenset[Any]:
    return jaxpr.effects


@checkpoint_p.def_lower
def _checkpoint_lower(
    context: Any,
    *values: Any,
    jaxpr: ClosedJaxpr,
    differentiated: bool,
    prevent_cse: PreventCse,
    **params: Any,
) -> Sequence[Any]:
    if not differentiated:
        return context.inline(jaxpr, values)
    flags = (prevent_cse,) * len(values) if isinstance(prevent_cse, bool) else prevent_cse
    hidden = pick(values, flags)
    if hidden:
        types = [value.type for value in hidden]
        hidden = context.op("stablehlo.optimization_barrier", types, hidden).results
    return context.inline(jaxpr, merge(flags, hidden, pick(values, flags, wanted=False)))


@checkpoint_p.def_jvp
def _checkpoint_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: ClosedJaxpr, **params: Any
) -> tuple[list[Any], list[Any]]:
    program, nonzero = jvp_program(jaxpr, tuple([type(t) is not Zero for t in tangents]))
    given = [t for t in tangents if type(t) is not Zero]
    params = _with_flags(params, lambda flags: (*flags, *[True] * len(given)))
    outs = checkpoint_p.bind(*primals, *given, jaxpr=program, **params)
    avals = jaxpr.out_avals
    return split_tangents(outs, len(avals), nonzero, avals)


def _checkpoint_partial_eval(
    trace: PartialTrace, args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    closed: ClosedJaxpr = params["jaxpr"]
    policy: Policy | None = params["policy"]
    unknown = tuple([trace.is_unknown(arg) for arg in args])
    known, rest, kept_args, unknown_out = closed.remember(_split, unknown, policy)
    known_args = pick(args, unknown, wanted=False)
    runs = known.out_avals or known.effects
    first = _with_flags(params, lambda flags: pick(flags, unknown, wanted=False))
    outs = checkpoint_p.bind(*known_args, **{**first, "jaxpr": known}) if runs else []
    count = unknown_out.count(False)
    saved = outs[count:]

    def flags_again(flags: Sequence[bool]) -> list[bool]:
        given = pick(pick(flags, unknown, wanted=False), kept_args)
        return [*given, *[True] * len(saved), *pick(flags, unknown)]

    staged = trace.stage(
        checkpoint_p,
        [*pick(known_args, kept_args), *saved, *pick(args, unknown)],
        {**_with_flags(params, flags_again), "jaxpr": rest, "differentiated": True},
    )
    return merge(unknown_out, staged, outs[:count])


def _split(
    closed: ClosedJaxpr, unknown: tuple[bool, ...], policy: Policy | None
) -> tuple[ClosedJaxpr, ClosedJaxpr, tuple[bool, ...], tuple[bool, ...]]:
    """Split a program so that residuals are computed anew.

    Returns:
      the known program, whose results are the known results and the values that the policy
      keeps; the unknown program, of known arguments, kept values and unknown arguments; which
      known arguments that one takes; and which results are unknown.
    """
    known, rest, unknown_out, count = partial_eval_program(closed, unknown)
    jaxpr = known.jaxpr
    shown, residuals = Groups((len(jaxpr.outvars) - count, count)).split(jaxpr.outvars)
    kept = keep(jaxpr, lambda eqn: _keeps(policy, eqn))
    saved = kept.values
    again = jaxpr.replace(invars=[*jaxpr.invars, *saved], outvars=residuals, eqns=kept.again)
    again = dce_jaxpr(again, [True] * len(residuals), keep_invars=True)[0]
    hidden = rest.in_avals[count:]
    groups = Groups.of(jaxpr.invars, saved, hidden)

    def run(*values: Any) -> list[Any]:
        known_args, kept_values, unknown_args = groups.split(values)
        made = eval_jaxpr(again, known.consts, *known_args, *kept_values)
        return eval_jaxpr(rest.jaxpr, rest.consts, *made, *unknown_args)

    whole = trace_flat(
        run, [*[var.aval for var in again.invars], *hidden], name=f"again_{closed.jaxpr.name}"
    )
    lean, reads = keep_results(whole, (True,) * len(whole.out_avals))
    reads_known, reads_kept, _ = groups.split(reads)
    used = pick(saved, reads_kept)
    first_jaxpr = jaxpr.replace(outvars=[*shown, *used], eqns=kept.first)
    program = ClosedJaxpr(first_jaxpr, known.consts)
    known_program = keep_results(program, (True,) * len(program.out_avals))[0]
    reads = (*reads_known, *reads_kept, *[True] * len(hidden))
    return known_program, keep_arguments(lean, reads), reads_known, unknown_out


def _keeps(policy: Policy | None, eqn: Eqn) -> bool:
    """Whether an equation's results are kept: where it has an effect, which must not come twice."""
    if acting_effects(eqn.effects):
        return True
    if policy is None:
        return False
    return bool(policy(eqn.primitive, *[atom.aval for atom in eqn.invars], **eqn.params))


@checkpoint_p.def_transpose
def _checkpoint_transpose(
    cts: Sequence[Any], *args: Any, jaxpr: ClosedJaxpr, **params: Any
) -> list[Any]:
    linear = tuple([is_linear(arg) for arg in args])
    nonzero = tuple([type(ct) is not Zero for ct in cts])
    [(program, produced)], refs = transposed([jaxpr], linear, nonzero)
    given, values = pick(cts, nonzero), refs.values()
    operands = [*values, *pick(args, linear, wanted=False), *given]
    params = _with_flags(
        params,
        lambda flags: [
            *[True] * len(values),
            *pick(flags, linear, wanted=False),
            *[True] * len(given),
        ],
    )
    outs = checkpoint_p.bind(*operands, jaxpr=program, **params)
    refs.write(outs[: len(values)])
    return cotangents(args, produced, outs[len(values) :])


@checkpoint_p.def_batch
def _checkpoint_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    jaxpr: ClosedJaxpr,
    **params: Any,
) -> tuple[list[Any], list[int | None]]:
    has = tuple([dim is not None for dim in dims])
    program, out_has = batch_program(jaxpr, axis, has, False)
    moved = [
        arg if dim is None else move_axis(arg, dim, 0) for arg, dim in zip(args, dims, strict=True)
    ]
    outs = checkpoint_p.bind(*moved, jaxpr=program, **params)
    return outs, [0 if flag else None for flag in out_has]


def _checkpoint_dce(used_outputs: list[bool], eqn: Eqn) -> Eqn:
    program, reads = keep_results(eqn.params["jaxpr"], tuple(used_outputs))
    return eqn.replace(
        invars=pick(eqn.invars, reads),
        outvars=pick(eqn.outvars, used_outputs),
        params={
            **_with_flags(eqn.params, lambda flags: pick(flags, reads)),
            "jaxpr": keep_arguments(program, reads),
        },
    )


def _with_flags(
    params: dict[str, Any], change: Callable[[Sequence[bool]], Sequence[bool]]
) -> dict[str, Any]:
    """Return parameters for other operands: ``change`` takes one flag per operand to the new."""
    flags: PreventCse = params["prevent_cse"]
    return params if isinstance(flags, bool) else {**params, "prevent_cse": tuple(change(flags))}


checkpoint_p.define(
    effects=_checkpoint_effects,
    evaluate=evaluate_compiled_when_repeated(checkpoint_p, "jaxpr"),
    partial_eval=_checkpoint_partial_eval,
    dce=_checkpoint_dce,
    unfold=unfold_call("jaxpr"),
)
