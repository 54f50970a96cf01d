"""What the lab extension draws, scene by scene: for pictures in the documents, and to look over.

One notebook shows all views; each scene is the element that a person looks at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.front.jupyter import Notebook
from tests.jupyter.test_out_of_memory import LIMIT, NEEDS

__all__ = ["CELLS", "SCENES", "SHORTAGE", "prepare", "shortage"]

SETUP = """\
%load_ext jxkernel
import jxkernel as jx, jxkernel.numpy as jnp
x, y = jnp.linspace(-1.0, 1.0, 64).reshape(16, 4), jnp.ones(16)
w1, w2 = jnp.ones((4, 8)) / 4, jnp.ones(8) / 8
scale = 3"""
LAYER = """\
%%jit --static scale
h = jnp.tanh(x @ w1)
for round in range(scale):
    h = h + jnp.sin(h) / (round + 1)
loss = jnp.mean((h @ w2 - y) ** 2)
loss"""
FUNCTION = """\
def model(a, b):
    hidden = jnp.tanh(a @ b)
    return jnp.sum(hidden * hidden, axis=1)
step = jx.jit(model)
_ = step(x, w1), step(x[:8], w1), step(x[:4], w1)"""
CELLS = (
    SETUP,
    LAYER,
    FUNCTION,
    "%jaxpr step(x, w1)",
    "%jx stages step(x, w1)",
    "%jx ledger",
    "%jx map",
    "%jx live",
    "%jx trace start",
    "step(x, w1)",
    "%jx trace stop",
)
SHORTAGE = (
    "%load_ext jxkernel\nimport jxkernel as jx, jxkernel.numpy as jnp\n"
    "big, spare = jnp.ones((200, 1000, 1000)), jnp.ones((5000, 1000))\n"
    f"needed = jnp.ones((5000, 1000))\n{LIMIT}",
    NEEDS,
)
"""What fills a kernel, whose memory is limited then, and what does not fit any more."""

BODY, EXPLORER, STAGES, LEDGER, MAP, MEMORY, TIMELINE = 1, 3, 4, 5, 6, 7, 10

COSTS = """isOn => {
  if (jupyterapp.commands.isToggled('jxkernel:toggle-costs') !== isOn) {
    void jupyterapp.commands.execute('jxkernel:toggle-costs');
  }
}"""

Scene = Callable[[Notebook], Any]


def prepare(notebook: Notebook) -> None:
    """Runs the cells, and chooses a line, so that what belongs together is lit up."""
    page = notebook.page
    # Cells that are out of sight may not be in the page.
    page.set_viewport_size({"width": 1400, "height": 6000})
    notebook.run_all()
    notebook.command("application:toggle-left-area")
    notebook.cell(BODY).locator(".jp-jxk-mark").first.wait_for()
    page.evaluate("() => jupyterapp.shell.activateById('jxkernel-panel')")
    page.locator(".jp-jxk-Panel [role=tab]").first.wait_for()
    view = _view(notebook, EXPLORER)
    view.get_by_role("treeitem").filter(has_text="tanh").click(position={"x": 120, "y": 8})
    view.locator(".jp-mod-lit", has_text="hidden = jnp.tanh").wait_for()
    again = notebook.cell(LEDGER).get_by_role("option").filter(has_text="f32[8,4]").first
    again.click()


def shortage(notebook: Notebook) -> Any:
    """Runs the cells of `SHORTAGE`, and returns the last, with its buttons."""
    notebook.page.set_viewport_size({"width": 1100, "height": 1600})
    notebook.command("application:toggle-left-area")
    for index in range(len(SHORTAGE)):
        notebook.run(index)
    cell = notebook.cell(len(SHORTAGE) - 1)
    cell.locator(".jp-jxk-Shortage").wait_for()
    return cell


def _view(notebook: Notebook, index: int) -> Any:
    """The view that a cell has put out, in sight."""
    view = notebook.cell(index).locator(".jp-jxk-View").first
    view.scroll_into_view_if_needed()
    return view


def _marks(notebook: Notebook) -> Any:
    notebook.page.evaluate(COSTS, False)
    cell = notebook.cell(BODY)
    cell.scroll_into_view_if_needed()
    return cell


def _costs(notebook: Notebook) -> Any:
    """The cell with the cost of its lines, which `_marks` hides."""
    cell = _marks(notebook)
    notebook.page.evaluate(COSTS, True)
    cell.locator(".jp-jxk-costLine").first.wait_for()
    return cell


def _section(name: str) -> Scene:
    def scene(notebook: Notebook) -> Any:
        panel = notebook.page.locator(".jp-jxk-Panel")
        panel.get_by_role("tab", name=name).click()
        panel.locator(".jp-jxk-panel-content > *").first.wait_for()
        return panel

    return scene


def _change(notebook: Notebook) -> Any:
    """The form of the backend with a change that is not applied."""
    panel = _section("Devices")(notebook)
    panel.get_by_label("CPU devices").fill("4")
    panel.get_by_role("button", name="Apply").wait_for()
    return panel


def _status(notebook: Notebook) -> Any:
    return notebook.page.locator("#jp-main-statusbar")


def _output(index: int) -> Scene:
    return lambda notebook: _view(notebook, index)


SCENES: dict[str, Scene] = {
    "marks": _marks,
    "costs": _costs,
    "explorer": _output(EXPLORER),
    "stages": _output(STAGES),
    "ledger": _output(LEDGER),
    "map": _output(MAP),
    "memory": _output(MEMORY),
    "timeline": _output(TIMELINE),
    "panel-ledger": _section("Ledger"),
    "panel-functions": _section("Functions"),
    "panel-arrays": _section("Arrays"),
    "panel-devices": _change,
    "status": _status,
}
"""Each brings its element into sight, and returns it."""
