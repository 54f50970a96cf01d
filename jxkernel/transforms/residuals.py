"""Which values a scan keeps for its way back: as few bytes as will do.

A residual of a scan is an array of all its turns.  One equation's derivative asks for ``2 * x``
where another's asks for ``x``, or for a part, a transpose or a spread copy of it; each would cost
memory, and a loop of its own to write and to read it.  What is made by equations that take no
longer than reading the result can be made again.  The values to keep, of the fewest bytes of which
all residuals can be made so, are a minimum cut between what can not be made again and what is asked
for: Chen et al., "Training Deep Nets with Sublinear Memory Cost", arXiv:1604.06174, for the idea of
making values again, and Edmonds and Karp, "Theoretical Improvements in Algorithmic Efficiency for
Network Flow Problems", 1972, for the cut.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from math import inf
from typing import Any, TypeAlias

import numpy as np

from jxkernel import dtypes
from jxkernel.core.dimensions import is_symbolic
from jxkernel.core.jaxpr import Atom, ClosedJaxpr, Eqn, Jaxpr, Var, likeness

__all__ = ["fewer_residuals"]

_EASY = frozenset(
    (
        *("abs", "add", "add_any", "and", "broadcast_in_dim", "clamp", "convert_element_type"),
        *("copy", "div", "eq", "expand_dims", "ge", "gt", "imag", "integer_pow", "le", "lt"),
        *("max", "min", "mul", "ne", "neg", "not", "one_minus_square", "or", "real", "reshape"),
        *("rev", "select_n", "sign", "slice", "square", "squeeze", "stop_gradient", "sub"),
        *("transpose",),
    )
)
"""Primitives that take no longer to compute than to read their results."""

_DEEPEST = 8
"""The most easy equations in a row: more take longer than reading what they make."""

_ARRAY = 256
"""The bytes that are worth as much as one array less: it takes a loop to write, and one to read."""

_Node: TypeAlias = Any
_Capacities: TypeAlias = dict[_Node, dict[_Node, float]]
_SOURCE, _SINK = "source", "sink"


def fewer_residuals(
    known: Jaxpr, residuals: Sequence[Atom], rest: ClosedJaxpr, lost: AbstractSet[Any]
) -> tuple[list[Atom], ClosedJaxpr]:
    """Return the residuals to keep, and the unknown program as one of these.

    Args:
      known: the known program.
      residuals: those of its values that the unknown program takes first.
      rest: the unknown program.
      lost: the variables of the known program that cost something to keep.
    """
    jaxpr, values = rest.jaxpr, _Values(known, lost)
    asked = [values.one(atom) for atom in residuals]
    results = [var for eqn in known.eqns for var in eqn.outvars]
    if any(is_symbolic(size) for atom in (*asked, *results) for size in atom.aval.shape):
        return list(residuals), rest
    again = values.making(asked, values.to_keep(asked))
    if not again and len(set(asked)) == len(asked):
        return list(residuals), rest
    names: dict[Atom, Var] = dict(zip(asked, jaxpr.invars, strict=False))
    for eqn in again:
        for atom in (*values.operands(eqn), eqn.outvars[0]):
            if type(atom) is Var:
                names.setdefault(atom, Var(atom.aval))
    made = {eqn.outvars[0] for eqn in again}
    kept = [atom for atom in names if atom not in made]
    first = [
        eqn.replace(
            invars=[names.get(atom, atom) for atom in values.operands(eqn)],
            outvars=[names[eqn.outvars[0]]],
        )
        for eqn in again
    ]
    one: dict[Atom, Var] = {
        var: names[atom] for atom, var in zip(asked, jaxpr.invars, strict=False)
    }
    then = [eqn.replace(invars=[one.get(atom, atom) for atom in eqn.invars]) for eqn in jaxpr.eqns]
    lean = jaxpr.replace(
        invars=[*[names[atom] for atom in kept], *jaxpr.invars[len(asked) :]],
        outvars=[one.get(atom, atom) for atom in jaxpr.outvars],
        eqns=[*first, *then],
    )
    return kept, ClosedJaxpr(lean, rest.consts)


class _Values:
    """The values of the known program: which are equal, and which can be made again."""

    def __init__(self, known: Jaxpr, lost: AbstractSet[Any]) -> None:
        self._lost = lost
        self._equal: dict[Atom, Var] = {}
        self._easy: dict[Atom, Eqn] = {}
        self._places: dict[Atom, int] = {}
        first: dict[Any, list[Var]] = {}
        depths: dict[Atom, int] = {}
        for place, eqn in enumerate(known.eqns):
            key = likeness(eqn, self.operands(eqn))
            outvars = eqn.outvars if key is None else first.setdefault(key, eqn.outvars)
            self._equal.update(zip(eqn.outvars, outvars, strict=True))
            if outvars is eqn.outvars and outvars and outvars[0] in lost and _is_easy(eqn):
                depth = 1 + max([depths.get(atom, 0) for atom in self.operands(eqn)], default=0)
                if depth <= _DEEPEST:
                    (var,) = outvars
                    depths[var], self._easy[var], self._places[var] = depth, eqn, place

    def one(self, atom: Atom) -> Atom:
        """Return the first of the values that are equal to a value."""
        return self._equal.get(atom, atom)

    def operands(self, eqn: Eqn) -> list[Atom]:
        """Return the operands of an equation, each the first of those that are equal to it."""
        return [self.one(atom) for atom in eqn.invars]

    def _made_of(self, atom: Atom) -> list[Atom] | None:
        """Return what an easy equation makes a value of that is not to be had for nothing."""
        eqn = self._easy.get(atom)
        return None if eqn is None else [one for one in self.operands(eqn) if one in self._lost]

    def to_keep(self, asked: Iterable[Atom]) -> set[Atom]:
        """Return the lost values of fewest bytes of which all that are asked for can be made."""
        capacities: _Capacities = {_SOURCE: {}, _SINK: {}}
        waiting = [atom for atom in asked if atom in self._lost]
        for atom in waiting:
            capacities[atom, "out"] = {_SINK: inf}
        while waiting:
            atom = waiting.pop()
            if (atom, "in") in capacities:
                continue
            capacities[atom, "in"] = {(atom, "out"): atom.aval.nbytes + _ARRAY}
            capacities.setdefault((atom, "out"), {})
            parts = self._made_of(atom)
            if parts is None:
                capacities[_SOURCE][atom, "in"] = inf
                continue
            for part in parts:
                capacities.setdefault((part, "out"), {})[atom, "in"] = inf
            waiting += parts
        side = _sink_side(capacities)
        return {atom for atom, end in side - {_SINK} if end == "out" and (atom, "in") not in side}

    def making(self, asked: Iterable[Atom], kept: AbstractSet[Atom]) -> list[Eqn]:
        """Return the equations that make what is asked for of what is kept, in their order."""
        found: dict[Atom, Eqn] = {}
        waiting = [atom for atom in asked if atom in self._lost]
        while waiting:
            atom = waiting.pop()
            if atom not in kept and atom not in found:
                found[atom] = self._easy[atom]
                waiting += self._made_of(atom) or []
        return [found[atom] for atom in sorted(found, key=self._places.__getitem__)]


def _is_easy(eqn: Eqn) -> bool:
    name = eqn.primitive.name
    if eqn.effects or name not in _EASY:
        return False
    return name != "div" or dtypes.issubdtype(eqn.outvars[0].aval.dtype, np.floating)


def _sink_side(capacities: _Capacities) -> set[_Node]:
    """Return the nodes behind the minimum cut that is closest to the sink.

    Args:
      capacities: of each node's edges to others; the flow is taken from them.
    """
    while True:
        before: dict[_Node, _Node] = {_SOURCE: _SOURCE}
        queue = deque([_SOURCE])
        while queue and _SINK not in before:
            node = queue.popleft()
            for other, left in capacities[node].items():
                if left > 0 and other not in before:
                    before[other] = node
                    queue.append(other)
        if _SINK not in before:
            break
        path = [_SINK]
        while path[-1] is not _SOURCE:
            path.append(before[path[-1]])
        edges = [(start, end) for end, start in pairwise(path)]
        flow = min(capacities[start][end] for start, end in edges)
        for start, end in edges:
            capacities[start][end] -= flow
            capacities[end][start] = capacities[end].get(start, 0) + flow
    backwards: dict[_Node, list[_Node]] = {}
    for node, edges_of in capacities.items():
        for other, left in edges_of.items():
            if left > 0:
                backwards.setdefault(other, []).append(node)
    side, waiting = {_SINK}, [_SINK]
    while waiting:
        for node in backwards.get(waiting.pop(), []):
            if node not in side:
                side.add(node)
                waiting.append(node)
    return side
