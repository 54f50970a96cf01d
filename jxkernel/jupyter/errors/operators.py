"""What to write for operators, indices and sizes that are given what they do not take.

Each function takes the expression that failed, in the tree of ``executing``, and the names of its
frame; it returns an empty text where it knows no form that runs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from jxkernel.core.trace import Tracer
from jxkernel.jupyter.errors.containers import ARRAYS
from jxkernel.jupyter.errors.rewrites import Names

__all__ = [
    "apart",
    "called",
    "differing",
    "fixed_slice",
    "floating_power",
    "inverted",
    "listed_index",
    "python_index",
    "times",
    "whole_division",
    "whole_index",
]


def times(node: ast.AST | None, code: str, names: Names) -> str:
    """A product with a number, which ``@`` does not take."""
    match node:
        case ast.BinOp(left=left, op=ast.MatMult(), right=right) if any(
            _is_number(one, names) for one in (left, right)
        ):
            return ast.unparse(ast.BinOp(left, ast.Mult(), right))
    return ""


def _is_number(node: ast.expr, names: Names) -> bool:
    held = names.held(node)
    return isinstance(node, ast.Constant) or (isinstance(held, ARRAYS) and held.ndim == 0)


def apart(node: ast.AST | None, code: str, names: Names) -> str:
    """Two comparisons joined by ``&`` or ``|``, which bind more tightly than ``>``."""
    match node, getattr(node, "parent", None):
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr() as sign), ast.Compare() as around if (
            node in around.comparators
        ):
            at = around.comparators.index(node)
            ops, ends = around.ops, around.comparators
            first = ast.Compare(around.left, ops[: at + 1], [*ends[:at], node.left])
            second = ast.Compare(node.right, ops[at + 1 :], ends[at + 1 :])
            if second.ops:
                return ast.unparse(ast.BinOp(first, sign, second))
    return ""


def inverted(node: ast.AST | None, code: str, names: Names) -> str:
    """A condition that was negated by a minus."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return ast.unparse(ast.UnaryOp(ast.Invert(), operand))
    return ""


def differing(node: ast.AST | None, code: str, names: Names) -> str:
    """A condition without another, which was written as a difference."""
    match node:
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            without = ast.BinOp(left, ast.BitAnd(), ast.UnaryOp(ast.Invert(), right))
            return f"{ast.unparse(without)}, or with .astype(int) to subtract them as 1 and 0"
    return ""


def floating_power(node: ast.AST | None, code: str, names: Names) -> str:
    """A negative power of whole numbers, with a point."""
    match node:
        case ast.BinOp(
            left=base,
            op=ast.Pow(),
            right=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as power)),
        ):
            return ast.unparse(ast.BinOp(base, ast.Pow(), ast.Constant(-float(power))))
    return ""


def whole_division(node: ast.AST | None, code: str, names: Names) -> str:
    """A size or an index whose ``/`` is ``//``."""
    if not isinstance(node, ast.expr):
        return ""
    changed = _without_parents(node)
    found = [
        one for one in ast.walk(changed) if isinstance(one, ast.BinOp) and type(one.op) is ast.Div
    ]
    for one in found:
        one.op = ast.FloorDiv()
    return ast.unparse(changed) if len(found) == 1 else ""


def _without_parents(node: ast.expr) -> ast.expr:
    """A copy of an expression that does not hold the tree around it."""
    return ast.parse(ast.unparse(node), mode="eval").body


def whole_index(node: ast.AST | None, code: str, names: Names) -> str:
    """An index of numbers with a point, as whole ones."""
    match node:
        case ast.Subscript(value=of, slice=ast.Tuple() | ast.Slice()):
            return ""
        case ast.Subscript(value=of, slice=index):
            whole = ast.Call(ast.Attribute(index, "astype"), [ast.Name("int")], [])
            return ast.unparse(ast.Subscript(of, whole))
    return ""


def python_index(node: ast.AST | None, code: str, names: Names) -> str:
    """A number with a point as a whole one of Python's, in an index or a ``range``."""
    match node:
        case ast.Subscript(value=of, slice=index) if not isinstance(index, ast.Slice | ast.Tuple):
            return ast.unparse(ast.Subscript(of, ast.Call(ast.Name("int"), [index], [])))
        case ast.Call(func=ast.Name(id="range") as function, args=[bound], keywords=[]):
            return ast.unparse(ast.Call(function, [ast.Call(ast.Name("int"), [bound], [])], []))
    return ""


def listed_index(node: ast.AST | None, code: str, names: Names) -> str:
    """An index that is a list, as an array."""
    match node:
        case ast.Subscript(value=of, slice=ast.List() as index):
            return f"{ast.unparse(of)}[jnp.array({ast.unparse(index)})]"
    return ""


def fixed_slice(node: ast.AST | None, code: str, names: Names) -> str:
    """A slice with traced bounds, as one of a fixed size or as an array with the rest blanked."""
    match node:
        case ast.Subscript(value=of, slice=ast.Slice(lower=lower, upper=upper, step=None)):
            pass
        case _:
            return ""
    array = ast.unparse(of)
    if lower is not None and upper is not None:
        size = _length(lower, upper)
        if size is None:
            return ""
        return f"lax.dynamic_slice_in_dim({array}, {ast.unparse(lower)}, {ast.unparse(size)})"
    held = names.held(of)
    bound = lower or upper
    if bound is None or not isinstance(held, Tracer) or held.ndim != 1:
        return ""
    if isinstance(bound, ast.Name):  # an argument of its own may be static
        return ""
    sign = ">=" if lower is not None else "<"
    return f"jnp.where(jnp.arange(len({array})) {sign} {ast.unparse(bound)}, {array}, 0)"


def _length(lower: ast.expr, upper: ast.expr) -> ast.expr | None:
    """The length of a slice ``i:i + n`` or ``i * n:(i + 1) * n``."""
    begin = ast.unparse(lower)
    match lower, upper:
        case _, ast.BinOp(left=left, op=ast.Add(), right=size) if ast.unparse(left) == begin:
            return size
        case (
            ast.BinOp(left=turn, op=ast.Mult(), right=size),
            ast.BinOp(
                left=ast.BinOp(left=same, op=ast.Add(), right=ast.Constant(value=1)),
                op=ast.Mult(),
                right=again,
            ),
        ) if (ast.unparse(turn), ast.unparse(size)) == (ast.unparse(same), ast.unparse(again)):
            return size
    return None


def called(node: ast.AST | None, code: str, names: Names) -> str:
    """That a function is to be called before one computes with it."""
    if isinstance(node, ast.BinOp):
        for one in (node.left, node.right):
            held = names.held(one)
            if isinstance(held, Callable) and not isinstance(held, ARRAYS):
                name = ast.unparse(one)
                return f"{name} is a function: call it, and compute with its result"
    return ""
