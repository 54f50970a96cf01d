"""When a rank made its calls: kept for the latest cells, and given when the notebook asks."""

from __future__ import annotations

import linecache
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jxkernel import source
from jxkernel.cluster.guard import Call

__all__ = ["CELLS", "Moments"]

CELLS = 4
"""Of how many cells the moments are kept."""

_MOST_SEEN = 1_000


@dataclass
class _Cell:
    number: int
    count: int
    began: int
    ended: int = 0
    made: int = 0
    calls: tuple[Call, ...] = ()
    seen: list[tuple[int, int, source.Frame]] = field(default_factory=list)


class Moments:
    """The moments of the latest cells, by this process's monotonic clock, in nanoseconds."""

    def __init__(self) -> None:
        self._cells: deque[_Cell] = deque(maxlen=CELLS)

    def begin(self, number: int, count: int) -> Callable[[tuple[Call, ...], int], None]:
        """Begin a cell; what is returned ends it, with its first calls, and how many it made.

        Args:
          number: the job's number.
          count: the number that the notebook gives the cell.
        """
        cell = _Cell(number, count, time.monotonic_ns())
        self._cells.append(cell)

        def end(calls: tuple[Call, ...], made: int) -> None:
            cell.calls, cell.made, cell.ended = calls, made, time.monotonic_ns()

        return end

    def see(self, number: int, made: int, frame: source.Frame | None) -> None:
        """Note the line at which a job is seen after some calls, if the job is a cell."""
        cell = self._cells[-1] if self._cells else None
        if cell and cell.number == number and frame and len(cell.seen) < _MOST_SEEN:
            cell.seen.append((time.monotonic_ns(), made, frame))

    def told(self, naming: Callable[[str, int], str]) -> list[dict[str, Any]]:
        """Return the cells that have ended as plain values, the latest last.

        Args:
          naming: what a line of a file is called.
        """
        return [_plain(cell, naming) for cell in list(self._cells) if cell.ended]


def _plain(cell: _Cell, naming: Callable[[str, int], str]) -> dict[str, Any]:
    kinds = {(one.fingerprint, one.name, one.frame): 0 for one in cell.calls}
    numbers = {kind: number for number, kind in enumerate(kinds)}
    return {
        "number": cell.number,
        "count": cell.count,
        "began": cell.began,
        "ended": cell.ended,
        "made": cell.made,
        "kinds": [(mark, name, *_line(frame, naming)) for mark, name, frame in kinds],
        "calls": [
            (numbers[one.fingerprint, one.name, one.frame], one.moment) for one in cell.calls
        ],
        "seen": [(moment, made, *_line(frame, naming)) for moment, made, frame in cell.seen],
    }


def _line(frame: source.Frame | None, naming: Callable[[str, int], str]) -> tuple[str, str]:
    if frame is None:
        return "", ""
    return naming(frame.file, frame.line), linecache.getline(frame.file, frame.line).strip()
