"""A cell that forks the kernel: told once, because the child's copy of jxkernel cannot compute.

Forks that only start another program (shell commands, ``subprocess``) are no danger and not told.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from types import FrameType

__all__ = ["ForkWatch", "fork_watch"]

_HARMLESS = frozenset({"pty", "ptyprocess", "pexpect", "subprocess"})
_WARNING = (
    "warning: this cell forks the kernel; the child cannot compute with jxkernel's arrays and may "
    "hang when it tries. Use multiprocessing.get_context('spawn'), or threads.\n"
)


class ForkWatch:
    """Says once that a cell forks, while it is active."""

    def __init__(self) -> None:
        self.active = False
        self._told = False

    def before_fork(self) -> None:
        """Called by Python in the parent, just before each fork."""
        if not self.active or self._told:
            return
        callers = (frame.f_globals.get("__name__", "") for frame in _stack(sys._getframe(1)))
        if _HARMLESS.isdisjoint(str(name).partition(".")[0] for name in callers):
            self._told = True
            sys.stderr.write(_WARNING)
            sys.stderr.flush()


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


@functools.cache
def fork_watch() -> ForkWatch:
    """Return the watch of this process; Python has no way to take a fork hook out again."""
    watch = ForkWatch()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=watch.before_fork)
    return watch
