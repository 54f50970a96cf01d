"""Every scene is laid out as it should be, in every theme, and the same in light and in dark.

Pictures are compared by what they are made of, not by pixels, which change with every font: where
controls, rows and panes stand, that none is cut off, and that none covers another.
"""

from collections.abc import Callable

import pytest

from tests.front.jupyter import Notebook, Server, use_theme
from tests.front.scenes import CELLS, SCENES, prepare

# The server keeps the theme: the last is what other tests have.
THEMES = ("JupyterLab Dark High Contrast", "JupyterLab Dark", "JupyterLab Light")
FAULTS = """root => {
  const found = [];
  const seen = one => one.checkVisibility() && !one.closest('.jp-jxk-hidden');
  const name = one => `${one.tagName} ${one.className} ${one.textContent.slice(0, 30)}`;
  const box = one => one.getBoundingClientRect();
  const scrolls = one => {
    for (let at = one.parentElement; at && at !== root; at = at.parentElement) {
      if (getComputedStyle(at).overflowX !== 'visible') {
        return true;
      }
    }
    return false;
  };
  const outer = box(root);
  for (const one of root.querySelectorAll('button, select, input, header, summary, svg, b')) {
    if (!seen(one)) {
      continue;
    }
    const { left, right, width, height } = box(one);
    if (!width || !height) {
      found.push(`empty: ${name(one)}`);
    }
    if (!scrolls(one) && (left < outer.left - 1 || right > outer.right + 1)) {
      found.push(`outside: ${name(one)}`);
    }
    if (one.tagName === 'BUTTON' && one.scrollWidth > one.clientWidth + 1) {
      found.push(`cut off: ${name(one)}`);
    }
  }
  const groups = '.jp-jxk-bar, .jp-jxk-head, .jp-jxk-panes, .jp-jxk-rows, .jp-jxk-panel-row, '
    + '.jp-jxk-panel-tabs, .jp-jxk-panel-head, .jp-jxk-panel-form, .jp-jxk-panel-content';
  for (const group of root.querySelectorAll(groups)) {
    const parts = [...group.children].filter(seen);
    parts.forEach((one, index) => {
      const other = parts[index + 1];
      const [a, b] = [box(one), other ? box(other) : null];
      const across = b ? Math.min(a.right, b.right) - Math.max(a.left, b.left) : 0;
      const down = b ? Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) : 0;
      if (across > 1 && down > 1) {
        found.push(`covered: ${name(one)} by ${name(other)}`);
      }
    });
  }
  return found;
}"""
BOXES = """root => {
  const from = root.getBoundingClientRect();
  const parts = root.querySelectorAll('button, select, input, header, .jp-jxk-row, .jp-jxk-pane, '
    + '.jp-jxk-mark, .jp-jxk-facts, svg');
  return [...parts].filter(one => one.checkVisibility()).map(one => {
    const { left, top, width, height } = one.getBoundingClientRect();
    const at = [left - from.left, top - from.top, width, height].map(Math.round);
    return `${one.tagName} ${one.className} ${one.textContent.slice(0, 20)} ${at}`;
  });
}"""
BROKEN = """() => {
  const style = document.head.appendChild(document.createElement('style'));
  style.textContent = '.jp-jxk-bar > * { margin-inline-end: -30px; }'
    + '.jp-jxk-row { height: 30px !important; }'
    + '.jp-jxk-panel-row > * { margin-inline-end: -40px; }';
}"""


def looked_at(notebook: Notebook, script: str) -> dict[str, list[str]]:
    """What a script finds in each scene."""
    return {name: of(notebook).evaluate(script) for name, of in SCENES.items()}


@pytest.mark.slow
def test_scenes_are_laid_out_alike_and_nothing_is_cut_or_covered(
    lab: Server, opened: Callable[..., Notebook]
) -> None:
    lab.write("layer.ipynb", *CELLS)
    notebook = opened(lab, "layer.ipynb")
    prepare(notebook)
    boxes = {}
    for theme in THEMES:
        use_theme(notebook, theme)
        faults = looked_at(notebook, FAULTS)
        assert {scene: these for scene, these in faults.items() if these} == {}, theme
        boxes[theme] = looked_at(notebook, BOXES)
    assert all(boxes[THEMES[1]][scene] for scene in SCENES if scene != "status")
    assert boxes[THEMES[1]] == boxes[THEMES[2]]

    notebook.page.evaluate(BROKEN)
    faults = looked_at(notebook, FAULTS)
    for scene in ("explorer", "stages", "ledger", "panel-ledger"):
        assert faults[scene], scene
    assert notebook.errors == []
    assert notebook.strangers == []
