"""The page of the libraries' own test suites, and how outcomes are read and counted."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.libraries.suites import SUITES, WITHOUT
from tests.libraries.table import LIBRARIES
from tools import suites

TESTS = """\
import os

import pytest


def test_passes():
    assert True


def test_fails():
    assert False, "as it must"


@pytest.mark.skipif(True, reason="not now")
def test_is_left_out():
    pass


def test_ends_the_process():
    os._exit(7)


def test_takes_long():
    while True:
        pass


@pytest.mark.parametrize("n", range(40))
def test_of_many(n):
    pass
"""


def _run(folder: Path, out: Path, *options: str) -> int:
    command = [sys.executable, str(suites.RUNNER), str(out), *options, "test_it.py"]
    return subprocess.run(command, cwd=folder, capture_output=True).returncode


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").touch()
    return tmp_path


def test_a_suite_goes_on_behind_a_test_that_ends_the_process(folder):
    out = folder / "out.jsonl"
    assert _run(folder, out, "--seconds=0.5") == 7
    found = suites.outcomes(out)
    assert found["test_it.py::test_ends_the_process"]["outcome"] == "began"
    assert "test_it.py::test_takes_long" not in found
    assert _run(folder, out, "--seconds=0.5") == 1
    found = {test.partition("::")[2]: note for test, note in suites.outcomes(out).items()}
    assert found["test_passes"]["outcome"] == "passed"
    assert found["test_is_left_out"]["outcome"] == "skipped"
    assert "as it must" in found["test_fails"]["message"]
    assert "the test took longer than 0.5 s" in found["test_takes_long"]["message"]
    assert found["test_ends_the_process"]["outcome"] == "began"
    assert len(found) == 45


def test_a_sample_is_the_same_at_each_run(folder):
    deselected = "--deselect=test_it.py::test_ends_the_process"
    runs = []
    for name in ("one", "other"):
        _run(folder, folder / name, "--seconds=0.5", "--every=3", deselected)
        runs.append(set(suites.outcomes(folder / name)))
    assert runs[0] == runs[1]
    assert 5 < len(runs[0]) < 25


def test_those_count_that_pass_on_the_other_side():
    there = {"a": {"outcome": "passed"}, "b": {"outcome": "passed"}, "c": {"outcome": "failed"}}
    here = {"a": {"outcome": "passed"}, "b": {"outcome": "began"}, "c": {"outcome": "passed"}}
    row = suites.counted("chex", there, here)
    assert (row["taken"], row["there"], row["here"]) == (3, 2, 1)


def test_the_page_is_that_of_the_counts():
    counts = json.loads(suites.COUNTS.read_text())
    assert set(counts) <= set(SUITES)
    assert suites.PAGE.read_text() == suites.page(counts), "`make suites` writes it"
    assert {*SUITES, *WITHOUT} <= set(LIBRARIES)


def test_the_versions_are_those_that_are_pinned():
    pinned = importlib.import_module("tools.libraries").versions()
    counts = json.loads(suites.COUNTS.read_text())
    assert {name: row["version"] for name, row in counts.items()} == {
        name: pinned[name] for name in counts
    }
