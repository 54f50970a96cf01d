"""Long work in C++ that an interrupt can leave, with a line that says what is going on.

Signal handlers run in the main thread, between two steps of Python. Work in C++ takes no such
step, so it runs in a thread of its own, while the main thread waits in short steps. What was
interrupted goes on to its end there; the compiler takes it up at the next call. Tracing and
lowering are Python, which an interrupt reaches by itself; a thread beside them writes the line.

One wait is out of reach. XLA's CPU client takes some 30 programs that wait for a value, and has the
next dispatch wait in C++ until one of them has ended; a hit is such a dispatch, and enters no
Python. A hook after each call could count them and wait here, but an empty one costs a hit 4 to 5
percent, and no limit can be given to the client.
"""

from __future__ import annotations

import sys
import threading
import time
from _thread import interrupt_main
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from IPython.core.getipython import get_ipython

from jxkernel import events
from jxkernel.jupyter.views.passing import PassingOutput

__all__ = [
    "STAGE_VERBS",
    "StageWatch",
    "interrupting_again",
    "run_interruptibly",
    "stage_under_way",
]

_STEP_SECONDS = 0.05
_SILENT_SECONDS = 2.0
_REPORT_SECONDS = 0.5
_IDLE_LOOKS = 20

STAGE_VERBS: dict[type[events.Event], str] = {
    events.Compiled: "compiling",
    events.Lowered: "lowering",
    events.Traced: "tracing",
}
"""What is being done while a span of a kind is open."""

_IN_PYTHON = (events.Lowered, events.Traced)

Result = TypeVar("Result")


def run_interruptibly(work: Callable[[], Result]) -> Result:
    """Return what ``work`` returns, or raise what it raises; an interrupt comes through.

    In other threads than the main one, which no interrupt reaches, the work is simply done.

    Raises:
      KeyboardInterrupt: the user interrupted; the work goes on, and nobody waits for it.
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
    try:
        thread.start()
        while thread.is_alive():
            thread.join(_STEP_SECONDS)
            line.update()
    except KeyboardInterrupt as error:
        if thread.is_alive():
            error.args = (_left_behind(thread),)
        raise
    finally:
        line.clear()
    if errors:
        raise errors[0]
    return outcome[0]


_left: WeakKeyDictionary[threading.Thread, str] = WeakKeyDictionary()
"""The threads whose work was interrupted and goes on, and what they compile."""


def _left_behind(thread: threading.Thread) -> str:
    """Note what an interrupted thread goes on with, and say it."""
    stage = stage_under_way()
    if stage is None or stage.kind is not events.Compiled:
        return "you no longer wait; what was begun is computed to its end"
    name = _left[thread] = _name_of(stage)
    return f"you no longer wait; {name} is compiled to its end, and the next call takes it up"


def interrupting_again(report: Callable[[Any], object]) -> Callable[[Any], object]:
    """Return an ``unraisablehook`` that sends an interrupt again which Python could not raise.

    The collector runs in the midst of any work, and what is raised in the callbacks and finalizers
    that it calls is reported and dropped, an interrupt too: Ctrl-C would seem not to have come.

    Args:
      report: what is done with all other exceptions, the hook before.
    """

    def hook(unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            report(unraisable)
        elif threading.current_thread() is threading.main_thread():
            # At once, it would be raised in this hook, and dropped as well.
            threading.Timer(_STEP_SECONDS, interrupt_main).start()
        # One that a rank's job was sent is not the main thread's, which answers the notebook.

    return hook


class StageWatch:
    """Writes the progress line while a cell traces or lowers, from a thread beside it.

    A watch that was closed may start again.

    There is a thread for each cell, because where it writes goes by where it was made. Most cells
    end before it is started, which costs more than all else that a cell pays.
    """

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._starter = _Starter()

    def start(self) -> None:
        """Begin to watch, once the cell has run for a while."""
        self.stop()
        self._ended = threading.Event()
        thread = threading.Thread(
            target=copy_context().run,
            args=(self._watch, self._ended),
            name="jxkernel-progress",
            daemon=True,
        )
        self._starter.give(thread, self._ended)

    def stop(self) -> None:
        """End the watch; a line that is there is taken away."""
        self._ended.set()

    def close(self) -> None:
        """End the watch and the threads."""
        self.stop()
        self._starter.close()

    def _watch(self, ended: threading.Event) -> None:
        line: _ProgressLine | None = None
        while not ended.wait(_STEP_SECONDS if line else _SILENT_SECONDS / 4):
            stage = stage_under_way()
            if stage is None or stage.kind not in _IN_PYTHON:
                if line:
                    line.clear()
                line = None
            else:
                line = line or _ProgressLine(stage.start_ns)
                line.update()
        if line:
            line.clear()


class _Starter:
    """Starts the thread of a cell that lasts; a thread itself, which ends when no cell has run.

    It looks by itself from time to time: to be woken by each cell would cost the cell.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given: tuple[threading.Thread, threading.Event] | None = None
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    def give(self, thread: threading.Thread, ended: threading.Event) -> None:
        """Take a thread, to be started unless the cell has ended by then."""
        with self._lock:
            self._given = (thread, ended)
            if self._thread is not None:
                return
            self._ended = threading.Event()
            self._thread = threading.Thread(
                target=self._run, args=(self._ended,), name="jxkernel-starter", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """End the thread; the next cell begins another."""
        with self._lock:
            thread, self._thread, self._given = self._thread, None, None
            self._ended.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self, ended: threading.Event) -> None:
        seen, idle = None, 0
        while idle < _IDLE_LOOKS:
            if ended.wait(_SILENT_SECONDS / 4):
                return
            with self._lock:
                given = self._given
                idle = idle + 1 if given is None else 0
                if given is not None and (given is seen or given[1].is_set()):
                    self._given = None
                if idle == _IDLE_LOOKS and not ended.is_set():
                    self._thread = None
            if given is not None and given is seen and not given[1].is_set():
                given[0].start()
            seen = given


class _ProgressLine:
    """One line that says what goes on, once the work has taken a while."""

    def __init__(self, started_ns: int | None = None) -> None:
        now = time.perf_counter()
        self._started = now if started_ns is None else started_ns / 1e9
        self._next = self._started + _SILENT_SECONDS
        # A terminal has lines to write over, a kernel's front end has outputs to show anew.
        self._shown = PassingOutput() if hasattr(get_ipython(), "kernel") else _LineOnStderr()

    def update(self) -> None:
        """Show what is under way and for how long, twice a second."""
        now = time.perf_counter()
        if now < self._next:
            return
        self._next = now + _REPORT_SECONDS
        self._shown.show(
            f"{_what_is_open()} · {now - self._started:.0f} s · interrupt to {_what_ends()}"
        )

    def clear(self) -> None:
        """Take the line away."""
        self._shown.clear()


class _LineOnStderr:
    """A line that is written over itself."""

    def __init__(self) -> None:
        self._width = 0

    def show(self, text: str) -> None:
        """Write a text in place of the one before."""
        sys.stderr.write(f"\r{text.ljust(self._width)}")
        sys.stderr.flush()
        self._width = len(text)

    def clear(self) -> None:
        """Write blanks over the text; nothing is done where none is shown."""
        if self._width:
            sys.stderr.write(f"\r{' ' * self._width}\r")
            sys.stderr.flush()
            self._width = 0


def stage_under_way() -> events.Span | None:
    """The innermost stage of making a program that is under way."""
    spans = (span for span in reversed(events.open_spans()) if span.kind in STAGE_VERBS)
    return next(spans, None)


def _what_ends() -> str:
    """What an interrupt does: a trace ends with it, a compilation and a computation go on."""
    stage = stage_under_way()
    return "stop" if stage is not None and stage.kind is events.Traced else "stop waiting"


def _what_is_open() -> str:
    """The stage under way, its function, and how many equations there are or are so far."""
    stage = stage_under_way()
    if stage is None:
        return "waiting for results"
    count = len(stage.growing.get("eqns", ()))
    equations = f" · {count:,} eqn{'' if count == 1 else 's'}" if count else ""
    behind = _behind(stage) if stage.kind is events.Compiled else ""
    return f"{STAGE_VERBS[stage.kind]} {_name_of(stage)}{equations}{behind}"


def _behind(stage: events.Span) -> str:
    """What else the compiler is at: programs that an interrupt left there, but for this one."""
    names = {name for thread, name in list(_left.items()) if thread.is_alive()}
    names.discard(_name_of(stage))  # it is taken up again
    if not names:
        return ""
    return f" · behind {', '.join(sorted(names))}, interrupted and still compiling"


def _name_of(stage: events.Span) -> str:
    return str(stage.fields.get("fun", ""))
