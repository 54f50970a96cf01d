"""The thread in which an engine works, so that its main thread can answer meanwhile.

A collective that waits for another rank blocks in C++, where no interrupt arrives. The thread is
then left to itself, and a new one takes the next job.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any

from jxkernel.jupyter.cluster.outputs import Outputs

__all__ = ["Job", "Worker"]


class _End:
    """What is set once, in one step of C: an interrupt in an ``Event`` leaves its lock taken."""

    def __init__(self) -> None:
        self._is_set = False
        self._told: SimpleQueue[None] = SimpleQueue()

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        self._told.put(None)

    def wait(self, seconds: float) -> bool:
        """Wait for it; one thread does."""
        if not self._is_set:
            with suppress(Empty):
                self._told.get(timeout=seconds)
        return self._is_set


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
        self.done = _End()
        self.value: Any = None
        self.error: BaseException | None = None
        self.thread: int = 0
        self._work = work
        self._has_begun = False
        self._has_come_out = False
        self._is_unwanted = False

    def run(self) -> None:
        """Do the work, in the thread that calls."""
        self.thread = threading.get_ident()
        while not self.done.is_set():
            try:
                self._go_on()
            except KeyboardInterrupt as error:  # between the work and the end of the job
                if not self._has_come_out:
                    self.error, self._has_come_out = error, True

    def _go_on(self) -> None:
        """Do what is left to do; an interrupt may come anywhere in it."""
        if not self._has_begun and not self._has_come_out:
            self._has_begun = True
            try:
                if self._is_unwanted:
                    raise KeyboardInterrupt
                self.value = self._work()
                self._has_come_out = True
            except BaseException as error:  # handed to the notebook
                if not self._has_come_out:
                    self.error, self._has_come_out = error, True
        self.outputs.end()
        self.done.set()

    def interrupt(self) -> None:
        """Raise ``KeyboardInterrupt`` in the work as soon as it is in Python, or when it begins."""
        self._is_unwanted = True
        if self.thread and not self.done.is_set():
            _raise_in(self.thread, KeyboardInterrupt)

    def frame(self) -> FrameType | None:
        """Return the frame in which the work is now; None before and after."""
        if self.done.is_set() or not self.thread:
            return None
        return sys._current_frames().get(self.thread)


class Worker:
    """Does one job after the other in a thread of its own.

    One thread starts and interrupts the jobs.

    Attributes:
      job: the latest job.
    """

    def __init__(self) -> None:
        self.job: Job | None = None
        self._jobs: SimpleQueue[Job] | None = None
        self._thread: threading.Thread | None = None
        self._by_thread: dict[int, Job] = {}

    def start(self, job: Job) -> None:
        """Begin a job; the one before has ended, or its thread is left to itself."""
        if self.job is not None and not self.job.done.is_set():
            self._jobs = None
        if self._jobs is None:
            self._jobs = SimpleQueue()
            self._thread = threading.Thread(
                target=self._work_on, args=(self._jobs,), name="jxkernel-rank", daemon=True
            )
            self._thread.start()
        elif self._thread is not None and self._thread.ident:
            _raise_in(self._thread.ident, None)  # nothing that was meant for the job before
        self.job = job
        self._jobs.put(job)

    def _work_on(self, jobs: SimpleQueue[Job]) -> None:
        while jobs is self._jobs:
            try:
                self._serve(jobs)
            except KeyboardInterrupt:  # its job had ended when it came
                continue

    def _serve(self, jobs: SimpleQueue[Job]) -> None:
        mine = threading.get_ident()
        try:
            while jobs is self._jobs:
                job = jobs.get()
                self._by_thread[mine] = job
                job.run()
        finally:
            self._by_thread.pop(mine, None)

    def job_of_caller(self) -> Job | None:
        """Return the job that the calling thread works on; in other threads, the running one."""
        mine = self._by_thread.get(threading.get_ident())
        if mine is not None:
            return mine
        return self.job if self.job is not None and not self.job.done.is_set() else None

    def interrupt(self) -> None:
        """Interrupt the job that runs."""
        if self.job is not None:
            self.job.interrupt()


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Have an error raised in a thread as soon as it is in Python; None takes it back."""
    raised = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)
