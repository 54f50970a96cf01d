"""Jitted functions are watched as they are traced, called by a cell or by a script's file.

The bus tells when a trace begins and when it ends, in the thread that traces. In between the names
of the user's functions are noted, as in a cell under ``%%jit``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from jxkernel.events import CacheMiss, Event, ListenerHandle, Traced, listen
from jxkernel.observe.frames import is_traced
from jxkernel.observe.names import NameWatch
from jxkernel.observe.provenance import Provenance, Watching

__all__ = ["TraceWatch"]

_CALLS = 500_000
"""How many calls of functions a trace makes before nothing more is noted of it: some seconds at
most are spent on them, and a trace of so many takes minutes."""


class _Under(threading.local):
    """The watch of this thread, and the trace that it watches."""

    names: NameWatch | None = None
    begun: CacheMiss | None = None


class TraceWatch:
    """Watches the outermost trace of each thread.

    Where another tracer of Python's is on, such as a debugger, it is left alone. So is a cell
    under ``%%jit``, which watches itself.

    Args:
      wanted: whether names are to be watched.
      found: called with what was seen of a trace, when it is over.
    """

    def __init__(self, wanted: Callable[[], bool], found: Callable[[Provenance], None]) -> None:
        self._wanted = wanted
        self._found = found
        self._under = _Under()
        self._handle: ListenerHandle | None = None

    def start(self) -> None:
        """Begin to watch."""
        self._handle = listen(self._hear, (CacheMiss, Traced))

    def stop(self) -> None:
        """End watching."""
        if self._handle is not None:
            self._handle.close()
        self.forget()

    def forget(self) -> None:
        """Drop a watch whose trace did not end as traces do."""
        names, self._under.names = self._under.names, None
        if names is not None:
            names.__exit__()

    def _hear(self, event: Event) -> None:
        under = self._under
        if isinstance(event, CacheMiss):
            if event.cache == "trace" and not is_traced() and self._wanted():
                under.begun, under.names = event, NameWatch(_CALLS)
                under.names.__enter__()
        elif under.names is not None and under.begun is not None and _ends(event, under.begun):
            names = under.names
            self.forget()
            if names.codes:
                self._found(Watching(names).provenance())


def _ends(event: Event, begun: CacheMiss) -> bool:
    """Whether it is this trace that ends, and not one inside it."""
    return (
        isinstance(event, Traced)
        and event.parent == begun.parent
        and event.function_id == begun.function_id
    )
