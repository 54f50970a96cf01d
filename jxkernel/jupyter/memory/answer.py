"""``%jx live``, ``memory``, ``free`` and ``leaks``: what is held on the devices, and by whom."""

from __future__ import annotations

import re

from IPython.core.error import UsageError

from jxkernel import observe
from jxkernel.compile.stages import as_called
from jxkernel.jupyter.memory.room import free_held
from jxkernel.jupyter.memory.view import estimate_view, memory_view
from jxkernel.jupyter.session.expressions import traced
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.tables import table_view, text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe.explain import format_size

__all__ = ["free", "leaks", "live", "memory"]


def live(session: Session, words: str = "") -> View:
    """Return the live arrays, largest first: by variable, output and other holder."""
    return memory_view(observe.live(session.shell.user_ns))


def memory(session: Session, words: str) -> View:
    """Return what a call would take, without running it; without a call, the live arrays.

    Raises:
      UsageError: the platform tells nothing of a program's memory.
    """
    if not words:
        return live(session)
    try:
        found = observe.estimate_of(as_called(traced(session, words, "%jx memory"))[1])
    except ValueError as error:
        raise UsageError(f"%jx memory: {error}") from None
    return estimate_view(words, found)


def free(session: Session, words: str) -> View:
    """Delete the arrays that variables and outputs hold, and the names.

    ``tracebacks`` stands for what the calls held that the latest error ended.

    Raises:
      UsageError: nothing is named, or a name does not exist or holds no array.
    """
    names = [name for name in re.split(r"[,\s]+", words) if name]
    if not names:
        raise UsageError("%jx free: name the variables or outputs whose arrays to delete")
    try:
        freed = free_held(session.shell.user_ns, names)
    except ValueError as error:
        raise UsageError(f"%jx free: {error}") from None
    return text_view("", f"{', '.join(names)} deleted: {format_size(freed)}")


def leaks(session: Session, words: str = "") -> View:
    """Return the tracers that outlived their trace: what holds each, and where it was made."""
    found = observe.leaks()
    if not found:
        return text_view("", "no tracer has outlived its trace")
    rows = [
        (one.type, one.fun, "; ".join(one.holders), one.origin[0] if one.origin else "")
        for one in found
    ]
    count = len(found)
    title = "1 tracer has outlived its trace"
    if count > 1:
        title = f"{count:,} tracers have outlived their traces"
    return table_view(title, ("tracer", "traced in", "held by", "made"), rows)
