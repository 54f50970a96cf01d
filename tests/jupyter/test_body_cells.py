"""Body cells under `%%jit`: inputs, results, hits, edits, and everything Python allows in them."""

import inspect

import numpy as np
import pytest

from jxkernel.runtime import ArrayImpl
from tests.jupyter.conftest import Notebook

CELL = "%%jit\nh = jnp.sin(x) * w\nz = h + 1\nz.sum()"


def test_body_cell_writes_back_what_it_assigns_and_shows_its_last_expression(
    notebook: Notebook,
) -> None:
    ran = notebook.run(CELL)
    expected = np.sin(np.arange(8.0, dtype=np.float32)) * 2
    np.testing.assert_allclose(notebook.names["h"], expected, rtol=1e-6)
    np.testing.assert_allclose(notebook.names["z"], expected + 1, rtol=1e-6)
    np.testing.assert_allclose(ran.value, (expected + 1).sum(), rtol=1e-6)
    assert isinstance(notebook.names["z"], ArrayImpl)
    assert notebook.names["_"] is ran.value


def test_summary_line_says_what_happened(notebook: Notebook) -> None:
    first = notebook.run(CELL).line
    assert first.startswith("jit  4 eqns · traced ")
    assert " · compiled " in first
    assert " · ran " in first
    assert first.endswith(" · cpu:0 · miss: first run")
    second = notebook.run(CELL).line
    assert second.startswith("jit  4 eqns · ran ")
    assert second.endswith(" · cpu:0 · hit")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("x = jnp.arange(16.0)", "miss: x f32[8] → f32[16]"),
        ("x = jnp.arange(8)", "miss: x f32[8] → i32[8]"),
        ("x = [x, x]", "miss: the arguments' structure"),
        ("w = 'two'; x = x * 1", "miss: "),
    ],
)
def test_miss_is_told_with_its_reason(notebook: Notebook, change: str, reason: str) -> None:
    cell = "%%jit\ny = jnp.asarray(x) + 1\nu = w"
    notebook.run(cell)
    notebook.run(change)
    assert reason in notebook.run(cell).line


def test_same_kinds_of_inputs_hit_whatever_their_values(notebook: Notebook) -> None:
    notebook.run(CELL)
    notebook.run("x = x * 3; w = 5.0; h = 'something else'")
    assert notebook.run(CELL).line.endswith("hit")
    np.testing.assert_allclose(
        notebook.names["h"], np.sin(np.arange(8.0, dtype=np.float32) * 3) * 5, rtol=1e-5
    )


def test_edited_cell_is_a_new_version_of_the_same_cell(notebook: Notebook) -> None:
    notebook.run(CELL, "a")
    edited = notebook.run(CELL.replace("h + 1", "h + 2"), "a")
    assert edited.line.endswith("miss: edited: line 3")
    assert notebook.run(CELL, "a").line.endswith("hit")
    [cell] = notebook.session.cells.values()
    assert [version.number for version in cell.versions.values()] == [1, 2]
    assert "edited: line 3" in notebook.run("%jx ledger").value.text


def test_names_read_and_assigned(notebook: Notebook) -> None:
    cell = "%%jit\nx = x + 1\nw += 1"
    notebook.run(cell)
    notebook.run(cell)
    np.testing.assert_array_equal(notebook.names["x"], np.arange(8.0) + 2)
    assert float(notebook.names["w"]) == 4.0


def test_a_name_that_the_cell_binds_first_is_no_input(notebook: Notebook) -> None:
    notebook.run("%%jit\nh = x + 1\ng = h * 2")
    assert notebook.run("%%jit\nh = x + 1\ng = h * 2").line.endswith("hit")


def test_what_is_no_array_stays_what_it_is(notebook: Notebook) -> None:
    notebook.run(
        "%%jit\nname = 'a' + 'b'\nshape = x.shape\nmask = np.zeros(2)\nboth = (x + 1, 'text')"
    )
    names = notebook.names
    assert names["name"] == "ab"
    assert names["shape"] == (8,)
    assert type(names["mask"]) is np.ndarray
    assert isinstance(names["both"][0], ArrayImpl)
    assert names["both"][1] == "text"


def test_values_kept_from_the_trace_are_not_shared_with_the_notebook(notebook: Notebook) -> None:
    cell = "%%jit\nmask = np.zeros(2)\ny = x + 1"
    notebook.run(cell)
    notebook.run("mask[0] = 7")
    assert notebook.run(cell).line.endswith("hit")
    np.testing.assert_array_equal(notebook.names["mask"], [0, 0])


def test_strings_are_static_and_part_of_the_key(notebook: Notebook) -> None:
    notebook.run("mode = 'sin'")
    cell = "%%jit\ny = jnp.sin(x) if mode == 'sin' else jnp.cos(x)"
    notebook.run(cell)
    notebook.run("mode = 'cos'")
    assert "miss: mode 'sin' → 'cos'" in notebook.run(cell).line
    np.testing.assert_allclose(notebook.names["y"], np.cos(np.arange(8.0)), rtol=1e-5)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(a): return a + 1", "def f(a): return a + 2"),
        ("k = 1\ndef f(a): return a + k", "k = 2"),
        ("def make(k):\n  return lambda a: a + k\nf = make(1)", "f = make(2)"),
        ("k = jnp.ones(8)\ndef f(a): return a + k", "k = 2 * jnp.ones(8)"),
        ("k = np.ones(8, 'f')\ndef f(a): return a + k", "k[:] = 2"),
        ("k = [1, 'x']\ndef f(a): return a + k[0]", "k[0] = 2"),
        ("class C:\n  k = 1\nc = C()\nc.k = 1\ndef f(a): return a + c.k", "c.k = 2"),
        ("from functools import partial\nf = partial(jnp.add, 1.0)", "f = partial(jnp.add, 2.0)"),
    ],
)
def test_a_changed_function_is_never_stale(notebook: Notebook, before: str, after: str) -> None:
    cell = "%%jit\ny = f(x)"
    notebook.run(before)
    notebook.run(cell)
    np.testing.assert_array_equal(notebook.names["y"], np.arange(8.0) + 1)
    assert notebook.run(cell).line.endswith("hit")
    notebook.run(after)
    assert "miss" in notebook.run(cell).line
    np.testing.assert_array_equal(notebook.names["y"], np.arange(8.0) + 2)


def test_a_function_defined_again_unchanged_is_a_hit(notebook: Notebook) -> None:
    definition = "def f(a):\n    return jnp.sin(a) * k\nk = 3"
    notebook.run(definition)
    notebook.run("%%jit\ny = f(x)")
    notebook.run(definition)
    assert notebook.run("%%jit\ny = f(x)").line.endswith("hit")


@pytest.mark.parametrize(
    ("cell", "name", "expected"),
    [
        ("y = [v * 2 for v in (x, w)][1]", "y", 4.0),
        ("y = sum(v for v in (w, w) if (k := 3)) + k", "y", 7.0),
        ("def f(a):\n    return a * w\ny = f(3.0)", "y", 6.0),
        ("f = lambda a: a * w\ny = f(3.0)", "y", 6.0),
        (
            "c = 0\ndef add():\n    global c\n    c += 1\nadd(); add()\ny = c",
            "y",
            2,
        ),
        ("import math\ny = w * math.pi", "y", 2 * np.pi),
        ("from math import pi as tau\ny = w * tau", "y", 2 * np.pi),
        ("for i in range(3):\n    w = w * 2\ny = w", "y", 16.0),
        ("y = w\nwhile y is None:\n    pass", "y", 2.0),
        ("try:\n    y = w * 2\nexcept ValueError as e:\n    raise", "y", 4.0),
        ("match (w, 'b'):\n    case (a, 'b'):\n        y = a + 1", "y", 3.0),
        ("a, (b, *c) = w, (1, 2, 3)\ny = a + b + c[1]", "y", 6.0),
        ("class P:\n    k = 3\n    def m(self): return self.k\ny = w * P().m()", "y", 6.0),
        ("y: float = w + 1", "y", 3.0),
        ("t = w\ndel t\ny = w", "y", 2.0),
        ("y = (lambda a, b=w: a + b)(1)", "y", 3.0),
        ("y = {'a': w}['a'] + 1", "y", 3.0),
        ("import contextlib\nwith contextlib.nullcontext(w) as v:\n    y = v + 1", "y", 3.0),
        ("global y\ny = w + 5", "y", 7.0),
    ],
)
def test_python_in_a_body_cell(notebook: Notebook, cell: str, name: str, expected: float) -> None:
    for _ in range(2):
        notebook.run("w = 2.0")
        notebook.run(f"%%jit\n{cell}")
        np.testing.assert_allclose(notebook.names[name], expected, rtol=1e-6)


def test_functions_defined_in_a_body_cell_see_the_notebook_afterwards(notebook: Notebook) -> None:
    notebook.run(
        "%%jit\ndef loss(w):\n    return ((x * w) ** 2).sum()\ng = jx.grad(loss)\nslope = g(w)"
    )
    assert float(notebook.names["slope"]) == pytest.approx(4 * 140, rel=1e-6)
    assert float(notebook.names["loss"](1.0)) == pytest.approx(140)
    notebook.run("x = x[:2]")
    assert float(notebook.names["g"](1.0)) == pytest.approx(2)


def test_source_of_a_function_in_a_cell_is_found(notebook: Notebook) -> None:
    notebook.run("%%jit\n# a comment\ndef f(a):\n    return a + w\ny = f(x)")
    assert inspect.getsource(notebook.names["f"]) == "def f(a):\n    return a + w\n"


def test_deleted_names_are_gone(notebook: Notebook) -> None:
    notebook.run("t = 3.0")
    notebook.run("%%jit\ny = t + 1\ndel t")
    assert "t" not in notebook.names


def test_pytrees_are_inputs_and_results(notebook: Notebook) -> None:
    notebook.run(
        "from dataclasses import dataclass\n"
        "@jx.tree_util.register_dataclass\n@dataclass\nclass Layer:\n    w: object\n    b: object\n"
        "params = {'one': Layer(jnp.ones(8), 1.0), 'two': [x, (w, None)]}"
    )
    cell = "%%jit\nparams = jx.tree.map(lambda leaf: leaf * 2, params)"
    notebook.run(cell)
    params = notebook.names["params"]
    np.testing.assert_array_equal(params["one"].w, 2 * np.ones(8))
    assert float(params["two"][1][0]) == 4.0
    assert params["two"][1][1] is None
    assert notebook.run(cell).line.endswith("hit")


def test_a_semicolon_silences_the_result(notebook: Notebook) -> None:
    assert notebook.run("%%jit\nx.sum();").value is None


def test_lines_agree_with_the_cell_on_screen(notebook: Notebook) -> None:
    ran = notebook.fails("\n\n%%jit\n\n\ny = x + 1\nz = y.nothing", AttributeError)
    assert "line 7" in ran.printed
    assert "----> 7 z = y.nothing" in ran.printed


def test_inputs_and_results_may_be_a_cells_shown_value(notebook: Notebook) -> None:
    notebook.run("x.sum()")
    notebook.run("%%jit\ny = _ * 2")
    assert float(notebook.names["y"]) == 56.0


def test_empty_body_does_nothing(notebook: Notebook) -> None:
    ran = notebook.run("%%jit\n# only a comment")
    assert ran.value is None
    assert ran.shown == []
