"""Code objects and closures: what a function looks up, and what it has captured."""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from jxkernel import source

__all__ = ["attributes_read", "captured_values", "globals_read", "is_of_the_user"]


@functools.lru_cache(maxsize=4096)
def globals_read(code: CodeType) -> tuple[str, ...]:
    """The names that code and the functions inside it look up among globals."""
    found = [
        instruction.argval
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    ]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found += globals_read(constant)
    return tuple(dict.fromkeys(found))


def captured_values(function: FunctionType) -> list[Any]:
    """The values in a function's closure; None stands for one not bound yet."""
    values = []
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # an empty cell
            values.append(None)
    return values


@functools.lru_cache(maxsize=4096)
def attributes_read(code: CodeType) -> tuple[tuple[str, ...], ...]:
    """The attributes of globals that code and the functions inside it look up.

    Returns:
      for ``settings.model.rate`` the names ("settings", "model", "rate"), and likewise each start
      of it; modules are followed so far, and what is read of them is a value like a global.
    """
    found = list(_attribute_chains(code))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found += attributes_read(constant)
    return tuple(dict.fromkeys(found))


def _attribute_chains(code: CodeType) -> Iterator[tuple[str, ...]]:
    chain: tuple[str, ...] = ()
    for instruction in dis.get_instructions(code):
        match instruction.opname:
            case "LOAD_GLOBAL" | "LOAD_NAME":
                chain = (instruction.argval,)
            case "LOAD_ATTR" | "LOAD_METHOD" if chain:
                chain = (*chain, instruction.argval)
                yield chain
            case "CACHE" | "PUSH_NULL":
                pass
            case _:
                chain = ()


def is_of_the_user(value: FunctionType | type) -> bool:
    """Whether a function or class was written by the user: in a cell, a script or a module."""
    if isinstance(value, FunctionType):
        file = value.__code__.co_filename
        return source.is_user_code(value.__code__) and not source.is_library_file(file)
    module = sys.modules.get(value.__module__)
    if value.__module__ == "__main__" or module is None:
        return value.__module__ == "__main__"
    file = getattr(module, "__file__", None) or ""
    return bool(file) and not source.is_package_file(file) and not source.is_library_file(file)
