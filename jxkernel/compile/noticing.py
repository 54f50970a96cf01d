"""Having calls noticed that C++ answers, program by program.

A hit never enters Python, and jaxlib's post-call hook costs every call of every program.  But of an
argument with a layout C++ asks that for XLA's form of it at each call, before it runs the program.
So a layout that says what all arrays have anyway notices the calls of one program, and those of
others cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jxkernel._jaxlib import XlaLayout

__all__ = ["NoticingLayout"]


class NoticingLayout:
    """The row-major layout of an argument, which tells of each call.

    Args:
      rank: how many axes the argument has.
      notice: called before each call that C++ answers; it may not raise.
    """

    __slots__ = ("_layout", "_notice")

    def __init__(self, rank: int, notice: Callable[[], object]) -> None:
        self._layout = XlaLayout(tuple(range(rank))[::-1])
        self._notice = notice

    def _to_xla_layout(self, dtype: Any) -> Any:
        self._notice()
        return self._layout
