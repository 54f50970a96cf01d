"""Where the ranks of a cell meet: who came last to a program, and how long the others waited.

A program begins when all ranks have called it and the one before has begun.  A rank may call some
ahead, so it waits from its call, or from the beginning of the program before, whichever is later:
who is late once is not blamed for all that was called behind.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jxkernel.jupyter.cluster import rank as engine
from jxkernel.jupyter.cluster.controller import Cluster

__all__ = ["Cell", "Meeting", "Way", "cell_of", "gathered_cells"]

_ROUNDS = 5
_ANSWER_SECONDS = 2.0

Told = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Meeting:
    """A program that all ranks called.

    Attributes:
      number: the how many-th of its cell.
      name: its name.
      began_ns: when it could begin, by the notebook's clock.
      last: the rank that came last.
      came_ns: when each rank called it.
      waits: how long each rank waited, in nanoseconds.
      places: the line at which each rank called it, in words, and its code.
      late_at: the line at which the last rank was seen before it came, and its code; empty where
        it was not seen.
    """

    number: int
    name: str
    began_ns: float
    last: int
    came_ns: Mapping[int, float]
    waits: Mapping[int, float]
    places: Mapping[int, tuple[str, str]]
    late_at: tuple[str, str]

    @property
    def waited_ns(self) -> float:
        """How long the rank waited that waited longest."""
        return max(self.waits.values())


@dataclass(frozen=True, slots=True)
class Way:
    """How one rank went through a cell, in nanoseconds by the notebook's clock.

    Attributes:
      began_ns: when it began.
      ended_ns: when it came out.
      calls: when it made each call.
    """

    began_ns: float
    ended_ns: float
    calls: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell on all ranks.

    Attributes:
      count: its number in the notebook.
      ways: how each rank went through it.
      meetings: the programs that all ranks called.
      hidden: calls that are not told: too many, or not made by all ranks alike.
      error_ns: by how much the clocks of ranks may be set wrongly against the notebook's.
      silent: ranks that did not answer, or did not run it.
    """

    count: int
    ways: Mapping[int, Way]
    meetings: tuple[Meeting, ...]
    hidden: int
    error_ns: float
    silent: tuple[int, ...]


def gathered_cells(found: Cluster) -> list[Cell]:
    """Return the latest cells of a cluster, the latest last, as the ranks that answer tell them."""
    told: dict[int, dict[int, Told]] = {}
    clocks: dict[int, tuple[float, float]] = {}
    for rank in range(found.size):
        clock = _clock(found, rank)
        cells = found.ask(rank, engine.moments, timeout=_ANSWER_SECONDS) if clock else None
        if clock and cells is not None:
            clocks[rank] = clock
            for one in cells:
                told.setdefault(one["number"], {})[rank] = one
    return [cell_of(told[number], clocks, found.size) for number in sorted(told)]


def _clock(found: Cluster, rank: int) -> tuple[float, float] | None:
    """Return how far a rank's clock is ahead of this one, and by how much that may be wrong."""
    rounds = []
    for _ in range(_ROUNDS):
        asked = time.monotonic_ns()
        there = found.ask(rank, engine.clock, timeout=_ANSWER_SECONDS)
        if there is None:
            return None
        half = (time.monotonic_ns() - asked) / 2
        rounds.append((half, there - asked - half))
    half, ahead = min(rounds)
    return ahead, half


def cell_of(told: Mapping[int, Told], clocks: Mapping[int, tuple[float, float]], size: int) -> Cell:
    """Return a cell, from what each rank tells of it.

    Args:
      told: the moments of each rank, see ``moments.Moments.told``.
      clocks: how far each rank's clock is ahead, and by how much that may be wrong.
      size: the number of ranks.
    """
    ways = {
        rank: Way(
            one["began"] - clocks[rank][0],
            one["ended"] - clocks[rank][0],
            tuple(moment - clocks[rank][0] for _, moment in one["calls"]),
        )
        for rank, one in sorted(told.items())
    }
    meetings = _meetings(told, clocks, ways)
    return Cell(
        count=next(iter(told.values()))["count"],
        ways=ways,
        meetings=tuple(meetings),
        hidden=max(one["made"] for one in told.values()) - len(meetings),
        error_ns=max(clocks[rank][1] for rank in ways),
        silent=tuple(rank for rank in range(size) if rank not in ways),
    )


def _meetings(
    told: Mapping[int, Told],
    clocks: Mapping[int, tuple[float, float]],
    ways: Mapping[int, Way],
) -> list[Meeting]:
    meetings: list[Meeting] = []
    before = float("-inf")
    for index in range(min(len(way.calls) for way in ways.values())):
        kinds = {rank: one["kinds"][one["calls"][index][0]] for rank, one in told.items()}
        if len({kind[0] for kind in kinds.values()}) > 1:
            break
        ready = {rank: max(way.calls[index], before) for rank, way in ways.items()}
        last = max(ways, key=lambda rank: ways[rank].calls[index])
        begins = max(ready.values())
        # What it was seen at before the program before began is where it waited for others.
        since = before + clocks[last][0]
        meeting = Meeting(
            index + 1,
            kinds[last][1],
            begins,
            last,
            {rank: way.calls[index] for rank, way in ways.items()},
            {rank: begins - moment for rank, moment in ready.items()},
            {rank: (kind[2], kind[3]) for rank, kind in kinds.items()},
            _late_at(told[last], index, since),
        )
        meetings.append(meeting)
        before = begins
    return meetings


def _late_at(told: Told, made: int, since: float) -> tuple[str, str]:
    """Return the line at which a rank was seen most after some calls, and its code."""
    until = told["calls"][made][1]
    seen = Counter(
        (place, code)
        for moment, count, place, code in told["seen"]
        if count == made and since <= moment <= until
    )
    return seen.most_common(1)[0][0] if seen else ("", "")
