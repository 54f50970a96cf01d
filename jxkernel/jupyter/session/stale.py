"""Compiled functions that still hold what something was when they were traced.

Body cells under ``%%jit`` need no warning: what they read is part of their key. A function made by
``jit`` goes by its arguments alone. What it read is noted when its trace ends, so that a variable
rebound later in the same cell is seen too. Which functions a cell calls is read off its text and
the text of the functions it names: calls that hit the compiled path cannot be watched for free.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakMethod, ref

from jxkernel import events
from jxkernel.api.arguments import static_name
from jxkernel.api.jit import jit_state, traced_functions
from jxkernel.compile.signature import function_number
from jxkernel.jupyter.code.functions import globals_read
from jxkernel.jupyter.code.static_keys import describe_static, fingerprint

__all__ = ["StaleWatch"]

_WORD = re.compile(r"[^\W\d]\w*")
_UNMARKED = (ModuleType, type)
_SEARCHED = 100


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """Something that a function read while it was traced.

    Attributes:
      look: gives what it is now, of the living function.
      key: what ``freeze`` made of it then.
      text: what it was then, in words.
      is_static: whether it is a static argument.
    """

    look: Callable[[Any], Any]
    key: Any
    text: str
    is_static: bool = False


@dataclass(slots=True)
class _Traced:
    """What a function held when it was traced.

    It keeps neither the function nor what it held alive.

    Attributes:
      function: gives the user's function, or None once it is gone.
      held: what it held, by name; of several traces what the oldest held.
      traces: how many traces it had when its static arguments were noted.
    """

    function: Callable[[], Any]
    held: dict[str, _Held] = field(default_factory=dict)
    traces: int = 0


class StaleWatch:
    """Remembers what jitted functions were traced with."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace
        self._traced: dict[int, _Traced] = {}
        self._told: set[tuple[int, str, Any]] = set()
        self._handle: events.ListenerHandle | None = None

    def start(self) -> None:
        """Begin to note what functions hold when their traces end."""
        self._handle = events.listen(self._on_traced, (events.Traced,))

    def stop(self) -> None:
        """End that, and forget everything."""
        if self._handle is not None:
            self._handle.close()
        self._traced.clear()
        self._told.clear()

    def _on_traced(self, event: events.Event) -> None:
        number = getattr(event, "function_id", 0)
        known = self._traced.get(number)
        function = known.function() if known else self._function(number)
        if function is None or event.error is not None:
            return
        held = dict(_held(function, self._namespace))
        if known is not None:
            held |= known.held
        traces = known.traces if known else 0
        self._traced[number] = _Traced(_weakly(function), held, traces)

    def _function(self, number: int) -> Any:
        found = (fun for fun, _ in traced_functions(empty=True) if function_number(fun) == number)
        return next(found, None)

    def after_cell(self, text: str = "") -> list[str]:
        """Notes static arguments; returns warnings for what the cell itself changed, then called.

        Args:
          text: the cell that has ended.
        """
        alive: set[int] = set()
        for function, traces in traced_functions():
            number = function_number(function)
            alive.add(number)
            known = self._traced.get(number)
            if known is not None and len(traces) > known.traces:
                known.traces = len(traces)
                for name, held in _held_static(function, traces, self._namespace):
                    known.held.setdefault(name, held)
        self._forget(self._traced.keys() - alive)
        return [*self._warnings(text, after=True)] if text else []

    def _forget(self, numbers: AbstractSet[int]) -> None:
        for number in numbers:
            del self._traced[number]
        if numbers:
            self._told = {told for told in self._told if told[0] not in numbers}

    def before_cell(self, text: str) -> list[str]:
        """Return a warning for each stale function that the cell calls, once for each value."""
        return [*self._warnings(text, after=False)]

    def _warnings(self, text: str, *, after: bool) -> Iterator[str]:
        """The warnings that have not been given yet.

        Args:
          text: a cell.
          after: whether it has ended; then only what it changed before the call matters.
        """
        changed = [*self._changed()]
        if not changed:  # as in almost every cell: nothing more is looked at
            return
        reach, changes = _Reach(self._namespace), _Changes(text)
        words = set(_WORD.findall(text))
        variables = self._names()
        for number, variable, now, key in changed:
            traced = self._traced[number]
            function = traced.function()
            names = [*variables.get(id(function), []), getattr(function, "__name__", "")]
            leads = partial(reach.leads, names)
            if not any(map(leads, words)) or (after and not changes.is_before(variable, leads)):
                continue
            self._told.add((number, variable, key))
            own = jit_state(self._namespace.get(names[0])) is not None
            forget = f"{names[0]}.clear_cache()" if own else "its clear_cache()"
            yield _warning(names[0], variable, traced.held[variable], now, forget)

    def _changed(self) -> Iterator[tuple[int, str, Any, Any]]:
        """What a function held and what is another now: its number, the name, the value, the key.

        What has been told is left out.
        """
        for number, traced in list(self._traced.items()):
            function = traced.function()
            for variable, held in list(traced.held.items()) if function is not None else ():
                now = held.look(function)
                key = fingerprint(now, self._namespace)
                if key != held.key and (number, variable, key) not in self._told:
                    yield number, variable, now, key

    def _names(self) -> dict[int, list[str]]:
        """By the identity of a function: the variables that lead to its compiled form."""
        names: dict[int, list[str]] = {}
        for name, value in list(self._namespace.items()):
            if not name.startswith("_"):
                for one in (value, *_elements(value)):
                    state = jit_state(one)
                    if state is not None:
                        names.setdefault(id(state.fun), []).append(name)
        return names


class _Reach:
    """Which words of a cell lead to which others, through the notebook's own functions."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self._known: dict[str, set[str]] = {}
        self._methods: dict[str, list[CodeType]] = {}
        for value in list(namespace.values()):
            if isinstance(value, type) and value.__module__ == namespace.get("__name__"):
                for name, one in vars(value).items():
                    code = _code_of(one)
                    if code is not None:
                        self._methods.setdefault(name, []).append(code)

    def leads(self, names: list[str], word: str) -> bool:
        """Whether a word is one of the names or calls something that mentions one."""
        return not self.from_word(word).isdisjoint(names)

    def from_word(self, word: str) -> set[str]:
        """The word itself and every word that functions behind it mention."""
        if word not in self._known:
            found: set[str] = set()
            waiting = [word]
            while waiting:
                one = waiting.pop()
                if one not in found:
                    found.add(one)
                    waiting += self._mentioned(one)
            self._known[word] = found
        return self._known[word]

    def _mentioned(self, word: str) -> Iterator[str]:
        codes = list(self._methods.get(word, ()))
        own = _code_of(self._namespace.get(word))
        for code in [own, *codes] if own is not None else codes:
            yield from _names_in(code)


class _Changes(ast.NodeVisitor):
    """Where a cell changes variables and where it mentions words, in the order of the text."""

    def __init__(self, text: str) -> None:
        self._changed: dict[str, int] = {}
        self._mentioned: dict[str, int] = {}
        self._step = 0
        lines = [line for line in text.splitlines() if not line.lstrip().startswith(("%", "!"))]
        try:
            self.visit(ast.parse("\n".join(lines)))
        except SyntaxError:  # other magics and shell commands
            return

    def is_before(self, variable: str, leads: Callable[[str], bool]) -> bool:
        """Whether a variable is changed before a word that leads to the function."""
        changed = self._changed.get(variable.partition(".")[0])
        last = max((at for word, at in self._mentioned.items() if leads(word)), default=-1)
        return changed is not None and changed < last

    def visit_Assign(self, node: ast.Assign) -> None:
        """The value is computed first."""
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_Name(self, node: ast.Name) -> None:
        """A name that is bound, or mentioned."""
        self._step += 1
        if isinstance(node.ctx, ast.Load):
            self._mentioned[node.id] = self._step
        else:
            self._changed.setdefault(node.id, self._step)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """An attribute that is set, or mentioned."""
        self.visit(node.value)
        self._mentioned[node.attr] = self._step
        self._note_change(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """An element that is set, or read."""
        self.generic_visit(node)
        self._note_change(node)

    def _note_change(self, node: ast.Attribute | ast.Subscript) -> None:
        root: ast.expr = node
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        if isinstance(root, ast.Name) and not isinstance(node.ctx, ast.Load):
            self._changed.setdefault(root.id, self._step)


def _weakly(function: Any) -> Callable[[], Any]:
    """Return what gives a function as long as it lives."""
    if isinstance(function, MethodType):
        return WeakMethod(function)
    try:
        return ref(function)
    except TypeError:  # of a class with slots
        return partial(_same, function)


def _held(function: Any, namespace: Mapping[str, Any]) -> Iterator[tuple[str, _Held]]:
    """What a function reads besides its arguments, save itself."""
    for name, look in _looks(function, namespace):
        value = look(function)
        state = jit_state(value)
        itself = value is function or (state is not None and state.fun is function)
        if not itself and not isinstance(value, _UNMARKED):
            yield name, _hold(look, value, namespace)


def _looks(function: Any, namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(function, MethodType):
        owner = function.__self__
        for name in vars(owner) if _is_own(owner, namespace) else ():
            yield f"self.{name}", partial(_attribute, name)
    plain = _plain(function)
    if not isinstance(plain, FunctionType) or plain.__globals__ is not namespace:
        return
    for name in globals_read(plain.__code__):
        if name in namespace:
            yield name, partial(_variable, name, namespace)
    for index, name in enumerate(plain.__code__.co_freevars):
        yield name, partial(_content, index)


def _plain(function: Any) -> Any:
    """Return the function of a method, or of a partial application."""
    function = function.__func__ if isinstance(function, MethodType) else function
    return getattr(function, "func", function)


def _held_static(
    function: Any, traces: Mapping[Any, Any], namespace: Mapping[str, Any]
) -> Iterator[tuple[str, _Held]]:
    """Static arguments that may change without ceasing to be equal to what they were."""
    for entry in traces.values():
        for key, value in entry.call.static:
            if _is_own(value, namespace) and not isinstance(value, FunctionType):
                held = _hold(partial(_now, _weakly(value)), value, namespace, is_static=True)
                yield static_name(function, key), held


def _hold(
    look: Callable[[Any], Any],
    value: Any,
    namespace: Mapping[str, Any],
    *,
    is_static: bool = False,
) -> _Held:
    return _Held(look, fingerprint(value, namespace), describe_static(value), is_static)


def _same(value: Any) -> Any:
    return value


def _now(known: Callable[[], Any], function: Any) -> Any:
    return known()


def _variable(name: str, namespace: Mapping[str, Any], function: Any) -> Any:
    return namespace.get(name)


def _content(index: int, function: Any) -> Any:
    try:
        return _plain(function).__closure__[index].cell_contents
    except ValueError:  # not bound
        return None


def _attribute(name: str, function: Any) -> Any:
    return vars(function.__self__).get(name)


def _is_own(value: Any, namespace: Mapping[str, Any]) -> bool:
    """Whether a value is of a class of the notebook's, which has attributes."""
    own = type(value).__module__ == namespace.get("__name__")
    return own and isinstance(getattr(value, "__dict__", None), dict)


def _elements(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())[:_SEARCHED]
    return list(value[:_SEARCHED]) if isinstance(value, list | tuple) else []


def _code_of(value: Any) -> CodeType | None:
    state = jit_state(value)
    function = value if state is None else state.fun
    return getattr(function, "__code__", None)


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _warning(function: str, variable: str, held: _Held, value: Any, forget: str) -> str:
    now = describe_static(value)
    changed = f"was {held.text} and is {now} now" if held.text != now else "has changed since"
    what = "the static argument " if held.is_static else ""
    instead = (
        f"Give {variable}'s class __eq__ and __hash__ that see the change"
        if held.is_static
        else f"Pass {variable} as an argument"
    )
    return (
        f"{function} was traced with {what}{variable}, which {changed}; compiled calls of "
        f"{function} keep what they were traced with. {instead}, or run {forget}."
    )
