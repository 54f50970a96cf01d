"""True times for asynchronous work: a timer that waits, and measures dispatch apart.

``SyncTimer`` takes the place of the ``Timer`` that IPython's ``%timeit`` resolves. Without a
``Measurement`` in the context it is IPython's own. With one, its clock waits for what the timed
code left under way before it reads the time, so a run of n loops gives the pipelined time of a
loop, and runs of one loop give the dispatch and the latency. Nothing is called inside the loop:
results reach the clock as locals of the timed frame, and what is held elsewhere (a model's
attributes, a global) is found among the arrays alive.

Where the code runs programs over several processes all ranks must run it equally often. So they
tell each other their times, and each goes by the slowest's.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from IPython.core.magics import execution

from jxkernel.config import launch_hook
from jxkernel.events import Compiled, Executed, Lowered, Traced
from jxkernel.jupyter.timing.rewriting import Rewriter
from jxkernel.observe import Recorder, Totals
from jxkernel.observe.explain import format_duration
from jxkernel.runtime import ArrayImpl, arrays_in, settle, under_way, wait

__all__ = ["BUILDS", "Measurement", "StockTimer", "SyncTimer", "measuring"]

StockTimer = execution.Timer
"""IPython's own timer."""

BUILDS = (Traced, Lowered, Compiled)
"""The events whose time is told apart from that of running."""

_LEAST_SINGLES = 3
_SINGLE_RUNS = 200
_SINGLE_SECONDS = 0.25
_LARGE = 10_000


@dataclass(slots=True)
class Measurement:
    """What one ``%timeit`` saw besides its own figures.

    Attributes:
      rewriter: what rewrote the timed code, done once the code runs; None where the code seems to
        have no part in jxkernel.
      active: whether the timed code made arrays of jxkernel's.
      warm: what was traced, lowered and compiled before the figures; None before the first loop.
      dispatch_ns: median time until the timed code returned.
      latency_ns: median time until its results existed.
      pipelined_ns: time of one loop among many, when only the end is awaited.
      measures_time: whether the clock is a wall clock; a CPU clock cannot see waits.
      recorder: records what is built.
      singles: for each run of a single loop the seconds until it returned, and until its results
        existed.
      loops: how many loops a run has.
      ranks: for each run the seconds that each rank took; none where there are no others.
    """

    rewriter: Rewriter | None = None
    active: bool = False
    warm: Totals | None = None
    dispatch_ns: float = 0.0
    latency_ns: float = 0.0
    pipelined_ns: float = 0.0
    measures_time: bool = True
    recorder: Recorder = field(default_factory=lambda: Recorder(capacity=1, kinds=BUILDS))
    singles: list[tuple[float, float]] = field(default_factory=list)
    waited: float = 0.0
    loops: int = 1
    ranks: list[dict[int, float]] = field(default_factory=list)

    def slowest(self, elapsed: float) -> float:
        """Return the time of the slowest rank, whose wait is then that of all."""
        told = launch_hook.value.exchange(json.dumps((elapsed, self.waited)))
        times = {rank: json.loads(said) for rank, said in told.items()}
        self.ranks.append({rank: seconds for rank, (seconds, _) in times.items()})
        elapsed, self.waited = max(times.values())
        return elapsed

    @property
    def build_ns(self) -> int:
        """Time of tracing, lowering and compiling before the figures."""
        return self.warm.build_ns if self.warm else 0

    def line(self, digits: int = 3) -> str:
        """The line that is printed under IPython's own.

        Args:
          digits: how many figures of each time to write, as ``-p`` asks.
        """
        told = self._builds(digits)
        if not self.measures_time:
            return f"-c reads processor time, which does not pass during a wait{told}"
        figures = (
            f"dispatch {format_duration(self.dispatch_ns, digits)}",
            f"pipelined {format_duration(self.pipelined_ns, digits)}",
            f"latency {format_duration(self.latency_ns, digits)}",
        )
        line = f"{' · '.join(figures)} per loop{told}"
        if self.pipelined_ns > 1.1 * self.latency_ns:
            line += "; pipelined is above latency: calls that are made at once share cores"
        return line

    def ranks_line(self, digits: int = 3) -> str:
        """The line about the slowest and the fastest rank; empty where there is one."""
        if not self.ranks or not self.measures_time:
            return ""
        times = {
            rank: 1e9 * statistics.median(run[rank] for run in self.ranks) / self.loops
            for rank in self.ranks[0]
        }
        (fastest, least), *_, (slowest, most) = sorted(times.items(), key=lambda one: one[1])
        return (
            f"slowest rank {slowest} {format_duration(most, digits)} · "
            f"fastest rank {fastest} {format_duration(least, digits)} per loop"
        )

    def _builds(self, digits: int) -> str:
        """What was built, in brackets: before the figures, and within them."""
        told = [f"compile {format_duration(self.build_ns, digits)}, once"] if self.build_ns else []
        totals = self.recorder.totals()
        warm = self.warm or Totals()
        again = max(totals.traces - warm.traces, totals.compiles - warm.compiles)
        if again:
            spent = format_duration(totals.build_ns - warm.build_ns, digits)
            times = "once" if again == 1 else f"{again} times"
            told.append(f"built again {times} in these loops, {spent}: see %jx ledger")
        return f" ({'; '.join(told)})" if told else ""


_measurement: ContextVar[Measurement | None] = ContextVar("jxkernel_measurement", default=None)


@contextmanager
def measuring(rewriter: Rewriter | None = None) -> Iterator[Measurement]:
    """Let the timers made inside the block wait for results."""
    measurement = Measurement(rewriter)
    token = _measurement.set(measurement)
    try:
        with measurement.recorder:
            yield measurement
    finally:
        _measurement.reset(token)


class SyncTimer(StockTimer):
    """IPython's timer, which under a ``Measurement`` waits for results."""

    def timeit(self, number: int = 1_000_000) -> float:
        """Times ``number`` loops; before the first time, what must be compiled is compiled."""
        measurement = _measurement.get()
        if measurement is None:
            return super().timeit(number)
        if measurement.warm is None:
            elapsed = self._first(number, measurement)
            if elapsed is not None:
                return elapsed
        return self._timed(number, measurement)

    def _timed(self, number: int, measurement: Measurement) -> float:
        clock = self.timer
        measurement.measures_time = clock in (time.perf_counter, time.time)
        self.timer = _WaitingClock(clock, measurement)
        # Code that is timed may use the magics itself, each under a measurement of its own.
        token = _measurement.set(None)
        before = _programs()
        try:
            elapsed = super().timeit(number)
        finally:
            _measurement.reset(token)
            self.timer = clock
        return measurement.slowest(elapsed) if _programs() > before else elapsed

    def _first(self, number: int, measurement: Measurement) -> float | None:
        """Run the code for the first time; give its time where no more need be done.

        Code that may use jxkernel runs once, to be traced and compiled. Other code runs exactly as
        often as without jxkernel, unless it turns out to have used it after all.
        """
        if measurement.rewriter is not None:
            measurement.rewriter.done = True
            with Recorder(capacity=1, kinds=(Executed, *BUILDS)) as recorder:
                self._timed(1, measurement)
            measurement.active |= recorder.totals() != Totals()
            measurement.warm = measurement.recorder.totals()
            return None
        elapsed = self._timed(number, measurement)
        measurement.warm = measurement.recorder.totals()
        measurement.active |= measurement.warm != Totals()
        return None if measurement.active else elapsed

    def repeat(self, repeat: int = 5, number: int = 1_000_000) -> list[float]:
        """Times ``number`` loops ``repeat`` times, and then single loops."""
        measurement = _measurement.get()
        if measurement is None:
            return super().repeat(repeat, number)
        runs: list[float] = []
        measurement.ranks.clear()
        measurement.loops = number
        for _ in range(repeat):
            runs.append(self.timeit(number))
            if number == 1:
                measurement.singles.append((runs[-1] - measurement.waited, runs[-1]))
        if runs and measurement.active and measurement.measures_time:
            measurement.pipelined_ns = 1e9 * statistics.median(runs) / number
            self._measure_singles(measurement)
        return runs

    def _measure_singles(self, measurement: Measurement) -> None:
        """Run single loops until there are enough; runs of one loop each are such already."""
        singles = measurement.singles
        least = 0 if singles else _LEAST_SINGLES
        spent = sum(latency for _, latency in singles)
        runs = len(measurement.ranks)
        while len(singles) < _SINGLE_RUNS and (len(singles) < least or spent < _SINGLE_SECONDS):
            began = time.perf_counter()
            latency = self._timed(1, measurement)
            singles.append((latency - measurement.waited, latency))
            # Ranks that share a program must come to the same number of runs.
            spent += latency if runs else time.perf_counter() - began
        del measurement.ranks[runs:]
        measurement.dispatch_ns = 1e9 * statistics.median(one for one, _ in singles)
        measurement.latency_ns = 1e9 * statistics.median(one for _, one in singles)


class _WaitingClock:
    """A clock that is read at the start and at the end of a run.

    At the start it waits until nothing is under way, or takes note of what is where the code seems
    to have no part in it. At the end it waits for what the code left under way, and reads when
    that existed.
    """

    def __init__(self, clock: Callable[[], float], measurement: Measurement) -> None:
        self._clock = clock
        self._measurement = measurement
        self._started = False
        self._others: list[Any] = []

    def __call__(self) -> float:
        clock = self._clock
        if not self._started:
            self._started = True
            if self._measurement.rewriter is None:
                self._others = under_way()
            else:
                settle()
            return clock()
        ready = returned = clock()
        held = _held(sys._getframe(1).f_locals)
        if held:
            ready = _ready_time(clock, held)
        known = {id(array) for array in self._others}
        elsewhere = [array for array in under_way() if id(array) not in known]
        if elsewhere:
            ready = _ready_time(clock, elsewhere)
        if held or elsewhere:
            self._measurement.active = True
        self._measurement.waited = ready - returned
        return ready


def _programs() -> int:
    """Return how many programs over several processes have been called."""
    guard = launch_hook.value
    return 0 if guard is None else guard.count


def _held(values: Any) -> list[Any]:
    """The arrays among a frame's locals, those in small containers included."""
    found: list[Any] = []
    for value in values.values():
        if type(value) is ArrayImpl:
            found.append(value)
        elif isinstance(value, tuple | list | dict) and len(value) < _LARGE:
            found += arrays_in(value)
    return [array for array in found if not array.is_deleted()]


def _ready_time(clock: Callable[[], float], arrays: list[Any]) -> float:
    """The clock's reading when the arrays existed, although this thread may wake up later."""
    ready_ns = wait(arrays)
    return clock() - (time.perf_counter_ns() - ready_ns) / 1e9
