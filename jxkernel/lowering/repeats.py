"""Equal runs of equations, such as the layers of a network: each is lowered once, and called.

A loop in Python over layers leaves their equations behind one after the other, and so does its
derivative, and an update of one array after the other.  Written out, each copy is lowered, read
and checked by MLIR, and taken over by XLA, on its own; XLA writes calls out before it looks for
what to do better, so it makes of them what it would have made anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, count
from typing import Any, TypeAlias

import numpy as np

from jxkernel.core.jaxpr import Atom, Eqn, Jaxpr, Var

__all__ = ["LEAST_EQUATIONS", "Call", "Repeated", "Step", "with_calls"]

LEAST_EQUATIONS = 128
"""The equations of a program in which copies are looked for."""

_LEAST_SAVED = 64
"""The equations that a run and its copies must save: a function and its calls cost some."""

_SHORTEST, _PERIODS = 8, 8
"""The equations of a run, and how many lengths of runs are tried."""


class Repeated:
    """A run of equations that has copies.

    Attributes:
      eqns: the equations of the first.
      invars: the variables of other equations that they read.
      outvars: their results that other equations of the program read, in it or in a copy.
    """

    __slots__ = ("eqns", "invars", "outvars")

    def __init__(self, eqns: Sequence[Eqn], invars: Sequence[Var], outvars: Sequence[Var]) -> None:
        self.eqns = eqns
        self.invars = invars
        self.outvars = outvars


class Call:
    """One of the copies.

    Attributes:
      repeated: what it is a copy of.
      invars: what it reads.
      outvars: its results.
    """

    __slots__ = ("invars", "outvars", "repeated")

    def __init__(self, repeated: Repeated, invars: Sequence[Var], outvars: Sequence[Var]) -> None:
        self.repeated = repeated
        self.invars = invars
        self.outvars = outvars


Step: TypeAlias = Eqn | Call


def with_calls(jaxpr: Jaxpr, kinds: Sequence[Any]) -> Sequence[Step]:
    """Return the equations of a program, with calls in the place of runs that have copies.

    Args:
      jaxpr: the program.
      kinds: for each equation what is equal for those that are lowered alike but for what they
        read; None where nothing may be a copy of it.
    """
    eqns = jaxpr.eqns
    runs = [_Run(jaxpr.eqns, start, length) for start, length in _copies(kinds)]
    if not runs:
        return eqns
    alike: dict[Any, list[_Run]] = {}
    for run in runs:
        alike.setdefault((*kinds[run.start : run.end], *run.shape), []).append(run)
    reads = Counter(chain.from_iterable([eqn.invars for eqn in eqns]))
    reads.update(jaxpr.outvars)
    steps: list[Step | None] = list(eqns)
    for copies in alike.values():
        first = copies[0]
        if (len(copies) - 1) * len(first.eqns) < _LEAST_SAVED:
            continue
        asked = sorted(set().union(*[run.read_elsewhere(reads) for run in copies]))
        results = [[run.results[number] for number in asked] for run in copies]
        repeated = Repeated(first.eqns, first.invars, results[0])
        for run, outvars in zip(copies, results, strict=True):
            steps[run.start : run.end] = [None] * len(run.eqns)
            steps[run.end - 1] = Call(repeated, run.invars, outvars)
    return [step for step in steps if step is not None]


def _copies(kinds: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Give where runs begin that are as long as they are far from an equal one, and how long."""
    numbers: dict[Any, int] = {}
    last: dict[int, int] = {}
    distances: Counter[int] = Counter()
    line = np.empty(len(kinds), np.int64)
    for place, kind in enumerate(kinds):
        # What may have no copy is like nothing else.
        number = -1 - place if kind is None else numbers.setdefault(kind, len(numbers))
        line[place] = number
        if number in last:
            distances[place - last[number]] += 1
        last[number] = place
    free = np.ones(len(kinds), np.bool_)
    often = [one for one, times in distances.most_common(_PERIODS) if times >= _LEAST_SAVED]
    for length in [*often, *[2 * one for one in often]]:  # twice, for layers that take turns
        if not _SHORTEST <= length < len(kinds):
            continue
        alike = (line[:-length] == line[length:]) & free[:-length] & free[length:]
        edges = np.flatnonzero(np.diff(alike.view(np.int8), prepend=0, append=0)).tolist()
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            if end - start >= max(length, _LEAST_SAVED):
                for begin in range(start, end + 1, length):
                    free[begin : begin + length] = False
                    yield begin, length


class _Run:
    """Equations that stand together.

    Attributes:
      start: the place of the first, and ``end`` that behind the last.
      eqns: the equations.
      results: their results.
      invars: the variables of other equations that they read.
      shape: which results, or else which of the others, they read.
    """

    def __init__(self, eqns: Sequence[Eqn], start: int, length: int) -> None:
        self.start, self.end = start, start + length
        self.eqns = eqns[start : self.end]
        self.results = list(chain.from_iterable([eqn.outvars for eqn in self.eqns]))
        self._reads = Counter(chain.from_iterable([eqn.invars for eqn in self.eqns]))
        own: dict[Atom, int] = dict(zip(self.results, count(), strict=False))
        others: dict[Var, int] = {}
        self.shape = [
            own[atom] if atom in own else -1 - others.setdefault(atom, len(others))
            for eqn in self.eqns
            for atom in eqn.invars
            if type(atom) is Var
        ]
        self.invars = list(others)

    def read_elsewhere(self, reads: Counter[Any]) -> set[int]:
        """Return the numbers of the results that are read more often than by the run itself."""
        own = self._reads
        return {number for number, var in enumerate(self.results) if reads[var] > own[var]}
