"""How long the lab extension takes to open programs, in a real JupyterLab in a real browser.

Run as `python -m benchmarks.front`; needs Chromium and playwright, as tests/front does.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from tests.front.jupyter import Notebook, running_browser, running_server

SIZES = (400, 2_000, 20_000, 100_000)

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


def main() -> None:
    """Prints the best of three openings for each size."""
    with (
        tempfile.TemporaryDirectory() as home,
        running_server("lab", Path(home)) as lab,
        running_browser() as browser,
    ):
        lab.write("bench.ipynb", "1")
        notebook = Notebook(browser, lab, "bench.ipynb")
        for count in SIZES:
            bundle = {"application/vnd.jxkernel.jaxpr+json": payload(count), "text/plain": ""}
            text = json.dumps(bundle)
            times = [notebook.page.evaluate(OPEN, text) for _ in range(3)]
            print(f"{count:>8,} equations opened in {min(times):6.0f} ms")


if __name__ == "__main__":
    main()
