"""Dataflow over recorded programs: from a value back to the arguments it was computed from.

Purpose: answer "why is this traced?" with a chain of the user's own names.

Place in the pipeline: between the jaxprs that `transforms.stage` records and
`observe.provenance`.

Must not know: source text, frames, or how the answer is shown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from jxkernel.core.jaxpr import Eqn, Jaxpr, Var, subjaxprs
from jxkernel.transforms.stage import StageTrace

__all__ = ["Flow"]


class Flow:
    """Which variables each variable was computed from, in recorded programs and those inside.

    Attributes:
      producer: the equation that made each variable; for an argument of an inner program, the
        equation that calls it.
      arguments: the names of the arguments of the outermost programs.
    """

    def __init__(self, traces: Iterable[StageTrace]) -> None:
        self.producer: dict[Var, Eqn] = {}
        self.arguments: dict[Var, str] = {}
        self._sources: dict[Var, tuple[Var, ...]] = {}
        self._walked: set[Jaxpr] = set()
        traces = tuple(traces)
        for trace in traces:
            self._add_equations(trace.eqns)
        for trace in traces:
            names = trace.arguments()
            for index, variable in enumerate(trace.invars):
                if variable not in self._sources:
                    self.arguments[variable] = _argument_name(names, index)

    def paths(self, start: Iterable[Var]) -> dict[str, tuple[Var, ...]]:
        """A shortest path to each argument that the given variables depend on.

        Returns:
          For each argument's name the variables on the way, from one of `start` to the argument.
          Nearest arguments come first.
        """
        came_from: dict[Var, Var | None] = dict.fromkeys(start)
        waiting = deque(came_from)
        found: dict[str, tuple[Var, ...]] = {}
        while waiting:
            variable = waiting.popleft()
            if variable in self.arguments:
                found.setdefault(self.arguments[variable], _path(came_from, variable))
            for before in self._sources.get(variable, ()):
                if before not in came_from:
                    came_from[before] = variable
                    waiting.append(before)
        return found

    def _add_equations(self, equations: Iterable[Eqn]) -> None:
        for equation in equations:
            sources = _variables(equation.invars)
            for variable in equation.outvars:
                self._link(variable, equation, sources)
            for inner in subjaxprs(equation.params):
                if inner.jaxpr in self._walked:
                    continue  # a program called in several places keeps the first as its origin
                self._walked.add(inner.jaxpr)
                # Leading arguments (an index, the constants of a condition) may not be passed on
                # to every inner program, so they are matched from the end.
                pairs = zip(reversed(inner.jaxpr.invars), reversed(equation.invars), strict=False)
                for variable, outer in pairs:
                    self._link(variable, equation, _variables([outer]))
                self._add_equations(inner.jaxpr.eqns)

    def _link(self, variable: Var, equation: Eqn, sources: tuple[Var, ...]) -> None:
        if variable not in self._sources:
            self._sources[variable] = sources
            self.producer[variable] = equation


def _variables(atoms: Sequence[object]) -> tuple[Var, ...]:
    return tuple(atom for atom in atoms if isinstance(atom, Var))


def _argument_name(names: Sequence[str], index: int) -> str:
    return names[index] if index < len(names) else f"argument {index}"


def _path(came_from: dict[Var, Var | None], end: Var) -> tuple[Var, ...]:
    path = [end]
    while (nearer := came_from[path[-1]]) is not None:
        path.append(nearer)
    return tuple(reversed(path))
