"""The demo notebooks, run from top to bottom in a real kernel, say what their text promises."""

import re
from functools import cache
from pathlib import Path

import nbclient
import nbformat
import pytest

DEMOS = Path(__file__).parents[2] / "demos"
NOTEBOOKS = sorted(path.name for path in DEMOS.glob("*.ipynb"))


@cache
def executed(name: str) -> nbformat.NotebookNode:
    """Run a notebook once and return it with its outputs; an error in a cell raises."""
    notebook = nbformat.read(DEMOS / name, 4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", store_widget_state=False
    )
    return client.execute(cwd=str(DEMOS))


def text_after(name: str, source: str) -> list[str]:
    """Return the text output of each cell whose source contains ``source``."""
    return [
        "\n".join(
            output.get("text") or output.get("data", {}).get("text/plain", "")
            for output in cell.outputs
        )
        for cell in executed(name).cells
        if cell.cell_type == "code" and source in cell.source
    ]


def test_there_are_notebooks():
    assert NOTEBOOKS == [
        "01_first_steps.ipynb",
        "02_why_did_it_recompile.ipynb",
        "03_looking_inside.ipynb",
    ]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_are_committed_without_outputs(name):
    cells = nbformat.read(DEMOS / name, 4).cells
    assert all(not cell.get("outputs") for cell in cells)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_run_and_every_view_has_text_and_html(name):
    views = [
        output.data
        for cell in executed(name).cells
        for output in cell.get("outputs", [])
        if any("vnd.jxkernel" in kind for kind in output.get("data", {}))
    ]
    assert len(views) >= 5
    for view in views:
        assert view["text/plain"]
        assert "<script" not in view["text/html"]
        assert "http" not in view["text/html"].replace("http://www.w3.org/2000/svg", "")


def test_first_steps_shows_a_miss_a_hit_and_the_reason_of_the_next_miss():
    first, again, changed = text_after("01_first_steps.ipynb", "energy.mean()")[:3]
    assert "miss: first run" in first
    assert "hit" in again
    assert "miss: batch f32[1000,64] → f32[500,64]" in changed


def test_first_steps_times_dispatch_apart_from_the_work():
    (timing,) = text_after("01_first_steps.ipynb", "%timeit")
    assert re.search(r"dispatch .* · pipelined .* · latency .*\(compile .*, once\)", timing)


def test_first_steps_trains_to_over_95_percent():
    (text,) = text_after("01_first_steps.ipynb", "test accuracy")
    assert float(re.search(r"test accuracy ([\d.]+)%", text)[1]) > 95


def test_why_did_it_recompile_names_each_reason():
    text = "\n".join(text_after("02_why_did_it_recompile.ipynb", "%jx"))
    for reason in (
        "x: f32[8] → f32[16]",
        "x: f32*[] → f32[]",
        "power: 1 → 2",
        "without batch['b'] → with batch['b']",
        "jax_enable_x64: False → True",
    ):
        assert reason in text


def test_looking_inside_finds_the_first_bad_operation_and_grades_the_guess():
    name = "03_looking_inside.ipynb"
    (found,) = text_after(name, "%jx nan")
    assert "The infinity came out of" in found
    assert "jnp.sqrt(jnp.sum(v**2))" in found
    (stages,) = text_after(name, "%jx stages")
    assert all(part in stages for part in ("-- source", "-- jaxpr", "-- StableHLO"))
    (graded,) = text_after(name, "jax.quiz")
    assert "you said 3, and it is 2 traces" in graded
    (bar,) = text_after(name, "jax.progress")
    assert "100%" in bar
