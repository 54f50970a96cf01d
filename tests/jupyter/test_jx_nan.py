"""`%jx nan`: the first NaN of a cell or a call, with operands and the underlined line."""

import numpy as np
from IPython.core.error import UsageError

from jxkernel.jupyter.cells.cell import Version
from tests.jupyter.conftest import Notebook


def test_a_cell_is_searched_by_number_name_and_as_the_latest(notebook: Notebook) -> None:
    notebook.run("v = jnp.array([1.0, 0.0])")
    notebook.run("%%jit\ny = jnp.log(v) * 0.0\ny.sum()")
    for words in ("", "3", "In[3]", "cell_3"):
        view = notebook.run(f"%jx nan {words}").value
        assert view.data["what"] == "nan came out of: b:f32[2] = mul a 0.0:f32[]"
        assert view.data["where"].startswith("Cell In[3], line 2")
        start, end = view.data["underline"]
        assert view.data["code"][start:end] == "jnp.log(v) * 0.0"
        assert any(
            "infinity came out of: b:f32[2] = log a" in line for line in view.data["details"]
        )
        assert "In[3], run again on what v holds now" in view.text


def test_the_backward_pass_of_a_cell(notebook: Notebook) -> None:
    notebook.run("v = jnp.array([1.0, 0.0])")
    notebook.run("%%jit --grad v\njnp.where(v > 0, jnp.log(v), 0.0).sum()")
    view = notebook.run("%jx nan").value
    assert "It belongs to the backward pass of the line shown." in view.data["details"]
    assert "<u" in view.html


def test_a_call_is_searched_and_loses_nothing(notebook: Notebook) -> None:
    notebook.run(
        "from functools import partial\n"
        "@partial(jx.jit, donate_argnums=0)\n"
        "def g(a):\n"
        "    return jnp.sqrt(a - 4.0)"
    )
    view = notebook.run("%jx nan g(x)").value
    assert "sqrt" in view.data["what"]
    assert not notebook.names["x"].is_deleted()
    assert "neither NaN nor infinity" in notebook.run("%jx nan jnp.sin(x) + w").value.text
    backwards = notebook.run("%jx nan jx.grad(lambda a: jnp.sqrt(a).sum())(x)").value
    assert backwards.data["what"].startswith("inf came out of")
    start, end = backwards.data["underline"]
    assert backwards.data["code"][start:end] == "jnp.sqrt(a)"


def test_arguments_that_hold_it_already_are_named(notebook: Notebook) -> None:
    notebook.run("bad = x * jnp.nan\ndef h(values, other):\n    return values + other")
    text = notebook.run("%jx nan h(bad, x)").value.text
    assert text.startswith("nan is in the arguments of: h")
    assert "values = f32[8] [nan, nan, nan" in text


def test_a_cell_that_was_not_traced_is_refused(notebook: Notebook) -> None:
    ran = notebook.fails("%jx nan", UsageError)
    assert "%jx nan: no cell was traced yet; put %%jit above" in ran.printed
    notebook.run("%%jit\ny = x + 1")
    ran = notebook.fails("%jx nan 1", UsageError)
    assert "%jx nan: In[1] was not traced; these were: In[3]; put" in ran.printed


def test_markup_in_a_source_line_is_inert(notebook: Notebook) -> None:
    notebook.run("%%jit\ny = jnp.log(x - 1.0)  # <script>alert(1)</script>")
    assert "<script" not in notebook.run("%jx nan").value.html


def test_a_cell_that_updates_its_own_state_is_searched_on_its_last_finite_inputs(
    notebook: Notebook,
) -> None:
    notebook.run("w, rate = jnp.float32(3.0), 1e20")
    cell = "%%jit\ng = w * w\nw = w - rate * g"
    for _ in range(5):
        notebook.run(cell, cell_id="training")
    assert not np.isfinite(notebook.names["w"])
    view = notebook.run("%jx nan").value
    assert "mul" in view.data["what"]
    start, end = view.data["underline"]
    assert view.data["code"][start:end] in ("w * w", "rate * g")
    assert "In[7], run again on the last finite inputs that it had, in In[4])" in view.text
    assert "is in the arguments of" not in view.text
    assert "In the cell" not in view.text


def test_the_cell_whose_own_inputs_are_searched_is_named_once(notebook: Notebook) -> None:
    notebook.run("w = jnp.float32(-1.0)")
    notebook.run("%%jit\nw = jnp.sqrt(w)", cell_id="training")
    text = notebook.run("%jx nan").value.text
    assert "(looked for in In[3], run again on the last finite inputs that it had)" in text


def test_inputs_beyond_the_limit_are_not_kept_and_this_is_said(notebook: Notebook) -> None:
    notebook.run("%config JX.kept_inputs = 16\nv = jnp.ones(8) * 1e38")
    for _ in range(2):
        notebook.run("%%jit\nv = v * 1e10", cell_id="large")
    text = notebook.run("%jx nan").value.text
    assert "nan is in the arguments of" in text or "inf is in the arguments of" in text
    assert "its earlier inputs were not kept: 32 B are more than %config JX.kept_inputs" in text
    assert version_of(notebook).kept.inputs is None


def test_kept_inputs_are_told_by_what_they_are_for(notebook: Notebook) -> None:
    notebook.run("v = jnp.ones(77)")
    notebook.run("%%jit\nv = v - 1")
    rows = notebook.run("%jx live").value.data["arrays"]["rows"]
    told = {(row[0], row[-1]) for row in rows if row[1] == "f32[77]"}
    assert {("", "the inputs of In[3], kept for %jx nan"), ("v", "")} <= told


def test_no_inputs_are_kept_of_a_cell_without_state(notebook: Notebook) -> None:
    notebook.run("%%jit\ny = x * 2")
    assert version_of(notebook).kept.inputs is None


def test_an_expression_is_named_as_one(notebook: Notebook) -> None:
    for words in ("jnp.log(x - 1.0)", "jnp.log(x - 1.0) + 1.0"):
        text = notebook.run(f"%jx nan {words}").value.text
        assert f"the expression:\n    {words}" in text
        assert "<expression" not in text
        assert "get_ipython" not in text


def version_of(notebook: Notebook) -> Version:
    """The version of the only traced cell."""
    (cell,) = notebook.session.cells.values()
    assert cell.latest is not None
    return cell.latest
