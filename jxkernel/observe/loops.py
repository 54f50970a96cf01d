"""Loops that tracing unrolls, written as ``fori_loop``, ``scan`` or ``while_loop``.

A loop whose body leaves it early, or binds a name that is read later and had no value before, has
no such form without a change of thought: then there is no text.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["rewritten"]

_Loop = ast.For | ast.While
_LEAVING = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Try)


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a loop does with names.

    Attributes:
      carry: names with a value before the loop that its body binds anew.
      outputs: lists to which each round appends one value, with that value's text.
      body: the statements, without those that append.
    """

    carry: tuple[str, ...]
    outputs: tuple[tuple[str, str], ...]
    body: tuple[str, ...]


def rewritten(
    loop: ast.AST, scope: ast.AST, arguments: Sequence[str], stacked: Callable[[str], str] = str
) -> str:
    """Write a loop with ``lax``; empty where it has no such form.

    Args:
      loop: a ``for`` or ``while`` statement.
      scope: the function or module that it stands in.
      arguments: the names that have a value from the beginning.
      stacked: from an expression that is looped over, the expression of it as one array.
    """
    if not isinstance(loop, _Loop) or loop.orelse:
        return ""
    if any(isinstance(node, _LEAVING) for one in loop.body for node in ast.walk(one)):
        return ""
    parts = _parts(loop, scope, arguments)
    if parts is None or not (parts.carry or parts.outputs):
        return ""
    if isinstance(loop, ast.While):
        return _while(loop, parts)
    bounds = _range_bounds(loop.iter)
    if bounds is not None and len(bounds) < 3 and not parts.outputs:
        return _fori(loop, parts, bounds)
    return _scan(loop, parts, _looped_over(loop.iter, stacked))


def _parts(loop: _Loop, scope: ast.AST, arguments: Sequence[str]) -> _Parts | None:
    appended = [_appended(one) for one in loop.body]
    outputs = tuple(one for one in appended if one is not None)
    body = [one for one, output in zip(loop.body, appended, strict=True) if output is None]
    bound = _stored(body)
    target = _stored([loop.target]) if isinstance(loop, ast.For) else []
    before = {*arguments, *_stored(_others(scope, loop, after=False))}
    later = {
        node.id
        for one in _others(scope, loop, after=True)
        for node in ast.walk(one)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    if any(name in later for name in (*bound, *target) if name not in before):
        return None
    carry = tuple(name for name in dict.fromkeys(bound) if name in before and name not in target)
    choices = _Choices({*carry, *target})
    written = [ast.unparse(choices.visit(copy.deepcopy(one))) for one in body]
    return None if choices.left else _Parts(carry, outputs, tuple(written))


class _Choices(ast.NodeTransformer):
    """Writes choices by what a loop changes, which is traced in it, as ``jnp.where``.

    Args:
      traced: the names that are traced in the body.

    Attributes:
      left: whether there is a choice that has no such form.
    """

    def __init__(self, traced: set[str]) -> None:
        self.left = False
        self._traced = traced

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """Write ``a if test else b``."""
        self.generic_visit(node)
        if not self._is_traced(node.test):
            return node
        return _where(node.test, node.body, node.orelse)

    def visit_If(self, node: ast.If) -> ast.AST:
        """Write an ``if`` that assigns one name, or one name in either case."""
        self.generic_visit(node)
        if not self._is_traced(node.test):
            return node
        match node.body, node.orelse:
            case [ast.Assign(targets=[ast.Name(id=name)], value=value)], []:
                otherwise: ast.expr = ast.Name(name)
            case (
                [ast.Assign(targets=[ast.Name(id=name)], value=value)],
                [ast.Assign(targets=[ast.Name(id=other)], value=otherwise)],
            ) if name == other:
                pass
            case _:
                self.left = True
                return node
        return ast.Assign([ast.Name(name)], _where(node.test, value, otherwise), lineno=0)

    def visit_While(self, node: ast.While) -> ast.AST:
        """Leave a loop inside: with a traced condition it has no form that is certain."""
        self.left = self.left or self._is_traced(node.test)
        return self.generic_visit(node)

    def _is_traced(self, test: ast.expr) -> bool:
        return any(isinstance(one, ast.Name) and one.id in self._traced for one in ast.walk(test))


def _where(test: ast.expr, a: ast.expr, b: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(ast.Name("jnp"), "where"), [test, a, b], [])


def _appended(statement: ast.stmt) -> tuple[str, str] | None:
    match statement:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="append"),
                args=[value],
                keywords=[],
            )
        ):
            return name, ast.unparse(value)
        case _:
            return None


def _stored(nodes: Sequence[ast.AST]) -> list[str]:
    return [
        node.id
        for one in nodes
        for node in ast.walk(one)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def _others(scope: ast.AST, loop: _Loop, *, after: bool) -> list[ast.AST]:
    """The names of the scope that stand before the loop, or after it."""
    end = loop.end_lineno or loop.lineno
    return [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Name)
        and (node.lineno > end if after else (node.lineno, node.col_offset) < _start(loop))
    ]


def _start(loop: _Loop) -> tuple[int, int]:
    return loop.lineno, loop.col_offset


def _range_bounds(node: ast.expr) -> list[str] | None:
    match node:
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]) if args:
            return [ast.unparse(one) for one in args]
        case _:
            return None


def _looped_over(node: ast.expr, stacked: Callable[[str], str]) -> str:
    """What a loop runs over, as one array or a tuple of arrays."""
    bounds = _range_bounds(node)
    if bounds is not None:
        return f"jnp.arange({', '.join(bounds)})"
    match node:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner], keywords=[]):
            text = ast.unparse(inner)
            return f"(jnp.arange(len({text})), {_looped_over(inner, stacked)})"
        case ast.Call(func=ast.Name(id="zip"), args=inners) if inners:
            return _group([_looped_over(inner, stacked) for inner in inners])
        case _:
            return stacked(ast.unparse(node))


def _fori(loop: ast.For, parts: _Parts, bounds: list[str]) -> str:
    start, stop = bounds if len(bounds) == 2 else ("0", bounds[0])
    lines = _function("body", [ast.unparse(loop.target), _parameter(parts)], parts)
    call = f"lax.fori_loop({start}, {stop}, body, {_group(parts.carry)})"
    return "\n".join([*lines, f"    return {_bare(parts.carry)}", f"{_bare(parts.carry)} = {call}"])


def _scan(loop: ast.For, parts: _Parts, xs: str) -> str:
    target = ast.unparse(loop.target)
    is_name = isinstance(loop.target, ast.Name)
    parameters = [_parameter(parts), target if is_name else "x"]
    lines = _function("body", parameters, parts, "" if is_name else target.strip("()"))
    outputs = [value for _, value in parts.outputs]
    lines.append(f"    return {_group(parts.carry) or 'None'}, {_group(outputs) or 'None'}")
    results = _group([name for name, _ in parts.outputs]) or "_"
    call = f"lax.scan(body, {_group(parts.carry) or 'None'}, {xs})"
    return "\n".join([*lines, f"{_group(parts.carry) or '_'}, {results} = {call}"])


def _while(loop: ast.While, parts: _Parts) -> str:
    if parts.outputs:
        return ""
    name, carry = _parameter(parts), _group(parts.carry)
    opening = [f"    {_bare(parts.carry)} = {name}"] * (len(parts.carry) > 1)
    condition = [f"def condition({name}):", *opening, f"    return {ast.unparse(loop.test)}"]
    body = [*_function("body", [name], parts), f"    return {_bare(parts.carry)}"]
    call = f"lax.while_loop(condition, body, {carry})"
    return "\n".join([*condition, *body, f"{_bare(parts.carry)} = {call}"])


def _function(name: str, parameters: list[str], parts: _Parts, unpacked: str = "") -> list[str]:
    lines = [f"def {name}({', '.join(parameters)}):"]
    if len(parts.carry) > 1:
        lines.append(f"    {_bare(parts.carry)} = carry")
    if unpacked:
        lines.append(f"    {unpacked} = x")
    return [*lines, *(f"    {line}" for one in parts.body for line in one.splitlines())]


def _parameter(parts: _Parts) -> str:
    """The parameter that takes the carry."""
    return parts.carry[0] if len(parts.carry) == 1 else "carry" if parts.carry else "_"


def _bare(names: Sequence[str]) -> str:
    return ", ".join(names)


def _group(names: Sequence[str]) -> str:
    """One name, or a tuple of several; empty for none."""
    return _bare(names) if len(names) < 2 else f"({_bare(names)})"
