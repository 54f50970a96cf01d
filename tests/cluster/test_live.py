"""What ranks print and show appears while their cell runs, once where they agree."""

import pytest

from jxkernel.jupyter.cluster.answer import cluster_of
from jxkernel.jupyter.cluster.rows import Rows
from jxkernel.jupyter.cluster.showing import Showing

WAIT = """
import os, time
def wait_for(path, seconds=60):
    deadline = time.monotonic() + seconds
    while not os.path.exists(path):
        assert time.monotonic() < deadline, "it was not shown"
        time.sleep(0.01)
"""


class Awaited(Showing):
    """Makes a file once something is shown: the cell waits for it."""

    def __init__(self, size, what, path):
        super().__init__(size, is_live=True)
        self._what, self._path = what, path

    def _show(self, row):
        super()._show(row)
        if any(self._what in f"{one.text}{one.data}" for one in row.values()):
            self._path.touch()


@pytest.fixture
def shown_live(pair, spmd, tmp_path, capsys):
    """Runs a cell that goes on once something is shown, and returns what it printed."""

    def run(what, source):
        assert spmd(WAIT).error is None
        go = tmp_path / "go"
        cell = f"go = {str(go)!r}\n{source}"
        cluster_of(pair.session).run_cell(cell, 7, Awaited(2, what, go))
        return capsys.readouterr().out

    return run


def test_what_all_ranks_print_appears_once_before_they_end(shown_live):
    printed = shown_live("first", "print('first', rank * 0)\nwait_for(go)\nprint(rank)")
    assert printed == "first 0\n[rank 0] 0\n[rank 1] 1\n"


def test_what_one_rank_prints_appears_when_others_have_gone_on(shown_live):
    printed = shown_live(
        "loss",
        "total = jx.jit(lambda x: x.sum())\n"
        "for step in range(2):\n"
        "    loss = float(total(x))\n"
        "    if rank == 0: print('loss', loss)\n"
        "    if rank == 0 and step == 1: wait_for(go)\n",
    )
    assert printed == "[rank 0] loss 6.0\n[rank 0] loss 6.0\n"


def test_what_ranks_display_appears_before_they_end(shown_live):
    assert "'shown'" in shown_live("shown", "display('shown')\nwait_for(go)")


def test_what_is_printed_before_a_rank_fails_stays(spmd):
    ran = spmd("print('before')\nif rank: 1 / 0\nprint('after')")
    assert "ZeroDivisionError on rank 1" in str(ran.error)
    assert ran.printed.startswith("before\n[rank 0] after\n")


def test_a_display_that_ranks_change_is_one_with_what_each_shows(pair, spmd, monkeypatch):
    bundles = []

    def publish(data, metadata=None, *, transient=None, update=False, **more):
        bundles.append((data["text/plain"], update))

    monkeypatch.setattr(pair.shell.display_pub, "publish", publish)
    cluster = cluster_of(pair.session)
    showing = Showing(2, is_live=True)
    cluster.run_cell("shown = display('same', display_id=True)\nshown.update(rank)", 7, showing)
    assert bundles[0] == ("'same'", False)
    assert bundles[-1] == ("[rank 0] 0\n[rank 1] 1", True)
    cluster.run_cell("shown.update('again')", 8, showing)
    assert bundles[-1] == ("'again'", True)


def test_an_alarm_that_is_not_confirmed_ends_no_cell(spmd, monkeypatch):
    def alarm(self):
        self.differ = True

    monkeypatch.setattr(Rows, "_compare", alarm)
    ran = spmd("import time\nfloat(jx.jit(lambda x: x.sum())(x))\ntime.sleep(3)\nprint('end')")
    assert ran.error is None, ran.printed
    assert ran.printed.startswith("end\n")


def test_what_ranks_clear_is_taken_away_and_the_rest_stays(pair, spmd, capsys):
    cleared = []
    showing = Showing(2, is_live=True)
    pair.shell.display_pub.clear_output = lambda wait: cleared.append(wait)
    try:
        cluster_of(pair.session).run_cell(
            "from IPython.display import clear_output\nprint(rank)\n"
            "if rank: clear_output()\nprint('end')",
            7,
            showing,
        )
    finally:
        del pair.shell.display_pub.clear_output
    assert cleared == [True]
    assert capsys.readouterr().out == "[rank 0] 0\n[rank 1] 1\n[rank 0] 0\nend\n"
