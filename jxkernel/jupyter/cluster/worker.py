"""The thread in which an engine works, so that its main thread can answer meanwhile.

A collective that waits for another rank blocks in C++, where no interrupt arrives. The thread is
then left to itself, and a new one takes the next job.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from types import FrameType
from typing import Any

from jxkernel.jupyter.cluster.outputs import Outputs

__all__ = ["Job", "Worker"]


class Job:
    """A piece of work, and what it has given so far.

    Attributes:
      number: its number.
      outputs: what it prints and displays.
      done: set at its end.
      value: what it returned.
      error: what it raised, or None.
    """

    def __init__(self, number: int, work: Callable[[], Any]) -> None:
        self.number = number
        self.outputs = Outputs()
        self.done = threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None
        self.thread: int = 0
        self.started = time.monotonic()
        self._work = work

    def run(self) -> None:
        """Do the work, in the thread that calls."""
        self.thread = threading.get_ident()
        try:
            self.value = self._work()
        except BaseException as error:  # handed to the notebook
            self.error = error
        finally:
            self.outputs.end()
            self.done.set()

    def frame(self) -> FrameType | None:
        """Return the frame in which the work is now; None before and after."""
        if self.done.is_set() or not self.thread:
            return None
        return sys._current_frames().get(self.thread)


class Worker:
    """Does one job after the other in a thread of its own.

    Attributes:
      job: the latest job.
    """

    def __init__(self) -> None:
        self.job: Job | None = None
        self._jobs: SimpleQueue[Job | None] | None = None
        self._by_thread: dict[int, Job] = {}

    def start(self, job: Job) -> None:
        """Begin a job; the one before has ended, or its thread is left to itself."""
        if self.job is not None and not self.job.done.is_set():
            self._jobs = None
        if self._jobs is None:
            self._jobs = SimpleQueue()
            threading.Thread(
                target=self._work_on, args=(self._jobs,), name="jxkernel-rank", daemon=True
            ).start()
        self.job = job
        self._jobs.put(job)

    def _work_on(self, jobs: SimpleQueue[Job | None]) -> None:
        while jobs is self._jobs:
            job = jobs.get()
            if job is None:
                return
            self._by_thread[threading.get_ident()] = job
            job.run()
        del self._by_thread[threading.get_ident()]

    def job_of_caller(self) -> Job | None:
        """Return the job that the calling thread works on; in other threads, the running one."""
        mine = self._by_thread.get(threading.get_ident())
        if mine is not None:
            return mine
        return self.job if self.job is not None and not self.job.done.is_set() else None

    def interrupt(self) -> None:
        """Raise ``KeyboardInterrupt`` in the job as soon as it is in Python again."""
        job = self.job
        if job is not None and not job.done.is_set():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(job.thread), ctypes.py_object(KeyboardInterrupt)
            )
