"""The demo notebooks, run from top to bottom in a real kernel, say what their text promises."""

import re
from functools import cache

import nbformat
import pytest

from tools import demos

# Each notebook runs once, and one of them keeps files beside it: no second worker may run it.
pytestmark = pytest.mark.xdist_group("notebooks")

DEMOS = demos.FOLDER
NOTEBOOKS = [path.name for path in demos.notebooks()]


@cache
def executed(name: str) -> nbformat.NotebookNode:
    """Run a notebook once and return it with its outputs; an error in a cell raises."""
    return demos.executed(DEMOS / name)


def text_after(name: str, source: str) -> list[str]:
    """Return the text output of each cell whose source contains ``source``."""
    return [
        "\n".join(
            text
            for output in cell.outputs
            if (text := output.get("text") or output.get("data", {}).get("text/plain", ""))
        )
        for cell in executed(name).cells
        if cell.cell_type == "code" and source in cell.source
    ]


def test_there_are_notebooks():
    assert NOTEBOOKS == [
        "01_first_steps.ipynb",
        "02_why_did_it_recompile.ipynb",
        "03_looking_inside.ipynb",
        "04_errors.ipynb",
        "05_panel_and_stepper.ipynb",
        "06_many_processes.ipynb",
    ]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_are_saved_with_the_texts_of_their_outputs(name):
    saved = nbformat.read(DEMOS / name, 4).cells
    for cell, run in zip(saved, executed(name).cells, strict=True):
        if cell.cell_type == "code":
            assert cell.outputs == demos.texts(cell.outputs)
            assert cell.execution_count is None
            assert bool(cell.outputs) is bool(demos.texts(run.outputs)), "run `make save-demos`"
    assert len((DEMOS / name).read_bytes()) < 40_000


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_run_and_every_view_has_text_and_html(name):
    views = [
        output.data
        for cell in executed(name).cells
        for output in cell.get("outputs", [])
        if any("vnd.jxkernel" in kind for kind in output.get("data", {}))
    ]
    assert len(views) >= 3
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


def test_errors_name_the_line_and_the_remedy():
    failed = {
        output.ename: output.evalue
        for cell in executed("04_errors.ipynb").cells
        for output in cell.get("outputs", [])
        if output.output_type == "error"
    }
    assert (
        "prices = jnp.where(mean > 5, prices / mean, prices)" in failed["TracerBoolConversionError"]
    )
    assert "prices = prices.at[0].set(4.0)" in failed["ImmutableArrayError"]
    assert len(failed) == 5
    told = "\n".join(text_after("04_errors.ipynb", "noise = "))
    for lesson in ("update dropped", "random key used again", "index out of bounds"):
        assert lesson in told


def test_the_stepper_goes_one_equation_at_a_time():
    (at,) = text_after("05_panel_and_stepper.ipynb", "jax.debug.step(jax.grad(loss))")
    assert re.search(r"line 2 · .* = dot_general", at)
    (later,) = text_after("05_panel_and_stepper.ipynb", "at = at.over()")
    assert later.count("line ") == 3


def test_many_processes_end_with_the_loss_of_one_though_a_rank_was_killed():
    name = "06_many_processes.ipynb"
    (alone,) = text_after(name, "loss of one process")
    (four,) = text_after(name, "loss of four processes")
    loss = re.search(r"after 120 steps: ([\d.]+)", alone)[1]
    assert f"loss of four processes after 120 steps: {loss}" in four
    assert "going on from step 50" in four
    (mended,) = [text for text in text_after(name, "%jx cluster") if "images is lost" in text]
    assert "images is lost: parts of it are gone" in mended
    assert "Gloo" not in mended
    (diff,) = text_after(name, "%jx cluster diff")
    assert diff == "The variables are the same on all 4 ranks."
    killed, differ = (
        "\n".join(cell.outputs[-1].traceback)
        for cell in executed(name).cells
        if "raises-exception" in cell.metadata.get("tags", ())
    )
    assert "rank 2 has ended" in killed
    assert "reduce_max" in differ
