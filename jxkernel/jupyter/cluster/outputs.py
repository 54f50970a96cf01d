"""What a job prints and displays on an engine: kept until the notebook takes it, soon after.

Each piece says after how many calls it was given, of those that exchange with other ranks: so the
notebook knows which pieces of the ranks belong together, however fast each of them is.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from jxkernel.config import launch_hook

__all__ = ["Output", "Outputs", "overwritten"]


class Output(NamedTuple):
    """A piece of what a job gave.

    Attributes:
      kind: ``stdout`` and ``stderr`` for a text that was printed, ``display``, ``update`` for what
        takes the place of an earlier display, ``clear`` for what drops all before.
      calls: after how many calls of the job.
      text: what was printed.
      data: what was displayed, by type.
      metadata: the metadata of that.
      identity: the name by which a display can be updated; empty where it has none.
    """

    kind: str
    calls: int
    text: str = ""
    data: Mapping[str, Any] = {}
    metadata: Mapping[str, Any] = {}
    identity: str = ""


def overwritten(line: str) -> str:
    """Return a line as it looks after each carriage return has begun it anew.

    Args:
      line: the line, without its end.
    """
    shown = ""
    for part in line.split("\r"):
        shown = part + shown[len(part) :]
    return shown


class Outputs:
    """What a job gives, until it is taken; it is given and taken in different threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given: list[Output] = []
        self._stream = ""
        self._line = ""

    def write(self, stream: str, text: str) -> None:
        """Print a text; it is given when its line ends.

        Args:
          stream: ``stdout`` or ``stderr``.
          text: the text.
        """
        with self._lock:
            if stream != self._stream:
                self._end_line()
                self._stream = stream
            if text.startswith("\r") and "\n" not in self._line:
                self._line = overwritten(self._line)  # a bar that is drawn anew stays short
            self._line += text
            if text.endswith("\n"):
                self._end_line()

    def _end_line(self) -> None:
        """Give what was printed since the last line ended."""
        text, self._line = self._line, ""
        if "\r" in text:
            text = "\n".join(overwritten(line) for line in text.split("\n"))
        if text:
            self._given.append(Output(self._stream, _calls(), text))

    def put(self, kind: str, **what: Any) -> None:
        """Give another piece, see ``Output``."""
        with self._lock:
            self._end_line()
            self._given.append(Output(kind, _calls(), **what))

    def end(self) -> None:
        """Give the line that has no end."""
        with self._lock:
            self._end_line()

    def take(self) -> list[Output]:
        """Return what was given and not taken yet."""
        with self._lock:
            taken, self._given = self._given, []
            return taken

    @property
    def line(self) -> str:
        """The line that has not ended, as it looks."""
        with self._lock:
            return overwritten(self._line.rpartition("\n")[2])


def _calls() -> int:
    guard = launch_hook.value
    return 0 if guard is None else guard.count
