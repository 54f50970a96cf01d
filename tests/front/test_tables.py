"""The ledger, the map, memory, the timeline and the quiz as JupyterLab shows them."""

import re
from collections.abc import Callable

import pytest

from tests.front.jupyter import Notebook, Server
from tests.front.test_marks import BODY, LAYER, SETUP

SMALLER = "x = jnp.arange(4.0)\nw = jnp.ones((100, 4))"
LINK = """\
from IPython.display import HTML
HTML('<div class="jxk"><a href="#there">go</a><details><p id="there">here</p></details></div>')"""
CELLS = (
    f"{SETUP}\n{LAYER}",
    BODY,
    "%jx ledger",
    "%jx map",
    "%jx live",
    "%jx trace start",
    "jnp.sin(x)",
    "%jx trace stop",
    LINK,
    SMALLER,
    "%jx quiz shapes",
    "%jx quiz shapes 2",
    "%jx quiz",
)
LEDGER, MAP, LIVE, STOP, LINKED, QUIZ, GRADED, LISTED = 2, 3, 4, 7, 8, 10, 11, 12


def test_views_are_drawn_and_linked(lab: Server, opened: Callable[..., Notebook]) -> None:
    lab.write("tables.ipynb", *CELLS)
    notebook = opened(lab, "tables.ipynb", dark=True)
    notebook.run_all()
    notebook.run(1)
    notebook.run(LEDGER)

    ledger = notebook.cell(LEDGER)
    again = ledger.locator(".jp-jxk-row", has_text="f32[8] → f32[4]")
    again.click()
    facts = ledger.locator(".jp-jxk-facts")
    facts.get_by_text("pad x along axis 0 to a few fixed sizes").wait_for()
    assert ledger.locator("rect.jp-mod-current").count() >= 2
    ledger.get_by_role("button", name="sort by cost").click()
    ledger.get_by_role("searchbox").fill("first call")
    ledger.get_by_text("1 found", exact=True).wait_for()
    ledger.get_by_label("builds: by").select_option("reason")
    ledger.locator(".jp-jxk-row", has_text="first call").wait_for()
    if ledger.get_by_role("button", name="plotly").count():
        ledger.get_by_role("button", name="plotly").click()
        ledger.locator(".js-plotly-plot").wait_for()
        ledger.get_by_role("button", name="plotly").click()
        ledger.locator("svg.jp-jxk-chart").wait_for()

    source = notebook.cell(MAP)
    source.locator(".jp-jxk-sourceLine .jp-jxk-mark", has_text="loss").first.click()
    source.locator(".jp-jxk-facts").get_by_text("← x: f32[8], argument").wait_for()
    source.locator(".jp-jxk-row.jp-mod-active", has_text="loss").wait_for()
    lit = notebook.cell(1).locator(".jp-jxk-litLine")
    lit.wait_for()
    assert lit.inner_text() == "loss = y.sum()"

    live = notebook.cell(LIVE)
    live.get_by_role("button", name="sort by size").first.click()
    live.get_by_role("listbox").first.press("End")
    live.locator(".jp-jxk-row.jp-mod-active", has_text="f32[100,8]").wait_for()

    timeline = notebook.cell(STOP)
    timeline.locator(".jp-jxk-row", has_text="Cell In[7], line 1").click()
    timeline.locator("rect.jp-mod-lit").first.wait_for()
    timeline.locator("svg.jp-jxk-chart").press("+")

    notebook.cell(LINKED).get_by_role("link", name="go").click()
    notebook.cell(LINKED).locator("#there.hot").wait_for()
    answer_by_clicking(notebook)
    assert notebook.errors == []
    assert notebook.strangers == []


def answer_by_clicking(notebook: Notebook) -> None:
    """A guess unfolds its verdict, one at a time, and the kernel notes the last."""
    shown = notebook.cell(QUIZ)
    assert "@jax.jit" in shown.locator("pre").first.inner_text()
    verdict = shown.locator("details[open]")
    shown.locator("summary", has_text=re.compile("^2$")).click()
    verdict.get_by_text("✓ Yes: 2 traces.").wait_for()
    shown.locator("summary", has_text=re.compile("^4$")).click()
    verdict.get_by_text("✗ Not quite: you said 4, and it is 2 traces.").wait_for()
    assert verdict.count() == 1
    shapes = notebook.cell(LISTED).locator("tr", has_text="%jx quiz shapes")
    for _ in range(50):  # the kernel may note it in a thread beside the cell
        notebook.run(LISTED)
        if shapes.locator("td").first.inner_text() == "✗":
            break
    else:
        raise AssertionError("the guess was not noted")

    rows = notebook.cell(GRADED).locator("tr:has(pre)")
    heights = rows.evaluate_all("all => all.map(one => one.getBoundingClientRect().height)")
    assert len(heights) == 6
    assert max(heights) < 22, heights


@pytest.mark.slow
def test_a_long_ledger_is_shown_whole_when_it_is_asked_for(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    many = "for _ in range(308):\n    jx.jit(lambda v: v * 2).trace(1.0)"
    lab.write("builds.ipynb", f"%load_ext jxkernel\nimport jxkernel as jx\n{many}", "%jx ledger")
    notebook = opened(lab, "builds.ipynb")
    notebook.run_all()
    ledger = notebook.cell(1)
    ledger.get_by_text("8 earlier builds are not shown").wait_for()
    ledger.get_by_role("button", name="Show all").click()
    ledger.get_by_text("Timeline from build 9 on").wait_for()
    ledger.get_by_text("308 builds").wait_for()
    assert ledger.get_by_role("option").count() < 60

    notebook.page.evaluate("() => jupyterapp.shell.activateById('jxkernel-panel')")
    panel = notebook.page.locator(".jp-jxk-Panel")
    panel.get_by_text("108 earlier builds not listed").wait_for()
    panel.get_by_role("button", name="Show all").click()
    tab = notebook.page.locator(".jp-jxk-inTab")
    tab.get_by_text("308 builds").wait_for()
    tab.get_by_role("listbox", name="builds").press("End")
    tab.locator(".jp-jxk-row.jp-mod-active", has_text="308").wait_for()
    assert notebook.errors == []


FAILS = "@jx.jit\ndef wrong(v):\n    if v.sum() > 0:\n        return v\n    return -v\n\nwrong(x)"
WIDTHS = """() => [...document.querySelectorAll('.jp-jxk-wide')].map(one => {
  const chart = one.closest('.jp-jxk-View').querySelector('.jp-jxk-chart');
  const letters = chart ? chart.getScreenCTM().a : 1;
  const last = one.querySelector('.jp-jxk-head > :last-child').getBoundingClientRect().width;
  return [one.scrollWidth > one.clientWidth, last > 40, Math.round(letters * 100)];
})"""


def test_a_narrow_page_cuts_nothing_and_failures_are_one_line(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    load = "%load_ext jxkernel\nimport jxkernel as jx, jxkernel.numpy as jnp\nx = jnp.ones(4)"
    lab.write("narrow.ipynb", load, FAILS, "%jx ledger", "%jx stages jnp.sin(x)")
    notebook = opened(lab, "narrow.ipynb")
    notebook.run_all()
    source = notebook.cell(3).get_by_role("region", name="Source", exact=True)
    source.get_by_text("%jx stages jnp.sin(x)").wait_for()

    row = notebook.cell(2).locator(".jp-jxk-row", has_text="wrong")
    row.get_by_text("✗ failed: TracerBoolConversionError at `if").wait_for()
    row.click()
    facts = notebook.cell(2).locator(".jp-jxk-facts")
    facts.get_by_text("Cell In[2], line 3").first.wait_for()
    assert "ipykernel" not in facts.inner_text()

    notebook.page.evaluate("() => jupyterapp.shell.activateById('jxkernel-panel')")
    build = notebook.page.locator(".jp-jxk-panel-build", has_text="wrong")
    build.get_by_text("failed", exact=True).wait_for()
    line = build.locator("summary")
    assert line.bounding_box()["height"] < 30
    line.click()
    build.get_by_text("Cell In[2], line 3").wait_for()

    notebook.command("application:toggle-left-area")
    notebook.page.set_viewport_size({"width": 900, "height": 1000})
    notebook.page.wait_for_function(
        f"() => {{ const [[scrolls, seen, scale]] = ({WIDTHS})();"
        " return !scrolls && seen && scale === 100; }"
    )
    assert notebook.errors == []
