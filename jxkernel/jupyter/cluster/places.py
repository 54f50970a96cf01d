"""Where a job is: the user's line, and what it waits for there, seen from another thread."""

from __future__ import annotations

import linecache
import time
from typing import Any

from IPython import get_ipython

from jxkernel import source
from jxkernel.config import launch_hook
from jxkernel.jupyter.cluster.running import place_of
from jxkernel.jupyter.cluster.worker import Job

__all__ = ["Watcher"]


class Watcher:
    """Looks at a job from time to time, and knows for how long it has been where it is."""

    def __init__(self) -> None:
        self._place: Any = None
        self._since = 0.0

    def see(self, job: Job) -> dict[str, Any]:
        """Return a job's line in words, its code, the ranks it waits for, and for how long."""
        frame = inner = job.frame()
        while frame is not None and not source.is_user_code(frame.f_code):
            frame = frame.f_back
        guard = launch_hook.value
        waits_for = guard.waits_for if guard is not None else ()
        line = frame.f_lineno if frame is not None else 0
        place = (job.number, id(frame), line, waits_for)
        if place != self._place:
            self._place, self._since = place, time.monotonic()
        file = frame.f_code.co_filename if frame is not None else ""
        return {
            "place": place_of(get_ipython(), file, line) if file else "",
            "code": linecache.getline(file, line).strip() if file else "",
            "waits_for": waits_for,
            "in_program": inner is not None and _is_launch(inner.f_code.co_filename),
            "seconds": time.monotonic() - self._since,
        }


def _is_launch(file: str) -> bool:
    """Whether code hands programs to XLA: nothing of Python's is seen below it."""
    return source.is_package_file(file) and "/compile/" in file.replace("\\", "/")
