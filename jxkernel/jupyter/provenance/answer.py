"""``%jx why`` and ``map``: what was traced in a cell or a function, and what was static."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from IPython.core.error import UsageError

from jxkernel.api.jit import jit_state
from jxkernel.jupyter.provenance.view import map_view
from jxkernel.jupyter.session.expressions import evaluate
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.tables import text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe.marks import FunctionMap, Provenance

__all__ = ["source_map", "why"]

_NOTHING = "nothing was traced yet; call a jitted function, or run a cell under %%jit"


def why(session: Session, words: str) -> View:
    """Return what a name is and why, in the latest trace of a function or a cell that has it.

    Raises:
      UsageError: no name is given, or nothing was traced.
    """
    if not words:
        raise UsageError("%jx why: give a name of a traced function or cell")
    if not session.maps:
        raise UsageError(f"%jx why: {_NOTHING}")
    for label, provenance in reversed(session.maps):
        if provenance.find(words):
            return text_view("", f"{label}: {provenance.why(words)}")
    label, provenance = session.maps[-1]
    return text_view("", f"{label}: {provenance.why(words)}")


def source_map(session: Session, words: str = "") -> View:
    """Return the map of traced and static of a function, or of what was traced last.

    Args:
      session: the session.
      words: an expression for the function; empty for what was traced last.

    Raises:
      UsageError: it is no function, or it was not traced.
    """
    if words:
        return map_view(_map_of(session, words))
    if not session.maps:
        raise UsageError(f"%jx map: {_NOTHING}")
    return map_view(session.maps[-1][1])


def _map_of(session: Session, words: str) -> Provenance:
    code = getattr(_plain_function(evaluate(session, words)), "__code__", None)
    if code is None:
        raise UsageError(f"%jx map: {words} is not a Python function")
    place = (code.co_filename, code.co_firstlineno, code.co_name)
    for _, provenance in reversed(session.maps):
        if any(_place(one) == place for one in provenance.functions):
            return _beginning_with(provenance, place)
    raise UsageError(
        f"%jx map: {words} was not traced yet; call it, jitted or in a jitted function"
    )


def _plain_function(value: Any) -> Any:
    """The function of the user's that a callable wraps: a jitted one, a method, a partial."""
    while True:
        state = jit_state(value)
        if state is not None:
            value = state.fun
        elif isinstance(value, functools.partial):
            value = value.func
        elif inspect.ismethod(value):
            value = value.__func__
        elif inspect.isfunction(value) and hasattr(value, "__wrapped__"):
            value = inspect.unwrap(value)
        elif callable(value) and not inspect.isroutine(value) and not inspect.isclass(value):
            called = type(value).__call__
            return called if inspect.isfunction(called) else None
        else:
            return value


def _place(function: FunctionMap) -> tuple[str, int, str]:
    return function.file, function.first_line, function.name


def _beginning_with(provenance: Provenance, place: tuple[str, int, str]) -> Provenance:
    """The whole map where the trace was of this function; else the function's alone."""
    if _place(provenance.functions[0]) == place:
        return provenance
    return Provenance(tuple(one for one in provenance.functions if _place(one) == place))
