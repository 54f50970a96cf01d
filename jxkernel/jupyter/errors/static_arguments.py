"""Static arguments that C++ refused, by name: which parameter of which function was given what.

No call is evaluated again: names and attributes are looked up, displays are told by their kind,
and where the parameter cannot be told for certain, the refusal stays as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType, MethodType
from typing import Any

import numpy as np

from jxkernel.api.arguments import Parameters, function_name, parameter_names
from jxkernel.api.jit import jit, jit_state
from jxkernel.errors import NonHashableStaticArgumentError
from jxkernel.numpy.fusing import fused_state
from jxkernel.runtime import ArrayImpl

__all__ = ["refused_static"]

_UNHASHABLE = re.compile(
    r"Non-hashable static arguments.* object of type (<class '.+?'>), (.*?)\. The error was:\n(.*)",
    re.DOTALL,
)
_INCOMPARABLE = re.compile(
    r"static arguments should be comparable.* of types (<class '.+?'>) and ()<class '.+?'>\. "
    r"The error was:\n(.*)",
    re.DOTALL,
)
_DISPLAYS: dict[type[ast.expr], type] = {
    ast.List: list,
    ast.ListComp: list,
    ast.Dict: dict,
    ast.DictComp: dict,
    ast.Set: set,
    ast.SetComp: set,
    ast.Tuple: tuple,
}
_ARRAYS = {str(ArrayImpl), str(np.ndarray)}
_UNKNOWN = object()


@dataclass(frozen=True)
class _Called:
    """A function with static parameters.

    Attributes:
      name: what errors call it.
      fun: the Python function.
      static: its static parameters.
      bound: how many arguments a method brings along.
      own: whether the user jitted it; else it is one of the library.
    """

    name: str
    fun: Callable[..., Any]
    static: Parameters
    bound: int = 0
    own: bool = True


def refused_static(
    error: ValueError, call: ast.expr | None, frame: FrameType
) -> NonHashableStaticArgumentError | None:
    """Return the error that names the static argument which C++ refused.

    Args:
      error: what C++ raised.
      call: the expression that raised it, as far as it is known.
      frame: the frame in which it was evaluated.

    Returns:
      the error, or None where this is no such refusal or its argument cannot be told.
    """
    found = _UNHASHABLE.match(str(error)) or _INCOMPARABLE.match(str(error))
    if found is None or not isinstance(call, ast.Call):
        return None
    kind, given, failure = found.groups()
    called = _called(call.func, frame)
    if called is None:
        return None
    names = parameter_names(called.fun)
    fitting = [
        key
        for key, argument in _static_arguments(call, called.static, called.bound)
        if _kind(argument, frame) in (None, kind)
    ]
    if len(fitting) != 1:
        return None
    key = fitting[0]
    name = key if isinstance(key, str) else names[key] if key < len(names) else str(key)
    # The user can change how their own function is jitted, and for one of the library its argument.
    array = not called.own and kind in _ARRAYS
    return NonHashableStaticArgumentError(
        called.name,
        name,
        kind[len("<class '") : -len("'>")].rpartition(".")[2],
        **({"instead": (f"pass a Python number: the array's .item() as {name}",)} if array else {}),
        position=None if isinstance(key, str) else key,
        given=given[:100],
        failure=failure.strip().splitlines()[-1],
    )


def _called(node: ast.expr, frame: FrameType) -> _Called | None:
    """What a call calls, where that is a jitted function or a compiled one of the library."""
    if isinstance(node, ast.Call):
        return _made_in_place(node, frame)
    function = _value(node, frame)
    bound = int(isinstance(function, MethodType))
    if (jitted := jit_state(function.__func__ if bound else function)) is not None:
        return _Called(function_name(jitted.fun), jitted.fun, jitted.options.static, bound)
    if (fused := fused_state(function)) is not None:
        return _Called(fused.name, fused.body, fused.static, own=False)
    return None


def _made_in_place(node: ast.Call, frame: FrameType) -> _Called | None:
    """The same for ``jit(f, static_argnums=1)`` that is called where it is made."""
    if _value(node.func, frame) is not jit or len(node.args) != 1:
        return None
    fun = _value(node.args[0], frame)
    try:
        given = {one.arg: ast.literal_eval(one.value) for one in node.keywords}
        static = Parameters.of(
            fun, given.get("static_argnums"), given.get("static_argnames"), "static"
        )
    except (TypeError, ValueError):
        return None
    return _Called(function_name(fun), fun, static) if callable(fun) else None


def _static_arguments(
    call: ast.Call, static: Parameters, bound: int
) -> Iterator[tuple[int | str, ast.expr | None]]:
    """Positions or names of the static arguments in a call, each with its expression."""
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    arguments: Sequence[ast.expr | None] = [None] * bound + call.args
    if starred:
        arguments = [None] * (1 + max(static.numbers, default=-1))
    for position in sorted(static.positions(len(arguments))):
        yield position, arguments[position]
    for one in call.keywords:
        if one.arg is None:
            yield from ((name, None) for name in static.names)
        elif one.arg in static.names:
            yield one.arg, one.value


def _kind(node: ast.expr | None, frame: FrameType) -> str | None:
    """The type of what an expression gave, as C++ tells it; None where it is not known."""
    if isinstance(node, tuple(_DISPLAYS)):
        return str(_DISPLAYS[type(node)])
    value = node.value if isinstance(node, ast.Constant) else _value(node, frame)
    return None if value is _UNKNOWN else str(type(value))


def _value(node: ast.expr | None, frame: FrameType) -> Any:
    """What a name, or an attribute of one, is bound to; ``_UNKNOWN`` for other expressions."""
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, frame), node.attr, _UNKNOWN)
    if isinstance(node, ast.Name):
        found = frame.f_locals.get(node.id, _UNKNOWN)
        return frame.f_globals.get(node.id, _UNKNOWN) if found is _UNKNOWN else found
    return _UNKNOWN
