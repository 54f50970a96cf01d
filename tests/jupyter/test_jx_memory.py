"""`%jx live`, `memory`, `free`, `leaks`: who holds what, and nothing is lost by looking."""

import gc
from typing import Any

import pytest
from IPython.core.error import UsageError

from jxkernel import observe
from tests.jupyter.conftest import Notebook

SETUP = """
class Model:
    def __init__(self, weights):
        self.weights = weights
model = Model(jnp.ones((10, 1, 10)))
tree = {"b": [x, jnp.zeros((1, 5, 1))]}
def remembering(kept):
    return lambda: kept
closure = remembering(jnp.ones((20, 1, 20)))
"""


def rows(notebook: Notebook) -> list[list[str]]:
    return notebook.run("%jx live").value.data["arrays"]["rows"]


def row(notebook: Notebook, kind: str) -> list[str]:
    (found,) = [one for one in rows(notebook) if one[1] == kind]
    return found


def test_arrays_are_told_by_variable_output_and_holder(notebook: Notebook) -> None:
    notebook.run(SETUP)
    notebook.run("jnp.ones((30, 30))")
    assert row(notebook, "f32[30,30]")[0] == "Out[3]"
    assert row(notebook, "f32[10,1,10]")[0] == "model.weights"
    assert row(notebook, "f32[1,5,1]")[0] == "tree['b'][1]"
    # Other tests of the process may hold vectors of this size too.
    names = [set(one[0].split(", ")) for one in rows(notebook) if one[1] == "f32[8]"]
    assert names.count({"x", "tree['b'][0]"}) == 1
    named, _, size, device, others = row(notebook, "f32[20,1,20]")
    assert (named, size, device) == ("", "1.6 KB", "cpu:0")
    assert others.startswith("kept, which <lambda> (Cell In[2]") or "closes over" in others


def test_largest_first_with_totals_by_device(notebook: Notebook) -> None:
    notebook.run("big = jnp.ones((2000, 1000)); weak = jnp.asarray(1.0)")
    view = notebook.run("%jx live").value
    assert view.data["arrays"]["rows"][0][0] == "big"
    # Arrays of a test before may lie on devices of before the number was changed.
    assert [one[0] for one in view.data["devices"]["rows"]].count("cpu:0") == 1
    assert "live arrays" in view.text
    assert "<script" not in view.html


def test_nothing_is_kept_by_looking(notebook: Notebook) -> None:
    notebook.run("big = jnp.ones((31, 31))")
    notebook.run("%jx live")
    notebook.run("del big")
    gc.collect()
    assert [one for one in rows(notebook) if one[1] == "f32[31,31]"] == []


def test_an_output_is_freed_with_its_shorthand(notebook: Notebook) -> None:
    notebook.run("jnp.ones((40, 40))")
    assert notebook.run("%jx free Out[2]").value.text == "Out[2] deleted: 6.4 KB"
    assert 2 not in notebook.names["Out"]
    assert "_2" not in notebook.names
    assert [one for one in rows(notebook) if one[1] == "f32[40,40]"] == []


def test_a_wrong_name_among_others_frees_nothing(notebook: Notebook) -> None:
    notebook.run("big = jnp.ones((4, 4))")
    for command, message in {
        "%jx free big, missing": "there is no variable missing",
        "%jx free big w": "w holds no device array",
        "%jx free Out[99]": "there is no Out[99]",
    }.items():
        assert message in notebook.fails(command, UsageError).printed
    assert not notebook.names["big"].is_deleted()


def test_a_deleted_array_in_a_variable_is_told(notebook: Notebook) -> None:
    notebook.run("gone = jnp.ones((3, 1, 3)); gone.delete()")
    assert row(notebook, "f32[3,1,3]")[2] == "deleted"


def test_memory_of_a_call_before_it_runs(notebook: Notebook) -> None:
    notebook.run("def f(a):\n    ran.append(1)\n    return a @ a\nran = []")
    view = notebook.run('%jx memory f(jx.ShapeDtypeStruct((1000, 1000), "float32"))').value
    parts = dict(view.data["parts"]["rows"])
    assert parts["arguments"] == parts["results"] == "4 MB"
    assert "needs 4 MB more than its arguments on cpu:0" in view.text
    assert "fits" in view.text
    huge = notebook.run('%jx memory f(jx.ShapeDtypeStruct((10**7, 10**7), "float32"))').value
    assert "does not fit" in huge.text


@pytest.fixture
def all_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tells all leaks, however many other tests in this process have left."""
    monkeypatch.setattr(observe.leaks, "__defaults__", (1_000_000,))


def leaked(notebook: Notebook) -> list[list[str]]:
    """The leaks that variables of the notebook hold; other tests may have left theirs."""
    rows = notebook.run("%jx leaks").value.data.get("rows", [])
    return [one for one in rows if "of __main__" in one[2]]


@pytest.mark.usefixtures("all_leaks")
def test_leaked_tracers_are_told_with_holder_and_cell(notebook: Notebook) -> None:
    notebook.run("log = []\n@jx.jit\ndef leaky(a):\n    log.append(jnp.sin(a))\n    return a")
    before = leaked(notebook)  # what other tests in this process have left
    notebook.run("leaky(x)")
    (found,) = [row for row in leaked(notebook) if row not in before]
    assert found[1:3] == ["leaky", "log[0], a global variable of __main__"]
    assert "Cell In[2], line 4" in notebook.run("%jx leaks").value.text
    notebook.run("log.clear()")
    assert leaked(notebook) == before


@pytest.mark.usefixtures("all_leaks")
def test_a_failed_trace_is_no_leak(notebook: Notebook) -> None:
    before = leaked(notebook)
    failed: Any = notebook.attempt("%%jit\nif x.sum() > 0: y = x")
    assert failed.error is not None
    notebook.run("%%jit\nz = x + 1")
    assert leaked(notebook) == before
