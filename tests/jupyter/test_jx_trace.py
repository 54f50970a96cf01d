"""`%jx trace`: a profile over cells, shown as a timeline that needs nothing else."""

import json
from pathlib import Path

import pytest
from IPython.core.error import UsageError

from jxkernel.jupyter import load_ipython_extension, unload_ipython_extension
from jxkernel.jupyter.programs.requests import line_costs
from jxkernel.jupyter.timeline.view import timeline_view
from jxkernel.observe import Lane, Slice, Timeline, Window
from tests.jupyter.conftest import Notebook


def test_cells_are_profiled_and_linked_to_their_lines(notebook: Notebook, tmp_path: Path) -> None:
    started = notebook.run(f"%jx trace start '{tmp_path}/a folder'").value
    assert "recording to" in started.text
    notebook.run("big = jnp.ones((150, 150))\n@jx.jit\ndef f(a):\n    return jnp.sort(a @ a)")
    notebook.run("y = f(big)")
    assert "A profile is running; %jx trace stop ends it." in notebook.run("%jx trace").value.text
    view = notebook.run("%jx trace stop").value
    assert any(one["line"] == "Cell In[3], line 4" for one in view.data["lines"])
    cells = {one["name"]: one["device_ns"] for one in view.data["cells"]}
    assert cells["In[4]"] > 0
    assert "Cell In[3], line 4: return jnp.sort(a @ a)" in view.text
    assert "<svg" in view.html
    assert "<script" not in view.html
    written = json.loads((tmp_path / "a folder" / "timeline.json").read_text())
    assert any(one["name"] == "In[4]" for one in written["traceEvents"])
    assert "No profile is running" in notebook.run("%jx trace").value.text
    # What the profile measured stands beside what the line costs as traced.
    lines = line_costs(notebook.session)["lines"]
    [line] = [one for one in lines if one["device_ns"] and one["line"] == 4]
    assert line["flops"] > 2 * 150**3
    assert line["bytes"] >= 3 * 4 * 150**2


def test_a_second_start_and_a_stop_without_start_are_told(
    notebook: Notebook, tmp_path: Path
) -> None:
    assert "no profile is running" in notebook.fails("%jx trace stop", UsageError).printed
    notebook.run(f"%jx trace start {tmp_path}")
    second = notebook.fails(f"%jx trace start {tmp_path}/second", UsageError)
    assert "is running already" in second.printed
    assert not (tmp_path / "second").exists()
    unload_ipython_extension(notebook.shell)
    load_ipython_extension(notebook.shell)
    notebook.run(f"%jx trace start {tmp_path}")
    notebook.run("%jx trace stop")


@pytest.mark.parametrize("words", ["begin", "stop now", "start a b", "start --deep", "memory a b"])
def test_wrong_words_are_told(notebook: Notebook, words: str) -> None:
    assert "UsageError: %jx trace" in notebook.fails(f"%jx trace {words}", UsageError).printed


def test_memory_is_told_by_cell(notebook: Notebook, tmp_path: Path) -> None:
    notebook.run("held = jnp.ones((321, 123))")
    view = notebook.run(f"%jx trace memory {tmp_path}/m.prof").value
    assert any(row[0] == "Cell In[2], line 1" for row in view.data["rows"])
    assert (tmp_path / "m.prof").exists()
    missing = notebook.fails("%jx trace memory /no/such/folder/m.prof", UsageError)
    assert "'/no/such/folder/m.prof' cannot be written: No such file" in missing.printed


def test_a_large_timeline_is_bounded_and_markup_is_inert() -> None:
    bad = "<script>alert(1)</script>\x1b[31m" * 50
    slices = [Slice(bad, n, 0.9, 0.9, bad, bad, (f"{bad}:{n % 90}",)) for n in range(6_000)]
    windows = [Window(f"{bad}{n}", n * 60.0, n * 60.0 + 59) for n in range(100)]
    lanes = (Lane(bad, "device", tuple(slices)),)
    view = timeline_view(Timeline(lanes, tuple(windows), 6_000.0))
    assert "<script" not in view.html
    assert "\x1b" not in view.html
    bundle = view._repr_mimebundle_()
    assert "text/html" in bundle
    assert len(json.dumps(bundle)) < 1_000_000
