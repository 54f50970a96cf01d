"""A session from the first cell to the saved file, in JupyterLab and in Notebook 7.

A picture of each station is kept in build/front; what is compared are texts and states, for
pixels change with every version of the applications and their fonts.
"""

import json
import time
from collections.abc import Callable
from typing import Any

import nbformat
import pytest

from tests.front.jupyter import PICTURES, READY, Notebook, Server

LOAD = "%load_ext jxkernel\nimport jxkernel as jx, jxkernel.numpy as jnp\nx = jnp.arange(8.0)"
LAYER = "%%jit\nh = jnp.tanh(x) * 2\nh.sum()"
LARGER = "x = jnp.arange(16.0)"
PROGRAM = "def f(v):\n    w = jnp.sin(v)\n    return jnp.cos(w) + 1\njx.make_jaxpr(f)(x)"
LONG = f"""
def endless(v):
    for i in range(600):
        v = jnp.sin(v) @ jnp.cos(v) * {1 + time.time() % 1} + i
    return v
jx.jit(endless)(jnp.ones((16, 16)))
"""
CELLS = (LOAD, LAYER, LARGER, "%jx ledger", PROGRAM, "print(len(jx.devices()))", LONG)


@pytest.fixture(params=["lab", "notebook_app"])
def server(request: pytest.FixtureRequest) -> Server:
    """JupyterLab and Notebook 7."""
    return request.getfixturevalue(request.param)


def picture(notebook: Notebook, station: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    notebook.page.screenshot(path=PICTURES / f"{notebook.server.app} {station}.png")


def shown(notebook: Notebook, index: int) -> Any:
    """The output of a cell."""
    return notebook.cell(index).locator(".jp-OutputArea").first


def change_the_shape_and_read_why(notebook: Notebook) -> None:
    notebook.run(0)
    notebook.run(1)
    shown(notebook, 1).get_by_text("3 eqns").first.wait_for()
    notebook.cell(1).locator(".jp-jxk-mark").first.wait_for()
    notebook.run(2)
    notebook.run(1)
    shown(notebook, 1).get_by_text("x f32[8] → f32[16]").first.wait_for()
    notebook.run(3)
    shown(notebook, 3).get_by_text("f32[8] → f32[16]").first.wait_for()
    picture(notebook, "ledger")


def click_an_equation(notebook: Notebook) -> None:
    notebook.run(4)
    notebook.cell(4).locator(".jp-jxk-mark").first.wait_for()  # lines with marks are taller
    view = shown(notebook, 4)
    view.scroll_into_view_if_needed()
    view.get_by_role("treeitem").filter(has_text="cos").click()
    view.locator(".jp-mod-lit").filter(has_text="return jnp.cos(w) + 1").wait_for()
    picture(notebook, "equation")


def switch_the_backend(notebook: Notebook) -> None:
    page = notebook.page
    page.evaluate("() => jupyterapp.shell.activateById('jxkernel-panel')")
    panel = page.locator(".jp-jxk-Panel")
    panel.get_by_role("tab", name="Devices").click()
    panel.get_by_label("CPU devices").fill("2")
    apply = panel.get_by_role("button", name="Apply")
    apply.and_(page.locator(":enabled")).click()
    panel.get_by_text("Done.").wait_for()
    notebook.run(5)
    assert shown(notebook, 5).inner_text().strip() == "2"
    picture(notebook, "backend")


def interrupt_a_long_compilation(notebook: Notebook) -> None:
    notebook.start(6)
    notebook.status("compiling endless")
    picture(notebook, "compiling")
    notebook.command("notebook:interrupt-kernel")
    # The compilation itself would take far longer.
    notebook.page.wait_for_function(READY, timeout=20_000)
    shown(notebook, 6).get_by_text("KeyboardInterrupt").first.wait_for()
    notebook.run(5)


def restart(notebook: Notebook) -> None:
    notebook.restart()
    notebook.status("")
    notebook.run(0)
    notebook.run(1)
    notebook.status("jx cpu:0")


def reopen_without_a_kernel(notebook: Notebook) -> None:
    notebook.save()
    path = notebook.server.folder / notebook.name
    saved = nbformat.read(path, 4)
    types = {one for cell in saved.cells for out in cell.outputs for one in out.get("data", {})}
    assert {f"application/vnd.jxkernel.{kind}+json" for kind in ("jit", "ledger", "jaxpr")} <= types
    del saved.metadata["kernelspec"], saved.metadata["language_info"]
    notebook.name = f"again-{notebook.name}"
    (notebook.server.folder / notebook.name).write_text(json.dumps(saved))
    notebook.open(kernel=False)
    dialog = notebook.page.locator(".jp-Dialog")
    dialog.get_by_role("button", name="No Kernel", exact=True).click()
    dialog.wait_for(state="detached")
    notebook.status("")
    shown(notebook, 1).get_by_text("jit").first.wait_for()
    view = shown(notebook, 4)
    view.scroll_into_view_if_needed()
    view.get_by_role("treeitem").filter(has_text="cos").wait_for()
    picture(notebook, "saved")


@pytest.mark.sampled(2)
def test_a_session(server: Server, opened: Callable[..., Notebook]) -> None:
    server.write("session.ipynb", *CELLS)
    notebook = opened(server, "session.ipynb")
    change_the_shape_and_read_why(notebook)
    click_an_equation(notebook)
    switch_the_backend(notebook)
    interrupt_a_long_compilation(notebook)
    restart(notebook)
    reopen_without_a_kernel(notebook)
    assert notebook.strangers == []
    assert notebook.errors == []
