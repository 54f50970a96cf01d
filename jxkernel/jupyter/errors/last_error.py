"""What the latest error keeps: the local variables of the calls that it ended."""

from __future__ import annotations

import inspect
import sys
from contextlib import suppress
from types import TracebackType

__all__ = ["TRACEBACKS", "forget_frames"]

TRACEBACKS = "tracebacks"
"""What ``%jx free`` calls the variables that the latest error keeps."""

_SUSPENDABLE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def forget_frames() -> None:
    """Let go of the local variables of the calls that the latest error ended.

    Its lines can still be shown; ``%debug`` finds no values in them.
    """
    errors = [getattr(sys, "last_value", None)]
    seen: set[int] = set()
    while errors:
        error = errors.pop()
        if error is not None and id(error) not in seen:
            seen.add(id(error))
            _clear(error.__traceback__)
            errors += [error.__cause__, error.__context__]


def _clear(traceback: TracebackType | None) -> None:
    while traceback is not None:
        # A generator may have caught the error and go on.
        if not traceback.tb_frame.f_code.co_flags & _SUSPENDABLE:
            with suppress(RuntimeError):  # the call is not over
                traceback.tb_frame.clear()
                # Before Python 3.13 a frame keeps what it was last asked for: ask again.
                _ = traceback.tb_frame.f_locals
        traceback = traceback.tb_next
