"""True times for asynchronous work: a timer that waits, and measures dispatch apart.

Purpose: what `%timeit` and `%time` need to be right for calls that return before their result
exists.

Place in the pipeline: `magics.timing` wraps IPython's own magics in what is here.

Must not know: how a magic's line is parsed.

`SyncTimer` takes the place of the `Timer` that IPython's `%timeit` resolves. Without a
`Measurement` in the context it is IPython's own. With one, its clock waits for the arrays that
the timed frame holds before it reads the time, so a run of n loops gives the pipelined time of a
loop, and runs of one loop give the dispatch and the latency. Nothing is called inside the loop:
results reach the clock as locals of the timed frame.
"""

from __future__ import annotations

import ast
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from IPython.core.magics import execution

from jxkernel.events import Compiled, Lowered, Traced
from jxkernel.jupyter.waiting import arrays_in, wait
from jxkernel.observe import Recorder
from jxkernel.observe.explain import format_duration
from jxkernel.runtime import ArrayImpl

__all__ = ["KeepResults", "Measurement", "StockTimer", "SyncTimer", "WaitForResults", "measuring"]

StockTimer = execution.Timer
"""IPython's own timer."""

RESULT = "__jx_result__"
"""The local of the timed frame that holds the value of an expression statement."""

_SINGLE_RUNS = 200
_SINGLE_SECONDS = 0.25
_BUILDS = (Traced, Lowered, Compiled)


@dataclass(slots=True)
class Measurement:
    """What one `%timeit` saw besides its own figures.

    Attributes:
      active: whether arrays of jxkernel's came out of the timed code.
      build_ns: time of tracing, lowering and compiling, all of it before the figures.
      builds: how many executables were compiled.
      dispatch_ns: median time until the timed code returned.
      latency_ns: median time until its results existed.
      pipelined_ns: time of one loop among many, when only the end is waited for.
      measures_time: whether the clock is a wall clock; a CPU clock cannot see waits.
    """

    active: bool = False
    build_ns: int = 0
    builds: int = 0
    dispatch_ns: float = 0.0
    latency_ns: float = 0.0
    pipelined_ns: float = 0.0
    measures_time: bool = True
    returned: float = 0.0
    singles: list[tuple[float, float]] = field(default_factory=list)

    def line(self) -> str:
        """The line that is printed under IPython's own."""
        once = f" (compile {format_duration(self.build_ns)}, once)" if self.build_ns else ""
        if not self.measures_time:
            return f"-c reads CPU time, which does not pass while a device works{once}"
        figures = (
            f"dispatch {format_duration(self.dispatch_ns)}",
            f"pipelined {format_duration(self.pipelined_ns)}",
            f"latency {format_duration(self.latency_ns)}",
        )
        return f"{' · '.join(figures)} per loop{once}"


_measurement: ContextVar[Measurement | None] = ContextVar("jxkernel_measurement", default=None)


@contextmanager
def measuring() -> Iterator[Measurement]:
    """Lets the timers made inside the block wait for results."""
    measurement = Measurement()
    token = _measurement.set(measurement)
    try:
        yield measurement
    finally:
        _measurement.reset(token)


class SyncTimer(StockTimer):
    """IPython's timer, which under a `Measurement` waits for results."""

    def timeit(self, number: int = 1_000_000) -> float:
        """Times `number` loops; the first time, with whatever must be compiled before them."""
        measurement = _measurement.get()
        if measurement is None:
            return super().timeit(number)
        clock, self.timer = self.timer, _waiting_clock(self.timer, measurement)
        measurement.measures_time = clock in (time.perf_counter, time.time)
        try:
            if not measurement.active:
                elapsed = self._first(number, measurement)
                if elapsed is not None:
                    return elapsed
            return super().timeit(number)
        finally:
            self.timer = clock

    def _first(self, number: int, measurement: Measurement) -> float | None:
        """Times the loops, or gives None where that has traced or compiled and must be redone.

        Code that makes no arrays is thereby run exactly as often as without jxkernel.
        """
        with Recorder(kinds=_BUILDS) as recorder:
            elapsed = super().timeit(number)
        totals = recorder.totals()
        measurement.build_ns += totals.build_ns
        measurement.builds += totals.compiles
        if totals.traces or totals.compiles:
            measurement.active = True
            return None
        return elapsed

    def repeat(self, repeat: int = 5, number: int = 1_000_000) -> list[float]:
        """Times `number` loops `repeat` times, and then single loops."""
        runs = super().repeat(repeat, number)
        measurement = _measurement.get()
        if measurement is not None and measurement.active and measurement.measures_time:
            measurement.pipelined_ns = 1e9 * statistics.median(runs) / number
            self._measure_singles(measurement)
        return runs

    def _measure_singles(self, measurement: Measurement) -> None:
        singles = measurement.singles
        end = time.perf_counter() + _SINGLE_SECONDS
        while len(singles) < _SINGLE_RUNS and (len(singles) < 3 or time.perf_counter() < end):
            latency = self.timeit(1)
            singles.append((latency - measurement.returned, latency))
        measurement.dispatch_ns = 1e9 * statistics.median(one for one, _ in singles)
        measurement.latency_ns = 1e9 * statistics.median(one for _, one in singles)


def _waiting_clock(clock: Callable[[], float], measurement: Measurement) -> Callable[[], float]:
    """A clock that waits, before it is read, for the arrays in the frame that reads it."""

    def read() -> float:
        returned = clock()
        values = sys._getframe(1).f_locals
        result = values.get(RESULT)
        if type(result) is not ArrayImpl:
            result = None
        ready = returned if result is None else _ready_time(clock, [result])
        others = [one for one in arrays_in(*values.values()) if one is not result]
        if any(not one.is_deleted() and not one.is_ready() for one in others):
            ready = _ready_time(clock, others)
        elif others and result is None:
            ready = clock()
        if others or result is not None:
            measurement.active = True
        measurement.returned = ready - returned
        return ready

    return read


def _ready_time(clock: Callable[[], float], arrays: list[Any]) -> float:
    """The clock's reading when the arrays existed, although this thread may wake up later."""
    ready_ns = wait(arrays)
    return clock() - (time.perf_counter_ns() - ready_ns) / 1e9


class KeepResults(ast.NodeTransformer):
    """Binds the value of each top-level expression to a local, so that the clock finds it."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Rewrites the top-level statements; what is inside them stays."""
        node.body = [_kept(statement) for statement in node.body]
        return node


def _kept(statement: ast.stmt) -> ast.stmt:
    if not isinstance(statement, ast.Expr):
        return statement
    target = ast.Name(RESULT, ast.Store())
    return ast.fix_missing_locations(
        ast.copy_location(ast.Assign([target], statement.value), statement)
    )


class WaitForResults(ast.NodeTransformer):
    """Passes the value of each top-level expression and assignment through a function.

    Args:
      name: the name under which the timed code finds the function.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Rewrites the top-level statements; what is inside them stays."""
        for statement in node.body:
            if isinstance(statement, ast.Expr | ast.Assign | ast.AugAssign):
                statement.value = self._waiting(statement.value)
        return node

    def _waiting(self, value: ast.expr) -> ast.expr:
        call = ast.Call(ast.Name(self._name, ast.Load()), [value], [])
        return ast.fix_missing_locations(ast.copy_location(call, value))
