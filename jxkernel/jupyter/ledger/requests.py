"""What a front end asks of builds: the ledger, one of them whole, functions, one cell."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TypedDict

from jxkernel import observe
from jxkernel.jupyter.feature import MOST_ROWS
from jxkernel.jupyter.ledger.answer import chosen_rows
from jxkernel.jupyter.ledger.listed import is_eager
from jxkernel.jupyter.ledger.payload import LedgerRowPayload
from jxkernel.jupyter.ledger.view import ledger_data, row_data
from jxkernel.jupyter.session.places import identities, with_cell_names
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.view import tidied
from jxkernel.observe import LedgerRow, LedgerTotal, TracedFunction
from jxkernel.observe.explain import format_ledger

__all__ = [
    "ExplainAnswer",
    "FunctionRow",
    "FunctionsAnswer",
    "LedgerAnswer",
    "builds",
    "explain",
    "functions",
    "ledger",
]


class LedgerAnswer(TypedDict):
    """The ledger for the panel: builds of functions, newest first; ``cells`` are ids by label.

    ``token`` is what ``builds`` knows it by.
    """

    rows: list[LedgerRowPayload]
    left_out: int
    dropped: int
    token: str
    outside: LedgerTotal
    by_cell: list[LedgerTotal]
    by_site: list[LedgerTotal]
    by_function: list[LedgerTotal]
    cells: dict[str, str]
    text: str


class FunctionRow(TypedDict):
    """The place as words, and as a path from the kernel's folder where it is a file there."""

    place: str
    path: str


class FunctionsAnswer(TypedDict):
    """The living functions that jit has traced, the costliest first."""

    rows: list[FunctionRow]
    left_out: int
    cells: dict[str, str]
    text: str


class ExplainAnswer(TypedDict):
    """What was built in a cell, and why."""

    title: str
    text: str


def ledger(session: Session) -> dict[str, Any]:
    """Return the builds of functions, and where the time of building went."""
    shown, eager = chosen_rows(session, "")
    newest = shown[: -MOST_ROWS - 1 : -1]
    totals = {
        f"by_{by}": [asdict(one) for one in observe.ledger_totals(shown, by)[:MOST_ROWS]]
        for by in ("cell", "site", "function")
    }
    outside = observe.ledger_totals(eager, "function")
    data = {
        "rows": [row_data(row) for row in newest],
        "left_out": len(shown) - len(newest),
        "dropped": session.recorder.dropped,
        "token": f"{session.token} ",
        "outside": asdict(
            LedgerTotal(
                "operations outside jit",
                builds=len(eager),
                compiles=sum(one.compiles for one in outside),
                cost_ns=sum(one.cost_ns for one in outside),
            )
        ),
        "text": format_ledger(shown[-MOST_ROWS:]),
        "cells": identities(session, (text for row in newest for text in (row.cell, row.site))),
    }
    return tidied(with_cell_names(session, {**data, **totals}))


def builds(session: Session, token: str) -> dict[str, Any]:
    """Return all of a ledger that the recorder holds.

    Raises:
      LookupError: it is another session's.
    """
    owner, _, words = token.partition(" ")
    if owner != session.token:
        raise LookupError("its session has ended: run its cell again")
    rows, _ = chosen_rows(session, words)
    return tidied(with_cell_names(session, ledger_data(rows, session.recorder.dropped, token)))


def functions(session: Session) -> dict[str, Any]:
    """Return the functions that jit has traced, with their places."""
    found = observe.functions(session.ledger())
    rows = [_function(session, one) for one in found[:MOST_ROWS]]
    lines = [f"{one['name']}  {one['kept']} traces  {one['place']}" for one in rows]
    data = {
        "rows": rows,
        "left_out": len(found) - len(rows),
        "cells": identities(session, (one["place"] for one in rows)),
        "text": "\n".join(lines),
    }
    return tidied(data)


def explain(session: Session, cell: str, number: int | None = None) -> dict[str, Any]:
    """Return what was built in a cell, and why.

    Args:
      session: the session that is asked.
      cell: the front end's id of it.
      number: its execution count, for a cell that another front end ran.
    """
    known = session.identities.items()
    labels = [label for label, identity in list(known) if identity == cell]
    labels = labels or [f"In[{number}]"] * (number is not None)
    rows = [row for row in session.ledger() if row.cell in labels]
    title = f"What was built in {labels[-1] if labels else 'this cell'}"
    return tidied({"title": title, "text": "\n\n".join(_told(session, labels, rows))})


def _function(session: Session, one: TracedFunction) -> dict[str, Any]:
    place = f"{one.file}:{one.line}" if one.file else ""
    named = with_cell_names(session, place)
    path = _relative(one.file) if named == place else ""
    latest = with_cell_names(session, one.latest)
    return {**asdict(one), "latest": latest, "place": named, "path": path}


def _told(session: Session, labels: Sequence[str], rows: Sequence[LedgerRow]) -> list[str]:
    if not labels:
        return ["This cell has not been run since jxkernel was loaded."]
    built = list(dict.fromkeys(row.fun for row in rows if not is_eager(row)))
    parts = [with_cell_names(session, observe.explain(name, session.recorder)) for name in built]
    eager = [row for row in rows if is_eager(row)]
    if eager:
        names = ", ".join(dict.fromkeys(row.fun for row in eager))
        parts.append(f"operations outside jit that were compiled: {names}")
    if not parts:
        parts.append("Nothing was traced or compiled in it: its calls, if any, were cache hits.")
    return parts


def _relative(file: str) -> str:
    """The path of a file from the kernel's folder; empty where it is not below that."""
    folder = os.getcwd()
    if not os.path.isabs(file) or not file.startswith(folder + os.sep):
        return ""
    return os.path.relpath(file, folder).replace(os.sep, "/")
