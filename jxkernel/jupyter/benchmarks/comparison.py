"""Benchmarks side by side: a table of functions and arguments, with bars."""

from __future__ import annotations

from jxkernel.jupyter.views.html import Html, details, element, escape, page, table
from jxkernel.jupyter.views.view import View
from jxkernel.observe.comparisons import FIGURES, Comparison, Measured

__all__ = ["comparison_view"]

_BAR_WIDTH = 9.0
_NOTES = {
    "latency": "until the result exists",
    "pipelined": "one call of many in a row; the last is waited for",
    "dispatch": "until the call returns",
    "first call": "tracing, lowering and compiling, once",
}


def comparison_view(found: Comparison, figure: str = "latency", note: str = "") -> View:
    """Return the view of a comparison.

    Args:
      found: what was measured.
      figure: which of ``FIGURES`` the bars show.
      note: a line to add, such as how far it has come.
    """
    count = len(found.rows)
    title = f"{count} measurement{'' if count == 1 else 's'}{note and ' · '}{note}"
    text = f"{title}\n{found.table()}" if found.rows else title
    html = page(
        details(
            title,
            *([_table(found, figure)] if found.rows else []),
            is_open=True,
        )
    )
    return View("comparison", text, html, {"rows": found.to_dict(), "figure": figure})


def _table(found: Comparison, figure: str) -> Html:
    longest = {
        label: max(row.seconds(figure) or 0.0 for row in found.rows if row.label == label) or 1.0
        for label in found.labels
    }
    head = ("Function", "Arguments", *FIGURES, figure, "")
    body = [
        (
            element("code", escape(row.name, 80)),
            escape(row.label, 80),
            *(row.text(one) for one in FIGURES),
            _bar((row.seconds(figure) or 0.0) / longest[row.label]),
            _remark(found, row, figure),
        )
        for row in found.rows
    ]
    written = table(head, body, numeric=range(2, 2 + len(FIGURES)))
    notes = " · ".join(f"{name}: {note}" for name, note in _NOTES.items())
    return element("div", written, element("div", notes, class_="dim"))


def _bar(part: float) -> Html:
    if not part:
        return Html("")
    return element("span", class_="bar", style=f"width:{max(part, 0.01) * _BAR_WIDTH:.2f}em")


def _remark(found: Comparison, row: Measured, figure: str) -> Html:
    if row.error:
        return element("div", "failed: ", escape(row.error, 300), class_="warn")
    told = []
    factor = found.factor(row, figure)
    if factor is not None and len(found.names) > 1:
        told.append("the best" if factor == 1.0 else f"{factor:.3g} × the best")
    if row.benchmark is not None and row.benchmark.efficiency is not None:
        part = row.benchmark.efficiency
        share = f"{part:.0%}" if part >= 0.01 else "under 1%"
        told.append(f"{share} of what the device can do")
    return escape(" · ".join(told))
