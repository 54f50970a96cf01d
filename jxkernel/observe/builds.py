"""The ledger as a timeline: when each function was traced, lowered and compiled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jxkernel.observe.explain import LedgerRow

__all__ = ["Bar", "BuildTimeline", "IdleTime", "build_timeline"]

STAGES = ("trace", "lower", "compile")
OTHERS = "others"

_LANES = 12
_IDLE_PART = 0.04
_LEAST_IDLE = 0.002


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of work.

    Attributes:
      row: the number of the ledger's row.
      lane: the function, or ``others``.
      stage: trace, lower or compile.
      start: where it begins on the axis, in seconds of shown time.
      seconds: how long it took.
      fun: the function's name.
      cell: the cell, or empty.
    """

    row: int
    lane: str
    stage: str
    start: float
    seconds: float
    fun: str
    cell: str


@dataclass(frozen=True, slots=True)
class IdleTime:
    """Where idle time was taken out.

    Attributes:
      at: the place on the axis, in seconds of shown time.
      when: the wall-clock time at which work went on, in seconds since the epoch.
      seconds: how much was taken out.
    """

    at: float
    when: float
    seconds: float


@dataclass(frozen=True, slots=True)
class BuildTimeline:
    """Bars by function.

    Attributes:
      lanes: the functions that cost most, in the order of their first build; ``others`` last.
      bars: the bars, in order.
      breaks: where idle time was taken out.
      start: the wall-clock time of the first build, in seconds since the epoch.
      seconds: the length of the axis.
    """

    lanes: tuple[str, ...]
    bars: tuple[Bar, ...]
    breaks: tuple[IdleTime, ...]
    start: float
    seconds: float


def build_timeline(rows: Sequence[LedgerRow]) -> BuildTimeline:
    """Return the timeline of ledger rows.

    Args:
      rows: rows of a ledger, as ``observe.ledger`` gives them.

    >>> from jxkernel.observe import LedgerRow
    >>> from jxkernel.observe.builds import build_timeline
    >>> rows = [
    ...     LedgerRow(1, 1000.0, "In[1]", "f", 1, trace_ns=2_000_000, compile_ns=8_000_000),
    ...     LedgerRow(2, 2000.0, "In[2]", "g", 2, trace_ns=5_000_000),
    ... ]
    >>> [(one.lane, one.stage, round(one.start, 4)) for one in build_timeline(rows).bars]
    [('f', 'trace', 0.0), ('f', 'compile', 0.002), ('g', 'trace', 0.0106)]
    """
    worked = [row for row in rows if row.cost_ns]
    if not worked:
        return BuildTimeline((), (), (), 0.0, 0.0)
    worked.sort(key=lambda row: row.when)
    breaks, starts, end = _squeezed(worked)
    lanes = _lanes(worked)
    bars = tuple(
        bar for row, start in zip(worked, starts, strict=True) for bar in _bars(row, start)
    )
    known = frozenset(lanes)
    named = tuple(_in_lane(bar, bar.fun if bar.fun in known else OTHERS) for bar in bars)
    return BuildTimeline(lanes, named, tuple(breaks), worked[0].when, end)


def _squeezed(rows: Sequence[LedgerRow]) -> tuple[list[IdleTime], list[float], float]:
    """Where idle time is taken out, where each row starts, and where the axis ends."""
    work = sum(row.cost_ns for row in rows) / 1e9
    idle = max(work * _IDLE_PART, _LEAST_IDLE / 10)
    breaks: list[IdleTime] = []
    starts: list[float] = []
    end, until = 0.0, rows[0].when
    for row in rows:
        gap = row.when - until
        if gap > idle:
            breaks.append(IdleTime(end + idle / 2, row.when, gap - idle))
            gap = idle
        start = max(end + gap, 0.0)
        starts.append(start)
        if row.when + row.cost_ns / 1e9 > until:
            until = row.when + row.cost_ns / 1e9
            end = max(start + row.cost_ns / 1e9, end)
    return breaks, starts, end


def _lanes(rows: Sequence[LedgerRow]) -> tuple[str, ...]:
    costs: dict[str, int] = {}
    for row in rows:
        costs[row.fun] = costs.get(row.fun, 0) + row.cost_ns
    if len(costs) <= _LANES:
        return tuple(costs)
    kept = set(sorted(costs, key=lambda fun: -costs[fun])[: _LANES - 1])
    return (*(fun for fun in costs if fun in kept), OTHERS)


def _bars(row: LedgerRow, start: float) -> Iterable[Bar]:
    for stage in STAGES:
        seconds = getattr(row, f"{stage}_ns") / 1e9
        if seconds:
            yield Bar(row.number, "", stage, start, seconds, row.fun, row.cell or "")
            start += seconds


def _in_lane(bar: Bar, lane: str) -> Bar:
    return Bar(bar.row, lane, bar.stage, bar.start, bar.seconds, bar.fun, bar.cell)
