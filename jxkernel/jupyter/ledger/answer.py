"""``%jx ledger``, ``explain`` and ``events``: what was traced and compiled, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from IPython.core.error import UsageError

from jxkernel.jupyter.ledger.listed import is_eager, listed
from jxkernel.jupyter.ledger.view import ledger_view
from jxkernel.jupyter.session.expressions import evaluate
from jxkernel.jupyter.session.places import with_cell_names
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.tables import table_view, text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe import LedgerRow, explain, ledger_totals
from jxkernel.observe.explain import format_duration
from jxkernel.observe.totals import GROUPS

__all__ = ["chosen_rows", "events", "explain_function", "ledger_rows"]


def explain_function(session: Session, words: str) -> View:
    """Return the history of a function, given by an expression or its name.

    Raises:
      UsageError: no function is given.
    """
    if not words:
        raise UsageError("%jx explain: name a function")
    try:
        function = evaluate(session, words)
    except NameError:
        function = words
    if not callable(function) and not isinstance(function, str):
        raise UsageError(f"%jx explain: {words} is not a function")
    text = explain(function, session.recorder)
    return text_view("", text)


def ledger_rows(session: Session, words: str) -> View:
    """Return the recompilation ledger: of one function if one is named, or of ``all``.

    Operations that run by themselves are compiled too, once for each kind of arguments; they are
    counted, and listed only with ``all``. ``by cell``, ``by site`` and ``by function`` add up what
    is listed without it.

    Raises:
      UsageError: the ledger is not kept by that.
    """
    if words.split()[:1] == ["by"]:
        return _totals(session, words.split()[1:])
    rows, eager = chosen_rows(session, words)
    if not rows and words not in ("", "all"):
        return text_view("", explain(words, session.recorder))
    notes = () if words else _outside(eager)
    token = f"{session.token} {words}"
    view = ledger_view(rows, session.recorder.dropped, notes, token=token)
    return replace(view, data=with_cell_names(session, view.data))


def _outside(eager: Sequence[LedgerRow]) -> tuple[str, ...]:
    """What operations outside jit cost: they are in no sum of the ledger but that of ``all``."""
    if not eager:
        return ()
    took = format_duration(sum(row.cost_ns for row in eager))
    what = f"{len(eager)} operation{'' if len(eager) == 1 else 's'} outside jit"
    return (f"and {what}, compiled in {took}: %jx ledger all",)


def chosen_rows(
    session: Session, words: str
) -> tuple[tuple[LedgerRow, ...], tuple[LedgerRow, ...]]:
    """Return the rows of one function, of ``all``, or of functions; and the eager operations."""
    rows = session.ledger(fun=None if words == "all" else words or None)
    eager = tuple(row for row in rows if is_eager(row))
    if not words:
        rows = listed(rows)
    return rows, eager


def _totals(session: Session, words: list[str]) -> View:
    by = words[0] if len(words) == 1 else ""
    if by not in GROUPS:
        raise UsageError(f"%jx ledger by: give one of {', '.join(GROUPS)}")
    chosen, eager = chosen_rows(session, "")
    rows = [
        (
            total.label,
            total.builds,
            total.avoidable,
            total.traces,
            total.compiles,
            total.from_disk,
            format_duration(total.cost_ns),
        )
        for total in ledger_totals(chosen, by)
    ]
    head = (by.capitalize(), "Builds", "Again", "Traces", "Compiles", "From disk", "Cost")
    title = "; ".join([f"Builds by {by}", *_outside(eager)])
    return table_view(title, head, rows, numeric=range(1, 7))


def events(session: Session, words: str) -> View:
    """Return the latest events, 40 unless a number is given."""
    if words and not (words.isdecimal() and int(words)):
        raise UsageError(f"%jx events: {words!r} is not a count: give a whole number from 1 on")
    records = session.recorder.records()[-int(words or 40) :]
    rows = [
        (
            record.cell or "",
            type(record.event).__name__,
            record.fun or "",
            format_duration(record.event.duration_ns) if record.event.duration_ns else "",
            record.event.error or "",
        )
        for record in records
    ]
    return table_view("Events", ("Cell", "Event", "Function", "Took", "Error"), rows, numeric=(3,))
