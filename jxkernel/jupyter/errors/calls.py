"""The call or lookup that was meant, made from the user's own: arguments in order, keys by name.

Each function takes the expression that failed, in the tree of ``executing``, and the names of its
frame; it returns an empty text where it knows no form that runs.
"""

from __future__ import annotations

import ast
import copy
import difflib
import math
import string
from collections.abc import Callable

from jxkernel import dtypes
from jxkernel.config import config
from jxkernel.jupyter.errors.containers import ARRAYS
from jxkernel.jupyter.errors.rewrites import Names

__all__ = [
    "as_function",
    "at_index",
    "by_keyword",
    "by_position",
    "changed_copy",
    "condition_itself",
    "copied_twice",
    "device_of",
    "dtype_near",
    "from_zero",
    "function_first",
    "in_brackets",
    "in_tuples",
    "key_first",
    "more_devices",
    "of_two",
    "on_one_device",
    "option_near",
    "shape_of",
    "shaped",
    "start_first",
    "to_vmap",
    "turns",
    "uncached",
    "whole_bounds",
    "whole_first",
    "with_zero",
    "without_vmap",
]

_DTYPES = (
    *("bool", "bfloat16", "complex64", "complex128", "float16", "float32", "float64"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
_JOINING = ("column_stack", "concatenate", "dstack", "hstack", "stack", "vstack")
_IN_PLACE = ("fill_diagonal", "place", "put", "put_along_axis", "putmask")
_SIZED = ("empty", "full", "normal", "ones", "randint", "truncated_normal", "uniform", "zeros")
_OF_VMAP = ("in_axes", "out_axes", "axis_size", "axis_name")


def function_first(node: ast.AST | None, code: str, names: Names) -> str:
    """A call whose function was not its first argument."""
    match node:
        case ast.Call(args=[first, *_] as args) if not _is_function(first, names):
            at = next((at for at, one in enumerate(args) if _is_function(one, names)), 0)
            return _with_args(node, [args[at], *args[:at], *args[at + 1 :]]) if at else ""
    return ""


def from_zero(node: ast.AST | None, code: str, names: Names) -> str:
    """A ``fori_loop`` that was given its number of turns alone."""
    match node:
        case ast.Call(args=[_, body, _] as args, keywords=[]) if _is_function(body, names):
            return _with_args(node, [ast.Constant(0), *args])
    return ""


def in_brackets(node: ast.AST | None, code: str, names: Names) -> str:
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


def turns(node: ast.AST | None, code: str, names: Names) -> str:
    """A ``scan`` that was given a number of turns in the place of arrays."""
    match node:
        case ast.Call(args=[body, start, ast.Constant(value=int()) as count], keywords=[]):
            call = copy.copy(node)
            call.args = [body, start, ast.Constant(None)]
            call.keywords = [ast.keyword("length", count)]
            return ast.unparse(call)
    return ""


def shaped(node: ast.AST | None, code: str, names: Names) -> str:
    """A call of ``randint`` that lacks its shape, or its lower bound."""
    match node:
        case ast.Call(args=[key, ast.Tuple() as shape, most], keywords=[]):
            return _with_args(node, [key, shape, ast.Constant(0), most])
        case ast.Call(args=[key, least, most], keywords=[]):
            return _with_args(node, [key, ast.Tuple([], ast.Load()), least, most])
    return ""


def by_keyword(node: ast.AST | None, code: str, names: Names) -> str:
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


def at_index(node: ast.AST | None, code: str, names: Names) -> str:
    """An index after ``.at`` that stood in parentheses."""
    match node:
        case ast.Call(func=ast.Attribute() as at, args=[index], keywords=[]):
            return f"{ast.unparse(at)}[{ast.unparse(index)}]"
    return ""


def device_of(node: ast.AST | None, code: str, names: Names) -> str:
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


def option_near(node: ast.AST | None, code: str, names: Names) -> str:
    """A change of an option with the name that is most like the one it was given."""
    match node:
        case ast.Call(args=[ast.Constant(value=str() as name), *rest]):
            near = difflib.get_close_matches(name, list(config.values), 1)
            return _with_args(node, [ast.Constant(near[0]), *rest]) if near else ""
    return ""


def dtype_near(node: ast.AST | None, code: str, names: Names) -> str:
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


def key_first(node: ast.AST | None, code: str, names: Names) -> str:
    """A call of ``random`` with its key first, or with one where it has none."""
    match node:
        case ast.Call(func=ast.Attribute(value=module), args=[first, *rest] as args):
            keys = [one for one in rest if _is_key(one, names)]
            if keys:
                return _with_args(node, [keys[0], *(one for one in args if one is not keys[0])])
            if isinstance(names.held(first), ARRAYS):
                key = ast.parse(f"{ast.unparse(module)}.key(0)", mode="eval").body
                return _with_args(node, [key, *args])
    return ""


def _is_key(node: ast.expr, names: Names) -> bool:
    dtype = getattr(names.held(node), "dtype", None)
    return dtype is not None and dtypes.issubdtype(dtype, dtypes.prng_key)


def shape_of(node: ast.AST | None, code: str, names: Names) -> str:
    """A call that was given an array in the place of a shape, with the array's shape."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name), args=args) if name in _SIZED:
            given = [one for one in args if isinstance(one, ast.Name) and _is_array(one, names)]
            if len(given) == 1 and not _is_key(given[0], names):
                shape = ast.Attribute(given[0], "shape", ast.Load())
                return _with_args(node, [shape if one is given[0] else one for one in args])
    return ""


def of_two(node: ast.AST | None, code: str, names: Names) -> str:
    """A maximum or minimum of two values."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=module, attr="max" | "min" as name),
            args=[_, _] as args,
            keywords=[],
        ):
            both = ast.Attribute(module, f"{name}imum", ast.Load())
            return ast.unparse(ast.Call(both, args, []))
    return ""


def as_function(node: ast.AST | None, code: str, names: Names) -> str:
    """A ``while_loop`` whose condition is a function of the value that it begins with."""
    match node:
        case ast.Call(args=[condition, body, ast.Name(id=name) as start], keywords=[]) if (
            _is_function(body, names)
            and any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(condition))
        ):
            arguments = ast.arguments([], [ast.arg(name)], None, [], [], None, [])
            return _with_args(node, [ast.Lambda(arguments, condition), body, start])
    return ""


def condition_itself(node: ast.AST | None, code: str, names: Names) -> str:
    """A ``cond`` with a condition in the place of a function that gives one."""
    match node:
        case ast.Call(args=[ast.Lambda(args=ast.arguments(args=[]), body=body), *rest]):
            return _with_args(node, [body, *rest])
        case ast.Call(args=[ast.Name() as function, *rest]) if _is_function(function, names):
            return _with_args(node, [ast.Call(function, [], []), *rest])
    return ""


def whole_first(node: ast.AST | None, code: str, names: Names) -> str:
    """A ``switch`` whose index is made a whole number."""
    match node:
        case ast.Call(args=[index, *rest]):
            whole = ast.Call(ast.Attribute(index, "astype", ast.Load()), [ast.Name("int")], [])
            return _with_args(node, [whole, *rest])
    return ""


def whole_bounds(node: ast.AST | None, code: str, names: Names) -> str:
    """A ``fori_loop`` with bounds that are written without a point."""
    match node:
        case ast.Call(args=[lower, upper, *rest]):
            bounds = [_whole(lower), _whole(upper)]
            return "" if bounds == [lower, upper] else _with_args(node, [*bounds, *rest])
    return ""


def _whole(node: ast.expr) -> ast.expr:
    match node:
        case ast.Constant(value=float() as value) if value.is_integer():
            return ast.Constant(int(value))
    return node


def start_first(node: ast.AST | None, code: str, names: Names) -> str:
    """A ``scan`` whose first carry and arrays were given in the other order."""
    match node:
        case ast.Call(args=[body, rows, ast.Constant() as start], keywords=[]) if _is_array(
            rows, names
        ):
            return _with_args(node, [body, start, rows])
    return ""


def with_zero(node: ast.AST | None, code: str, names: Names) -> str:
    """A ``where`` with a value for where the condition does not hold."""
    match node:
        case ast.Call(func=ast.Attribute(), args=[_, _] as args, keywords=[]):
            return _with_args(node, [*args, ast.Constant(0)])
    return ""


def in_tuples(node: ast.AST | None, code: str, names: Names) -> str:
    """A call whose numbers, or primals and tangents, stand in tuples of one each."""
    match node:
        case ast.Call(func=ast.Attribute(attr="jvp"), args=[function, *rest]):
            return _with_args(node, [function, *map(_in_tuple, rest)])
        case ast.Call(args=[array, *rest]):
            changed = [_in_tuple(one) if isinstance(one, ast.Constant) else one for one in rest]
            return _with_args(node, [array, *changed]) if changed != rest else ""
    return ""


def _in_tuple(node: ast.expr) -> ast.expr:
    return node if isinstance(node, ast.Tuple | ast.List) else ast.Tuple([node], ast.Load())


def by_position(node: ast.AST | None, code: str, names: Names) -> str:
    """A call of a mapped function with all arguments by position, as ``in_axes`` counts them."""
    match node:
        case ast.Call(func=ast.Call(), keywords=[_, *_] as given):
            call = copy.copy(node)
            call.args, call.keywords = [*node.args, *(one.value for one in given)], []
            return ast.unparse(call)
    return ""


def on_one_device(node: ast.AST | None, code: str, names: Names) -> str:
    """A ``pmap`` over more rows than there are devices, as a ``vmap``."""
    match node:
        case ast.Call(func=ast.Call(func=ast.Attribute(value=module, attr="pmap")) as mapping):
            inner, call = copy.copy(mapping), copy.copy(node)
            inner.func = ast.Attribute(module, "vmap", ast.Load())
            call.func = inner
            return ast.unparse(call)
    return ""


def more_devices(node: ast.AST | None, code: str, names: Names) -> str:
    """How there are as many devices as a mesh is given."""
    match node:
        case ast.Call(args=[ast.Tuple(elts=sizes), *_]):
            count = math.prod(
                one.value
                for one in sizes
                if isinstance(one, ast.Constant) and isinstance(one.value, int)
            )
            return f"%jx virtual {count} before, which gives so many CPU devices"
    return ""


def changed_copy(node: ast.AST | None, code: str, names: Names) -> str:
    """A call that would write into an array, as one that gives a changed copy."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name), args=[of, *_]) if name in _IN_PLACE:
            call = copy.copy(node)
            call.keywords = [*node.keywords, ast.keyword("inplace", ast.Constant(False))]
            return f"{ast.unparse(of)} = {ast.unparse(call)}"
        case ast.Call(func=ast.Attribute(attr=name)):
            given = {one.arg: one.value for one in node.keywords}
            if "out" not in given:
                return ""
            call = copy.copy(node)
            call.func = ast.Attribute(ast.Name("jnp"), name, ast.Load())
            call.keywords = [one for one in node.keywords if one.arg != "out"]
            return f"{ast.unparse(given['out'])} = {ast.unparse(call)}"
    return ""


def uncached(node: ast.AST | None, code: str, names: Names) -> str:
    """That a function which keeps its results by its arguments cannot be called while tracing."""
    match node:
        case ast.Call(func=function) if hasattr(names.held(function), "cache_info"):
            name = ast.unparse(function)
            return f"{name} keeps its results by its arguments: call {name}.__wrapped__ here"
    return ""


def copied_twice(node: ast.AST | None, code: str, names: Names) -> str:
    """A call that was given one array twice, with a copy at the second place."""
    match node:
        case ast.Call(args=args):
            given: list[ast.expr] = []
            for one in args:
                again = ast.unparse(one) in map(ast.unparse, given)
                copied = ast.Call(ast.Attribute(one, "copy", ast.Load()), [], [])
                given.append(copied if again else one)
            return _with_args(node, given) if given != args else ""
    return ""


def to_vmap(node: ast.AST | None, code: str, names: Names) -> str:
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


def without_vmap(node: ast.AST | None, code: str, names: Names) -> str:
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


def _is_function(node: ast.expr, names: Names) -> bool:
    return isinstance(node, ast.Lambda) or isinstance(names.held(node), Callable)


def _is_array(node: ast.expr, names: Names) -> bool:
    held = names.held(node)
    return isinstance(held, ARRAYS) and held.ndim > 0
