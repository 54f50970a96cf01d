"""The body of a cell as a Python function: its reads are parameters, its locals are results.

The code object bears the name ``<module>``, as the cell's own would: tracebacks and
``observe.provenance`` then treat the whole cell as its source. ``global`` inside the cell's
functions becomes ``nonlocal``, because the cell's names are this function's locals.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType
from typing import Any

from jxkernel.jupyter.code.analysis import CellNames, definitions, names_bound_by

__all__ = ["CellSource", "Statement", "make_function", "place_of_change", "statements"]

_LOCALS = "__jx_locals__"
"""The free variable through which a cell's function reaches the builtin ``locals``."""

_WITHIN = "__around__.<locals>.__cell__.<locals>."


@dataclass(frozen=True, slots=True)
class CellSource:
    """A cell, parsed.

    Attributes:
      text: the Python source, with the magic's line as a comment, so that lines agree.
      file: the file name that IPython gave it.
      tree: the syntax tree of what is traced, after IPython's AST transformers.
      names: what it reads and binds.
      shown: whether the last statement is an expression to show.
      first: the statements above it that run untraced: those down to the last that awaits.
      first_names: the names that they bind.
    """

    text: str
    file: str
    tree: ast.Module
    names: CellNames
    shown: bool
    first: tuple[ast.stmt, ...] = ()
    first_names: tuple[str, ...] = ()


@dataclass(slots=True)
class Statement:
    """One top-level statement, to run as it stands, and the names that it binds.

    It is compiled when it is first run: most of a long cell's never are.
    """

    node: ast.stmt
    names: tuple[str, ...]
    is_definition: bool
    _code: CodeType | None = None

    def run(self, namespace: dict[str, Any], compiler: Callable[..., CodeType], file: str) -> None:
        """Run the statement among the notebook's variables."""
        if self._code is None:
            self._code = compiler(ast.Module([self.node], []), file, "exec")
        exec(self._code, namespace)


def make_function(
    source: CellSource,
    parameters: Sequence[str],
    namespace: dict[str, Any],
    compiler: Callable[..., CodeType],
) -> Callable[..., tuple[Any, dict[str, Any]]]:
    """Return the cell's function, of keyword arguments, giving (last expression, its locals).

    Args:
      source: the cell.
      parameters: the names that come as arguments; all others are looked up in ``namespace``.
      namespace: the notebook's variables.
      compiler: compiles a syntax tree: ``compiler(tree, file, "exec")``.

    Raises:
      SyntaxError: the cell cannot be compiled as a function.
    """
    head = f"*, {', '.join(parameters)}" if parameters else ""
    # Names that come from syntax trees are identifiers, so they may be written into source.
    module = ast.parse(f"def __around__({_LOCALS}):\n def __cell__({head}): pass")
    around = module.body[0]
    assert isinstance(around, ast.FunctionDef)
    inner = around.body[0]
    assert isinstance(inner, ast.FunctionDef)
    inner.body = _function_body(source, parameters)
    for node in (around, inner):
        node.lineno = node.end_lineno = 1
    ast.fix_missing_locations(module)
    code = _inner_code(_inner_code(compiler(module, source.file, "exec")))
    code = _named_as_outside(code).replace(co_name="<module>", co_qualname="<module>")
    function = FunctionType(code, namespace, "__cell__", None, (CellType(builtins.locals),))
    return function


def _named_as_outside(code: CodeType) -> CodeType:
    """Code whose functions and classes are called as if the cell ran by itself."""
    constants: list[Any] = []
    for one in code.co_consts:
        if isinstance(one, CodeType):
            constants.append(_named_as_outside(one))
        else:  # the body of a class has its name as a constant
            constants.append(one.removeprefix(_WITHIN) if isinstance(one, str) else one)
    qualified = code.co_qualname.removeprefix(_WITHIN)
    return code.replace(co_qualname=qualified, co_consts=tuple(constants))


def statements(source: CellSource) -> list[Statement]:
    """Return the statements that can be run again in the notebook's own namespace.

    They are definitions and imports, and plain assignments, one of which may have made a
    function: its closure must hold notebook variables, not what the trace had in their place.
    """
    defining = {id(one) for one in definitions(source.tree)}
    found = []
    for statement in source.tree.body:
        is_definition = id(statement) in defining
        if is_definition or isinstance(statement, ast.Assign):
            found.append(Statement(statement, names_bound_by(statement), is_definition))
    return found


def place_of_change(source: CellSource, name: str) -> tuple[str, str, tuple[int, int] | None]:
    """Return where a cell binds a name or changes what it holds: the place, code and underline."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Name(id=found, ctx=ast.Store()):
                changed: ast.expr = node
            case (
                ast.Attribute(ctx=ast.Store(), value=inner)
                | ast.Subscript(ctx=ast.Store(), value=inner)
            ):
                found, changed = _root_name(inner), node
            case ast.Call(func=ast.Attribute(value=inner)):
                found, changed = _root_name(inner), node
            case _:
                continue
        if found == name:
            lines = source.text.splitlines()
            code = lines[changed.lineno - 1]
            same = changed.end_lineno == changed.lineno
            end = changed.end_col_offset if same else len(code.encode())
            columns = (changed.col_offset, end or 0)
            start, stop = (len(code.encode()[:one].decode()) for one in columns)
            return f"{source.file}:{changed.lineno}", code, (start, stop)
    return "", "", None


def _root_name(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _function_body(source: CellSource, parameters: Sequence[str]) -> list[ast.stmt]:
    statements = list(source.tree.body)
    shared = source.names.shared
    if shared:
        statements = copy.deepcopy(statements)
        statements = [_GlobalsToNonlocals().visit(statement) for statement in statements]
    value: ast.expr = ast.Constant(None)
    if source.shown:
        last = statements.pop()
        assert isinstance(last, ast.Expr)
        value = last.value
    call = ast.Call(ast.Name(_LOCALS, ast.Load()), [], [])
    # The value comes first: evaluating it may bind names, with ``:=``.
    result = ast.Return(ast.Tuple([value, call], ast.Load()))
    if source.tree.body:
        at = value if source.shown else source.tree.body[-1]
        for node in (result, result.value, call, call.func):
            if node is not None:
                ast.copy_location(node, at)
    unbound = sorted(shared.difference(parameters))
    return [*_binding_without_running(unbound), *statements, result]


def _binding_without_running(names: Sequence[str]) -> list[ast.stmt]:
    """A statement that makes names local to the function and does nothing."""
    if not names:
        return []
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    return [ast.If(ast.Constant(False), [ast.Assign(targets, ast.Constant(None))], [])]


def _inner_code(code: CodeType) -> CodeType:
    return next(one for one in code.co_consts if isinstance(one, CodeType))


class _GlobalsToNonlocals(ast.NodeTransformer):
    """Drops ``global`` at the cell's top level and makes it ``nonlocal`` inside functions."""

    def __init__(self) -> None:
        self._depth = 0

    def _nested(self, node: ast.AST) -> ast.AST:
        self._depth += 1
        visited = self.generic_visit(node)
        self._depth -= 1
        return visited

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _nested

    def visit_Global(self, node: ast.Global) -> ast.stmt:  # ast's protocol
        replaced = ast.Nonlocal(node.names) if self._depth else ast.Pass()
        return ast.copy_location(replaced, node)
