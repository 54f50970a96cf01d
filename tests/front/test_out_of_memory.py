"""Where memory runs out, one click frees what it names, and the cell runs again."""

from collections.abc import Callable

import pytest

from tests.front.jupyter import READY, Notebook, Server
from tests.jupyter.test_out_of_memory import LIMIT, NEEDS

SETUP = f"""%load_ext jxkernel
import jxkernel as jx, jxkernel.numpy as jnp
big, spare = jnp.ones((200, 1000, 1000)), jnp.ones((5000, 1000))
needed = jnp.ones((5000, 1000))
{LIMIT}"""


def test_a_click_frees_what_it_names_and_runs_the_cell_again(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("memory.ipynb", SETUP, NEEDS, "print('big' in globals(), 'spare' in globals())")
    notebook = opened(lab, "memory.ipynb")
    notebook.run(0)
    notebook.status("jx cpu:0")
    notebook.run(1)
    output = notebook.cell(1).locator(".jp-OutputArea")
    view = output.locator(".jp-jxk-Shortage")
    output.get_by_text("Memory: 800 MB was asked for").wait_for()
    view.get_by_role("group", name="free memory").wait_for()
    assert view.get_by_role("button").all_inner_texts() == [
        "Free big (800 MB)",
        "Free spare (20 MB)",
        "Free all of them (820 MB)",
    ]
    view.get_by_role("button", name="Free big (800 MB) and run the cell again").click()
    output.get_by_text("1.0", exact=True).wait_for()
    view.wait_for(state="detached")
    notebook.run(2)
    assert notebook.cell(2).locator(".jp-OutputArea").inner_text().strip() == "False True"
    assert notebook.errors == []


@pytest.mark.slow
def test_what_was_offered_by_another_kernel_is_not_freed(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("memory-again.ipynb", SETUP, NEEDS, "%load_ext jxkernel\nbig = 1")
    notebook = opened(lab, "memory-again.ipynb")
    notebook.run(0)
    notebook.status("jx cpu:0")
    notebook.run(1)
    view = notebook.cell(1).locator(".jp-jxk-Shortage")
    free = view.get_by_role("button", name="Free big")
    free.wait_for()
    notebook.restart()
    notebook.status("")  # until then the kernel from before may answer
    notebook.page.wait_for_function(READY)
    free.click()
    view.get_by_text("jxkernel is not loaded in this kernel").wait_for()
    notebook.run(2)
    notebook.status("jx")
    free.click()
    view.get_by_text("the kernel was restarted since: run the cell again").wait_for()
    assert notebook.errors == []
