"""Recording a timeline: the profiler and the recorder, started and stopped together."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Collection
from glob import glob
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from jxkernel import runtime
from jxkernel._jaxlib import batched_block_until_ready, located_hlo
from jxkernel.compile import Executable, latest_outputs
from jxkernel.events import Executed
from jxkernel.observe.recorder import Recorder
from jxkernel.observe.timeline import Timeline, timeline_of
from jxkernel.observe.xspace import ProfiledPrograms, Program, program_in
from jxkernel.runtime.profiling import ProfileOptions, ProfileSession

__all__ = ["Profile"]

TIMELINE = "timeline.json"
"""The Chrome trace that tells cells and source lines; beside it the profiler writes its own."""

_OUTPUTS = 64
_EXECUTIONS = 100_000

Folder = str | os.PathLike[str]


class Profile:
    """A profile of a block: use it in a ``with`` statement, or ``start()`` and ``stop()`` it.

    Args:
      folder: where to write the XPlane, the profiler's Chrome trace and ``timeline.json``, which
        tells cells and source lines too; nothing is written where it is None.
      python: whether to record the calls of Python functions too, which slows them.

    Attributes:
      timeline: what ran when, once it has been stopped.

    >>> import jxkernel as jx
    >>> from jxkernel import numpy as jnp
    >>> @jx.jit
    ... def f(x):
    ...     return jnp.sin(x) @ x
    >>> with Profile() as profile:
    ...     y = f(jnp.ones((100, 100)))
    >>> profile.timeline.by_operation()[0].program
    'jit_f'
    """

    def __init__(self, folder: Folder | None = None, *, python: bool = False) -> None:
        options = ProfileOptions()
        options.python_tracer_level = int(python)
        self.folder = folder
        self.timeline: Timeline | None = None
        self._session = ProfileSession(folder, profiler_options=options)
        self._recorder = Recorder()
        self._executions = Recorder(capacity=_EXECUTIONS, kinds=(Executed,))

    @property
    def is_running(self) -> bool:
        """Whether it has been started and not yet stopped."""
        return self._session.is_running

    def start(self) -> Self:
        """Start recording.

        Raises:
          RuntimeError: a profile is running already.
          OSError: the folder is not there and cannot be made.
        """
        self._session.start()
        self._recorder.start()
        # Executions are seen, and their outputs kept, only while someone listens.
        latest_outputs.keep(_OUTPUTS)
        self._executions.start()
        return self

    def stop(self) -> Timeline:
        """Wait for the work under way, stop recording, write the files, return the timeline.

        Raises:
          RuntimeError: it is not running.
        """
        if self.is_running:
            _wait_for_all(latest_outputs.clear())
        self._executions.stop()
        self._recorder.stop()
        data = self._session.stop()
        records = self._recorder.records()
        find = _Programs(self._session.space).find
        executions = self._executions.records()
        timeline = timeline_of(data, find, records, executions, files=self._files())
        self.timeline = timeline
        if self.folder is not None:
            Path(self.folder, TIMELINE).write_text(
                json.dumps(timeline.chrome_trace()), encoding="utf-8"
            )
        return timeline

    def _files(self) -> list[str]:
        """What the profiler wrote last, and what will be written beside it."""
        if self.folder is None:
            return []
        written = glob(str(Path(self.folder, "plugins", "profile", "*")))
        newest = max(written, key=os.path.getmtime, default="")
        return [*sorted(glob(str(Path(newest, "*")))), str(Path(self.folder, TIMELINE))]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


class _Programs:
    """The programs of a profile, with the source lines of this process.

    What was loaded from the disk cache bears those of the process that compiled it, and what the
    profiler sees of it may lack the bodies of loops.
    """

    def __init__(self, space: bytes) -> None:
        self._profiled = ProfiledPrograms(space)
        self._executables: dict[str, list[Executable]] = {}
        for one in gc.get_objects():
            if type(one) is Executable:
                self._executables.setdefault(f"jit_{one.name}", []).append(one)

    def find(self, name: str, number: int, operations: Collection[str]) -> Program | None:
        """Return the program that events of this name, number and operations belong to."""
        found = self._profiled.find(name, number, operations)
        executables = self._executables.get(name)
        if found is None or not executables:
            return found
        for executable in executables:
            if executable.is_trimmed:
                whole = program_in(
                    executable.whole.hlo_modules()[0].as_serialized_hlo_module_proto()
                )
                if found.operations.keys() <= whole.operations.keys():
                    found = whole
        return found.relocated(program_in(located_hlo(executables[-1].lowered.module)))


def _wait_for_all(outputs: list[Any]) -> None:
    """Wait for every array; a computation that fails shows where its result is used.

    The arrays' own method would raise what a callback raised, maybe an interrupt of long ago.
    """
    living = [one for platform in runtime.backends() for one in runtime.live_arrays(platform)]
    for array in (*outputs, *living):
        if not array.is_deleted():
            try:
                batched_block_until_ready([array])
            except RuntimeError:
                continue
