"""Long chains of elementwise operations, and where they are cut.

On CPU, XLA computes a cheap value anew in each loop that reads it.  Where many loops read from one
chain, such as the residual stream of a network whose gradient is taken, each computes all of the
chain before it: n layers become n * n, to compile and to run.  So a value that many loops
need, at the end of enough work, is stored: the module has an optimization barrier behind it, which
XLA does not fuse across.  So is, after less work, what a matrix product or another operation reads
that takes its operands from memory: it is written anyway, and other loops may as well read it.

What few loops need is never stored, so a long formula stays one loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Var, subjaxprs

__all__ = ["CALLS", "stored_values"]

_MOST_WORK = 16
"""How much work, in additions for each element, is computed anew rather than stored.

With 8, the gradient of twenty layers of ``tanh`` on 300,000 elements runs twice as long."""

_LEAST_WORK = 4
"""How much work is computed anew rather than read, where the value is written anyway.

With 6, the gradient of a differential equation's solver stores less; with 2, a transformer's
compiles 1.1 times as long.  Without this, one of 6 blocks compiles 1.6 times as long."""

_FROM_MEMORY = frozenset(
    (
        "cholesky",
        "conv_general_dilated",
        "dot_general",
        "fft",
        "scan",
        "sort",
        "triangular_solve",
        "while",
    )
)
"""Primitives that take operands from memory; others compute them in their own loop."""

CALLS = frozenset({"jit", "custom_jvp_call", "custom_vjp_call", "checkpoint"})
"""Primitives whose programs XLA writes out in place of the call."""

_MOST_LOOPS = 4
"""How many loops may compute one chain anew.

With 1, a formula of three results of one chain compiles 2.2 times as long as uncut."""

Loops: TypeAlias = frozenset[object]
_MANY: Loops = frozenset(("more loops than that",))
_NO_LOOPS: Loops = frozenset()
_NONE: frozenset[Var] = frozenset()


def stored_values(jaxpr: Jaxpr) -> frozenset[Var]:
    """Return the results of equations that are stored rather than computed in many loops."""
    eqns = jaxpr.eqns
    if len(eqns) < _MOST_WORK and not any(eqn.primitive.name in CALLS for eqn in eqns):
        return _NONE
    return _cut(jaxpr)[0]


def _cut(jaxpr: Jaxpr) -> tuple[frozenset[Var], tuple[int | None, ...]]:
    """Return the values stored, and the work behind each result; None for one that is stored."""
    loops = _loops(jaxpr)
    work: dict[object, int] = dict.fromkeys([*jaxpr.constvars, *jaxpr.invars], 0)
    written = _written(jaxpr)
    stored: set[Var] = set()
    for eqn in jaxpr.eqns:
        before = max([work.get(atom, 0) for atom in eqn.invars], default=0)
        for var, own in zip(eqn.outvars, _work_of(eqn), strict=True):
            if own is None:
                continue
            needing = loops.get(var, _NO_LOOPS)
            may = needing is _MANY or var in written
            if own and may and _is_array(var) and _pays(own + before, needing, var in written):
                stored.add(var)
            else:
                work[var] = own + before
    return frozenset(stored), tuple([work.get(atom) for atom in jaxpr.outvars])


def _pays(work: int, loops: Loops, written: bool) -> bool:
    """Whether reading a value of so much work costs less than computing it in each loop anew."""
    if loops is _MANY:
        return work >= (_LEAST_WORK if written else _MOST_WORK)
    return written and work >= _LEAST_WORK and len(loops) > 1


def _written(jaxpr: Jaxpr) -> set[object]:
    """Return the values that operations take from memory."""
    return {
        atom
        for eqn in jaxpr.eqns
        if eqn.primitive.name in _FROM_MEMORY
        for atom in eqn.invars
        if type(atom) is Var
    }


def _work_of(eqn: Eqn) -> Sequence[int | None]:
    """Return what an element of each result costs where it is read; None where it is stored."""
    if eqn.primitive.name in CALLS:
        return next(subjaxprs(eqn.params)).remember(_work_of_program)
    return (eqn.primitive.element_work or None,) * len(eqn.outvars)


def _work_of_program(closed: ClosedJaxpr) -> tuple[int | None, ...]:
    return _cut(closed.jaxpr)[1]


def _loops(jaxpr: Jaxpr) -> dict[object, Loops]:
    """Return, for each value, the loops that need it.

    A loop is known by its result: what a program returns, or what an equation reads that works
    on stored values.
    """
    found: dict[object, Loops] = {}

    def read(atom: object, loops: Loops) -> None:
        if type(atom) is Var:
            known = found.get(atom, loops)
            found[atom] = known if known is loops or known is _MANY else _together(known, loops)

    for atom in jaxpr.outvars:
        read(atom, frozenset((atom,)))
    for eqn in reversed(jaxpr.eqns):
        needed = [found[var] for var in eqn.outvars if var in found]
        if not needed:
            continue
        if eqn.primitive.name in CALLS:
            for atom, loops in _loops_of_call(eqn, found):
                read(atom, loops)
        elif not eqn.primitive.element_work:
            for atom in eqn.invars:
                read(atom, frozenset((atom,)))
        else:
            for loops in needed:
                for atom in eqn.invars:
                    read(atom, loops)
    return found


def _together(some: Loops, others: Loops) -> Loops:
    loops = some | others
    return loops if len(loops) <= _MOST_LOOPS else _MANY


def _loops_of_call(eqn: Eqn, found: dict[object, Loops]) -> Iterator[tuple[object, Loops]]:
    """Yield the operands of a call, each with loops that need it."""
    places = next(subjaxprs(eqn.params)).remember(_places_of_arguments)
    for atom, ends in zip(eqn.invars, places, strict=True):
        if ends is _MANY:
            yield atom, _MANY
            continue
        for end in ends:
            if type(end) is not int:
                yield atom, frozenset(((eqn, end),))
            elif eqn.outvars[end] in found:
                yield atom, found[eqn.outvars[end]]


def _places_of_arguments(closed: ClosedJaxpr) -> tuple[Loops, ...]:
    """Return the loops that need each argument: numbers of results, and loops inside."""
    jaxpr = closed.jaxpr
    loops = _loops(jaxpr)
    numbers: dict[object, object] = {atom: index for index, atom in enumerate(jaxpr.outvars)}
    found = [loops.get(var, _NO_LOOPS) for var in jaxpr.invars]
    return tuple(
        [ends if ends is _MANY else frozenset([numbers.get(e, e) for e in ends]) for ends in found]
    )


def _is_array(var: Var) -> bool:
    return var.aval.ndim > 0 and isinstance(var.aval.dtype, np.dtype)
