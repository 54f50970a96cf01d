"""The page on scaling: its programs compile for any number of devices, and say what they cost."""

import numpy as np
import pytest

from benchmarks.library import load
from benchmarks.scaling import Cost, exponent, page
from benchmarks.sharded_programs import PROGRAMS, cost


def _program(name):
    return next(program for program in PROGRAMS if program.name == name)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_program_is_compiled_for_the_devices_asked_for(eight_devices, program):
    figures = cost(load("jxkernel"), program, 8)
    assert figures["devices"] == 8
    assert figures["instructions"] > figures["operations"] / 2 > 0
    assert sum(figures["collectives"].values()) > 0
    assert figures["memory"] > 1e6


def test_staged_exchange_gives_what_the_direct_one_gives(eight_devices):
    x = np.arange(1024 * 1024, dtype=np.float32).reshape(1024, 1024)
    for name in ("exchange", "staged"):
        function, _ = _program(name).make(load("jxkernel"), eight_devices)
        np.testing.assert_array_equal(function(x), x)
        assert function(x).sharding.shard_shape(x.shape) == (1024, 128)


def _costs(power):
    return [
        Cost(n, 0.1, 0.2, float(n) ** power, 9, 10 * n, {"all-to-all": 1}, 100, 1e6)
        for n in (1, 2, 8, 64, 512)
    ]


def test_exponent_is_that_of_the_power_law():
    assert exponent(_costs(1.5), "compiled") == pytest.approx(1.5)
    assert exponent(_costs(1.5), "text") == pytest.approx(0)


def test_page_has_a_row_for_each_number_and_says_what_it_amounts_to():
    text = page({program.name: _costs(1) for program in PROGRAMS}, "Here.")
    for program in PROGRAMS:
        assert f"## {program.title}" in text
    assert "| 512 | 100 ms | 200 ms | 512 s | 9 | 5,120 | 1 all-to-all |" in text
    assert "Compiling for 512 takes 256.0 times as long as for 2" in text
