"""What the rules of control flow share: running, rearranging and completing the programs they hold.

A program made from another is remembered on it, so a second gradient of the same loop transforms
nothing again.  This module must not know of any particular primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel.compile import make_callable
from jxkernel.core.avals import ShapedArray
from jxkernel.core.explicit_sharding import AS_TYPED
from jxkernel.core.jaxpr import NO_EFFECTS, ClosedJaxpr, Eqn, Var, eval_jaxpr, subjaxprs
from jxkernel.core.primitive import Primitive
from jxkernel.core.unfolding import unfold_call
from jxkernel.core.zeros import UndefinedPrimal, Zero
from jxkernel.higher_order.references import CapturedReferences, Carried
from jxkernel.primitives.shape.broadcast import instantiate
from jxkernel.transforms.dce import dce_jaxpr
from jxkernel.transforms.stage import trace_flat
from jxkernel.transforms.transpose import transpose_program

__all__ = [
    "add_zero_results",
    "call_primitive",
    "comes_again",
    "contains",
    "cotangents",
    "drop_effects",
    "evaluate_compiled",
    "evaluate_compiled_when_repeated",
    "ignore_first",
    "keep_arguments",
    "keep_results",
    "merge",
    "permute",
    "pick",
    "place_arguments",
    "split_tangents",
    "transposed",
    "typed_by_programs",
    "vary_arguments",
]


def evaluate_compiled(primitive: Primitive) -> Callable[..., list[Any]]:
    """Return the ``evaluate`` rule of a primitive that runs as one compiled call.

    The callable is kept on the first program among the parameters.
    """

    def evaluate(*args: Any, **params: Any) -> list[Any]:
        return next(subjaxprs(params)).remember(_make_compiled, primitive, tuple(params.items()))(
            *args
        )

    return evaluate


def evaluate_compiled_when_repeated(
    primitive: Primitive, parameter: str
) -> Callable[..., list[Any]]:
    """Return the ``evaluate`` rule of a primitive that calls a program.

    A program that is new runs equation by equation, by executables that are at hand already; one
    that comes again runs as one compiled call.  A function defined anew in each turn of a loop is
    so never compiled in vain.

    Args:
      primitive: the primitive.
      parameter: which of its parameters is the program.
    """
    whole = evaluate_compiled(primitive)

    def evaluate(*args: Any, **params: Any) -> list[Any]:
        closed: ClosedJaxpr = params[parameter]
        if comes_again(closed):
            return whole(*args, **params)
        return eval_jaxpr(closed.jaxpr, closed.consts, *args)

    return evaluate


def call_primitive(name: str) -> Primitive:
    """Return a primitive that calls its parameter ``call_jaxpr``, with the rules of every call.

    Results, effects and the run are those of the program, which is lowered in place.  While
    nothing is staged, ``call_jaxpr`` may be a Python function of the operands.
    """
    primitive = Primitive(name, multiple_results=True)
    primitive.varies = typed_by_programs
    run_program = evaluate_compiled_when_repeated(primitive, "call_jaxpr")

    def evaluate(*args: Any, call_jaxpr: Any, **params: Any) -> list[Any]:
        if isinstance(call_jaxpr, ClosedJaxpr):
            return run_program(*args, call_jaxpr=call_jaxpr, **params)
        return list(call_jaxpr(*args))

    return primitive.define(
        abstract_eval=_call_abstract_eval,
        effects=_call_effects,
        evaluate=evaluate,
        lower=_call_lower,
        sharding=AS_TYPED,
        unfold=unfold_call("call_jaxpr"),
    )


def _call_abstract_eval(
    *avals: ShapedArray, call_jaxpr: ClosedJaxpr, **params: Any
) -> list[ShapedArray]:
    return call_jaxpr.out_avals


def _call_effects(*avals: ShapedArray, call_jaxpr: ClosedJaxpr, **params: Any) -> frozenset[Any]:
    return call_jaxpr.effects


def _call_lower(
    context: Any, *values: Any, call_jaxpr: ClosedJaxpr, **params: Any
) -> Sequence[Any]:
    return context.inline(call_jaxpr, values)


def comes_again(closed: ClosedJaxpr) -> bool:
    """Whether a program was asked about before."""
    turns = closed.remember(_turns)
    turns.append(None)
    return len(turns) > 1


def _turns(closed: ClosedJaxpr) -> list[None]:
    return []


def _make_compiled(
    owner: ClosedJaxpr, primitive: Primitive, items: tuple[tuple[str, Any], ...]
) -> Any:
    params = dict(items)
    programs: dict[tuple[ShapedArray, ...], ClosedJaxpr] = {}

    def program_for(avals: tuple[ShapedArray, ...]) -> ClosedJaxpr:
        found = programs.get(avals)
        if found is None:
            found = trace_flat(
                lambda *xs: primitive.bind(*xs, **params), avals, name=primitive.name
            )
            programs[avals] = found
        return found

    return make_callable(primitive.name, program_for)


def pick(values: Sequence[Any], flags: Sequence[bool], wanted: bool = True) -> list[Any]:
    """Return the values whose flag is ``wanted``, in order."""
    return [value for value, flag in zip(values, flags, strict=True) if flag is wanted]


def merge(
    flags: Sequence[bool], where_true: Sequence[Any], where_false: Sequence[Any]
) -> list[Any]:
    """Return one list of two, taking from each in order: the inverse of ``pick``."""
    true, false = iter(where_true), iter(where_false)
    return [next(true) if flag else next(false) for flag in flags]


def typed_by_programs(avals: Any, outs: Any, params: dict[str, Any]) -> Any:
    """Return result types as they are: the ``varies`` of a call, whose programs know them."""
    return outs


def vary_arguments(
    closed: ClosedJaxpr, axes: frozenset[Any], which: tuple[bool, ...] | None = None
) -> ClosedJaxpr:
    """Return the program for arguments of which some vary over (more) mesh axes.

    Args:
      closed: the program; it has no constants.
      axes: the mesh axes.
      which: which arguments vary; all where not given.  A cotangent of another one is summed over
        the axes.
    """
    which = which or (True,) * len(closed.in_avals)
    if all(axes <= aval.vma for aval in pick(closed.in_avals, which)):
        return closed
    return closed.remember(_vary_arguments, axes, which)


def _vary_arguments(
    closed: ClosedJaxpr, axes: frozenset[Any], which: tuple[bool, ...]
) -> ClosedJaxpr:
    avals = [
        aval.update(vma=aval.vma | axes) if varies else aval
        for aval, varies in zip(closed.in_avals, which, strict=True)
    ]
    return trace_flat(
        lambda *args: eval_jaxpr(closed.jaxpr, (), *args), avals, name=closed.jaxpr.name
    )


def split_tangents(
    outs: Sequence[Any], count: int, nonzero: Sequence[bool], avals: Sequence[ShapedArray]
) -> tuple[list[Any], list[Any]]:
    """Split the results of a derivative program into values and tangents, ``Zero`` where none."""
    moved = iter(outs[count:])
    tangents = [
        next(moved) if has else Zero(aval.tangent())
        for aval, has in zip(avals, nonzero, strict=True)
    ]
    return list(outs[:count]), tangents


def permute(
    closed: ClosedJaxpr, ins: tuple[int, ...] | None, outs: tuple[int, ...] | None
) -> ClosedJaxpr:
    """Return the program with its arguments and results in another order, made once.

    Args:
      closed: the program.
      ins: for each new argument, which old one it is; None for the same order.
      outs: the same for the results.
    """
    return closed.remember(_permute, ins, outs)


def _permute(
    closed: ClosedJaxpr, ins: tuple[int, ...] | None, outs: tuple[int, ...] | None
) -> ClosedJaxpr:
    jaxpr = closed.jaxpr
    invars = jaxpr.invars if ins is None else [jaxpr.invars[i] for i in ins]
    outvars = jaxpr.outvars if outs is None else [jaxpr.outvars[i] for i in outs]
    return ClosedJaxpr(jaxpr.replace(invars=invars, outvars=outvars), closed.consts)


def add_zero_results(
    closed: ClosedJaxpr,
    produced: tuple[bool, ...],
    wanted: tuple[bool, ...],
    avals: Sequence[ShapedArray],
) -> ClosedJaxpr:
    """Return the program with explicit zeros for results it does not give.

    Args:
      closed: a program that gives the results marked ``produced``.
      produced: for each possible result, whether the program gives it.
      wanted: for each, whether the new program shall give it; at least those produced.
      avals: the types of all possible results.
    """
    return (
        closed
        if produced == wanted
        else closed.remember(_add_zero_results, produced, wanted, tuple(avals))
    )


def _add_zero_results(
    closed: ClosedJaxpr,
    produced: tuple[bool, ...],
    wanted: tuple[bool, ...],
    avals: tuple[ShapedArray, ...],
) -> ClosedJaxpr:
    def run(*args: Any) -> list[Any]:
        given = iter(eval_jaxpr(closed.jaxpr, closed.consts, *args))
        full = [
            next(given) if has else Zero(aval) for has, aval in zip(produced, avals, strict=True)
        ]
        return [instantiate(out) for out in pick(full, wanted)]

    return trace_flat(run, closed.in_avals, name=closed.jaxpr.name)


def place_arguments(
    closed: ClosedJaxpr, positions: tuple[int, ...], avals: Sequence[ShapedArray]
) -> ClosedJaxpr:
    """Return the program as one of more arguments, most of which it ignores.

    Args:
      closed: the program.
      positions: for each of its arguments, which new one it is.
      avals: the types of the new arguments.
    """
    if positions == tuple(range(len(avals))):
        return closed
    return closed.remember(_place_arguments, positions, tuple(avals))


def _place_arguments(
    closed: ClosedJaxpr, positions: tuple[int, ...], avals: tuple[ShapedArray, ...]
) -> ClosedJaxpr:
    invars = [Var(aval) for aval in avals]
    for position, var in zip(positions, closed.jaxpr.invars, strict=True):
        invars[position] = var
    return ClosedJaxpr(closed.jaxpr.replace(invars=invars), closed.consts)


def ignore_first(closed: ClosedJaxpr, avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    """Return the program as one that takes arguments of these types before its own."""
    count = len(avals)
    own = range(count, count + len(closed.in_avals))
    return place_arguments(closed, tuple(own), [*avals, *closed.in_avals])


def keep_arguments(closed: ClosedJaxpr, kept: tuple[bool, ...]) -> ClosedJaxpr:
    """Return the program without the arguments that are not ``kept``; it must not read them."""
    return closed if all(kept) else closed.remember(_keep_arguments, kept)


def _keep_arguments(closed: ClosedJaxpr, kept: tuple[bool, ...]) -> ClosedJaxpr:
    jaxpr = closed.jaxpr
    return ClosedJaxpr(jaxpr.replace(invars=pick(jaxpr.invars, kept)), closed.consts)


def keep_results(
    closed: ClosedJaxpr, used_outputs: tuple[bool, ...]
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """Return the program for some of its results, all arguments kept, and which it reads."""
    return closed.remember(_keep_results, used_outputs)


def _keep_results(
    closed: ClosedJaxpr, used_outputs: tuple[bool, ...]
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    jaxpr, used = dce_jaxpr(closed.jaxpr, used_outputs, keep_invars=True)
    return ClosedJaxpr(jaxpr, closed.consts), tuple(used[len(closed.consts) :])


def contains(closed: ClosedJaxpr, primitive: Primitive) -> bool:
    """Whether a program applies a primitive, at any depth."""
    return closed.remember(_contains, primitive)


def _contains(closed: ClosedJaxpr, primitive: Primitive) -> bool:
    return any(
        eqn.primitive is primitive
        or any(contains(inner, primitive) for inner in subjaxprs(eqn.params))
        for eqn in closed.eqns
    )


def drop_effects(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return the program without its effects, which another program has already had.

    Raises:
      NotImplementedError: a result depends on one.
    """
    return closed.remember(_drop_effects) if closed.effects else closed


def _drop_effects(closed: ClosedJaxpr) -> ClosedJaxpr:
    eqns: list[Eqn] = []
    for eqn in closed.eqns:
        if not eqn.effects:
            eqns.append(eqn)
        elif eqn.outvars:
            params = {name: _silent_parameter(value) for name, value in eqn.params.items()}
            if all(params[name] is value for name, value in eqn.params.items()):
                raise NotImplementedError(
                    f"{eqn.primitive} gives a value inside a while_loop that is linearized: the "
                    "loop runs again for each tangent, and its effect would happen again. Use jvp"
                )
            eqns.append(eqn.replace(params=params, effects=NO_EFFECTS))
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns, effects=NO_EFFECTS), closed.consts)


def _silent_parameter(value: Any) -> Any:
    if isinstance(value, ClosedJaxpr):
        return drop_effects(value)
    if isinstance(value, tuple) and any(isinstance(item, ClosedJaxpr) for item in value):
        return tuple(
            [drop_effects(item) if isinstance(item, ClosedJaxpr) else item for item in value]
        )
    return value


def transposed(
    programs: Sequence[ClosedJaxpr], linear: tuple[bool, ...], nonzero_cts: tuple[bool, ...]
) -> tuple[list[tuple[ClosedJaxpr, tuple[bool, ...]]], Carried]:
    """Return the transposes of programs, and the references that custom rules in them use.

    Each takes the values of these references before its other arguments, and gives back those after
    it before its other results; see ``transpose_program``.
    """
    known = programs[0].remember(_references, linear, nonzero_cts)
    while True:
        carried = known[-1]
        try:
            return [
                transpose_program(program, linear, nonzero_cts, carried) for program in programs
            ], carried
        except CapturedReferences as found:
            known.append(carried.with_captured(found))


def cotangents(
    args: Sequence[Any], produced: Sequence[bool], outs: Sequence[Any]
) -> list[Any | None]:
    """Return for each argument of a transpose rule its cotangent; None for known arguments.

    Args:
      args: the arguments of the rule.
      produced: for each linear one whether a transposed program gives its cotangent; else it is 0.
      outs: the cotangents that the program gave.
    """
    flags, given = iter(produced), iter(outs)
    return [
        (next(given) if next(flags) else Zero(arg.aval.cotangent()))
        if type(arg) is UndefinedPrimal
        else None
        for arg in args
    ]


def _references(
    program: ClosedJaxpr, linear: tuple[bool, ...], nonzero_cts: tuple[bool, ...]
) -> list[Carried]:
    """Return where the references are kept that the transpose of a program uses."""
    return [Carried()]
