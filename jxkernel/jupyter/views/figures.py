"""Plotly figures as outputs that a front end draws with plotly's own renderer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

__all__ = ["PLAIN_AXIS", "PLAIN_LAYOUT", "figure_output", "plain"]

_FIGURE = "application/vnd.plotly.v1+json"

PLAIN_LAYOUT: dict[str, Any] = {
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "font": {"color": "gray"},
    "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
}
"""What makes a figure fit a light and a dark page."""

PLAIN_AXIS: dict[str, Any] = {
    "gridcolor": "rgba(128,128,128,0.3)",
    "zerolinecolor": "rgba(128,128,128,0.6)",
}
"""The same for each of its axes."""


def figure_output(figure: go.Figure, text: str) -> dict[str, Any]:
    """Return a figure as an output.

    Args:
      figure: the figure.
      text: what stands in its place where it cannot be drawn.
    """
    return {
        "output_type": "display_data",
        "data": {_FIGURE: _json(figure), "text/plain": text},
        "metadata": {},
    }


def plain(text: str) -> str:
    """Return a text that plotly, which reads a few elements of HTML, takes as it stands."""
    cut = text if len(text) <= 60 else f"{text[:59]}…"
    shown = "".join(one if one.isprintable() else "\ufffd" for one in cut)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _json(figure: go.Figure) -> Any:
    data: dict[str, Any] = figure.to_plotly_json()
    return {
        "data": [_plainly(trace) for trace in data["data"]],
        "layout": _plainly(data["layout"]),
        "config": {"displaylogo": False, "responsive": True},
    }


def _plainly(value: Any) -> Any:
    """Data without the tuples and arrays that plotly may hold."""
    if isinstance(value, dict):
        return {name: _plainly(item) for name, item in value.items() if name != "template"}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plainly(item) for item in value]
    return value
