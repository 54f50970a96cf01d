"""One process of one library: measures a family of metrics and prints them as JSON.

Run as ``python -m benchmarks.worker LIBRARY FAMILY KIND...``; a kind is ``seconds``, ``calls`` or,
in a process that callgrind runs, ``instructions``.
"""

import json
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from benchmarks import calls, devices, dispatch, eager, growth, programs, tracing
from benchmarks.library import Library, load
from benchmarks.metric import Metric, count_calls, instructions_per_run, seconds_per_run

__all__ = ["FAMILIES", "main"]

FAMILIES: dict[str, Sequence[Metric]] = {
    "tracing": tracing.METRICS,
    "dispatch": dispatch.METRICS,
    "eager": eager.METRICS,
    "programs": programs.METRICS,
    "devices": devices.METRICS,
    "eager-calls": calls.EAGER,
    "jitted-calls": calls.JITTED,
}


_MEASURES = {
    "seconds": seconds_per_run,
    "calls": count_calls,
    "instructions": instructions_per_run,
}


def _measure(library: Library, metric: Metric, kinds: Sequence[str]) -> dict[str, float]:
    work = metric.setup(library)
    return {kind: _MEASURES[kind](library, work) / metric.operations for kind in kinds}


def _or_error(measure: Callable[[], dict[str, float]]) -> dict[str, Any]:
    """Return the figures, or what went wrong: one failing metric must not hide the others."""
    try:
        return measure()
    except Exception:
        return {"error": traceback.format_exc(limit=-3)}


def main(library_name: str, family: str, kinds: Sequence[str]) -> None:
    """Measure a family and print one JSON object, metric name to figures."""
    if family == "watching":
        # Imported here, since the peer's environment has no IPython.
        print(json.dumps(import_module("benchmarks.watching").figures()))
        return
    library = load(library_name)
    if family == "growth":
        figures = {
            curve.name: _or_error(lambda curve=curve: {"exponent": growth.exponent(library, curve)})
            for curve in growth.CURVES
        }
    else:
        figures = {
            metric.name: _or_error(lambda metric=metric: _measure(library, metric, kinds))
            for metric in FAMILIES[family]
        }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
