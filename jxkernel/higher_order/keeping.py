"""Keeping some values of a program for the time when it is computed again.

A program is taken apart into two: one that also gives the values that are kept, and one that takes
them in the place of computing them.  A value inside a call, a branch or a turn of a loop is handed
out through the equation that holds it: from a loop stacked over its turns, from a branch in a slot
that the branches share.  This module must not know why a value is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jxkernel.core.avals import ShapedArray
from jxkernel.core.effects import acting_effects
from jxkernel.core.jaxpr import Atom, ClosedJaxpr, Eqn, Jaxpr, Var
from jxkernel.core.primitive import Primitive
from jxkernel.higher_order.cond import cond_p, shared_slots
from jxkernel.higher_order.jit import jit_p
from jxkernel.higher_order.programs import add_zero_results, permute, place_arguments
from jxkernel.higher_order.scan import scan_p, stacked
from jxkernel.records import record

__all__ = ["Kept", "keep"]

Keeps = Callable[[Eqn], bool]
"""Whether the results of an equation are kept."""


@record()
class Kept:
    """A program, or an equation of one, taken apart.

    Attributes:
      first: what is computed first, and gives the kept values.
      again: what is computed again, and takes them; None where nothing is left to compute.
      values: the kept values.
    """

    first: list[Eqn]
    again: list[Eqn]
    values: list[Var]


def keep(jaxpr: Jaxpr, keeps: Keeps) -> Kept:
    """Take a program's equations apart."""
    parts = [_keep_of(eqn, keeps) for eqn in jaxpr.eqns]
    return Kept(
        [eqn for part in parts for eqn in part.first],
        [eqn for part in parts for eqn in part.again],
        [var for part in parts for var in part.values],
    )


def _keep_of(eqn: Eqn, keeps: Keeps) -> Kept:
    inside = _INSIDE.get(eqn.primitive)
    found = inside(eqn, keeps) if inside else None
    if found is not None:
        return found
    return Kept([eqn], [], list(eqn.outvars)) if keeps(eqn) else Kept([eqn], [eqn], [])


def _with_effects(eqn: Eqn) -> Eqn:
    """Return an equation whose program has changed, with the effects that it now has."""
    rule = eqn.primitive.effects
    assert rule is not None, "equations that hold programs have those of the programs"
    return eqn.replace(effects=rule(*[atom.aval for atom in eqn.invars], **eqn.params))


def _made_of(
    closed: ClosedJaxpr, eqns: Sequence[Eqn], invars: Sequence[Var], outvars: Sequence[Atom]
) -> ClosedJaxpr:
    effects = frozenset().union(*[eqn.effects for eqn in eqns])
    parts = {"eqns": eqns, "invars": invars, "outvars": outvars, "effects": effects}
    return ClosedJaxpr(closed.jaxpr.replace(**parts), closed.consts)


# ---------------------------------------------------------------- calls and loops


def _inside_call(eqn: Eqn, keeps: Keeps) -> Kept | None:
    donated = eqn.params["donated"]

    def more(count: int) -> dict[str, object]:
        return {"donated": (*donated, *[False] * count)} if donated else {}

    return _inside_one(eqn, keeps, 0, lambda aval: aval, more)


def _inside_scan(eqn: Eqn, keeps: Keeps) -> Kept | None:
    length = eqn.params["length"]
    # The carry of one turn is no result of the loop.
    first = eqn.params["num_carry"]
    return _inside_one(eqn, keeps, first, lambda aval: stacked(aval, length), lambda _: {})


def _inside_one(
    eqn: Eqn,
    keeps: Keeps,
    first: int,
    outside: Callable[[ShapedArray], ShapedArray],
    more: Callable[[int], dict[str, object]],
) -> Kept | None:
    """Take apart an equation that holds one program, whose kept values are further results.

    Args:
      eqn: the equation.
      keeps: which values are kept.
      first: from which result on the equation's results are the program's.
      outside: from the type of a value in the program to that of the equation's result.
      more: the parameters that change with a number of further arguments.
    """
    closed: ClosedJaxpr = eqn.params["jaxpr"]
    jaxpr = closed.jaxpr
    kept = keep(jaxpr, keeps)
    if not kept.values and not acting_effects(eqn.effects):
        return None
    given = dict(zip(jaxpr.outvars[first:], eqn.outvars[first:], strict=True))
    extra = [var for var in kept.values if var not in given]
    shown = {**given, **{var: Var(outside(var.aval)) for var in extra}}
    values = [shown[var] for var in kept.values]
    invars = [*jaxpr.invars, *kept.values]
    one = eqn.replace(
        outvars=[*eqn.outvars, *[shown[var] for var in extra]],
        params={
            **eqn.params,
            "jaxpr": _made_of(closed, kept.first, jaxpr.invars, [*jaxpr.outvars, *extra]),
        },
    )
    other = eqn.replace(
        invars=[*eqn.invars, *values],
        # A result that is kept is at hand already.
        outvars=[Var(var.aval) if var in values else var for var in eqn.outvars],
        params={
            **eqn.params,
            **more(len(values)),
            "jaxpr": _made_of(closed, kept.again, invars, jaxpr.outvars),
        },
    )
    return Kept([_with_effects(one)], [_with_effects(other)], values)


# ---------------------------------------------------------------- branches


def _inside_cond(eqn: Eqn, keeps: Keeps) -> Kept | None:
    branches: tuple[ClosedJaxpr, ...] = eqn.params["branches"]
    parts = [keep(branch.jaxpr, keeps) for branch in branches]
    if not any(part.values for part in parts) and not acting_effects(eqn.effects):
        return None
    slots, places = shared_slots([[var.aval for var in part.values] for part in parts])
    count, results = len(branches[0].in_avals), len(eqn.outvars)
    firsts: list[ClosedJaxpr] = []
    agains: list[ClosedJaxpr] = []
    for branch, part, place in zip(branches, parts, places, strict=True):
        jaxpr = branch.jaxpr
        program = _made_of(branch, part.first, jaxpr.invars, [*jaxpr.outvars, *part.values])
        order = sorted(range(len(place)), key=lambda value, place=place: place[value])
        ordered = permute(program, None, (*range(results), *[results + i for i in order]))
        filled = (True,) * results + tuple([slot in place for slot in range(len(slots))])
        avals = [*branch.out_avals, *slots]
        firsts.append(add_zero_results(ordered, filled, (True,) * len(avals), avals))
        again = _made_of(branch, part.again, [*jaxpr.invars, *part.values], jaxpr.outvars)
        own = (*range(count), *[count + slot for slot in place])
        agains.append(place_arguments(again, own, [*branch.in_avals, *slots]))
    values = [Var(aval) for aval in slots]
    one = eqn.replace(outvars=[*eqn.outvars, *values], params={"branches": tuple(firsts)})
    other = eqn.replace(invars=[*eqn.invars, *values], params={"branches": tuple(agains)})
    return Kept([_with_effects(one)], [_with_effects(other)], values)


_INSIDE: dict[Primitive, Callable[[Eqn, Keeps], Kept | None]] = {
    jit_p: _inside_call,
    scan_p: _inside_scan,
    cond_p: _inside_cond,
}
