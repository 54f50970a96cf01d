"""``remat_opt_p``: the way there of a ``custom_vjp``, or the function itself where that will do.

A way there computes results and residuals.  Under ``checkpoint`` the first pass needs the results
alone.  Dead code is pruned from within a way there whose parts can be told apart; one that is a
single opaque call would run whole.  This primitive holds both programs, and pruning puts the
function in the place of the way there when no residual is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.axes import Axis
from jxkernel.core.explicit_sharding import AS_TYPED
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn
from jxkernel.core.primitive import Primitive
from jxkernel.core.unfolding import unfold_call
from jxkernel.core.zeros import Zero
from jxkernel.higher_order.custom_vjp import Forward, Pull
from jxkernel.higher_order.jit import jit_p, transpose_call
from jxkernel.higher_order.programs import (
    evaluate_compiled_when_repeated,
    keep_arguments,
    keep_results,
    pick,
    place_arguments,
    split_tangents,
    typed_by_programs,
)
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.transforms.batching import batch_program
from jxkernel.transforms.jvp import jvp_program
from jxkernel.transforms.stage import trace_flat

__all__ = ["optimized_forward", "remat_opt_p"]

remat_opt_p = Primitive("remat_opt", multiple_results=True).define(sharding=AS_TYPED)
remat_opt_p.varies = typed_by_programs


def optimized_forward(fun: Callable[..., Sequence[Any]], forward: Forward, name: str) -> Forward:
    """Return a way there that the function replaces where no residual is read.

    Args:
      fun: the function of flat operands.
      forward: the way there.
      name: what jaxprs call it.
    """

    def run(
        operands: Sequence[Any], active: Sequence[bool]
    ) -> tuple[Sequence[Any], Sequence[Any], Pull]:
        found: list[tuple[int, Pull]] = []

        def flat(*values: Any) -> list[Any]:
            outs, residuals, pull = forward(values, active)
            found.append((len(outs), pull))
            return [*outs, *residuals]

        avals = [abstractify(operand) for operand in operands]
        there, plain = trace_flat(flat, avals, name=f"fwd_{name}"), trace_flat(fun, avals)
        first, second = len(there.consts), len(there.consts) + len(plain.consts)
        every = [*there.consts, *plain.consts, *operands]
        types = [abstractify(operand) for operand in every]
        own = range(second, len(every))
        count, pull = found[0]
        results = remat_opt_p.bind(
            *every,
            fwd_jaxpr=place_arguments(there.hoisted(), (*range(first), *own), types),
            fun_jaxpr=place_arguments(plain.hoisted(), (*range(first, second), *own), types),
            name=name,
            num_outs=count,
        )
        return results[:count], results[count:], pull

    return run


@remat_opt_p.def_abstract_eval
def _remat_opt_abstract_eval(
    *avals: ShapedArray, fwd_jaxpr: ClosedJaxpr, **params: Any
) -> list[ShapedArray]:
    return fwd_jaxpr.out_avals


def _remat_opt_effects(
    *avals: ShapedArray, fwd_jaxpr: ClosedJaxpr, **params: Any
) -> frozenset[Any]:
    return fwd_jaxpr.effects


@remat_opt_p.def_lower
def _remat_opt_lower(
    context: Any, *values: Any, fwd_jaxpr: ClosedJaxpr, **params: Any
) -> Sequence[Any]:
    return context.inline(fwd_jaxpr, values)


@remat_opt_p.def_jvp
def _remat_opt_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, fwd_jaxpr: ClosedJaxpr, name: str, **_: Any
) -> tuple[list[Any], list[Any]]:
    """Differentiate the way there; a derivative of it is a program like any other."""
    program, nonzero = jvp_program(fwd_jaxpr, tuple([type(t) is not Zero for t in tangents]))
    given = [t for t in tangents if type(t) is not Zero]
    outs = jit_p.bind(
        *primals, *given, jaxpr=program, name=f"jvp({name})", donated=(), keep_unused=False
    )
    avals = fwd_jaxpr.out_avals
    return split_tangents(outs, len(avals), nonzero, avals)


@remat_opt_p.def_transpose
def _remat_opt_transpose(
    cts: Sequence[Any], *args: Any, fwd_jaxpr: ClosedJaxpr, name: str, **params: Any
) -> list[Any]:
    return transpose_call(cts, *args, jaxpr=fwd_jaxpr, name=name)


@remat_opt_p.def_batch
def _remat_opt_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    fwd_jaxpr: ClosedJaxpr,
    fun_jaxpr: ClosedJaxpr,
    **params: Any,
) -> tuple[list[Any], list[int | None]]:
    has = tuple([dim is not None for dim in dims])
    moved = [
        arg if dim is None else move_axis(arg, dim, 0) for arg, dim in zip(args, dims, strict=True)
    ]
    outs = remat_opt_p.bind(
        *moved,
        fwd_jaxpr=batch_program(fwd_jaxpr, axis, has, True)[0],
        fun_jaxpr=batch_program(fun_jaxpr, axis, has, True)[0],
        **params,
    )
    return outs, [0] * len(outs)


def _remat_opt_dce(used_outputs: list[bool], eqn: Eqn) -> Eqn:
    """Call the function where no residual is read."""
    count = eqn.params["num_outs"]
    if any(used_outputs[count:]):
        return eqn
    program, reads = keep_results(eqn.params["fun_jaxpr"], tuple(used_outputs[:count]))
    return eqn.replace(
        primitive=jit_p,
        invars=pick(eqn.invars, reads),
        outvars=pick(eqn.outvars, used_outputs),
        params={
            "jaxpr": keep_arguments(program, reads),
            "name": eqn.params["name"],
            "donated": (),
            "keep_unused": False,
        },
    )


remat_opt_p.define(
    effects=_remat_opt_effects,
    evaluate=evaluate_compiled_when_repeated(remat_opt_p, "fwd_jaxpr"),
    dce=_remat_opt_dce,
    unfold=unfold_call("fwd_jaxpr"),
)
