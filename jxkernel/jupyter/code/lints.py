"""Silent mistakes that a cell's text shows: updates that are dropped, random keys used twice.

Side effects at trace time and unrolled loops are found by ``observe.provenance``, which saw them
happen; these two are found in the text, so what is found may be in a branch that does not run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

__all__ = ["NOT_CONSUMING", "dropped_updates", "lint"]

_UPDATES = frozenset(
    {"set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max", "apply"}
)
NOT_CONSUMING = frozenset({"fold_in", "key_data", "key_impl", "clone", "key", "PRNGKey"})
"""Functions of ``random`` that may take a key again."""

_RANDOM = "jxkernel.random"
_Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef


def lint(tree: ast.Module, namespace: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each mistake, in the order of the lines.

    Args:
      tree: the cell.
      namespace: the notebook's variables, to tell which names are the random module.
    """
    found = [
        (
            line,
            f"{code} gives a changed copy, which is dropped; {name} stays as it is: "
            f"write {name} = {code}",
        )
        for line, code, name in dropped_updates(tree)
    ]
    for scope in ast.walk(tree):
        if isinstance(scope, _Scope):
            keys = _Keys(namespace)
            keys.block(scope.body)
            found += keys.found
    return [f"line {line}: {message}" for line, message in sorted(set(found))]


def dropped_updates(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Yield line, code and array of updates such as ``x.at[0].set(1)`` whose result nothing takes.

    The last line of a cell is shown, so it is taken.
    """
    shown = tree.body[-1] if tree.body else None
    for node in ast.walk(tree):
        match node:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(
                        attr=update,
                        value=ast.Subscript(value=ast.Attribute(attr="at", value=array)),
                    )
                )
            ) if update in _UPDATES and node is not shown:
                yield node.lineno, ast.unparse(node), ast.unparse(array)


class _Keys:
    """Follows the statements of one scope and notes where a random key is used again."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self.found: list[tuple[int, str]] = []
        self._namespace = namespace
        self._used: dict[str, int] = {}
        self._is_again = False

    def block(self, statements: list[ast.stmt]) -> None:
        """Follow statements in order."""
        for statement in statements:
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        inner = [getattr(statement, part, []) for part in ("body", "orelse", "finalbody")]
        for node in _own_nodes(statement):
            if isinstance(node, ast.Call):
                self._call(node)
        for node in _own_nodes(statement):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                self._used.pop(node.id, None)
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
            ) if function not in NOT_CONSUMING and self._is_random(module):
                return ast.unparse(module), name
            case _:
                return None

    def _is_random(self, node: ast.expr) -> bool:
        value: Any = None
        if isinstance(node, ast.Name):
            value = self._namespace.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            value = getattr(self._namespace.get(node.value.id), node.attr, None)
        return isinstance(value, ModuleType) and value.__name__ == _RANDOM


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement itself, without the statements and functions inside it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop(0)
        yield node
        waiting += [
            child
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, ast.stmt | ast.Lambda)
        ]
