"""Lines that say where the ranks of a cell are, once it takes long, and what they print."""

from __future__ import annotations

import sys
import time
from typing import Any

from jxkernel.jupyter.cluster.folding import ranks_named
from jxkernel.jupyter.cluster.rows import grouped
from jxkernel.jupyter.cluster.watch import Watch, seems_to_wait
from jxkernel.jupyter.views.passing import PassingOutput

__all__ = ["Progress", "places_told"]

_SILENT_SECONDS = 3.0
_STEP_SECONDS = 0.5
_LATE_SECONDS = 0.2


class Progress:
    """Shows, and shows anew, where the ranks are, and what some print ahead of others.

    Args:
      is_live: whether a display can be changed; else each new line is written to stderr.
    """

    def __init__(self, is_live: bool) -> None:
        self._started = time.monotonic()
        self._next = self._started + _STEP_SECONDS
        self._output = PassingOutput() if is_live else None
        self._told = ""

    def __call__(self, watch: Watch) -> None:
        """Look at a watch, twice a second at the most."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _STEP_SECONDS
        ahead = _printed(watch) if self._output is not None else ""
        places = places_told(watch) if now - self._started > _SILENT_SECONDS else ""
        text = "\n".join(filter(None, (ahead, places)))
        if text or self._told:
            self._show(text)

    def clear(self) -> None:
        """Take the line away."""
        if self._output is not None:
            self._output.clear()

    def forget(self) -> None:
        """Know that the line was taken away with all that was shown."""
        self._told = ""
        self._output = PassingOutput() if self._output is not None else None

    def _show(self, text: str) -> None:
        if self._output is not None:
            self._output.show(text)
        elif self._what(text) != self._what(self._told):
            sys.stderr.write(f"{text}\n")
        self._told = text

    @staticmethod
    def _what(text: str) -> str:
        """The text without how long it has been so."""
        return "".join(one for one in text if not one.isdigit())


def _printed(watch: Watch) -> str:
    """Return what ranks have printed for which others have not come far enough."""
    return "\n".join(
        f"[{ranks_named(ranks)}] {line}"
        for ranks, lines in grouped(watch.rows.waiting())
        for line in lines.splitlines()
    )


def places_told(watch: Watch) -> str:
    """Return in words which ranks have ended, which are silent or wait, and where each is."""
    lines = []
    late = _late(watch)
    if late:
        verb = "has" if len(late) == 1 else "have"
        name = ranks_named(late)
        lines.append(f"{name[0].upper()}{name[1:]} {verb} not arrived.")
    if watch.ended:
        verb = "has" if len(watch.ended) == 1 else "have"
        lines.append(f"  {ranks_named(watch.ended)} {verb} ended")
    silent = watch.silent()
    for rank, seconds in sorted(silent.items()):
        lines.append(f"  rank {rank} has not answered for {seconds:.0f} s")
    for rank, state in sorted(watch.places.items()):
        if rank in watch.running and rank not in silent:
            lines.append(f"  rank {rank} {_doing(state)}")
    return "\n".join(lines)


def _late(watch: Watch) -> list[int]:
    """Return the ranks that have not called a program which others have, and stay at."""
    places = {rank: watch.places[rank] for rank in watch.running if rank in watch.places}
    still = [one["count"] for one in places.values() if one["seconds"] > _LATE_SECONDS]
    late = [rank for rank, one in places.items() if one["count"] < max(still, default=0)]
    # One that was not seen yet and does not answer has called nothing that is known.
    unseen = [rank for rank in watch.silent() if rank not in places] if any(still) else []
    return sorted([*late, *unseen])


def _doing(state: dict[str, Any]) -> str:
    code = f": {state['code']}" if state["code"] else ""
    does = "waits" if seems_to_wait(state) else "is"
    others = f" for {ranks_named(state['waits_for'])}" if state["waits_for"] else ""
    within = f" in {state['name']}" if others or state["in_program"] else ""
    long = f" for {state['seconds']:.0f} s" if state["seconds"] >= 1 else ""
    return f"{does}{others}{within} at {state['place']}{code}{long}"
