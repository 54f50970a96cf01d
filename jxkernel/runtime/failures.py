"""What went wrong in a host callback, kept until somebody waits for the result.

A callback runs inside a compiled program, often in a thread of the runtime and after the call
that dispatched it has returned.  The runtime carries an exception as text: the result it belongs
to, and everything computed from that, fails with the text when it is awaited.  So the
exception itself is kept here under a number, the number travels in the text, and ``surfacing``
raises the exception, with the user's own traceback, where the text comes out.

This module must not know what callbacks do, nor which arrays failed.
"""

from __future__ import annotations

import re
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from jxkernel import source
from jxkernel._jaxlib import JaxRuntimeError

__all__ = [
    "CallbackError",
    "clear_failures",
    "exception_behind",
    "has_unseen_failures",
    "keep_failure",
    "surfacing",
    "unseen_failures",
]

Result = TypeVar("Result")

_KEPT_SEEN = 32
_KEPT = 512
_MARK = r"\[host callback failure (\d+)\]"


class CallbackError(JaxRuntimeError):
    """A host callback raised an exception, which is the cause of this one.

    It is a ``JaxRuntimeError``, as every failure of a program that runs: what a function raised
    that is called at some time, by the runtime, says nothing to those who wait for a result.
    """


class _Failures:
    """The latest exceptions of callbacks, by number, and which of them nobody has seen yet."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.kept: OrderedDict[int, tuple[BaseException, TracebackType | None]] = OrderedDict()
        self.unseen: dict[int, None] = {}

    def keep(self, error: BaseException) -> int:
        """Keep an exception and return its number.

        If there are many, the oldest that somebody has met is forgotten: its result may fail again,
        but then with text alone.
        """
        with self.lock:
            self.count += 1
            self.kept[self.count] = (error, error.__traceback__)
            self.unseen[self.count] = None
            self._forget()
            return self.count

    def _forget(self) -> None:
        if len(self.kept) - len(self.unseen) > _KEPT_SEEN:
            del self.kept[next(number for number in self.kept if number not in self.unseen)]
        elif len(self.kept) > _KEPT:
            oldest, _ = self.kept.popitem(last=False)
            self.unseen.pop(oldest, None)

    def take(self, number: int) -> BaseException | None:
        """Return an exception as it was raised, which counts as having been seen."""
        with self.lock:
            self.unseen.pop(number, None)
            found = self.kept.get(number)
        return None if found is None else found[0].with_traceback(found[1])


_failures = _Failures()


def keep_failure(error: BaseException) -> str:
    """Keep what a callback raised, and return the text that is to travel in its stead."""
    source.hide_internal_frames(error)
    number = _failures.keep(error)
    text = "".join(traceback.format_exception(error))
    return f"[host callback failure {number}]\n{text}"


def exception_behind(error: BaseException) -> BaseException:
    """Return what a callback raised that made a result fail; any other error as it is."""
    found = _exception_behind(error)
    return found.__cause__ or found if isinstance(found, CallbackError) else found


def _exception_behind(error: BaseException) -> BaseException:
    if not isinstance(error, (JaxRuntimeError, BufferError)):
        return error
    found = re.search(_MARK, str(error))
    original = _failures.take(int(found.group(1))) if found else None
    return error if original is None else original


def surfacing(function: Callable[..., Result], *args: Any) -> Result:
    """Call a function that waits for results or dispatches work, and return what it returns.

    Raises:
      CallbackError: a callback raised an exception, which is its cause.
      BaseException: an interrupt in a callback, or a result of one that is not what it must be.
    """
    try:
        return function(*args)
    except (JaxRuntimeError, BufferError) as error:
        failure = _exception_behind(error)
    # Outside of the block, so that the exception's own context stays what the callback made it.
    raise failure


def has_unseen_failures() -> bool:
    """Whether a callback raised what nobody has met yet."""
    return bool(_failures.unseen)


def unseen_failures() -> list[BaseException]:
    """Return what callbacks raised and nobody has met yet, oldest first; it is then seen."""
    with _failures.lock:
        numbers = list(_failures.unseen)
    return [error for number in numbers if (error := _failures.take(number)) is not None]


def clear_failures() -> None:
    """Forget every exception kept."""
    with _failures.lock:
        _failures.kept.clear()
        _failures.unseen.clear()
