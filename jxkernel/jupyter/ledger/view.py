"""The recompilation ledger as a view: each build, its reason, its cost, and what would avoid it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from jxkernel.jupyter.ledger.builds import timeline_data, timeline_svg
from jxkernel.jupyter.views.html import Html, details, element, escape, page, pre, table
from jxkernel.jupyter.views.view import View
from jxkernel.observe.builds import build_timeline
from jxkernel.observe.explain import LedgerRow, format_duration, format_ledger
from jxkernel.observe.totals import Group, ledger_totals

__all__ = ["ledger_data", "ledger_view", "row_data"]

ROWS = 300
"""How many rows a view holds; the latest ones."""

_SUMS: dict[Group, str] = {"cell": "cell", "site": "call site"}


def ledger_view(
    rows: Sequence[LedgerRow],
    dropped: int = 0,
    notes: Sequence[str] = (),
    *,
    with_timeline: bool = True,
    token: str = "",
) -> View:
    """Return the ledger.

    Args:
      rows: the rows, in order.
      dropped: how many events the recorder had to drop before them.
      notes: lines to add.
      with_timeline: whether to draw the timeline.
      token: what the session knows the whole of it by; empty where it cannot be asked for.
    """
    shown = rows[-ROWS:]
    left_out = len(rows) - len(shown)
    notes = [*notes, *[f"{left_out} earlier rows are not shown"] * bool(left_out)]
    notes += [f"{dropped} earlier events were dropped"] * bool(dropped)
    text = "\n".join([format_ledger(shown), *notes])
    data = ledger_data(rows, dropped, token, ROWS)
    return View("ledger", text, page(_html(shown, notes, with_timeline)), data)


def ledger_data(
    rows: Sequence[LedgerRow], dropped: int, token: str, most: int | None = None
) -> dict[str, Any]:
    """Return the ledger as data: the latest ``most`` rows, or all."""
    shown = rows[-most:] if most else rows
    return {
        "rows": [row_data(row) for row in shown],
        "left_out": len(rows) - len(shown),
        "dropped": dropped,
        "timeline": timeline_data(build_timeline(rows[-ROWS:])),
        "token": token,
    }


def _html(rows: Sequence[LedgerRow], notes: Sequence[str], with_timeline: bool) -> Html:
    if not rows:
        return element("div", "\n".join([format_ledger(rows), *notes]), class_="dim")
    most = max(row.cost_ns for row in rows) or 1
    head = ("", "Time", "Cell", "Function", "Trace", "Lower", "Compile", "Disk", "Cost", "Why")
    body = [
        (
            row.number,
            time.strftime("%H:%M:%S", time.localtime(row.when)),
            row.cell or "",
            element("code", escape(row.fun, 80)),
            *(_duration(one) for one in (row.trace_ns, row.lower_ns, row.compile_ns)),
            row.disk,
            _bar(row.cost_ns / most),
            _why(row),
        )
        for row in rows
    ]
    lines = [element("div", note, class_="dim") for note in notes]
    sums = [details(f"By {name}", _totals(rows, by, name)) for by, name in _SUMS.items()]
    body_table = table(head, body, numeric=(0, 4, 5, 6))
    drawing = timeline_svg(build_timeline(rows))
    drawn = [details("Timeline", drawing, is_open=True)] * bool(drawing and with_timeline)
    return details(_heading(rows), *drawn, body_table, *lines, *sums, is_open=True)


def _heading(rows: Sequence[LedgerRow]) -> str:
    """The sum of the rows, as the lab extension writes it."""
    count, again = len(rows), sum(row.is_avoidable() for row in rows)
    parts = [f"{count:,} build{'' if count == 1 else 's'}"]
    parts += [
        format_duration(sum(row.cost_ns for row in rows)),
        *[f"{again:,} again"] * bool(again),
    ]
    return " · ".join(parts)


def _totals(rows: Sequence[LedgerRow], by: Group, name: str) -> Html:
    body = [
        (total.label, total.builds, total.avoidable, format_duration(total.cost_ns))
        for total in ledger_totals(rows, by)
    ]
    return table((name.capitalize(), "Builds", "Again", "Cost"), body, numeric=(1, 2, 3))


def _duration(time_ns: int) -> str:
    return format_duration(time_ns) if time_ns else ""


def _bar(part: float) -> Html:
    return element("span", class_="bar", style=f"width:{max(part, 0.01) * 6:.2f}em")


def _why(row: LedgerRow) -> Html:
    lines = [_failed(row) if row.error else element("div", escape(row.sentence(), 400))]
    if row.fix:
        lines.append(element("div", "fix: ", escape(row.fix, 200), class_="dim"))
    lines += [element("div", escape(note, 300), class_="dim") for note in row.notes()]
    for warning in row.warnings():
        lines.append(element("div", "warning: ", escape(warning, 300), class_="warn"))
    return element("div", *lines, class_="why")


def _failed(row: LedgerRow) -> Html:
    """Why it failed, in a line; where, and what to write instead, folded under it."""
    line = escape(f"✗ failed: {row.failure}", 400)
    return details(line, pre(row.error)) if row.error != row.failure else element("div", line)


def row_data(row: LedgerRow) -> dict[str, Any]:
    """Return a row as data, with what it comes to."""
    why = f"✗ failed: {row.failure}" if row.error else row.sentence()
    return {
        **asdict(row),
        "why": "; ".join((why, *row.notes())),
        "fix": row.fix,
        "cost_ns": row.cost_ns,
    }
