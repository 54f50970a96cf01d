"""The workshop's notebooks, from their sources.

A source in ``demos/workshop/sources/`` is a notebook as MyST text. Its cells may be tagged: a
``task`` is folded, for it says what is checked; a ``solution`` becomes a folded text below the
``exercise`` before it. A translation holds texts alone, in the same order, and gets the code of the
English source, so the languages cannot differ in it.

Run as a program it writes all notebooks anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import jupytext
from nbformat import NotebookNode, v4

from tools.checkout import ROOT

FOLDER = ROOT / "demos/workshop"
SOURCES = FOLDER / "sources"

SUMMARIES = {"": "One solution", "zh": "一种解法", "ru": "Одно из решений"}
"""Folder of a language, the workshop's own for English -> what a folded solution is called."""


def sources() -> list[Path]:
    """Return the English sources."""
    return sorted(SOURCES.glob("*.md"))


def notebooks() -> Iterator[tuple[Path, Path, str]]:
    """Give each notebook's file, its English source and its language."""
    for source in sources():
        for language in SUMMARIES:
            if (SOURCES / language / source.name).exists():
                yield FOLDER / language / f"{source.stem}.ipynb", source, language


def cells_of(source: Path) -> list[NotebookNode]:
    """Return a source's cells."""
    return jupytext.read(source, fmt="md:myst").cells


def tagged(cell: NotebookNode, tag: str) -> bool:
    """Return whether a cell carries a tag."""
    return tag in cell.metadata.get("tags", ())


def texts(cells: list[NotebookNode]) -> list[str]:
    """Return the texts, without the code."""
    return [cell.source for cell in cells if cell.cell_type == "markdown"]


def solved(cells: list[NotebookNode]) -> list[NotebookNode]:
    """Return the code cells, with each solution in the place of its exercise."""
    code: list[NotebookNode] = []
    for cell in cells:
        if tagged(cell, "solution"):
            code[-1] = v4.new_code_cell(cell.source, metadata=code[-1].metadata)
        elif cell.cell_type == "code":
            code.append(cell)
    return code


def build(source: Path, language: str = "") -> NotebookNode:
    """Return the notebook of a source in a language.

    Raises:
      ValueError: the translation has more or fewer texts than the English source.
    """
    cells = cells_of(source)
    translated = texts(cells_of(SOURCES / language / source.name))
    if len(translated) != len(texts(cells)):
        raise ValueError(
            f"{language}/{source.name} has {len(translated)} texts, {source.name} has "
            f"{len(texts(cells))}"
        )
    remaining = iter(translated)
    built = [_cell(cell, remaining, SUMMARIES[language]) for cell in cells]
    for index, cell in enumerate(built):
        cell.id = f"{source.stem[:2]}-{index:02}"
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return v4.new_notebook(cells=built, metadata=about, nbformat_minor=5)


def written(notebook: NotebookNode) -> str:
    """Return a notebook as its file holds it."""
    return v4.writes(notebook) + "\n"


def _cell(cell: NotebookNode, remaining: Iterator[str], summary: str) -> NotebookNode:
    if cell.cell_type == "markdown":
        return v4.new_markdown_cell(next(remaining))
    if tagged(cell, "solution"):
        return v4.new_markdown_cell(folded(summary, cell.source))
    metadata = dict(cell.metadata)
    if tagged(cell, "task"):
        metadata["jupyter"] = {"source_hidden": True}
    return v4.new_code_cell(cell.source, metadata=metadata)


def folded(summary: str, code: str) -> str:
    """Return code that is seen when a line is opened."""
    return f"<details><summary>{summary}</summary>\n\n```python\n{code.rstrip()}\n```\n\n</details>"


def solution_of(text: str) -> str | None:
    """Return the code of a folded solution, None for any other text."""
    found = re.fullmatch(r"<details>.*?```python\n(.*)\n```\n\n</details>", text, re.DOTALL)
    return found and found[1]


def main() -> None:
    """Write every notebook."""
    for file, source, language in notebooks():
        file.parent.mkdir(exist_ok=True)
        file.write_text(written(build(source, language)), encoding="utf-8")


if __name__ == "__main__":
    main()
