"""What a cell pays for being watched: counted in calls, since times are for `benchmarks/`."""

import cProfile
import threading

import pytest

from jxkernel.jupyter.session.interrupts import StageWatch
from tests.jupyter.conftest import Notebook


def calls_of(notebook: Notebook, cell: str) -> int:
    """How many functions running a cell calls, Python's and C's."""
    profile = cProfile.Profile()
    profile.enable()
    notebook.shell.run_cell(cell, store_history=True, cell_id="again")
    profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("cell", ["y = f(x)", "%%jit\ny = jnp.tanh(x * 2).sum()"])
def test_a_cell_costs_no_more_after_many_others(notebook: Notebook, cell: str) -> None:
    notebook.run("rate = 3\nf = jx.jit(lambda a: a * rate)\nf(x)")
    for _ in range(3):
        notebook.run(cell, cell_id="again")
    early = calls_of(notebook, cell)
    for number in range(80):
        notebook.run(f"v{number} = {number}")
    notebook.run(cell, cell_id="again")
    # Each cell leaves a few variables behind, whose types are looked at.
    assert calls_of(notebook, cell) < 1.05 * early + 20


def test_a_short_cell_starts_no_thread() -> None:
    watch = StageWatch()
    watch.start()
    before = set(threading.enumerate())
    for _ in range(5):
        watch.start()
    watch.stop()
    assert set(threading.enumerate()) <= before
