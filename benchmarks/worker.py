"""One process of one library: measures a metric whenever it is asked to, and waits in between.

Run as ``python -m benchmarks.worker LIBRARY FAMILY``.  Each line that it reads is a request, a kind
of figure and the name of a metric; each line that it writes is the answer, a JSON object with the
``figure``, or with the ``error`` that came instead.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from benchmarks import (
    calls,
    compiling,
    devices,
    dispatch,
    eager,
    growth,
    large,
    operations,
    programs,
    references,
    sparse,
    tracing,
)
from benchmarks.library import Library, load
from benchmarks.metric import Metric, Timer, Work, count_calls, instructions_per_run

__all__ = ["FAMILIES", "ON_ONE_CORE", "main"]

FAMILIES: dict[str, Sequence[Metric]] = {
    "tracing": tracing.METRICS,
    "dispatch": dispatch.METRICS,
    "eager": eager.METRICS,
    "large": large.METRICS,
    "programs": programs.METRICS,
    "compiling": compiling.LATER,
    "sparse": sparse.METRICS,
    "references": references.METRICS,
    "devices": devices.METRICS,
    "eager-calls": calls.EAGER,
    "jitted-calls": calls.JITTED,
}


ON_ONE_CORE = {"tracing", "dispatch", "eager", "eager-calls", "jitted-calls"}
"""Families whose rows are short: on one core, the same for both libraries, they are steadier.

On two, a row of microseconds took up to half as long again whenever its process had been moved, or
had the slower core.
"""


def _measures(library: Library, family: str) -> dict[str, Callable[[str], float | str]]:
    """Return for each kind of figure what measures it, by the name of a metric or a curve.

    ``seconds`` is of one batch: who asks decides how often, and what comes between.
    """
    table = operations.METRICS if family == "operations" else FAMILIES.get(family, ())
    metrics = {metric.name: metric for metric in table}
    curves = {curve.name: curve for curve in growth.CURVES}

    @lru_cache(maxsize=1)
    def work(name: str) -> Work:
        return metrics[name].setup(library)

    @lru_cache(maxsize=1)
    def timer(name: str) -> Timer:
        return Timer(library, work(name))

    return {
        "seconds": lambda name: timer(name).seconds() / metrics[name].operations,
        "calls": lambda name: count_calls(library, work(name)) / metrics[name].operations,
        "instructions": lambda name: (
            instructions_per_run(library, work(name)) / metrics[name].operations
        ),
        "exponent": lambda name: (
            compiling.exponent(library)
            if name == compiling.EXPONENT
            else growth.exponent(library, curves[name])
        ),
        "program": lambda name: operations.PROGRAMS[name](library),
        "first": lambda name: compiling.first_result(library, compiling.FIRST[name]),
    }


def _answer(measure: Callable[[str], float | str], name: str) -> dict[str, Any]:
    """Return the figure, or what went wrong: one failing metric must not hide the others."""
    try:
        return {"figure": measure(name)}
    except Exception:
        return {"error": traceback.format_exc(limit=-3)}


def main(library_name: str, family: str) -> None:
    """Answer requests until there are no more."""
    if family in ON_ONE_CORE and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    measures = _measures(load(library_name), family)
    for line in sys.stdin:
        kind, name = line.rstrip("\n").split(" ", 1)
        print(json.dumps(_answer(measures[kind], name)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
