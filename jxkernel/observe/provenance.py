"""Provenance: what in the user's source is traced, static, or baked in, and why.

Use:

    with watch() as watching:
        step(params, batch)          # must trace: a call that hits its cache shows nothing
    print(watching.provenance().why("loss"))
"""

from __future__ import annotations

import functools
import itertools
from collections import ChainMap, Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from jxkernel import events
from jxkernel.api.jit import jit, jit_state
from jxkernel.core.jaxpr import Eqn, Var
from jxkernel.observe.dataflow import DataFlow
from jxkernel.observe.loops import rewritten
from jxkernel.observe.marks import (
    FunctionMap,
    Kind,
    Link,
    Loop,
    Mark,
    NameFact,
    Provenance,
    spoken_name,
)
from jxkernel.observe.names import CodeNotes, NameWatch, Value
from jxkernel.observe.syntax import FunctionSyntax, LoopSyntax, Occurrence, SourceFiles, Span
from jxkernel.runtime import ArrayImpl

__all__ = ["Provenance", "Watching", "provenance", "watch"]

_Position = tuple[int, int, int, int]
"""Line, column, last line and last column, with columns in UTF-8 bytes."""

_COMPARED_BYTES = 1 << 20

_ARRAYS = (np.ndarray, ArrayImpl)

_LINKS = 20
"""A longer chain shows so many, and the argument in which it ends."""


class Watching:
    """A watch under way or over; ``provenance()`` gives what it saw.

    Args:
      names: the notes.
      returned: inputs of a cell whose changes in place the notebook is given.
    """

    def __init__(self, names: NameWatch, returned: Collection[str] = ()) -> None:
        self._names = names
        self._returned = returned

    def provenance(self, told_of: str = "") -> Provenance:
        """Put together what was seen so far.

        Args:
          told_of: the function by whose name events tell of side effects and constants; without
            it none are emitted.
        """
        builder = _Builder(self._names, self._returned)
        if told_of:
            builder.emit(told_of)
        return builder.build()

    def variable_names(self) -> dict[Any, str]:
        """The first name of each jaxpr variable; of those that a container holds, none."""
        # The hash of a code object is that of all its instructions: its address does as well.
        names_of = self._names.names_of
        holders = Counter((name, id(code), line) for name, code, line in names_of.values())
        return {
            variable: name
            for variable, (name, code, line) in names_of.items()
            if holders[name, id(code), line] == 1
        }


@contextmanager
def watch() -> Iterator[Watching]:
    """Watch the user's functions that are traced inside the block.

    At the end of the block a ``TraceTimeEffect`` and a ``ConstantCaptured`` event is emitted for
    each side effect and constant, if someone listens.
    """
    names = NameWatch()
    watching = Watching(names)
    with names:
        yield watching
    if events.listening_to(events.TraceTimeEffect) or events.listening_to(events.ConstantCaptured):
        _Builder(names).emit()


def provenance(
    function: Callable[..., Any],
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
) -> Callable[..., Provenance]:
    """Return a function of the same arguments that gives the provenance of ``function``'s names.

    The function is traced anew, and neither compiled nor run; its side effects at trace time
    happen again. Jitted functions that it calls show their names only if they trace anew too.

    Args:
      function: a function, jitted or not; a jitted one brings its own static arguments.
      static_argnums: positions of static arguments, as for ``jit``.
      static_argnames: names of static arguments, as for ``jit``.
    """
    state = jit_state(function)
    if state is not None:
        function = state.fun
        static_argnums, static_argnames = state.options.static.numbers, state.options.static.names

    def watched(*args: Any, **kwargs: Any) -> Provenance:
        fresh = jit(
            _fresh(function), static_argnums=static_argnums, static_argnames=static_argnames
        )
        with watch() as watching:
            fresh.trace(*args, **kwargs)
        return watching.provenance()

    return watched


def _fresh(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function as a new object, for which no cache holds a trace."""
    if not isinstance(function, FunctionType):
        return functools.partial(function)
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__dict__.update(function.__dict__)
    return copy


class _Builder:
    """Joins the notes of a watch with dataflow and source text."""

    def __init__(self, names: NameWatch, returned: Collection[str] = ()) -> None:
        self._names = names
        self._returned = returned
        self._files = SourceFiles()
        self._syntaxes: dict[int, FunctionSyntax | None] = {}
        self._found_effects: dict[int, list[Mark]] = {}
        called = {variable: name for variable, (name, _, _) in names.names_of.items()}
        self._dataflow = DataFlow(names.traces, called)
        self._constants = _Constants(
            [value for trace in names.traces for value in trace.const_values]
        )
        self._places = _places(names)

    def build(self) -> Provenance:
        """The maps of all functions, in the order in which they were first entered."""
        return Provenance(tuple(self._function(one) for one in self._names.codes.values()))

    def emit(self, function: str = "") -> None:
        """Emit an event for each side effect and each constant, of each function or of one."""
        for notes in self._names.codes.values():
            name, file = function or notes.code.co_name, notes.code.co_filename
            for mark in self._effects(notes):
                events.emit(
                    events.TraceTimeEffect, fun=name, effect=mark.code, file=file, line=mark.line
                )
            values = {note.name: note.value for note in notes.notes} | notes.globals
            for constant, value in values.items():
                for array in filter(self._constants.__contains__, value.arrays):
                    _emit_constant(name, constant, array)

    def _syntax(self, code: CodeType) -> FunctionSyntax | None:
        if id(code) not in self._syntaxes:
            self._syntaxes[id(code)] = self._files.function(code)
        return self._syntaxes[id(code)]

    def _function(self, notes: CodeNotes) -> FunctionMap:
        code = notes.code
        syntax = self._syntax(code)
        effects = self._effects(notes)
        marks = self._marks(notes, syntax) if syntax else []
        return FunctionMap(
            name=code.co_name,
            file=code.co_filename,
            first_line=code.co_firstlineno,
            calls=notes.calls,
            complete=notes.complete,
            names=tuple(self._facts(notes, syntax)),
            marks=tuple(sorted((*marks, *effects), key=lambda one: (one.line, one.column))),
            effects=tuple(effects),
            loops=tuple(self._loops(notes, syntax) if syntax else ()),
            source=tuple(syntax.source()) if syntax else (),
        )

    def _facts(self, notes: CodeNotes, syntax: FunctionSyntax | None) -> Iterator[NameFact]:
        latest: dict[str, tuple[int, Value]] = {}
        for note in notes.notes:
            latest[note.name] = (note.line, note.value)
        code = notes.code
        arguments = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        function = spoken_name(code.co_name)
        for name, (line, value) in latest.items():
            yield self._fact(name, value, function, line, syntax, name in arguments)
        for name, value in notes.globals.items():
            if name not in latest:
                yield self._fact(name, value, function, 0, syntax, False)

    def _fact(
        self,
        name: str,
        value: Value,
        function: str,
        line: int,
        syntax: FunctionSyntax | None,
        is_argument: bool,
    ) -> NameFact:
        kind = self._kind(value)
        return NameFact(
            name=name,
            function=function,
            kind=kind,
            detail=value.text,
            line=line,
            code=syntax.line_text(line) if syntax and line else "",
            chain=tuple(self._chain(value.variables, name)),
            depends_on=self._dataflow.reached(value.variables),
            bytes=_size(value) if kind == "constant" else 0,
            is_argument=is_argument and line == 0,
        )

    def _kind(self, value: Value) -> Kind:
        if value.kind == "traced":
            return "traced"
        return "constant" if any(map(self._constants.__contains__, value.arrays)) else "static"

    def _chain(self, variables: Iterable[Var], name: str) -> Iterator[Link]:
        """The named values on the way to an argument, without the name that it begins with."""
        start = self._dataflow.nearest(variables)
        if start is None:
            return
        links = itertools.dropwhile(
            functools.partial(self._is_called, name), self._dataflow.chain(start)
        )
        end = self._dataflow.end(start)
        for number, variable in enumerate(links):
            if number == _LINKS and variable is not end:
                yield Link("…", "")
                yield self._link(end)
                return
            yield self._link(variable)

    def _is_called(self, name: str, variable: Var) -> bool:
        return (
            variable not in self._dataflow.arguments and self._names.names_of[variable][0] == name
        )

    def _link(self, variable: Var) -> Link:
        detail = variable.aval.short(weak=True)
        if variable in self._dataflow.arguments:
            return Link(self._dataflow.arguments[variable], detail)
        name, code, line = self._names.names_of[variable]
        return Link(name, detail, line or code.co_firstlineno, self._text(code, line))

    def _text(self, code: CodeType, line: int) -> str:
        """The text of a line; what was there at the entry of a function came as its argument."""
        if not line:
            return f"argument of {spoken_name(code.co_name)}"
        syntax = self._syntax(code)
        return syntax.line_text(line) if syntax else ""

    def _marks(self, notes: CodeNotes, syntax: FunctionSyntax) -> Iterator[Mark]:
        history = _History(notes)
        for occurrence in syntax.occurrences():
            value = history.value_at(occurrence)
            if value is not None:
                yield self._mark(occurrence.name, occurrence.span, value)
        yield from self._expression_marks(notes, syntax)

    def _mark(self, name: str, span: Span, value: Value) -> Mark:
        kind = self._kind(value)
        size = _size(value) if kind == "constant" else 0
        return _mark(kind, name, span, value.text, size)

    def _expression_marks(self, notes: CodeNotes, syntax: FunctionSyntax) -> Iterator[Mark]:
        """Expressions whose evaluation recorded equations, with the type of the last result."""
        last = {position: equation for equation, position in self._places[id(notes.code)]}
        types = {syntax.span(*position): _result_text(one) for position, one in last.items()}
        for span, text in syntax.expressions(types):
            yield _mark("traced", text, span, types[span], is_name=False)

    def _effects(self, notes: CodeNotes) -> list[Mark]:
        """The side effects that happened; told of as events, and marked."""
        key = id(notes.code)
        if key not in self._found_effects:
            syntax = self._syntax(notes.code)
            self._found_effects[key] = self._find_effects(notes, syntax) if syntax else []
        return self._found_effects[key]

    def _find_effects(self, notes: CodeNotes, syntax: FunctionSyntax) -> list[Mark]:
        first = next(iter(self._names.codes.values()))
        is_entry = notes is first or notes.code.co_name == "<module>"
        return [
            _mark("effect", one.code, one.span, f"{one.problem}; {one.instead}", is_name=False)
            for one in syntax.effects(_known(notes), self._kept(notes.code), is_entry=is_entry)
            if any(notes.counts[line] for line in range(one.span.line, one.span.end_line + 1))
        ]

    def _kept(self, code: CodeType) -> Collection[str]:
        """The names whose changes are no loss: a traced function around this one has them."""
        if code.co_name == "<module>":
            return self._returned
        around = (one.code for one in self._names.codes.values() if one.code is not code)
        owned = {
            name
            for one in around
            if one.co_filename == code.co_filename
            for name in one.co_cellvars
        }
        return owned.intersection(code.co_freevars)

    def _loops(self, notes: CodeNotes, syntax: FunctionSyntax) -> Iterator[Loop]:
        for loop in syntax.loops():
            times = _rounds(notes, loop)
            body = range(loop.first_body_line, loop.end_line + 1)
            equations = sum(line in body for _, (line, *_) in self._places[id(notes.code)])
            if times > 1 and equations:
                form = "lax.while_loop(condition, body, carry)"
                if not loop.is_while:
                    form = f"lax.fori_loop(0, {times}, body, carry), or lax.scan(body, carry, xs)"
                text = syntax.line_text(loop.line)
                rewrite = rewritten(loop.node, syntax.node, _inputs(notes), _Stacked(notes))
                yield Loop(loop.line, text, times, equations, form, rewrite)


class _Constants:
    """The arrays that traces have baked in: themselves, or what they were copied from.

    NumPy arrays are converted on their way into a trace, so identity alone does not do.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = [value for value in values if value.nbytes <= _COMPARED_BYTES]
        self._own = {id(value) for value in values}

    def __contains__(self, array: Any) -> bool:
        if id(array) in self._own:
            return True
        if not isinstance(array, np.ndarray) or array.nbytes > _COMPARED_BYTES:
            return False
        dtypes, contents = self._contents
        return any(_content(array, dtype) in contents for dtype in dtypes.get(array.shape, ()))

    @functools.cached_property
    def _contents(self) -> tuple[dict[tuple[int, ...], set[Any]], set[Any]]:
        """The dtypes of constants by shape, and all their contents; read when one is asked for."""
        arrays = [np.asarray(value) for value in self._values if isinstance(value, _ARRAYS)]
        dtypes: dict[tuple[int, ...], set[Any]] = {}
        for array in arrays:
            dtypes.setdefault(array.shape, set()).add(array.dtype)
        return dtypes, {_content(array, array.dtype) for array in arrays}


def _content(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> Any:
    """What arrays of the same content share, after conversion to a dtype."""
    try:
        with np.errstate(all="ignore"):
            converted = array.astype(dtype)
    except (TypeError, ValueError):  # an array of texts or objects
        return None
    return (array.shape, converted.dtype, hash(converted.tobytes()))


class _History:
    """What each name held when, from the notes of one call."""

    def __init__(self, notes: CodeNotes) -> None:
        self._globals = notes.globals
        self._steps: dict[int, int] = {}
        for step, line in enumerate(notes.lines, start=1):
            self._steps[line] = step
        self._changes: dict[str, list[tuple[int, Value]]] = {}
        for note in notes.notes:
            self._changes.setdefault(note.name, []).append((note.step, note.value))

    def value_at(self, occurrence: Occurrence) -> Value | None:
        """What a name held where it stands; what it was bound to, where it is bound.

        A change noted at step ``n`` was seen when line ``n`` had run, so a use in that line still
        had the value before it.
        """
        changes = self._changes.get(occurrence.name)
        if changes is None:
            return None if occurrence.binds else self._globals.get(occurrence.name)
        step = 1 if occurrence.is_argument else self._step_of(occurrence)
        if step is None:
            return None
        latest = step if occurrence.binds else step - 1
        return next(
            (value for changed_at, value in reversed(changes) if changed_at <= latest), None
        )

    def _step_of(self, occurrence: Occurrence) -> int | None:
        """The step that ran the line; a line inside a statement belongs to one before it."""
        lines = range(occurrence.span.line, occurrence.end_line + 1)
        if occurrence.binds:
            return max((self._steps[line] for line in lines if line in self._steps), default=None)
        return self._steps.get(occurrence.span.line)


class _Stacked:
    """Writes what a loop runs over as one array: a list of arrays has to be stacked."""

    def __init__(self, notes: CodeNotes) -> None:
        self._texts = {name: value.text for name, value in notes.globals.items()}
        self._texts |= {note.name: note.value.text for note in notes.notes}

    def __call__(self, expression: str) -> str:
        text = self._texts.get(expression, "")
        if text.startswith(("[{", "[(", "[[", "({", "((")):
            return f"tree.map(lambda *leaves: jnp.stack(leaves), *{expression})"
        return f"jnp.stack({expression})" if text.startswith(("[", "(")) else expression


def _known(notes: CodeNotes) -> Mapping[str, Any]:
    """What names stand for at the entry of a function; ``self`` where the session names it."""
    namespace, entered = notes.namespace, notes.entered
    owner = entered.get("self")
    if owner is not None and not any(value is owner for value in namespace.values()):
        entered = {name: value for name, value in entered.items() if name != "self"}
    return ChainMap(entered, namespace)


def _inputs(notes: CodeNotes) -> list[str]:
    """The names that have a value when the code is entered."""
    return [note.name for note in notes.notes if note.line == 0]


def _mark(
    kind: Kind, code: str, span: Span, detail: str, size: int = 0, *, is_name: bool = True
) -> Mark:
    return Mark(
        kind,
        code,
        span.line,
        span.column,
        span.end_line,
        span.end_column,
        detail,
        size,
        is_name,
    )


def _rounds(notes: CodeNotes, loop: LoopSyntax) -> int:
    """How often a loop's body was entered: from its header, whose line the next line follows."""
    if loop.first_body_line == loop.line:
        return notes.counts[loop.line]
    header = range(loop.line, loop.first_body_line)
    return sum(
        before in header and after == loop.first_body_line
        for before, after in itertools.pairwise(notes.lines)
    )


def _places(names: NameWatch) -> dict[int, list[tuple[Eqn, _Position]]]:
    """For each watched code object the equations that it caused, each with its place in it.

    Raw frames are read here, and the positions of a code object once for all its equations:
    resolving each equation by itself would cost the length of the function every time.
    """
    positions = {id(notes.code): list(notes.code.co_positions()) for notes in names.codes.values()}
    places: dict[int, list[tuple[Eqn, _Position]]] = {key: [] for key in positions}
    for trace in names.traces:
        for equation in trace.eqns:
            codes, offsets = equation.source.raw_frames() if equation.source else ((), ())
            # Most frames of a deep stack are of no watched code: they are passed over in C.
            are_watched = map(positions.__contains__, map(id, codes))
            for at in itertools.compress(itertools.count(), are_watched):
                key = id(codes[at])
                line, end_line, column, end_column = positions[key][max(offsets[at], 0) // 2]
                if line is not None:
                    place = (line, column or 0, end_line or line, end_column or 0)
                    places[key].append((equation, place))
    return places


def _result_text(equation: Eqn) -> str:
    texts = [variable.aval.short(weak=True) for variable in equation.outvars]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _size(value: Value) -> int:
    return sum(array.nbytes for array in value.arrays)


def _emit_constant(function: str, name: str, array: Any) -> None:
    events.emit(
        events.ConstantCaptured,
        fun=function,
        name=name,
        shape=tuple(array.shape),
        dtype=str(array.dtype),
        bytes=array.nbytes,
    )
