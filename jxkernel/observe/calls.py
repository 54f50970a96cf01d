"""Calls that are measured: repeated, on arguments that are whole each time."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from jxkernel import events
from jxkernel.events import Compiled, Executed, Lowered, Traced
from jxkernel.numpy import copy
from jxkernel.observe.recorder import Recorder, Totals
from jxkernel.runtime import ArrayImpl, arrays_in, wait
from jxkernel.tree import physical

__all__ = ["Calls", "no_collections"]

_SINGLES = (3, 1_000)
_SECONDS = 0.5
_BATCHES = 20
_BATCH_SECONDS = 0.003
"""Shorter than a time slice, so that most batches are not disturbed by other processes."""
_COPIED_BYTES = 2**28


class Calls:
    """Calls of a function with arguments that are whole each time.

    Args:
      function: the function.
      args: its arguments.
      kwargs: its keyword arguments.
      hidden: whether it is called inside ``events.private()``.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        hidden: bool,
    ) -> None:
        self.function = function
        self._hidden = hidden
        self._leaves, self._structure = physical.flatten((args, kwargs))
        self._given_away: tuple[int, ...] = ()
        self.result: Any = None

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments for one call: fresh copies in place of those that it gives away."""
        leaves = list(self._leaves)
        for index in self._given_away:
            leaves[index] = copy(leaves[index])
        wait(leaves[index] for index in self._given_away)
        return self._structure.unflatten(leaves)

    def first(self) -> Totals:
        """Call for the first time, on copies; see what of them is gone and what was built."""
        arrays = [i for i, leaf in enumerate(self._leaves) if type(leaf) is ArrayImpl]
        leaves = list(self._leaves)
        for index in arrays:
            leaves[index] = copy(leaves[index])
        args, kwargs = self._structure.unflatten(leaves)
        with self._recorder(Traced, Lowered, Compiled) as builds:
            self._wait(self.function(*args, **kwargs))
        self._given_away = tuple(index for index in arrays if leaves[index].is_deleted())
        return builds.totals()

    def count_programs(self) -> int:
        """Call once more, and count the executables that it runs."""
        args, kwargs = self.arguments()
        with self._recorder(Executed) as recorder:
            self._wait(self.function(*args, **kwargs))
        return recorder.totals().executions

    def singles(self) -> list[tuple[float, float]]:
        """Times single calls: the seconds until each returned, and until its result existed."""
        least, most = _SINGLES
        times: list[tuple[float, float]] = []
        end = time.perf_counter() + _SECONDS
        while len(times) < least or (len(times) < most and time.perf_counter() < end):
            args, kwargs = self.arguments()
            started = time.perf_counter_ns()
            result = self.function(*args, **kwargs)
            returned = time.perf_counter_ns()
            ready = self._wait(result)
            times.append(((returned - started) / 1e9, (ready - started) / 1e9))
        return times

    def pipelined(self, latency: float) -> list[float]:
        """Times calls one after the other, the last waited for: the seconds of each among them."""
        number = min(max(int(_BATCH_SECONDS / max(latency, 1e-9)), 2), 1_000)
        copied = sum(self._leaves[index].nbytes for index in self._given_away)
        if copied:
            number = min(number, max(_COPIED_BYTES // copied, 2))
        times: list[float] = []
        for _ in range(min(_BATCHES, max(int(_SECONDS / (number * latency)), 1))):
            given = [self.arguments() for _ in range(number)] if self._given_away else None
            calls = given or [self.arguments()] * number
            result = None
            started = time.perf_counter_ns()
            for args, kwargs in calls:
                result = self.function(*args, **kwargs)
            times.append((self._wait(result) - started) / 1e9 / number)
        return times

    def _recorder(self, *kinds: type[events.Event]) -> Recorder:
        return Recorder(capacity=1, kinds=kinds, private=self._hidden)

    def _wait(self, result: Any) -> int:
        self.result = result
        return wait(arrays_in(result))


@contextmanager
def no_collections() -> Iterator[None]:
    """Keep Python's collector from running inside a measurement, as ``timeit`` does."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
