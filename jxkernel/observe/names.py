"""Watching names: what the user's variables hold while a function is traced.

How: Python tells of calls and lines (``frames.py``) for the length of a ``with`` block, in the
user's functions only, and only while a trace is current.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, Literal, Self

import numpy as np

from jxkernel import source, tree
from jxkernel._reprs import seen_in_words
from jxkernel.core.avals import abstractify, shape_text
from jxkernel.core.jaxpr import Var
from jxkernel.core.trace import Tracer, looking, state
from jxkernel.observe.frames import CallFeed, followed_calls
from jxkernel.transforms.stage import StageTrace, StageTracer
from jxkernel.tree import physical

__all__ = ["CodeNotes", "NameWatch", "Note", "Value", "describe"]

_TEXT_LENGTH = 200
_LINES_PER_CALL = 20_000
_COMPARED_NAMES = 32
"""Of a function with more names only those are compared that the line can have bound. To know them
its bytecode is read, which takes longer than to compare a few names."""
_UNMARKED = (ModuleType, FunctionType, BuiltinFunctionType, MethodType, type)
_PLAIN = (int, float, complex, str, bytes)
_MUTABLE = (list, dict, set)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """What a name held.

    Attributes:
      kind: ``traced`` when any leaf is a tracer, ``array`` when any is a concrete array, else
        ``static``.
      text: its type (``f32[8]``, or ``{'b': f32[4], 'w': f32[8,4]}``), or the value of a static
        one.
      variables: the jaxpr variables of its traced leaves.
      arrays: its concrete array leaves.
      traces: the traces of its traced leaves.
    """

    kind: Literal["traced", "array", "static"]
    text: str
    variables: tuple[Var, ...] = ()
    arrays: tuple[Any, ...] = ()
    traces: tuple[Any, ...] = ()

    def __eq__(self, other: object) -> bool:
        """Compare what is shown and the variables; arrays do not compare to one truth value."""
        if not isinstance(other, Value):
            return NotImplemented
        return (self.kind, self.text, self.variables) == (other.kind, other.text, other.variables)

    def __hash__(self) -> int:
        return hash((self.kind, self.text, self.variables))


@dataclass(frozen=True, slots=True)
class Note:
    """A name changed its value.

    Attributes:
      step: the step that changed it, counted from 1, which is the entry of the function.
      line: the line of that step; 0 for what was there at the entry.
      name: the name.
      value: what it holds since.
    """

    step: int
    line: int
    name: str
    value: Value


@dataclass(slots=True)
class CodeNotes:
    """All that was noted of one code object, in its latest traced call.

    Attributes:
      code: the code object.
      calls: how many traced calls were seen.
      lines: the line of each step of the latest call, the entry first.
      notes: changes of names, in order, of the latest call.
      globals: the global names that the code may read and that are worth a mark.
      counts: how often each line ran in the latest call.
      complete: whether the call was followed to its end.
      namespace: the globals of the code.
      entered: what its arguments and free variables held at the entry of the latest call.
      reads: the names of globals that it reads; None until it was called.
    """

    code: CodeType
    calls: int = 0
    lines: list[int] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    globals: dict[str, Value] = field(default_factory=dict)
    counts: Counter[int] = field(default_factory=Counter)
    complete: bool = False
    namespace: dict[str, Any] = field(default_factory=dict)
    entered: dict[str, Any] = field(default_factory=dict)
    reads: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class _NamesByLine:
    """Names that single lines may bind, and names that any line may."""

    lines: Mapping[int, Iterable[str]]
    always: Iterable[str]

    def of(self, line: int) -> tuple[str, ...]:
        return (*self.lines.get(line, ()), *self.always)


class NameWatch:
    """Notes what names hold in every user function that is traced inside the ``with`` block.

    After the block, ``codes`` has the notes, ``traces`` the traces that were seen, and
    ``names_of`` the first name that each jaxpr variable was bound to: the name, the code that it is
    a name of, and the line. Functions of installed libraries are passed over.

    Args:
      most_calls: after how many calls of functions, the user's and others, nothing more is noted;
        None for no such limit.
    """

    def __init__(self, most_calls: int | None = None) -> None:
        self.codes: dict[int, CodeNotes] = {}
        self.traces: list[StageTrace] = []
        self.names_of: dict[Var, tuple[str, CodeType, int]] = {}
        self._by_line: dict[int, _NamesByLine] = {}
        self._most_calls = sys.maxsize if most_calls is None else most_calls
        self._calls: CallFeed | None = None

    def __enter__(self) -> Self:
        self._calls = followed_calls(_is_watched, self._enter, self._most_calls)
        self._calls.start()
        return self

    def __exit__(self, *_: object) -> None:
        # It refers to the watch: what that has seen must not outlive it until a collection.
        calls, self._calls = self._calls, None
        if calls is not None:
            calls.stop()

    def add_trace(self, trace: Any) -> None:
        """Remember a trace, and those that it runs in, if they record programs."""
        while trace is not None:
            if isinstance(trace, StageTrace) and all(trace is not seen for seen in self.traces):
                self.traces.append(trace)
            parent = trace.parent
            trace = None if parent is trace else parent

    def names_by_line(self, code: CodeType, names: Sequence[str]) -> _NamesByLine | None:
        """For code with many names those that each of its lines may bind; None for few."""
        if len(names) <= _COMPARED_NAMES:
            return None
        if id(code) not in self._by_line:
            self._by_line[id(code)] = _names_by_line(code, names)
        return self._by_line[id(code)]

    def _enter(self, frame: FrameType) -> _Call | None:
        if not _is_tracing():
            return None
        code = frame.f_code
        self.add_trace(state.trace)
        notes = self.codes.get(id(code))
        if notes is None:
            notes = self.codes[id(code)] = CodeNotes(code)
        return _Call(self, notes, frame)


class _Call:
    """One call under way: compares the names after each line with what they held before."""

    __slots__ = (
        *("_bound", "_held", "_names", "_names_of_line", "_namespace", "_notes"),
        "_watch",
    )

    def __init__(self, watch: NameWatch, notes: CodeNotes, frame: FrameType) -> None:
        code = frame.f_code
        self._watch = watch
        self._notes = notes
        self._held: dict[str, Any] = {}
        self._bound: dict[str, Note] = {}
        # Code without names of its own has one namespace for all lines. Python 3.12 warns where it
        # is asked for in the middle of a comprehension, whose variable it hides.
        self._namespace = None if _has_own_locals(code) else frame.f_locals
        self._names = _local_names(code)
        self._names_of_line = watch.names_by_line(code, self._names)
        notes.calls += 1
        notes.lines = [code.co_firstlineno]
        notes.notes = []
        notes.counts = Counter()
        notes.complete = False
        notes.namespace = frame.f_globals
        if notes.reads is None:
            notes.reads = _globals_read(code)
        notes.globals = dict(_global_values(notes.reads, frame))
        self._compare(frame)
        notes.entered = dict(self._held)

    def on_line(self, frame: FrameType) -> None:
        """Compare what the names hold before a line runs."""
        notes = self._notes
        if len(notes.lines) > _LINES_PER_CALL:
            return
        self._compare(frame)
        notes.lines.append(frame.f_lineno)
        notes.counts[frame.f_lineno] += 1

    def on_leave(self, frame: FrameType, raised: bool) -> None:
        """Compare once more, and look into what may have grown."""
        notes = self._notes
        if len(notes.lines) > _LINES_PER_CALL:
            return
        self._compare(frame)
        self._look_again_into_containers()
        notes.complete = not raised
        self._held.clear()

    def _compare(self, frame: FrameType) -> None:
        lines = self._notes.lines
        line = lines[-1] if len(lines) > 1 else 0
        names: Iterable[str] = self._names
        if self._names_of_line is not None and line:
            names = self._names_of_line.of(line)
        if not names:
            return
        values = frame.f_locals if self._namespace is None else self._namespace
        for name in names:
            if name in values:
                value = values[name]
                if name not in self._held or self._held[name] is not value:
                    self._held[name] = value
                    self._note(name, value, line)

    def _note(self, name: str, value: Any, line: int) -> None:
        described = describe(value)
        if described is None:
            return
        notes = self._notes
        note = self._bound[name] = Note(len(notes.lines), line, name, described)
        notes.notes.append(note)
        for variable in described.variables:
            self._watch.names_of.setdefault(variable, (name, notes.code, line))
        for trace in described.traces:
            self._watch.add_trace(trace)

    def _look_again_into_containers(self) -> None:
        """A list may have grown since its name was bound to it, which its name does not show."""
        for name, value in self._held.items():
            bound = self._bound.get(name)
            if isinstance(value, _MUTABLE) and bound and describe(value) != bound.value:
                self._note(name, value, bound.line)


def describe(value: Any) -> Value | None:
    """Say what a value is to tracing; None for functions, classes and modules.

    Looking must not break the user's program, whatever the value's own methods do.
    """
    try:
        return _describe(value)
    except Exception as error:  # foreign code: __repr__, __getattr__, a pytree's flatten
        return Value("static", f"<{type(value).__name__}: {type(error).__name__} when looked at>")


def _describe(value: Any) -> Value | None:
    if isinstance(value, Tracer):
        variables = tuple(staged.variable for staged in _staged(value))
        return Value("traced", value.aval.short(weak=True), variables, (), (value.owner,))
    if isinstance(value, _UNMARKED):
        return None
    if isinstance(value, _PLAIN):
        return Value("static", seen_in_words(value, _TEXT_LENGTH))
    with looking():
        return _described(value)


def _described(value: Any) -> Value:
    """Say what a container or an object is."""
    leaves = physical.leaves(value)
    tracers = [leaf for leaf in leaves if isinstance(leaf, Tracer)]
    arrays = tuple(leaf for leaf in leaves if _is_array(leaf))
    if not tracers and not arrays:
        return Value("static", seen_in_words(value, _TEXT_LENGTH))
    return Value(
        "traced" if tracers else "array",
        _type_text(value),
        tuple(staged.variable for tracer in tracers for staged in _staged(tracer)),
        arrays,
        tuple(tracer.owner for tracer in tracers),
    )


def _is_watched(code: CodeType) -> bool:
    if code.co_filename == "<string>":  # generated, such as the ``__init__`` of a dataclass
        return False
    return source.is_user_code(code) and not source.is_library_file(code.co_filename)


def _is_tracing() -> bool:
    """Whether a program is being recorded: a trace is current that is not its own parent."""
    trace = state.trace
    return trace is not None and trace.parent is not trace


def _has_own_locals(code: CodeType) -> bool:
    """Whether code keeps its names in slots of its own, as functions do, whatever it is called.

    The body of a module or a cell keeps them in the namespace; a cell that was made a function of
    what it reads bears a module's name but keeps them as a function does.
    """
    return bool(code.co_flags & inspect.CO_OPTIMIZED)


def _local_names(code: CodeType) -> tuple[str, ...]:
    """The names that a frame's ``f_locals`` are searched for.

    A namespace may be large; of it the names that the code mentions are enough.
    """
    if not _has_own_locals(code):
        return code.co_names
    return (*code.co_varnames, *code.co_cellvars, *code.co_freevars)


def _names_by_line(code: CodeType, names: Sequence[str]) -> _NamesByLine:
    """The names that each line may bind, with those that functions inside the code may bind.

    Those may be called on any line, and so may the functions around it, whose names are free.
    """
    known = frozenset(names)
    always = dict.fromkeys(known & {*code.co_freevars, *_bound_inside(code)})
    lines: dict[int, dict[str, None]] = {}
    for line, name in _bindings(code):
        if line is not None and name in known:
            lines.setdefault(line, {})[name] = None
    return _NamesByLine(lines, always)


def _bindings(code: CodeType) -> Iterator[tuple[int | None, str]]:
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith("STORE_"):
            bound = instruction.argval
            for name in bound if isinstance(bound, tuple) else (bound,):
                if isinstance(name, str):
                    yield instruction.positions.lineno if instruction.positions else None, name


def _bound_inside(code: CodeType) -> set[str]:
    """The names outside them that the functions inside some code bind."""
    found: set[str] = set()
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            own = {*inner.co_varnames, *inner.co_cellvars}
            found |= {name for _, name in _bindings(inner) if name not in own}
            found |= _bound_inside(inner)
    return found


def _globals_read(code: CodeType) -> tuple[str, ...]:
    """The names of globals that code reads; ``co_names`` has those of attributes, too."""
    if not _has_own_locals(code):
        return ()
    found = (one.argval for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL")
    return tuple(dict.fromkeys(found))


def _global_values(names: Iterable[str], frame: FrameType) -> Iterator[tuple[str, Value]]:
    for name in names:
        if name in frame.f_globals:
            described = describe(frame.f_globals[name])
            if described is not None:
                yield name, described


def _staged(tracer: Tracer) -> Iterator[StageTracer]:
    """The recorded value inside the wrappings of gradients and batching."""
    if isinstance(tracer, StageTracer):
        yield tracer
        return
    for slot in ("primal", "value"):
        inner = getattr(tracer, slot, None)
        if isinstance(inner, Tracer):
            yield from _staged(inner)


def _is_array(leaf: Any) -> bool:
    if isinstance(leaf, Tracer):
        return False
    return isinstance(leaf, np.ndarray) or hasattr(leaf, "block_until_ready")


def _type_text(value: Any) -> str:
    """The type of an array, or a container's types in the container's own form."""
    if tree.all_leaves([value]):
        return _leaf_text(value)
    return _capped(repr(physical.map(_LeafText, value)))


class _LeafText:
    """Prints as the type of an array leaf, or as the value of another leaf."""

    __slots__ = ("_text",)

    def __init__(self, leaf: Any) -> None:
        self._text = _leaf_text(leaf)

    def __repr__(self) -> str:
        return self._text


def _leaf_text(leaf: Any) -> str:
    if not isinstance(leaf, Tracer) and not _is_array(leaf):
        return seen_in_words(leaf, _TEXT_LENGTH)
    try:
        return abstractify(leaf).short(weak=True)
    except TypeError:  # a NumPy array of strings or objects
        return f"{leaf.dtype}{shape_text(leaf.shape)}"


def _capped(text: str) -> str:
    return text if len(text) <= _TEXT_LENGTH else text[: _TEXT_LENGTH - 1] + "…"
