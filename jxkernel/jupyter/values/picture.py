"""Small pictures of figures, in SVG without scripts: bars, and the blocks of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from jxkernel.jupyter.views.html import Html, element
from jxkernel.observe.values import ArrayFigures

__all__ = ["number", "picture"]

_CELL, _BAR, _HEIGHT, _LEVELS = 8, 9, 44, 16
_ABOVE, _BELOW, _NO_NUMBER = "#2a78d6", "#c98500", "#d03b3b"


def picture(figures: ArrayFigures) -> Html:
    """Return the picture: of a matrix its blocks, of other arrays how often values occur."""
    if figures.cells and figures.least is not None:
        return _blocks(figures.cells)
    if figures.bars:
        return _bars(figures)
    return Html("")


def number(value: float | None) -> str:
    """Return a figure in four digits."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e7 else f"{value:.4g}"


def _bars(figures: ArrayFigures) -> Html:
    most = max(figures.bars)
    bars = [
        element(
            "rect",
            x=str(at * _BAR),
            y=f"{_HEIGHT - height:.1f}",
            width=str(_BAR - 1),
            height=f"{height:.1f}",
        )
        for at, count in enumerate(figures.bars)
        if (height := max(_HEIGHT * count / most, 1.0 if count else 0.0))
    ]
    width = len(figures.bars) * _BAR
    ends = (
        element("text", number(figures.least), x="0", y=str(_HEIGHT + 12)),
        element(
            "text", number(figures.greatest), x=str(width), y=str(_HEIGHT + 12), text_anchor="end"
        ),
    )
    told = f"how often values occur, from {number(figures.least)} to {number(figures.greatest)}"
    return _svg(told, width, _HEIGHT + 16, element("g", *bars, fill=_ABOVE), *ends)


def _blocks(cells: Sequence[Sequence[float]]) -> Html:
    """A heat map in which runs of one shade are one stroke: some 15,000 characters at most."""
    known = [value for row in cells for value in row if isfinite(value)]
    least, greatest = min(known, default=0.0), max(known, default=0.0)
    strokes: dict[tuple[str, int], list[str]] = {}
    for y, row in enumerate(cells):
        shades = [_shade(value, least, greatest) for value in row]
        start = 0
        for x in range(1, len(shades) + 1):
            if x == len(shades) or shades[x] != shades[start]:
                strokes.setdefault(shades[start], []).append(f"M{start} {y}h{x - start}v1H{start}z")
                start = x
    paths = [
        element("path", d="".join(runs), fill=colour, fill_opacity=f"{level / _LEVELS:.3g}")
        for (colour, level), runs in sorted(strokes.items())
        if level
    ]
    width, height = len(cells[0]), len(cells)
    told = f"the means of blocks, from {number(least)} to {number(greatest)}"
    frame = element("rect", class_="w", width=str(width), height=str(height), stroke_width="0.1")
    group = element("g", *paths, frame, transform=f"scale({_CELL})")
    return _svg(told, width * _CELL, height * _CELL, group)


def _shade(value: float, least: float, greatest: float) -> tuple[str, int]:
    """A value's colour and its strength: from 0 where both signs occur, else from the least."""
    if not isfinite(value):
        return _NO_NUMBER, _LEVELS
    if least < 0 < greatest:
        part = abs(value) / max(-least, greatest)
    else:
        part = (value - least) / (greatest - least) if greatest > least else 0.5
    return (_BELOW if least < 0 < greatest and value < 0 else _ABOVE), round(part * _LEVELS)


def _svg(told: str, width: int, height: int, *content: Html) -> Html:
    return element(
        "svg",
        element("title", told),
        *content,
        class_="value",
        role="img",
        width=str(width),
        height=str(height),
        viewBox=f"0 0 {width} {height}",
    )
