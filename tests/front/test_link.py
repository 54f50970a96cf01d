"""The session over a link that is cut, slow or shared, and over a kernel that comes and goes."""

from collections.abc import Callable

import pytest

from tests.front.jupyter import READY, Notebook, Server

LOAD = "%load_ext jxkernel"
COMPUTE = "import jxkernel as jx, jxkernel.numpy as jnp\nprint(jnp.arange(3.0).sum())"
WIDE = "jx.config.update('jax_enable_x64', True)"
NARROW = "jx.config.update('jax_enable_x64', False)"
DIE = "import os\nos._exit(1)"
TRACE = """
import pathlib, time
def patient(x):
    while not pathlib.Path('go-on').exists():
        time.sleep(0.05)
    return x + 1
print(jx.jit(patient)(1.0))
"""
MANY = """
from jxkernel import events
from jxkernel.jupyter import session_of
for number in range(100_000):
    events.emit(events.TraceTimeEffect, fun='f', effect='print', file='', line=number)
"""
TOLD = """
records = session_of(get_ipython()).recorder
print(len(records.records()) + records.dropped)
"""


def test_a_lost_connection_and_a_kernel_that_died_are_taken_up_again(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("cut.ipynb", LOAD, COMPUTE, WIDE, DIE)
    notebook = opened(lab, "cut.ipynb")
    notebook.run(0)
    notebook.run(1)
    notebook.status("jx cpu:0")

    notebook.page.evaluate(
        """() => {
          link.hold();
          window.asked = session().request('nothing').catch(error => error.message);
          link.cut();
        }"""
    )
    assert "connection was lost" in notebook.page.evaluate("() => window.asked")
    notebook.page.evaluate("() => link.release()")
    notebook.page.wait_for_function(READY)
    notebook.status("jx cpu:0")
    notebook.run(2)
    notebook.status("jx cpu:0 · x64")

    notebook.start(3)
    notebook.status("")
    notebook.page.get_by_role("button", name="Ok", exact=True).click()
    notebook.page.wait_for_function(READY)
    notebook.run(0)
    notebook.status("jx not started")
    assert notebook.errors == []


@pytest.mark.slow
def test_two_tabs_hear_of_one_kernel_and_a_closed_one_takes_nothing_along(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("shared.ipynb", LOAD, COMPUTE, WIDE, NARROW, "%unload_ext jxkernel")
    one = opened(lab, "shared.ipynb")
    one.run(0)
    one.run(1)
    other = opened(lab, "shared.ipynb")
    other.status("jx cpu:0")
    other.run(2)
    for notebook in (one, other):
        notebook.status("jx cpu:0 · x64")
    answers = other.page.evaluate(
        "() => Promise.all([1, 2].map(() => session().request('the weather').catch(String)))"
    )
    assert all("'the weather'" in answer for answer in answers)

    other.page.close()
    one.run(3)
    one.page.wait_for_function("() => session().status?.x64 === false")
    one.run(4)
    one.status("")
    one.run(0)
    one.status("jx cpu:0")

    # A console of the same kernel: it has a session too, and the notebook is come back to.
    one.command("notebook:create-console")
    one.page.wait_for_selector(".jp-CodeConsole")
    one.page.wait_for_function(
        "() => jupyterapp.shell.currentWidget.console && session().status?.device === 'cpu:0'"
    )
    assert one.errors == []


@pytest.mark.slow
def test_a_slow_link_drops_events_and_says_how_many(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("many.ipynb", LOAD, COMPUTE, MANY, TOLD)
    notebook = opened(lab, "many.ipynb")
    notebook.run(0)
    notebook.run(1)
    notebook.status("jx cpu:0")
    notebook.page.evaluate(
        """() => {
          window.told = 0;
          session().changed.connect(() => { told += 1; });
          link.hold();
        }"""
    )
    notebook.start(2)
    notebook.page.wait_for_function("() => link.held.length > 20")
    notebook.page.evaluate("() => link.release()")
    notebook.page.wait_for_function(READY)
    notebook.run(3)
    # All but the last cell's own, of which some came after it was counted.
    count = int(notebook.cell(3).locator(".jp-OutputArea-output").inner_text())
    assert count > 100_000
    sums = "session().events.length + session().leftOut + session().dropped"
    notebook.page.wait_for_function(f"() => {sums} >= {count}")
    state = notebook.page.evaluate(
        "() => ({ kept: session().events.length, dropped: session().dropped, told })"
    )
    assert state["kept"] <= 5_000
    assert state["dropped"] > 50_000
    assert state["told"] < 500
    said = notebook.page.locator(".jp-jxk-Status [title]").get_attribute("title")
    assert "events came too fast and were left out" in said

    notebook.open()
    notebook.status("jx cpu:0")
    notebook.page.wait_for_function(f"() => {sums} >= {count}")
    assert notebook.page.evaluate("() => session().dropped") == 0
    assert notebook.errors == []


@pytest.mark.slow
def test_a_notebook_that_was_closed_while_tracing_hears_of_it_when_it_is_opened_again(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("closed.ipynb", LOAD, COMPUTE, TRACE)
    notebook = opened(lab, "closed.ipynb")
    notebook.run(0)
    notebook.run(1)
    notebook.start(2)
    notebook.status("tracing patient")
    notebook.page.evaluate("() => jupyterapp.shell.currentWidget.dispose()")
    notebook.status("")

    notebook.open(kernel=False)
    notebook.status("tracing patient")
    (lab.folder / "go-on").touch()
    notebook.page.wait_for_function(READY)
    notebook.page.wait_for_function("() => session().work === null")
    notebook.status("jx cpu:0")
    assert notebook.errors == []
