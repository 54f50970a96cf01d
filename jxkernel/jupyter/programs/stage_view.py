"""A program at four stages side by side: source, jaxpr, StableHLO and optimized HLO.

Pointing at a line lights up what became of it at every stage; the letters beside a source line
lead to its first equation (J), its first StableHLO operation (S) and its first HLO instruction
(H), and the number beside those leads back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from jxkernel._reprs import counted
from jxkernel.jupyter.code.magics import as_typed
from jxkernel.jupyter.programs.view import outline_data
from jxkernel.jupyter.views.html import (
    Html,
    anchor,
    details,
    element,
    escape,
    join,
    line_class,
    linking_style,
    page,
    row,
)
from jxkernel.jupyter.views.view import View
from jxkernel.observe.programs import SourceLine
from jxkernel.observe.stages import StageLine, Stages

__all__ = ["stages_data", "stages_html", "stages_view"]

_GUTTER = 5


def stages_view(found: Stages, title: str) -> View:
    """Return a program at four stages."""
    body = details(f"Stages of {title}", stages_html(found), is_open=True)
    style = linking_style(line_class(one.file, one.line) for one in found.program.source)
    return View("stages", str(found), page(body, style=style), stages_data(found))


def stages_html(found: Stages) -> Html:
    """Return the four columns."""
    program = found.program
    jaxpr = [
        StageLine(f"{'  ' * depth}{one.text}", one.file, one.line) for depth, one in program.walk()
    ]
    columns = {
        "J": ("jaxpr", jaxpr),
        "S": ("StableHLO", found.stablehlo),
        "H": ("Optimized HLO", found.optimized),
    }
    shown = {(one.file, one.line) for one in program.source}
    parts = [_column("Source", _source_rows(program.source, columns))]
    for letter, (title, lines) in columns.items():
        rows = [_row(letter, number, one, shown) for number, one in enumerate(lines)]
        parts.append(_column(title, rows))
    legend = (
        "J, S and H lead to the first equation, StableHLO operation and HLO instruction of a line; "
        "a number leads back"
    )
    more = f"… {counted(found.left_out, 'more line')}" if found.left_out else ""
    notes = [element("div", text, class_="dim") for text in (legend, more) if text]
    return element("div", *notes[:1], element("div", *parts, class_="cols"), *notes[1:])


def stages_data(found: Stages) -> dict[str, Any]:
    """Return the stages as data."""
    return {
        "jaxpr": outline_data(found.program),
        "stablehlo": [asdict(one) for one in found.stablehlo],
        "optimized": [asdict(one) for one in found.optimized],
        "left_out": found.left_out,
    }


def _column(title: str, rows: Iterable[Html]) -> Html:
    head = element("b", title)
    return element("div", head, element("div", *rows, tabindex="0"), role="group", aria_label=title)


def _source_rows(
    lines: Sequence[SourceLine], columns: dict[str, tuple[str, Sequence[StageLine]]]
) -> list[Html]:
    firsts = {letter: _firsts(column) for letter, (_, column) in columns.items()}
    rows = []
    for one in lines:
        of_line = line_class(one.file, one.line)
        place = (one.file, one.line)
        links = join(_first_link(letter, firsts[letter].get(place)) for letter in columns)
        text = escape(f"{one.line:{_GUTTER}} {as_typed(one.text)}", 300)
        name = anchor(f"t{of_line}")
        rows.append(row(links, text, class_=of_line, id=name))
    return rows


def _firsts(lines: Sequence[StageLine]) -> dict[tuple[str, int], int]:
    found: dict[tuple[str, int], int] = {}
    for number, one in enumerate(lines):
        found.setdefault((one.file, one.line), number)
    return found


def _first_link(letter: str, number: int | None) -> Html:
    if number is None:
        return Html("\u00a0")
    return element("a", letter, href=Html(f"#{anchor(f't{letter}{number}')}"))


def _row(letter: str, number: int, one: StageLine, shown: set[tuple[str, int]]) -> Html:
    gutter: object = "\u00a0" * _GUTTER
    row_class, name = "", ""
    if (one.file, one.line) in shown:
        of_line = line_class(one.file, one.line)
        row_class = of_line
        link = element("a", str(one.line), href=Html(f"#{anchor(f't{of_line}')}"))
        gutter = join(["\u00a0" * (_GUTTER - len(str(one.line))), link])
        name = anchor(f"t{letter}{number}")
    text = escape(one.text, 300)
    return row(gutter, " ", text, class_=row_class, id=name)
