"""Programs in a notebook: linked, searched, folded, stepped through, compared, drawn, copied."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.front.jupyter import Notebook, Server

SETUP = """%load_ext jxkernel
import jxkernel as jx, jxkernel.numpy as jnp
from jxkernel import lax

def step(c, _):
    c = lax.cond(c.sum() > 1, jnp.sin, jnp.cos, c)
    return c, c.sum()

def f(x):
    h = jnp.tanh(x)
    h, sums = lax.scan(step, h, None, length=3)
    return h.sum() + sums.sum()

def long(x):
    for number in range(450):
        x = jnp.sin(x) * number
    return x

x = jnp.ones(4)"""
LINE = "    h = jnp.tanh(x)"


def row(view: Any, role: str, text: str) -> Any:
    return view.get_by_role(role).filter(has_text=text).first


def lit(view: Any) -> list[str]:
    return view.locator(".jp-mod-lit").all_inner_texts()


def test_an_explorer_is_linked_searched_folded_and_stepped_through(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("explorer.ipynb", SETUP, "%jaxpr f(x)")
    notebook = opened(lab, "explorer.ipynb")
    notebook.run_all()
    view = notebook.cell(1).locator(".jp-jxk-Program")

    row(view, "treeitem", "tanh").click(position={"x": 120, "y": 8})
    view.locator("[role=option].jp-mod-lit").filter(has_text=LINE).wait_for()
    row(view, "option", "c = lax.cond").click(position={"x": 120, "y": 8})
    view.locator("[role=treeitem].jp-mod-lit").filter(has_text="cond").first.wait_for()

    tree = view.get_by_role("tree")
    tree.focus()
    notebook.page.keyboard.press("Home")
    for _ in range(2):
        notebook.page.keyboard.press("ArrowDown")
    scan = row(view, "treeitem", "= scan")
    assert scan.get_attribute("aria-selected") == "true"
    notebook.page.keyboard.press("ArrowLeft")
    assert scan.get_attribute("aria-expanded") == "false"
    assert view.get_by_role("treeitem").filter(has_text="= cond").count() == 0
    notebook.page.keyboard.press("ArrowRight")
    assert view.get_by_role("treeitem").filter(has_text="= cond").count() == 1

    search = view.get_by_label("search in the equations")
    search.fill("cos")
    view.get_by_text(re.compile(r"^1 of \d+$")).wait_for()
    assert view.locator("mark").all_inner_texts() == ["cos"]
    search.fill("")

    view.get_by_label("equations traced").fill("1")
    assert view.get_by_role("treeitem").filter(has_text="= scan").count() == 0
    assert lit(view)[0].strip().startswith("10")

    view.get_by_role("button", name="graph").click()
    node = view.get_by_role("option", name="h = tanh")
    node.wait_for()
    view.get_by_role("button", name="one equation on").click()
    view.get_by_role("option", name="h·2 = scan").dblclick()
    view.get_by_role("option", name="c = cond").wait_for()
    assert notebook.strangers == []
    assert notebook.errors == []


def test_stages_and_comparisons_are_linked_and_searched(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    jitted = "%%jit\ny = f(x)"
    lab.write("stages.ipynb", SETUP, "%jx stages f(x)", "%jx diff f(x), f(x[:2])", jitted)
    notebook = opened(lab, "stages.ipynb")
    notebook.run_all()
    view = notebook.cell(1).locator(".jp-jxk-Program")
    row(view, "option", LINE).click(position={"x": 120, "y": 8})
    for stage in ("jaxpr", "StableHLO", "Optimized HLO"):
        pane = view.get_by_role("region", name=stage, exact=True)
        pane.locator(".jp-mod-lit").filter(has_text="tanh").first.wait_for()
    view.get_by_label("search in all stages").fill("stablehlo.sine")
    view.get_by_text("1 place", exact=True).wait_for()
    view.get_by_role("button", name="optimized HLO").click()
    assert view.get_by_role("region", name="optimized HLO").count() == 0

    diff = notebook.cell(2).locator(".jp-jxk-Program")
    changed = diff.get_by_role("option", name="changed: h:f32[4]")
    changed.wait_for()
    before = diff.get_by_role("option").count()
    diff.get_by_role("button", name="changes only").click()
    assert diff.get_by_role("option").count() < before

    run = notebook.cell(3).locator(".jp-jxk-Run")
    assert run.get_by_role("tree").count() == 0
    run.get_by_role("button", name="jit").click()
    run.get_by_role("button", name="jaxpr", exact=True).click()
    row(run, "treeitem", "tanh").wait_for()
    assert notebook.errors == []


@pytest.mark.slow
def test_a_program_is_compared_with_another_that_the_kernel_keeps(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("others.ipynb", SETUP, "g = jx.jit(f)\n_ = g(x), g(x[:2])", "%jaxpr g(x)")
    notebook = opened(lab, "others.ipynb")
    notebook.run_all()
    view = notebook.cell(2).locator(".jp-jxk-Program").first
    view.get_by_role("button", name="Compare").click()
    view.get_by_label("program to compare with").select_option("f(f32[2])")
    view.get_by_label("f(f32[4]) compared with f(f32[2])").wait_for()
    view.get_by_text("changed").first.wait_for()
    view.get_by_role("button", name="Compare").click()
    view.get_by_label("f(f32[4]) compared with f(f32[2])").wait_for(state="detached")
    assert notebook.errors == []


@pytest.mark.slow
def test_the_rest_of_a_long_program_comes_when_it_is_asked_for(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("long.ipynb", SETUP, "%jaxpr long(1.0)")
    notebook = opened(lab, "long.ipynb")
    notebook.run_all()
    view = notebook.cell(1).locator(".jp-jxk-Program")
    view.get_by_text("400 of 900 equations are kept in the notebook").wait_for()
    assert view.get_by_role("treeitem").count() < 60
    view.get_by_role("button", name="show all").click()
    view.get_by_label("equations traced").wait_for()
    view.get_by_text("900/900").wait_for()
    view.get_by_role("tree").focus()
    notebook.page.keyboard.press("End")
    row(view, "treeitem", "mul").wait_for()
    row(view, "treeitem", "900").wait_for()

    notebook.save()
    notebook.restart()
    notebook.open()
    view.get_by_text("400 of 900 equations").wait_for()
    view.get_by_role("button", name="show all").click()
    view.get_by_text("No running kernel has jxkernel").wait_for()
    assert notebook.errors == []
