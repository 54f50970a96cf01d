"""A clock that tests set by hand, and recorders that hear of first calls."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

import jxkernel as jx
from jxkernel.compile.keys import history
from jxkernel.events import bus
from jxkernel.observe import Recorder


class Clock:
    """Stands still until told to move."""

    def __init__(self) -> None:
        self.now_ns = 1_000_000

    def advance(self, milliseconds: float) -> None:
        """Moves forward."""
        self.now_ns += int(milliseconds * 1e6)

    def perf_counter_ns(self) -> int:
        """Reads the clock, as `time.perf_counter_ns` does."""
        return self.now_ns


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Makes the bus read this clock."""
    clock = Clock()
    monkeypatch.setattr(bus, "time", SimpleNamespace(perf_counter_ns=clock.perf_counter_ns))
    return clock


@pytest.fixture
def no_earlier_calls() -> None:
    """Makes the next call of each function its first."""
    jx.clear_caches()
    history.clear()


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    """Records while the test runs."""
    with Recorder() as recorder:
        yield recorder
