"""What a cell reads and what it assigns, from its syntax tree alone.

A loop's body is taken to run at least once when what follows it is judged: otherwise a name that
only the loop binds would count as read, and the second run of the cell, when the name exists,
would be traced anew. A loop that did not run is a ``NameError`` on the line that reads the name.
"""

from __future__ import annotations

import ast
import functools
import itertools
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

__all__ = [
    "CellNames",
    "analyse",
    "attribute_chains",
    "definitions",
    "is_definition_cell",
    "names_bound_by",
]

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(frozen=True, slots=True)
class CellNames:
    """The names of a cell's top level.

    Attributes:
      reads: names that may be used before the cell binds them, in order, with the line of the
        first use.
      assigned: names that the cell binds, in order; those of a nested ``global`` included.
      deleted: names that the cell deletes.
      shared: names that functions of the cell declare ``global``.
      star_imports: lines of ``from module import *``.
      awaits: lines of top-level ``await``, ``async for`` and ``async with``.
    """

    reads: dict[str, int]
    assigned: tuple[str, ...]
    deleted: frozenset[str]
    shared: frozenset[str]
    star_imports: tuple[int, ...]
    awaits: tuple[int, ...]


def analyse(tree: ast.Module) -> CellNames:
    """Return the names that a cell's top level reads, binds and deletes."""
    scope = _Scope()
    bound = scope.block(tree.body, _NOTHING)
    for name, line in scope.deferred:
        scope.read(name, line, bound)
    return CellNames(
        reads=scope.reads,
        assigned=tuple(scope.assigned),
        deleted=frozenset(scope.deleted),
        shared=frozenset(scope.shared),
        star_imports=tuple(scope.star_imports),
        awaits=tuple(scope.awaits),
    )


def attribute_chains(tree: ast.Module) -> dict[str, tuple[tuple[str, ...], ...]]:
    """The attributes that a cell looks up, by the name that they begin with.

    Of ``settings.model.rate`` it gives ("settings", "model", "rate") and each start of it.
    """
    found: dict[str, dict[tuple[str, ...], None]] = {}
    for node in ast.walk(tree):
        chain: list[str] = []
        while isinstance(node, ast.Attribute):
            chain.insert(0, node.attr)
            node = node.value
        if chain and isinstance(node, ast.Name):
            found.setdefault(node.id, {})[(node.id, *chain)] = None
    return {name: tuple(chains) for name, chains in found.items()}


def is_definition_cell(tree: ast.Module) -> bool:
    """Whether a cell holds only imports, constants, classes and at least one function."""
    constants: set[str] = set()
    functions = 0
    for statement in tree.body:
        functions += _is_function(statement)
        if not _is_definition(statement, constants):
            return False
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            constants.update(names_bound_by(statement))
    return functions > 0


def definitions(tree: ast.Module) -> list[ast.stmt]:
    """The top-level statements that define functions and classes or import modules."""
    return [
        statement
        for statement in tree.body
        if _is_function(statement)
        or isinstance(statement, ast.ClassDef | ast.Import | ast.ImportFrom)
    ]


def names_bound_by(statement: ast.stmt) -> tuple[str, ...]:
    """The names that one statement binds; a function's ``global`` names are bound by its calls."""
    if isinstance(statement, FUNCTIONS):
        return (statement.name,)
    scope = _Scope()
    scope.block([statement], _NOTHING)
    return tuple(scope.assigned)


def _is_function(statement: ast.stmt) -> bool:
    if isinstance(statement, FUNCTIONS):
        return True
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Lambda)
        and all(isinstance(target, ast.Name) for target in statement.targets)
    )


def _is_definition(statement: ast.stmt, constants: set[str]) -> bool:
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.ClassDef() | ast.Pass():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(targets=targets, value=value):
            plain = all(isinstance(target, ast.Name) for target in targets)
            return plain and (_is_function(statement) or _is_constant(value, constants))
        case ast.AnnAssign(target=ast.Name(), value=value):
            return value is None or _is_constant(value, constants)
        case _:
            return _is_function(statement)


def _is_constant(expression: ast.expr, constants: set[str]) -> bool:
    """Whether an expression is made of literals, earlier constants and attributes of modules."""
    match expression:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name in constants
        case ast.Attribute(value=value):
            return isinstance(value, ast.Attribute | ast.Name)
        case ast.Tuple() | ast.List() | ast.Set() | ast.UnaryOp() | ast.BinOp() | ast.Dict():
            parts = (one for one in ast.iter_child_nodes(expression) if isinstance(one, ast.expr))
            return all(_is_constant(part, constants) for part in parts)
        case _:
            return False


class _Bound:
    """Names that are bound for sure: an immutable set that grows by a name at little cost.

    It is held in layers of which each is at least twice as large as the next, so a cell of
    thousands of names copies each of them a few times, not once per line.
    """

    __slots__ = ("_layers",)

    def __init__(self, layers: tuple[frozenset[str], ...] = ()) -> None:
        self._layers = layers

    def __contains__(self, name: str) -> bool:
        return any(name in layer for layer in self._layers)

    def union(self, names: Iterable[str]) -> _Bound:
        """These names and more."""
        added = frozenset(name for name in names if name not in self)
        if not added:
            return self
        layers = list(self._layers)
        while layers and len(layers[-1]) < 2 * len(added):
            added |= layers.pop()
        return _Bound((*layers, added))

    def without(self, names: Iterable[str]) -> _Bound:
        """These names but for some."""
        return _Bound((self._flat(0).difference(names),))

    def __and__(self, other: _Bound) -> _Bound:
        """The names that are in both; layers that both grew from are not looked at."""
        pairs = zip(self._layers, other._layers, strict=False)
        shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] is pair[1], pairs))
        both = self._flat(shared) & other._flat(shared)
        return _Bound(self._layers[:shared]).union(both)

    def _flat(self, start: int) -> frozenset[str]:
        return frozenset().union(*self._layers[start:])


_NOTHING = _Bound()


class _Scope:
    """Follows the statements of one scope in order, with the names that are bound for sure."""

    def __init__(self) -> None:
        self.reads: dict[str, int] = {}
        self.deferred: list[tuple[str, int]] = []
        self.assigned: dict[str, None] = {}
        self.deleted: set[str] = set()
        self.shared: set[str] = set()
        self.outer: set[str] = set()
        self.star_imports: list[int] = []
        self.awaits: list[int] = []

    def read(self, name: str, line: int, bound: _Bound) -> None:
        """Note a use, unless the name is bound already."""
        if name not in bound:
            self.reads.setdefault(name, line)

    def bind(self, names: Iterable[str], bound: _Bound) -> _Bound:
        """Notes bindings and returns what is bound after them."""
        names = tuple(names)
        self.assigned.update(dict.fromkeys(names))
        return bound.union(names)

    def block(self, statements: Sequence[ast.stmt], bound: _Bound) -> _Bound:
        """Follow statements and return what is bound after them."""
        for statement in statements:
            bound = self._statement(statement, bound)
        return bound

    def _statement(self, node: ast.stmt, bound: _Bound) -> _Bound:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return self._definition(node, bound)
            case ast.Import() | ast.ImportFrom():
                return self._import(node, bound)
            case ast.If():
                bound = self.expression(node.test, bound)
                return self.block(node.body, bound) & self.block(node.orelse, bound)
            case ast.For() | ast.AsyncFor():
                self._note_await(node, isinstance(node, ast.AsyncFor))
                bound = self.expression(node.iter, bound)
                bound = self.block(node.body, self.target(node.target, bound))
                return self.block(node.orelse, bound)
            case ast.While():
                bound = self.expression(node.test, bound)
                return self.block(node.orelse, self.block(node.body, bound))
            case ast.With() | ast.AsyncWith():
                self._note_await(node, isinstance(node, ast.AsyncWith))
                return self.block(node.body, self._with_items(node.items, bound))
            case ast.Try():
                return self._try(node, bound)
            case ast.Match():
                return self._match(node, bound)
            case ast.Delete():
                return self._delete(node, bound)
            case ast.TryStar():
                return self._try(node, bound)
            case _ if type(node).__name__ == "TypeAlias":  # from Python 3.12
                return self.target(getattr(node, "name"), bound)  # noqa: B009  # unknown in 3.11
            case _:
                return self._simple(node, bound)

    def _simple(self, node: ast.stmt, bound: _Bound) -> _Bound:
        match node:
            case ast.Assign(targets=targets, value=value):
                bound = self.expression(value, bound)
                for target in targets:
                    bound = self.target(target, bound)
                return bound
            case ast.AugAssign(target=target, value=value):
                if isinstance(target, ast.Name):
                    self.read(target.id, target.lineno, bound)
                bound = self.expression(value, bound)
                return self.target(target, bound)
            case ast.AnnAssign(target=target, annotation=annotation, value=value):
                bound = self.expression(annotation, bound)
                if value is None:
                    return bound
                return self.target(target, self.expression(value, bound))
            case ast.Global(names=names):
                self.shared.update(names)
                self.outer.update(names)
                return bound
            case ast.Nonlocal(names=names):
                self.outer.update(names)
                return bound
            case _:
                for child in ast.iter_child_nodes(node):
                    bound = self.expression(child, bound)
                return bound

    def _definition(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, bound: _Bound
    ) -> _Bound:
        for decorator in node.decorator_list:
            bound = self.expression(decorator, bound)
        if isinstance(node, ast.ClassDef):
            for part in (*node.bases, *node.keywords):
                bound = self.expression(part, bound)
            self._read_all(_free_reads_of_class(node), bound)
        else:
            bound = self._defaults(node, bound)
            self.deferred += _free_reads(node)
        for name in _globals_inside(node):
            self.shared.add(name)
            self.assigned.setdefault(name)
        return self.bind([node.name], bound)

    def _defaults(self, node: _Function, bound: _Bound) -> _Bound:
        """What is evaluated when a function is defined."""
        arguments = node.args
        annotations = (one.annotation for one in _all_arguments(arguments))
        returns = getattr(node, "returns", None)
        for part in (*arguments.defaults, *arguments.kw_defaults, *annotations, returns):
            if part is not None:
                bound = self.expression(part, bound)
        return bound

    def _import(self, node: ast.Import | ast.ImportFrom, bound: _Bound) -> _Bound:
        names = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        if "*" in names:
            self.star_imports.append(node.lineno)
            return bound
        return self.bind(names, bound)

    def _with_items(self, items: list[ast.withitem], bound: _Bound) -> _Bound:
        for item in items:
            bound = self.expression(item.context_expr, bound)
            if item.optional_vars is not None:
                bound = self.target(item.optional_vars, bound)
        return bound

    def _try(self, node: ast.Try | ast.TryStar, bound: _Bound) -> _Bound:
        after = self.block(node.orelse, self.block(node.body, bound))
        for handler in node.handlers:
            inside = bound
            if handler.type is not None:
                inside = self.expression(handler.type, inside)
            caught = [handler.name] if handler.name else []
            handled = self.block(handler.body, inside.union(caught)).without(caught)
            if not isinstance(handler.body[-1], ast.Raise):
                after = after & handled
        return self.block(node.finalbody, after)

    def _match(self, node: ast.Match, bound: _Bound) -> _Bound:
        bound = self.expression(node.subject, bound)
        ends = []
        complete = False
        for case in node.cases:
            inside = self.bind(_pattern_names(case.pattern), bound)
            for part in ast.walk(case.pattern):
                if isinstance(part, ast.expr):
                    inside = self.expression(part, inside)
            if case.guard is not None:
                inside = self.expression(case.guard, inside)
            ends.append(self.block(case.body, inside))
            complete |= case.guard is None and _matches_all(case.pattern)
        if not complete:
            ends.append(bound)
        return functools.reduce(operator.and_, ends)

    def _delete(self, node: ast.Delete, bound: _Bound) -> _Bound:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.read(target.id, target.lineno, bound)
                self.deleted.add(target.id)
                bound = bound.without([target.id])
            else:
                bound = self.expression(target, bound)
        return bound

    def target(self, node: ast.expr, bound: _Bound) -> _Bound:
        """Follow the target of an assignment."""
        match node:
            case ast.Name(id=name):
                return self.bind([name], bound)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for element in elements:
                    bound = self.target(element, bound)
                return bound
            case ast.Starred(value=value):
                return self.target(value, bound)
            case _:
                return self.expression(node, bound)

    def expression(self, node: ast.AST, bound: _Bound) -> _Bound:
        """Follow an expression in the order of evaluation; ``:=`` binds."""
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                self.read(name, node.lineno, bound)
            case ast.Name(id=name):
                return self.bind([name], bound)
            case ast.NamedExpr(target=target, value=value):
                return self.target(target, self.expression(value, bound))
            case ast.Lambda():
                bound = self._defaults(node, bound)
                self._read_all(_free_reads(node), bound)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self._comprehension(node, bound)
            case _:
                self._note_await(node, isinstance(node, ast.Await))
                for child in ast.iter_child_nodes(node):
                    bound = self.expression(child, bound)
        return bound

    def _comprehension(self, node: _Comprehension, bound: _Bound) -> _Bound:
        own = _NOTHING
        inner = _Scope()
        for generator in node.generators:
            self._note_await(node, bool(generator.is_async))
            inner.expression(generator.iter, own)
            own = own.union(_target_names(generator.target))
            for condition in generator.ifs:
                inner.expression(condition, own)
        for part in ast.iter_child_nodes(node):
            if not isinstance(part, ast.comprehension):
                inner.expression(part, own)
        self._read_all(inner.reads.items(), bound)
        self.awaits += inner.awaits
        return self.bind(inner.assigned, bound)

    def _read_all(self, reads: Iterable[tuple[str, int]], bound: _Bound) -> None:
        for name, line in reads:
            self.read(name, line, bound)

    def _note_await(self, node: ast.AST, is_await: bool) -> None:
        if is_await and isinstance(node, ast.stmt | ast.expr):
            self.awaits.append(node.lineno)


def _free_reads(function: _Function) -> list[tuple[str, int]]:
    """The names that a function's body takes from outside, with their lines."""
    own = {argument.arg for argument in _all_arguments(function.args)}
    scope = _Scope()
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    for part in body:
        if isinstance(part, ast.stmt):
            scope.block([part], _NOTHING)
        else:
            scope.expression(part, _NOTHING)
    own |= scope.assigned.keys() - scope.outer
    found = [*scope.reads.items(), *scope.deferred]
    return [(name, line) for name, line in found if name not in own]


def _free_reads_of_class(node: ast.ClassDef) -> list[tuple[str, int]]:
    """The names that a class body takes from outside; its methods do not see its own names."""
    scope = _Scope()
    scope.block(node.body, _NOTHING)
    own = scope.assigned.keys() - scope.outer
    immediate = [(name, line) for name, line in scope.reads.items() if name not in own]
    return [*immediate, *scope.deferred]


def _globals_inside(node: ast.AST) -> Iterator[str]:
    """The names that functions and classes below a node declare global."""
    for one in ast.walk(node):
        if isinstance(one, ast.Global):
            yield from one.names


def _all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    several = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *several]


def _target_names(target: ast.expr) -> Iterator[str]:
    for one in ast.walk(target):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id


def _pattern_names(pattern: ast.pattern) -> Iterator[str]:
    for one in ast.walk(pattern):
        match one:
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name


def _matches_all(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None
