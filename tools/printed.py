"""Outputs that pages show: run in IPython, a session for each page, and written into the page.

Run as a program it writes all of them, or those of the pages that are named.
"""

import json
import os
import re
import subprocess
import sys
from typing import Any

from tools import figures
from tools.checkout import ROOT

__all__ = ["CELLS", "main", "outputs"]

START = """%load_ext jxkernel
import time
import jxkernel as jx, jxkernel.numpy as jnp"""

CELLS: dict[str, list[list[str]]] = {
    "architecture": [
        [
            "@jx.jit\ndef f(x):\n    return jnp.sum(jnp.sin(x) * x)",
            "print(f.trace(jnp.ones(3)).jaxpr)",
        ]
    ],
    "clusters": [
        [
            "%jx cluster 2",
            "%%spmd\nimport time, numpy as np, jxkernel as jx\n"
            "mesh = jx.make_mesh((2,), ('x',))\n"
            "rows = jx.NamedSharding(mesh, jx.P('x'))\n"
            "x = jx.make_array_from_process_local_data(rows, np.ones(2))\n"
            "total = jx.jit(lambda x: x.sum())\n"
            "float(total(x))",
            "%%spmd\nif jx.process_index():\n    time.sleep(1.0)\nfloat(total(x))",
            "%jx cluster timeline",
        ]
    ],
    "timing": [
        ["g = jx.jit(lambda x: jnp.tanh(x @ x))\nx = jnp.ones((300, 300))", "%timeit g(x)"],
        ["%page"],
    ],
}
"""Page -> for each of its parts the cells that are run for it; the output of the last is shown.

``%page`` stands for the first program of the page itself.
"""

_RUN = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
shell = InteractiveShell.instance()
def run(cell):
    with capture_output() as said:
        shell.run_cell(cell).raise_error()
    return said.stdout + "".join(one.data["text/plain"] for one in said.outputs)
start, *parts = json.load(sys.stdin)
run(start)
print(json.dumps([[run(cell) for cell in cells][-1] for cells in parts]), file=sys.__stdout__)
"""


def outputs(page: str) -> list[str]:
    """Run what a page shows, in a process of its own, and return the text of each part."""
    [own, *_] = re.findall(r"^```python\n(.*?)^```", _text(page), re.DOTALL | re.MULTILINE) or [""]
    parts = [[own if cell == "%page" else cell for cell in cells] for cells in CELLS[page]]
    how: Any = {"cwd": ROOT, "capture_output": True, "encoding": "utf-8"}
    how["env"] = {**os.environ, "PYTHONUTF8": "1"}
    given = json.dumps([START, *parts])
    done = subprocess.run([sys.executable, "-c", _RUN], input=given, check=True, **how)
    return [
        text.removeprefix("Out[0]:").strip() for text in json.loads(done.stdout.splitlines()[-1])
    ]


def _text(page: str) -> str:
    return (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")


def main() -> None:
    """Write the outputs of the pages."""
    for page in sys.argv[1:] or CELLS:
        texts = (f"```text\n{text}\n```" for text in outputs(page))
        figures.write(f"docs/{page}.md", "tools.printed", *texts)


if __name__ == "__main__":
    main()
