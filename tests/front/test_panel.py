"""The right panel, the commands and the settings, as a user has them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.front.jupyter import Notebook, Server, running_server

LOAD = "%load_ext jxkernel"
DEFINE = """\
import jxkernel as jx, jxkernel.numpy as jnp
@jx.jit
def scaled(a):
    return jnp.tanh(a) * 2
params = {'w': jnp.ones((300, 400))}
alias = params['w']"""
MODULE = """\
import jxkernel as jx

@jx.jit
def halved(a):
    return a / 2
"""
CALL = "for n in range(1, 8):\n    y = scaled(jnp.ones(n))"
COUNT = "print(len(jx.devices()), jnp.arange(3.0).dtype, 'params' in globals())"
BY_CODE = "jx.config.update('jax_default_matmul_precision', 'highest')"


def enabled(notebook: Notebook, name: str) -> bool:
    return notebook.page.evaluate(
        "c => [jupyterapp.commands.isEnabled(c), jupyterapp.commands.isVisible(c)].every(Boolean)",
        f"jxkernel:{name}",
    )


def goes_to(notebook: Notebook, link: Any, index: int) -> None:
    """Clicks a link, and waits until a cell is the active one."""
    link.click()
    notebook.page.wait_for_function(
        "i => jupyterapp.shell.currentWidget.content.activeCellIndex === i", arg=index
    )


def tab(notebook: Notebook, name: str) -> Any:
    """Shows a section, and waits until it is up to date."""
    notebook.page.get_by_role("tab", name=name).click()
    notebook.page.locator(".jp-jxk-panel-content[aria-busy=false]").wait_for()
    return notebook.page.locator(".jp-jxk-panel-content")


def choose_and_apply(notebook: Notebook, content: Any) -> None:
    """Asks for four CPU devices in the form, reads what that would do, and applies it."""
    content.get_by_label("CPU devices").fill("4")
    content.get_by_label("64-bit dtypes").check()
    would = content.get_by_role("group", name="What this would do")
    would.get_by_text("change CPU devices from 1 to 4").wait_for()
    would.get_by_text("change 64-bit dtypes from off to on").wait_for()
    would.get_by_text("params['w']").wait_for()
    apply = would.get_by_role("button", name="Apply")
    apply.and_(notebook.page.locator(":enabled")).click()
    content.get_by_text("Done.").wait_for()


def test_the_panel_shows_a_session_and_acts_on_it(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    (lab.folder / "halving.py").write_text(MODULE)
    lab.write("panel.ipynb", DEFINE, CALL, COUNT, "import halving\nhalving.halved(2.0)")
    notebook = opened(lab, "panel.ipynb")
    page = notebook.page
    panel = page.locator(".jp-jxk-Panel")

    assert not enabled(notebook, "show-ledger")
    assert enabled(notebook, "load")
    page.evaluate("() => jupyterapp.shell.activateById('jxkernel-panel')")
    panel.get_by_text("jxkernel is not loaded in this kernel").wait_for()
    panel.get_by_role("button", name="Load it: run %load_ext jxkernel").click()
    panel.get_by_text("not started").wait_for()
    assert enabled(notebook, "show-ledger")
    tab(notebook, "Devices").get_by_text("No platform runs yet").wait_for()
    tab(notebook, "Ledger").get_by_text("Nothing has been traced").wait_for()

    notebook.run(0)
    notebook.run(1)
    notebook.run(1)
    ledger = page.locator(".jp-jxk-panel-content")
    ledger.get_by_text("Storm: scaled").wait_for()
    newest = ledger.locator(".jp-jxk-panel-build").first
    newest.get_by_text("a: f32[6] → f32[7]").wait_for()
    newest.get_by_text("Fix: pad a along axis 0").wait_for()
    # The label is of an execution before the latest; the cell is known by its id.
    goes_to(notebook, ledger.get_by_role("button", name="In[2]", exact=True).first, 1)
    page.get_by_label("Filter the ledger").fill("nothing like it")
    ledger.get_by_text("None fits").wait_for()
    page.get_by_label("Filter the ledger").fill("")

    functions = tab(notebook, "Functions")
    functions.get_by_text("7 traces kept · 7 builds (6 again)").wait_for()
    goes_to(notebook, functions.get_by_role("button", name="In[1]:2"), 0)

    arrays = tab(notebook, "Arrays")
    released = arrays.locator("li").filter(has_text="params['w']")
    released.get_by_text("also alias").wait_for()
    released.get_by_role("button", name="Release params, alias").click()
    dialog = page.locator(".jp-Dialog")
    dialog.get_by_text("held by params, alias will be deleted").wait_for()
    dialog.get_by_role("button", name="Cancel").click()
    dialog.wait_for(state="detached")
    released.get_by_role("button", name="Release params, alias").click()
    page.locator(".jp-Dialog").get_by_role("button", name="Release").click()
    released.wait_for(state="detached")
    notebook.run(2)
    assert notebook.cell(2).locator(".jp-OutputArea").inner_text().strip() == "1 float32 False"

    notebook.run(3)
    tab(notebook, "Functions").get_by_role("button", name="halving.py:3").click()
    page.wait_for_function(
        "() => jupyterapp.shell.currentWidget.context?.path === 'halving.py'"
        " && jupyterapp.shell.currentWidget.content.editor?.getCursorPosition().line === 2"
    )
    assert notebook.errors == []
    assert notebook.strangers == []


def test_the_backend_is_previewed_and_changed_by_form_and_by_code(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("backend.ipynb", f"{LOAD}\n{DEFINE}\nscaled(alias)", BY_CODE, COUNT)
    notebook = opened(lab, "backend.ipynb")
    page = notebook.page
    notebook.run(0)
    status = page.locator(".jp-jxk-Status")
    status.get_by_role("button").click()
    content = page.locator(".jp-jxk-panel-content")
    content.locator("select").first.wait_for()
    page.wait_for_function("() => document.activeElement.matches('.jp-jxk-Panel select')")

    notebook.run(1)
    page.wait_for_function(
        "() => [...document.querySelectorAll('.jp-jxk-Panel select')]"
        ".some(one => one.value === 'highest')"
    )
    content.get_by_label("CPU devices").fill("900")
    content.get_by_text("goes from 1 to 64").wait_for()
    assert content.get_by_role("button", name="Apply").is_disabled()
    content.get_by_role("button", name="Undo").click()
    choose_and_apply(notebook, content)
    status.get_by_text("jx cpu:0 · x64").wait_for()
    content.get_by_role("button", name="Use cpu:3 as the default device").click()
    content.get_by_text("change default device from cpu:0 to cpu:3").wait_for()
    content.get_by_role("button", name="Undo").click()
    notebook.run(2)
    assert notebook.cell(2).locator(".jp-OutputArea").inner_text().strip() == "4 float64 True"
    assert notebook.errors == []


@pytest.fixture
def own_lab(tmp_path: Path) -> Iterator[Server]:
    """A JupyterLab whose settings may be changed."""
    with running_server("lab", tmp_path) as server:
        yield server


def test_commands_shortcuts_and_settings(own_lab: Server, opened: Callable[..., Notebook]) -> None:
    own_lab.write("commands.ipynb", LOAD, DEFINE, CALL)
    notebook = opened(own_lab, "commands.ipynb")
    page = notebook.page
    notebook.run_all()
    page.keyboard.press("Escape")
    page.keyboard.press("Alt+J")
    page.keyboard.press("L")
    ledger = page.locator(".jp-jxk-panel-content")
    storm = ledger.get_by_text("Storm: scaled")
    storm.wait_for()
    page.wait_for_function("() => document.activeElement.getAttribute('role') === 'tab'")
    page.keyboard.press("ArrowRight")
    ledger.get_by_text("1 function").wait_for()
    page.keyboard.press("Home")
    storm.wait_for()

    notebook.select(2)
    notebook.command("jxkernel:explain-cell")
    dialog = page.locator(".jp-Dialog")
    dialog.get_by_text("scaled: traced 7 times").wait_for()
    dialog.get_by_role("button", name="Close").click()
    dialog.wait_for(state="detached")

    notebook.command("jxkernel:toggle-teaching")
    page.locator(".jp-jxk-Panel").get_by_text("teaching").wait_for()
    assert page.evaluate("() => jupyterapp.commands.isToggled('jxkernel:toggle-teaching')")

    notebook.command("jxkernel:clear-caches")
    page.locator(".jp-Dialog").get_by_text("1 traced function will be").wait_for()
    page.locator(".jp-Dialog").get_by_role("button", name="Clear").click()
    page.get_by_role("tab", name="Functions").click()
    ledger.get_by_text("No live function").wait_for()
    page.get_by_role("tab", name="Ledger").click()

    notebook.command("jxkernel:toggle-marks")
    page.wait_for_function("() => !jupyterapp.commands.isToggled('jxkernel:toggle-marks')")
    page.get_by_role("menuitem", name="Kernel").first.click()
    page.locator(".lm-Menu").get_by_text("jxkernel", exact=True).wait_for()
    page.keyboard.press("Escape")

    notebook.command("settingeditor:open", query="jxkernel")
    page.locator("input[id$=_stormBuilds]").fill("0")
    page.locator("input[id$=_statusItem]").uncheck()
    page.locator(".jp-jxk-Status button").wait_for(state="detached")
    storm.wait_for(state="detached")
    assert notebook.errors == []
    assert notebook.strangers == []


def test_notebook_7_has_the_panel_and_the_selector_in_its_toolbar(
    notebook_app: Server, opened: Callable[..., Notebook]
) -> None:
    notebook_app.write("seven.ipynb", f"{LOAD}\n{DEFINE}\nalias = scaled(alias)", COUNT)
    notebook = opened(notebook_app, "seven.ipynb")
    page = notebook.page
    notebook.run(0)
    toolbar = page.locator(".jp-Toolbar .jp-jxk-Status")
    toolbar.get_by_role("button").click()
    content = page.locator(".jp-jxk-panel-content")
    choose_and_apply(notebook, content)
    toolbar.get_by_text("jx cpu:0 · x64").wait_for()
    notebook.run(1)
    assert notebook.cell(1).locator(".jp-OutputArea").inner_text().strip() == "4 float64 True"
    goes_to(notebook, tab(notebook, "Ledger").get_by_role("button", name="In[1]").first, 0)
