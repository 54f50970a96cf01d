"""Source text of traced functions: where names stand, what has side effects, what loops.

Lines are 1-based and columns are 0-based characters, not the UTF-8 bytes of ``ast``.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import io
import linecache
import logging
import re
from collections.abc import (
    Collection,
    Container,
    Iterator,
    Mapping,
    MutableMapping,
    MutableSequence,
    MutableSet,
)
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = [
    "Effect",
    "FunctionSyntax",
    "LoopSyntax",
    "Occurrence",
    "SourceFiles",
    "Span",
    "printed",
]

_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_NESTED = (*_Scope.__args__, ast.ClassDef)
_MUTATORS = frozenset(
    {
        *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse"),
        *("add", "discard", "update", "setdefault", "popitem", "appendleft", "extendleft"),
        *("write", "writelines"),
    }
)
_CHANGEABLE = (MutableMapping, MutableSequence, MutableSet, np.ndarray, io.IOBase)
"""What the methods of those names change; other objects may call anything ``update``."""

_UNTRACED = (FunctionType, ModuleType, type)
_TEXT_LENGTH = 2_000
_PERCENT = re.compile(r"%([+ 0]*\d*(?:\.\d+)?)([sridfFeEgG%])")
_UNPARSED_LINES = 30
"""A longer expression is shown by its first line: one may hold thousands of others."""
_BUILTIN_EFFECTS = {
    "print": "to print while the compiled function runs: ",
    "input": "read the value before the call and pass it as an argument",
    "open": "read or write files outside the traced function",
    "breakpoint": "to look at values while the compiled function runs: jx.debug.breakpoint()",
}
_MAGICS = tuple(
    f"get_ipython().{name}" for name in ("getoutput", "run_cell_magic", "run_line_magic", "system")
)
"""How magics and shell commands are called once IPython has rewritten them."""

_MODULE_EFFECTS = {
    "random": "use jx.random with a key that is an argument",
    "numpy.random": "use jx.random with a key that is an argument",
    "secrets": "use jx.random with a key that is an argument",
    "time": "read the clock outside the traced function",
    "datetime": "read the clock outside the traced function",
}


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of source text, from its first character to the one after its last."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A name in the source.

    Attributes:
      name: the name.
      span: where it stands.
      binds: whether it is bound there rather than read.
      end_line: the last line of its statement, or of the statement's header.
      is_argument: whether it stands in the list of arguments.
    """

    name: str
    span: Span
    binds: bool
    end_line: int
    is_argument: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that Python does while tracing and that compiled calls do not repeat.

    Attributes:
      span: where it stands.
      code: its source text.
      problem: what happens, as a sentence.
      instead: what to write instead.
    """

    span: Span
    code: str
    problem: str
    instead: str


@dataclass(frozen=True, slots=True)
class LoopSyntax:
    """A Python loop: its own line, its first line, the lines of its body, and its tree."""

    line: int
    first_body_line: int
    end_line: int
    is_while: bool
    node: ast.For | ast.AsyncFor | ast.While


class FunctionSyntax:
    """The syntax tree of one function (or of a whole cell), with what can be read from it.

    Args:
      node: the tree.
      lines: the lines of the file it stands in.
      code: the code object that was made of it.
    """

    def __init__(self, node: ast.AST, lines: list[str], code: CodeType) -> None:
        self.node = node
        self.lines = lines
        self.code = code
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self._arguments = frozenset(arguments)
        self._nodes = tuple(_own_nodes(node))
        self._rebound = frozenset(
            one.id
            for one in self._nodes
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        )

    def source(self) -> list[str]:
        """The lines that it stands on, decorators included."""
        end = getattr(self.node, "end_lineno", len(self.lines))
        return self.lines[self.code.co_firstlineno - 1 : end]

    def line_text(self, line: int) -> str:
        """The text of a line without its indentation; empty beyond the file's end."""
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""

    def occurrences(self) -> Iterator[Occurrence]:
        """Every place where a name stands, in the order of the text."""
        found = list(self._argument_occurrences())
        for statement in self._statements():
            for one in _shallow_nodes(statement):
                if isinstance(one, ast.Name):
                    binds = not isinstance(one.ctx, ast.Load)
                    end = statement.end_lineno or statement.lineno
                    end_line = _header_end(statement, end)
                    found.append(Occurrence(one.id, self.span_of(one), binds, end_line))
        yield from sorted(found, key=lambda one: (one.span.line, one.span.column))

    def _statements(self) -> Iterator[ast.stmt | ast.expr]:
        if isinstance(self.node, ast.Lambda):
            yield self.node.body
        for one in self._nodes:
            if isinstance(one, ast.stmt):
                yield one

    def _argument_occurrences(self) -> Iterator[Occurrence]:
        if isinstance(self.node, _Scope):
            for one in ast.walk(self.node.args):
                if isinstance(one, ast.arg):
                    span = self.span_of(one)
                    end = Span(span.line, span.column, span.line, span.column + len(one.arg))
                    yield Occurrence(one.arg, end, True, span.line, is_argument=True)

    def expressions(self, spans: Container[Span]) -> Iterator[tuple[Span, str]]:
        """The expressions that stand at some places, with their texts."""
        for one in self._nodes:
            if isinstance(one, ast.expr) and not isinstance(one, ast.Name | ast.Constant):
                span = self.span_of(one)
                if span in spans:
                    yield span, self.text_of(one)

    def loops(self) -> Iterator[LoopSyntax]:
        """Every ``for`` and ``while`` statement."""
        for one in self._nodes:
            if isinstance(one, ast.For | ast.AsyncFor | ast.While):
                end = one.body[-1].end_lineno or one.lineno
                is_while = isinstance(one, ast.While)
                yield LoopSyntax(one.lineno, one.body[0].lineno, end, is_while, one)

    def effects(
        self,
        known: Mapping[str, Any],
        kept: Collection[str] = (),
        *,
        is_entry: bool = True,
    ) -> Iterator[Effect]:
        """Everything that changes or asks the world outside the function.

        Args:
          known: what names of arguments and of the outside stand for; ``self`` only if it outlives
            the trace.
          kept: names whose changes are no loss: the caller is given them, or is traced itself.
          is_entry: whether the trace began with this function, so that its arguments are copies.
        """
        declared = {
            name: type(one).__name__.lower()
            for one in self._nodes
            if isinstance(one, ast.Global | ast.Nonlocal)
            for name in one.names
        }
        changes = _Changes(self, known, kept, is_entry)
        for one in self._nodes:
            if isinstance(one, ast.Call):
                yield from self._call_effects(one, known, changes)
            elif isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
                # In a traced cell a function's ``global`` names are the cell's, and written back.
                is_cells = self.code.co_name == "<module>" or one.id in self.code.co_freevars
                is_kept = one.id in kept or (is_cells and declared.get(one.id) == "global")
                if one.id in declared and not is_kept:
                    yield self.effect(
                        one,
                        f"the {declared[one.id]} name {one.id} is assigned to once, while tracing",
                        f"return {one.id} and assign it outside",
                    )
            elif isinstance(one, ast.Attribute | ast.Subscript) and not isinstance(
                one.ctx, ast.Load
            ):
                yield from changes.of(one, one)

    def _call_effects(
        self, call: ast.Call, known: Mapping[str, Any], changes: _Changes
    ) -> Iterator[Effect]:
        function = call.func
        if isinstance(function, ast.Name):
            name = function.id
            if name in _BUILTIN_EFFECTS and self.is_outer(name) and _is_builtin(name, known):
                problem = f"{name} runs once, while tracing, and not in compiled calls"
                instead = _BUILTIN_EFFECTS[name] + (printed(call) if name == "print" else "")
                yield self.effect(call, problem, instead)
        elif isinstance(function, ast.Attribute):
            if ast.unparse(function) in _MAGICS:
                yield self.effect(
                    call,
                    "magics and shell commands run once, while tracing, and not in compiled calls",
                    "have them in a cell of their own",
                )
                return
            module = _module_of(function.value, known)
            is_logger = isinstance(_value_of(function.value, known), logging.Logger)
            if is_logger or module == "logging":
                problem = f"{function.attr} logs once, while tracing, and not in compiled calls"
                instead = f"to log while the compiled function runs: {_called_back(call, known)}"
                yield self.effect(call, problem, instead)
            if module == "time" and function.attr == "sleep":
                problem = "this waits once, while tracing, and not in compiled calls"
                instead = f"to wait while the compiled function runs: {_called_back(call, known)}"
                yield self.effect(call, problem, instead)
            elif module in _MODULE_EFFECTS:
                problem = (
                    "this is evaluated once, while tracing, and all compiled calls get its result"
                )
                yield self.effect(call, problem, _MODULE_EFFECTS[module])
            elif function.attr in _MUTATORS and module is None:
                yield from changes.of(function.value, call)

    def is_outer(self, name: str) -> bool:
        """Whether a name is one of the world outside the function."""
        if not self.code.co_flags & inspect.CO_OPTIMIZED:
            return name not in self._rebound
        return name not in self.code.co_varnames and name not in self.code.co_cellvars

    def is_own_argument(self, name: str) -> bool:
        """Whether a name is an argument that the function never binds anew."""
        return name in self._arguments and name not in self._rebound

    def is_read_after(self, name: str, change: ast.expr) -> bool:
        """Whether anything may read what a name holds once it was changed."""
        end = change.end_lineno or change.lineno
        turns = [
            range(one.lineno, (one.end_lineno or one.lineno) + 1)
            for one in self._nodes
            if isinstance(one, ast.For | ast.AsyncFor | ast.While)
        ]
        again = [lines for lines in turns if change.lineno in lines]
        changed = {
            id(_root(one))
            for one in self._nodes
            if isinstance(one, ast.Attribute | ast.Subscript) and not isinstance(one.ctx, ast.Load)
        }
        return any(
            one.lineno > end or any(one.lineno in lines for lines in again)
            for one in ast.walk(self.node)
            if isinstance(one, ast.Name) and one.id == name and id(one) not in changed
            if not change.lineno <= one.lineno <= end
        )

    def asks_for_members_of(self, name: str) -> bool:
        """Whether the function looks first whether a container has something, as for a cache."""
        return any(
            isinstance(one, ast.Compare)
            and isinstance(one.ops[-1], ast.In | ast.NotIn)
            and _root_name(one.comparators[-1]) == name
            for one in self._nodes
        )

    def effect(self, node: ast.expr, problem: str, instead: str) -> Effect:
        """The effect that an expression has."""
        return Effect(self.span_of(node), self.text_of(node), problem, instead)

    def text_of(self, node: ast.expr) -> str:
        """The source text of an expression, on one line; of a long one the beginning."""
        span = self.span_of(node)
        if span.line == span.end_line:
            return _cut(self.lines[span.line - 1][span.column : span.end_column])
        if span.end_line - span.line <= _UNPARSED_LINES:
            return _cut(ast.unparse(node))
        return f"{self.lines[span.line - 1][span.column :].strip()} …"

    def span_of(self, node: ast.expr | ast.arg) -> Span:
        """The place of an expression."""
        end_line, end_offset = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self.span(node.lineno, node.col_offset, end_line, end_offset)

    def span(self, line: int, offset: int, end_line: int, end_offset: int) -> Span:
        """A place given with columns in UTF-8 bytes, as ``ast`` and code objects count them."""
        return Span(line, self._column(line, offset), end_line, self._column(end_line, end_offset))

    def _column(self, line: int, offset: int) -> int:
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        if text.isascii():
            return offset
        return len(text.encode()[:offset].decode(errors="replace"))


@dataclass(frozen=True, slots=True)
class _Changes:
    """Tells which changes of objects are effects.

    Attributes:
      syntax: the function.
      known: what names stand for.
      kept: names whose changes are no loss.
      is_entry: whether the function's arguments are copies.
    """

    syntax: FunctionSyntax
    known: Mapping[str, Any]
    kept: Collection[str]
    is_entry: bool

    def of(self, changed: ast.expr, whole: ast.expr) -> Iterator[Effect]:
        """The effect of a change, if what is changed belongs to the outside or is an argument.

        Args:
          changed: what is changed: the attribute or element that is set, or the object of a method.
          whole: the code that changes it.
        """
        name = _root_name(changed)
        if name is None or name in self.kept or not self._is_change(changed):
            return
        syntax = self.syntax
        if syntax.is_outer(name) or (name == "self" and "self" in self.known):
            if not syntax.asks_for_members_of(name):
                problem = f"{name} lives outside the function and is changed once, while tracing"
                yield syntax.effect(whole, problem, "return the value and store it outside")
        elif self._is_copied(name) and not syntax.is_read_after(name, whole):
            problem = (
                f"this changes the traced copy of the argument {name}; the caller's stays as it is"
            )
            yield syntax.effect(whole, problem, f"return the changed {name}")

    def _is_copied(self, name: str) -> bool:
        """Whether a name is an argument that is a copy, and stays what it was."""
        return self.is_entry and name != "self" and self.syntax.is_own_argument(name)

    def _is_change(self, changed: ast.expr) -> bool:
        """Whether an object is changed; methods and items may be other things of other objects."""
        match changed:
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                return True
            case ast.Subscript(value=owner, ctx=ast.Store() | ast.Del()):
                return isinstance(_value_of(owner, self.known), _CHANGEABLE)
            case _:
                return isinstance(_value_of(changed, self.known), _CHANGEABLE)


def _value_of(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """What an expression stands for, as far as can be said without running the user's code.

    Of an element that cannot be told from others, another one.
    """
    match node:
        case ast.Name(id=name):
            return known.get(name)
        case ast.Attribute(value=owner, attr=attribute):
            return inspect.getattr_static(_value_of(owner, known), attribute, None)
        case ast.Subscript(value=owner, slice=index):
            container = _value_of(owner, known)
            if not isinstance(container, dict | list | tuple):
                return None
            pairs = container.items() if isinstance(container, dict) else enumerate(container)
            elements: dict[Any, Any] = dict(pairs)
            if isinstance(index, ast.Constant) and index.value in elements:
                return elements[index.value]
            return next(iter(elements.values()), container)
        case _:
            return None


class SourceFiles:
    """Finds the syntax trees of code objects; each file is parsed once, as it is at the time."""

    def __init__(self) -> None:
        self._files: dict[str, _File | None] = {}

    def function(self, code: CodeType) -> FunctionSyntax | None:
        """The syntax tree of a code object; None where the source is gone or was edited."""
        file = code.co_filename
        if file not in self._files:
            self._files[file] = _parsed(tuple(linecache.getlines(file)))
        found = self._files[file]
        if found is None:
            return None
        if code.co_name == "<module>":
            return FunctionSyntax(found.tree, found.lines, code) if found.lines else None
        of_line = found.scopes.get(code.co_firstlineno, ())
        node = next((one for one in of_line if _matches(one, code)), None)
        return None if node is None else FunctionSyntax(node, found.lines, code)


@dataclass(frozen=True, slots=True)
class _File:
    """A source file: its lines, its tree, and its functions by the line of their code objects."""

    lines: list[str]
    tree: ast.Module
    scopes: dict[int, list[_Scope]]


@functools.lru_cache(maxsize=32)
def _parsed(lines: tuple[str, ...]) -> _File | None:
    """The file of these lines; kept, since a function may be traced again and again."""
    lines = tuple(line.rstrip("\n") for line in lines)
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError):
        return None
    scopes: dict[int, list[_Scope]] = {}
    for node in ast.walk(tree):
        if isinstance(node, _Scope):
            scopes.setdefault(_first_line(node), []).append(node)
    return _File(list(lines), tree, scopes)


def _first_line(node: _Scope) -> int:
    """The line that a function's code object bears: that of its first decorator, or its own."""
    return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_LENGTH else f"{text[:_TEXT_LENGTH]}…"


def _matches(node: _Scope, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        names = tuple(one.arg for one in (*node.args.posonlyargs, *node.args.args))
        return code.co_name == "<lambda>" and names == code.co_varnames[: code.co_argcount]
    return node.name == code.co_name


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope without those of functions and classes inside it, in their order."""
    waiting = _body(scope)[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _NESTED):
            waiting += list(ast.iter_child_nodes(node))[::-1]


def _body(scope: ast.AST) -> list[Any]:
    """What runs when the scope is entered: neither decorators nor defaults."""
    if isinstance(scope, ast.Lambda):
        return [scope.body]
    return list(getattr(scope, "body", []))


def _shallow_nodes(statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement itself, without those of statements inside it."""
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [
            child
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, (ast.stmt, *_NESTED))
        ]


def _header_end(statement: ast.stmt | ast.expr, end: int) -> int:
    """The last line of a statement, or of its header when it holds others."""
    body = getattr(statement, "body", None)
    return max(statement.lineno, body[0].lineno - 1) if isinstance(body, list) else end


def _is_builtin(name: str, known: Mapping[str, Any]) -> bool:
    """Whether a name means a builtin: IPython wraps ``open`` into one of its own."""
    own, value = getattr(builtins, name), known.get(name)
    if value is None or value is own:
        return True
    return inspect.isroutine(value) and (value.__module__, value.__name__) == (own.__module__, name)


def _root(node: ast.expr) -> ast.expr:
    """What an attribute or an element, or one of those, is of."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node


def _root_name(node: ast.expr) -> str | None:
    root = _root(node)
    return root.id if isinstance(root, ast.Name) else None


def printed(call: ast.Call) -> str:
    """A call of ``print`` as one of ``jx.debug.print``."""
    text: list[str] = []
    values: list[str] = []
    match call.args:
        case [
            ast.Call(
                func=ast.Attribute(value=ast.Constant(value=str()) as written, attr="format"),
                args=args,
                keywords=keywords,
            )
        ]:
            # It takes the same text and values as ``format``.
            given = [written, *args, *keywords]
            return f"jx.debug.print({', '.join(map(ast.unparse, given))})"
        case [ast.BinOp(left=ast.Constant(value=str() as old), op=ast.Mod(), right=right)]:
            new = _format_of_percent(old)
            if new is not None:
                parts = right.elts if isinstance(right, ast.Tuple) else [right]
                return f"jx.debug.print({', '.join([repr(new), *map(ast.unparse, parts)])})"
    for one in call.args:
        parts = one.values if isinstance(one, ast.JoinedStr) else [one]
        text.append("".join(_format_of(part, values) for part in parts))
    return f"jx.debug.print({', '.join([repr(' '.join(text)), *values])})"


def _called_back(call: ast.Call, known: Mapping[str, Any]) -> str:
    """A call as one that the compiled program makes, with the values of the names that it reads."""
    given = (*call.args, *(one.value for one in call.keywords))
    read = (one.id for part in given for one in ast.walk(part) if isinstance(one, ast.Name))
    names = [one for one in dict.fromkeys(read) if not hasattr(builtins, one)]
    values = [one for one in names if not isinstance(known.get(one), (*_UNTRACED, str))]
    if not values:
        return f"jx.debug.callback(lambda: {ast.unparse(call)})"
    listed = ", ".join(values)
    return f"jx.debug.callback(lambda {listed}: {ast.unparse(call)}, {listed})"


def _format_of_percent(text: str) -> str | None:
    """A text for ``%`` as one for ``format``; None where it has fields with names or stars."""
    left = _PERCENT.sub("", text)
    if "%" in left:
        return None
    text = text.replace("{", "{{").replace("}", "}}")
    return _PERCENT.sub(_brace_field, text)


def _brace_field(found: re.Match[str]) -> str:
    width, kind = found.groups()
    if kind == "%":
        return "%"
    spec = width + ("" if kind in "sri" else kind)
    return f"{{:{spec}}}" if spec and spec != "d" else "{}"


def _format_of(part: ast.expr, values: list[str]) -> str:
    """A part of what is printed as it stands in a format; its value is added to the values."""
    match part:
        case ast.Constant(value=str() as text):
            return text.replace("{", "{{").replace("}", "}}")
        case ast.FormattedValue(value=value, format_spec=ast.JoinedStr(values=[spec])):
            values.append(ast.unparse(_unconverted(value)))
            return f"{{:{ast.literal_eval(spec)}}}" if isinstance(spec, ast.Constant) else "{}"
        case ast.FormattedValue(value=value):
            values.append(ast.unparse(_unconverted(value)))
            return "{}"
        case _:
            values.append(ast.unparse(_unconverted(part)))
            return "{}"


def _unconverted(value: ast.expr) -> ast.expr:
    """What a number is made of for printing: a traced value is none, and prints as it is."""
    match value:
        case ast.Call(func=ast.Attribute(value=of, attr="item" | "tolist"), args=[], keywords=[]):
            return of
        case ast.Call(func=ast.Name(id="float" | "int"), args=[of], keywords=[]):
            return of
        case _:
            return value


def _module_of(node: ast.expr, known: Mapping[str, Any]) -> str | None:
    """The module that an expression like ``np.random`` or ``datetime`` stands for, or None.

    A class stands for the module it comes from, for ``datetime.now()`` after a ``from`` import.
    """
    if isinstance(node, ast.Name):
        value = known.get(node.id)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        outer = known.get(node.value.id)
        value = getattr(outer, node.attr, None) if isinstance(outer, ModuleType) else None
    else:
        return None
    if isinstance(value, ModuleType):
        return value.__name__
    return value.__module__ if isinstance(value, type) else None
