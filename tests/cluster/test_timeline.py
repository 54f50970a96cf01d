"""All ranks of a cell on one time axis: who came last, from which line, and who waited."""

import re

import pytest

from jxkernel.jupyter.cluster.meetings import cell_of
from jxkernel.jupyter.cluster.timeline import meetings_view

LATE = """import time
summed = jx.jit(jx.shard_map(lambda x: lax.psum(x, "x"), mesh=mesh, in_specs=jx.P("x"),
    out_specs=jx.P()))
for _ in range(2):
    float(summed(x)[0])
"""

SLEEPS = """float(summed(x)[0])
if rank == 1:
    time.sleep(1.0)
float(summed(x)[0])
float(summed(x)[0])
"""


def test_a_rank_that_comes_late_is_named_with_its_line(pair, spmd):
    assert spmd(LATE).error is None
    ran = spmd(SLEEPS)
    assert ran.error is None, ran.printed
    view = pair.run("%jx cluster timeline").value
    first = view.data["rows"][0]
    assert first[:3] == ["2", "<lambda>", "rank 1"], view.text
    assert first[4].endswith("line 4: float(summed(x)[0])")
    assert first[5].endswith("line 3: time.sleep(1.0)")
    assert view.data["count"] == 3, "calls that C++ answers are told as well"
    lanes = {found[1]: found[2] for found in re.finditer(r"rank (\d) ([=.| ]+)\n", view.text)}
    assert lanes["0"].count(".") > 20 > lanes["1"].count(".")
    assert "waits for rank 1 at Cell In[" in view.html
    assert "± " in view.text


def test_several_cells_and_cells_without_programs_are_told(pair, spmd):
    spmd("1 + 1")
    spmd("2 + 2")
    text = pair.run("%jx cluster timeline 2").value.text
    assert text.count("on ranks 0-1") == 2
    assert text.count("No program with communication") == 2
    assert "Longest wait" not in text


@pytest.mark.parametrize("words", ["0", "5", "x", "1 2"])
def test_words_that_are_not_understood_are_told(pair, words):
    assert "the last 1 to 4 cells" in pair.attempt(f"%jx cluster timeline {words}").printed


def told(began, *calls, ended, marks=None, made=None):
    kinds = [(mark, f"f{mark}", f"line {mark}", "") for mark in range(9)]
    marks = marks or range(len(calls))
    return {
        "count": 7,
        "began": began,
        "ended": ended,
        "made": made or len(calls),
        "kinds": kinds,
        "calls": list(zip(marks, calls, strict=True)),
        "seen": [],
    }


def test_who_is_late_once_is_not_blamed_for_what_was_called_behind():
    ranks = {0: told(0, 10, 11, 12, ended=520), 1: told(1000, 1500, 1501, 1515, ended=1520)}
    cell = cell_of(ranks, {0: (0, 1), 1: (1000, 2)}, 2)
    assert [one.waited_ns for one in cell.meetings] == [490, 1, 14]
    assert [one.last for one in cell.meetings] == [1, 1, 1]
    assert cell.error_ns == 2
    assert cell.hidden == 0


def test_calls_that_are_not_alike_or_not_kept_are_counted():
    ranks = {0: told(0, 1, 2, ended=9, marks=[0, 1]), 1: told(0, 1, 2, ended=9, marks=[0, 2])}
    cell = cell_of(ranks, dict.fromkeys(ranks, (0, 1)), 3)
    assert [one.number for one in cell.meetings] == [1]
    text = meetings_view([cell]).text
    assert "not alike on all ranks: 1." in text
    assert "Nothing is known of rank 2 in this cell." in text
