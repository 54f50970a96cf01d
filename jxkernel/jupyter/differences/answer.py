"""``%jx diff``: two programs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from IPython.core.error import UsageError

from jxkernel.api.jit import TraceEntry, jit_state
from jxkernel.jupyter.cells.cell import Cell
from jxkernel.jupyter.differences.view import diff_view
from jxkernel.jupyter.session.expressions import evaluate, outlined, pair_of
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.view import View
from jxkernel.observe import diff, outline

__all__ = ["difference", "trace_title"]


def difference(session: Session, words: str) -> View:
    """Return what differs between two programs.

    ``f(x), f(y)`` traces both; the name of a jitted function or of a cell, ``cell_3``, means its
    latest two traces, and nothing those of the cell traced last.

    Raises:
      UsageError: there are not two traces.
    """
    if not words:
        twice = [cell for cell in session.cells.values() if len(_traces(cell)) > 1]
        if not twice:
            raise UsageError("%jx diff: no cell was traced twice; give f(x), f(y)")
        return _latest(twice[-1].name, _traces(twice[-1]))
    for cell in session.cells.values():
        if cell.name == words:
            return _latest(words, _traces(cell))
    if words.isidentifier():
        state = jit_state(evaluate(session, words))
        if state is None:
            raise UsageError(
                f"%jx diff: {words} is no jitted function; give {words}(x), {words}(y)"
            )
        return _latest(words, list(state.traces.values()))
    before, after = pair_of(words, "%jx diff")
    return diff_view(
        diff(outlined(session, before, "%jx diff"), outlined(session, after, "%jx diff"))
    )


def _traces(cell: Cell) -> list[TraceEntry]:
    return [entry for version in cell.versions.values() for entry in version.entries()]


def _latest(name: str, entries: Sequence[TraceEntry]) -> View:
    if len(entries) < 2:
        count = "never" if not entries else "once"
        raise UsageError(f"%jx diff: {name} was traced {count}: there is nothing to compare")
    before, after = entries[-2:]
    return diff_view(diff(_titled(name, before), _titled(name, after)))


def _titled(name: str, entry: TraceEntry) -> Any:
    return outline(entry.closed, title=trace_title(name, entry))


def trace_title(name: str, entry: TraceEntry) -> str:
    """Return a function's name with the types of a trace's arguments."""
    types = ", ".join(aval.short(weak=True) for aval in entry.avals[:6])
    more = ", …" if len(entry.avals) > 6 else ""
    return f"{name}({types}{more})"
