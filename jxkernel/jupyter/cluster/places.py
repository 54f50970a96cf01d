"""Where a job is: the user's line, and what it waits for there, seen from another thread."""

from __future__ import annotations

import linecache
import time
from typing import Any

from IPython import get_ipython

from jxkernel import source
from jxkernel.config import launch_hook
from jxkernel.jupyter.cluster.moments import Moments
from jxkernel.jupyter.cluster.running import place_of
from jxkernel.jupyter.cluster.worker import Job

__all__ = ["Watcher"]


class Watcher:
    """Looks at a job from time to time, and knows for how long it has been where it is.

    Args:
      moments: where the lines are noted at which a cell is seen.
    """

    def __init__(self, moments: Moments) -> None:
        self._moments = moments
        self._place: Any = None
        self._since = 0.0

    def see(self, job: Job) -> dict[str, Any]:
        """Return a job's line in words and its code, its latest program, and for how long so.

        A program is one that exchanges with other ranks; ``name`` is told with its collectives,
        ``count`` says the how many-th of its job it is, and ``in_program`` whether the job is still
        on its line: in it, or where its result is read.
        """
        frame = source.user_frame_from(job.frame())
        guard = launch_hook.value
        waits_for, count, latest = (), 0, None
        if guard is not None:
            waits_for, count, latest = guard.waits_for, guard.count, guard.latest
        self._moments.see(job.number, count, frame)
        place = (job.number, frame, count, waits_for)
        if place != self._place:
            self._place, self._since = place, time.monotonic()
        return {
            "place": place_of(get_ipython(), frame.file, frame.line) if frame else "",
            "code": linecache.getline(frame.file, frame.line).strip() if frame else "",
            "waits_for": waits_for,
            "count": count,
            "program": latest.fingerprint if latest else "",
            "name": str(latest or ""),
            "in_program": latest is not None and _is_at(latest.frame, frame),
            "seconds": time.monotonic() - self._since,
        }


def _is_at(called: source.Frame | None, frame: source.Frame | None) -> bool:
    if called is None or frame is None:
        return False
    return (called.file, called.line) == (frame.file, frame.line)
