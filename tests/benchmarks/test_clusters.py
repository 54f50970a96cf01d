"""The part of the page that says what clusters cost."""

import subprocess
import sys

from benchmarks.clusters import Row, batch, page, pair
from benchmarks.collectives import COLLECTIVES
from benchmarks.processes import ROOT, Peer, environment
from jxkernel.cluster import Service


def test_the_page_has_figures_beside_others_and_beside_limits():
    text = page([Row("a start", 3.0, 2.0, 1.2), Row("a guard", 5e-4, None, 2e-3)])
    assert "| a start | 3 s | 2 s | 1.50 | 1.20 |" in text
    assert "| a guard | 500 µs | – | – | 2 ms |" in text


def test_processes_of_a_benchmark_in_the_background_can_be_interrupted():
    inner = "import signal; print(signal.getsignal(signal.SIGINT).__name__)"
    outer = (
        "import signal, subprocess, sys\n"
        "from benchmarks.processes import heed_interrupts\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\nheed_interrupts()\n"
        f"subprocess.run([sys.executable, '-c', {inner!r}], check=True)"
    )
    how = {"check": True, "capture_output": True, "text": True, "cwd": ROOT, "env": environment()}
    assert subprocess.run([sys.executable, "-c", outer], **how).stdout == "default_int_handler\n"


def test_processes_that_have_formed_a_group_are_timed():
    service = Service(2)
    with pair(Peer("jxkernel", sys.executable), service.address) as ranks:
        assert all(min(batch(ranks, what, 2)) > 0 for what in COLLECTIVES)
        assert min(batch(ranks, "psum of 4 KB", 2, guarded=False)) > 0
    service.stop()
