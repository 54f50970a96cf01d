"""Notices of calls that C++ answers, for one program alone.

A hit never enters Python, and jaxlib's post-call hook costs every call of every program.  But of an
argument with a layout C++ asks that for XLA's form of it at each call, before it runs the program.
So a layout that says what all arrays have anyway notices the calls of one program, and those of
others cost nothing.  A call that C++ knows was made under the guard that is there now, for that is
a part of the key.
"""

from __future__ import annotations

from jxkernel._jaxlib import XlaLayout
from jxkernel.config import launch_hook

__all__ = ["NoticingLayout"]


class NoticingLayout:
    """The row-major layout of an argument, which tells the guard of each call that C++ answers.

    Args:
      rank: how many axes the argument has.
      program: the program's fingerprint, name and collectives.
    """

    __slots__ = ("_to_xla_layout",)

    def __init__(self, rank: int, program: tuple[str, str, tuple[str, ...]]) -> None:
        layout = XlaLayout(tuple(range(rank))[::-1])
        self._to_xla_layout = launch_hook.value.notices(program, layout)
