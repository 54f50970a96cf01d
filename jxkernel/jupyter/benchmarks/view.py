"""What ``jx.benchmark`` measured: one line, the times as bars and as a histogram, and the table."""

from __future__ import annotations

import math

from jxkernel.jupyter.views.html import Html, details, element, page, table
from jxkernel.jupyter.views.view import View
from jxkernel.observe import Benchmark
from jxkernel.observe.explain import format_duration

__all__ = ["benchmark_view"]

_BAR_WIDTH = 16.0
_BINS = 40
_BIN_WIDTH, _HEIGHT = 7, 48


def benchmark_view(measured: Benchmark) -> View:
    """Return the view of a benchmark."""
    html = page(
        details(
            measured.summary(),
            _bars(measured),
            _histogram(measured),
            table(("", "", ""), measured.rows(), numeric=(1,)),
            is_open=True,
        )
    )
    return View("benchmark", repr(measured), html, measured.to_dict())


def _bars(measured: Benchmark) -> Html:
    """Dispatch, pipelined and latency as lengths, and the least time that the device needs."""
    times = {
        "dispatch": measured.dispatch.median,
        "pipelined": measured.pipelined.median,
        "latency": measured.latency.median,
    }
    if measured.least_time:
        times["at best"] = measured.least_time
    longest = max(times.values())
    rows = [
        (
            name,
            element("span", class_="bar", style=f"width:{_BAR_WIDTH * spent / longest:.2f}em"),
            format_duration(1e9 * spent),
        )
        for name, spent in times.items()
    ]
    return table(("", "", ""), rows)


def _histogram(measured: Benchmark) -> Html:
    """How often each latency came up; the slowest twentieth shares the last bar."""
    seconds = measured.latency.seconds
    low, high = seconds[0], measured.latency.percentile(95)
    if len(seconds) < _BINS or high <= low:
        return Html("")
    counts = [0] * _BINS
    for one in seconds:
        counts[min(int(_BINS * math.log(one / low) / math.log(high / low)), _BINS - 1)] += 1
    highest = max(counts)
    bars = [
        element(
            "rect",
            x=str(_BIN_WIDTH * number),
            y=f"{_HEIGHT - _HEIGHT * count / highest:.1f}",
            width=str(_BIN_WIDTH - 1),
            height=f"{_HEIGHT * count / highest:.1f}",
        )
        for number, count in enumerate(counts)
    ]
    ends = f"{format_duration(1e9 * low)} to {format_duration(1e9 * high)} and more"
    label = f"histogram of {len(seconds):,} latencies, from {ends}"
    width = _BIN_WIDTH * _BINS
    drawn = element(
        "svg",
        *bars,
        class_="hist",
        role="img",
        aria_label=label,
        viewBox=f"0 0 {width} {_HEIGHT}",
        width=str(width),
        height=str(_HEIGHT),
    )
    return element("div", drawn, element("div", label, class_="dim"))
