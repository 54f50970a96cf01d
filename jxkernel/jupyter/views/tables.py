"""Plain views: tables and texts, for the subcommands that show lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jxkernel.jupyter.views.html import Html, details, element, escape, join, page, pre, table
from jxkernel.jupyter.views.view import View

__all__ = ["stacked_view", "table_view", "text_view"]

ROWS = 500


def table_view(
    title: str, head: Sequence[str], rows: Sequence[Sequence[object]], numeric: Sequence[int] = ()
) -> View:
    """Return a table; of a long one the beginning.

    Args:
      title: the heading.
      head: the names of the columns.
      rows: the cells.
      numeric: columns that are set to the right.
    """
    written = [[str(cell) for cell in row] for row in rows[:ROWS]]
    widths = [max(len(row[column]) for row in [head, *written]) for column in range(len(head))]
    lines = [title]
    for row in [list(head), *written]:
        cells = [
            cell.rjust(width) if column in numeric else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    if len(rows) > ROWS:
        lines.append(f"… {len(rows) - ROWS:,} more")
    body = [[escape(cell, 300) for cell in row] for row in written]
    html = page(details(title, table(head, body, numeric), is_open=len(rows) <= 30))
    data = {"title": title, "head": list(head), "rows": written, "count": len(rows)}
    return View("table", "\n".join(lines), html, data)


def stacked_view(kind: str, parts: Mapping[str, View]) -> View:
    """Return views one below the other; the data of each is found under its name."""
    text = "\n\n".join(part.text for part in parts.values())
    html = page(join([element("div", Html(part.html)) for part in parts.values()]))
    return View(kind, text, html, {name: dict(part.data) for name, part in parts.items()})


def text_view(title: str, text: str) -> View:
    """Return a text under a heading that folds it."""
    html = page(details(title, pre(text), is_open=True) if title else pre(text))
    return View("text", f"{title}\n{text}" if title else text, html, {"title": title})
