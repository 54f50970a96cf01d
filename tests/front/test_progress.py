"""Values of a compiled loop are drawn while it runs."""

from collections.abc import Callable

from tests.front.jupyter import Notebook, Server, use_theme

SETUP = """%load_ext jxkernel
import time
from pathlib import Path
import jxkernel as jx
from jxkernel import lax

def pause(turn):
    time.sleep(0.01)
    while turn == 120 and not Path('go').exists():
        time.sleep(0.01)

def body(turn, loss):
    jx.debug.callback(pause, turn, ordered=True)
    return loss * 0.97

loop = jx.progress(lax.fori_loop, label='training', values=lambda loss: {'loss': loss})
train = jx.jit(lambda loss: loop(0, 200, body, loss))"""

CONTRAST = """path => {
  const [r, g, b] = getComputedStyle(path).stroke.match(/\\d+/g).map(Number);
  return [r, g, b, path.getBoundingClientRect().width];
}"""


def test_values_are_drawn_while_a_compiled_loop_runs(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("training.ipynb", SETUP, "_ = train(5.0)")
    notebook = opened(lab, "training.ipynb")
    notebook.run(0)
    notebook.start(1)
    output = notebook.cell(1).locator(".jp-OutputArea")
    path = output.locator("svg.value path")
    path.wait_for()
    output.locator("pre", has_text="loss: between").wait_for()
    state = "() => jupyterapp.shell.currentWidget.content.widgets[1].model.executionState"
    assert notebook.page.evaluate(state) == "running"
    assert "100%" not in output.inner_text()
    (lab.folder / "go").touch()
    output.get_by_text("200/200").wait_for()
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        use_theme(notebook, theme)
        # #2a78d6 has a contrast of at least 4 to the page in either.
        assert path.evaluate(CONTRAST)[:3] == [42, 120, 214]
        assert path.evaluate(CONTRAST)[3] > 200
    assert notebook.errors == []
