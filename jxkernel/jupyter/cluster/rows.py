"""Outputs of ranks put side by side while they come: each row is what ranks gave at one place.

A rank's place is the number of calls that it has made, of those that exchange with other ranks: no
clock.  What ranks give between two calls is put together in order, the first of each, the second of
each, and so on.  A row is whole when every rank has given its part of it, or has gone on without.
So the rows are the same however fast each rank is, and however often it was looked at.

A row waits until all ranks are known to have called the same programs up to there: no number is
shown that ranks in different orders computed.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from jxkernel.jupyter.cluster.outputs import Output

__all__ = ["Given", "Row", "Rows", "folded", "grouped"]

_LINES = 10
_VIEW = re.compile(r"jxk\w+n\d+|ipykernel_\d+|l\d+x[0-9a-f]+|(?<='token': ')[0-9a-f]{8}-\d+")
_FILE = re.compile(r"(?<=ipykernel_)\d+(?=[/\\]\d+\.py:)")
"""What tells a rank's file of a cell, which a warning names, from that of another."""


class Given(NamedTuple):
    """What a rank has given since it was looked at.

    Attributes:
      is_done: whether it has ended.
      has_failed: whether it has ended with an error.
      calls: how many calls it has made.
      orders: what tells the calls so far from others, after each that was not told yet.
      outputs: the pieces.
      line: the line that has not ended.
    """

    is_done: bool = False
    has_failed: bool = False
    calls: int = 0
    orders: tuple[int, ...] = ()
    outputs: tuple[Output, ...] = ()
    line: str = ""


Row = dict[int, Output]
"""What ranks gave at one place, by rank."""


class _Lane:
    """What is known of one rank."""

    def __init__(self) -> None:
        self.outputs: deque[Output] = deque()
        self.orders: deque[int] = deque()
        self.calls = 0
        self.is_over = False
        self.has_failed = False
        self.line = ""


class Rows:
    """The outputs of ranks that run one job.

    Args:
      ranks: the ranks.

    Attributes:
      agreed: up to how many calls the ranks are known to have made the same.
      differ: whether they are known to have made others after those.
    """

    def __init__(self, ranks: Iterable[int]) -> None:
        self._lanes = {rank: _Lane() for rank in ranks}
        self.agreed = 0
        self.differ = False

    def take(self, rank: int, given: Given) -> None:
        """Add what a rank has given."""
        lane = self._lanes[rank]
        lane.outputs += given.outputs
        lane.orders += given.orders
        lane.calls, lane.line = given.calls, given.line
        lane.is_over, lane.has_failed = given.is_done, given.has_failed
        self._compare()

    def drop(self, rank: int) -> None:
        """Expect no more of a rank that is lost."""
        self._lanes[rank].is_over = self._lanes[rank].has_failed = True
        self._compare()

    def _compare(self) -> None:
        while not self.differ and self.agreed < sys.maxsize:
            # A rank that has failed makes no more calls, and the others may be ahead of it.
            lanes = [one.orders for one in self._lanes.values() if one.orders or not one.has_failed]
            if not (lanes and all(lanes)):
                return
            self.differ = len({orders[0] for orders in lanes}) > 1
            if not self.differ:
                self.agreed += 1
                for orders in lanes:
                    orders.popleft()

    def trust(self) -> None:
        """Know from elsewhere that all ranks made the same calls to the end."""
        self.agreed = sys.maxsize
        self.differ = False

    def end(self) -> None:
        """Expect no more of any rank."""
        for lane in self._lanes.values():
            lane.is_over = True

    def whole(self) -> Iterator[Row]:
        """Take out the rows that are whole, in order."""
        while True:
            heads = {rank: lane.outputs[0] for rank, lane in self._lanes.items() if lane.outputs}
            alone = [rank for rank, one in heads.items() if self._is_for_itself(one)]
            place = min((one.calls for one in heads.values()), default=0)
            if alone:
                there = alone[:1]
            elif heads and place <= self.agreed and self._all_came_past(place):
                there = [rank for rank, one in heads.items() if one.calls == place]
            else:
                return
            yield {rank: self._lanes[rank].outputs.popleft() for rank in there}

    def _is_for_itself(self, output: Output) -> bool:
        """Whether it changes what is shown already, whatever others do."""
        return output.kind in ("update", "clear") and output.calls <= self.agreed

    def _all_came_past(self, place: int) -> bool:
        """Whether each rank has something to show here, or will not have any more."""
        return all(
            lane.outputs or lane.is_over or lane.calls > place for lane in self._lanes.values()
        )

    def waiting(self) -> dict[int, str]:
        """Return what ranks have printed that cannot be shown yet, the latest lines of each."""
        found = {rank: self._latest(lane) for rank, lane in self._lanes.items()}
        return {rank: lines for rank, lines in found.items() if lines}

    def _latest(self, lane: _Lane) -> str:
        known = [one.text for one in lane.outputs if one.calls <= self.agreed][-_LINES:]
        lines = [*"".join(known).splitlines(), *([lane.line] if lane.line else [])]
        return "\n".join(lines[-_LINES:])


def grouped(values: Mapping[int, Any]) -> list[tuple[list[int], Any]]:
    """Return the values that differ, each with its ranks, the one of the least rank first."""
    groups: list[tuple[list[int], Any]] = []
    for rank, value in sorted(values.items(), key=lambda told: told[0]):
        for ranks, known in groups:
            if known == value:
                ranks.append(rank)
                break
        else:
            groups.append(([rank], value))
    return groups


def folded(row: Row) -> list[tuple[list[int], Output]]:
    """Return the pieces of a row that differ, each with its ranks."""
    contents = {rank: _content(output) for rank, output in row.items()}
    return [(ranks, row[ranks[0]]) for ranks, _ in grouped(contents)]


def _content(output: Output) -> Any:
    """Return what tells a piece from those of other ranks: not names of views and files."""
    data = {kind: _VIEW.sub("", str(one)) for kind, one in output.data.items()}
    return output.kind, _FILE.sub("", output.text), data
