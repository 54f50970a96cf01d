"""Saved outputs are data: they are drawn whatever they are, and run nothing."""

from collections.abc import Callable
from typing import Any

import nbformat
import pytest

from jxkernel.jupyter.errors.out_of_memory import Held, Shortage
from jxkernel.jupyter.memory.view import shortage_view
from jxkernel.jupyter.views.view import MIME
from tests.front.jupyter import READY, Notebook, Server
from tests.jupyter.kernels import running_kernel

CELL = "def scaled(a):\n    return a * w\ny = lax.cond(x.sum() > 1, scaled, jnp.sin, x)\nx + y"
SHOWING = {
    "jit": f"%%jit --show stages\n{CELL}",
    "jaxpr": "jx.make_jaxpr(jnp.sin)(x)",
    "stages": "%jx stages f(x)",
    "diff": "%jx diff f(x), f(x[:4])",
    "ledger": "%jx ledger",
    "memory": "%jx live",
    "table": "%jx devices",
    "provenance": "%jx why y",
}


@pytest.fixture(scope="module")
def bundles() -> dict[str, dict[str, Any]]:
    """Real outputs: a mimebundle of each kind of view."""
    found: dict[str, dict[str, Any]] = {}
    with running_kernel() as kernel:
        kernel.ok("from jxkernel import lax")
        kernel.ok(f"%%jit\n{CELL}")
        kernel.ok("f = jx.jit(lambda a: jnp.sin(a) * 2)\nf(x); f(x[:4])")
        for kind, cell in SHOWING.items():
            ran = kernel.ok(cell)
            for bundle in (*ran.displays, ran.result):
                if MIME.format(kind) in bundle:
                    found[kind] = bundle
    lacking = Shortage(2_000, 1_000, 3_000, (Held("w", 2_000, True), Held("Out[3]", 1_000, True)))
    found["shortage"] = shortage_view(lacking, "token")._repr_mimebundle_()
    return found


def saved(bundle: dict[str, Any]) -> list[Any]:
    """A bundle as the output of a cell in a file."""
    return [nbformat.v4.new_output("display_data", data=bundle)]


DRAW = """async ([bundles, format]) => {
  const panel = jupyterapp.shell.currentWidget;
  const rendermime = panel.content.rendermime;
  const failed = [];
  let drawn = 0;
  const draw = async (kind, data, what) => {
    const type = format.replace('{}', kind);
    if (!rendermime.getFactory(type)) {
      return null;
    }
    const bundle = { ...bundles[kind], [type]: data };
    const model = rendermime.createModel({ data: bundle, trusted: false });
    const view = rendermime.createRenderer(type);
    try {
      await view.renderModel(model);
      panel.contentHeader.addWidget(view);
      drawn += 1;
      // What is drawn by React is drawn a little later.
      for (let frame = 0; frame < 100 && !view.node.textContent.trim(); frame++) {
        await new Promise(requestAnimationFrame);
      }
      if (!view.node.textContent.trim()) {
        failed.push(`${what}: nothing is shown`);
      }
      return view;
    } catch (error) {
      failed.push(`${what}: ${error.stack}`);
      return null;
    }
  };
  const bad = [null, [], 7, 'text', {}, { format: 'x' }, { format: 1 }, { format: NaN }];
  const values = [null, undefined, '', 'x', -1, 1e300, [], [null], {}, true];
  for (const kind of Object.keys(bundles)) {
    const data = bundles[kind][format.replace('{}', kind)];
    const newer = await draw(kind, { format: 999, whatever: 1 }, `${kind} newer`);
    if (newer && !newer.node.textContent.includes('made by a newer jxkernel')) {
      failed.push(`${kind}: a newer format is not told of`);
    }
    newer?.dispose();
    for (const one of bad) {
      (await draw(kind, one, `${kind} as ${JSON.stringify(one)}`))?.dispose();
    }
    for (const place of places(data, [], 4)) {
      // All at once: what each waits for are frames.
      await Promise.all(values.map(async value => {
        const changed = structuredClone(data);
        let inside = changed;
        place.slice(0, -1).forEach(key => (inside = inside[key]));
        inside[place.at(-1)] = value;
        const what = `${kind}.${place.join('.')} = ${JSON.stringify(value)}`;
        (await draw(kind, changed, what))?.dispose();
      }));
    }
  }
  return { failed, drawn };

  function places(data, path, depth) {
    if (typeof data !== 'object' || data === null || depth === 0) {
      return [];
    }
    const keys = Array.isArray(data) ? Object.keys(data).slice(0, 1) : Object.keys(data);
    return keys.flatMap(key => [[...path, key], ...places(data[key], [...path, key], depth - 1)]);
  }
}"""


@pytest.mark.slow
def test_whatever_a_saved_output_holds_something_is_shown_and_nothing_raised(
    lab: Server, opened: Callable[..., Notebook], bundles: dict[str, dict[str, Any]]
) -> None:
    assert set(bundles) >= set(SHOWING) - {"provenance"}
    lab.write("odd.ipynb", "1")
    notebook = opened(lab, "odd.ipynb")
    shown = notebook.page.evaluate(DRAW, [bundles, MIME])
    assert shown["failed"] == []
    assert notebook.errors == []


def test_an_untrusted_notebook_is_drawn_and_asks_the_kernel_for_nothing(
    lab: Server, opened: Callable[..., Notebook], bundles: dict[str, dict[str, Any]]
) -> None:
    cells = ["%load_ext jxkernel", *(f"# {kind}" for kind in bundles)]
    outputs = [[], *map(saved, bundles.values())]
    lab.write("untrusted.ipynb", *cells, outputs=outputs)
    notebook = opened(lab, "untrusted.ipynb")
    notebook.run(0)
    notebook.status("jx")
    trusted = notebook.page.evaluate(
        "() => jupyterapp.shell.currentWidget.content.widgets.slice(1).some(c => c.model.trusted)"
    )
    assert not trusted
    notebook.page.wait_for_function(READY)
    notebook.page.evaluate("() => { link.sent = []; }")
    for index in range(1, len(bundles) + 1):
        cell = notebook.cell(index)
        cell.scroll_into_view_if_needed()
        assert cell.locator(".jp-OutputArea-output").inner_text().strip()
        cell.locator(".jp-OutputArea-output").evaluate(
            """node => {
              const all = node.querySelectorAll('button, summary, [role], [tabindex], td, input');
              const click = () => new MouseEvent('click', { bubbles: true, cancelable: true });
              [...all].slice(0, 200).forEach(one => one.isConnected && one.dispatchEvent(click()));
            }"""
        )
    notebook.page.wait_for_function(READY)
    assert notebook.page.evaluate("() => link.sent") == []
    assert notebook.strangers == []
    assert notebook.errors == []


def test_kernels_of_other_languages_and_none_at_all_are_left_in_peace(
    lab: Server, opened: Callable[..., Notebook], bundles: dict[str, dict[str, Any]]
) -> None:
    lab.write("echo.ipynb", "hello", kernel="echo")
    notebook = opened(lab, "echo.ipynb")
    notebook.start(0)
    notebook.cell(0).get_by_text("hello").last.wait_for()
    notebook.status("")

    cells = [f"# {kind}" for kind in bundles]
    lab.write("alone.ipynb", *cells, outputs=map(saved, bundles.values()), kernel=None)
    notebook.name = "alone.ipynb"
    notebook.open(kernel=False)
    dialog = notebook.page.locator(".jp-Dialog")
    dialog.get_by_role("button", name="No Kernel", exact=True).click()
    dialog.wait_for(state="detached")
    for index in range(len(bundles)):
        notebook.cell(index).scroll_into_view_if_needed()
        assert notebook.cell(index).locator(".jp-OutputArea-output").inner_text().strip()
    notebook.status("")
    assert [one for one in notebook.complaints if "jxkernel" in one] == []
    assert notebook.strangers == []
    assert notebook.errors == []
