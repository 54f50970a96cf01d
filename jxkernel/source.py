"""Where in the user's code something happened: cheap capture, late resolution.

An equation keeps a raw traceback (code objects and instruction offsets, taken in C++ in about
0.2 µs).  Only when it is printed, lowered or explained is it resolved to the user's frames:
those outside this package and outside the notebook's machinery.  This module must not know of
tracers or of the notebook; a notebook cell is just a file name to it.
"""

import os
import sys
from dataclasses import dataclass
from types import CodeType, TracebackType
from typing import Any

import numpy as np

from jxkernel._jaxlib import Traceback

__all__ = [
    "Frame",
    "capture",
    "current_user_frame",
    "hide_internal_frames",
    "is_user_code",
    "user_frame",
    "user_frames",
]

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
_MACHINERY = tuple(
    f"{os.sep}{name}{os.sep}"
    for name in ("IPython", "ipykernel", "tornado", "asyncio", "traitlets", "_pytest", "pluggy")
)

capture = Traceback.get_traceback
"""Return the current stack in raw form (code objects, offsets), innermost frame first."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of the user's code, with 1-based lines and 0-based columns."""

    file: str
    function: str
    line: int
    end_line: int
    column: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column} ({self.function})"


def is_user_code(code: CodeType) -> bool:
    """Say whether code is the user's: not this package's, NumPy's or the notebook's."""
    name = code.co_filename
    if name.startswith((_PACKAGE, _NUMPY, "<frozen ")):
        return False
    if name.startswith("<ipython-input"):
        return True
    return not any(part in name for part in _MACHINERY)


def _frame(code: CodeType, offset: int) -> Frame:
    positions = list(code.co_positions())
    line, end_line, column, end_column = positions[max(offset, 0) // 2]
    line = line or code.co_firstlineno
    return Frame(
        code.co_filename, code.co_name, line, end_line or line, column or 0, end_column or 0
    )


def user_frames(traceback: Any) -> list[Frame]:
    """Return the user's frames of a captured stack, innermost first."""
    if traceback is None:
        return []
    codes, offsets = traceback.raw_frames()
    return [
        _frame(code, offset)
        for code, offset in zip(codes, offsets, strict=True)
        if is_user_code(code)
    ]


def user_frame(traceback: Any) -> Frame | None:
    """Return the innermost user frame of a captured stack, or None where there is none."""
    if traceback is None:
        return None
    codes, offsets = traceback.raw_frames()
    for code, offset in zip(codes, offsets, strict=True):
        if is_user_code(code):
            return _frame(code, offset)
    return None


def current_user_frame() -> Frame | None:
    """Return the innermost user frame of the running stack, or None where there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        if is_user_code(frame.f_code):
            return _frame(frame.f_code, frame.f_lasti)
        frame = frame.f_back
    return None


def hide_internal_frames(error: BaseException) -> None:
    """Drop this package's own frames from an exception's traceback, keeping the user's.

    Frames are kept where dropping all would leave nothing to show.
    """
    kept: list[TracebackType] = []
    traceback = error.__traceback__
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            kept.append(traceback)
        traceback = traceback.tb_next
    chain: TracebackType | None = None
    for entry in reversed(kept):
        chain = TracebackType(chain, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    error.__traceback__ = chain
