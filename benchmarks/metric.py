"""What a metric is, and how one is timed and counted inside a worker process."""

import cProfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

from benchmarks.instructions import count_instructions
from benchmarks.library import Library

__all__ = ["Metric", "Work", "count_calls", "instructions_per_run", "seconds_per_run"]

BATCH_SECONDS = 0.003
"""Shorter than a time slice, so that some batches are not disturbed by other processes."""
LEAST_BATCHES = 7
TOTAL_SECONDS = 0.25


@dataclass(frozen=True)
class Work:
    """What is measured: ``run`` on what ``prepare`` made.

    Attributes:
      run: the measured step; it gets what ``prepare`` returned, or nothing.
      prepare: makes a fresh input for each run, outside the measurement: for steps that a cache
        would answer the second time.
    """

    run: Callable[..., Any]
    prepare: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Metric:
    """One row of the table.

    Attributes:
      name: what is measured.
      goal: the ratio jxkernel / jax to reach, or None where nothing was promised.
      setup: makes the work for a library, outside the measurement.
      operations: how many operations one run does; figures are per operation.
    """

    name: str
    goal: float | None
    setup: Callable[[Library], Work]
    operations: int = 1


def seconds_per_run(library: Library, work: Work) -> float:
    """Return the best time of a run over many short batches, results waited for.

    The least of many times is the one that other work on the machine did not disturb.
    """
    wait = library.api.block_until_ready
    if work.prepare is None:
        number = _runs_per_batch(work.run, wait)
        return _best(lambda: _timed(work.run, number, wait) / number, number)
    prepare = work.prepare
    _timed(work.run, 1, wait, prepare())
    return _best(lambda: _timed(work.run, 1, wait, prepare()), 1)


def _runs_per_batch(run: Callable[..., Any], wait: Callable[[Any], Any]) -> int:
    number = 1
    while (elapsed := _timed(run, number, wait)) < BATCH_SECONDS:
        number *= max(2, min(100, int(BATCH_SECONDS / max(elapsed, 1e-7))))
    return number


def _best(batch: Callable[[], float], number: int) -> float:
    """Return the least time of a run over batches that take ``TOTAL_SECONDS`` together."""
    times: list[float] = []
    while len(times) < LEAST_BATCHES or sum(times) * number < TOTAL_SECONDS:
        times.append(batch())
    return min(times)


def _timed(
    run: Callable[..., Any], number: int, wait: Callable[[Any], Any], *prepared: Any
) -> float:
    result = None
    start = perf_counter()
    for _ in range(number):
        result = run(*prepared)
    wait(result)
    return perf_counter() - start


def _steps(library: Library, work: Work, repeats: int) -> list[Callable[[], Any]]:
    """Return ``repeats`` runs with their inputs prepared, after one that warms the caches."""
    wait = library.api.block_until_ready
    inputs = [(work.prepare(),) if work.prepare else () for _ in range(repeats + 1)]
    wait(work.run(*inputs[0]))
    return [partial(work.run, *given) for given in inputs[1:]]


def count_calls(library: Library, work: Work, repeats: int = 3) -> float:
    """Return the function calls (Python's and C's, as cProfile counts them) of one warm run."""
    steps = _steps(library, work, repeats)
    profile = cProfile.Profile()
    profile.enable()
    for step in steps:
        step()
    profile.disable()
    # The call of disable() is counted as well.
    return (sum(entry.callcount for entry in profile.getstats()) - 1) / repeats


def instructions_per_run(library: Library, work: Work, repeats: int = 3) -> float:
    """Return the machine instructions of one warm run, in a process that callgrind runs."""
    _steps(library, work, repeats)
    wait = library.api.block_until_ready
    return count_instructions(_steps(library, work, repeats), wait) / repeats
