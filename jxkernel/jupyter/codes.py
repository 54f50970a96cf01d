"""Code objects and closures: what a function looks up, and what it has captured.

Purpose: two questions that several modules of the notebook half ask of functions.

Place in the pipeline: the bottom of `jxkernel.jupyter`.

Must not know: why they are asked.
"""

from __future__ import annotations

import dis
import functools
from types import CodeType, FunctionType
from typing import Any

__all__ = ["captured_values", "globals_read"]


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
