"""How long the lab extension takes to open programs, and what it costs while it is left alone.

In a real JupyterLab in a real browser: programs that lie in the notebook, and those of which the
kernel is asked for the rest, then scrolled through and searched; keys typed in a marked cell, and
in the same cell with the marks off; the page while nobody touches it, with the extension and
without it.

Run as ``python -m benchmarks.front``; needs Chromium and playwright, as tests/front does.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.front.jupyter import Notebook, running_browser, running_server

SIZES = (400, 2_000)
ASKED = (2_000, 100_000)
KEYS = 200
STEPS = 100
WORD = "cos"
IDLE_SECONDS = 5
IDLE_WINDOWS = 4

MARKED = "%%jit --static n\ny = x + 1\nfor i in range(n):\n    y = jnp.sin(y) * i\nz = y.sum()\nz"
SETUP = """%load_ext jxkernel
import jxkernel as jx, jxkernel.numpy as jnp
x, n = jnp.ones(4), 4
def chain(v, length):
    for _ in range(length // 4):
        v = jnp.cos(jnp.sin(v) * x + x)
    return v
programs = [jx.make_jaxpr(lambda v: chain(v, length))(x) for length in (2_000, 100_000)]"""

SPENT = "import time\nprint(time.process_time())"

OPEN = """async bundle => {
  const area = jupyterapp.shell.currentWidget.content.widgets[0].outputArea;
  area.model.clear();
  const start = performance.now();
  area.model.add({ output_type: 'display_data', data: JSON.parse(bundle), metadata: {} });
  while (!area.node.querySelector('.jp-jxk-row')) {
    await new Promise(resolve => requestAnimationFrame(resolve));
  }
  await new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - start;
}"""


def payload(count: int) -> dict[str, Any]:
    """The data of a chain of operations, as long as is asked for."""
    equations = [
        {
            "number": number,
            "depth": 0,
            "named": False,
            "text": f"v{number}:f32[128,256] = add v{number - 1} v{max(number - 7, 0)}",
            "primitive": "add",
            "operands": [f"v{number - 1}", f"v{max(number - 7, 0)}"],
            "results": [f"v{number}"],
            "file": "cell",
            "line": number % 40 + 1,
            "flops": 32_768,
            "bytes": 393_216,
        }
        for number in range(1, count + 1)
    ]
    program = {
        "label": "",
        "head": "; v0:f32[128,256]",
        "tail": f"(v{count},)",
        "inputs": ["v0"],
        "results": [f"v{count}"],
        "equation": 0,
        "depth": 0,
        "first": 1,
        "end": count + 1,
        "left_out": 0,
    }
    lines = [
        {"file": "cell", "line": line, "text": "x = x + y", "equations": 1, "flops": 1}
        for line in range(1, 41)
    ]
    return {
        "format": 1,
        "title": f"{count:,} equations",
        "token": "",
        "stack": ["f"],
        "count": count,
        "flops": 32_768 * count,
        "bytes": 393_216 * count,
        "inputs": program["head"],
        "equations": equations,
        "programs": [program],
        "results": program["tail"],
        "source": lines,
    }


CLICK = """() => {
  const view = jupyterapp.shell.currentWidget.content.activeCell.node
    .querySelector('.jp-jxk-Program');
  const listed = () => Number(view.querySelector('.jp-jxk-digits').textContent.split('/')[1]);
  const before = listed();
  const total = Number(/([\\d,]+) equations/.exec(view.textContent)[1].replaceAll(',', ''));
  const button = [...view.querySelectorAll('button')].find(one => one.textContent === 'Show all');
  const start = performance.now();
  window.until = count => new Promise(resolve => {
    // An observer costs nothing while it waits; a look at each frame would be most of the time.
    const look = () => listed() >= (count || before + 1) && resolve(performance.now() - start);
    const all = { subtree: true, characterData: true, childList: true };
    new MutationObserver(look).observe(view, all);
    look();
  });
  button.click();
  return total;
}"""

SCROLL = """async steps => {
  const list = jupyterapp.shell.currentWidget.content.activeCell.node
    .querySelector('.jp-jxk-Program .jp-jxk-list[role=tree]');
  const frame = () => new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)));
  for (let at = 1; at <= steps; at++) {
    list.scrollTop = (list.scrollHeight - list.clientHeight) * at / steps;
    await frame();
  }
  return list.querySelector('.jp-jxk-row:last-child').textContent;
}"""

SEARCH = """async words => {
  const view = jupyterapp.shell.currentWidget.content.activeCell.node
    .querySelector('.jp-jxk-Program');
  const box = view.querySelector('input[type=search]');
  const write = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  const frame = () => new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)));
  for (let length = 1; length <= words.length; length++) {
    write.call(box, words.slice(0, length));
    box.dispatchEvent(new Event('input', { bubbles: true }));
    await frame();
  }
  const found = view.querySelector('.jp-jxk-search [role=status]').textContent;
  write.call(box, '');
  box.dispatchEvent(new Event('input', { bubbles: true }));
  await frame();
  return found;
}"""

TYPE = """async count => {
  const view = jupyterapp.shell.currentWidget.content.activeCell.editor.editor;
  const sent = window.link.sent.length;
  const texts = Object.getPrototypeOf(Object.getPrototypeOf(view.state.doc));
  const written = texts.toString;
  let spent = 0, rebuilds = 0;
  texts.toString = function () {
    rebuilds += 1;
    return written.call(this);
  };
  for (let at = 0; at < count; at++) {
    const start = performance.now();
    view.dispatch({ changes: { from: view.state.doc.length, insert: 'a' } });
    spent += performance.now() - start;
    await new Promise(resolve => requestAnimationFrame(resolve));
  }
  texts.toString = written;
  view.dispatch({ changes: { from: view.state.doc.length - count, to: view.state.doc.length } });
  return [spent / count, rebuilds, window.link.sent.length - sent];
}"""


def main() -> None:
    """Print the best of three openings for each size, then the costs."""
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with running_browser() as browser:
        with session(browser, True) as notebook:
            notebook.run(0)
            openings(notebook)
            wholes(notebook)
            typing(notebook)
            idle(notebook, "with the extension loaded")
        with session(browser, False) as notebook:
            notebook.run(0)
            idle(notebook, "without the lab extension")


@contextmanager
def session(browser: Any, extension: bool) -> Iterator[Notebook]:
    """The notebook that is measured in."""
    with (
        tempfile.TemporaryDirectory() as home,
        running_server("lab", Path(home), extension=extension) as lab,
    ):
        lab.write("bench.ipynb", SETUP, SPENT, "programs[0]", "programs[1]", MARKED)
        notebook = Notebook(browser, lab, "bench.ipynb")
        yield notebook
        notebook.close()


def openings(notebook: Notebook) -> None:
    """Views of programs that are in the notebook as a whole."""
    for count in SIZES:
        bundle = {"application/vnd.jxkernel.jaxpr+json": payload(count), "text/plain": ""}
        text = json.dumps(bundle)
        times = [notebook.page.evaluate(OPEN, text) for _ in range(3)]
        print(f"{count:>8,} equations opened in {min(times):6.0f} ms")


def wholes(notebook: Notebook) -> None:
    """Programs of which the kernel is asked for the rest, by a click."""
    tools = _tools(notebook)
    for index, count in enumerate(ASKED, start=2):
        rows = [_whole(notebook, tools, index) for _ in range(3)]
        first, whole, script, browser, kernel = map(min, zip(*rows, strict=True))
        print(
            f"{count:>8,} equations asked for: shown in {first:6.0f} ms, all in {whole:6.0f} ms; "
            f"{script:.0f} ms of scripts; "
            f"processor time {browser:.0f} ms of the browser, {kernel:.0f} ms of the kernel"
        )
    handled(notebook, tools)


def handled(notebook: Notebook, tools: Any) -> None:
    """The longest program, whole: a hundred steps through it, and a word typed to search it."""
    notebook.select(1 + len(ASKED))
    for what, script, given in (("scrolled", SCROLL, STEPS), ("searched", SEARCH, WORD)):
        spent, seen = [], ""
        for _ in range(3):
            before = _metrics(tools)["ScriptDuration"]
            seen = notebook.page.evaluate(script, given)
            spent.append(1000 * (_metrics(tools)["ScriptDuration"] - before))
        print(f"{ASKED[-1]:>8,} equations {what} ({given}): {min(spent):.0f} ms of scripts, {seen}")


def _whole(notebook: Notebook, tools: Any, index: int) -> tuple[float, ...]:
    """Milliseconds until the first rows are there, until all are, of scripts, of processors."""
    notebook.run(index)
    notebook.cell(index).locator(".jp-jxk-Program").wait_for()
    kernel = _kernel_seconds(notebook)
    notebook.select(index)
    before = _metrics(tools)
    total = notebook.page.evaluate(CLICK)
    first = notebook.page.evaluate("() => window.until(0)")
    whole = notebook.page.evaluate("total => window.until(total)", total)
    after = _metrics(tools)
    used = [1000 * (after[name] - before[name]) for name in ("ScriptDuration", "ProcessTime")]
    return first, whole, *used, 1000 * (_kernel_seconds(notebook) - kernel)


def _kernel_seconds(notebook: Notebook) -> float:
    """The processor time that the kernel has used."""
    notebook.run(1)
    return float(notebook.cell(1).locator(".jp-OutputArea-output").inner_text())


def typing(notebook: Notebook) -> None:
    """Keys in a cell that bears marks."""
    notebook.run(4)
    notebook.cell(4).locator(".jp-jxk-mark").first.wait_for()
    notebook.select(4)
    for state in ("on", "off"):
        spent, rebuilds, sent = notebook.page.evaluate(TYPE, KEYS)
        counts = f"marks placed anew {rebuilds} times, {sent} messages to the kernel"
        print(f"marks {state:>3}: {1000 * spent:5.0f} µs for a key, {counts}")
        notebook.command("jxkernel:toggle-marks")


def idle(notebook: Notebook, title: str) -> None:
    """What the page does while nobody touches it."""
    tools = _tools(notebook)
    spent = []
    for _ in range(IDLE_WINDOWS):
        before = _metrics(tools)
        notebook.page.wait_for_timeout(1000 * IDLE_SECONDS)
        after = _metrics(tools)
        names = ("ScriptDuration", "ProcessTime")
        spent.append([1000 * (after[name] - before[name]) for name in names])
    script, processor = map(min, zip(*spent, strict=True))
    told = f"{script:.1f} ms of scripts, {processor:.0f} ms of processor time"
    print(f"idle {title}: {told}, in {IDLE_SECONDS} s; the least of {IDLE_WINDOWS}")


def _tools(notebook: Notebook) -> Any:
    tools = notebook.page.context.new_cdp_session(notebook.page)
    tools.send("Performance.enable")
    return tools


def _metrics(tools: Any) -> dict[str, float]:
    return {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}


if __name__ == "__main__":
    main()
