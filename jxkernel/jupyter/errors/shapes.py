"""What to write where shapes do not fit: the user's expression if one form of it does, or the idea.

A form is told where it alone makes the shapes fit, of those that are usual: an axis of size 1, a
transpose, operands the other way round, another axis to join along.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from jxkernel.errors import ShapeError, ShapeMismatchError
from jxkernel.jupyter.errors.rewrites import Names

__all__ = ["fitting"]

_Shapes = Sequence[tuple[int, ...]]

_MATRICES = ("matmul", "dot")
_OF_ANY_SHAPE = {"solve": ("lstsq", "[0]"), "inv": ("pinv", "")}
"""For functions of square matrices those that take any, and what is taken of their result."""

_LOOK = (
    "shapes are known while tracing: print(x.shape) before this line shows which one is not as you "
    "expect"
)


def fitting(error: ShapeError, node: Any, names: Names) -> str:
    """Return the expression that fits, or else one sentence on the idea.

    Args:
      error: it says the operation, and the shapes that it was given.
      node: the expression that raised it, in the tree of ``executing``.
      names: those of its frame.
    """
    if not isinstance(error, ShapeMismatchError):
        return _of_square(error, node) or _of_reshape(error)
    name, shapes = error.operation, error.shapes
    parts = _operands(node, name, names)
    if parts and len(parts) == len(shapes) == 2:
        form = _product if name in _MATRICES else _repeated
        written = form(node, parts, shapes)
        if written is not None:
            return ast.unparse(written)
    joined = _joined(node, shapes, names) if name == "concatenate" else ""
    return joined or _idea(name, shapes, error.rule)


def _operands(node: Any, name: str, names: Names) -> list[ast.expr]:
    """The operands of an operator, or of a call of our function of a name."""
    match node:
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.Compare(left=left, ops=[_], comparators=[right]):
            return [left, right]
        case ast.Call(func=function, args=[_, _] as args, keywords=[]) if _is_ours(
            function, name, names
        ):
            return args
        case _:
            return []


def _is_ours(function: ast.expr, name: str, names: Names) -> bool:
    match function:
        case ast.Attribute(value=ast.Name(id=module), attr=attribute):
            found = names.found.get(module)
            is_numpy = isinstance(found, ModuleType) and found.__name__ == "jxkernel.numpy"
            return is_numpy and attribute == name
        case _:
            return False


def _with_operands(node: Any, parts: Sequence[ast.expr]) -> ast.expr:
    first, second = parts
    match node:
        case ast.BinOp(op=op):
            return ast.BinOp(first, op, second)
        case ast.Compare(ops=ops):
            return ast.Compare(first, ops, [second])
        case _:
            return ast.Call(node.func, [first, second], [])


def _repeated(node: Any, parts: Sequence[ast.expr], shapes: _Shapes) -> ast.expr | None:
    """The smaller array with new axes behind, where its own axes are those of the larger."""
    small = int(len(shapes[1]) < len(shapes[0]))
    own, whole = shapes[small], shapes[1 - small]
    if 1 in own or not own:
        return None
    starts = [at for at in range(len(whole) - len(own)) if whole[at : at + len(own)] == own]
    if len(starts) != 1:
        return None
    behind = [ast.Constant(None)] * (len(whole) - len(own) - starts[0])
    axes: ast.expr = ast.Slice() if len(own) == 1 else ast.Constant(...)
    repeated = ast.Subscript(parts[small], ast.Tuple([axes, *behind]))
    return _with_operands(node, [parts[0], repeated] if small else [repeated, parts[1]])


def _product(node: Any, parts: Sequence[ast.expr], shapes: _Shapes) -> ast.expr | None:
    """A product of matrices and vectors with one transposed, or in the other order."""
    (left, right), (a, b) = shapes, parts
    if not {len(left), len(right)} <= {1, 2}:
        return None
    forms: list[list[ast.expr]] = []
    if right[-1] == left[0]:
        forms.append([b, a])
    if len(left) == len(right) == 2:
        if left[1] == right[1]:
            forms.append([a, ast.Attribute(b, "T")])
        if left[0] == right[0]:
            forms.append([ast.Attribute(a, "T"), b])
    return _with_operands(node, forms[0]) if len(forms) == 1 else None


def _joined(node: Any, shapes: _Shapes, names: Names) -> str:
    """A call of ``concatenate`` along another axis, or with a row as an array of rows."""
    match node:
        case ast.Call(func=function, args=[ast.List(elts=parts)], keywords=[]) if _is_ours(
            function, "concatenate", names
        ) and len(parts) == len(shapes):
            pass
        case _:
            return ""
    rank = max(map(len, shapes))
    rows = {shape[1:] if len(shape) == rank else shape for shape in shapes}
    if len(rows) == 1 and min(map(len, shapes)) == rank - 1:
        given = [
            part if len(shape) == rank else ast.Subscript(part, ast.Constant(None))
            for part, shape in zip(parts, shapes, strict=True)
        ]
        return ast.unparse(ast.Call(function, [ast.List(given)], []))
    fits = [axis for axis in range(1, rank) if len({_without(axis, s) for s in shapes}) == 1]
    if len(fits) != 1 or any(len(shape) != rank for shape in shapes):
        return ""
    along = ast.keyword("axis", ast.Constant(fits[0]))
    return ast.unparse(ast.Call(function, node.args, [along]))


def _without(axis: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _of_square(error: ShapeError, node: Any) -> str:
    """A function of square matrices that was given another: one that takes any, or the idea."""
    found = re.search(
        r"^(\w+) got shape \(([\d, ]*)\): a must be of shape \(\.\.\., n, n\)", str(error)
    )
    if found is None or not isinstance(node, ast.Call):
        return ""
    name, sizes = found[1], [one for one in found[2].split(",") if one.strip()]
    if len(sizes) == 1:
        return "it takes matrices, and this has one axis: jnp.diag makes a matrix of a diagonal"
    if name in _OF_ANY_SHAPE and isinstance(node.func, ast.Attribute):
        other, ending = _OF_ANY_SHAPE[name]
        function = ast.Attribute(node.func.value, other, ast.Load())
        return ast.unparse(ast.Call(function, node.args, [])) + ending
    return "it takes square matrices; the product of a matrix and its transpose is square, a.T @ a"


def _of_reshape(error: ShapeError) -> str:
    if "a list of arrays of unequal shapes" in str(error):
        return "an array has rows of one length: pad the short ones, or keep a list of arrays"
    found = re.search(r"to an array of shape .* and (\d+) elements", str(error))
    if found is None:
        return ""
    return (
        f"give sizes whose product is {found[1]}; one of them may be -1, and follows from the rest"
    )


def _idea(name: str, shapes: _Shapes, rule: str) -> str:
    if name in _MATRICES:
        return (
            "give two matrices one size where they are summed: .T swaps the axes of a matrix, and "
            "jnp.einsum names the axes that are summed"
        )
    if name == "concatenate":
        return (
            "give all arrays the same sizes but for one axis, with reshape or a slice, and name "
            "that axis with axis="
        )
    sizes = _in_conflict(shapes) if rule.startswith("axes are matched from the last") else []
    if not sizes:
        return _LOOK
    return (
        f"make the sizes {' and '.join(map(str, sizes))} equal where the arrays are made, or give "
        "one array an axis of size 1 there, with [:, None] or reshape: it is repeated"
    )


def _in_conflict(shapes: _Shapes) -> list[int]:
    """The sizes of the last axis whose sizes differ."""
    for axis in range(1, max(map(len, shapes)) + 1):
        sizes = {shape[-axis] for shape in shapes if len(shape) >= axis} - {1}
        if len(sizes) > 1:
            return sorted(sizes)
    return []
