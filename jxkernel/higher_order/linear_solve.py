"""``linear_solve_p``: solve ``matvec(x) = b`` by a program of the user's, and differentiate it.

The derivative needs no look into the solver.  From ``A x = b`` follows ``A dx = db - dA x``: one
more solve with the same operator.  The transpose of ``b -> x`` is a solve with the transposed
operator.

Operands are, for each of the four programs (operator, its transpose, solver, solver of the
transpose), the constants it takes first, and then ``b``.  The solvers have the same arguments and
results as the operators; what they return besides (``aux``) has no derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jxkernel.core.avals import ShapedArray
from jxkernel.core.axes import Axis
from jxkernel.core.explicit_sharding import AS_TYPED
from jxkernel.core.jaxpr import ClosedJaxpr, eval_jaxpr
from jxkernel.core.primitive import Primitive
from jxkernel.core.unfolding import Call, Unfolding
from jxkernel.core.zeros import Zero, is_linear
from jxkernel.higher_order.groups import Flags, Groups, grown_to_fixpoint
from jxkernel.higher_order.jit import call
from jxkernel.higher_order.programs import comes_again, evaluate_compiled, typed_by_programs
from jxkernel.primitives.elementwise.arithmetic import neg
from jxkernel.primitives.shape.broadcast import add_tangents, batch_to_front, instantiate
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.transforms.batching import batch_program
from jxkernel.transforms.jvp import jvp_program

__all__ = ["Programs", "linear_solve_p"]

Programs = tuple[ClosedJaxpr, ClosedJaxpr | None, ClosedJaxpr, ClosedJaxpr | None]
"""The operator, its transpose, the solver, and the solver of the transpose; the second and the
last are None where there is no way back.
"""

Counts = tuple[int, int, int, int]

linear_solve_p = Primitive("custom_linear_solve", multiple_results=True).define(sharding=AS_TYPED)
linear_solve_p.varies = typed_by_programs


def _split(
    operands: Sequence[Any], counts: Counts
) -> tuple[list[tuple[Any, ...]], tuple[Any, ...]]:
    """Return the constants of each program, and the right-hand side."""
    *consts, b = Groups((*counts, len(operands) - sum(counts))).split(operands)
    return consts, b


def _apply(program: ClosedJaxpr | None, consts: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
    assert program is not None, "asked for only where it was given"
    return eval_jaxpr(program.jaxpr, program.consts, *consts, *xs)


def _solve(*operands: Any, programs: Programs, counts: Counts) -> list[Any]:
    consts, b = _split(operands, counts)
    return _apply(programs[2], consts[2], b)


_solve_compiled = evaluate_compiled(linear_solve_p)


def _linear_solve_evaluate(*operands: Any, programs: Programs, counts: Counts) -> list[Any]:
    """Run a solver that is new operation by operation, and one that comes again compiled."""
    run = _solve_compiled if comes_again(programs[2]) else _solve
    return run(*operands, programs=programs, counts=counts)


@linear_solve_p.def_abstract_eval
def _linear_solve_abstract_eval(
    *avals: ShapedArray, programs: Programs, counts: Counts
) -> list[ShapedArray]:
    return programs[2].out_avals


def _linear_solve_effects(
    *avals: ShapedArray, programs: Programs, counts: Counts
) -> frozenset[Any]:
    return programs[2].effects


@linear_solve_p.def_lower
def _linear_solve_lower(
    context: Any, *values: Any, programs: Programs, counts: Counts
) -> Sequence[Any]:
    consts, b = _split(values, counts)
    return context.inline(programs[2], [*consts[2], *b])


@linear_solve_p.def_jvp
def _linear_solve_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, programs: Programs, counts: Counts
) -> tuple[list[Any], list[Any]]:
    """Solve once more: ``dx = solve(db - dA x)``; what solvers close over has no influence."""
    outs = linear_solve_p.bind(*primals, programs=programs, counts=counts)
    consts, b = _split(primals, counts)
    consts_t, b_t = _split(tangents, counts)
    x = outs[: len(b)]
    moved = _operator_tangents(programs[0], consts[0], consts_t[0], x)
    right = [
        add_tangents(t, m if type(m) is Zero else neg(m)) for t, m in zip(b_t, moved, strict=True)
    ]
    zeros = [Zero.tangent_of(out) for out in outs]
    if all(type(r) is Zero for r in right):
        return outs, zeros
    every = [value for part in consts for value in part]
    solved = linear_solve_p.bind(
        *every, *[instantiate(r) for r in right], programs=programs, counts=counts
    )
    return outs, [*solved[: len(b)], *zeros[len(b) :]]


def _operator_tangents(
    operator: ClosedJaxpr, consts: Sequence[Any], tangents: Sequence[Any], x: Sequence[Any]
) -> list[Any]:
    """Return the derivative of the operator, along its constants' tangents, applied to ``x``."""
    nonzero = tuple([type(t) is not Zero for t in tangents])
    if not any(nonzero):
        return [Zero(aval.tangent()) for aval in operator.out_avals]
    program, given = jvp_program(operator, nonzero + (False,) * len(x))
    moving = [t for t in tangents if type(t) is not Zero]
    outs = call(program, [*consts, *x, *moving], name="jvp(matvec)")
    moved = iter(outs[len(x) :])
    return [
        next(moved) if has else Zero(aval.tangent())
        for has, aval in zip(given, operator.out_avals, strict=True)
    ]


@linear_solve_p.def_transpose
def _linear_solve_transpose(
    cts: Sequence[Any], *args: Any, programs: Programs, counts: Counts
) -> list[Any]:
    if programs[3] is None:
        raise TypeError(
            "custom_linear_solve has no way back without a solver of the transposed system: give "
            "it transpose_solve=..., or symmetric=True if the operator is its own transpose"
        )
    consts, b = _split(args, counts)
    solved = linear_solve_p.bind(
        *[value for place in (1, 0, 3, 2) for value in consts[place]],
        *[instantiate(ct) for ct in cts[: len(b)]],
        programs=tuple([programs[place] for place in (1, 0, 3, 2)]),
        counts=tuple([counts[place] for place in (1, 0, 3, 2)]),
    )
    return [
        *[None] * sum(counts),
        *[ct if is_linear(x) else None for ct, x in zip(solved, b, strict=False)],
    ]


@linear_solve_p.def_batch
def _linear_solve_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    programs: Programs,
    counts: Counts,
) -> tuple[list[Any], list[int | None]]:
    """Batch all programs; a part of the solution has the axis where its right-hand side has it."""
    first = sum(counts)
    moved = [
        arg if dim is None else move_axis(arg, dim, 0)
        for arg, dim in zip(args[:first], dims[:first], strict=True)
    ]
    has, b_has = _split([dim is not None for dim in dims], counts)
    batched, x_has, aux_has = _batched(axis, programs, has, tuple(b_has))
    b = [
        batch_to_front(arg, dim, axis.size) if flag else arg
        for arg, dim, flag in zip(args[first:], dims[first:], x_has, strict=True)
    ]
    outs = linear_solve_p.bind(*moved, *b, programs=batched, counts=counts)
    return outs, [0 if flag else None for flag in (*x_has, *aux_has)]


def _batched(
    axis: Axis, programs: Programs, consts: Sequence[Sequence[bool]], b: Flags
) -> tuple[Programs, Flags, Flags]:
    """Return programs over examples, and which parts of the solution and of ``aux`` differ.

    Operators take solutions to right-hand sides and solvers the other way, so a part that differs
    on one side differs on both.
    """

    def step(has: Flags) -> tuple[Flags, list[tuple[ClosedJaxpr, Flags] | None]]:
        made = [
            program and _over_examples(axis, program, flags, has)
            for program, flags in zip(programs, consts, strict=True)
        ]
        differs = [pair[1][: len(has)] for pair in made if pair is not None]
        return tuple([any(column) for column in zip(*differs, strict=True)]), made

    has, (operator, transposed, solver, back) = grown_to_fixpoint(b, step)
    assert operator is not None
    assert solver is not None
    batched = (operator[0], transposed and transposed[0], solver[0], back and back[0])
    return batched, has, solver[1][len(has) :]


def _over_examples(
    axis: Axis, program: ClosedJaxpr, consts: Sequence[bool], has: Flags
) -> tuple[ClosedJaxpr, Flags]:
    force = (*has, *(False,) * (len(program.out_avals) - len(has)))
    return batch_program(program, axis, (*consts, *has), force)


def _linear_solve_unfold(*operands: Any, programs: Programs, counts: Counts) -> Unfolding:
    """Run the solver: the operator it was given is a part of it."""
    consts, b = _split(operands, counts)
    return (yield Call("solve", programs[2], (*consts[2], *b)))


linear_solve_p.define(
    effects=_linear_solve_effects,
    evaluate=_linear_solve_evaluate,
    unfold=_linear_solve_unfold,
)
