"""A progress bar in a notebook: one output, drawn anew as the loop goes on."""

from __future__ import annotations

import itertools
from math import isfinite
from typing import Any

from IPython.display import display

from jxkernel.jupyter.views.html import Html, element, page
from jxkernel.jupyter.views.view import View
from jxkernel.observe.progress import Curve, Progress

__all__ = ["NotebookBar", "progress_view"]

_WIDTH, _HEIGHT = 240, 40


class NotebookBar:
    """Shows one run of a bar; the output stays, with its last state, in the saved notebook."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, state: Progress) -> None:
        """Draw the bar, in place of what it showed before."""
        view = progress_view(state)
        if self._handle is None:
            self._handle = display(view, display_id=True)
        else:
            self._handle.update(view)


def progress_view(state: Progress) -> View:
    """Return the view of a bar, with the course of each of its values."""
    text = str(state)
    data = {
        "label": state.label,
        "done": state.done,
        "total": state.total,
        "seconds": state.seconds,
        "values": [
            {"name": curve.name, "latest": curve.latest if isfinite(curve.latest) else None}
            for curve in state.values
        ],
    }
    lines = [part for curve in state.values for part in _course(curve)]
    return View("progress", text, page(element("pre", text, class_="m"), *lines), data)


def _course(curve: Curve) -> tuple[Html, ...]:
    """A value's course under its name; nothing where there are no two finite points."""
    finite = [value for _, value in curve.points if isfinite(value)]
    if len(finite) < 2:
        return ()
    least, greatest = min(finite), max(finite)
    told = f"{curve.name}: between {least:.4g} and {greatest:.4g}"
    path = element("path", d=_path(curve, least, greatest), fill="none", stroke="#2a78d6")
    picture = element(
        "svg",
        element("title", told),
        path,
        class_="value",
        role="img",
        width=str(_WIDTH),
        height=str(_HEIGHT),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
    )
    return element("pre", told, class_="m dim"), picture


def _path(curve: Curve, least: float, greatest: float) -> str:
    """The line through finite points; it breaks where others are between them."""
    first, last = curve.points[0][0], curve.points[-1][0]
    # Halves keep the difference of extremes finite.
    height = greatest / 2 - least / 2
    drawn: list[str] = []
    for is_finite, run in itertools.groupby(curve.points, lambda point: isfinite(point[1])):
        for at, (turn, value) in enumerate(run if is_finite else ()):
            x = (turn - first) / max(last - first, 1) * _WIDTH
            part = (value / 2 - least / 2) / height if height else 0.5
            drawn.append(f"{'L' if at else 'M'}{x:.1f} {(1 - part) * _HEIGHT:.1f}")
    return "".join(drawn)
