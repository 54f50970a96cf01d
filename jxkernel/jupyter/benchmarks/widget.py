"""Benchmarks as a widget: functions over sizes or arguments, in a table and a chart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import ipywidgets
import plotly.graph_objects as go

from jxkernel import events
from jxkernel.jupyter.benchmarks.comparison import comparison_view
from jxkernel.jupyter.live import LiveView
from jxkernel.jupyter.views.figures import PLAIN_AXIS, PLAIN_LAYOUT, figure_output, plain
from jxkernel.jupyter.views.view import View
from jxkernel.observe.backends import cell_elsewhere
from jxkernel.observe.comparisons import FIGURES, Comparison, Measured, cases_of, measured

__all__ = ["Benchmark", "comparison_figure"]

_COLOURS = ("#2a78d6", "#c98500", "#5f5f6b", "#d03b3b", "#128a72", "#8e5bc4")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up")
_PATTERNS = ("", "/", "x", ".", "-", "+")


class Benchmark(LiveView):
    """Measures functions, one or several, for arguments, one kind or several, when asked to.

    It measures at a click on ``run``, or with ``run=True`` as it is made; never by itself. What had
    to be traced and compiled is told apart. Interrupt the kernel to stop: what was measured stays.

    Args:
      functions: a function, several, or a mapping from names to functions.
      *args: their arguments, where they are measured for one case only.
      sizes: sizes to measure for; ``make`` gives the arguments of each.
      make: takes a size and returns the arguments: a tuple of them, or one.
      cases: arguments by the name of the case: a tuple of them, or one.
      run: whether to measure now.

    Raises:
      TypeError: there is no function, or arguments are given in more than one way.

    >>> import jxkernel as jx
    >>> f = jx.jit(lambda x: x * 2.0)
    >>> bench = jx.widgets.Benchmark({"f": f}, sizes=[8, 16], make=jx.numpy.ones, run=True)
    >>> [row.label for row in bench.found.rows]
    ['8', '16']
    >>> bench.close()
    """

    kinds = (events.CellFinished,)
    follows_cells = False

    def __init__(
        self,
        functions: Any,
        *args: Any,
        sizes: Iterable[float] | None = None,
        make: Callable[[Any], Any] | None = None,
        cases: Mapping[str, Any] | None = None,
        run: bool = False,
    ) -> None:
        self._cases = cases_of(functions, args, sizes=sizes, make=make, cases=cases)
        self.found = Comparison(())
        self._note = "not measured yet: `run` does it"
        self._is_running = False
        self._charted: Any = None
        self._chart = ipywidgets.Output()
        self.run_button = ipywidgets.Button(description="Run", button_style="primary")
        self.figure = ipywidgets.Dropdown(
            description="Show", options=FIGURES, layout=ipywidgets.Layout(width="auto")
        )
        super().__init__([self.run_button, self.figure])
        self.children = (*self.children[:2], self._chart, *self.children[2:])
        self.handle(self.figure, lambda _: self._draw())
        self.run_button.on_click(lambda _: self._guarded("running", self.run, is_locking=False))
        if run:
            self.run()

    def run(self) -> None:
        """Measure all cases anew, and show each as soon as it is measured.

        Raises:
          RuntimeError: it is measuring already, or a cell runs meanwhile and would spoil the
            figures.
        """
        self._begin()
        rows: list[Measured] = []
        count = len(self._cases)
        try:
            for case in self._cases:
                self._note = f"{len(rows)} of {count}: {case.name} for {case.label}"
                self.refresh()
                rows.append(measured(case))
                self.found = Comparison(tuple(rows))
            self._note = ""
        except BaseException as error:
            self._note = f"ended after {len(rows)} of {count} by {type(error).__name__}"
            raise
        finally:
            with self._drawing:
                self._is_running = self.run_button.disabled = False
            self.refresh()
            self._guarded("saving", self._save)

    def _begin(self) -> None:
        with self._drawing:
            if self._is_running:
                raise RuntimeError("it is measuring already")
            other = cell_elsewhere()
            if other:
                raise RuntimeError(
                    f"{other} is running, which would spoil the figures: run this when it has ended"
                )
            self._is_running = self.run_button.disabled = True
            self.found = Comparison(())

    def view(self) -> View:
        """Return the table of what has been measured."""
        return comparison_view(self.found, str(self.figure.value), self._note)

    def update(self, view: View) -> None:
        """Show the table and the chart."""
        drawn = (self.found, self.figure.value)
        if drawn != self._charted:
            self._charted = drawn
            figure = comparison_figure(self.found, str(self.figure.value))
            text = f"chart: {self.figure.value}"
            self._chart.outputs = (figure_output(figure, text),) if figure.data else ()
        super().update(view)


def comparison_figure(found: Comparison, figure: str) -> go.Figure:
    """Return a comparison as a plotly figure: lines over sizes, bars over other cases.

    Functions differ in colour, and in dashes and marks, or in patterns.

    Args:
      found: what was measured.
      figure: which of ``FIGURES`` to draw.

    >>> from jxkernel.jupyter.benchmarks.widget import comparison_figure
    >>> from jxkernel.observe.comparisons import Comparison
    >>> comparison_figure(Comparison(()), "latency").data
    ()
    """
    over_sizes = len(found.labels) > 1 and all(row.size is not None for row in found.rows)
    drawn = go.Figure()
    for number, name in enumerate(found.names):
        rows = [row for row in found.rows if row.name == name and row.seconds(figure)]
        trace = _line(rows, figure, number) if over_sizes else _bars(rows, figure, number)
        if rows:
            drawn.add_trace(trace)
    over: dict[str, Any] = {"type": "category"}
    if over_sizes:
        ticks = sorted({row.size for row in found.rows if row.size is not None})
        labels = [f"{tick:g}" for tick in ticks]
        over = {"title": "size", "type": "log", "tickvals": ticks, "ticktext": labels}
    drawn.update_layout(
        **PLAIN_LAYOUT,
        barmode="group",
        height=320,
        margin={"l": 10, "r": 10, "t": 30, "b": 40},
        xaxis={**PLAIN_AXIS, **over},
        yaxis={
            **PLAIN_AXIS,
            "title": figure,
            "type": "log" if over_sizes else "linear",
            "automargin": True,
            "tickformat": "~s",
            "ticksuffix": "s",
            **({"dtick": 1} if over_sizes else {}),
        },
        showlegend=True,
    )
    return drawn


def _line(rows: list[Measured], figure: str, number: int) -> go.Scatter:
    colour = _COLOURS[number % len(_COLOURS)]
    return go.Scatter(
        **_points(rows, figure),
        x=[row.size for row in rows],
        mode="lines+markers",
        line={"color": colour, "dash": _DASHES[number % len(_DASHES)]},
        marker={"color": colour, "symbol": _SYMBOLS[number % len(_SYMBOLS)], "size": 9},
    )


def _bars(rows: list[Measured], figure: str, number: int) -> go.Bar:
    return go.Bar(
        **_points(rows, figure),
        x=[plain(row.label) for row in rows],
        marker={
            "color": _COLOURS[number % len(_COLOURS)],
            "pattern": {"shape": _PATTERNS[number % len(_PATTERNS)]},
            "line": {"color": "gray", "width": 1},
        },
    )


def _points(rows: list[Measured], figure: str) -> dict[str, Any]:
    return {
        "name": plain(rows[0].name) if rows else "",
        "y": [row.seconds(figure) for row in rows],
        "hovertext": [
            f"{plain(row.name)} · {plain(row.label)}: {row.text(figure)}" for row in rows
        ],
        "hoverinfo": "text",
    }
