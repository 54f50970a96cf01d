"""Drawings of programs: which equation feeds which, in layers from the arguments down.

Layers by longest path; edges that cross a layer bend at a place kept free for them there; the
order within a layer by the mean of the neighbours, a few times to and fro (Sugiyama, Tagawa and
Toda 1981, "Methods for visual understanding of hierarchical system structures").
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from jxkernel.jupyter.views.html import Html, element, escape

__all__ = ["Node", "graph_svg"]

Kind = Literal["input", "operation", "program", "result"]

_CHARACTER = 6.7
_HEIGHT = 36.0
_BEND = 10.0
_GAP_X = 16.0
_GAP_Y = 30.0
_MARGIN = 6.0
_LABEL = 26
_SWEEPS = 6


@dataclass(frozen=True, slots=True)
class Node:
    """A node to draw.

    Attributes:
      label: its name, ``h = tanh``.
      note: a smaller second line, ``f32[8]``.
      kind: an argument, an operation, one that holds programs, or a result.
      mark: a class by which it lights up with what else has it. (JupyterLab fails on links in SVG.)
      title: what pointing at it tells.
    """

    label: str
    note: str = ""
    kind: Kind = "operation"
    mark: str = ""
    title: str = ""

    @property
    def width(self) -> float:
        """The width of its box, in pixels."""
        longest = max(len(_short(self.label)), len(_short(self.note)) * 0.87, 2.0)
        return longest * _CHARACTER + (26 if self.kind in ("input", "result") else 18)


@dataclass(slots=True)
class _Place:
    """A node, or a bend of a long edge, in its layer."""

    node: Node | None
    layer: int
    x: float = 0.0
    above: list[_Place] = field(default_factory=list)
    below: list[_Place] = field(default_factory=list)

    @property
    def width(self) -> float:
        return self.node.width if self.node else _BEND

    @property
    def top(self) -> float:
        return _MARGIN + self.layer * (_HEIGHT + _GAP_Y)

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


def graph_svg(nodes: Sequence[Node], edges: Iterable[tuple[int, int]], label: str) -> Html:
    """Return the drawing of a graph without cycles.

    Args:
      nodes: the nodes; each comes after those that it is fed by.
      edges: pairs of node numbers, from the one that feeds to the one that is fed.
      label: what the drawing shows, for those who hear it.
    """
    pairs = sorted(set(edges))
    places = [_Place(node, layer) for node, layer in zip(nodes, _layers(nodes, pairs), strict=True)]
    rows: list[list[_Place]] = [
        [] for _ in range(max((one.layer for one in places), default=0) + 1)
    ]
    for place in places:
        rows[place.layer].append(place)
    paths = [_routed(places[start], places[stop], rows) for start, stop in pairs]
    _order(rows)
    _place(rows)
    width = max((one.x + one.width for row in rows for one in row), default=0) + _MARGIN
    height = 2 * _MARGIN + len(rows) * (_HEIGHT + _GAP_Y) - _GAP_Y
    drawn = [_wires(paths), *[_box(place) for place in places]]
    size = {"width": f"{width:.0f}", "height": f"{height:.0f}"}
    view_box = f"0 0 {width:.0f} {height:.0f}"
    return element("svg", *drawn, role="group", aria_label=label, viewBox=view_box, **size)


def _layers(nodes: Sequence[Node], edges: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each node: below all that feed it, arguments just above their first use."""
    layers = [0] * len(nodes)
    by_stop = sorted(edges, key=lambda edge: edge[1])
    for start, stop in by_stop:
        layers[stop] = max(layers[stop], layers[start] + 1)
    first_use: dict[int, int] = {}
    for start, stop in edges:
        first_use[start] = min(first_use.get(start, layers[stop]), layers[stop])
    fed = {stop for _, stop in edges}
    for number, layer in first_use.items():
        if number not in fed:
            layers[number] = layer - 1
    return layers


def _routed(start: _Place, stop: _Place, rows: list[list[_Place]]) -> list[_Place]:
    """The places that an edge passes, with a bend in each layer between its ends."""
    path = [start]
    for layer in range(start.layer + 1, stop.layer):
        bend = _Place(None, layer)
        rows[layer].append(bend)
        path.append(bend)
    path.append(stop)
    for upper, lower in itertools.pairwise(path):
        upper.below.append(lower)
        lower.above.append(upper)
    return path


def _order(rows: list[list[_Place]]) -> None:
    """Sort each layer by where its neighbours are, downwards and upwards in turn."""
    for row in rows:
        _number(row)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            row.sort(key=lambda one: _mean(one.above if down else one.below, one.x))
            _number(row)


def _number(row: list[_Place]) -> None:
    for position, place in enumerate(row):
        place.x = float(position)


def _mean(neighbours: Sequence[_Place], otherwise: float) -> float:
    if not neighbours:
        return otherwise
    return sum(one.x for one in neighbours) / len(neighbours)


def _place(rows: list[list[_Place]]) -> None:
    """Give each place its x: near its neighbours, in the order of its layer, none overlapping."""
    for row in rows:
        _pack(row, [0.0] * len(row))
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 else reversed(rows):
            wanted = [_wanted(one, one.above if sweep % 2 else one.below) for one in row]
            _pack(row, wanted)
            moved = sum(want - one.x for want, one in zip(wanted, row, strict=True))
            for one in row:
                one.x += moved / len(row)
    left = min((one.x for row in rows for one in row), default=0.0)
    for row in rows:
        for one in row:
            one.x += _MARGIN - left


def _wanted(place: _Place, neighbours: Sequence[_Place]) -> float:
    if not neighbours:
        return place.x
    middles = [one.middle for one in neighbours]
    return sum(middles) / len(middles) - place.width / 2


def _pack(row: Sequence[_Place], wanted: Sequence[float]) -> None:
    edge = float("-inf")
    for place, want in zip(row, wanted, strict=True):
        place.x = max(want, edge)
        edge = place.x + place.width + _GAP_X


def _wires(paths: Iterable[Sequence[_Place]]) -> Html:
    lines, heads = [], []
    for path in paths:
        for upper, lower in itertools.pairwise(path):
            start, stop = upper.top + _HEIGHT, lower.top
            half = (start + stop) / 2
            passed = "" if upper.node else f"M{upper.middle:.0f} {upper.top:.0f}v{_HEIGHT:.0f}"
            lines.append(
                f"{passed}M{upper.middle:.0f} {start:.0f}C{upper.middle:.0f} {half:.0f} "
                f"{lower.middle:.0f} {half:.0f} {lower.middle:.0f} {stop:.0f}"
            )
        x, y = path[-1].middle, path[-1].top
        heads.append(f"M{x - 3.5:.1f} {y - 6:.0f}h7L{x:.1f} {y:.0f}z")
    wires = element("path", d="".join(lines), class_="w")
    return Html(wires + element("path", d="".join(heads), class_="p"))


def _box(place: _Place) -> Html:
    node = place.node
    assert node is not None
    ends = node.kind in ("input", "result")
    rounding = f"{_HEIGHT / 2:.0f}" if ends else "4"
    parts: list[object] = [element("title", escape(node.title, 300))] if node.title else []
    parts.append(_rectangle(place, 0, rounding, "end" if ends else "box"))
    if node.kind == "program":
        parts.append(_rectangle(place, 3, "2", "w"))
    lines = [(node.label, "l"), (node.note, "s")] if node.note else [(node.label, "l")]
    first = place.top + _HEIGHT / 2 + (4 if len(lines) == 1 else -2)
    for number, (text, kind) in enumerate(lines):
        where = {"x": f"{place.middle:.0f}", "y": f"{first + 13 * number:.0f}"}
        written = element("text", _short(text), class_=kind, text_anchor="middle", **where)
        parts.append(written)
    return element("g", *parts, class_=node.mark)


def _rectangle(place: _Place, inset: float, rounding: str, kind: str) -> Html:
    return element(
        "rect",
        x=f"{place.x + inset:.0f}",
        y=f"{place.top + inset:.0f}",
        width=f"{place.width - 2 * inset:.0f}",
        height=f"{_HEIGHT - 2 * inset:.0f}",
        rx=rounding,
        class_=kind,
    )


def _short(text: str) -> str:
    return text if len(text) <= _LABEL else f"{text[: _LABEL - 1]}…"
