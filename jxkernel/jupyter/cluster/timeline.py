"""``%jx cluster timeline``: all ranks of a cell on one time axis, and who waited for which line."""

from __future__ import annotations

from collections.abc import Sequence

from jxkernel.jupyter.cluster.folding import ranks_named
from jxkernel.jupyter.cluster.meetings import Cell, Meeting
from jxkernel.jupyter.views.html import Html, element, page
from jxkernel.jupyter.views.lanes import STYLE, drawing
from jxkernel.jupyter.views.tables import stacked_view, table_view, text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe import Lane, Slice
from jxkernel.observe.explain import format_duration

__all__ = ["meetings_view"]

_COLUMNS = 64
_MEETINGS = 20
_HEAD = ("Call", "Program", "Last", "Longest wait", "Called at", "Seen before at")


def meetings_view(cells: Sequence[Cell]) -> View:
    """Return the view of some cells: a lane for each rank, and the longest waits."""
    if len(cells) == 1:
        return _cell_view(cells[0])
    return stacked_view("text", {f"cell {one.count}": _cell_view(one) for one in cells})


def _cell_view(cell: Cell) -> View:
    longest = sorted(cell.meetings, key=lambda one: -one.waited_ns)[:_MEETINGS]
    title = _title(cell, len(longest))
    rows = [_row(one) for one in longest]
    table = table_view(title, _HEAD, rows, (0, 3)) if rows else text_view("", title)
    notes = _notes(cell)
    text = "\n".join([*_lanes_text(cell), table.text, *notes])
    html = page(
        drawing(_heading(cell), _lanes(cell), {}),
        Html(table.html),
        element("div", *[element("div", note) for note in notes], class_="dim"),
        style=STYLE,
    )
    # Not a table to the lab extension, which would draw that and no lanes.
    return View("text", text, html, table.data)


def _heading(cell: Cell) -> str:
    start, end = _span(cell)
    return f"cell {cell.count} on {ranks_named(cell.ways)}: {format_duration(end - start)}"


def _span(cell: Cell) -> tuple[float, float]:
    ways = cell.ways.values()
    return min(way.began_ns for way in ways), max(way.ended_ns for way in ways)


def _title(cell: Cell, shown: int) -> str:
    if not cell.meetings:
        return "No program with communication was called by all ranks alike"
    blamed = {one.last: 0.0 for one in cell.meetings}
    for one in cell.meetings:
        blamed[one.last] += one.waited_ns
    waits = ", ".join(
        f"{format_duration(waited)} for rank {rank}"
        for rank, waited in sorted(blamed.items(), key=lambda item: -item[1])
    )
    return f"waited: {waits}; the longest {shown} of {len(cell.meetings)} programs"


def _row(one: Meeting) -> tuple[object, ...]:
    return (
        one.number,
        one.name,
        f"rank {one.last}",
        format_duration(one.waited_ns),
        _line(one.places[one.last]),
        _line(one.late_at),
    )


def _line(spot: tuple[str, str]) -> str:
    place, code = spot
    return f"{place}: {code[:80]}" if code else place


def _notes(cell: Cell) -> list[str]:
    notes = [
        f"The clocks of ranks are compared by round trips, to ± {format_duration(cell.error_ns)}: "
        "shorter waits mean nothing.",
        "A rank arrives when it calls a program, though its devices may still compute.",
    ]
    if cell.hidden:
        notes.append(
            f"Calls not shown, for they are too many or not alike on all ranks: {cell.hidden:,}."
        )
    if cell.silent:
        notes.append(f"Nothing is known of {ranks_named(cell.silent)} in this cell.")
    return notes


def _lanes_text(cell: Cell) -> list[str]:
    """Draw a line for each rank: ``=`` is its own time, ``.`` waiting, ``|`` a call."""
    start, end = _span(cell)
    scale = (_COLUMNS - 1) / max(end - start, 1.0)
    lines = [f"{_heading(cell)} (= in the cell, . waiting for others, | calling)"]
    width = len(str(max(cell.ways)))
    for rank, way in cell.ways.items():
        drawn = [" "] * _COLUMNS

        def fill(letter: str, since: float, until: float, drawn: list[str] = drawn) -> None:
            first, last = (int((moment - start) * scale) for moment in (since, until))
            for column in range(max(first, 0), min(last + 1, _COLUMNS)):
                drawn[column] = letter

        fill("=", way.began_ns, way.ended_ns)
        for one in cell.meetings:
            if one.waits[rank] * scale >= 1:
                fill(".", one.began_ns - one.waits[rank], min(one.began_ns, end))
        for moment in way.calls:
            fill("|", moment, moment)
        lines.append(f"  rank {rank:{width}} {''.join(drawn).rstrip()}")
    return lines


def _lanes(cell: Cell) -> list[Lane]:
    return [Lane(f"rank {rank}", "rank", tuple(_slices(cell, rank))) for rank in cell.ways]


def _slices(cell: Cell, rank: int) -> list[Slice]:
    """What a rank did before each program, and its waits."""
    way = cell.ways[rank]
    slices = []
    since = way.began_ns
    for one in cell.meetings:
        came = one.came_ns[rank]
        name = f"before call {one.number}, {one.name}"
        slices.append(Slice(name, since, came - since, spots=(_line(one.places[rank]),)))
        if one.waits[rank] > 0:
            waits = f"waits for rank {one.last} at {one.places[one.last][0]}"
            slices.append(Slice(waits, one.began_ns - one.waits[rank], one.waits[rank]))
        since = max(came, one.began_ns)
    slices.append(Slice("to the end", since, max(way.ended_ns - since, 0.0)))
    return slices
