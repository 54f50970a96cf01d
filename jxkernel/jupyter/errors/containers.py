"""What to write for dicts, lists and tuples of arrays, and for data that is no array yet.

Each function takes the expression that failed, in the tree of ``executing``, and the names of its
frame; it returns an empty text where it knows no form that runs.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from typing import Any

import numpy as np

from jxkernel import tree
from jxkernel.core.avals import abstractify
from jxkernel.core.trace import Tracer
from jxkernel.jupyter.errors.rewrites import Names
from jxkernel.runtime import ArrayImpl

__all__ = [
    "ARRAYS",
    "field_of",
    "item",
    "key_of",
    "looped_over",
    "numbers_of",
    "of_data",
    "of_each_leaf",
    "of_leaves",
    "replaced_field",
    "unpacked_rows",
    "values_of",
]

ARRAYS = (Tracer, ArrayImpl, np.ndarray)
_NUMBERS = {
    "DataFrame": "to_numpy()",
    "Series": "to_numpy()",
    "Tensor": "detach().numpy()",
    "Parameter": "detach().numpy()",
}
"""How objects of pandas and PyTorch give their numbers, by the names of their types."""

_LETTERS = "abcdefgh"


def key_of(node: ast.AST | None, code: str, names: Names) -> str:
    """The lookup in a dict under the key that is most like the one it lacks, or all its keys."""
    key: object = None
    match node:
        case ast.Subscript(value=of, slice=ast.Constant(value=key)):
            pass
        case ast.Subscript(value=of):
            pass
        case ast.Attribute(value=of, attr=key):
            pass
        case _:
            return ""
    held = names.held(of)
    if not _is_dict_of_arrays(held):
        return ""
    written = ast.unparse(of)
    texts = [one for one in held if isinstance(one, str)]
    near = difflib.get_close_matches(key, texts, 1) if isinstance(key, str) else []
    if near:
        return f"{written}[{near[0]!r}]"
    return f"the keys of {written} are {', '.join(map(repr, list(held)[:20]))}"


def item(node: ast.AST | None, code: str, names: Names) -> str:
    """The lookup in the first dict of a list that was asked for a key."""
    match node:
        case ast.Subscript(value=of, slice=ast.Constant(value=str() as key)):
            held = names.held(of)
            if type(held) is list and held and type(held[0]) is dict and key in held[0]:
                return f"{ast.unparse(of)}[0][{key!r}]"
    return ""


def field_of(node: ast.AST | None, code: str, names: Names) -> str:
    """The field of a named tuple that was looked up as a key."""
    match node:
        case ast.Subscript(value=of, slice=ast.Constant(value=str() as name)):
            if name in getattr(names.held(of), "_fields", ()):
                return f"{ast.unparse(of)}.{name}"
    return ""


def replaced_field(node: ast.AST | None, code: str, names: Names) -> str:
    """A copy of a named tuple or a frozen dataclass, in place of an assignment to its field."""
    match node, getattr(node, "parent", None):
        case ast.Attribute(value=of, attr=name), ast.Assign(value=value):
            new = value
        case ast.Attribute(value=of, attr=name), ast.AugAssign(op=op, value=value):
            new = ast.BinOp(ast.Attribute(of, name), op, value)
        case _:
            return ""
    held, written = names.held(of), ast.unparse(of)
    if name in getattr(held, "_fields", ()):
        return f"{written} = {written}._replace({name}={ast.unparse(new)})"
    if name in getattr(held, "__dataclass_fields__", ()):
        return f"{written} = dataclasses.replace({written}, {name}={ast.unparse(new)})"
    return ""


def of_each_leaf(node: ast.AST | None, code: str, names: Names) -> str:
    """Arithmetic with dicts, on each of their arrays."""
    if not isinstance(node, ast.BinOp):
        return ""
    whole = node
    while isinstance(around := getattr(whole, "parent", None), ast.BinOp):
        other = around.left if around.right is whole else around.right
        if not (isinstance(other, ast.Constant) or _is_tree(other, names)):
            break
        whole = around
    name, assigned = "", None
    if isinstance(around, ast.AugAssign):
        if not _is_dict_of_arrays(names.held(around.target)):
            return ""
        name = f"{ast.unparse(around.target)} = "
        assigned = ast.BinOp(around.target, around.op, whole)
    trees: list[ast.expr] = []
    mapped = _on_leaves(assigned or whole, names, trees)
    if not trees:
        return ""
    used = {one.id for one in ast.walk(mapped) if isinstance(one, ast.Name)}
    letters = [one for one in _LETTERS if one not in used] if trees[1:] else ["leaf"]
    text = ast.unparse(mapped)
    for letter, at in zip(letters, range(len(trees)), strict=False):
        text = text.replace(f"_leaf_{at}_", letter)
    given = ", ".join(map(ast.unparse, trees))
    return f"{name}jx.tree.map(lambda {', '.join(letters[: len(trees)])}: {text}, {given})"


def _on_leaves(node: ast.expr, names: Names, trees: list[ast.expr]) -> ast.expr:
    """An expression with a name of a leaf for each dict; the dicts are put into ``trees``."""
    if _is_tree(node, names):
        trees.append(node)
        return ast.Name(f"_leaf_{len(trees) - 1}_")
    if isinstance(node, ast.BinOp):
        left = _on_leaves(node.left, names, trees)
        return ast.BinOp(left, node.op, _on_leaves(node.right, names, trees))
    return node


def _is_tree(node: ast.expr, names: Names) -> bool:
    """Whether an expression is a dict of arrays: a name, or a gradient by one."""
    match node:
        case ast.Call(func=ast.Call(), args=[first, *_]):
            return _is_dict_of_arrays(names.held(first))
    return _is_dict_of_arrays(names.held(node))


def of_leaves(node: ast.AST | None, code: str, names: Names) -> str:
    """A function of one array that was given a dict of them, on each of them."""
    match node:
        case ast.Call(func=ast.Name() | ast.Attribute() as function, args=[of], keywords=[]) if (
            isinstance(of, ast.Dict) or _is_tree(of, names)
        ):
            return f"jx.tree.map({ast.unparse(function)}, {ast.unparse(of)})"
        case ast.UnaryOp(op=ast.USub(), operand=of) if _is_tree(of, names):
            return f"jx.tree.map(lambda leaf: -leaf, {ast.unparse(of)})"
    return ""


def looped_over(node: ast.AST | None, code: str, names: Names) -> str:
    """The head of a loop with several names, over what gives as many at each turn."""
    loop = getattr(node, "parent", None)
    match loop:
        case ast.For(target=target, iter=of) | ast.comprehension(target=target, iter=of) if (
            target is node and isinstance(node, ast.Tuple)
        ):
            pass
        case _:
            return ""
    written = ast.unparse(of)
    held = names.held(of)
    if isinstance(of, ast.Tuple | ast.List) and len(of.elts) == len(node.elts):
        over = f"zip({', '.join(map(ast.unparse, of.elts))})"
    elif type(held) in (tuple, list) and len(held) == len(node.elts):
        over = f"zip(*{written})"
    elif _is_dict_of_arrays(held) and len(node.elts) == 2:
        over = f"{written}.items()"
    elif isinstance(held, ARRAYS) and held.ndim == 1 and len(node.elts) == 2:
        over = f"enumerate({written})"
    else:
        return ""
    return f"for {ast.unparse(target)[1:-1]} in {over}{':' * isinstance(loop, ast.For)}"


def unpacked_rows(node: ast.AST | None, code: str, names: Names) -> str:
    """What an array gives that is assigned to several names."""
    match getattr(node, "parent", None):
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
            held = names.held(value)
            if isinstance(held, Tracer | ArrayImpl) and held.ndim:
                return (
                    f"{ast.unparse(value)} is {abstractify(held).short()}, of {held.shape[0]} "
                    f"parts along its first axis: give it as many names, or take {len(targets)} "
                    "of them with an index"
                )
    return ""


def values_of(node: ast.AST | None, code: str, names: Names) -> str:
    """The head of a loop over the arrays of a dict, whose keys were taken for them."""
    texts = {name for name in _names_in(node) if type(names.found.get(name)) is str}
    around = getattr(node, "parent", None)
    while around is not None:
        match around:
            case ast.For(target=ast.Name(id=name), iter=of) if name in texts and (
                _is_dict_of_arrays(names.held(of))
            ):
                return f"for {name} in {ast.unparse(of)}.values():"
        around = getattr(around, "parent", None)
    return ""


def _names_in(node: ast.AST | None) -> Iterator[str]:
    for one in ast.walk(node) if isinstance(node, ast.AST) else ():
        if isinstance(one, ast.Name):
            yield one.id


def of_data(node: ast.AST | None, code: str, names: Names) -> str:
    """A call that makes an array, with texts, times or missing values as numbers."""
    match node:
        case ast.Call(func=ast.Attribute(attr="array" | "asarray") as function, args=[of]):
            pass
        case _:
            return ""
    if isinstance(of, ast.Dict) or _is_tree(of, names):
        return of_leaves(node, code, names)
    written, numpy = ast.unparse(of), _numpy(names)
    kind, values = _kind(of, names)
    numbers = ""
    if kind in ("U", "S") or (values and all(type(one) is str for one in values)):
        numbers = f"{numpy}.unique({written}, return_inverse=True)[1]"
    elif kind in ("M", "m"):
        numbers = f"({written} - {written}.min()).astype(float)"
    elif values and all(one is None or type(one) in (bool, int, float) for one in values):
        numbers = f"{numpy}.array({written}, float)"
    return f"{ast.unparse(function)}({numbers})" if numbers else ""


def _kind(node: ast.expr, names: Names) -> tuple[str, list[Any]]:
    """The kind of a NumPy array's dtype, and the values of a list."""
    held = names.held(node)
    if isinstance(held, np.ndarray):
        return held.dtype.kind, list(held.ravel()[:100]) if held.dtype == object else []
    if isinstance(node, ast.List | ast.Tuple):
        parts = [one for one in node.elts if isinstance(one, ast.Constant)]
        return "", [one.value for one in parts] if len(parts) == len(node.elts) else []
    return "", list(held[:100]) if type(held) in (list, tuple) else []


def _numpy(names: Names) -> str:
    """How the user writes NumPy."""
    return next((name for name, value in names.found.items() if value is np), "np")


def numbers_of(node: ast.AST | None, code: str, names: Names) -> str:
    """An array of the numbers that another library's object holds."""
    for name in _names_in(node):
        method = _NUMBERS.get(type(names.found.get(name)).__name__)
        if method:
            return f"jnp.asarray({name}.{method})"
    return ""


def _is_dict_of_arrays(held: Any) -> bool:
    """Whether it is a pytree of the user's, not any dict of theirs."""
    return type(held) is dict and any(isinstance(one, ARRAYS) for one in tree.leaves(held))
