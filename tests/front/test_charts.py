"""Charts have the colours of the theme, and of the next one."""

from collections.abc import Callable

import pytest

from tests.front.jupyter import Notebook, Server, use_theme

SETUP = "%load_ext jxkernel\nimport plotly.graph_objects as go"
SCATTER = "go.Figure([go.Scatter(y=[3, 1]), go.Bar(y=[1, 2])], {'title': 'loss'})"
OWN = "go.Figure(go.Scatter(y=[3, 1]), {'title': 'loss', 'paper_bgcolor': '#fff'})"
PIE = "go.Figure(go.Pie(values=[3, 1]), {'title': 'loss'})"
LEDGER = "import jxkernel as jx\njx.jit(lambda v: v * 2)(1.0)\n%jx ledger"
FAINT = """place => {
  const brightness = colour => {
    const [red, green, blue] = colour.match(/[\\d.]+/g).map(Number);
    return (red + green + blue) / 3;
  };
  return [...document.querySelectorAll(place)].map(text => {
    let ground = text.closest('.js-plotly-plot').querySelector('.main-svg');
    while (getComputedStyle(ground).backgroundColor === 'rgba(0, 0, 0, 0)') {
      ground = ground.parentElement;
    }
    const behind = brightness(getComputedStyle(ground).backgroundColor);
    return Math.abs(brightness(getComputedStyle(text).fill) - behind);
  });
}"""
"""How much each text that is found differs from its ground."""

GROUNDS = """() => [...document.querySelectorAll('.js-plotly-plot')].map(
  one => getComputedStyle(one.querySelector('.main-svg')).backgroundColor
)"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dark", [False, True])
def test_charts_have_the_colours_of_the_theme(
    lab: Server, opened: Callable[..., Notebook], dark: bool
) -> None:
    lab.write("charts.ipynb", SETUP, SCATTER, OWN, PIE)
    notebook = opened(lab, "charts.ipynb", dark=not dark)
    notebook.run_all()
    notebook.page.wait_for_function(
        "() => document.querySelectorAll('.js-plotly-plot .gtitle').length === 3"
    )
    use_theme(notebook, "JupyterLab Dark" if dark else "JupyterLab Light")
    clear, white = "rgba(0, 0, 0, 0)", "rgb(255, 255, 255)"
    assert notebook.page.evaluate(GROUNDS) == [clear, white, white]
    for place in (".gtitle", ".xtick text", ".legendtext"):
        assert min(notebook.page.evaluate(FAINT, place)) > 150
    assert notebook.errors == []


def test_the_ledger_s_chart_is_drawn_anew_in_another_theme(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("ledger-chart.ipynb", SETUP, LEDGER)
    notebook = opened(lab, "ledger-chart.ipynb", dark=True)
    notebook.run_all()
    notebook.cell(1).get_by_role("button", name="plotly").click()
    notebook.page.wait_for_selector(".js-plotly-plot .xtick text")
    use_theme(notebook, "JupyterLab Light")
    notebook.page.wait_for_function(f"() => Math.min(...({FAINT})('.xtick text')) > 150")
    assert notebook.errors == []
