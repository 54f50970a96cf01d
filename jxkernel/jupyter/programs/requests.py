"""Whole programs for the explorer, of which a notebook keeps the beginning alone; costs by line.

A part may be asked for in any thread, in the midst of a cell.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict

from jxkernel.jupyter.programs.payload import LineCostsAnswer, ProgramPart
from jxkernel.jupyter.programs.view import equation_columns, program_data
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.view import tidied
from jxkernel.observe import line_costs as observed
from jxkernel.observe.outlined_programs import walk_kept
from jxkernel.observe.programs import Equation, Placed

__all__ = ["Programs", "line_costs", "program_part"]

_FIRST, _PART = 1_000, 5_000
"""How many equations the first part has, and each that follows."""


class Programs:
    """Whole programs, part by part: the first comes soon, and no message keeps others waiting."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()

    def part(self, token: str, start: int) -> ProgramPart:
        """Return a part of the equations of a program, and the programs that begin or end in it.

        Args:
          token: the outline's token.
          start: how many equations were received.

        Raises:
          LookupError: the program is gone.
        """
        with self._lock:
            if start == 0 or (token, start) != self._next:
                self._rest = walk_kept(token)
                deque(_taken(self._rest, start, []), maxlen=0)
            count = _PART if start else min(_FIRST, _PART)
            programs: list[Placed] = []
            # By columns as they come: to keep so many objects costs a collection of garbage.
            columns = equation_columns(start + 1, _taken(self._rest, count, programs))
            is_last = len(columns["text"]) < count
            self._next = (token, start + count)
            if is_last:
                self._forget()
        placed = [program_data(one) for one in programs]
        data = tidied({"programs": placed, "equations": columns, "is_last": is_last})
        return data  # type: ignore[return-value]  # as made

    def _forget(self) -> None:
        self._next = ("", 0)
        self._rest: Iterator[Placed | tuple[int, Equation]] = iter(())


_programs = Programs()


def program_part(session: Session, token: str, start: int) -> ProgramPart:
    """Return a part of a program that a view shows the beginning of."""
    return _programs.part(token, start)


def line_costs(session: Session) -> LineCostsAnswer:
    """Return what each line costs: estimates, and the time of the latest profile."""
    costs = {(one.file, one.line): asdict(one) for one in observed.line_costs()}
    for spot, device_ns in session.measured.items():
        file, _, line = spot.rpartition(":")
        place = (file, int(line))
        nothing = {"file": file, "line": int(line), "flops": 0, "bytes": 0}
        costs[place] = {**costs.get(place, nothing), "device_ns": device_ns}
    lines = [{"device_ns": 0, **one} for one in costs.values()]
    return tidied({"lines": lines})  # type: ignore[return-value]  # as made


def _taken(
    rest: Iterator[Placed | tuple[int, Equation]], count: int, programs: list[Placed]
) -> Iterator[tuple[int, Equation]]:
    """The next so many equations with their depths; the programs between them are set aside."""
    while count > 0:
        one = next(rest, None)
        if one is None:
            return
        if isinstance(one, Placed):
            programs.append(one)
        else:
            count -= 1
            yield one
