"""Long work in C++ that an interrupt can leave, with a line that says what is going on.

Purpose: run a compilation or a wait so that Ctrl-C returns the prompt at once and the session
goes on, and show progress when it takes long.

Place in the pipeline: below `jupyter.waiting`; `jupyter.extension` gives
`run_interruptibly` to the core, which compiles and waits through it.

Must not know: what the work is.

Signal handlers run in the main thread, between two steps of Python. Work in C++ takes no such
step, so it runs in a thread of its own, while the main thread waits in short steps. What was
interrupted goes on to its end there, and its result is dropped.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

from jxkernel import events

__all__ = ["run_interruptibly"]

_STEP_SECONDS = 0.05
_SILENT_SECONDS = 2.0
_REPORT_SECONDS = 0.5

Result = TypeVar("Result")


def run_interruptibly(work: Callable[[], Result]) -> Result:
    """Returns what `work` returns, or raises what it raises; an interrupt comes through.

    In other threads than the main one, which no interrupt reaches, the work is simply done.

    Raises:
      KeyboardInterrupt: the user interrupted; the work goes on and its result is dropped.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcome: list[Any] = []
    errors: list[BaseException] = []

    def do() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # handed to the thread that waits
            errors.append(error)

    thread = threading.Thread(
        target=copy_context().run, args=(do,), name="jxkernel-work", daemon=True
    )
    line = _ProgressLine()
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_STEP_SECONDS)
            line.update()
    finally:
        line.clear()
    if errors:
        raise errors[0]
    return outcome[0]


class _ProgressLine:
    """One line on stderr, written over itself, once the work has taken a while."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._next = self._started + _SILENT_SECONDS
        self._width = 0

    def update(self) -> None:
        """Shows what is under way and for how long, twice a second."""
        now = time.perf_counter()
        if now < self._next:
            return
        self._next = now + _REPORT_SECONDS
        text = f"{_what_is_open()} · {now - self._started:.0f} s · interrupt to stop waiting"
        self._write(text.ljust(self._width))
        self._width = len(text)

    def clear(self) -> None:
        """Takes the line away."""
        if self._width:
            self._write(" " * self._width)
            sys.stderr.write("\r")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r{text}")
        sys.stderr.flush()


def _what_is_open() -> str:
    """The innermost work under way, by the events that it will become."""
    verbs = {events.Compiled: "compiling", events.Lowered: "lowering", events.Traced: "tracing"}
    for span in reversed(events.open_spans()):
        if span.kind in verbs:
            return f"{verbs[span.kind]} {span.fields.get('fun', '')}"
    return "waiting for results"
