"""How long the workshop's notebooks take, from their texts and from a run with the solutions.

Run as a program it writes the table of docs/workshop.md.
"""

import json
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from nbformat import NotebookNode, v4

from tools import demos, figures, workshop

WORDS_PER_MINUTE = 150
"""For a text that is new to its reader, and not in the first language of many."""

LINES_PER_MINUTE = 12
"""For code that is read to be understood."""

START = """
import time

_clock = [time.process_time()]
get_ipython().events.register("post_run_cell", lambda _: _clock.append(time.process_time()))
"""
END = "import json; print(f'\\n{json.dumps(_clock)}')"


@dataclass(frozen=True, slots=True)
class Walk:
    """What a notebook asks of a reader and of a machine.

    Attributes:
      name: the notebook's title.
      words: of its texts.
      lines: of its code, without blank ones; what tasks check is folded, and does not count.
      exercises: the processor time of each exercise's cell with its solution, in seconds.
      seconds: the processor time of all cells.
    """

    name: str
    words: int
    lines: int
    exercises: tuple[float, ...]
    seconds: float

    @property
    def reading(self) -> float:
        """The minutes of reading."""
        return self.words / WORDS_PER_MINUTE + self.lines / LINES_PER_MINUTE


def walk(source: Path) -> Walk:
    """Run a notebook with its solutions, and return what it takes."""
    cells = workshop.cells_of(source)
    texts = workshop.texts(cells)
    code = workshop.solved(cells)
    read = [cell for cell in code if not workshop.tagged(cell, "task")]
    took = _took(code)
    return Walk(
        name=texts[0].partition("\n")[0].removeprefix("# "),
        words=sum(len(text.split()) for text in texts),
        lines=sum(bool(line.strip()) for cell in read for line in cell.source.splitlines()),
        exercises=tuple(
            seconds
            for cell, seconds in zip(code, took, strict=True)
            if workshop.tagged(cell, "exercise")
        ),
        seconds=sum(took),
    )


def _took(code: list[NotebookNode]) -> list[float]:
    """Return the processor time of each cell, in a kernel of their own."""
    cells = [v4.new_code_cell(START), *code, v4.new_code_cell(END)]
    done = demos.run(v4.new_notebook(cells=cells))
    # The first cell registers what notes the time, and is noted itself.
    printed = "".join(output.text for output in done.cells[-1].outputs if "text" in output)
    times = json.loads(printed.splitlines()[-1])[1:]
    return [after - before for before, after in pairwise(times)]


def row(told: Walk) -> tuple[object, ...]:
    """Return a notebook's row of the table."""
    slowest = max(told.exercises)
    return (
        told.name,
        told.words,
        told.lines,
        f"{told.reading:.0f} min",
        len(told.exercises),
        f"{told.seconds:.1f} s",
        f"{slowest:.1f} s",
    )


def main() -> None:
    """Walk through all notebooks, or print the rows of those named by their numbers."""
    sources = [path for path in workshop.sources() if path.stem[:2] in sys.argv[1:]]
    rows = [row(walk(source)) for source in sources or workshop.sources()]
    head = ("notebook", "words", "lines of code", "reading", "exercises", "machine", "slowest")
    table = figures.table(head, rows)
    if sources:
        sys.stdout.write(f"{table}\n")
        return
    how = (
        f"Reading: {WORDS_PER_MINUTE} words and {LINES_PER_MINUTE} lines of code a minute. "
        "Machine: processor time of all cells, and of the slowest exercise."
    )
    figures.write("docs/workshop.md", "tools.walk", f"{table}\n\n{how}")


if __name__ == "__main__":
    main()
