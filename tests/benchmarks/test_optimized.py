"""Programs are told apart by what XLA does, not by the names of its parts."""

import numpy as np

import jxkernel as jx
from benchmarks.optimized import fingerprint

X = np.ones((9, 9), np.float32)


def of(function):
    return fingerprint(jx.jit(function).lower(X).compile().as_text())


def test_names_lines_and_the_order_of_settings_do_not_matter():
    def renamed(given):
        return given @ given + 1

    assert of(lambda x: x @ x + 1) == of(renamed)
    text = jx.jit(renamed).lower(X).compile().as_text() + "\n  %a = f32[] x, backend_config={"
    assert fingerprint(text + '"a":1,"b":[]}') == fingerprint(text + '"b":[],"a":1}')


def test_operations_and_numbers_do():
    programs = (lambda x: x @ x + 1, lambda x: x @ x + 2, lambda x: x @ x - 1, lambda x: x @ x)
    assert len({of(program) for program in programs}) == 4
