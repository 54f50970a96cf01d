"""The timeline view: a drawing for each cell, and the time of each operation and source line.

A cell has a drawing of its own, with its own scale: between cells a person thinks, and a drawing of
all would show that.  Pointing at a line of source lights up the operations that compute it, and the
reverse, by CSS; a title on each stretch says what it is.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from typing import Any

from jxkernel._reprs import counted
from jxkernel.jupyter.views.html import Html, details, element, escape, join, page, table
from jxkernel.jupyter.views.lanes import STYLE, drawing, hue
from jxkernel.jupyter.views.view import View
from jxkernel.observe import Lane, Timeline, Total, Window
from jxkernel.observe.explain import format_duration

__all__ = ["timeline_view"]

_WINDOWS = 12
_DRAWN = (500, 150, 30)
_SIZE = 200_000
_NAME = 80
_LINES = 20
_OPERATIONS = 40
_DATA = 1_500


def timeline_view(timeline: Timeline, label: Callable[[str], str] = str) -> View:
    """Return the view of a timeline.

    Args:
      timeline: the timeline.
      label: what a source line, ``file:line``, is called.
    """
    lines = timeline.by_line()[:_LINES]
    numbers = {one.name: number for number, one in enumerate(lines) if one.name}
    heading = (
        f"{format_duration(timeline.duration_ns)} recorded, "
        f"{format_duration(timeline.device_ns)} of operations on devices"
    )
    html = page(
        element("div", element("b", heading)),
        _drawings(timeline, numbers, label),
        _lines_html(lines, numbers, label),
        _operations_html(timeline.by_operation(), label),
        _notes_html(timeline),
        style=STYLE + "".join(_linking(number) for number in numbers.values()),
    )
    return View("timeline", _text(timeline, label), html, _data(timeline, label))


def _linking(number: int) -> str:
    return (
        f"%s:has(.v{number}:hover) .v{number}"
        "{fill-opacity:.95;stroke-opacity:1;background:color-mix(in srgb,#eda100 30%,transparent)}"
    )


def _drawings(timeline: Timeline, numbers: dict[str, int], label: Callable[[str], str]) -> Html:
    """A drawing for each of the first cells, with fewer stretches where the names are long."""
    cells = zip(timeline.windows, timeline.by_window(), strict=True)
    busy = [(one, lanes) for one, lanes in cells if lanes]
    shown = busy[:_WINDOWS]
    html = join([])
    for most in _DRAWN:
        count = most // max(len(shown), 1)
        html = join([_window_html(one, lanes, numbers, label, count) for one, lanes in shown])
        if len(html) <= _SIZE:
            break
    more = f"… {counted(len(busy) - _WINDOWS, 'more cell')}" if len(busy) > _WINDOWS else ""
    return join([html, element("div", more, class_="dim")])


def _window_html(
    window: Window,
    lanes: Sequence[Lane],
    numbers: dict[str, int],
    label: Callable[[str], str],
    most: int,
) -> Html:
    slices = [one for lane in lanes for one in lane.slices]
    start = min(one.start_ns for one in slices)
    end = max(one.end_ns for one in slices)
    device_ns = sum(one.self_ns for lane in lanes if lane.kind == "device" for one in lane.slices)
    took, on_devices = format_duration(end - start), format_duration(device_ns)
    title = f"{window.name[:_NAME]} · {took} · {on_devices} on devices"
    return drawing(title, lanes, numbers, label, most)


def _lines_html(
    lines: Sequence[Total], numbers: dict[str, int], label: Callable[[str], str]
) -> Html:
    rows = [
        (
            escape(label(one.name), 160) if one.name else "no line known",
            element("code", escape(_code(one.name), 120), class_=f"v{numbers.get(one.name, '')}"),
            format_duration(one.total_ns),
            f"{one.share:.1%}",
            _bar(one.share),
            one.count,
        )
        for one in lines
    ]
    head = ("Line", "Source", "Time", "", "", "Times")
    return details("By source line", table(head, rows, numeric=(2, 3, 5)), is_open=True)


def _operations_html(operations: Sequence[Total], label: Callable[[str], str]) -> Html:
    rows = [
        (
            element("code", escape(f"{one.program}/{one.name}", 80)),
            element("code", escape(one.origin, 80)),
            escape(", ".join(label(spot) for spot in one.spots[:3]), 160),
            format_duration(one.total_ns),
            f"{one.share:.1%}",
            one.count,
        )
        for one in operations[:_OPERATIONS]
    ]
    more = len(operations) - _OPERATIONS
    note = element("div", f"… {more:,} more" if more > 0 else "", class_="dim")
    head = ("Operation of XLA", "In the program", "Source", "Time", "", "Times")
    return details("By operation", table(head, rows, numeric=(3, 4, 5)), note)


def _bar(share: float) -> Html:
    return element("span", class_="bar", style=f"width:{max(share, 0) * 120:.0f}px")


def _notes_html(timeline: Timeline) -> Html:
    notes = [f"{timeline.dropped:,} events left out"] if timeline.dropped else []
    notes += [f"written: {file}" for file in timeline.files]
    return element("div", *[element("div", escape(note, 400)) for note in notes], class_="dim")


def _code(spot: str) -> str:
    file, _, line = spot.rpartition(":")
    try:
        return linecache.getline(file, int(line)).strip()
    except ValueError:  # no line is known, or no file can have such a name
        return ""


def _text(timeline: Timeline, label: Callable[[str], str]) -> str:
    lines = [str(timeline)]
    shown = [one for one in timeline.by_line()[:_LINES] if one.name]
    if shown:
        lines.append("by source line:")
    for one in shown:
        time = f"{format_duration(one.total_ns):>8} {one.share:6.1%}"
        lines.append(f"  {time}  {label(one.name)}: {_code(one.name)[:100]}")
    return "\n".join(lines)


def _data(timeline: Timeline, label: Callable[[str], str]) -> dict[str, Any]:
    left = _DATA
    lanes = []
    for lane in timeline.lanes:
        longest = sorted(lane.slices, key=lambda one: -one.duration_ns)[:left]
        left -= len(longest)
        lanes.append(
            {
                "name": lane.name,
                "kind": lane.kind,
                "count": len(lane.slices),
                "slices": [
                    {
                        "name": one.name,
                        "hue": hue(one, lane.kind),
                        "start_ns": one.start_ns,
                        "duration_ns": one.duration_ns,
                        "program": one.program,
                        "origin": one.origin,
                        "spots": [label(spot) for spot in one.spots],
                    }
                    for one in sorted(longest, key=lambda one: one.start_ns)
                ],
            }
        )
    return {
        "duration_ns": timeline.duration_ns,
        "device_ns": timeline.device_ns,
        "cells": [{"name": one.name, "device_ns": one.total_ns} for one in timeline.by_cell()],
        "lanes": lanes,
        "lines": [
            {
                "line": label(one.name),
                "source": _code(one.name),
                "total_ns": one.total_ns,
                "share": one.share,
            }
            for one in timeline.by_line()[:_LINES]
        ],
        "files": list(timeline.files),
    }
