"""Two traces side by side: what is the same, changed, gone and new, by sign and colour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from jxkernel._reprs import counted
from jxkernel.jupyter.views.html import Html, details, element, escape, heading, page
from jxkernel.jupyter.views.view import View
from jxkernel.observe.differences import DiffRow, ProgramDiff, folded

__all__ = ["diff_view"]

_ROWS = 400
_WORDS = {"=": "the same", "~": "changed", "-": "only before", "+": "only after"}
_CLASSES = {"=": "m", "~": "m hot", "-": "m gone", "+": "m new"}


def diff_view(found: ProgramDiff) -> View:
    """Return two programs side by side, runs of equal equations folded."""
    rows = list(folded(found.rows))
    shown = rows[:_ROWS]
    left = len(rows) - len(shown)
    body = [element("tr", *map(_head, ("", found.before, found.after, "line")))]
    body += _body(shown)
    notes = [element("div", f"… {counted(left, 'more row')}", class_="dim")] * bool(left)
    more = f"… {found.left_out:,} more equations were not compared"
    notes += [element("div", more, class_="dim")] * bool(found.left_out)
    legend = element("div", "~ changed · − only before · + only after", class_="dim")
    title = f"{found.before} → {found.after} · {found.summary()}"
    html = page(details(escape(title, 300), legend, element("table", *body), *notes, is_open=True))
    data = {
        "before": found.before,
        "after": found.after,
        "summary": found.summary(),
        "left_out": found.left_out,
        "rows": [{"same": row} if isinstance(row, int) else asdict(row) for row in shown],
    }
    return View("diff", str(found), html, data)


def _head(text: str) -> Html:
    return heading(escape(text, 120))


def _body(rows: list[DiffRow | int]) -> Iterator[Html]:
    for row in rows:
        if isinstance(row, int):
            same = f"… {row} the same"
            yield element("tr", element("td"), element("td", same, class_="dim"), element("td"))
            continue
        sign = element("b", "−" if row.sign == "-" else row.sign, title=_WORDS[row.sign])
        indent = "\u00a0" * 2 * row.depth
        yield element(
            "tr",
            element("td", "" if row.sign == "=" else sign),
            element("td", indent if row.before else "", escape(row.before, 300)),
            element("td", indent if row.after else "", escape(row.after, 300)),
            element("td", row.line or "", class_="n dim"),
            class_=_CLASSES[row.sign],
        )
