"""The call or lookup that was meant, made from the user's own: arguments in order, keys by name.

Each function takes the expression that failed, in the tree of ``executing``, and the names of its
frame; it returns an empty text where it knows no form that runs.
"""

from __future__ import annotations

import ast
import copy
import difflib
import string
from collections.abc import Callable
from typing import Any

import numpy as np

from jxkernel import tree
from jxkernel.config import config
from jxkernel.core.trace import Tracer
from jxkernel.jupyter.errors.rewrites import Names
from jxkernel.runtime import ArrayImpl

__all__ = [
    "at_index",
    "by_keyword",
    "device_of",
    "dtype_near",
    "from_zero",
    "function_first",
    "in_brackets",
    "item",
    "key_of",
    "numbers_of",
    "of_each_leaf",
    "option_near",
    "shaped",
    "to_vmap",
    "turns",
    "without_vmap",
]

_DTYPES = (
    *("bool", "bfloat16", "complex64", "complex128", "float16", "float32", "float64"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
_ARRAYS = (Tracer, ArrayImpl, np.ndarray)
_NUMBERS = {
    "DataFrame": "to_numpy()",
    "Series": "to_numpy()",
    "Tensor": "detach().numpy()",
    "Parameter": "detach().numpy()",
}
"""How objects of pandas and PyTorch give their numbers, by the names of their types."""

_JOINING = ("column_stack", "concatenate", "dstack", "hstack", "stack", "vstack")
_OF_VMAP = ("in_axes", "out_axes", "axis_size", "axis_name")


def key_of(node: Any, code: str, names: Names) -> str:
    """The lookup in a dict under the key that is most like the one it lacks, or all its keys."""
    match node:
        case ast.Subscript(value=of, slice=ast.Constant(value=str() as key)):
            pass
        case ast.Attribute(value=of, attr=key):
            pass
        case _:
            return ""
    held = _held(of, names)
    if not _is_dict_of_arrays(held):
        return ""
    written = ast.unparse(of)
    near = difflib.get_close_matches(key, [one for one in held if isinstance(one, str)], 1)
    if near:
        return f"{written}[{near[0]!r}]"
    return f"the keys of {written} are {', '.join(map(repr, list(held)[:20]))}"


def item(node: Any, code: str, names: Names) -> str:
    """The lookup in the first dict of a list that was asked for a key."""
    match node:
        case ast.Subscript(value=of, slice=ast.Constant(value=str() as key)):
            held = _held(of, names)
            if type(held) is list and held and type(held[0]) is dict and key in held[0]:
                return f"{ast.unparse(of)}[0][{key!r}]"
    return ""


def of_each_leaf(node: Any, code: str, names: Names) -> str:
    """Arithmetic with dicts, on each of their arrays."""
    if not isinstance(node, ast.BinOp):
        return ""
    left, right = (_is_dict_of_arrays(_held(one, names)) for one in (node.left, node.right))
    if not (left or right):
        return ""
    both = left and right
    mapped = ast.BinOp(
        ast.Name("a" if both else "leaf") if left else node.left,
        node.op,
        ast.Name("b" if both else "leaf") if right else node.right,
    )
    trees = [one for one, is_tree in ((node.left, left), (node.right, right)) if is_tree]
    parameters = "a, b" if both else "leaf"
    given = ", ".join(map(ast.unparse, trees))
    return f"jx.tree.map(lambda {parameters}: {ast.unparse(mapped)}, {given})"


def function_first(node: Any, code: str, names: Names) -> str:
    """A call whose function was not its first argument."""
    match node:
        case ast.Call(args=[first, *_] as args) if not _is_function(first, names):
            at = next((at for at, one in enumerate(args) if _is_function(one, names)), 0)
            return _with_args(node, [args[at], *args[:at], *args[at + 1 :]]) if at else ""
    return ""


def from_zero(node: Any, code: str, names: Names) -> str:
    """A ``fori_loop`` that was given its number of turns alone."""
    match node:
        case ast.Call(args=[_, body, _] as args, keywords=[]) if _is_function(body, names):
            return _with_args(node, [ast.Constant(0), *args])
    return ""


def in_brackets(node: Any, code: str, names: Names) -> str:
    """A call that takes a list, of branches or of arrays, and was given them one by one."""
    match node:
        case ast.Call(func=ast.Attribute(attr="switch"), args=[index, *branches]) if all(
            _is_function(one, names) for one in branches
        ):
            return _with_args(node, [index, ast.List(branches, ast.Load())])
        case ast.Call(func=ast.Attribute(attr=name), args=[_, *rest] as args) if (
            name in _JOINING and rest and all(_is_array(one, names) for one in rest)
        ):
            return _with_args(node, [ast.List(args, ast.Load())])
    return ""


def turns(node: Any, code: str, names: Names) -> str:
    """A ``scan`` that was given a number of turns in the place of arrays."""
    match node:
        case ast.Call(args=[body, start, ast.Constant(value=int()) as count], keywords=[]):
            call = copy.copy(node)
            call.args = [body, start, ast.Constant(None)]
            call.keywords = [ast.keyword("length", count)]
            return ast.unparse(call)
    return ""


def shaped(node: Any, code: str, names: Names) -> str:
    """A call of ``randint`` that lacks its shape, or its lower bound."""
    match node:
        case ast.Call(args=[key, ast.Tuple() as shape, most], keywords=[]):
            return _with_args(node, [key, shape, ast.Constant(0), most])
        case ast.Call(args=[key, least, most], keywords=[]):
            return _with_args(node, [key, ast.Tuple([], ast.Load()), least, most])
    return ""


def by_keyword(node: Any, code: str, names: Names) -> str:
    """A call of ``debug.print`` with the values of fields that have names."""
    match node:
        case ast.Call(args=[ast.Constant(value=str() as text), *values], keywords=[]):
            fields = [name for _, name, *_ in string.Formatter().parse(text) if name is not None]
            if len(fields) == len(values) and all(map(str.isidentifier, fields)):
                call = copy.copy(node)
                call.args = node.args[:1]
                call.keywords = [ast.keyword(*pair) for pair in zip(fields, values, strict=True)]
                return ast.unparse(call)
        case ast.Call(args=[value], keywords=[]):
            return _with_args(node, [ast.Constant("{}"), value])
    return ""


def at_index(node: Any, code: str, names: Names) -> str:
    """An index after ``.at`` that stood in parentheses."""
    match node:
        case ast.Call(func=ast.Attribute() as at, args=[index], keywords=[]):
            return f"{ast.unparse(at)}[{ast.unparse(index)}]"
    return ""


def device_of(node: Any, code: str, names: Names) -> str:
    """A device that there is, and how there are more."""
    match node:
        case ast.Subscript(
            value=ast.Call(func=ast.Attribute(attr="devices") as function, args=[], keywords=[]),
            slice=ast.Constant(value=int() as at),
        ):
            first = f"{ast.unparse(function)}()[0]"
            more = f"%jx virtual {at + 1} before, which gives so many CPU devices"
            return f"{first}, or {more}" if at > 0 else ""
    return ""


def option_near(node: Any, code: str, names: Names) -> str:
    """A change of an option with the name that is most like the one it was given."""
    match node:
        case ast.Call(args=[ast.Constant(value=str() as name), *rest]):
            near = difflib.get_close_matches(name, list(config.values), 1)
            return _with_args(node, [ast.Constant(near[0]), *rest]) if near else ""
    return ""


def numbers_of(node: Any, code: str, names: Names) -> str:
    """An array of the numbers that another library's object holds."""
    for one in ast.walk(node) if isinstance(node, ast.AST) else ():
        if isinstance(one, ast.Name):
            method = _NUMBERS.get(type(names.found.get(one.id)).__name__)
            if method:
                return f"jnp.asarray({one.id}.{method})"
    return ""


def dtype_near(node: Any, code: str, names: Names) -> str:
    """A call with a dtype in the place of a text that is none."""
    if not isinstance(node, ast.Call):
        return ""
    call = copy.deepcopy(node)
    for one in (*call.args, *(each.value for each in call.keywords)):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            near = difflib.get_close_matches(one.value, _DTYPES, 1)
            if near:
                one.value = near[0]
                return ast.unparse(call)
    return ""


def to_vmap(node: Any, code: str, names: Names) -> str:
    """A call of a mapped function whose keywords are meant for ``vmap``."""
    match node:
        case ast.Call(func=ast.Call() as mapping, keywords=[_, *_] as given) if all(
            one.arg in _OF_VMAP for one in given
        ):
            inner, call = copy.copy(mapping), copy.copy(node)
            inner.keywords = [*mapping.keywords, *given]
            call.func, call.keywords = inner, []
            return ast.unparse(call)
    return ""


def without_vmap(node: Any, code: str, names: Names) -> str:
    """A call of a mapped function with one number: there is nothing to map over."""
    match node:
        case ast.Call(
            func=ast.Call(args=[ast.Name() | ast.Attribute() as function], keywords=[]),
            args=[_],
            keywords=[],
        ):
            call = copy.copy(node)
            call.func = function
            return f"call the function itself for one number: {ast.unparse(call)}"
        case ast.Call(func=ast.Call(keywords=[]), args=[_], keywords=[]):
            return "call the function itself for one number, without vmap"
    return ""


def _with_args(node: ast.Call, args: list[ast.expr]) -> str:
    call = copy.copy(node)
    call.args = args
    return ast.unparse(call)


def _held(node: ast.expr, names: Names) -> Any:
    """What a name, or a part of plain containers, is bound to; None where it cannot be told."""
    match node:
        case ast.Name(id=name):
            return names.found.get(name)
        case ast.Subscript(value=of, slice=ast.Constant(value=key)):
            held = _held(of, names)
            if type(held) is dict:
                return held.get(key)
            if type(held) in (list, tuple) and type(key) is int and -len(held) <= key < len(held):
                return held[key]
    return None


def _is_dict_of_arrays(held: Any) -> bool:
    """Whether it is a pytree of the user's, not any dict of theirs."""
    return type(held) is dict and any(isinstance(one, _ARRAYS) for one in tree.leaves(held))


def _is_function(node: ast.expr, names: Names) -> bool:
    return isinstance(node, ast.Lambda) or isinstance(_held(node, names), Callable)


def _is_array(node: ast.expr, names: Names) -> bool:
    held = _held(node, names)
    return isinstance(held, _ARRAYS) and held.ndim > 0
