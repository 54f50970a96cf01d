"""Lanes of stretches drawn on one time axis."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from jxkernel.jupyter.views.html import Html, details, element, escape, join
from jxkernel.observe import Lane, Slice
from jxkernel.observe.explain import format_duration

__all__ = ["STYLE", "drawing", "hue"]

_WIDTH = 1000
_LEFT = 120
_ROW = 20
_ROWS = 6
_LETTER = 6.6
_HUES = {"trace": 211, "lower": 265, "compile": 38, "transfer": 160}

STYLE = (
    "%s svg{display:block;width:100%;min-width:520px;height:auto}"
    "%s svg text{font:11px system-ui,sans-serif;fill:currentColor}"
    "%s svg .t{pointer-events:none}"
    "%s svg rect.s{fill-opacity:.42;stroke:currentColor;stroke-opacity:.35;stroke-width:.6}"
    "%s svg line{stroke:currentColor;stroke-opacity:.18}"
)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A stretch with its place in a drawing."""

    slice: Slice
    row: int
    x: float
    width: float


def drawing(
    title: str,
    lanes: Sequence[Lane],
    numbers: dict[str, int],
    label: Callable[[str], str] = str,
    most: int = 30,
) -> Html:
    """Return lanes drawn on one time axis, folded under a title.

    Args:
      title: the heading.
      lanes: the lanes, with a slice at least.
      numbers: the number of each source line that lights up.
      label: what a source line is called.
      most: how many stretches of a lane are drawn, the longest.
    """
    slices = [one for lane in lanes for one in lane.slices]
    start = min(one.start_ns for one in slices)
    end = max(one.end_ns for one in slices)
    scale = (_WIDTH - _LEFT - 10) / max(end - start, 1.0)
    parts: list[object] = []
    y = _ROW
    hidden = 0
    for lane in lanes:
        drawn, missing = _placed(lane.slices, start, scale, most)
        hidden += missing
        rows = max((one.row for one in drawn), default=0) + 1
        parts.append(_text_at(0, y + 13, _cut(lane.name, _LEFT - 8)))
        parts += [_stretch(one, lane.kind, y, numbers, label) for one in drawn]
        y += rows * _ROW + 6
    svg = element(
        "svg",
        *_axis(end - start, y),
        *parts,
        viewBox=f"0 0 {_WIDTH} {y}",
        role="img",
        aria_label=f"timeline of {title}",
    )
    note = f"{hidden:,} stretches too short to draw" if hidden else ""
    return details(title, svg, element("div", note, class_="dim"), is_open=True)


def _axis(duration: float, height: float) -> Iterable[Html]:
    for part in range(5):
        x = _LEFT + (_WIDTH - _LEFT - 10) * part / 4
        attributes = {"x1": f"{x:.1f}", "x2": f"{x:.1f}", "y1": "14", "y2": f"{height:.0f}"}
        yield element("line", **attributes)
        anchor = "end" if part == 4 else "middle" if part else "start"
        told = format_duration(duration * part / 4) if part else "0"
        yield _text_at(x, 11, told, text_anchor=anchor)


def _text_at(x: float, y: float, text: str, **attributes: str) -> Html:
    return element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", **attributes)


def _placed(
    slices: Sequence[Slice], start: float, scale: float, most: int
) -> tuple[list[_Drawn], int]:
    """Set stretches in rows so that none covers another; leaves out what cannot be seen."""
    chosen = sorted(slices, key=lambda one: -one.duration_ns)[:most]
    ends = [float("-inf")] * _ROWS
    drawn = []
    for one in sorted(chosen, key=lambda one: (one.start_ns, -one.duration_ns)):
        row = next((number for number, end in enumerate(ends) if end <= one.start_ns + 1e-6), None)
        x, width = _LEFT + (one.start_ns - start) * scale, one.duration_ns * scale
        if row is None or width < 0.3:
            continue
        ends[row] = one.end_ns
        drawn.append(_Drawn(one, row, x, max(width, 0.8)))
    return drawn, len(slices) - len(drawn)


def _stretch(
    drawn: _Drawn, kind: str, y: float, numbers: dict[str, int], label: Callable[[str], str]
) -> Html:
    one = drawn.slice
    top = y + drawn.row * _ROW
    classes = ["s", *(f"v{numbers[spot]}" for spot in one.spots if spot in numbers)]
    about = [one.name, format_duration(one.duration_ns), one.origin, one.program]
    about += [label(spot) for spot in one.spots]
    rect = element(
        "rect",
        element("title", escape("\n".join(text for text in about if text), 240)),
        class_=" ".join(classes),
        x=f"{drawn.x:.1f}",
        y=f"{top:.1f}",
        width=f"{drawn.width:.1f}",
        height=f"{_ROW - 3}",
        rx="2",
        style=f"fill:hsl({hue(one, kind)} 70% 50%)",
    )
    name = _cut(one.origin.rpartition("/")[2] or one.name, drawn.width - 6)
    if not name:
        return rect
    return join([rect, _text_at(drawn.x + 3, top + 12.5, name, class_="t")])


def hue(one: Slice, kind: str) -> int:
    """A stage has its own hue; an operation that of its line, so that a line has one colour."""
    if kind == "stage":
        return _HUES.get(one.name.partition(" ")[0], 0)
    key = one.spots[0] if one.spots else one.name
    return zlib.crc32(key.encode(errors="replace")) % 360


def _cut(text: str, width: float) -> str:
    """What of a text fits; nothing where less than three letters do."""
    letters = int(width / _LETTER)
    if letters < 3:
        return ""
    return text if len(text) <= letters else f"{text[: letters - 1]}…"
