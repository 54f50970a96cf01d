"""Marks in the cells' editors: they appear when a cell ran, and say what they mean."""

import shutil
from collections.abc import Callable

import pytest

from tests.front.jupyter import Notebook, Server

OF_NOTEBOOK = "Cannot read properties of undefined (reading 'schema')"
"""What Notebook 7 itself reports when its settings load."""

SETUP = """\
%load_ext jxkernel
import jxkernel.numpy as jnp
x = jnp.arange(8.0)
w = jnp.ones((100, 8))
n = 3"""
LAYER = """

def layer(v):
    s = w @ v
    print('tracing')
    return jnp.tanh(s)"""
BODY = """\
%%jit --static n
y = layer(x)
for i in range(n):
    y = y + i
loss = y.sum()
loss"""

MARKS = """i => [...document.querySelectorAll('.jp-Notebook .jp-Cell')[i]
  .querySelectorAll('.jp-jxk-mark')].map(one => [one.textContent, one.dataset.jxk,
    one.classList.contains('jp-jxk-stale')])"""


def marks(notebook: Notebook, index: int, *, stale: bool = False) -> list[list[str]]:
    found = notebook.page.evaluate(MARKS, index)
    return [[text, letter] for text, letter, is_stale in found if is_stale == stale]


def wait_for_stale_marks(notebook: Notebook, index: int, count: int) -> None:
    """Waits until so many marks are stale: all are placed anew when nothing is typed any more."""
    notebook.page.wait_for_function(
        f"([i, count]) => ({MARKS})(i).filter(one => one[2]).length === count", arg=[index, count]
    )


def wait_for_marks(notebook: Notebook, index: int) -> None:
    notebook.cell(index).locator(".jp-jxk-mark").first.wait_for()


def edit(notebook: Notebook, index: int, before: str, after: str) -> None:
    """Types as a person does: the editor's own change, which can be taken back."""
    notebook.page.evaluate(
        """([i, before, after]) => {
          const view = jupyterapp.shell.currentWidget.content.widgets[i].editor.editor;
          const from = view.state.doc.toString().indexOf(before);
          view.dispatch({ changes: { from, to: from + before.length, insert: after } });
        }""",
        [index, before, after],
    )


def test_a_cell_that_ran_is_marked_in_its_editor(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("marks.ipynb", SETUP, LAYER, BODY)
    notebook = opened(lab, "marks.ipynb")
    notebook.run_all()
    wait_for_marks(notebook, 2)
    first = [["y", "T"], ["x", "T"], ["for", "↻"], ["i", "S"], ["n", "S"]]
    assert marks(notebook, 2)[:5] == first
    assert ["w", "C 3.2 KB"] in marks(notebook, 1) or ["w", "C"] in marks(notebook, 1)
    assert ["print('tracing')", "!"] in marks(notebook, 1)
    assert marks(notebook, 0) == []

    explanation = notebook.page.locator(".jp-jxk-why")
    notebook.cell(2).locator(".jp-jxk-mark").first.hover()
    explanation.wait_for()
    shown = explanation.inner_text()
    assert "y traced, f32[100]" in shown
    assert "← x: f32[8], argument" in shown
    notebook.page.mouse.move(5, 5)
    explanation.wait_for(state="detached")

    edit(notebook, 2, "y + i", "y + i + 1")
    wait_for_stale_marks(notebook, 2, 3)
    assert marks(notebook, 2, stale=True) == [["y", "T"], ["y", "T"], ["i", "S"]]
    edit(notebook, 2, "y + i + 1", "y + i")
    wait_for_stale_marks(notebook, 2, 0)
    edit(notebook, 2, "static n\n", "static n\n\n# before\n")
    assert marks(notebook, 2)[:5] == first

    notebook.restart()
    assert marks(notebook, 2)[:5] == first
    notebook.save()
    notebook.open()
    wait_for_marks(notebook, 2)
    assert marks(notebook, 2)[:5] == first
    assert ["w", "C"] in marks(notebook, 1)

    notebook.write(2, "y = 1")
    assert marks(notebook, 2) == []
    assert notebook.errors == []
    assert notebook.strangers == []


@pytest.mark.slow
def test_a_saved_notebook_is_marked_in_notebook_7_without_a_kernel(
    lab: Server, notebook_app: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("saved.ipynb", SETUP, LAYER, BODY)
    first = opened(lab, "saved.ipynb")
    first.run_all()
    first.save()
    shutil.copy(lab.folder / "saved.ipynb", notebook_app.folder)
    second = opened(notebook_app, "saved.ipynb", kernel=False)
    wait_for_marks(second, 2)
    assert ["x", "T"] in marks(second, 2)
    assert [one for one in second.errors if one != OF_NOTEBOOK] == []


DEFINING = """\
import jxkernel as jx
from layers_of_mine import scaled
@jx.jit
def step(v):
    h = scaled(v) * w
    for i in range(3):
        h = h + i
    return h"""
IMPORTED = "def scaled(v):\n    doubled = v * 2\n    return doubled\n"
FAILING = "%%jit\nc = x + 1\nif c.sum() > 0:\n    d = c"

SET_SIZE = """size => {
  const services = jupyterapp.pluginRegistry._services;
  const token = [...services.keys()].find(one => one.name === 'jxkernel:IPreferences');
  void jupyterapp.pluginRegistry._plugins.get(services.get(token)).service.set('markSize', size);
}"""
SIZE = """() => getComputedStyle(
  document.querySelector('.jp-Notebook .jp-jxk-mark'), '::after').fontSize"""
IN_FILE = """() => [...document.querySelectorAll('.jp-FileEditor .jp-jxk-mark')]
  .map(one => [one.textContent, one.dataset.jxk])"""


def test_jitted_functions_are_marked_where_they_are_defined(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    (lab.folder / "layers_of_mine.py").write_text(IMPORTED)
    plain = SETUP.replace("w = jnp.ones((100, 8))", "w = 2.0")
    lab.write("jitted.ipynb", plain, DEFINING, "y = step(x)", FAILING)
    notebook = opened(lab, "jitted.ipynb")
    for index in range(3):
        notebook.run(index)
    wait_for_marks(notebook, 1)
    found = marks(notebook, 1)
    assert ["h", "T"] in found
    assert ["w", "S"] in found
    assert ["for", "↻"] in found
    assert marks(notebook, 2) == []

    notebook.run(3)
    wait_for_marks(notebook, 3)
    assert marks(notebook, 3)[:2] == [["c", "T"], ["x", "T"]]

    notebook.command("jxkernel:toggle-costs")
    hot = notebook.cell(1).locator(".jp-jxk-costLine", has_text="h = scaled(v) * w")
    hot.wait_for()
    assert hot.get_attribute("data-jxk-cost") == "8 flop · 64 B"
    assert notebook.cell(0).locator(".jp-jxk-costLine").count() == 0
    notebook.command("jxkernel:toggle-costs")
    hot.wait_for(state="detached")

    notebook.open()  # the page anew, the kernel as it was
    wait_for_marks(notebook, 1)
    assert marks(notebook, 1) == found

    line = notebook.cell(1).locator(".jp-jxk-markedLine").first
    before = line.bounding_box()["height"]
    notebook.page.evaluate(SET_SIZE, 12)
    notebook.page.wait_for_function(f"() => ({SIZE})() === '12px'")
    assert line.bounding_box()["height"] == before
    notebook.page.evaluate(SET_SIZE, 8)
    notebook.page.wait_for_function(f"() => ({SIZE})() === '8px'")

    notebook.command("docmanager:open", path="layers_of_mine.py")
    notebook.page.locator(".jp-FileEditor .jp-jxk-mark").first.wait_for()
    assert ["doubled", "T"] in notebook.page.evaluate(IN_FILE)
    notebook.page.evaluate("() => { jupyterapp.shell.currentWidget.close() }")
    notebook.page.wait_for_function("() => !!jupyterapp.shell.currentWidget?.sessionContext")
    assert notebook.errors == []
