"""The ledger's timeline, drawn: a lane for each function, a bar for each stage of each build.

Stages differ by shape, not by colour alone: tracing is an outlined box, lowering a low bar,
compiling a full one; wide bars bear their letter.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from jxkernel.jupyter.views.html import Html, element, escape
from jxkernel.observe.builds import Bar, BuildTimeline
from jxkernel.observe.explain import format_duration

__all__ = ["timeline_data", "timeline_svg"]

_WIDTH = 600.0
_LABELS = 150.0
_LANE = 22.0
_TOP = 26.0
_LABEL = 21
_BARS = 900
_LETTERS = {"trace": "T", "lower": "L", "compile": "C"}
_SHAPES = {"trace": (3.0, 16.0, "bt"), "lower": (8.0, 6.0, "bl"), "compile": (3.0, 16.0, "bc")}
"""Of each stage the top and the height of its bar within the lane, and its class."""


def timeline_svg(found: BuildTimeline) -> Html:
    """Return the drawing; empty where nothing was built."""
    if not found.bars:
        return Html("")
    height = _TOP + _LANE * len(found.lanes) + 4
    scale = _WIDTH / max(found.seconds, 1e-9)
    parts: list[Html] = list(_axis(found, scale, height))
    for number, lane in enumerate(found.lanes):
        y = _TOP + _LANE * number
        text = lane if len(lane) <= _LABEL else f"{lane[: _LABEL - 1]}…"
        parts.append(_text(text, _LABELS - 8, y + 15, "end", "l"))
    lanes = {lane: number for number, lane in enumerate(found.lanes)}
    for bar in found.bars[-_BARS:]:
        parts += _bar(bar, _TOP + _LANE * lanes[bar.lane], scale)
    width = _LABELS + _WIDTH + 10
    drawing = element(
        "svg",
        *parts,
        role="img",
        aria_label="timeline of builds",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
    )
    legend = "T trace (outlined) · L lower (low) · C compile (filled) · // idle time left out"
    return element("div", element("div", legend, class_="dim"), drawing)


def timeline_data(found: BuildTimeline) -> dict[str, Any]:
    """Return the timeline as data."""
    return asdict(found)


def _axis(found: BuildTimeline, scale: float, height: float) -> Iterator[Html]:
    clock = time.strftime("%H:%M:%S", time.localtime(found.start))
    length = format_duration(sum(bar.seconds for bar in found.bars) * 1e9)
    yield _text(clock, _LABELS, 10, "start", "s")
    yield _text(f"{length} of work", _LABELS + _WIDTH, 10, "end", "s")
    yield element("path", d=f"M{_LABELS:.0f} {_TOP - 4:.0f}h{_WIDTH:.0f}", class_="w")
    last = _LABELS + 60
    for one in found.breaks:
        x = _LABELS + one.at * scale
        cut = f"M{x - 3:.1f} {_TOP:.0f}l2-8m2 8l2-8M{x:.1f} {_TOP:.0f}V{height - 2:.0f}"
        yield element("path", d=cut, class_="w")
        if last + 50 < x < _LABELS + _WIDTH - 110:
            clock = time.strftime("%H:%M:%S", time.localtime(one.when))
            yield _text(clock, x, 10, "middle", "s")
            last = x


def _bar(bar: Bar, y: float, scale: float) -> Iterator[Html]:
    top, height, kind = _SHAPES[bar.stage]
    x, width = _LABELS + bar.start * scale, max(bar.seconds * scale - 0.7, 1.0)
    place = f"{bar.cell}: " if bar.cell else ""
    took = format_duration(bar.seconds * 1e9)
    title = f"{bar.row}. {place}{bar.stage} {bar.fun}, {took}"
    size = {"x": f"{x:.1f}", "y": f"{y + top:.0f}", "width": f"{width:.1f}"}
    box = element("rect", height=f"{height:.0f}", class_=kind, **size)
    parts = [element("title", escape(title, 300)), box]
    if width >= 12 and bar.stage != "lower":
        parts.append(_text(_LETTERS[bar.stage], x + width / 2, y + 15, "middle", f"s {kind}"))
    yield element("g", *parts)


def _text(text: str, x: float, y: float, where: str, kind: str) -> Html:
    place = {"x": f"{x:.0f}", "y": f"{y:.0f}", "text_anchor": where}
    return element("text", escape(text, 120), class_=kind, **place)
