"""Cells of definitions under `%%jit`: every function compiled, nothing traced twice."""

import inspect

import numpy as np
import pytest
from IPython.core.error import UsageError

from jxkernel.api.jit import jit_state
from jxkernel.errors import TraceLimitError
from jxkernel.events import Traced
from tests.jupyter.conftest import Notebook

CELL = '''%%jit --static n
"""Powers."""
import math
SCALE = 2.0

class Point:
    pass

def scaled(x):
    return x * SCALE

def power(x, n):
    for _ in range(n - 1):
        x = x * x
    return scaled(x)
'''


def traces(notebook: Notebook) -> int:
    return len(notebook.session.recorder.records(Traced))


def test_every_function_is_compiled_and_the_rest_runs_as_usual(notebook: Notebook) -> None:
    ran = notebook.run(CELL)
    assert ran.line == "jit  2 functions: scaled, power · traced when called"
    names = notebook.names
    assert jit_state(names["scaled"]) is not None
    assert inspect.isclass(names["Point"])
    assert names["SCALE"] == 2.0
    np.testing.assert_array_equal(names["power"](3.0, 2), 18.0)


def test_functions_run_again_unchanged_are_kept(notebook: Notebook) -> None:
    notebook.run(CELL)
    before = notebook.names["power"]
    notebook.run("power(x, 2)")
    count = traces(notebook)
    ran = notebook.run(CELL)
    assert ran.line.endswith("unchanged: scaled, power")
    assert notebook.names["power"] is before
    notebook.run("power(x, 2)")
    assert traces(notebook) == count


def test_a_changed_global_makes_a_new_function(notebook: Notebook) -> None:
    notebook.run("k = 1.0")
    cell = "%%jit\ndef f(x):\n    return x + k"
    notebook.run(cell)
    assert float(notebook.run("f(1.0)").value) == 2.0
    notebook.run("k = 2.0")
    notebook.run(cell)
    assert float(notebook.run("f(1.0)").value) == 3.0


def test_flags_go_to_the_functions_that_have_the_parameter(notebook: Notebook) -> None:
    notebook.run(
        "%%jit --grad w --vmap x\n"
        "def loss(w, x):\n    return (w * x) ** 2\n"
        "def g(w):\n    return w ** 3"
    )
    np.testing.assert_allclose(
        notebook.names["loss"](2.0, notebook.names["x"]), 4 * np.arange(8.0) ** 2
    )
    assert float(notebook.names["g"](2.0)) == 12.0


def test_generators_and_asynchronous_functions_stay_as_they_are(notebook: Notebook) -> None:
    ran = notebook.run(
        "%%jit\ndef steps(n):\n    yield from range(n)\nasync def later(x):\n    return f(x)\n"
        "def f(x):\n    return sum(x * n for n in steps(3))"
    )
    assert ran.line.startswith("jit  1 function: f ")
    assert ran.line.endswith("stay as they are: steps, later")
    assert list(notebook.names["steps"](2)) == [0, 1]
    assert float(notebook.run("(await later(x))[1]").value) == 3.0


def test_max_traces_counts_each_function(notebook: Notebook) -> None:
    notebook.run("%%jit --max-traces 1\ndef f(x):\n    return x + 1")
    notebook.run("f(x); f(x)")
    ran = notebook.fails("f(x[:2])", TraceLimitError)
    assert "f was traced 2 times; at most 1 allowed" in ran.printed
    assert "Cell In[4], line 1: x: f32[8] → f32[2]" in ran.printed


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%%jit --static m\ndef f(x): return x", "--static: none of f has a parameter 'm'"),
        ("%%jit -o f\ndef f(x): return x", "-o: a cell of definitions has no results"),
        (
            "%%jit\ndef f(x):\n    yield x",
            "f: generators and asynchronous functions cannot be traced",
        ),
    ],
)
def test_wrong_use_is_told_and_nothing_is_defined(
    notebook: Notebook, cell: str, message: str
) -> None:
    ran = notebook.fails(cell, UsageError)
    assert message in ran.printed
    assert "f" not in notebook.names


def test_a_failing_definition_leaves_all_names_as_they_were(notebook: Notebook) -> None:
    notebook.run("SCALE = 'before'")
    notebook.fails("%%jit\nSCALE = 3\ndef f(x=missing): return x", NameError)
    assert notebook.names["SCALE"] == "before"
    assert "f" not in notebook.names


def test_source_is_found(notebook: Notebook) -> None:
    notebook.run(CELL)
    source = inspect.getsource(notebook.names["scaled"])
    assert source == "def scaled(x):\n    return x * SCALE\n"
