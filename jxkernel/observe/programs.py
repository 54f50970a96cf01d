"""Programs as people read them: an outline of plain data, in the names of the user's code."""

from __future__ import annotations

import itertools
import linecache
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from jxkernel import source
from jxkernel._reprs import counted
from jxkernel.api.arguments import Call, leaf_names
from jxkernel.api.jit import jit_state
from jxkernel.core.jaxpr import Atom, ClosedJaxpr, Eqn, Jaxpr, Var, subjaxprs
from jxkernel.core.printing import atom_text, letters, parameters_text
from jxkernel.observe.bindings import Bindings
from jxkernel.observe.costs import Cost, equation_cost
from jxkernel.observe.outlined_programs import keep

__all__ = [
    "Equation",
    "Outline",
    "Placed",
    "Program",
    "SourceLine",
    "Variable",
    "count_equations",
    "line_of",
    "outline",
    "transforms_of",
]

EQUATIONS = 400
"""How many equations an outline holds unless asked for more; the rest are counted."""

_TEXT = 300
_SOURCE_LINES = 400
_WRAPPERS = 50
_WIDTH = 80


class Variable(NamedTuple):
    """A variable: its name, and its type as jaxprs print it, ``f32[8]``."""

    name: str
    type: str

    def __str__(self) -> str:
        return f"{self.name}:{self.type}"


class Equation(NamedTuple):
    """One equation.

    Attributes:
      number: its number in the whole outline, from 1, in the order of tracing.
      primitive: the primitive's name.
      parameters: its parameters without programs, ``[axes=(0,)]``; empty where there are none.
      operands: names of variables, and literals with their types.
      results: the variables that it defines.
      is_named: whether a result bears a name of the user's code.
      file: where the user's code made it; empty when unknown.
      line: the line there; 0 when unknown.
      cost: the estimated cost, with that of inner programs.
      programs: the programs inside.
      inside: how many equations those hold.
    """

    number: int
    primitive: str
    parameters: str
    operands: tuple[str, ...]
    results: tuple[Variable, ...]
    is_named: bool
    file: str
    line: int
    cost: Cost
    programs: tuple[Program, ...] = ()
    inside: int = 0

    @property
    def right_side(self) -> str:
        """What the results are: the primitive with its parameters and operands."""
        operands = " ".join(self.operands)
        text = f"{self.primitive}{self.parameters}{' ' if operands else ''}{operands}"
        return text if len(text) <= _TEXT else f"{text[:_TEXT]}…"

    @property
    def text(self) -> str:
        """The equation on one line: ``h:f32[8] = tanh a``; a long one is cut."""
        results = " ".join([f"{one.name}:{one.type}" for one in self.results])
        text = f"{results or '_'} = {self.right_side}"
        return text if len(text) <= 2 * _TEXT else f"{text[: 2 * _TEXT]}…"


@dataclass(frozen=True, slots=True)
class Program:
    """A program of the outline: the whole one, or one inside an equation.

    Attributes:
      label: what it is to its equation: ``jaxpr``, ``branches[0]``; empty for the whole program.
      constants: the variables of captured arrays.
      inputs: the variables of its arguments.
      equations: its equations, in order.
      results: names of variables, and literals.
      left_out: how many equations of its own are not listed.
    """

    label: str
    constants: tuple[Variable, ...]
    inputs: tuple[Variable, ...]
    equations: tuple[Equation, ...]
    results: tuple[str, ...]
    left_out: int = 0

    @property
    def head(self) -> str:
        """Constants and arguments as jaxprs print them: ``c:f32[3]; x:f32[8] y:f32[]``."""
        inputs = " ".join(map(str, self.inputs))
        return f"{' '.join(map(str, self.constants))};{' ' if inputs else ''}{inputs}"

    @property
    def tail(self) -> str:
        """The results as jaxprs print them: ``(loss,)``."""
        return f"({', '.join(self.results)}{',' if len(self.results) == 1 else ''})"


@dataclass(frozen=True, slots=True)
class Placed:
    """A program among the equations of a listing.

    Attributes:
      program: the program, without its equations.
      equation: the number of the equation that it lies in; 0 for the whole program.
      depth: how many programs it lies in.
      first: the number of its first equation.
      end: the number after that of the last equation in it; ``first`` where it has none.
      is_whole: whether its results are known: they are named after its equations.
    """

    program: Program
    equation: int
    depth: int
    first: int
    end: int
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the user's code and what became of it: equations, and their cost."""

    file: str
    line: int
    text: str
    equations: int = 0
    cost: Cost = field(default_factory=Cost)


@dataclass(frozen=True, slots=True)
class Outline:
    """A program as plain data.

    Attributes:
      title: what it is called.
      stack: the function and the transforms applied to it, innermost first.
      program: the whole program.
      count: the number of its equations, inner ones included.
      cost: its estimated cost.
      source: the lines of the user's code from the first to the last that made an equation, file
        by file.
      token: what ``walk_kept`` and ``kept_program`` know the program by; empty where nobody does.
    """

    title: str
    stack: tuple[str, ...]
    program: Program
    count: int
    cost: Cost
    source: tuple[SourceLine, ...]
    token: str = ""

    def walk(self) -> Iterator[tuple[int, Equation]]:
        """Every listed equation with its depth, in order."""
        return _walked(self.program, 0)

    def programs(self) -> Iterator[Placed]:
        """Every listed program, in the order of their equations."""
        return _placed(self.program, 0, 0, 1)

    @property
    def is_transformed(self) -> bool:
        """Whether the stack says more than that something was jitted."""
        return len(self.stack) > 1 + (self.stack[-1:] == ("jit",))

    def __str__(self) -> str:
        stack = [" → ".join(self.stack)] * self.is_transformed
        lines = list(_program_lines(self.program, ""))
        flat = " ".join(line.strip() for line in lines)
        return "\n".join([*stack, *([flat] if len(flat) <= _WIDTH and self.count < 2 else lines)])


def outline(
    program: Any,
    *,
    title: str = "jaxpr",
    function: Callable[..., Any] | None = None,
    stack: Sequence[str] = (),
    arguments: Sequence[str] = (),
    names: Mapping[Any, str] | None = None,
    reserved: Collection[str] = (),
    limit: int = EQUATIONS,
) -> Outline:
    """Return a program as plain data, in the names of the user's code where they are known.

    A result is named where an equation is the last one that an assignment's right side made, and
    its place leaves no doubt; other variables get letters.

    Args:
      program: a closed jaxpr, or a stage such as ``jax.jit(f).trace(x)``.
      title: what to call it.
      function: the function of which the program is the trace: its transforms are the stack, and
        where ``program`` is a stage its parameters name the arguments.
      stack: the function and the transforms applied to it, as ``transforms_of`` gives them.
      arguments: names for the program's arguments.
      names: names for its variables, where they were watched while it was traced.
      reserved: names that no letter may equal: those of the user's variables.
      limit: how many equations to list; the rest are counted.

    >>> import jxkernel as jx
    >>> from jxkernel.observe import outline
    >>> wave = jx.jit(lambda angle: jx.numpy.sin(angle) * 2.0)
    >>> print(outline(wave.trace(1.0), function=wave))
    { lambda ; angle:f32[]. let
        a:f32[] = sin angle
        b:f32[] = mul a 2.0:f32[]
      in (b,) }
    """
    closed = program if isinstance(program, ClosedJaxpr) else program.jaxpr
    if function is not None:
        stack = stack or transforms_of(function)
        arguments = arguments or _argument_names(function, program)
    bindings = Bindings()
    taken = frozenset(reserved)
    builder = _Builder(names or {}, bindings, limit, taken)
    listed = builder.program(closed.jaxpr, "", arguments)
    lines, cost = builder.source_lines(closed.jaxpr)
    count = count_equations(closed.jaxpr)
    walk = partial(
        _walk,
        arguments=arguments,
        names=names or {},
        bindings=bindings,
        count=count,
        reserved=taken,
    )
    token = keep(closed, title, walk)
    return Outline(title, tuple(stack), listed, count, cost, lines, token)


def _walk(
    closed: ClosedJaxpr,
    arguments: Sequence[str],
    names: Mapping[Any, str],
    bindings: Bindings,
    count: int,
    reserved: frozenset[str],
) -> Iterator[Placed | tuple[int, Equation]]:
    builder = _Builder(names, bindings, sys.maxsize, reserved)
    return builder.walk(closed.jaxpr, count, arguments=arguments)


def count_equations(jaxpr: Jaxpr) -> int:
    """Return the number of equations, those of inner programs included."""
    return len(jaxpr.eqns) + sum([_count_inside(eqn) for eqn in jaxpr.eqns if eqn.params])


def transforms_of(function: Any) -> tuple[str, ...]:
    """Return a function's name and the transforms applied to it, innermost first.

    >>> import jxkernel as jx
    >>> from jxkernel.observe import transforms_of
    >>> def f(x):
    ...     return x * x
    >>> transforms_of(jx.jit(jx.vmap(jx.grad(f))))
    ('f', 'grad', 'vmap', 'jit')
    """
    found: list[str] = []
    for _ in range(_WRAPPERS):
        inner = getattr(function, "__wrapped__", None)
        if inner is None:
            break
        code = getattr(function, "__code__", None)
        if jit_state(function) is not None:
            found.append("jit")
        elif code is not None and source.is_internal(code):
            found.append(code.co_qualname.partition(".")[0])
        function = inner
    name = getattr(function, "__name__", "") or type(function).__name__
    return (name, *reversed(found))


def _argument_names(function: Any, program: Any) -> Sequence[str]:
    """Names for the leaves of the arguments, ``x`` or ``params['w']``, where known."""
    if isinstance(program, ClosedJaxpr):
        return ()
    state = jit_state(function)
    static = [(number, None) for number in state.options.static.numbers] if state else []
    call = Call([], program.in_tree, tuple(static))
    return leaf_names(state.fun if state else function, call)


def _count_inside(eqn: Eqn) -> int:
    return sum(count_equations(inner.jaxpr) for inner in subjaxprs(eqn.params))


class _UserNames(dict[Var, str]):
    """Names for the variables of one program: given ones, each once, and letters for the rest.

    A name that is there is found without entering Python: long programs ask for millions.

    Args:
      reserved: names that may be given later, and that are no letters therefore.
    """

    def __init__(self, reserved: Collection[str]) -> None:
        self._given: set[Var] = set()
        self._times: dict[str, int] = {}
        self._no_letters = set(reserved)
        self._letters = itertools.filterfalse(self._no_letters.__contains__, letters())

    def give(self, var: Var, name: str) -> None:
        """Give a variable a name, numbered where another one has it already."""
        if var not in self._given and name:
            count = self._times[name] = self._times.get(name, 0) + 1
            self[var] = name if count == 1 else f"{name}·{count}"
            self._given.add(var)
            self._no_letters.add(name)

    def are_given(self, variables: Sequence[Var]) -> bool:
        """Whether one of the variables was given a name."""
        return not self._given.isdisjoint(variables)

    def __missing__(self, var: Var) -> str:
        name = self[var] = next(self._letters)
        return name


class _Builder:
    """Makes the parts of one outline."""

    def __init__(
        self,
        names: Mapping[Any, str],
        bindings: Bindings,
        limit: int,
        reserved: frozenset[str] = frozenset(),
    ) -> None:
        self._reserved = reserved
        self._watched = names
        self._watched_names = frozenset(names.values())
        self._left = limit
        self._characters = limit * _TEXT // 3
        self._number = 0
        self._bindings = bindings
        self._types: dict[Any, str] = {}

    @property
    def listed(self) -> int:
        """How many equations were listed."""
        return self._number

    def program(self, jaxpr: Jaxpr, label: str, arguments: Sequence[str] = ()) -> Program:
        """One program, and those inside its equations, as far as there is room."""
        names = self._names(jaxpr, arguments)
        begun = self._begun(jaxpr, label, names)
        equations: list[Equation] = []
        for frame, eqn in self._named(jaxpr, names):
            if self._left <= 0 or self._characters <= 0:
                break
            one = self._equation(frame, eqn, names)
            programs = tuple(self.program(inner.jaxpr, label) for label, inner in _programs(eqn))
            equations.append(one._replace(programs=programs) if programs else one)
        left_out = len(jaxpr.eqns) - len(equations)
        results = _results(jaxpr, names)
        return replace(begun, equations=tuple(equations), results=results, left_out=left_out)

    def walk(
        self,
        jaxpr: Jaxpr,
        count: int,
        label: str = "",
        arguments: Sequence[str] = (),
        equation: int = 0,
        depth: int = 0,
    ) -> Iterator[Placed | tuple[int, Equation]]:
        """One program and those inside its equations, one by one."""
        names = self._names(jaxpr, arguments)
        first = self._number + 1
        program, end = self._begun(jaxpr, label, names), first + count
        yield Placed(program, equation, depth, first, end, is_whole=False)
        for frame, eqn in self._named(jaxpr, names):
            one = self._equation(frame, eqn, names)
            yield depth, one
            for inner_label, inner in _programs(eqn) if eqn.params else ():
                inside = count_equations(inner.jaxpr)
                yield from self.walk(inner.jaxpr, inside, inner_label, (), one.number, depth + 1)
        program = replace(program, results=_results(jaxpr, names))
        yield Placed(program, equation, depth, first, end)

    def _begun(self, jaxpr: Jaxpr, label: str, names: _UserNames) -> Program:
        """A program of which the equations and the results are to come."""
        constants = tuple([self._variable(var, names) for var in jaxpr.constvars])
        inputs = tuple([self._variable(var, names) for var in jaxpr.invars])
        return Program(label, constants, inputs, (), ())

    def _variable(self, var: Var, names: _UserNames) -> Variable:
        text = self._types.get(var.aval)
        if text is None:
            text = self._types[var.aval] = var.aval.short()
        return Variable(names[var], text)

    def _names(self, jaxpr: Jaxpr, arguments: Sequence[str]) -> _UserNames:
        candidates = self._watched_names or self._bindings.candidates(jaxpr)
        names = _UserNames(self._reserved.union(candidates))
        given = [*arguments, *[""] * len(jaxpr.invars)]
        for var, name in zip(jaxpr.invars, given, strict=False):
            names.give(var, name or self._watched.get(var, ""))
        return names

    def _named(self, jaxpr: Jaxpr, names: _UserNames) -> Iterator[tuple[source.Frame | None, Eqn]]:
        """The equations of a program, each when its results have the names that they are given."""
        if self._watched:
            for frame, eqn in zip(self._bindings.frames(jaxpr), jaxpr.eqns, strict=True):
                for var in eqn.outvars:
                    names.give(var, self._watched.get(var, ""))
                yield frame, eqn
            return
        for frame, run, bound in self._bindings.runs(jaxpr):
            for var, name in zip(run[-1].outvars, bound, strict=False):
                names.give(var, name)
            for eqn in run:
                yield frame, eqn

    def _equation(self, frame: source.Frame | None, eqn: Eqn, names: _UserNames) -> Equation:
        self._left -= 1
        self._number += 1
        number = self._number
        operands = tuple([_atom(atom, names) for atom in eqn.invars])
        results = tuple([self._variable(var, names) for var in eqn.outvars])
        parameters = _parameters(eqn)
        self._characters -= len(parameters) + len("".join(operands)) + 20 * len(results)
        return Equation(
            number,
            eqn.primitive.name,
            parameters,
            operands,
            results,
            names.are_given(eqn.outvars),
            frame.file if frame else "",
            frame.line if frame else 0,
            equation_cost(eqn),
            inside=_count_inside(eqn) if eqn.params else 0,
        )

    def source_lines(self, jaxpr: Jaxpr) -> tuple[tuple[SourceLine, ...], Cost]:
        """What each line of the user's code became, and the cost of everything together."""
        sums: defaultdict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
        for depth, frame, eqn in self._framed(jaxpr, 0):
            found = sums[(frame.file, frame.line) if frame else ("", 0)]
            found[0] += 1
            if not depth:  # The cost of what lies deeper is in it.
                cost = equation_cost(eqn)
                found[1] += cost.flops
                found[2] += cost.bytes
        _, flops, moved = map(sum, zip(*sums.values(), strict=True)) if sums else (0, 0, 0)
        sums.pop(("", 0), None)
        return tuple(_lines(sums)), Cost(flops, moved)

    def _framed(self, jaxpr: Jaxpr, depth: int) -> Iterator[tuple[int, source.Frame | None, Eqn]]:
        """All equations, those of inner programs included, with their depths and frames."""
        for frame, eqn in zip(self._bindings.frames(jaxpr), jaxpr.eqns, strict=True):
            yield depth, frame, eqn
            for inner in subjaxprs(eqn.params) if eqn.params else ():
                yield from self._framed(inner.jaxpr, depth + 1)


def _lines(sums: Mapping[tuple[str, int], Sequence[int]]) -> Iterator[SourceLine]:
    """For each file its lines from the first to the last used, long gaps left out.

    Args:
      sums: the equations of each line, their operations and their bytes.
    """
    left = _SOURCE_LINES
    for file in dict.fromkeys(file for file, _ in sums):
        used = sorted(line for name, line in sums if name == file)
        wanted = sorted({at for line in used for at in range(line - 3, line + 1)})
        for line in wanted:
            if line < used[0] or left <= 0:
                continue
            left -= 1
            count, flops, moved = sums.get((file, line), (0, 0, 0))
            yield SourceLine(file, line, line_of(file, line), count, Cost(flops, moved))


def line_of(file: str, line: int) -> str:
    """Return a line of source, without its end; empty where there is none."""
    try:
        return linecache.getline(file, line).rstrip("\r\n")
    except ValueError:  # no file can have such a name
        return ""


def _results(jaxpr: Jaxpr, names: _UserNames) -> tuple[str, ...]:
    return tuple([_atom(atom, names) for atom in jaxpr.outvars])


def _atom(atom: Atom, names: _UserNames) -> str:
    return names[atom] if type(atom) is Var else atom_text(atom, names.__getitem__)


def _placed(program: Program, equation: int, depth: int, first: int) -> Iterator[Placed]:
    """A program and those inside it, in the order of their equations."""
    yield Placed(program, equation, depth, first, _end(program, first))
    for one in program.equations:
        begin = one.number + 1
        for each in one.programs:
            yield from _placed(each, one.number, depth + 1, begin)
            begin = _end(each, begin)


def _end(program: Program, first: int) -> int:
    """The number after that of the last equation in a program; ``first`` where it has none."""
    if not program.equations:
        return first
    last = program.equations[-1]
    end = last.number + 1
    for each in last.programs:
        end = _end(each, end)
    return end


def _walked(program: Program, depth: int) -> Iterator[tuple[int, Equation]]:
    for equation in program.equations:
        yield depth, equation
        for inner in equation.programs:
            yield from _walked(inner, depth + 1)


def _programs(eqn: Eqn) -> Iterator[tuple[str, ClosedJaxpr]]:
    for name, value in eqn.params.items():
        if isinstance(value, ClosedJaxpr):
            yield name, value
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                if isinstance(item, ClosedJaxpr):
                    yield f"{name}[{index}]", item


def _parameters(eqn: Eqn) -> str:
    """The parameters without programs, which are listed by themselves."""
    if not eqn.params:
        return ""
    plain = {name: value for name, value in eqn.params.items() if not any(subjaxprs({name: value}))}
    text = parameters_text(eqn if len(plain) == len(eqn.params) else eqn.replace(params=plain))
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}…]"


def _program_lines(program: Program, indent: str) -> Iterator[str]:
    label = f"{program.label}=" if program.label else ""
    yield f"{indent}{label}{{ lambda {program.head}. let"
    for equation in program.equations:
        yield f"{indent}    {equation.text}"
        for inner in equation.programs:
            yield from _program_lines(inner, f"{indent}      ")
    if program.left_out:
        yield f"{indent}    … {counted(program.left_out, 'more equation')}"
    yield f"{indent}  in {program.tail} }}"
