"""What a metric is, and how one is timed and counted inside a worker process."""

import cProfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, TypeVar

from benchmarks.instructions import count_instructions
from benchmarks.library import Library

__all__ = [
    "Metric",
    "Timer",
    "Work",
    "count_calls",
    "instructions_per_run",
    "repeated",
    "seconds_per_run",
]

T = TypeVar("T")

BATCH_SECONDS = 0.003
"""Shorter than a time slice, so that some batches are not disturbed by other processes."""
LEAST_BATCHES = 7
TOTAL_SECONDS = 0.4


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


class Timer:
    """Times a work batch by batch: a batch is long enough for the clock, its results waited for."""

    def __init__(self, library: Library, work: Work) -> None:
        self._work = work
        self._wait = library.api.block_until_ready
        self._runs = 1
        # The first run compiles, and says nothing of how long the next will take.
        self._batch()
        while work.prepare is None and (elapsed := self._undisturbed()) < BATCH_SECONDS:
            self._runs *= max(2, min(100, int(BATCH_SECONDS / max(elapsed, 1e-7))))

    def seconds(self) -> float:
        """Return the seconds of a run, over one batch."""
        return self._batch() / self._runs

    def _undisturbed(self) -> float:
        """Return the least of three batches: one that lost its core looks long enough at once."""
        return min(self._batch() for _ in range(3))

    def _batch(self) -> float:
        prepared = (self._work.prepare(),) if self._work.prepare else ()
        return _timed(self._work.run, self._runs, self._wait, *prepared)


def repeated(measure: Callable[[], T], share: float = 1.0) -> list[T]:
    """Return what a measurement gives time after time: often enough to have a quiet moment.

    Where there are very many of them, each may take a share of the usual time.
    """
    start = perf_counter()
    found: list[T] = []
    while len(found) < LEAST_BATCHES or perf_counter() - start < share * TOTAL_SECONDS:
        found.append(measure())
    return found


def seconds_per_run(library: Library, work: Work) -> float:
    """Return the least time of a run over many batches: the one that nothing else disturbed."""
    return min(repeated(Timer(library, work).seconds))


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
