"""`%jx diff`: two programs side by side.

Purpose: find the two traces that are meant.

Place in the pipeline: between `magics.jx` and `observe.diff`, over `expressions`.

Must not know: how a line is split into subcommands, or how views are drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from IPython.core.error import UsageError

from jxkernel.api.jit import TraceEntry, jit_state, traced_functions
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.jupyter.session.expressions import evaluate, outlined, pair_of
from jxkernel.jupyter.cells.cell import Cell
from jxkernel.jupyter.differences.view import diff_view
from jxkernel.jupyter.views.view import View
from jxkernel.jupyter.session.session import Session
from jxkernel.observe import diff, outline
from jxkernel.observe.explain import function_label
from jxkernel.observe.kept import kept_program

__all__ = ["comparable", "compared", "difference"]

_MOST = 200


def difference(session: Session, words: str) -> View:
    """Returns what differs between two programs.

    `f(x), f(y)` traces both; the name of a jitted function or of a cell, `cell_3`, means its latest
    two traces, and nothing those of the cell traced last.

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


def comparable(token: str) -> list[str]:
    """Returns the titles of programs that one can be compared with: traces that jit keeps.

    Those of the same function come first.

    Args:
      token: that of the program's outline.

    Raises:
      LookupError: the program is gone.
    """
    _, own = kept_program(token)
    titles: list[str] = []
    for traces in _traces_by_function():
        others = [title for title, closed in traces if closed is not own]
        titles = [*others, *titles] if len(others) < len(traces) else [*titles, *others]
    return titles[:_MOST]


def compared(token: str, other: str) -> View:
    """Returns what differs between a program and another one.

    Args:
      token: that of the program's outline.
      other: the title of the other one, of those that are comparable.

    Raises:
      LookupError: one of them is gone.
    """
    title, own = kept_program(token)
    every = [one for traces in _traces_by_function() for one in traces]
    found = next((closed for name, closed in every if name == other and closed is not own), None)
    if found is None:
        raise LookupError(f"{other} is no longer in the kernel")
    title = next((name for name, closed in every if closed is own), title)
    return diff_view(diff(outline(own, title=title), outline(found, title=other)))


def _traces_by_function() -> Iterator[list[tuple[str, ClosedJaxpr]]]:
    """For each living jitted function its traces, each with a title of its own."""
    met = Counter[str]()
    for function, traces in traced_functions():
        name = function_label(function)
        yield [(_numbered(_title(name, one), met), one.closed) for one in list(traces.values())]


def _numbered(title: str, met: Counter[str]) -> str:
    met[title] += 1
    return title if met[title] == 1 else f"{title} #{met[title]}"


def _traces(cell: Cell) -> list[TraceEntry]:
    return [entry for version in cell.versions.values() for entry in version.entries()]


def _latest(name: str, entries: Sequence[TraceEntry]) -> View:
    if len(entries) < 2:
        count = "never" if not entries else "once"
        raise UsageError(f"%jx diff: {name} was traced {count}: there is nothing to compare")
    before, after = entries[-2:]
    return diff_view(diff(_titled(name, before), _titled(name, after)))


def _titled(name: str, entry: TraceEntry) -> Any:
    return outline(entry.closed, title=_title(name, entry))


def _title(name: str, entry: TraceEntry) -> str:
    types = ", ".join(aval.short(weak=True) for aval in entry.avals[:6])
    more = ", …" if len(entry.avals) > 6 else ""
    return f"{name}({types}{more})"
