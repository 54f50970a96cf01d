"""The panel's tab of the cluster: its ranks, and where each is while a cell runs."""

from collections.abc import Callable

import pytest

from tests.front.jupyter import PICTURES, Notebook, Server, use_theme
from tests.front.test_access import THEMES, axe, findings
from tests.front.test_marks import marks, wait_for_marks
from tests.front.test_panel import tab

CELLS = (
    "%load_ext jxkernel",
    "%jx cluster 2",
    """%%spmd
import os, time, numpy as np, jxkernel as jx
rank = jx.process_index()
rows = jx.NamedSharding(jx.make_mesh((2,), ("x",)), jx.P("x"))
x = jx.make_array_from_process_local_data(rows, np.ones(4096, np.float32))
total = jx.jit(lambda x: x.sum())
total(x)""",
)


GO = "%%spmd\ngo = {!r}\nwhile rank and not os.path.exists(go): time.sleep(0.1)\nfloat(total(x))"


def test_the_cluster_is_shown_with_its_ranks_also_while_a_cell_runs(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    go = lab.folder / "go"
    lab.write("ranks.ipynb", *CELLS, GO.format(str(go)), "%jx cluster stop")
    notebook = opened(lab, "ranks.ipynb")
    page = notebook.page
    notebook.run(0)
    page.evaluate("() => jupyterapp.shell.activateById('jxkernel-panel')")
    panel = tab(notebook, "Cluster")
    panel.get_by_text("No cluster runs").wait_for()

    for index in (1, 2):
        notebook.run(index)
    panel.get_by_text("2 ranks · ready").wait_for()
    first, second = panel.locator("li").all()
    second.get_by_text("rank 1").wait_for()
    second.get_by_text("16.4 KB").wait_for()

    notebook.start(3)
    panel.get_by_text("2 ranks · a cell runs").wait_for()
    first.get_by_text("waits in <lambda> (all-reduce)").wait_for()
    first.get_by_text("float(total(x))").wait_for()
    second.get_by_text("while rank and not").wait_for()
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.evaluate(axe.AXE_SCRIPT)
    found = {}
    for theme in THEMES:
        use_theme(notebook, theme)
        found[theme] = findings(notebook)
        page.locator(".jp-jxk-Panel").screenshot(path=PICTURES / f"cluster {theme}.png")
    assert {theme: these for theme, these in found.items() if these} == {}

    go.touch()
    panel.get_by_text("2 ranks · ready").wait_for()
    notebook.run(4)
    panel.get_by_text("No cluster runs").wait_for()
    assert notebook.strangers == []
    assert notebook.errors == []


MARKED = (
    "%load_ext jxkernel",
    "%jx cluster 1",
    CELLS[2].replace("(2,)", "(jx.process_count(),)"),
    """%%spmd
@jx.jit
def scaled(a):
    b = a * 2
    return b.sum()
float(scaled(x))""",
    """%%jit --on cluster
doubled = x * 2
doubled.sum()""",
    "%jx cluster stop",
)

BY_SPMD = [["a", "T"], ["b", "T"], ["a", "T"], ["b", "T"]]
BY_JIT = [["doubled", "T"], ["x", "T"], ["doubled", "T"]]


@pytest.mark.slow
def test_cells_of_a_cluster_are_marked_in_their_editors(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("marked ranks.ipynb", *MARKED)
    notebook = opened(lab, "marked ranks.ipynb")
    notebook.run_all()
    for index, found in ((3, BY_SPMD), (4, BY_JIT)):
        wait_for_marks(notebook, index)
        assert marks(notebook, index) == found
    assert marks(notebook, 0) == []

    explanation = notebook.page.locator(".jp-jxk-why")
    notebook.cell(3).locator(".jp-jxk-mark", has_text="b").first.hover()
    explanation.wait_for()
    assert "b traced, f32[4096@x]" in explanation.inner_text()
    assert notebook.strangers == []
    assert notebook.errors == []
