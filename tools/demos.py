"""The outputs that the demos are saved with: run, and kept as text.

Text is what shows everywhere, is small, and can be read in a diff; views, charts and widgets are
drawn anew by whoever runs the notebook. Run as a program it runs all demos and saves them.
"""

import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbclient
import nbformat
from nbformat import NotebookNode, v4

from tools.checkout import ROOT

FOLDER = ROOT / "demos"
_COLOURS = re.compile(r"\x1b\[[0-9;]*[a-zA-Z]")


def notebooks() -> list[Path]:
    """Return the demos' files."""
    return sorted(FOLDER.glob("*.ipynb"))


def run(notebook: NotebookNode) -> NotebookNode:
    """Return a notebook with its outputs, as on a first day: nothing was compiled before.

    What it writes, it writes to a folder of its own.

    Raises:
      CellExecutionError: a cell fails that is not to.
    """
    client = nbclient.NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        store_widget_state=False,
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],
    )
    with TemporaryDirectory() as folder:
        no_cache = {"JXKERNEL_COMPILATION_CACHE_DIR": ""}
        return client.execute(cwd=folder, env=os.environ | no_cache)


def executed(file: Path) -> NotebookNode:
    """Return a demo with its outputs."""
    return run(nbformat.read(file, 4))


def texts(outputs: list[Any]) -> list[NotebookNode]:
    """Return outputs as text alone."""
    kept = []
    for output in outputs:
        if output.output_type == "stream":
            kept.append(v4.new_output("stream", name=output.name, text=_plain(output.text)))
        elif output.output_type == "error":
            lines = [_plain(line) for line in output.traceback]
            kept.append(
                v4.new_output("error", ename=output.ename, evalue=output.evalue, traceback=lines)
            )
        elif output.data.get("text/plain"):
            kept.append(
                v4.new_output(
                    "display_data", data={"text/plain": _plain(output.data["text/plain"])}
                )
            )
    return kept


def _plain(text: str) -> str:
    """Return text without colours, and of a line that is written over the last of what it said."""
    lines = _COLOURS.sub("", text).split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)


def save(file: Path) -> None:
    """Run a demo and write its outputs into its file."""
    notebook = executed(file)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = texts(cell.outputs), None
    notebook.metadata = nbformat.read(file, 4).metadata
    file.write_text(v4.writes(notebook) + "\n", encoding="utf-8")


def main() -> None:
    """Run all demos, or those named, and save their outputs."""
    for file in map(Path, sys.argv[1:]) if sys.argv[1:] else notebooks():
        save(file)


if __name__ == "__main__":
    main()
