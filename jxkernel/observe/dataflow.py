"""Dataflow over recorded programs: from a value back to the arguments it was computed from.

One pass over a program, each value after what it was computed from, finds for every value at once
how far the nearest argument is, which value comes next on the way to it, and all arguments that
it depends on. So asking for one name costs the length of the answer, not of the program.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence

from jxkernel.core.jaxpr import Eqn, Jaxpr, Var, subjaxprs
from jxkernel.transforms.stage import StageTrace

__all__ = ["DataFlow"]


class DataFlow:
    """Which variables each variable was computed from, in recorded programs and those inside.

    Args:
      traces: the recorded programs.
      names: what the user calls variables, as far as that is known.

    Attributes:
      arguments: the names of the arguments of the outermost programs.
    """

    def __init__(self, traces: Iterable[StageTrace], names: Mapping[Var, str]) -> None:
        self.arguments: dict[Var, str] = {}
        self._names = names
        self._sources: dict[Var, tuple[Var, ...]] = {}
        self._walked: set[Jaxpr] = set()
        self._steps: dict[Var, int] = {}
        self._reached: dict[Var, int] = {}
        self._named: dict[Var, Var] = {}
        self._onward: dict[Var, Var] = {}
        self._end: dict[Var, Var] = {}
        self._unpacked: dict[int, tuple[str, ...]] = {}
        traces = tuple(traces)
        for trace in traces:
            self._add_equations(trace.eqns)
        for trace in traces:
            argument_names = trace.arguments()
            for index, variable in enumerate(trace.invars):
                if variable not in self._sources:
                    self.arguments[variable] = _argument_name(argument_names, index)
        self._follow()

    def nearest(self, variables: Iterable[Var]) -> Var | None:
        """The variable with the fewest steps to an argument; None where none depends on one."""
        dependent = [one for one in variables if one in self._steps]
        return min(dependent, key=self._steps.__getitem__, default=None)

    def chain(self, variable: Var) -> Iterator[Var]:
        """The variables on a shortest way to an argument, the first of each name, and it last."""
        following: Var | None = self._named[variable]
        while following is not None:
            yield following
            following = self._onward.get(following)

    def end(self, variable: Var) -> Var:
        """The argument in which the chain of a variable ends."""
        return self._end[variable]

    def reached(self, variables: Iterable[Var]) -> tuple[str, ...]:
        """The names of all arguments that variables depend on, in the arguments' order."""
        bits = functools.reduce(operator.or_, [self._reached.get(one, 0) for one in variables], 0)
        if bits not in self._unpacked:
            names = enumerate(dict.fromkeys(self.arguments.values()))
            self._unpacked[bits] = tuple(name for number, name in names if bits >> number & 1)
        return self._unpacked[bits]

    def _follow(self) -> None:
        """Fill in what is known of each variable, its sources first."""
        numbers = {name: bit for bit, name in enumerate(dict.fromkeys(self.arguments.values()))}
        for variable, name in self.arguments.items():
            self._steps[variable] = 0
            self._reached[variable] = 1 << numbers[name]
            self._named[variable] = self._end[variable] = variable
        for variable in self._in_order():
            sources = [one for one in self._sources[variable] if one in self._steps]
            if sources:
                self._link_back(variable, sources)

    def _link_back(self, variable: Var, sources: Sequence[Var]) -> None:
        nearer, bits = sources[0], self._reached[sources[0]]
        for other in sources[1:]:
            bits |= self._reached[other]
            if self._steps[other] < self._steps[nearer]:
                nearer = other
        self._steps[variable] = self._steps[nearer] + 1
        self._end[variable] = self._end[nearer]
        self._reached[variable] = bits
        following = self._named[nearer]
        own = self._names.get(variable)
        if own is None:
            self._named[variable] = following
            return
        self._named[variable] = variable
        same = following not in self.arguments and self._names.get(following) == own
        self._onward[variable] = self._onward[following] if same else following

    def _in_order(self) -> Iterator[Var]:
        """The computed variables, each after those that it was computed from.

        Programs inside others need not have been recorded after them.
        """
        all_sources = self._sources
        done: set[Var] = set()
        entered: set[Var] = set()
        for variable in all_sources:
            waiting = [] if variable in done else [variable]
            while waiting:
                last = waiting[-1]
                entered.add(last)
                before = [
                    one for one in all_sources[last] if one in all_sources and one not in entered
                ]
                waiting += before
                if not before and waiting.pop() not in done:
                    done.add(last)
                    yield last

    def _add_equations(self, equations: Iterable[Eqn]) -> None:
        for equation in equations:
            sources = _variables(equation.invars)
            for variable in equation.outvars:
                self._sources.setdefault(variable, sources)
            for inner in subjaxprs(equation.params) if equation.params else ():
                if inner.jaxpr in self._walked:
                    continue  # a program called in several places keeps the first as its origin
                self._walked.add(inner.jaxpr)
                # Leading arguments (an index, the constants of a condition) may not be passed on
                # to every inner program, so they are matched from the end.
                pairs = zip(reversed(inner.jaxpr.invars), reversed(equation.invars), strict=False)
                for variable, outer in pairs:
                    self._sources.setdefault(variable, _variables([outer]))
                self._add_equations(inner.jaxpr.eqns)


def _variables(atoms: Sequence[object]) -> tuple[Var, ...]:
    return tuple([atom for atom in atoms if isinstance(atom, Var)])


def _argument_name(names: Sequence[str], index: int) -> str:
    return names[index] if index < len(names) else f"argument {index}"
