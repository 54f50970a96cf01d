"""Programs made as small as they can be while what was found in them stays."""

import ast
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Any

ROUND = 24
ROUNDS = 60
SECONDS = 20.0
"""After how long a program is small enough, if nothing else is asked for."""

Holds = Callable[[Sequence[str]], Sequence[bool]]
"""Which of some sources still show what was found."""


def _library(node: ast.expr) -> bool:
    """Say whether an expression is a module."""
    return ast.unparse(node).split(".")[0] in ("jax", "jnp", "lax", "np")


def _simpler(node: ast.expr) -> Iterator[ast.expr]:
    """Yield expressions that may stand for one: what it is made of."""
    match node:
        case ast.Call():
            yield from node.args
            if isinstance(node.func, ast.Call) and node.func.args:
                yield ast.Call(node.func.args[0], node.args, node.keywords)
            if isinstance(node.func, ast.Attribute) and not _library(node.func.value):
                yield node.func.value
        case ast.BinOp():
            yield from (node.left, node.right)
        case ast.Subscript() | ast.Attribute() | ast.Starred() if not _library(node.value):
            yield node.value
        case ast.UnaryOp():
            yield node.operand
        case ast.List() | ast.Tuple():
            yield from node.elts
        case ast.Name(id=name) if name[0] == "v":
            yield from (ast.Name("x"), ast.Name("y"))
        case ast.Constant(value=value) if isinstance(value, float | int) and value not in (0, 1):
            yield from (ast.Constant(type(value)(1)), ast.Constant(type(value)(0)))
        case _:
            pass


def _edits(parent: ast.AST, name: str, old: Any) -> Iterator[Any]:
    """Yield what a field of a node may become."""
    if isinstance(old, ast.expr):
        yield from _simpler(old)
    if isinstance(old, list):
        for n, item in enumerate(old):
            if not isinstance(item, ast.Return) and (len(old) > 1 or name != "body"):
                yield [*old[:n], *old[n + 1 :]]
            if isinstance(item, ast.expr):
                yield from ([*old[:n], new, *old[n + 1 :]] for new in _simpler(item))


def variants(source: str) -> list[str]:
    """Return all programs that one edit makes of one, the shortest first."""
    tree = ast.parse(source)
    found: dict[str, None] = {}
    for parent in list(ast.walk(tree)):
        for name, old in list(ast.iter_fields(parent)):
            for new in _edits(parent, name, old):
                setattr(parent, name, new)
                found[ast.unparse(tree)] = None
            setattr(parent, name, old)
    return sorted((v for v in found if v != source), key=len)


def shrunk(source: str, holds: Holds, seconds: float = SECONDS) -> str:
    """Return a program as small as single edits make it, of which ``holds`` is still true."""
    source = ast.unparse(ast.parse(source))
    seen = {source}
    end = monotonic() + seconds
    for _ in range(ROUNDS):
        ahead = [v for v in variants(source) if v not in seen and len(v) <= len(source)]
        for start in range(0, len(ahead), ROUND):
            if monotonic() > end:
                return source
            chosen = ahead[start : start + ROUND]
            seen.update(chosen)
            held = [v for v, yes in zip(chosen, holds(chosen), strict=True) if yes]
            if held:
                source = held[0]
                break
        else:
            return source
    return source
