"""The bus: layers emit events here, listeners receive them.

Invariants:
  * ``listeners`` is an immutable tuple, replaced whole under a lock, so a reader needs no lock.
  * A listener never breaks the program that emits: one that raises is dropped with a warning.
  * What a listener itself causes (it may compute with arrays) is not reported, so that no
    listener can feed itself.
  * Failed spans are reported too, with their error; the exception goes on to the user.
  * No finalizer takes a lock: the collector runs it in the midst of any work, that under the very
    lock too. A listener that ends with an object is told so by a weak reference.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Sized
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Self
from weakref import ref

from jxkernel._reprs import in_words
from jxkernel.events.vocabulary import Event
from jxkernel.records import record

__all__ = [
    "Listener",
    "ListenerHandle",
    "Span",
    "SpanHandle",
    "ancestors",
    "current_span",
    "emit",
    "listen",
    "listening",
    "listening_to",
    "on_interest_change",
    "open_spans",
    "private",
    "span",
]

Listener = Callable[[Event], object]
"""Receives each event, in the thread that caused it, when the event has ended."""

_ERROR_LENGTH = 500


@record(eq=False)
class _Registration:
    """One listener and the kinds that it asked for; None means every kind."""

    listener: Listener
    kinds: tuple[type[Event], ...] | None
    private: bool = False
    owner: ref[Any] | None = None

    @property
    def ended(self) -> bool:
        return self.owner is not None and self.owner() is None

    def wants(self, kind: type[Event]) -> bool:
        return (self.kinds is None or issubclass(kind, self.kinds)) and not self.ended


@record(eq=False, frozen=False)
class _InterestWatch:
    """Someone who installs a costly hook only while ``kind`` is listened to."""

    kind: type[Event]
    callback: Callable[[bool], object]
    told: bool | None = None

    def tell(self) -> None:
        wanted = listening_to(self.kind)
        if wanted is not self.told:
            self.told = wanted
            self.callback(wanted)


listeners: tuple[_Registration, ...] = ()
_interest_watches: tuple[_InterestWatch, ...] = ()
_lock = threading.RLock()
_numbers = itertools.count(1)
_private: ContextVar[bool] = ContextVar("jxkernel_private", default=False)
_current: ContextVar[int | None] = ContextVar("jxkernel_current_span", default=None)
_open: dict[int, Span] = {}
_delivery = threading.local()


def _do_nothing() -> None:
    """Do nothing: a handle that is closed has nothing left to close."""


class ListenerHandle:
    """Ends a registration: call ``close()``, or use it as a context manager."""

    __slots__ = ("_close",)

    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close

    def close(self) -> None:
        """End the registration and let go of what was registered; twice does nothing."""
        close, self._close = self._close, _do_nothing
        close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def private() -> Generator[None]:
    """Hide what happens inside the block, in this context, from all but private listeners.

    For work that is not the user's own: an exercise that is run to see what it does.
    """
    token = _private.set(True)
    try:
        yield
    finally:
        _private.reset(token)


def listen(
    listener: Listener,
    kinds: tuple[type[Event], ...] | None = None,
    *,
    private: bool = False,
    owner: object = None,
) -> ListenerHandle:
    """Call ``listener`` with every event from now on, until the handle is closed.

    Args:
      listener: called with one event, in the thread that caused it.
      kinds: the kinds wanted (subclasses included); None for all. Asking for few kinds keeps the
        others free of cost, ``Executed`` above all.
      private: whether it hears what happens inside ``private()``, and only that. A listener that
        begins there does.
      owner: an object that can be referred to weakly: nothing is heard once it is gone.
    """
    registration = _Registration(
        listener, kinds, private or _private.get(), None if owner is None else ref(owner)
    )
    _replace_listeners(lambda present: (*present, registration))
    return ListenerHandle(lambda: _remove(registration))


def listening() -> bool:
    """Whether anyone listens to anything."""
    # Asked at each call: while nobody listens, nothing is made to find that out.
    return bool(listeners) and not all(registration.ended for registration in listeners)


def listening_to(kind: type[Event]) -> bool:
    """Whether anyone listens to events of this kind."""
    return any(registration.wants(kind) for registration in listeners)


def on_interest_change(kind: type[Event], callback: Callable[[bool], object]) -> ListenerHandle:
    """Call ``callback(wanted)`` now, and whenever ``listening_to(kind)`` changes.

    For sources that are costly to watch: the hook after each execution is installed only while
    someone listens to ``Executed``. The callback runs under the bus's lock, so calls arrive in
    order; it must be short.
    """
    global _interest_watches
    watch = _InterestWatch(kind, callback)
    with _lock:
        _interest_watches = (*_interest_watches, watch)
        watch.tell()
    return ListenerHandle(lambda: _remove_watch(watch))


def current_span() -> int | None:
    """The number of the innermost open span of this context, or None."""
    return _current.get()


def open_spans() -> tuple[Span, ...]:
    """The spans now under way in all threads, oldest first: what a progress display shows."""
    with _lock:
        return tuple(_open.values())


def ancestors(event: Event) -> tuple[Span, ...]:
    """The open spans around an event that is being delivered, innermost first.

    An event is delivered before the spans around it end, so a listener can learn here in which
    cell, call or trace it happened. Asked later, the answer has gaps.
    """
    found: list[Span] = []
    number = event.parent
    while number is not None and (around := _open.get(number)) is not None:
        found.append(around)
        number = around.parent
    return tuple(found)


class SpanHandle:
    """What ``with span(...)`` gives; this base, used while nobody listens, does nothing."""

    __slots__ = ()

    def set(self, **fields: Any) -> None:
        """Add fields found during the work; later values replace earlier ones."""

    def follow(self, **growing: Sized) -> None:
        """Name containers that grow with the work: how far it is, for a progress display."""

    def start(self) -> Self:
        """Begin the span, for callers with hooks instead of a ``with`` block."""
        return self

    def finish(self, error: BaseException | None = None) -> None:
        """End the span and deliver its event; ``error`` marks it as failed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None


class Span(SpanHandle):
    """A stretch of work that becomes one event when it ends.

    Attributes:
      kind: the event class that it becomes.
      fields: the event's fields known so far.
      number: its ``Event.span``.
      parent: the number of the span around it, or None.
      start_ns: ``time.perf_counter_ns()`` at its start.
      growing: containers whose lengths say how far the work is.
    """

    __slots__ = ("_token", "fields", "growing", "kind", "number", "parent", "start_ns")

    def __init__(self, kind: type[Event], fields: dict[str, Any]) -> None:
        self.kind = kind
        self.fields = fields
        self.number = next(_numbers)
        self.parent: int | None = None
        self.start_ns = 0
        self.growing: dict[str, Sized] = {}
        self._token: Token[int | None] | None = None

    def set(self, **fields: Any) -> None:
        """Add fields found during the work; later values replace earlier ones."""
        self.fields.update(fields)

    def follow(self, **growing: Sized) -> None:
        """Name containers that grow with the work: how far it is, for a progress display."""
        self.growing.update(growing)

    def start(self) -> Self:
        """Begin the span: it is the parent of what this context does until ``finish``."""
        self.parent = _current.get()
        self._token = _current.set(self.number)
        with _lock:
            _open[self.number] = self
        self.start_ns = time.perf_counter_ns()
        return self

    def finish(self, error: BaseException | None = None) -> None:
        """End the span and deliver its event; finishing twice does nothing."""
        duration = time.perf_counter_ns() - self.start_ns
        if self._token is None:
            return
        self._restore_parent(self._token)
        self._token = None
        with _lock:
            _open.pop(self.number, None)
        event = self.kind(
            span=self.number,
            parent=self.parent,
            start_ns=self.start_ns,
            duration_ns=duration,
            error=None if error is None else _describe_error(error),
            **self.fields,
        )
        _deliver(event)

    def _restore_parent(self, token: Token[int | None]) -> None:
        """Make the parent current again.

        A notebook's hooks before and after an asynchronous cell run in different contexts, where
        a token of the one cannot be reset in the other.
        """
        try:
            _current.reset(token)
        except ValueError:
            _current.set(self.parent)

    __enter__ = start

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.finish(exception)


_UNHEARD = SpanHandle()


def span(kind: type[Event], /, **fields: Any) -> SpanHandle:
    """Open a span that becomes one event of ``kind`` when its ``with`` block ends.

    Fields of the event that are known only later are given by ``.set(...)`` inside the block. While
    nobody listens to the kind, one shared object that does nothing is returned.
    """
    if not listeners or not listening_to(kind):
        return _UNHEARD
    return Span(kind, fields)


def emit(kind: type[Event], /, **fields: Any) -> None:
    """Deliver an instant of ``kind``, at the present time, inside the current span."""
    if not listeners or not listening_to(kind):
        return
    event = kind(
        span=next(_numbers),
        parent=_current.get(),
        start_ns=time.perf_counter_ns(),
        duration_ns=0,
        **fields,
    )
    _deliver(event)


def _deliver(event: Event) -> None:
    """Hand an event to each listener that wants it; drop listeners that raise."""
    if getattr(_delivery, "active", False):
        return
    _delivery.active = True
    try:
        hidden = _private.get()
        for registration in listeners:
            if registration.private is hidden and registration.wants(type(event)):
                _call(registration, event)
    finally:
        _delivery.active = False


def _call(registration: _Registration, event: Event) -> None:
    try:
        registration.listener(event)
    except Exception as error:  # a listener is foreign code; see the module's invariants
        _remove(registration)
        _warn_dropped(registration.listener, error)


def _warn_dropped(listener: Listener, error: Exception) -> None:
    message = (
        f"an event listener raised and was dropped: {in_words(listener, _ERROR_LENGTH)} raised "
        f"{_describe_error(error)}"
    )
    try:
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    except RuntimeWarning:
        # Warnings are errors in this process; raising here would break the work that is only
        # being reported on.
        sys.stderr.write(f"RuntimeWarning: {message}\n")


def _describe_error(error: BaseException) -> str:
    """``TypeError: message``, capped, for any exception whatever its ``__str__`` does."""
    try:
        text = str(error)
    except Exception:  # a user's __str__ may raise anything
        text = "(its message could not be read)"
    described = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return described if len(described) <= _ERROR_LENGTH else described[: _ERROR_LENGTH - 1] + "…"


def _remove(registration: _Registration) -> None:
    _replace_listeners(lambda present: tuple(r for r in present if r is not registration))


def _replace_listeners(
    change: Callable[[tuple[_Registration, ...]], tuple[_Registration, ...]],
) -> None:
    """Swap the listener tuple and tell those who watch for interest in a kind."""
    global listeners
    with _lock:
        listeners = tuple(one for one in change(listeners) if not one.ended)
        for watch in _interest_watches:
            watch.tell()


def _remove_watch(watch: _InterestWatch) -> None:
    global _interest_watches
    with _lock:
        _interest_watches = tuple(w for w in _interest_watches if w is not watch)
