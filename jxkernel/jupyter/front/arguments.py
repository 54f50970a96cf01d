"""The arguments of requests, checked against what the function that answers takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

__all__ = ["wrong_arguments"]

_SHOWN = 60
_WORDS: dict[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    NoneType: "null",
}
_UNIONS = (Union, UnionType)


def wrong_arguments(name: str, answer: Callable[..., Any], arguments: Any) -> str:
    """Return what is wrong with a request's arguments; empty where nothing is.

    Args:
      name: the request.
      answer: what answers it; an argument without an annotation may be anything.
      arguments: what came, as JSON has it.
    """
    if not isinstance(arguments, Mapping):
        return f"{name} takes its arguments by name, got {_shown(arguments)}"
    taken = signature(answer).parameters
    for one in arguments:
        if one not in taken:
            return f"{name} takes no {_shown(one)}; it takes {', '.join(taken) or 'nothing'}"
    for one, parameter in taken.items():
        if parameter.default is Parameter.empty and one not in arguments:
            return f"{name} needs {one}"
    hints = get_type_hints(getattr(answer, "func", answer))
    for one, value in arguments.items():
        kind = hints.get(one, Any)
        if not _fits(value, kind):
            return f"{name} takes {_words(kind)} as {one}, got {_shown(value)}"
    return ""


def _fits(value: Any, kind: Any) -> bool:
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin in _UNIONS:
        return any(_fits(value, one) for one in inside)
    if origin is Sequence:
        return isinstance(value, list) and all(_fits(one, inside[0]) for one in value)
    if origin is Mapping:
        return isinstance(value, dict)
    # True is no number here, though Python has it so.
    return type(value) is kind or (kind is float and type(value) is int)


def _words(kind: Any) -> str:
    origin, inside = get_origin(kind), get_args(kind)
    if origin in _UNIONS:
        return " or ".join(map(_words, inside))
    if origin is Sequence:
        return f"a list of {_words(inside[0]).removeprefix('a ')}s"
    return "an object" if origin is Mapping else _WORDS[kind]


def _shown(value: Any) -> str:
    return f"{value!r:.{_SHOWN}}"
