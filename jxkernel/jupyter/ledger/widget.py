"""The ledger, live: filtered as one types, with its timeline as a plotly figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets
import plotly.graph_objects as go

from jxkernel.jupyter.ledger.listed import listed
from jxkernel.jupyter.ledger.view import ROWS, ledger_view
from jxkernel.jupyter.live import INTERVAL, LiveView, current_session
from jxkernel.jupyter.views.figures import PLAIN_AXIS, PLAIN_LAYOUT, figure_output, plain
from jxkernel.jupyter.views.view import View
from jxkernel.observe import LedgerRow, Recorder, ledger
from jxkernel.observe.builds import STAGES, BuildTimeline, build_timeline
from jxkernel.observe.explain import format_duration

__all__ = ["Ledger", "timeline_figure"]

_EVENTS = 2_000
_PATTERNS = {"trace": "", "lower": "x", "compile": "/"}
_COLOURS = {"trace": "#2a78d6", "lower": "#c98500", "compile": "#5f5f6b"}


class Ledger(LiveView):
    """The recompilation ledger as a live widget, with a timeline to zoom into.

    Args:
      recorder: where to read; by default the session's recorder, or one that starts now.
      interval: seconds between two redrawings at the least.

    >>> import jxkernel as jx
    >>> from jxkernel.observe import Recorder
    >>> with Recorder() as recorder:
    ...     ledger = jx.widgets.Ledger(recorder)
    >>> print(ledger)
    nothing has been traced or compiled since recording began
    >>> ledger.close()
    """

    follows_cells = False

    def __init__(self, recorder: Recorder | None = None, *, interval: float = INTERVAL) -> None:
        self._session = current_session() if recorder is None else None
        self._is_own = recorder is None and self._session is None
        if recorder is None:
            recorder = self._session.recorder if self._session else Recorder().start()
        self._recorder = recorder
        self._found: tuple[LedgerRow, ...] = ()
        self._charted: tuple[LedgerRow, ...] = ()
        self._chart = ipywidgets.Output()
        self.search = ipywidgets.Text(
            description="Search", placeholder="function or cell", continuous_update=True
        )
        self.eager = ipywidgets.Checkbox(
            description="Operations outside jit", indent=False, value=False
        )
        super().__init__([self.search, self.eager], interval)
        for control in (self.search, self.eager):
            self.handle(control, lambda _: self._draw())
        self.children = (*self.children[:2], self._chart, *self.children[2:])

    def rows(self) -> tuple[LedgerRow, ...]:
        """The rows that fit what is searched for, of the latest 2,000 events."""
        if self._session:
            whole = self._session.ledger(latest=_EVENTS)
        else:
            whole = ledger(self._recorder, latest=_EVENTS)
        words = self.search.value.strip().lower()
        return tuple(
            row
            for row in (whole if self.eager.value else listed(whole))
            if words in row.fun.lower() or words in (row.cell or "").lower()
        )

    def view(self) -> View:
        """Return the ledger's static view, with the timeline drawn as SVG."""
        return self._view(self.rows(), with_timeline=True)

    def live_view(self) -> View:
        """Return the view without the drawing, in whose place stands the figure."""
        self._found = self.rows()
        return self._view(self._found, with_timeline=False)

    def _view(self, rows: Sequence[LedgerRow], *, with_timeline: bool) -> View:
        dropped = self._recorder.dropped
        return ledger_view(rows, dropped, self._counts(), with_timeline=with_timeline)

    def _counts(self) -> list[str]:
        """What the whole recording amounts to, where not all of it is looked at."""
        totals = self._recorder.totals()
        kept = self._recorder.count
        if kept <= _EVENTS:
            return []
        return [
            f"of the latest {_EVENTS:,} events; since recording began {totals.traces:,} traces, "
            f"{totals.compiles:,} compilations, {format_duration(totals.build_ns)}"
        ]

    def update(self, view: View) -> None:
        """Show the rows, and the timeline as a figure."""
        if self._found != self._charted:
            rows = self._charted = self._found
            figure = timeline_figure(build_timeline(rows[-ROWS:]))
            self._chart.outputs = (figure_output(figure, "timeline"),) if rows else ()
        super().update(view)

    def close(self) -> None:
        """Stop listening, and take the widget off the page."""
        if not self._is_closed and self._is_own:
            self._recorder.stop()
        super().close()


def timeline_figure(found: BuildTimeline) -> go.Figure:
    """Return the timeline as a plotly figure: bars with patterns, a lane for each function.

    Args:
      found: the timeline.

    >>> from jxkernel.observe import LedgerRow
    >>> from jxkernel.observe.builds import build_timeline
    >>> from jxkernel.jupyter.ledger.widget import timeline_figure
    >>> rows = [LedgerRow(1, 0.0, "In[1]", "f", 1, trace_ns=1_000_000)]
    >>> [trace.name for trace in timeline_figure(build_timeline(rows)).data]
    ['trace']
    """
    figure = go.Figure([bar for stage in STAGES if (bar := _stage_bars(found, stage)) is not None])
    # All at once: plotly's ``add_vline`` copies those that are there for each that comes.
    figure.update_layout(
        shapes=[_vertical(one.at * 1e3) for one in found.breaks],
        barmode="overlay",
        bargap=0.3,
        height=110 + 30 * len(found.lanes),
        margin={"l": 10, "r": 10, "t": 30, "b": 40},
        **PLAIN_LAYOUT,
        xaxis={**PLAIN_AXIS, "title": "ms of work; idle time left out at the dotted lines"},
        yaxis={**PLAIN_AXIS, "autorange": "reversed", "automargin": True},
    )
    return figure


def _vertical(x: float) -> dict[str, Any]:
    """A dotted line from the bottom to the top."""
    line = {"dash": "dot", "width": 1, "color": "gray"}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line}


def _stage_bars(found: BuildTimeline, stage: str) -> go.Bar | None:
    bars = [bar for bar in found.bars if bar.stage == stage]
    if not bars:
        return None
    texts = [
        f"{bar.row}. {bar.cell} {plain(bar.fun)}: {format_duration(bar.seconds * 1e9)}"
        for bar in bars
    ]
    return go.Bar(
        name=stage,
        orientation="h",
        y=[plain(bar.lane) for bar in bars],
        x=[bar.seconds * 1e3 for bar in bars],
        base=[bar.start * 1e3 for bar in bars],
        hovertext=texts,
        hoverinfo="name+text",
        marker={
            "color": _COLOURS[stage],
            "pattern": {"shape": _PATTERNS[stage]},
            "line": {"color": "gray", "width": 1},
        },
    )
