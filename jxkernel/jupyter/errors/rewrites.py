"""The user's own code, rewritten for traced values: made from its syntax tree, nothing is run.

What cannot be derived from the code for certain is not rewritten.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from jxkernel import numpy as jnp
from jxkernel.core.avals import abstractify
from jxkernel.core.trace import Tracer
from jxkernel.observe.loops import rewritten
from jxkernel.runtime import ArrayImpl

__all__ = [
    "Names",
    "chosen",
    "in_users_names",
    "is_combined",
    "looped",
    "named_values",
    "of_mask",
    "operands",
    "replaced",
    "returned_pair",
    "started",
    "traced_part",
]

_OWN = "jxkernel"
_MODULES = {
    "jnp": "jxkernel.numpy",
    "lax": "jxkernel.lax",
    "jax": "jxkernel",
    "jx": "jxkernel",
    "jxkernel": "jxkernel",
    "tree_util": "jxkernel.tree_util",
}
_MODULE = re.compile(rf"(?<![\w.])({'|'.join(_MODULES)})\.(?=[a-z])")
_JIT = re.compile(r"(?<![\w.])jit\((?=\w+, static)")
_TRUTH = (ast.Compare, ast.BoolOp)
_NO_VALUES = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Lambda, ast.JoinedStr, ast.Await)
_OF_LISTS = ("array", "asarray", "block", "concatenate", "dstack", "hstack", "stack", "vstack")
"""Functions of NumPy's whose first argument is a list of arrays with us, too."""

_OF_PAIRS = ("atan2", "copysign", "fmod", "hypot", "pow")
"""Functions of ``math`` whose second argument means the same with us."""

_UNKNOWN = object()


@dataclass(frozen=True)
class Names:
    """What the names of a frame are bound to.

    Attributes:
      found: their values.
      parameters: those that have a value from the beginning.
    """

    found: Mapping[str, Any]
    parameters: tuple[str, ...] = ()

    @classmethod
    def of(cls, frame: FrameType) -> Names:
        """Return the names that the code of a frame sees."""
        code = frame.f_code
        parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        return cls({**frame.f_globals, **frame.f_locals}, parameters)

    def held(self, node: ast.AST) -> Any:
        """Return what a name, an item or an attribute of one is; None where that is not known."""
        value = _value(node, self.found.get)
        return None if value is _UNKNOWN else value

    @staticmethod
    def full_name(value: Any) -> str:
        """Return the name of a module, of this package's its own; empty for what is no module."""
        if not isinstance(value, ModuleType):
            return ""
        return _OWN if _is_module(value, _OWN) else value.__name__

    def is_ours(self, name: str) -> bool:
        """Whether a name stands for this package, under whatever name, or for a part of it."""
        value = self.found.get(name)
        return isinstance(value, ModuleType) and (
            value.__name__.partition(".")[0] == _OWN or _is_module(value, _OWN)
        )

    def of_module(self, name: str) -> str:
        """Return how the user writes a module of this package."""
        usual = [short for short, full in _MODULES.items() if full == name]
        others = [one for one in self.found if one not in usual and not one.startswith("_")]
        for one in (*usual, *others):
            value = self.found.get(one)
            if isinstance(value, ModuleType) and _is_module(value, name):
                return one
        package, _, below = name.partition(".")
        return f"{self.of_module(package)}.{below}" if below else package


def _is_module(value: ModuleType, name: str) -> bool:
    """Whether a module is that of a name; the package may be there under an alias, as ``jax``."""
    if value.__name__ == name:
        return True
    own = sys.modules[_OWN]
    return name == _OWN and getattr(value, "__file__", None) == own.__file__


def in_users_names(lines: Iterable[str], names: Names) -> tuple[str, ...]:
    """Return advice with modules and ``jit`` as the user has them; unchanged without names."""
    if not names.found:
        return tuple(lines)
    jit = "jit" if "jit" in names.found else f"{names.of_module(_OWN)}.jit"
    return tuple(
        _JIT.sub(
            f"{jit}(",
            _MODULE.sub(lambda found: f"{names.of_module(_MODULES[found[1]])}.", line),
        )
        for line in lines
    )


def chosen(node: Any, names: Names) -> str:
    """Return the choice or condition that needs a traced truth value, as it works on arrays.

    Args:
      node: the expression whose truth was asked for, in the tree of ``executing``.
      names: those of its frame.

    Returns:
      a statement or expression; empty where none can be derived.
    """
    combined = _combined(node)
    if combined is not None:
        return ast.unparse(combined)
    around, where = getattr(node, "parent", None), f"{names.of_module('jxkernel.numpy')}.where"
    match around:
        case ast.IfExp(test=test) if test is node:
            return _choice(where, names, test, around.body, around.orelse)
        case ast.If(test=test, body=[ast.Break()]) if test is node:
            return "a loop that ends where a traced condition holds is a lax.while_loop"
        case ast.If(test=test, body=[ast.Continue()]) if test is node:
            return f"{where} keeps the old value in the turns that are passed over"
        case ast.If(test=test) if test is node:
            return _of_statement(where, around, names)
        case ast.UnaryOp(op=ast.Not()) if isinstance(node, ast.Compare):
            return ast.unparse(ast.UnaryOp(ast.Invert(), node))
        case _:
            return ""


def _combined(node: Any) -> ast.expr | None:
    """A condition made of others, with operators that work on arrays."""
    match node:
        case ast.BoolOp(op=op, values=values) if all(isinstance(one, _TRUTH) for one in values):
            sign: ast.operator = ast.BitAnd() if isinstance(op, ast.And) else ast.BitOr()
            return _joined(sign, [_combined(one) or one for one in values])
        case ast.Compare(left=left, ops=ops, comparators=[_, _, *_] as rest):
            ends = [left, *rest]
            pairs = zip(ends, ops, rest, strict=False)
            return _joined(ast.BitAnd(), [ast.Compare(a, [op], [b]) for a, op, b in pairs])
        case ast.UnaryOp(op=ast.Not(), operand=ast.Compare() as operand):
            return ast.UnaryOp(ast.Invert(), _combined(operand) or operand)
        case _:
            return None


def is_combined(node: Any) -> bool:
    """Whether the truth of an expression is asked for by ``and``, ``or`` or ``not``."""
    around = getattr(node, "parent", None)
    return any(
        isinstance(one, ast.BoolOp)
        or (isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.Not))
        for one in (node, around)
    )


def _joined(sign: ast.operator, parts: list[ast.expr]) -> ast.expr:
    whole = parts[0]
    for part in parts[1:]:
        whole = ast.BinOp(whole, sign, part)
    return whole


def _of_statement(where: str, statement: ast.If, names: Names) -> str:
    """An ``if`` with one statement for either case, which both return or assign one name."""
    if len(statement.body) != 1 or len(statement.orelse) > 1:
        return ""
    first, second = statement.body[0], next(iter(statement.orelse), None)
    if isinstance(first, ast.Return):
        second = second or _next(statement)
        if isinstance(second, ast.Return):
            parts = (statement.test, first.value, second.value)
            return _choice(where, names, *parts, before="return ")
        return ""
    name, value = _assigned(first)
    if isinstance(second, ast.If):
        rest = _of_statement(where, second, names)
        return _nested(where, statement.test, name, value, rest)
    other, otherwise = _assigned(second) if second else (name, ast.Name(name))
    if name != other or (second is None and name not in names.found):
        return ""
    return _choice(where, names, statement.test, value, otherwise, before=f"{name} = ")


def _nested(where: str, test: ast.expr, name: str, value: Any, rest: str) -> str:
    """A choice whose other case is a choice itself: an ``elif``, rewritten already."""
    before = f"{name} = "
    if not name or not rest.startswith(before):
        return ""
    otherwise = ast.parse(rest.removeprefix(before), mode="eval").body
    return _where(where, test, value, otherwise, before)


def _assigned(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value
        case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
            return name, ast.BinOp(ast.Name(name), op, value)
        case _:
            return "", None


def _next(statement: ast.stmt) -> ast.stmt | None:
    """The statement after another in its block."""
    around = getattr(statement, "parent", None)
    for part in ("body", "orelse", "finalbody"):
        block = getattr(around, part, None)
        if isinstance(block, list) and statement in block:
            return next(iter(block[block.index(statement) + 1 :]), None)
    return None


def looped(node: Any, names: Names) -> str:
    """Return a loop of Python's as one of ``lax``; empty where it has no such form.

    Args:
      node: the condition of a ``while``, or what a ``for`` runs over, in the tree of ``executing``.
      names: those of its frame.
    """
    loop = getattr(node, "parent", None)
    match loop:
        case ast.While(test=test) if test is node and _combined(node) is None:
            pass
        case ast.For(iter=ast.Call(func=ast.Name(id="range")) as turns) if turns is node:
            pass
        case _:
            return ""
    scopes = (one for one in _ancestors(loop) if isinstance(one, ast.FunctionDef | ast.Module))
    scope = next(scopes, None)
    return rewritten(loop, scope, names.parameters) if scope is not None else ""


def replaced(node: Any, names: Names) -> str:
    """Return a call, index or test of Python's or NumPy's as it works on traced values.

    Args:
      node: the expression that needed a traced value's data, in the tree of ``executing``.
      names: those of its frame.

    Returns:
      an expression of the same meaning; empty where none can be derived.
    """
    arrays = names.of_module("jxkernel.numpy")
    match node:
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name not in names.found:
            return "" if name == "int" and _may_be_size(node) else _builtin(arrays, name, args)
        case ast.Call(func=ast.Attribute(value=of, attr="item" | "tolist"), args=[]):
            return ast.unparse(of)
        case ast.Call(func=ast.Attribute(value=of, attr="item"), args=[index], keywords=[]):
            return ast.unparse(ast.Subscript(of, index))
        case ast.Call(func=ast.Attribute() as function):
            return _of_numpy(arrays, node, function, names)
        case ast.Subscript(value=of, slice=index) if _is_row(of, names) and _may_be_array(index):
            return f"{arrays}.asarray({ast.unparse(of)})[{ast.unparse(index)}]"
        case ast.Compare(left=one, ops=[ast.In() | ast.NotIn() as op], comparators=[row]):
            if _may_be_array(one) and _is_row(row, names):
                sign = "~" if isinstance(op, ast.NotIn) else ""
                equal = f"{ast.unparse(one)} == {arrays}.asarray({ast.unparse(row)})"
                return f"{sign}{arrays}.any({equal})"
            return ""
        case _:
            return ""


def _may_be_size(node: ast.Call) -> bool:
    """Whether a number may be a size, a count or a bound: it is in a call, a slice or a product."""
    around = itertools.islice(_ancestors(node), 1, None)
    inside = itertools.takewhile(lambda one: isinstance(one, ast.expr | ast.keyword), around)
    return any(
        isinstance(one, ast.Call | ast.Slice | ast.keyword) or _has_row(one) for one in inside
    )


def _has_row(node: ast.AST) -> bool:
    """Whether an expression is a product with a list, a tuple or a text."""
    rows = (ast.List, ast.Tuple, ast.JoinedStr)
    return isinstance(node, ast.BinOp) and any(
        isinstance(one, rows) or (isinstance(one, ast.Constant) and isinstance(one.value, str))
        for one in (node.left, node.right)
    )


def _builtin(arrays: str, name: str, args: list[ast.expr]) -> str:
    """A call of a function of Python's."""
    if not all(map(_may_be_array, args)):
        return ""
    match name, args:
        case "min" | "max", [first, second]:
            full = f"{name}imum"
            return f"{arrays}.{full}({ast.unparse(first)}, {ast.unparse(second)})"
        case "min" | "max" | "any" | "all", [one]:
            return f"{arrays}.{name}({ast.unparse(one)})"
        case "sorted", [one]:
            return f"{arrays}.sort({ast.unparse(one)})"
        case "float", [one]:
            return ast.unparse(one)
        case "bool", [one]:
            return ast.unparse(ast.Compare(one, [ast.NotEq()], [ast.Constant(0)]))
        case "int" | "complex", [one]:
            return ast.unparse(ast.Call(ast.Attribute(one, "astype"), [ast.Name(name)], []))
        case _:
            return ""


def _of_numpy(arrays: str, call: ast.Call, function: ast.Attribute, names: Names) -> str:
    """A call of a function of NumPy's, or of ``math``, as one of the function that we have."""
    path = ast.unparse(function).split(".")
    module = names.found.get(path[0])
    if (module is not np and module is not math) or not call.args:
        return ""
    if not callable(_found(jnp, path[1:])):
        return ""
    first, *rest = call.args
    if module is math and rest and path[-1] not in _OF_PAIRS:
        return ""
    match call.keywords:
        case [ast.keyword(arg="out", value=out)]:
            called = ast.Call(ast.Attribute(ast.Name(arrays), path[-1]), call.args, [])
            return f"{ast.unparse(out)} = {ast.unparse(called)}"
    is_list = isinstance(first, ast.List | ast.Tuple)
    if call.keywords or not (path[-1] in _OF_LISTS if is_list else _may_be_array(first)):
        return ""
    return f"{arrays}.{'.'.join(path[1:])}({', '.join(map(ast.unparse, call.args))})"


def _found(holder: object, path: Iterable[str]) -> object:
    for name in path:
        holder = getattr(holder, name, None)
    return holder


def _is_row(node: ast.expr, names: Names) -> bool:
    """Whether an expression is a list of numbers, traced or not, or a NumPy array."""
    if isinstance(node, ast.List | ast.Tuple):
        return bool(node.elts) and all(isinstance(one, ast.Constant) for one in node.elts)
    if isinstance(node, ast.Call):
        root = ast.unparse(node.func).partition(".")[0]
        return names.found.get(root) is np
    value = _value(node, names.found.get)
    if type(value) in (list, tuple):
        return bool(value) and all(isinstance(one, int | float) or _is_scalar(one) for one in value)
    return isinstance(value, np.ndarray)


def _is_scalar(value: object) -> bool:
    return isinstance(value, Tracer | ArrayImpl) and not abstractify(value).shape


def _may_be_array(node: Any) -> bool:
    """Whether an expression may be one array or number, by its form."""
    kinds = (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call)
    return isinstance(node, (*kinds, ast.Constant))


def of_mask(node: Any, names: Names) -> tuple[str, ...]:
    """Return what to write for the elements of an array where a condition holds."""
    match node:
        case ast.Subscript(value=of, slice=mask) if _may_be_array(mask):
            array, where = ast.unparse(of), ast.unparse(mask)
            arrays = names.of_module("jxkernel.numpy")
            return (
                f"{arrays}.where({where}, {array}, 0)",
                f"or to reduce them: {arrays}.sum({array}, where={where})",
                f"or say how many there are at most, with size= in {arrays}.nonzero({where})",
            )
        case _:
            return ()


def _choice(where: str, names: Names, test: ast.expr, a: Any, b: Any, before: str = "") -> str:
    """A choice between two values: of two trees as a condition, which takes them whole."""
    trees = [
        one for one in (a, b) if isinstance(one, ast.Name) and _is_tree(names.found.get(one.id))
    ]
    if not trees:
        return _where(where, test, a, b, before)
    if len(trees) == 1 or _recurs(test, a, b):
        return ""
    of = names.of_module("jxkernel.lax")
    return f"{before}{of}.cond({ast.unparse(test)}, lambda: {trees[0].id}, lambda: {trees[1].id})"


def _is_tree(value: Any) -> bool:
    return isinstance(value, dict | list | tuple)


def _where(where: str, test: ast.expr, a: Any, b: Any, before: str = "") -> str:
    if not (_is_value(a) and _is_value(b)) or _recurs(test, a, b):
        return ""
    return f"{before}{where}({', '.join(map(ast.unparse, (test, a, b)))})"


def _recurs(node: Any, *values: ast.expr) -> bool:
    """Whether values call the function that they are in: both would be computed, without end."""
    around = {node.name for node in _ancestors(node) if isinstance(node, ast.FunctionDef)}
    called = {one.id for value in values for one in ast.walk(value) if isinstance(one, ast.Name)}
    return bool(around & called)


def _ancestors(node: Any) -> Iterator[Any]:
    while node is not None:
        yield node
        node = getattr(node, "parent", None)


def _is_value(node: Any) -> bool:
    """Whether an expression may be an array or a number, by its form."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, bool | int | float | complex)
    return isinstance(node, ast.expr) and not isinstance(node, _NO_VALUES)


def operands(node: Any, names: Names) -> str:
    """Return the arrays that an expression names, with their types; empty where it names none.

    Only names, items and attributes are looked up that are found without running anything.
    """
    types = [
        f"{name} is {abstractify(value).short()}"
        for name, value in named_values(node, names).items()
        if isinstance(value, Tracer | ArrayImpl)
    ]
    if not types:
        return ""
    return f"In it {', '.join(types[:-1])}{' and ' if types[1:] else ''}{types[-1]}."


def traced_part(node: Any, names: Names) -> tuple[str, str]:
    """Return the one part of an operation that can be the traced value of an error.

    Args:
      node: the operation that failed, in the tree of ``executing``.
      names: those of its frame.

    Returns:
      the part as it is written, and its type where it is known; empty where there may be several.
    """
    found: list[tuple[str, str]] = []
    for part in _parts_of(node):
        value = _value(part, names.found.get)
        if isinstance(value, Tracer):
            found.append((ast.unparse(part), abstractify(value).short()))
        elif value is _UNKNOWN and _names_anything(part, names):
            found.append(("" if _may_be_many(part) else ast.unparse(part), ""))
        elif isinstance(value, list | tuple | dict):
            found.append(("", ""))
    return found[0] if len(found) == 1 else ("", "")


def _names_anything(node: ast.expr, names: Names) -> bool:
    """Whether an expression has a name that is not one of Python's own."""
    return any(isinstance(one, ast.Name) and one.id in names.found for one in ast.walk(node))


def _may_be_many(node: ast.expr) -> bool:
    """Whether an expression may be a container of arrays, by its form."""
    of_function = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return of_function or not _may_be_array(node)


def _parts_of(node: Any) -> list[ast.expr]:
    """What an operation of Python's is given."""
    match node:
        case ast.Subscript(value=value, slice=index):
            return [value, index]
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.UnaryOp(operand=value) | ast.Attribute(value=value):
            return [value]
        case ast.FormattedValue(value=value) | ast.Starred(value=value):
            return [value]
        case ast.JoinedStr(values=parts):  # Python 3.11 does not tell which of them failed
            return [one.value for one in parts if isinstance(one, ast.FormattedValue)]
        case ast.Call(func=function, args=args, keywords=keywords):
            of = [function.value] if isinstance(function, ast.Attribute) else [function]
            return [*of, *args, *(one.value for one in keywords)]
        case ast.Dict(keys=keys):
            return [one for one in keys if one is not None]
        case ast.Set(elts=parts):
            return parts
        case _:
            return []


def returned_pair(node: Any, names: Names, size: int) -> str:
    """Return the ``return`` of a scan's body that returned the parts of its carry; else nothing.

    Args:
      node: the call of ``scan``, in the tree of ``executing``.
      size: how many parts the carry has.
      names: those of its frame.
    """
    if not (isinstance(node, ast.Call) and node.args):
        return ""
    body: Any = node.args[0]
    if isinstance(body, ast.Name):
        try:
            text = textwrap.dedent(inspect.getsource(names.found[body.id]))
            (body,) = ast.parse(text).body
        except (KeyError, OSError, SyntaxError, TypeError, ValueError):
            return ""
    match body:
        case ast.Lambda(body=ast.Tuple(elts=parts) as carry) if len(parts) == size:
            return f"lambda {ast.unparse(body.args)}: ({ast.unparse(carry)}, None)"
        case ast.FunctionDef(body=[*_, ast.Return(value=ast.Tuple(elts=parts) as carry)]) if (
            len(parts) == size
        ):
            return f"return {ast.unparse(carry)}, None"
        case _:
            return ""


def started(instead: Iterable[str], path: str, node: Any) -> tuple[str, ...]:
    """Return advice on how a loop begins with the user's expression in the place of its carry.

    Args:
      instead: the advice, which calls the carry by its path.
      path: the path.
      node: the call of the loop, in the tree of ``executing``.
    """
    at = {"scan": 1, "while_loop": 2, "fori_loop": 3}
    match node:
        case ast.Call(func=ast.Attribute(attr=name), args=args) if len(args) > at.get(name, 9):
            begin = ast.unparse(args[at[name]])
            return tuple(
                line.replace(f"({path},", f"({begin},") if "begin with" in line else line
                for line in instead
            )
    return tuple(instead)


def named_values(node: Any, names: Names) -> dict[str, Any]:
    """Return the values of the names, items and attributes in an expression, as they are written.

    Only those are looked up that are found without running anything.
    """
    found: dict[str, Any] = {}
    _collect(node, names, found)
    return found


def _collect(node: Any, names: Names, found: dict[str, Any]) -> None:
    if isinstance(node, ast.Lambda) or not isinstance(node, ast.AST):
        return
    value = _value(node, names.found.get)
    if value is not _UNKNOWN:
        found[ast.unparse(node)] = value
        return
    for child in ast.iter_child_nodes(node):
        _collect(child, names, found)


def _value(node: ast.AST, look_up: Callable[[str, object], Any]) -> Any:
    """What a name, an item or an attribute of one is, ``_UNKNOWN`` for other expressions."""
    match node:
        case ast.Name(id=name):
            return look_up(name, _UNKNOWN)
        case ast.Subscript(value=whole, slice=ast.Constant(value=key)):
            holder = _value(whole, look_up)
            if type(holder) not in (dict, list, tuple):
                return _UNKNOWN
            try:
                return holder[key]
            except (LookupError, TypeError):
                return _UNKNOWN
        case ast.Attribute(value=whole, attr=name):
            kept = getattr(_value(whole, look_up), "__dict__", None)
            return kept.get(name, _UNKNOWN) if isinstance(kept, dict) else _UNKNOWN
        case _:
            return _UNKNOWN
