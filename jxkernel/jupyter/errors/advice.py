"""What to write instead, for errors that are not jxkernel's own: Python's, about traced values."""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jxkernel import numpy as jnp
from jxkernel.core.trace import Tracer
from jxkernel.errors import JaxRuntimeError
from jxkernel.jupyter.errors import calls, containers, elsewhere, operators
from jxkernel.jupyter.errors.elsewhere import METHODS, METHODS_NOW
from jxkernel.jupyter.errors.rewrites import Names
from jxkernel.observe.syntax import printed
from jxkernel.runtime import ArrayImpl

__all__ = [
    "advice",
    "at_update",
    "in_place_of",
    "plain_words",
    "printed_instead",
    "with_argument_name",
    "with_static_name",
]

_Kinds = type[Exception] | tuple[type[Exception], ...]
_MODULES = ("numpy", "lax", "nn", "random")
"""Where a name is looked for that another of our modules was asked for."""

_ALIKE = 0.7
"""From which likeness on a name is taken for another, misspelt."""

_OF_ARGUMENT = re.compile(r"the traced argument (\w+) of the function '(.*?)'")
_TRACER = r"'?\w*Tracer'?"
_NUMPY_HOLDS_NONE = (
    "NumPy arrays hold no traced values: begin with an array of jnp, and write with .at[ ].set"
)
_ROWS: tuple[tuple[_Kinds, str, str], ...] = (
    (
        TypeError,
        rf"unhashable type: {_TRACER}",
        "a traced value cannot be a key: use a string or a static number, or keep the values in an "
        "array and index that",
    ),
    (
        TypeError,
        r"unsupported operand type\(s\) for .*'(?:decimal\.Decimal|Fraction)'",
        "make it a float first: float(...)",
    ),
    (
        TypeError,
        r"unsupported operand type\(s\) for .*'NoneType'",
        "None is the result of a function without return: return the value from it",
    ),
    (
        TypeError,
        rf"(?:unsupported operand type\(s\) for (?=.*'str')|can only concatenate str).*{_TRACER}",
        "compute with arrays and numbers only; make text after the cell has run",
    ),
    (
        TypeError,
        rf"unsupported operand type\(s\) for .*{_TRACER}",
        "compute with arrays and numbers only",
    ),
    (
        TypeError,
        r"unhashable type: 'Array'",
        "an array cannot be a key: use a string, or a Python number, which .item() makes of an "
        "array of one element",
    ),
    (TypeError, r"len\(\) of unsized object", "it is one number: its .size is 1"),
    (
        TypeError,
        r"iteration over an array of rank 0",
        "it is one number: give it an axis with jnp.atleast_1d, or loop over a Python range",
    ),
    (
        TypeError,
        rf"(?:unsupported format string passed to|format: a .*number is required, not) {_TRACER}",
        "make the text after the cell has run; jx.debug.print takes the same formats and prints "
        "while the compiled program runs",
    ),
    (
        TypeError,
        r"setting an array element|only .* arrays can be converted",
        _NUMPY_HOLDS_NONE,
    ),
    (
        ValueError,
        r"inhomogeneous shape",
        "an array has rows of one length: pad the short ones, or keep a list of arrays",
    ),
    (ValueError, r"setting an array element with a sequence", _NUMPY_HOLDS_NONE),
    (
        TypeError,
        r"'IndexedUpdate'",
        "x.at[i] is where an update goes: x[i] reads, x.at[i].set and x.at[i].add give a changed "
        "copy",
    ),
    (TypeError, rf"{_TRACER} object is not callable", "an array is indexed with [ ]"),
    (
        TypeError,
        r"\w\(\) missing \d+ required positional arguments?: 'key'",
        "make a key once with jx.random.key(0), and pass that first",
    ),
    (
        TypeError,
        rf"object (?:Array|{_TRACER}) can't be used in 'await' expression",
        "leave await out: an array is there at once, and reading it waits for its value",
    ),
    (
        TypeError,
        r"returned a value of type coroutine",
        "write def in place of async def: what is traced cannot wait; await outside, and pass the "
        "result",
    ),
    (
        TypeError,
        r"the jvp rule .* of one structure, got",
        "a jvp rule is given two tuples: begin it with (x,), (t,) = primals, tangents",
    ),
    (TypeError, r"needs real arguments, got u?int", "give numbers with a point: x.astype(float)"),
    (
        TypeError,
        r"an index is an integer.* of type str",
        "keep a dict of arrays to have parts by name",
    ),
    (
        TypeError,
        r"an index is an integer.* of type float|slice indices must be integers",
        "make the index whole: i // 2 in place of i / 2, or int(i)",
    ),
    (TypeError, r"\.set\(\) missing 1 required", "give .set the value to write"),
    (IndexError, r"the bounds of a slice", "make the bound static, if it takes few values"),
    (
        TypeError,
        r"takes a key, made by random\.key",
        "make a key once with jx.random.key(0), and pass that",
    ),
    (
        TypeError,
        r"to return a scalar, got None",
        "the function has no return: its result is None",
    ),
    (
        ValueError,
        r"\w got axis -?\d+ for an array of rank",
        "axes are counted from 0, and from -1 backwards; x.shape tells their sizes",
    ),
    (ValueError, r"stack needs arrays of one shape", "jnp.concatenate joins arrays of any length"),
    (
        ValueError,
        r"einsum got sizes",
        "one letter stands for one size: give axes of different sizes letters of their own, or "
        "transpose the operand whose axes are in another order",
    ),
    (
        ValueError,
        r"einsum got subscripts '.*' for operand",
        "each operand has one letter for each of its axes; ... stands for the axes that have none",
    ),
    (
        ValueError,
        r"cannot be broadcast to shape",
        "only axes of size 1 are repeated, and axes are matched from the last: give the array such "
        "axes with [:, None] or reshape, or as many elements as the other shape takes",
    ),
    (
        ValueError,
        r"split cannot divide an axis",
        "jnp.array_split makes parts of nearly one size",
    ),
    (
        ValueError,
        r"convert an array of size 1 to a Python scalar",
        "take one element before, x[i].item(), or all of them: x.tolist()",
    ),
    (
        TypeError,
        r"device_put got '\w+' of type str",
        "name a device: jx.device_put(x, jx.devices()[0])",
    ),
    (
        TypeError,
        r"unexpected keyword argument '(?:dim|keepdim)'",
        "write axis= and keepdims= here",
    ),
    (
        TypeError,
        r"floating-point scalar, got u?int",
        "leave out what makes integers of numbers, astype(int) or a comparison: it has no slope",
    ),
    (
        ValueError,
        r"concatenate needs arrays",
        "jnp.concatenate takes a list of arrays, and the axis after it",
    ),
)
_UPDATES: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
}
_WRITING = ("itemset", "put", "set")
"""Methods of other arrays that write a part: index and value."""

_COMPARING = {
    "min": "jnp.minimum compares two values, jnp.min those of an array",
    "max": "jnp.maximum compares two values, jnp.max those of an array",
    "sorted": "jnp.sort sorts an array; jnp.stack makes one of values",
    "any": "jnp.any takes an array; jnp.stack makes one of values",
    "all": "jnp.all takes an array; jnp.stack makes one of values",
    "filter": "jnp.where keeps the shape and puts another value in the place of the rest",
}


def at_update(code: str) -> str:
    """Return an assignment to a part of an array as the update to write; empty where it is none.

    Args:
      code: the statement: ``u[50] = 1.0``.
    """
    try:
        (statement,) = ast.parse(code.strip()).body
    except (SyntaxError, ValueError):
        return ""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Tuple(elts=values)):
            return _updates(parts, values)
        case ast.Assign(targets=[ast.Subscript() as part]):
            method, value = "set", statement.value
        case ast.AugAssign(target=ast.Subscript() as part, op=op, value=value):
            method = _UPDATES.get(type(op), "set")
            if method == "set":
                value = ast.BinOp(part, op, value)
        case _:
            return ""
    array, new = ast.unparse(part.value), ast.unparse(value)
    # What is no variable, nor a part of one, cannot be assigned to: the copy needs a name.
    named = isinstance(part.value, ast.Name | ast.Attribute | ast.Subscript)
    if isinstance(part.value, ast.Attribute):
        named = not hasattr(ArrayImpl, part.value.attr)
    return f"{array if named else 'changed'} = {array}.at[{_index(part)}].{method}({new})"


def _updates(parts: list[ast.expr], values: list[ast.expr]) -> str:
    """Assignments to several parts of one array at once: all values are those from before."""
    arrays = {ast.unparse(one.value) if isinstance(one, ast.Subscript) else "" for one in parts}
    if len(arrays) != 1 or "" in arrays or len(parts) != len(values):
        return ""
    array = arrays.pop()
    updates = [
        f".at[{_index(part)}].set({ast.unparse(value)})"
        for part, value in zip(parts, values, strict=True)
        if isinstance(part, ast.Subscript)
    ]
    return f"{array} = {array}{''.join(updates)}"


def _index(part: ast.Subscript) -> str:
    """An index as it is written."""
    index = ast.unparse(part.slice)
    bare = isinstance(part.slice, ast.Tuple) and part.slice.elts
    return index.removeprefix("(").removesuffix(")") if bare else index


def in_place_of(code: str) -> str:
    """Return what to write in place of a loop or call of Python's or NumPy's; else nothing.

    Args:
      code: what needed a traced value's data, a call or the head of a loop: ``min(x, 1.0)``,
        ``np.abs(x)``, ``grad(math.log)(x)``, ``while x > 0:``.
    """
    if code.startswith("while "):
        return "a loop with a traced condition is a lax.while_loop"
    if code.startswith("range("):
        return "a loop with a traced number of turns is a lax.fori_loop"
    named = re.search(r"\b(np|numpy|math)\.(\w+(?:\.\w+)*)", code)
    called = re.match(r"[\w.]+(?=\()", code)
    if named is None:
        return _COMPARING.get(called.group(), "") if called else ""
    module, name = named.groups()
    if name.startswith("random."):
        return elsewhere.drawn(name.removeprefix("random."))
    found: object = jnp
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        return ""
    return f"jnp.{name} in place of {module}.{name}"


def with_argument_name(instead: Iterable[str], name: str, function: str) -> tuple[str, ...]:
    """Return advice that names a function and its argument to keep static, and no cell's flag.

    Args:
      instead: the advice of an error.
      name: the argument.
      function: the function; one without a name is left to stand as ``f``.
    """
    called = function if function.isidentifier() else "f"
    return tuple(
        line.replace("jit(f, static_argnames=...)", f"jit({called}, static_argnames={name!r})")
        .replace("static_argnames=...", f"static_argnames={name!r}")
        .removesuffix(" or %%jit --static NAME")
        for line in instead
    )


def advice(
    error: Exception, node: Any = None, code: str = "", names: Names | None = None
) -> tuple[str, ...]:
    """Return what to write instead, one suggestion per entry; none where nothing is known.

    Args:
      error: an error of Python's or NumPy's.
      node: the expression that raised it, in the tree of ``executing``; None where it is not known.
      code: the line that it is in.
      names: those of its frame.
    """
    message = str(error)
    if isinstance(error, AttributeError) and "has no attribute" in message:
        if isinstance(error.obj, ArrayImpl) and error.name:
            return tuple(_attribute(error.name, node, METHODS_NOW))
        told = _in_other_module(error, node, names or Names({}))
        if not told and type(error.obj) is dict:
            told = containers.key_of(node, code, names or Names({}))
        if not told and type(error.obj) is str:
            told = containers.values_of(node, code, names or Names({}))
        if told:
            return (told,)
        found = re.search(rf"{_TRACER} object has no attribute '(\w+)'", message)
        return tuple(_attribute(found.group(1), node, METHODS)) if found else ()
    for kind, pattern, derive in _DERIVED:
        if isinstance(error, kind) and re.search(pattern, message):
            told = derive(node, code, names or Names({}))
            if told:
                return (told,)
    return tuple(
        text
        for kind, pattern, text in _ROWS
        if isinstance(error, kind) and re.search(pattern, message)
    )[:1]


def _update_of(node: Any, code: str, names: Names) -> str:
    """The update that an assignment to ``x.at[i]`` means."""
    target, is_part, value = code.partition("=")
    array, _, index = target.strip().rpartition(".at[")
    return at_update(f"{array}[{index} ={value}") if is_part else ""


def _index_of(node: Any, code: str, names: Names) -> str:
    """The index that a call of an array means."""
    match node:
        case ast.Call(func=ast.Name() as of, args=[index], keywords=[]):
            return f"{of.id}[{ast.unparse(index)}]"
        case _:
            return ""


_CALLED = {
    "scan": "scan calls its body with two arguments, body(carry, x), and wants (carry, y) back",
    "fori_loop": "fori_loop calls its body with two arguments, body(i, value), and wants the value "
    "of the next turn back",
    "while_loop": "while_loop calls both functions with the carry as one argument: begin them with "
    "i, x = carry",
    "cond": "cond takes a condition, two functions and their arguments: "
    "lax.cond(pred, true_fun, false_fun, *operands)",
    "switch": "switch calls a branch with the arguments that stand behind the branches: "
    "lax.switch(index, branches, *operands)",
    "map": "map calls its function with one argument, a row; several arrays are one tuple",
    "associative_scan": "associative_scan calls its function with two arguments, and wants one "
    "back of their kind",
}
"""How functions that take functions call these."""

_STARTS = {"scan": (2, "init"), "while_loop": (3, "init_val"), "fori_loop": (4, "init_val")}
"""How many arguments loops have at least, and what the value is called that they begin with."""


def _called(node: Any, code: str, names: Names) -> str:
    """How the function is called that was given to a loop or a choice of ours."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name, value=module)) if name in _CALLED:
            # ``lax`` and ``jx.lax`` alike: what the first name of the module is bound to is ours.
            if not names.is_ours(ast.unparse(module).partition(".")[0]):
                return ""
            count, start = _STARTS.get(name, (0, ""))
            if len(node.args) + len(node.keywords) < count:
                return f"give the value that the first turn gets, {start}"
            return elsewhere.of_arguments(name, module, _CALLED)
        case _:
            return ""


def _split(node: Any, code: str, names: Names) -> str:
    """The split of a random key that gives as many keys as there are names for."""
    try:
        (statement,) = ast.parse(code.strip()).body
    except (SyntaxError, ValueError):
        return ""
    match statement:
        case ast.Assign(
            targets=[ast.Tuple(elts=parts) as target],
            value=ast.Call(func=ast.Attribute(attr="split"), args=[key]) as call,
        ):
            again = ast.Call(call.func, [key, ast.Constant(len(parts))], [])
            return f"{ast.unparse(target)[1:-1]} = {ast.unparse(again)}"
        case _:
            return ""


def _sizes(node: Any, code: str, names: Names) -> str:
    """A call that makes an array, with sizes that were given one by one as one tuple."""
    match node:
        case ast.Call(func=function, args=[_, *_] as sizes, keywords=[]):
            return ast.unparse(ast.Call(function, [ast.Tuple(sizes, ast.Load())], []))
        case _:
            return ""


def printed_instead(node: Any, code: str, names: Names) -> str:
    """The call that prints a text while the compiled program runs, in place of ``print``."""
    while node is not None and not isinstance(node, ast.stmt):
        node = getattr(node, "parent", None)
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), keywords=[]) as call):
            return printed(call)
        case _:
            return ""


def _in_other_module(error: AttributeError, node: Any, names: Names) -> str:
    """A function of ours that has the name which another module of ours was asked for."""
    around = getattr(node, "parent", None)
    if "numpy' has no attribute 'random'" in str(error) and isinstance(around, ast.Attribute):
        return elsewhere.drawn(around.attr)
    asked = names.full_name(error.obj)
    if not error.name or asked.partition(".")[0] != "jxkernel":
        return ""
    package = sys.modules["jxkernel"]
    if (asked, error.name) == ("jxkernel.random", "seed"):
        return f"make a key once, {names.of_module(asked)}.key(0), and pass it to each call"
    known = elsewhere.function_of(asked.removeprefix("jxkernel").lstrip("."), error.name, node)
    if known is not None:
        return known
    if error.name in _MODULES:
        return names.of_module(f"jxkernel.{error.name}")
    for module in (getattr(package, name) for name in _MODULES):
        if error.name in module.__all__:
            return f"{names.of_module(module.__name__)}.{error.name}"
    if asked != "jxkernel" and error.name in package.__all__:
        return f"{names.of_module('jxkernel')}.{error.name}"
    near = difflib.get_close_matches(
        error.name, [one for one in dir(error.obj) if one[0] != "_"], 1, _ALIKE
    )
    return f"{names.of_module(asked)}.{near[0]}" if near else ""


def _floating(node: Any, code: str, names: Names) -> str:
    """A call of a gradient with a whole number of Python's as a number with a point."""
    if not isinstance(node, ast.Call):
        return ""
    whole = [one for one in node.args if isinstance(one, ast.Constant) and type(one.value) is int]
    if len(whole) != 1:
        return ""
    floating = ast.Constant(float(ast.unparse(whole[0])))
    args = [floating if one is whole[0] else one for one in node.args]
    return ast.unparse(ast.Call(node.func, args, node.keywords))


def _of_property(node: Any, code: str, names: Names) -> str:
    """The changed copy that an assignment to an array's shape or dtype means."""
    target, is_set, value = code.partition("=")
    array, _, name = target.strip().rpartition(".")
    method = {"shape": "reshape", "dtype": "astype"}.get(name)
    return f"{array} = {array}.{method}({value.strip()})" if is_set and method else ""


def _static_bound(node: Any, code: str, names: Names) -> str:
    """The arguments to keep static for a slice's bounds, of the one function that is jitted."""
    if not isinstance(node, ast.Subscript):
        return ""
    bounds = [one.id for one in ast.walk(node.slice) if isinstance(one, ast.Name)]
    values = [names.found.get(one) for one in dict.fromkeys(bounds)]
    origins = [one.owner.describe(one) for one in values if isinstance(one, Tracer)]
    found = [_OF_ARGUMENT.search(line) for lines in origins for line in lines]
    by_function: dict[str, list[str]] = {}
    for one in found:
        if one is not None:
            by_function.setdefault(one[2], []).append(one[1])
    if len(by_function) != 1:
        return ""
    ((function, arguments),) = by_function.items()
    return f"make the bound static, if it takes few values: {_static(function, arguments)}"


def _static(function: str, arguments: list[str]) -> str:
    """How arguments of a function, or of a cell, are made static."""
    named = list(dict.fromkeys(arguments))
    if re.match(r"cell_\d", function):
        return f"%%jit --static {','.join(named)}"
    called = function if function.isidentifier() else "f"
    return f"jit({called}, static_argnames={named if named[1:] else named[0]!r})"


def _near_name(node: Any, code: str, names: Names) -> str:
    """The name that was meant, where one of the notebook's is like it."""
    if not isinstance(node, ast.Name):
        return ""
    known = [one for one in names.found if not one.startswith("_")]
    near = difflib.get_close_matches(node.id, known, 1, _ALIKE)
    around = getattr(node, "parent", None)
    if not near:
        return ""
    if isinstance(around, ast.Call) and around.func is node:
        given = [*map(ast.unparse, around.args), *map(ast.unparse, around.keywords)]
        return f"{near[0]}({', '.join(given)})"
    return near[0]


_DERIVED: tuple[tuple[_Kinds, str, Callable[[Any, str, Names], str]], ...] = (
    (NameError, r"^name '\w+' is not defined", _near_name),
    (TypeError, r"^unhashable type", calls.uncached),
    (TypeError, r"^tuple indices must be integers or slices, not str", containers.field_of),
    (AttributeError, r"can't set attribute|cannot assign to field", containers.replaced_field),
    (TypeError, r"'str'", containers.values_of),
    ((TypeError, ValueError), r"to unpack|iteration over an array", containers.looped_over),
    (ValueError, r"to unpack", containers.unpacked_rows),
    ((TypeError, ValueError), r"cannot become an array|^None is not data", containers.of_data),
    (TypeError, r"got \{.*of type dict|bad operand type for .*'dict'", containers.of_leaves),
    (TypeError, r"unsupported operand type\(s\) for .*'\w*[fF]unction'", operators.called),
    (ValueError, r"^matmul needs arrays of rank", operators.times),
    (TypeError, r"takes integer or bool dtypes", operators.apart),
    (TypeError, r"^neg does not accept dtype bool", operators.inverted),
    (TypeError, r"^sub does not accept dtype bool", operators.differing),
    (TypeError, r"^integers cannot be raised to a negative", operators.floating_power),
    (TypeError, r"an index is of integers or booleans", operators.whole_index),
    (TypeError, r"^only integer arrays of rank 0 can be an index", operators.python_index),
    (TypeError, r"^a list is not an index", operators.listed_index),
    (TypeError, r"^(?:max|min) got axis=.* of type float", calls.of_two),
    (
        TypeError,
        r"takes whole numbers|slice indices must be|an index is an integer.* of type float",
        operators.whole_division,
    ),
    (IndexError, r"the bounds of a slice", operators.fixed_slice),
    (TypeError, r"Cannot interpret '\d+' as a data type", elsewhere.one_tuple),
    (
        TypeError,
        r"takes a key, made by|^(?:permutation|shuffle|categorical|choice)\(\) missing 1",
        calls.key_first,
    ),
    (TypeError, r"^while_loop needs a callable as cond_fun", calls.as_function),
    (TypeError, r"^cond needs a scalar condition, got the function", calls.condition_itself),
    (TypeError, r"^switch needs an integer scalar", calls.whole_first),
    (TypeError, r"^fori_loop needs bounds of one dtype", calls.whole_bounds),
    (ValueError, r"^scan .* xs is a scalar", calls.start_first),
    (ValueError, r"^where takes both x and y", calls.with_zero),
    (TypeError, r"it takes a sequence|^jvp takes primals and tangents", calls.in_tuples),
    (ValueError, r"^pmap of .* needs as many devices", calls.on_one_device),
    (ValueError, r"^Number of devices \d+ must be >=", calls.more_devices),
    (
        (TypeError, ValueError, NotImplementedError),
        r"arrays cannot be written to|arrays do not change|return arrays must be of ArrayType",
        calls.changed_copy,
    ),
    (JaxRuntimeError, r"donated in the same call", calls.copied_twice),
    (TypeError, r"'IndexUpdater' object does not support item assignment", _update_of),
    (
        TypeError,
        rf"(?:'int'|'tuple'|{_TRACER}|'Array') object is not callable",
        elsewhere.of_property,
    ),
    (TypeError, rf"{_TRACER} object is not callable", _index_of),
    (TypeError, r"unexpected keyword argument '(?:dim|keepdim)'", elsewhere.of_keywords),
    (ValueError, r"^reshape got order", elsewhere.one_tuple),
    (TypeError, r"^transpose\(\) takes from 1 to 2 positional", elsewhere.one_tuple),
    (TypeError, r"^eye got N=\(", elsewhere.several_sizes),
    (NotImplementedError, r"^view\(type=", elsewhere.reshaped),
    (TypeError, r"iteration over an array of rank 0", elsewhere.unpacked),
    (ValueError, r"values to unpack", elsewhere.unpacked),
    (TypeError, r"^concatenate got dtype=", calls.in_brackets),
    (TypeError, rf"unsupported format string passed to {_TRACER}", printed_instead),
    (TypeError, r"'IndexUpdater' object is not callable", calls.at_index),
    (KeyError, r"debug\.print has a field", calls.by_keyword),
    (KeyError, "", containers.key_of),
    (TypeError, r"debug\.print got .* as its format", calls.by_keyword),
    (TypeError, r"list indices must be integers or slices, not str", containers.item),
    (TypeError, r"unsupported operand type\(s\) for .*'dict'", containers.of_each_leaf),
    (TypeError, r"^\w+ needs a callable as fn?,", calls.function_first),
    (TypeError, r"^fori_loop\(\) missing 1 .*'init_val'", calls.from_zero),
    (TypeError, r"'function' object is not iterable", calls.in_brackets),
    (TypeError, r"^randint\(\) missing 1 .*'maxval'", calls.shaped),
    (TypeError, r"data type '\w+' not understood", calls.dtype_near),
    (TypeError, r"^\w+ got axis=.* of type Array:", calls.in_brackets),
    (IndexError, r"list index out of range", calls.device_of),
    (TypeError, r"of type (?:DataFrame|Series|Tensor|Parameter)\b", containers.numbers_of),
    (AttributeError, r"There is no option", calls.option_near),
    (ValueError, r"^scan .* xs is a scalar", calls.turns),
    (TypeError, r"takes .*positional arguments? but|missing \d+ required positional", _called),
    (TypeError, r"^(?:zeros|ones|empty) got dtype=\d+:", _sizes),
    (ValueError, r"values to unpack", _split),
    (TypeError, r"requires real- or complex-valued inputs .* but got u?int", _floating),
    (AttributeError, r"of '(?:Array|\w*Tracer)' object has no setter", _of_property),
    (IndexError, r"the bounds of a slice", _static_bound),
)
"""What is made from the user's own expression, before the sentences of ``_ROWS``."""


def _attribute(name: str, node: Any, known: Mapping[str, str]) -> Iterable[str]:
    array = "x"
    lookup, given = elsewhere.looked_up(node)
    if lookup is not None:
        array = ast.unparse(lookup.value)
        if name in _WRITING and len(given) == 2:
            changed = f"{array}.at[{ast.unparse(given[0])}].set({ast.unparse(given[1])})"
            named = isinstance(lookup.value, ast.Name | ast.Attribute | ast.Subscript)
            yield f"{array} = {changed}" if named else changed
            return
    if name in known:
        told = elsewhere.filled(known[name], array, given)
        if told:
            yield told
        return
    function = _function_of_array(name, lookup, array, given)
    if function:
        yield function
        return
    others = [one for one in dir(ArrayImpl) if one[0] != "_" and one != name]
    near = difflib.get_close_matches(name, others, 1, _ALIKE)
    if near:
        yield f"{array}.{near[0]}"


def _function_of_array(name: str, lookup: Any, array: str, given: list[ast.expr]) -> str:
    """A function of ours that other libraries have as a method, or an index of pandas."""
    around = getattr(lookup, "parent", None)
    if name in ("iloc", "loc") and isinstance(around, ast.Subscript):
        return f"{array}[{_index(around)}]"
    package = sys.modules["jxkernel"]
    for module in ("numpy", "nn"):
        if name in getattr(package, module).__all__:
            short = {"numpy": "jnp", "nn": "jx.nn"}[module]
            return f"{short}.{name}({', '.join([array, *map(ast.unparse, given)])})"
    return f"jnp.linalg.{name}({array})" if name in jnp.linalg.__all__ and not given else ""


def plain_words(message: str, traced: str = "a traced array") -> str:
    """Return a message of Python's that calls a traced value what it is to the user.

    Args:
      message: what Python says.
      traced: the one traced value that it can be about, in words.
    """
    begin, _, rest = message.partition("Tracer' object has no attribute")
    if rest and traced != "a traced array":
        message = f"{begin}Tracer' has no attribute{rest}"
    message = re.sub(r"(Traced<[^>]*>) of type \w*Tracer\b", r"\1", message)
    message = re.sub(rf"(?<=\btype ){_TRACER}", "traced array", message)
    pattern = r"""(["']?)\b\w*Tracer(?:\.__format__)?\b\1"""
    message = re.sub(pattern, lambda _: traced, message)
    message = re.sub(
        r"'?Traced<([^>]*)>'?",
        lambda found: f"a traced value of type {found[1].replace('*', '')}",
        message,
    )
    return re.sub(
        r"'(?:jaxlib\._jax\.)?ArrayImpl'|\bjaxlib\._jax\.ArrayImpl\b", "an array", message
    )


def with_static_name(instead: Iterable[str], name: str) -> tuple[str, ...]:
    """Return advice that names the input to keep static, as a cell's flag.

    Args:
      instead: the advice of an error; of the call that jits, a cell has none.
      name: the traced input that the value depends on.
    """
    flag = f"%%jit --static {name}"
    return tuple(
        line.replace("jit(f, static_argnames=...) or %%jit --static NAME", flag)
        .replace("jit(f, static_argnames=...)", flag)
        .replace("--static NAME", f"--static {name}")
        for line in instead
    )
