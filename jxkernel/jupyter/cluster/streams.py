"""An engine's streams and displays, which go to the job that writes them instead of being sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from IPython.core.displaypub import DisplayPublisher

from jxkernel.jupyter.cluster.worker import Job

__all__ = ["JobPublisher", "JobStream"]

CurrentJob = Callable[[], Job | None]


class JobStream:
    """A standard stream whose text goes to the job that writes it; otherwise as before.

    Args:
      name: ``stdout`` or ``stderr``.
      original: the stream before.
      current: the job of the calling thread.
    """

    def __init__(self, name: str, original: Any, current: CurrentJob) -> None:
        self._name = name
        self._original = original
        self._current = current

    def write(self, text: str) -> int:
        """Write text."""
        job = self._current()
        if job is None:
            return self._original.write(text)
        job.outputs.write(self._name, text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Have nothing to do: the notebook takes what there is, several times a second."""

    def isatty(self) -> bool:
        """Whether it is a terminal: never."""
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


class JobPublisher(DisplayPublisher):
    """Publishes displays into the outputs of the job that makes them."""

    def __init__(self, original: Any, current: CurrentJob) -> None:
        super().__init__()
        self._original = original
        self._current = current

    def publish(
        self,
        data: dict[str, Any],
        metadata: dict[str, Any] | None = None,
        source: Any = None,
        *,
        transient: dict[str, Any] | None = None,
        update: bool = False,
        **more: Any,
    ) -> None:
        """Give a display, or what takes the place of an earlier one."""
        job = self._current()
        if job is None:
            kind = {"transient": transient, "update": update}
            self._original.publish(data, metadata, source, **kind, **more)
            return
        known = str((transient or {}).get("display_id") or "")
        kind = "update" if update else "display"
        job.outputs.put(kind, data=data, metadata=metadata or {}, identity=known)

    def __getattr__(self, name: str) -> Any:
        # What a kernel asks of its own publisher: whose message it answers, and hooks.
        return getattr(self.__dict__["_original"], name)

    def clear_output(self, wait: bool = False) -> None:
        """Drop what the job has given so far."""
        job = self._current()
        if job is not None:
            job.outputs.put("clear")
