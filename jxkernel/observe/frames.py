"""Following calls: what Python tells while the user's functions run, whichever hook tells it.

Python 3.12 and later have ``sys.monitoring``: a function that nobody wants to follow is named once
and costs nothing from then on, and debuggers and coverage tools run beside it. Python 3.11 has
``sys.settrace`` alone, which tells of every call and can serve one tool at a time. Both give the
same calls to the same receiver.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any, Protocol
from weakref import WeakSet

__all__ = ["Call", "CallFeed", "followed_calls", "is_traced"]


class Call(Protocol):
    """One call under way, as its receiver sees it."""

    def on_line(self, frame: FrameType) -> None:
        """Hear that a line is about to run."""

    def on_leave(self, frame: FrameType, raised: bool) -> None:
        """Hear that the call is over or, for a generator, that it waits."""


class CallFeed(Protocol):
    """A source of calls, for one thread and for the time between ``start`` and ``stop``."""

    def start(self) -> None:
        """Begin to tell."""

    def stop(self) -> None:
        """End telling, and leave Python's hooks as they were."""


def followed_calls(
    wanted: Callable[[CodeType], bool], enter: Callable[[FrameType], Call | None], most_calls: int
) -> CallFeed:
    """Return a feed of the calls of this thread.

    Args:
      wanted: whether calls of some code are to be told; always the same for the same code.
      enter: called as such a call begins; returns who is told of its lines, or None.
      most_calls: after how many calls no more is told.
    """
    return _FEED(wanted, enter, most_calls)


def is_traced() -> bool:
    """Whether calls of this thread are followed already: by a feed, or by a debugger."""
    return sys.gettrace() is not None or _has_feed()


class _Traced:
    """By ``sys.settrace``: another tracer is suspended meanwhile and restored after it."""

    def __init__(
        self,
        wanted: Callable[[CodeType], bool],
        enter: Callable[[FrameType], Call | None],
        most_calls: int,
    ) -> None:
        self._previous: Any = None
        self._hook: Callable[[FrameType, str, Any], Any] | None = None
        # No function that has this object in its closure: a cycle would keep what was seen.
        self._told = (wanted, enter, most_calls)

    def start(self) -> None:
        self._previous = sys.gettrace()
        self._hook = self._hooked(*self._told)
        sys.settrace(self._hook)

    def stop(self) -> None:
        # A debugger that came meanwhile stays.
        if sys.gettrace() is self._hook:
            sys.settrace(self._previous)
        self._previous = self._hook = None

    def _hooked(
        self,
        wanted: Callable[[CodeType], bool],
        enter: Callable[[FrameType], Call | None],
        left: int,
    ) -> Callable[[FrameType, str, Any], Any]:
        """Return what Python calls as functions are entered, most of them none of the user's.

        Some fifty functions of this package are called for each equation, so it is a function of
        its own without a look at attributes.
        """
        # The code objects are kept, so that the id of one cannot come to mean another one.
        passed: dict[int, CodeType] = {}

        def hook(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal left
            left -= 1
            code = frame.f_code
            if left < 0:
                sys.settrace(self._previous)
            elif id(code) not in passed:
                if not wanted(code):
                    passed[id(code)] = code
                elif (call := enter(frame)) is not None:
                    return _TracedLines(call)
            return None

        return hook


class _TracedLines:
    """What Python calls at the lines of one call.

    It is no function: one that returns itself would be in a cycle, and keep what the call held
    until garbage is collected.
    """

    __slots__ = ("_call", "_raised")

    def __init__(self, call: Call) -> None:
        self._call = call
        self._raised = False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self._raised = False
            self._call.on_line(frame)
        elif event == "exception":
            self._raised = True
        elif event == "return":
            self._call.on_leave(frame, self._raised)
        return self


if sys.version_info >= (3, 12):
    _events = sys.monitoring.events
    _ENTERED = _events.PY_START | _events.PY_RESUME | _events.PY_UNWIND
    _TOOLS = (4, 3, 5, 2, 1, 0)
    """Those first that have no use of their own, such as that of debuggers (0)."""
    _FOLLOWED = _events.LINE | _events.PY_RETURN | _events.PY_YIELD

    class _Here(threading.local):
        """What a thread has for itself."""

        feed: _Monitored | None = None

    class _Monitor:
        """The tool that is registered while any thread has a feed.

        A thread that dies takes its feed along.
        """

        def __init__(self) -> None:
            self._lock = threading.Lock()
            self._here = _Here()
            self._feeds: WeakSet[_Monitored] = WeakSet()
            self._tool: int | None = None
            self._followed: dict[int, CodeType] = {}

        @property
        def feed(self) -> _Monitored | None:
            """The feed of this thread."""
            return self._here.feed

        def add(self, feed: _Monitored) -> None:
            """Make a feed that of this thread."""
            self._here.feed = feed
            with self._lock:
                self._feeds.add(feed)
                if self._tool is None:
                    self._open()

        def remove(self, feed: _Monitored, before: _Monitored | None) -> None:
            """Give the thread the feed that it had before; the tool goes with the last feed."""
            self._here.feed = before
            with self._lock:
                self._feeds.discard(feed)
                if not self._feeds and self._tool is not None:
                    self._close(self._tool)

        def _open(self) -> None:
            tools = sys.monitoring
            tool = next((one for one in _TOOLS if tools.get_tool(one) is None), None)
            if tool is None:
                return
            self._tool = tool
            tools.use_tool_id(tool, "jxkernel")
            for event, callback in self._callbacks():
                tools.register_callback(tool, event, callback)
            tools.set_events(tool, _ENTERED)

        def _close(self, tool: int) -> None:
            tools = sys.monitoring
            tools.set_events(tool, 0)
            for code in self._followed.values():
                tools.set_local_events(tool, code, 0)
            self._followed.clear()
            for event, _ in self._callbacks():
                tools.register_callback(tool, event, None)
            tools.free_tool_id(tool)
            # What was disabled here must not stay so for a tool that takes this number next.
            tools.restart_events()
            self._tool = None

        def _callbacks(self) -> Iterable[tuple[int, Callable[..., Any]]]:
            return (
                (_events.PY_START, self._enter),
                (_events.PY_RESUME, self._enter),
                (_events.PY_UNWIND, self._unwind),
                (_events.LINE, self._line),
                (_events.PY_RETURN, self._leave),
                (_events.PY_YIELD, self._leave),
            )

        def _enter(self, code: CodeType, offset: int) -> Any:
            feed = self._here.feed
            if feed is None:
                return None
            if not feed.wanted(code):
                return sys.monitoring.DISABLE
            if feed.enter(sys._getframe(1)):
                self._follow(code)
            return None

        def _follow(self, code: CodeType) -> None:
            """Ask for the lines of some code, from the one that it is at."""
            with self._lock:
                if id(code) not in self._followed and self._tool is not None:
                    self._followed[id(code)] = code
                    sys.monitoring.set_local_events(self._tool, code, _FOLLOWED)

        def _line(self, code: CodeType, line: int) -> None:
            feed = self._here.feed
            if feed is not None:
                feed.line(sys._getframe(1))

        def _leave(self, code: CodeType, offset: int, value: Any) -> None:
            feed = self._here.feed
            if feed is not None:
                feed.leave(sys._getframe(1), raised=False)

        def _unwind(self, code: CodeType, offset: int, error: Any) -> None:
            feed = self._here.feed
            if feed is not None:
                feed.leave(sys._getframe(1), raised=True)

    _MONITOR = _Monitor()

    class _Monitored:
        """By ``sys.monitoring``, whose tool all threads share: a feed hears of its own."""

        def __init__(
            self,
            wanted: Callable[[CodeType], bool],
            enter: Callable[[FrameType], Call | None],
            most_calls: int,
        ) -> None:
            self.wanted = wanted
            self._begin = enter
            self._left = most_calls
            self._calls: dict[FrameType, Call] = {}
            self._before: _Monitored | None = None

        def start(self) -> None:
            self._before = _MONITOR.feed
            _MONITOR.add(self)

        def stop(self) -> None:
            _MONITOR.remove(self, self._before)
            self._calls.clear()
            self._before = None

        def enter(self, frame: FrameType) -> bool:
            """Begin a call; say whether it is followed."""
            self._left -= 1
            if self._left < 0:
                self._calls.clear()
                return False
            call = self._begin(frame)
            if call is not None:
                self._calls[frame] = call
            return call is not None

        def line(self, frame: FrameType) -> None:
            """Pass on a line."""
            call = self._calls.get(frame)
            if call is not None:
                call.on_line(frame)

        def leave(self, frame: FrameType, raised: bool) -> None:
            """End a call."""
            call = self._calls.pop(frame, None)
            if call is not None:
                call.on_leave(frame, raised)

    def _has_feed() -> bool:
        return _MONITOR.feed is not None

    _FEED: Callable[..., CallFeed] = _Monitored
else:

    def _has_feed() -> bool:
        return False  # it shows as any tracer does

    _FEED: Callable[..., CallFeed] = _Traced
