"""``debug.breakpoint``: a debugger at a line of a traced function, when its program is there.

The variables of the line that are arrays (or trees of them) become operands of a callback, which
opens ``pdb`` on their values.  What is no array is shown as it was when the function was traced.
This module must not know how a program calls back.
"""

import bdb
import pdb
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

from jxkernel.api.callbacks import debug_callback
from jxkernel.core.avals import abstractify
from jxkernel.core.filtering import hide_internal_frames
from jxkernel.tree import physical

__all__ = ["breakpoint"]


class _Debugger(pdb.Pdb):
    """``pdb`` at a program's line alone, which remembers being told to quit: ``run`` swallows that.

    Args:
      names: the variables of the line.
    """

    left = False

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__(stdin=sys.stdin, stdout=sys.stdout, nosigint=True)
        self.prompt = "(jxdb) "
        self.names = names

    def trace_dispatch(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Follow the line, and nothing that Python runs in between (the collector's callbacks)."""
        return super().trace_dispatch(frame, event, arg) if frame.f_globals is self.names else None

    def set_quit(self) -> None:
        """Quit."""
        self.left = True
        super().set_quit()


class _Stop:
    """Opens the debugger with the values of one line's variables.

    Attributes:
      where: the line.
      known: the variables that were known when the function was traced.
    """

    __slots__ = ("known", "where")

    def __init__(self, where: str, known: Mapping[str, Any]) -> None:
        self.where = where
        self.known = dict(known)

    def __call__(self, **values: Any) -> None:
        names = {**self.known, **values}
        sys.stdout.write(f"breakpoint at {self.where}\nvariables: {', '.join(sorted(names))}\n")
        debugger = _Debugger(names)
        debugger.run("pass  # the program waits here", names, names)
        if debugger.left:
            raise bdb.BdbQuit(f"left at the breakpoint at {self.where}")


def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    **kwargs: Any,
) -> None:
    """Open ``pdb`` when the program comes to this line, with the values of its variables.

    In compiled code the program waits while the debugger is open: ``p x`` shows a value, ``c`` goes
    on, ``q`` ends the program with an error.  To go through a program equation by equation, forward
    and back, use ``debug.step``.

    Args:
      backend: accepted for compatibility: there is one debugger, on the terminal.
      filter_frames: accepted for compatibility: only the caller's variables are shown.
      num_frames: accepted for compatibility.
      ordered: whether several are met in program order.
      token: accepted for compatibility.
      **kwargs: further values to show, by name.
    """
    try:
        caller = sys._getframe(1)
        traced, known = _variables(caller, kwargs)
        where = f"{caller.f_code.co_filename}:{caller.f_lineno}, in {caller.f_code.co_name}"
        debug_callback(_Stop(where, known), ordered=ordered, **traced)
    except Exception as error:
        hide_internal_frames(error)
        raise


def _variables(frame: FrameType, more: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the variables of a frame that are trees of arrays, and the others."""
    traced: dict[str, Any] = {}
    known: dict[str, Any] = {}
    for name, value in {**frame.f_locals, **more}.items():
        (traced if _is_of_arrays(value) else known)[name] = value
    return traced, known


def _is_of_arrays(value: Any) -> bool:
    try:
        leaves = physical.leaves(value)
        for leaf in leaves:
            abstractify(leaf)
    except Exception:  # whatever a user's variable does when it is looked at
        return False
    return bool(leaves)
