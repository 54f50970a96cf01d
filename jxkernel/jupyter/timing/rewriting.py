"""Timed code, rewritten so that its results can be waited for.

Values of expressions inside loops and branches are kept too; what is inside functions and classes
stays as it is. A rewriter works for the magic that put it in place alone: once the timed code
runs it passes on whatever that code has compiled.
"""

from __future__ import annotations

import ast
import itertools
from typing import Any

from jxkernel.runtime import under_way, wait

__all__ = ["BelowSetup", "KeepResults", "Rewriter", "WaitAtEnd", "Waiter", "with_waits"]

RESULT = "__jx_result_{}__"
"""The locals of the timed frame that hold what statements give."""


class Rewriter(ast.NodeTransformer):
    """The base: rewrites statements outside functions and classes, until it is ``done``."""

    def __init__(self) -> None:
        self.done = False
        self._numbers = itertools.count()

    def visit(self, node: ast.AST) -> Any:
        """Rewrite a tree, or pass it on once this is done."""
        return node if self.done else super().visit(node)

    def _unchanged(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _unchanged


class BelowSetup(Rewriter):
    """Numbers the lines of a ``%%timeit`` as they stand in the cell: below the line of its setup.

    IPython counts both from 1.
    """

    def visit(self, node: ast.AST) -> Any:
        """Pass on the setup, and number what follows it."""
        if next(self._numbers) == 1:
            ast.increment_lineno(node)
        return node


class KeepResults(Rewriter):
    """Binds what statements give to locals, so that the clock finds it: for ``%timeit``."""

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """Bind the value of an expression."""
        return node if _is_plain(node.value) else _at(node, ast.Assign([self._name()], node.value))

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """Bind what is put into an attribute or an item as well."""
        if not any(isinstance(one, ast.Attribute | ast.Subscript) for one in node.targets):
            return node
        return _at(node, ast.Assign([self._name(), *node.targets], node.value))

    def _name(self) -> ast.expr:
        return ast.Name(RESULT.format(next(self._numbers)), ast.Store())


class WaitAtEnd(Rewriter):
    """Keeps what expressions give until the end, and waits there: for ``%time``.

    Args:
      name: the name under which the code finds its ``Waiter``.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Rewrite one piece of code, the only one: IPython transforms it as a whole."""
        last = node.body[-1] if node.body else None
        if isinstance(last, ast.Expr):
            node.body[:-1] = [self.visit(statement) for statement in node.body[:-1]]
            node.body[-1] = _at(last, ast.Expr(self._call("finish", last.value)))
        else:
            self.generic_visit(node)
            # A condition, since an expression at the end would become the value of the cell.
            waiting = ast.If(self._call("finish"), [ast.Pass()], [])
            node.body.append(_at(last, waiting) if last else ast.fix_missing_locations(waiting))
        self.done = True
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """Pass the value of an expression through the waiter."""
        if _is_plain(node.value):
            return node
        number = ast.Constant(next(self._numbers))
        return _at(node, ast.Expr(self._call("keep", number, node.value)))

    def _call(self, method: str, *values: ast.expr) -> ast.expr:
        return ast.Call(
            ast.Attribute(ast.Name(self._name, ast.Load()), method, ast.Load()), list(values), []
        )


def with_waits(text: str, name: str) -> str:
    """Return code as ``WaitAtEnd`` would have it, as text with the same lines: for ``%prun``.

    Raises:
      SyntaxError: it is not plain Python.
    """
    tree = ast.parse(text)
    lines = [line.encode() for line in text.split("\n")]
    found = _Expressions()
    found.visit(tree)
    for number, node in reversed([*enumerate(found.nodes)]):
        value = node.value
        end = (value.end_lineno or value.lineno) - 1
        lines[end] = _inserted(lines[end], value.end_col_offset or 0, b"))")
        opening = f"{name}.keep({number}, (".encode()
        lines[value.lineno - 1] = _inserted(lines[value.lineno - 1], value.col_offset, opening)
    return b"\n".join(lines).decode().rstrip("\n") + f"\n{name}.finish()\n"


def _inserted(line: bytes, at: int, what: bytes) -> bytes:
    return line[:at] + what + line[at:]


class _Expressions(Rewriter):
    """Collects the statements that are expressions, in the order of the text."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[ast.Expr] = []

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        """Take note of one."""
        if not _is_plain(node.value):
            self.nodes.append(node)
        return node


class Waiter:
    """What rewritten code calls: keeps values, and at the end waits for all that is under way."""

    def __init__(self) -> None:
        self._kept: dict[int, Any] = {}

    def keep(self, number: int, value: Any) -> Any:
        """Keep the latest value of a statement, and return it."""
        self._kept[number] = value
        return value

    def finish(self, value: Any = None) -> Any:
        """Wait until everything exists, and return ``value``."""
        try:
            arrays = under_way()
            if arrays:
                wait(arrays)
        finally:
            self._kept.clear()
        return value


def _is_plain(value: ast.expr) -> bool:
    """Whether an expression cannot make an array: a docstring, an ellipsis, a name."""
    return isinstance(value, ast.Constant | ast.Name | ast.Await | ast.Yield | ast.YieldFrom)


def _at(place: ast.stmt, made: ast.stmt) -> ast.stmt:
    return ast.fix_missing_locations(ast.copy_location(made, place))
