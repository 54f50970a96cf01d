"""Tracebacks without this package's own frames, as ``jax_traceback_filtering`` asks for.

Every function of the public API that runs user code, or fails on the user's arguments, passes what
is raised through here, so plain scripts show the user's lines only.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import ParamSpec, TypeVar

from jxkernel import source
from jxkernel.config import traceback_filtering

__all__ = ["UnfilteredStackTrace", "filtered", "hide_internal_frames"]

P = ParamSpec("P")
R = TypeVar("R")

_NOTE = (
    "jxkernel's own frames are left out; "
    "config.update('jax_traceback_filtering', 'off') shows them."
)


class UnfilteredStackTrace(Exception):
    """Carries, as the cause of an error, its whole traceback as text."""


def hide_internal_frames(error: BaseException) -> None:
    """Leave this package's frames out of an error's traceback, in the way that is configured.

    ``off`` leaves all; ``tracebackhide`` marks them for tools that honour ``__tracebackhide__``;
    ``remove_frames`` removes them and keeps the whole traceback as the error's cause;
    ``quiet_remove_frames`` removes them and says so in a note; ``auto`` removes them.
    """
    mode = traceback_filtering.value
    if mode == "off":
        return
    if mode == "tracebackhide":
        _mark(error.__traceback__)
        return
    if mode == "remove_frames" and error.__cause__ is None:
        whole = "".join(traceback.format_exception(error))
        error.__cause__ = UnfilteredStackTrace(f"the whole traceback:\n\n{whole}")
    if mode == "quiet_remove_frames" and _NOTE not in getattr(error, "__notes__", ()):
        error.add_note(_NOTE)
    source.hide_internal_frames(error)


def filtered(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that runs user code, with what it raises passed through the filter."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            hide_internal_frames(error)
            raise

    return call


def _mark(entry: TracebackType | None) -> None:
    while entry is not None:
        if source.is_internal(entry.tb_frame.f_code):
            entry.tb_frame.f_locals["__tracebackhide__"] = True
        entry = entry.tb_next
