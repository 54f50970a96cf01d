"""Silent mistakes that a cell's text shows: updates that are dropped, random keys used twice.

Side effects at trace time and unrolled loops are found by ``observe.provenance``, which saw them
happen; these two are found in the text, so what is found may be in a branch that does not run. So
is what the body of a loop prints that is called outside ``jit``: no event tells of its trace.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

from jxkernel import random
from jxkernel.observe.syntax import SourceFiles, printed
from jxkernel.runtime import ArrayImpl

__all__ = ["dropped_updates", "is_worth_a_look", "lint"]

_UPDATES = frozenset(
    {"set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max", "apply"}
)
_NOT_CONSUMING = frozenset({"fold_in", "key_data", "key_impl", "clone", "key", "PRNGKey"})
"""Functions of ``random`` that may take a key again."""

_LOOPS = frozenset({"associative_scan", "fori_loop", "map", "scan", "while_loop"})
"""Functions of ``lax`` that trace what they are given."""

_RANDOM = "jxkernel.random"
_CONSUMING = frozenset(random.__all__) - _NOT_CONSUMING
_CALLS = re.compile(r"\.(\w+)\s*\(\s*(\w+)\s*[,)]")
_REPEATS = re.compile(r"\b(?:for|while)\b")
_UPDATE = re.compile(r"\.at\s*\[")
_ASSIGNS = re.compile(r"[\w.,\s\[\]*]+?[-+*/@|&^%]?=(?!=)")
_TRACES = re.compile(rf"\b(?:lax\.map|{'|'.join(sorted(_LOOPS - {'map'}))})\s*\(")
_RUNS = re.compile(rf"^\S.*{_TRACES.pattern}", re.MULTILINE)
"""What a cell's text has where a mistake can be."""
_COPYING = ("astype", "clip", "reshape", "round", "sort", "squeeze", "swapaxes", "transpose")
_COPIES = re.compile(rf"(?:^|[;:])\s*\w+\.(?:{'|'.join(_COPYING)})\s*\(", re.MULTILINE)
_CHILDLESS = frozenset({"ctx", "op", "ops", "attr", "type_comment"})
"""Fields of nodes in which no name and no call can stand: most of what a node has."""

_HOLDERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef


def lint(tree: ast.Module, namespace: Mapping[str, Any], *, is_traced: bool = True) -> list[str]:
    """Return a sentence for each mistake, in the order of the lines.

    Args:
      tree: the cell.
      namespace: the notebook's variables, to tell what names in calls stand for.
      is_traced: whether the cell is traced as a whole, and what it prints is told by that.
    """
    parts = _Parts(tree)
    found = [
        (
            line,
            f"{code} gives a changed copy, which is dropped; {name} stays as it is: "
            f"write {name} = {code}",
        )
        for line, code, name in (*_dropped(parts), *_copies(parts, namespace))
    ]
    for scope in parts.scopes:
        keys = _Keys(namespace, parts)
        keys.block(scope.body)
        found += keys.found
    if not is_traced:
        found += _printing(parts, namespace)
    return [f"line {line}: {message}" for line, message in sorted(set(found))]


def dropped_updates(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Yield line, code and array of updates such as ``x.at[0].set(1)`` whose result nothing takes.

    The last line of a cell is shown, so it is taken.
    """
    return _dropped(_Parts(tree))


def is_worth_a_look(text: str) -> bool:
    """Return whether a cell may hold a mistake: most do not, and need not be parsed.

    An update is dropped on a line that assigns nothing. A key is used again where its name is given
    twice, or in a loop. A loop of ``lax`` is run by a line of the cell itself, or has its body in
    the cell.
    """
    if any(_is_dropping(line) for line in text.splitlines() if ".at" in line):
        return True
    if _COPIES.search(text):
        return True
    keys = [key for function, key in _CALLS.findall(text) if function in _CONSUMING]
    if len(keys) > len(set(keys)) or (keys and _REPEATS.search(text)):
        return True
    if not any(part in text for part in ("scan", "_loop", "lax.map")):
        return False
    return bool(_RUNS.search(text) or ("print" in text and _TRACES.search(text)))


def _is_dropping(line: str) -> bool:
    return _UPDATE.search(line) is not None and (";" in line or not _ASSIGNS.match(line))


def _printing(parts: _Parts, namespace: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Line and sentence for each ``print`` in the body of a loop that the cell itself runs."""
    run = (
        call
        for statement, calls in parts.calls.items()
        if statement not in parts.inner
        for call in calls
    )
    for call in run:
        loop = _value(call.func, namespace)
        name, module = getattr(loop, "__name__", ""), getattr(loop, "__module__", "")
        if name not in _LOOPS or not module.startswith("jxkernel.api.control_flow."):
            continue
        for given in (*call.args, *(one.value for one in call.keywords)):
            for one in _prints(given, namespace):
                yield (
                    call.lineno,
                    f"{ast.unparse(one)} runs while {name} traces {_body(given)}, not in each "
                    f"turn; to print in each turn: {printed(one)}",
                )


def _value(node: ast.expr, namespace: Mapping[str, Any]) -> Any:
    """What a name, or a name in a module, stands for; None where it may be anything else."""
    if isinstance(node, ast.Name):
        return namespace.get(node.id)
    if isinstance(node, ast.Attribute):
        module = _value(node.value, namespace)
        return getattr(module, node.attr, None) if isinstance(module, ModuleType) else None
    return None


def _prints(body: ast.expr, namespace: Mapping[str, Any]) -> Iterator[ast.Call]:
    """The calls of ``print`` in a function that is given by name, or written out."""
    function = _value(body, namespace)
    found = SourceFiles().function(function.__code__) if type(function) is FunctionType else None
    node = body if found is None else found.node
    if not isinstance(node, ast.Lambda | ast.FunctionDef):
        return
    for one in ast.walk(node):
        match one:
            case ast.Call(func=ast.Name(id="print")) if "print" not in namespace:
                yield one


def _body(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else "its body"


def _dropped(parts: _Parts) -> Iterator[tuple[int, str, str]]:
    for node in parts.alone:
        match node.value:
            case ast.Call(
                func=ast.Attribute(
                    attr=update,
                    value=ast.Subscript(value=ast.Attribute(attr="at", value=array)),
                )
            ) if update in _UPDATES:
                yield node.lineno, ast.unparse(node), ast.unparse(array)


def _copies(parts: _Parts, namespace: Mapping[str, Any]) -> Iterator[tuple[int, str, str]]:
    """The same of methods such as ``x.sort()``, which change arrays of NumPy in place."""
    for node in parts.alone:
        match node.value:
            case ast.Call(func=ast.Attribute(attr=method, value=ast.Name(id=name))) if (
                method in _COPYING and isinstance(namespace.get(name), ArrayImpl)
            ):
                yield node.lineno, ast.unparse(node), name


class _Parts:
    """What is looked at in a cell, gathered in one walk.

    Attributes:
      scopes: the cell, and its functions.
      alone: the expressions that are statements, without the last line, which is shown.
      calls: the calls of each statement, without those of the statements and functions inside it.
      bound: the names that each statement binds or deletes, likewise.
      inner: the statements in functions and classes.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.scopes: list[_Scope] = [tree]
        self.alone: list[ast.Expr] = []
        self.calls: dict[ast.stmt, list[ast.Call]] = {}
        self.bound: dict[ast.stmt, list[str]] = {}
        self.inner: set[ast.stmt] = set()
        statements: list[ast.stmt] = list(tree.body)
        for statement in statements:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                self.scopes.append(statement)
            elif isinstance(statement, ast.Expr) and statement is not tree.body[-1]:
                self.alone.append(statement)
            known = len(statements)
            self._read(statement, statements)
            if statement in self.inner or isinstance(statement, _HOLDERS):
                self.inner.update(statements[known:])

    def _read(self, statement: ast.stmt, statements: list[ast.stmt]) -> None:
        """Note the parts of a statement; those inside it are put at the end of ``statements``."""
        calls = self.calls[statement] = []
        bound = self.bound[statement] = []
        waiting: list[ast.AST] = [statement]
        while waiting:
            node = waiting.pop()
            # A name has one child, its context; a walk is mostly names and constants.
            if isinstance(node, ast.Name):
                if not isinstance(node.ctx, ast.Load):
                    bound.append(node.id)
                continue
            if isinstance(node, ast.Constant):
                continue
            if isinstance(node, ast.Call):
                calls.append(node)
            for field in node._fields:
                if field in _CHILDLESS:
                    continue
                value = getattr(node, field, None)
                for child in value if type(value) is list else (value,):
                    if isinstance(child, ast.stmt):
                        statements.append(child)
                    elif isinstance(child, ast.AST) and type(child) is not ast.Lambda:
                        waiting.append(child)
        calls.sort(key=lambda call: (call.lineno, call.col_offset))


class _Keys:
    """Follows the statements of one scope and notes where a random key is used again."""

    def __init__(self, namespace: Mapping[str, Any], parts: _Parts) -> None:
        self.found: list[tuple[int, str]] = []
        self._namespace = namespace
        self._parts = parts
        self._used: dict[str, int] = {}
        self._is_again = False

    def block(self, statements: list[ast.stmt]) -> None:
        """Follow statements in order."""
        for statement in statements:
            if not isinstance(statement, _HOLDERS):
                self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        inner = [getattr(statement, part, []) for part in ("body", "orelse", "finalbody")]
        for call in self._parts.calls[statement]:
            self._call(call)
        for name in self._parts.bound[statement]:
            self._used.pop(name, None)
        if isinstance(statement, ast.If):
            # Only one branch runs: what one uses is not used before the other.
            before, after = dict(self._used), dict[str, int]()
            for branch in inner[:2]:
                self._used = dict(before)
                self.block(branch)
                after |= self._used
            self._used = after
            return
        self.block(inner[0])
        # A second round finds keys that the first has used; one for all loops around it does.
        if isinstance(statement, ast.For | ast.AsyncFor | ast.While) and not self._is_again:
            self._is_again = True
            self.block(inner[0])
            self._is_again = False
        for part in inner[1:]:
            self.block(part)

    def _call(self, call: ast.Call) -> None:
        found = self._key_of(call)
        if found is None:
            return
        module, name = found
        if name in self._used:
            self.found.append(
                (
                    call.lineno,
                    f"the random key {name} was used in line {self._used[name]} already and gives "
                    f"the same bits again: {name}, subkey = {module}.split({name}), and use subkey",
                )
            )
        self._used[name] = call.lineno

    def _key_of(self, call: ast.Call) -> tuple[str, str] | None:
        """The random module as it is written, and the key that a call consumes; or None."""
        match call:
            case ast.Call(
                func=ast.Attribute(attr=function, value=module), args=[ast.Name(id=name), *_]
            ) if function not in _NOT_CONSUMING and self._is_random(module):
                return ast.unparse(module), name
            case _:
                return None

    def _is_random(self, node: ast.expr) -> bool:
        value = _value(node, self._namespace)
        return isinstance(value, ModuleType) and value.__name__ == _RANDOM
