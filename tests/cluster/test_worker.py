"""The thread in which an engine works: interrupts reach the job that they are meant for."""

import random
import sys
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from jxkernel.jupyter.cluster.worker import Job, Worker
from jxkernel.jupyter.session.interrupts import interrupting_again

LONG = 120


def work(seconds):
    """Be in Python for a while."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
    return "done"


@pytest.fixture
def often() -> Iterator[None]:
    """Threads take turns at almost every step."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("often")
def test_an_interrupt_never_reaches_the_next_job():
    worker, draw = Worker(), random.Random(19)
    interrupted = 0
    for number in range(300):
        seconds = draw.random() * 1e-3
        job = Job(2 * number, lambda seconds=seconds: work(seconds))
        worker.start(job)
        work(draw.random() * 1e-3)
        worker.interrupt()
        assert job.done.wait(LONG)
        assert isinstance(job.error, KeyboardInterrupt) or job.value == "done"
        interrupted += job.error is not None
        following = Job(2 * number + 1, lambda: work(1e-4))
        worker.start(following)
        assert following.done.wait(LONG)
        assert (following.value, following.error) == ("done", None)
    assert interrupted


def test_a_job_that_is_interrupted_before_it_begins_does_not_begin():
    job = Job(1, lambda: pytest.fail("it began"))
    job.interrupt()
    job.run()
    assert isinstance(job.error, KeyboardInterrupt)


def test_a_job_that_does_not_come_out_is_left_to_its_thread():
    worker = Worker()
    stays = Job(1, lambda: work(0.2))
    worker.start(stays)
    following = Job(2, lambda: "at once")
    worker.start(following)
    assert following.done.wait(LONG)
    assert following.value == "at once"
    assert stays.done.wait(LONG)
    assert stays.value == "done"


def test_an_interrupt_of_a_job_that_the_collector_drops_is_not_sent_to_the_main_thread(monkeypatch):
    timers, told = [], []
    monkeypatch.setattr(threading, "Timer", lambda *how: timers.append(how))
    hook = interrupting_again(told.append)
    dropped = SimpleNamespace(exc_type=KeyboardInterrupt)
    thread = threading.Thread(target=hook, args=(dropped,))
    thread.start()
    thread.join()
    assert (timers, told) == ([], [])
    other = SimpleNamespace(exc_type=ValueError)
    hook(other)
    assert told == [other]
