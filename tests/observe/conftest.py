"""A clock that tests set by hand, for events with known times."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from jxkernel.events import bus


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
