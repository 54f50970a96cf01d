"""The comm: it is joined when the extension is loaded, after a reload, and after a restart."""

from collections.abc import Callable

from tests.front.jupyter import Notebook, Server

LOAD = "%load_ext jxkernel"
COMPUTE = "import jxkernel.numpy as jnp\nprint(jnp.arange(3.0).sum())"


def test_status_follows_the_kernel_through_reload_and_restart(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("status.ipynb", LOAD, COMPUTE)
    notebook = opened(lab, "status.ipynb")
    status = notebook.page.locator(".jp-jxk-Status")
    status.wait_for(state="attached")
    assert status.inner_text() == ""

    notebook.run(0)
    status.get_by_text("jx not started").wait_for()
    notebook.run(1)
    status.get_by_text("jx cpu:0").wait_for()

    notebook.open()
    status.get_by_text("jx cpu:0").wait_for()

    notebook.restart()
    status.get_by_text("jx").wait_for(state="detached")
    notebook.run(0)
    status.get_by_text("jx not started").wait_for()
    assert notebook.strangers == []
    assert notebook.errors == []
