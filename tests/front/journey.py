"""Records docs/journey.md: someone's first hour, in a real JupyterLab: `make journey`.

Each step is a cell, what it is about, and what is looked at after it ran. Texts and pictures are
those that the page showed; nothing is written by hand but the words between them.
"""

from __future__ import annotations

import re
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from tests.front.jupyter import ROOT, Notebook, running_browser, running_server

__all__ = ["STEPS", "Step", "told"]

PAGE = ROOT / "docs/journey.md"
IMAGES = ROOT / "docs/images"
MOST_WIDTH, MOST_HEIGHT = 1060, 430

INTRODUCTION = """\
# A first hour

Lin knows NumPy and has heard that jitted code is fast. She has never seen jxkernel. This is her
first notebook with it, cell by cell: what she wrote, what came back, and what she took from it.
Outputs and pictures are recorded in JupyterLab by `make journey`; times are those of that run.
"""


@dataclass(frozen=True)
class Step:
    """A cell of the journey.

    Attributes:
      title: the heading, empty where it goes on from the step before.
      before: what she wants.
      cell: what she writes.
      after: what she takes from what comes back.
      picture: the name of the picture of the cell; empty for its output as text.
      shows: what of the cell is taken, by a selector; empty for the whole cell.
      fails: whether the cell ends with an error.
    """

    title: str
    before: str
    cell: str
    after: str
    picture: str = ""
    shows: str = ""
    fails: bool = False


STEPS: tuple[Step, ...] = (
    Step(
        "Arrays",
        "She loads the extension and makes some data: a line with noise.",
        "%load_ext jxkernel\n"
        "import jxkernel as jx, jxkernel.numpy as jnp\n"
        "x = jnp.linspace(0.0, 3.0, 50)\n"
        "y = 2.0 * x - 1.0 + 0.2 * jx.random.normal(jx.random.key(0), (50,))\n"
        "y",
        "The array is printed as NumPy would, and below it stands what she would have plotted "
        "first: range, mean, and how the values lie.",
        "arrays",
    ),
    Step(
        "The first traced cell",
        "`%%jit` on the first line makes a cell one compiled program. She writes what she would "
        "have written in NumPy.",
        "%%jit\n"
        "slope, shift = 1.0, 0.0\n"
        "error = slope * x + shift - y\n"
        "loss = jnp.mean(error ** 2)\n"
        "if loss > 0.5:\n"
        "    rate = 0.1\n"
        "else:\n"
        "    rate = 0.01\n"
        "rate",
        "An `if` cannot look at a value that is not computed yet. The message underlines the "
        "condition, leads back to the inputs, and ends with the line to write, in her own names.",
        fails=True,
    ),
    Step(
        "",
        "She writes that line.",
        "%%jit\n"
        "slope, shift = 1.0, 0.0\n"
        "error = slope * x + shift - y\n"
        "loss = jnp.mean(error ** 2)\n"
        "rate = jnp.where(loss > 0.5, 0.1, 0.01)\n"
        "rate",
        "It runs. The marks in the editor tell her which names the program computes (T) and which "
        "are plain Python, known while it is traced (S). The line below the cell says how many "
        "equations there are and what tracing and compiling cost.",
        "marks",
    ),
    Step(
        "Why is this name traced?",
        "She wonders what `rate` depends on.",
        "%jx why rate",
        "The way back, line by line, to the arrays that she made.",
    ),
    Step(
        "A gradient",
        "To fit the line she needs the derivative of the loss by both parameters.",
        "params = {'slope': 1.0, 'shift': 0.0}",
        "",
    ),
    Step(
        "",
        "",
        "%%grad params\njnp.mean((params['slope'] * x + params['shift'] - y) ** 2)",
        "The result has the shape of `params`: a derivative for each entry.",
    ),
    Step(
        "A training loop",
        "Now as a function: 200 steps, compiled as one program.",
        "def loss(params, x, y):\n"
        "    return jnp.mean((params['slope'] * x + params['shift'] - y) ** 2)\n"
        "\n"
        "@jx.jit\n"
        "def train(params, x, y):\n"
        "    def turn(_, params):\n"
        "        slopes = jx.grad(loss)(params, x, y)\n"
        "        return {name: params[name] - 0.1 * slopes[name] for name in params}\n"
        "    return jx.lax.fori_loop(0, 200, turn, params)\n"
        "\n"
        "train(params, x, y)",
        "Near 2 and -1, as the data was made.",
    ),
    Step(
        "Why was that slow?",
        "She fits parts of the data, and the first call of each is slower than she expected. The "
        "ledger tells what was built, why, and what would avoid it.",
        "for n in (20, 30, 40):\n    train(params, x[:n], y[:n])",
        "",
    ),
    Step(
        "",
        "",
        "%jx ledger train",
        "Each length is another type, so each is another program. She will keep the length and "
        "mask what she does not want.",
        "ledger",
        ".jp-OutputArea",
    ),
    Step(
        "What does it cost?",
        "Is a step much work?",
        "%jx cost train(params, x, y)",
        "200 steps are some 100,000 operations, 500 a step: on data this small nearly all time is "
        "the call itself.",
        "cost",
        ".jp-OutputArea",
    ),
    Step(
        "A NaN",
        "She takes logarithms of the data, and the mean is not a number.",
        "%%jit\nlevel = jnp.log(y)\nmean = jnp.mean(level)\nmean",
        "",
    ),
    Step(
        "",
        "She asks where it came from.",
        "%jx nan",
        "The logarithm made it, in line 2, where `y` is below zero. The mean only passed it on.",
    ),
    Step(
        "What did the compiler do?",
        "At the end she looks below the surface: her line, its equations, and what XLA made of "
        "them. Pointing at a line lights up what became of it.",
        "%jx stages loss(params, x, y)",
        "Her one line is six equations. In the end they are a fused kernel and a sum.",
        "stages",
        ".jp-OutputArea",
    ),
    Step(
        "",
        "Which pass did that to the fourth equation, the square?",
        "%jx passes 4 loss(params, x, y)",
        "XLA computes the square as a product, and fuses it with the difference. Lin saves the "
        "notebook: whoever opens it sees what she saw, without a kernel.",
    ),
)


def main() -> None:
    """Record the journey."""
    with (
        tempfile.TemporaryDirectory() as home,
        running_browser() as browser,
        running_server("lab", Path(home)) as server,
    ):
        file = server.write("first.ipynb", *(step.cell for step in STEPS))
        notebook = Notebook(browser, server, "first.ipynb")
        _record(notebook)
        notebook.save()
        cells = nbformat.read(file, 4).cells
        notebook.close()
    for step, cell in zip(STEPS, cells, strict=True):
        kinds = [output.output_type for output in cell.outputs]
        assert ("error" in kinds) == step.fails, cell
    PAGE.write_text(told(STEPS, [list(_outputs(cell)) for cell in cells]))


def _record(notebook: Notebook) -> None:
    """Run the cells one by one, and take a picture where a step has one."""
    notebook.page.set_viewport_size({"width": 1160, "height": 3000})
    notebook.command("application:toggle-left-area")
    for number, step in enumerate(STEPS):
        notebook.run(number)
        if step.picture:
            cell = notebook.cell(number)
            cell.scroll_into_view_if_needed()
            if step.picture == "marks":
                cell.locator(".jp-jxk-mark").first.wait_for()
            _take(notebook, cell.locator(step.shows).first if step.shows else cell, step.picture)


def _take(notebook: Notebook, of: Any, name: str) -> None:
    box = of.bounding_box()
    clip = {
        **box,
        "width": min(box["width"], MOST_WIDTH),
        "height": min(box["height"], MOST_HEIGHT),
    }
    notebook.page.screenshot(path=IMAGES / f"journey-{name}.png", clip=clip)


_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def _outputs(cell: Any) -> Iterator[str]:
    """What a saved cell shows, as text; of an error the message without the frames."""
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            yield output.text.rstrip()
        elif output.output_type == "error":
            text = _ESCAPES.sub("", "\n".join(output.traceback))
            yield text[text.rindex(f"{output.ename}: ") :].rstrip()
        else:
            yield output.data.get("text/plain", "").rstrip()


def told(steps: Sequence[Step], outputs: Sequence[Sequence[str]]) -> str:
    """Return the page: what was written and what came back, step by step."""
    parts = [INTRODUCTION]
    for step, shown in zip(steps, outputs, strict=True):
        if step.title:
            parts.append(f"## {step.title}\n")
        if step.before:
            parts.append(f"{_wrapped(step.before)}\n")
        parts.append(f"```text\n{step.cell}\n```\n")
        text = "\n".join(one for one in shown if one)
        if step.picture:
            parts.append(f"![{step.after}](images/journey-{step.picture}.png)\n")
        elif text:
            parts.append(f"```text\n{text}\n```\n")
        if step.after:
            parts.append(f"{_wrapped(step.after)}\n")
    return "\n".join(parts)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    main()
