"""Ranks that fail, wait, die or freeze: the cell ends, and work goes on."""

import os
import re
import signal
import threading
import time
from _thread import interrupt_main

import pytest

from jxkernel.errors import ClusterError
from jxkernel.jupyter.cluster import rank as engine
from jxkernel.jupyter.cluster.answer import cluster_of
from jxkernel.jupyter.cluster.progress import Progress, _doing
from jxkernel.jupyter.cluster.requests import cluster
from tests.cluster.cutting import CUT, can_be_cut

VALUES = """
import os, signal, time
whole = jx.NamedSharding(mesh, jx.P())
weights = jx.device_put(np.arange(3.0), whole)
rate, local, key = 0.5, jnp.ones(3), jx.random.key(3)
total = jx.jit(lambda x: x.sum())
def doubled(x):
    return jx.jit(lambda x: x * 2)(x)
float(total(x))
"""


@pytest.fixture
def no_progress():
    """Lines say where the ranks are: some of these tests read them."""


def test_a_rank_that_waits_says_for_which(pair, spmd, monkeypatch):
    monkeypatch.setattr("jxkernel.jupyter.cluster.progress._SILENT_SECONDS", 0.3)
    ran = spmd("import time\nif rank: time.sleep(1.5)\nfloat(jx.jit(lambda x: x.max())(x))")
    assert ran.error is None
    assert "Rank 1 has not arrived." in ran.printed
    assert "rank 0 waits for rank 1 in <lambda> (all-reduce) at Cell In[" in ran.printed
    assert "line 2: if rank: time.sleep(1.5)" in ran.printed


def test_a_known_program_that_waits_says_for_which_rank(pair, spmd, monkeypatch):
    monkeypatch.setattr("jxkernel.jupyter.cluster.progress._SILENT_SECONDS", 0.5)
    spmd(f"{VALUES}\nfloat(total(x))")
    ran = spmd("if rank: time.sleep(2.5)\nfloat(total(x))")
    assert ran.error is None
    assert "Rank 1 has not arrived." in ran.printed
    assert "rank 0 waits in <lambda> (all-reduce) at Cell In[" in ran.printed
    assert "line 2: float(total(x))" in ran.printed
    assert "rank 1 is at Cell In[" in ran.printed


def test_a_rank_that_goes_from_program_to_program_does_not_wait():
    state = {"waits_for": (), "in_program": True, "name": "f (all-reduce)", "seconds": 0.1}
    state |= {"place": "Cell In[1], line 2", "code": "f(x)"}
    assert _doing(state) == "is in f (all-reduce) at Cell In[1], line 2: f(x)"
    state["seconds"] = 2.1
    assert _doing(state) == "waits in f (all-reduce) at Cell In[1], line 2: f(x) for 2 s"


def test_a_rank_that_does_not_answer_is_told_before_it_is_lost(pair, spmd, monkeypatch):
    monkeypatch.setattr("jxkernel.jupyter.cluster.progress._SILENT_SECONDS", 0.3)
    spmd(f"{VALUES}\nfloat(total(x))")
    found = cluster_of(pair.session)
    pid = found.about[1]["pid"]
    seen = []
    show = Progress._show

    def continued(self, text):
        show(self, text)
        if "Rank 1 has not arrived" in text and "rank 1 has not answered for" in text:
            seen.append(next(one for one in cluster(pair.session)["ranks"] if one["rank"] == 1))
            os.kill(pid, signal.SIGCONT)

    monkeypatch.setattr(Progress, "_show", continued)
    # A process of several threads may run on for a moment before it stops.
    stop = "if rank: os.kill(os.getpid(), signal.SIGSTOP); time.sleep(1)"
    ran = spmd(f"{stop}\nfloat(total(x))")
    assert ran.error is None, ran.printed
    assert ran.shown == [{"text/plain": "6.0"}]
    assert "Rank 1 has not arrived." in ran.printed
    assert "rank 0 waits in <lambda> (all-reduce) at Cell In[" in ran.printed
    assert seen[0]["why"].startswith("has not answered for")


def test_a_rank_that_fails_ends_the_others(pair, spmd):
    spmd(VALUES)
    ran = spmd("if rank: 1 / 0\nfloat(total(x))")
    assert "ZeroDivisionError on rank 1" in str(ran.error)
    assert "DesyncError" not in ran.printed
    # Variables are what they were, on devices of a group formed anew where one was left waiting.
    ran = spmd("float(total(x)), float(weights.sum()), float(local.sum())")
    assert ran.shown == [{"text/plain": "(6.0, 3.0, 3.0)"}], ran.printed


def interrupted_when(path, pair, cell):
    """Run a cell, interrupted once it has made a file on every rank, if it has not ended before."""
    ended = threading.Event()

    def interrupt():
        while not all((path / str(rank)).exists() for rank in range(2)):
            if ended.wait(0.01):
                return
        interrupt_main()

    thread = threading.Thread(target=interrupt)
    thread.start()
    ran = pair.attempt(f"%%spmd\nopen(f'{path}/{{rank}}', 'w').close()\n{cell}")
    ended.set()
    thread.join()
    return ran


@pytest.mark.parametrize("cell", ["while True: pass", "import time\nif not rank: float(total(x))"])
def test_an_interrupt_reaches_all_ranks(pair, spmd, tmp_path, cell):
    spmd(VALUES)
    if "total" in cell:
        cell = f"{cell}\nelse:\n    while True: time.sleep(0.01)"
    ran = interrupted_when(tmp_path, pair, cell)
    assert isinstance(ran.error, KeyboardInterrupt)
    ran = spmd("float(jx.jit(lambda x: x.sum())(x)), rate")
    assert ran.shown == [{"text/plain": "(6.0, 0.5)"}], ran.printed


def test_an_interrupt_while_ranks_are_asked_reaches_those_that_were(
    pair, spmd, two_engines, monkeypatch, tmp_path
):
    spmd(VALUES)
    send, begun = two_engines.engines.apply, tmp_path / "begun"

    def apply(rank, function, *args):
        reply = send(rank, function, *args)
        if function is not engine.start or "cell" not in args:
            return reply
        monkeypatch.undo()
        deadline = time.monotonic() + 60
        while not begun.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(two_engines.engines, "apply", apply)
    endless = f"open({str(begun)!r}, 'w').close()\n    while True: time.sleep(0.01)"
    cell = f"import threading\nended = threading.Event()\ntry:\n    {endless}\nfinally: ended.set()"
    assert isinstance(spmd(cell).error, KeyboardInterrupt)
    ran = spmd("rank == 1 or ended.wait(30), float(total(x))")
    assert ran.shown == [{"text/plain": "(True, 6.0)"}], ran.printed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "rank 1 has ended"),
        ("os.kill(os.getpid(), signal.SIGSTOP)", "rank 1 has not answered for 7 s"),
        pytest.param(
            CUT,
            "rank 1 has not answered for 7 s",
            marks=pytest.mark.skipif(not can_be_cut(), reason="needs filters of sockets"),
        ),
    ],
    ids=["killed", "frozen", "cut off"],
)
def test_a_rank_that_is_gone_is_replaced(pair, spmd, end, told):
    spmd(SETUP_AGAIN)
    spmd(VALUES)
    ran = spmd(f"if rank: {end}\nfloat(total(x))")
    assert isinstance(ran.error, ClusterError)
    assert told in str(ran.error)
    assert f"not whole: {told}" in str(spmd("1").error)
    shown = pair.run("%jx cluster").value.text
    assert "x is lost: parts of it are gone" in shown
    assert re.search(r"^rank 1 has no .*\brank\b.*: run their cells again$", shown, re.MULTILINE)
    ran = spmd("rate, float(local.sum()), float(doubled(weights).sum()), jx.random.bits(key)")
    assert len(ran.shown) == 1, ran.printed
    assert ran.shown[0]["text/plain"].startswith("(0.5, 3.0, 6.0, ")
    spmd(SETUP_AGAIN)
    assert spmd("float(jx.jit(lambda x: x.sum())(x))").shown == [{"text/plain": "6.0"}]


SETUP_AGAIN = """
rank = jx.process_index()
x = jx.make_array_from_process_local_data(rows, np.arange(2.0) + 2 * rank)
"""


@pytest.mark.slow
def test_a_rank_that_dies_between_cells_is_told(pair, spmd):
    shown = pair.run("%jx cluster").value.data
    os.kill(int(shown["rows"][1][2]), signal.SIGKILL)
    assert isinstance(spmd("1").error, ClusterError)
    pair.run("%jx cluster")
    assert spmd("jx.device_count()").shown == [{"text/plain": "2"}]
