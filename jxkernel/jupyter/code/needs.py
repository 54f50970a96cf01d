"""Which variables a cell needs: those that it reads, and those that the functions it calls read."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from contextlib import suppress
from types import FunctionType
from typing import Any

from jxkernel.jupyter.code.analysis import analyse
from jxkernel.jupyter.code.functions import captured_values, globals_read, is_of_the_user

__all__ = ["names_needed"]

_WORD = re.compile(r"[^\W\d]\w*")


def names_needed(text: str, namespace: Mapping[str, Any]) -> tuple[frozenset[str], list[Any]]:
    """Return the variables that a cell needs, and what its functions have captured.

    Where it is not known what the cell reads, each of its words is taken for a name.

    Args:
      text: the cell as it was typed, with its magics.
      namespace: the variables.
    """
    needed = {name for name in _names_in(text) if name in namespace}
    captured: list[Any] = []
    waiting = [namespace[name] for name in needed]
    seen: set[int] = set()
    while waiting:
        function = _unwrapped(waiting.pop())
        if function is None or id(function) in seen:
            continue
        seen.add(id(function))
        read = [name for name in globals_read(function.__code__) if name in function.__globals__]
        needed.update(read if function.__globals__ is namespace else ())
        inside = captured_values(function)
        captured += inside
        waiting += [*inside, *(function.__globals__[name] for name in read)]
    return frozenset(needed), captured


def _names_in(text: str) -> set[str]:
    """The names that a cell reads, and all words of its magics."""
    lines = text.splitlines()
    magics = [line for line in lines if line.lstrip().startswith(("%", "!"))]
    try:
        tree = ast.parse("\n".join(line for line in lines if line not in magics))
    except SyntaxError:
        return set(_WORD.findall(text))
    return {*analyse(tree).reads, *_WORD.findall("\n".join(magics))}


def _unwrapped(value: Any) -> FunctionType | None:
    """The user's function that a value is or wraps; None where it is none."""
    with suppress(Exception):  # attributes may be foreign code; wrappers may go round in a circle
        value = inspect.unwrap(value)
    return value if isinstance(value, FunctionType) and is_of_the_user(value) else None
