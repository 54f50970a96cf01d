"""axe-core finds nothing serious on what we draw, in every theme that JupyterLab ships."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.front.jupyter import PICTURES, Notebook, Server, use_theme

axe = pytest.importorskip(
    "axe_playwright_python.base",
    reason="needs axe-playwright-python: pip install 'jxkernel[dev]'",
)

# The server keeps the theme: the last is what other tests have.
THEMES = ["JupyterLab Dark High Contrast", "JupyterLab Dark", "JupyterLab Light"]
CELLS = [
    "%load_ext jxkernel\nimport jxkernel as jx, jxkernel.numpy as jnp\nx, w = jnp.arange(8.0), 2.0",
    "%%jit --show stages\ndef scaled(a):\n    return a * w\ny = scaled(x)\nx + jnp.sin(y)",
    "f = jx.jit(lambda a: jnp.sin(a) * 2)\n_ = f(x), f(x[:4])",
    "jx.make_jaxpr(jx.grad(lambda a: jnp.tanh(a).sum()))(x)",
    "%jx stages f(x)",
    "%jx diff f(x), f(x[:4])",
    "%jx ledger",
    "%jx live",
    "%jx why y",
    "%jx devices",
]
# A tab panel of JupyterLab holds ours: what is around them is not ours to judge.
OURS = ".jp-jxk-View, .jp-jxk-Status, .jp-jxk-Panel, .jp-jxk-why"
FOUND = """async ours => {
  const include = [...document.querySelectorAll(ours)].filter(one => one.checkVisibility());
  const found = await axe.run({ include }, { resultTypes: ['violations'] });
  return found.violations
    .filter(one => ['serious', 'critical'].includes(one.impact))
    .flatMap(one => one.nodes.map(node => `${one.id}: ${node.target} ${node.failureSummary}`));
}"""


def findings(notebook: Notebook) -> list[str]:
    """What axe-core calls serious or critical."""
    return notebook.page.evaluate(FOUND, OURS)


def unfold(notebook: Notebook) -> None:
    """Opens all that is folded, so that it is looked at too."""
    notebook.page.evaluate(
        "() => document.querySelectorAll('details').forEach(one => { one.open = true; })"
    )


def test_axe_finds_nothing_serious_in_any_theme(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("access.ipynb", *CELLS)
    notebook = opened(lab, "access.ipynb")
    notebook.run_all()
    notebook.page.set_viewport_size({"width": 1400, "height": 6000})
    notebook.page.wait_for_selector(".jp-jxk-View")
    notebook.page.evaluate("() => jupyterapp.shell.activateById('jxkernel-panel')")
    notebook.page.wait_for_selector(".jp-jxk-Panel [role=tab]")
    PICTURES.mkdir(parents=True, exist_ok=True)
    unfold(notebook)
    notebook.page.evaluate(axe.AXE_SCRIPT)
    found: dict[str, Any] = {}
    for theme in THEMES:
        use_theme(notebook, theme)
        found[theme] = findings(notebook)
        notebook.page.screenshot(path=PICTURES / f"{theme}.png")
    notebook.page.evaluate(
        "() => document.querySelector('.jp-jxk-View').append(document.createElement('button'))"
    )
    assert any("button-name" in one for one in findings(notebook))
    assert {theme: these for theme, these in found.items() if these} == {}
    assert notebook.strangers == []
    assert notebook.errors == []
