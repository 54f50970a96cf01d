"""Transposition: run a linear program backwards, from cotangents of results to arguments.

Equations are visited in reverse; each equation's ``transpose`` rule turns the cotangent of its
result into cotangents of its linear arguments, and cotangents that meet at one variable are
added.  Values that do not depend on the linear arguments are computed first.  Where a call of a
program has results of both kinds, partial evaluation splits it, so every program is split unless
it comes from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from jxkernel._reprs import counted
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.axes import putting_off
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Literal, Var, eval_jaxpr
from jxkernel.core.primitive import Primitive
from jxkernel.core.trace import state
from jxkernel.core.widths import may_be_mixed
from jxkernel.core.zeros import UndefinedPrimal, Zero, is_linear
from jxkernel.errors import ShardingTypeError
from jxkernel.primitives.collective.varying import vary_like
from jxkernel.primitives.shape.broadcast import add_tangents, instantiate
from jxkernel.primitives.sharding.constraints import (
    reshard_like,
    reshard_to,
    without_explicit_sharding,
)
from jxkernel.sharding import AbstractMesh, NamedSharding, PartitionSpec
from jxkernel.source import turned_back
from jxkernel.transforms.partial_eval import is_split, partial_eval_program
from jxkernel.transforms.stage import trace_flat

__all__ = ["pull_back", "transpose_apply", "transpose_program"]


def transpose_apply(program: ClosedJaxpr, cotangents: Sequence[Any]) -> list[Any]:
    """Return the cotangents of a linear program's arguments (``Zero`` where there is none).

    Args:
      program: what partial evaluation left, with all its arguments unknown.
      cotangents: one of each result.
    """
    linear = [UndefinedPrimal(var.aval) for var in program.jaxpr.invars]
    return backward(program.jaxpr, program.consts, linear, cotangents)


def backward(
    jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], cotangents: Sequence[Any]
) -> list[Any]:
    """Transpose a program with respect to its ``UndefinedPrimal`` arguments.

    Args:
      jaxpr: what partial evaluation left, with the same arguments unknown.
      consts: the values of its constants.
      args: its arguments.
      cotangents: one of each result.

    Returns:
      one cotangent per argument; None for the arguments that are known.
    """
    known: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    linear: set[Var] = set()
    for var, arg in zip(jaxpr.invars, args, strict=True):
        if is_linear(arg):
            linear.add(var)
        else:
            known[var] = arg
    pending = _forward(jaxpr, known, linear)
    cts: dict[Var, Any] = {}
    for atom, ct in zip(jaxpr.outvars, cotangents, strict=True):
        if type(atom) is Var:
            _accumulate(cts, atom, vary_like(ct, atom.aval) if state.tracked else ct)
    mixed = may_be_mixed()
    outer, outwards = state.replayed_source, state.transposing
    state.transposing = True
    try:
        for eqn in reversed(pending):
            state.replayed_source = turned_back(eqn.source or outer)
            if mixed:
                with eqn.at_width():
                    _transpose_equation(eqn, known, linear, cts)
            else:
                _transpose_equation(eqn, known, linear, cts)
    finally:
        state.replayed_source = outer
        state.transposing = outwards
    return [
        cts.get(var, Zero(var.aval.cotangent())) if is_linear(arg) else None
        for var, arg in zip(jaxpr.invars, args, strict=True)
    ]


def _forward(jaxpr: Jaxpr, known: dict[Var, Any], linear: set[Var]) -> list[Eqn]:
    """Evaluate the equations that need no linear value; return the others."""
    pending: list[Eqn] = []
    for eqn in jaxpr.eqns:
        if not linear.isdisjoint([atom for atom in eqn.invars if type(atom) is Var]):
            linear.update(eqn.outvars)
            pending.append(eqn)
            continue
        values = tuple([a.val if type(a) is Literal else known[a] for a in eqn.invars])
        with eqn.at_width():
            out = state.trace.process(eqn.primitive, values, eqn.params)
        outs = out if eqn.primitive.multiple_results else (out,)
        known.update(zip(eqn.outvars, outs, strict=True))
    return pending


def _transpose_equation(
    eqn: Eqn, known: dict[Var, Any], linear: set[Var], cts: dict[Var, Any]
) -> None:
    primitive = eqn.primitive
    if primitive.multiple_results:
        ct: Any = [cts.pop(var, None) for var in eqn.outvars]
        if all(part is None for part in ct):
            return
        ct = [
            Zero(var.aval.cotangent()) if part is None else part
            for part, var in zip(ct, eqn.outvars, strict=True)
        ]
    else:
        ct = cts.pop(eqn.outvars[0], None)
        if ct is None:
            return
    args = [
        UndefinedPrimal(atom.aval)
        if atom in linear
        else (atom.val if type(atom) is Literal else known[atom])
        for atom in eqn.invars
    ]
    out = _pulled_back(primitive, ct, args, eqn.params)
    if out.__class__ is not list or len(out) != len(args):
        out = _listed(primitive, out, len(args))
    for atom, part in zip(eqn.invars, out, strict=True):
        if part is not None and type(atom) is Var and atom in linear:
            _accumulate(cts, atom, part)


def _listed(primitive: Primitive, out: Any, count: int) -> list[Any]:
    """Return a rule's result as a list; an array has rows, which are no cotangents."""
    if out is None or hasattr(out, "dtype"):
        raise _no_cotangents(primitive, "no list" if out is None else "an array")
    listed: list[Any] = list(out)
    if len(listed) != count:
        raise _no_cotangents(
            primitive, f"{counted(len(listed), 'cotangent')} for {counted(count, 'argument')}"
        )
    return listed


def _no_cotangents(primitive: Primitive, gave: str) -> TypeError:
    return TypeError(
        f"the transpose rule of {primitive.name!r} gave {gave}: it returns a list with one "
        "cotangent for each argument, None for those that are known: [ct]"
    )


def _pulled_back(
    primitive: Primitive, ct: Any, args: Sequence[Any], params: dict[str, Any]
) -> Sequence[Any]:
    """Apply a transpose rule; where types leave open how a cotangent is divided, XLA decides.

    The cotangent has the type of its operand, so there is nothing to ask the user.
    """
    rule = primitive.rule("transpose")
    try:
        sought = [arg.aval for arg in args if type(arg) is UndefinedPrimal]
        # The cotangent of a value whose type says ``reduced`` is a sum that is put off.
        named = [aval.reduced for aval in sought if aval.explicit_sharding is not None]
        if not named or not any(named):
            return rule(ct, *args, **params)
        with putting_off(frozenset[Any]().union(*named)):
            return rule(ct, *args, **params)
    except ShardingTypeError:
        many = primitive.multiple_results
        mesh = _explicit_mesh([*args, *(ct if many else [ct])])
        freed: Any = [without_explicit_sharding(arg) for arg in args]
        ct = (
            [without_explicit_sharding(part) for part in ct]
            if many
            else without_explicit_sharding(ct)
        )
        pulled = rule(ct, *freed, **params)
        return [
            _as_cotangent(part, arg.aval.cotangent(), mesh)
            if is_linear(arg) and part is not None and type(part) is not Zero
            else part
            for part, arg in zip(pulled, args, strict=True)
        ]


def _as_cotangent(part: object, aval: ShapedArray, mesh: AbstractMesh) -> Any:
    """Return what a rule gave without explicit shardings, divided as the cotangent's type says."""
    if aval.explicit_sharding is None:
        return reshard_to(part, NamedSharding(mesh, PartitionSpec()))
    return reshard_like(part, aval)


def _explicit_mesh(args: Sequence[Any]) -> Any:
    """Return the mesh over which one of the arguments of a rule is divided."""
    placeholders = (UndefinedPrimal, Zero)
    avals = [arg.aval if isinstance(arg, placeholders) else abstractify(arg) for arg in args]
    return next(aval.explicit_sharding.mesh for aval in avals if aval.explicit_sharding is not None)


def _accumulate(cts: dict[Var, Any], var: Var, ct: Any) -> None:
    if type(ct) is Zero:
        return
    aval = var.aval
    ct = reshard_like(ct, aval if aval.explicit_sharding is None else aval.cotangent())
    found = cts.get(var)
    cts[var] = ct if found is None else add_tangents(found, ct)


class Carries(Protocol):
    """State that a transposed program reads and writes: its values go in first and come out first.

    It is hashable.
    """

    @property
    def avals(self) -> list[ShapedArray]:
        """The types of the values."""
        ...

    def run(self, values: Sequence[Any], call: Callable[[], Any]) -> tuple[Any, list[Any]]:
        """Call a function with these values, and return its result and the values after it."""
        ...


def transpose_program(
    closed: ClosedJaxpr,
    linear: tuple[bool, ...],
    nonzero_cts: tuple[bool, ...],
    carried: Carries | None = None,
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """Return the program from (known arguments, nonzero cotangents) to argument cotangents.

    Args:
      closed: a program linear in the arguments marked ``linear``.
      linear: for each argument, whether to transpose with respect to it.
      nonzero_cts: for each result, whether a cotangent is given.
      carried: state that rules of the program read and write.

    Returns:
      the program, and for each linear argument whether it gets a cotangent.
    """
    return closed.remember(_make_transpose, linear, nonzero_cts, carried)


def _make_transpose(
    closed: ClosedJaxpr,
    linear: tuple[bool, ...],
    nonzero_cts: tuple[bool, ...],
    carried: Carries | None,
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    jaxpr = closed.jaxpr
    known_avals = [v.aval for v, lin in zip(jaxpr.invars, linear, strict=True) if not lin]
    ct_avals = [
        atom.aval.cotangent()
        for atom, given in zip(jaxpr.outvars, nonzero_cts, strict=True)
        if given
    ]
    state_avals = carried.avals if carried else []
    produced: list[bool] = []

    def run(*flat: Any) -> list[Any]:
        state, given = flat[: len(state_avals)], flat[len(state_avals) :]
        pulled, after = carried.run(state, partial(pull, *given)) if carried else (pull(*given), [])
        produced[:] = [type(ct) is not Zero for ct in pulled]
        return [*after, *[instantiate(ct) for ct in pulled if type(ct) is not Zero]]

    def pull(*flat: Any) -> list[Any]:
        values = iter(flat)
        known = [next(values) for _ in known_avals]
        cts = [
            next(values) if given else Zero(atom.aval.cotangent())
            for atom, given in zip(jaxpr.outvars, nonzero_cts, strict=True)
        ]
        return pull_back(closed, linear, known, cts)

    avals = [*state_avals, *known_avals, *ct_avals]
    program = trace_flat(run, avals, name=f"transpose_{jaxpr.name}")
    return program, tuple(produced)


def pull_back(
    closed: ClosedJaxpr, linear: tuple[bool, ...], known: Sequence[Any], cts: Sequence[Any]
) -> list[Any]:
    """Return the cotangents of a program's linear arguments (``Zero`` where there is none).

    Args:
      closed: a program linear in the arguments marked ``linear``.
      linear: for each argument, whether to transpose with respect to it.
      known: the other arguments.
      cts: one cotangent of each result; of results that do not depend on a linear argument,
        none is used.
    """
    rest, first, wanted = closed, known, cts
    if not is_split(closed, linear):
        known_program, rest, unknown_out, residuals = partial_eval_program(closed, linear)
        outs = eval_jaxpr(known_program.jaxpr, known_program.consts, *known)
        first = outs[len(outs) - residuals :]
        wanted = [ct for ct, hidden in zip(cts, unknown_out, strict=True) if hidden]
        linear = (*[False] * residuals, *[True] * sum(linear))
    values = iter(first)
    args = [
        UndefinedPrimal(var.aval) if lin else next(values)
        for var, lin in zip(rest.jaxpr.invars, linear, strict=True)
    ]
    pulled = backward(rest.jaxpr, rest.consts, args, wanted)
    return [ct for ct, lin in zip(pulled, linear, strict=True) if lin]
