"""Weakness of results beyond the NumPy API's elementwise functions: every call in the table.

Calls that either side refuses are left to the tests of values and errors.
"""

import json
import warnings
from pathlib import Path

import pytest

import jxkernel as jx
from tests.numpy.weak_rows import CALLS, answer, calls

TABLE: dict[str, str] = json.loads(Path(__file__).with_name("weak.json").read_text())


@pytest.mark.parametrize("name", CALLS)
def test_results_are_weak_as_in_the_table(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {kinds: answer(jx, name, kinds) for kinds in calls(name)}
    expected = dict(zip(found, TABLE[name].split(), strict=True))
    different = {
        kinds: (found[kinds], expected[kinds])
        for kinds in found
        if "!" not in (found[kinds], expected[kinds]) and found[kinds] != expected[kinds]
    }
    assert different == {}
