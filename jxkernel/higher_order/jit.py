"""``jit_p``: a call of a program that is compiled as a unit.

Inside a trace a jitted function stays one equation, so it is lowered once however often it is
called, and each transform turns it into a call of the transformed program (remembered on the
program, so a second gradient of the same function transforms nothing again).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jxkernel.compile import make_callable
from jxkernel.core.avals import ShapedArray
from jxkernel.core.axes import Axis
from jxkernel.core.explicit_sharding import AS_TYPED
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, eval_jaxpr
from jxkernel.core.primitive import Primitive
from jxkernel.core.unfolding import unfold_call
from jxkernel.core.zeros import Zero, is_linear
from jxkernel.higher_order.programs import (
    cotangents,
    split_tangents,
    transposed,
    typed_by_programs,
)
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.transforms.batching import batch_program
from jxkernel.transforms.dce import dce_jaxpr
from jxkernel.transforms.jvp import jvp_program
from jxkernel.transforms.partial_eval import PartialTrace, partial_eval_program

__all__ = ["call", "jit_p", "transpose_call"]

jit_p = Primitive("jit", multiple_results=True).define(sharding=AS_TYPED)
jit_p.varies = typed_by_programs


def call(
    closed: ClosedJaxpr,
    args: Sequence[Any],
    *,
    name: str,
    donated: tuple[bool, ...] = (),
    inline: bool = False,
    keep_unused: bool = False,
) -> list[Any]:
    """Call a program under the current trace; its constants become leading arguments.

    Args:
      closed: the program.
      args: flat arguments.
      name: what jaxprs, profiles and errors call it.
      donated: which arguments may be overwritten; empty for none.
      inline: whether to apply its equations here instead of calling it.
      keep_unused: whether unread arguments stay parameters of the executable.
    """
    if inline:
        return eval_jaxpr(closed.jaxpr, closed.consts, *args)
    count = len(closed.consts)
    return jit_p.bind(
        *closed.consts,
        *args,
        jaxpr=closed.hoisted(),
        name=name,
        donated=(False,) * count + donated if donated else (),
        keep_unused=keep_unused,
    )


def _rebind(args: Sequence[Any], program: ClosedJaxpr, name: str) -> list[Any]:
    """Call a transformed program; donation does not carry over to it."""
    return jit_p.bind(*args, jaxpr=program, name=name, donated=(), keep_unused=False)


@jit_p.def_abstract_eval
def _jit_abstract_eval(*avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> list[ShapedArray]:
    return jaxpr.out_avals


def _jit_effects(*avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> frozenset[Any]:
    return jaxpr.effects


def _jit_evaluate(
    *args: Any, jaxpr: ClosedJaxpr, name: str, donated: tuple[bool, ...], keep_unused: bool
) -> list[Any]:
    return jaxpr.remember(_callable, name, donated)(*args)


def _callable(program: ClosedJaxpr, name: str, donated: tuple[bool, ...]) -> Any:
    return make_callable(name, lambda avals: program, donated=donated)


@jit_p.def_lower
def _jit_lower(
    context: Any, *values: Any, jaxpr: ClosedJaxpr, name: str, **params: Any
) -> Sequence[Any]:
    return context.call_program(jaxpr, name, values)


@jit_p.def_jvp
def _jit_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    jaxpr: ClosedJaxpr,
    name: str,
    **params: Any,
) -> tuple[list[Any], list[Any]]:
    nonzeros = tuple([type(t) is not Zero for t in tangents])
    program, out_nonzeros = jvp_program(jaxpr, nonzeros)
    given = [t for t in tangents if type(t) is not Zero]
    outs = _rebind([*primals, *given], program, f"jvp({name})")
    return split_tangents(outs, len(jaxpr.out_avals), out_nonzeros, jaxpr.out_avals)


def _jit_partial_eval(
    trace: PartialTrace, args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    jaxpr, name = params["jaxpr"], params["name"]
    unknown = tuple([trace.is_unknown(arg) for arg in args])
    known_program, rest, unknown_out, residual_count = partial_eval_program(jaxpr, unknown)
    known_args = [arg for arg, hidden in zip(args, unknown, strict=True) if not hidden]
    runs = known_program.out_avals or known_program.effects
    outs = _rebind(known_args, known_program, name) if runs else []
    split = len(outs) - residual_count
    hidden_args = [arg for arg, hidden in zip(args, unknown, strict=True) if hidden]
    staged = trace.stage(
        jit_p,
        [*outs[split:], *hidden_args],
        {"jaxpr": rest, "name": name, "donated": (), "keep_unused": False},
    )
    known_outs, unknown_outs = iter(outs[:split]), iter(staged)
    return [next(unknown_outs if hidden else known_outs) for hidden in unknown_out]


@jit_p.def_transpose
def transpose_call(
    cts: Sequence[Any], *args: Any, jaxpr: ClosedJaxpr, name: str, **params: Any
) -> list[Any]:
    """Call the transpose of a program; as a rule of ``jit_p``, and for other calls of programs."""
    linear = tuple([is_linear(arg) for arg in args])
    nonzero = tuple([type(ct) is not Zero for ct in cts])
    [(program, produced)], refs = transposed([jaxpr], linear, nonzero)
    known = [arg for arg, lin in zip(args, linear, strict=True) if not lin]
    given = [ct for ct in cts if type(ct) is not Zero]
    values = refs.values()
    pulled = _rebind([*values, *known, *given], program, f"transpose({name})")
    refs.write(pulled[: len(values)])
    return cotangents(args, produced, pulled[len(values) :])


@jit_p.def_batch
def _jit_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    jaxpr: ClosedJaxpr,
    name: str,
    **params: Any,
) -> tuple[list[Any], list[int | None]]:
    batched = tuple([dim is not None for dim in dims])
    program, out_batched = batch_program(jaxpr, axis, batched, False)
    moved = [
        arg if dim is None else move_axis(arg, dim, 0) for arg, dim in zip(args, dims, strict=True)
    ]
    outs = _rebind(moved, program, f"vmap({name})")
    return outs, [0 if has else None for has in out_batched]


def _pruned(
    closed: ClosedJaxpr, used_outputs: tuple[bool, ...]
) -> tuple[ClosedJaxpr, Sequence[bool]]:
    """Return the program for some of its results, and which arguments it keeps."""
    jaxpr, used = dce_jaxpr(closed.jaxpr, used_outputs)
    return ClosedJaxpr(jaxpr, closed.consts), used[len(closed.consts) :]


def _jit_dce(used_outputs: list[bool], eqn: Eqn) -> Eqn:
    closed: ClosedJaxpr = eqn.params["jaxpr"]
    pruned, used = closed.remember(_pruned, tuple(used_outputs))
    return eqn.replace(
        invars=[atom for atom, keep in zip(eqn.invars, used, strict=True) if keep],
        outvars=[var for var, keep in zip(eqn.outvars, used_outputs, strict=True) if keep],
        params={**eqn.params, "jaxpr": pruned, "donated": ()},
    )


jit_p.define(
    effects=_jit_effects,
    evaluate=_jit_evaluate,
    partial_eval=_jit_partial_eval,
    dce=_jit_dce,
    unfold=unfold_call("jaxpr"),
)
