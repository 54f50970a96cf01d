"""The book: ``docs/``, the demos and the workshop as a site.

The pages are put together in ``build/book/source`` as they lie in the checkout, so that their links
hold; added are what a site has and a folder has not: tables of contents, the reference from
docstrings, notebooks with their outputs. Then Sphinx makes the site, and fails at any warning, so
also at a link that leads nowhere.

Run as a program it leaves the site in ``build/book/html``.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import nbformat
import plotly
import plotly.io

from tools import demos, reference, workshop
from tools.checkout import ROOT, public_modules

BUILD = ROOT / "build/book"
SOURCE, HTML = BUILD / "source", BUILD / "html"
OWN = ROOT / "docs/book"

EXPLANATION = (
    "for-jax-users",
    "architecture",
    "house",
    "differences",
    "correctness",
    "findings",
    "numerics",
    "benchmarks",
    "scaling",
)
REFERENCE = ("glossary", "api-coverage", "libraries", "suites")
ABOUT = ("places", "workshop", "releasing")
CHECKED = {
    "": ("What is checked", "Fold what is checked"),
    "zh": ("检查什么", "折叠检查内容"),
    "ru": ("Что проверяется", "Свернуть проверку"),
}
"""Folder of a language, the workshop's own for English -> what unfolds and folds a task's check."""
ELSEWHERE = {*EXPLANATION, *REFERENCE, *ABOUT, "README"}

_PICTURE = re.compile(
    r'<picture>.*?<img src="([^"]+)-light\.png"\s+alt="([^"]*)">\s*</picture>', re.S
)
_PLOTLY = "application/vnd.plotly.v1+json"
_HOME = "{book}/"
_VIEWS = re.compile(r"application/vnd\.(jxkernel|jupyter)\b.*")


def pages() -> dict[str, list[str]]:
    """Return the pages of each part; a page of ``docs/`` that no other part names is a how-to."""
    found = {path.stem for path in (ROOT / "docs").glob("*.md")}
    how_to = sorted(found - ELSEWHERE)
    return {
        "Demos": [f"demos/{path.stem}" for path in demos.notebooks()],
        "Workshop": [
            *(f"demos/workshop/{path.stem}" for path in workshop.sources()),
            *languages(),
        ],
        "How-to": [f"docs/{name}" for name in how_to],
        "Explanation": [
            *(f"docs/{name}" for name in EXPLANATION if name in found),
            "docs/decisions/index",
        ],
        "Reference": ["api/index", *(f"docs/{name}" for name in REFERENCE if name in found)],
        "About": [*(f"docs/{name}" for name in ABOUT), "CHANGELOG", "changelog.d/README"],
    }


def languages() -> Iterator[str]:
    """Give the page of each language of the workshop that is not English."""
    for language in workshop.SUMMARIES:
        if language and (workshop.FOLDER / language).exists():
            yield f"demos/workshop/{language}/index"


def contents(entries: list[str], caption: str = "", options: str = "") -> str:
    """Return a table of contents."""
    listed = "\n".join(f"/{entry}" for entry in entries)
    head = f":caption: {caption}\n" if caption else ""
    return f"```{{toctree}}\n{head}{options}:maxdepth: 1\n\n{listed}\n```\n"


def front_page() -> str:
    """Return the first page: the README up to its commands, and the tables of contents."""
    text = (ROOT / "README.md").read_text().partition("\n## Work on it")[0]
    tables = "\n".join(contents(entries, part, ":hidden:\n") for part, entries in pages().items())
    return f"{text}\n\n{tables}"


def copy_pages() -> None:
    """Copy what is text, with what Sphinx wants in other words than a folder's reader."""
    for folder in ("docs", "changelog.d"):
        shutil.copytree(ROOT / folder, SOURCE / folder, ignore=shutil.ignore_patterns("book"))
    (SOURCE / "docs/README.md").unlink()
    shutil.copy(ROOT / "CHANGELOG.md", SOURCE)
    write("index.md", front_page())
    decisions = [
        f"docs/decisions/{path.stem}" for path in sorted((SOURCE / "docs/decisions").iterdir())
    ]
    about = "Choices that a reader of the code would question, each with what was weighed."
    write("docs/decisions/index.md", f"# Decisions\n\n{about}\n\n{contents(decisions)}")
    for language in languages():
        folder = Path(language).parent
        notebooks = [f"{folder}/{path.stem}" for path in workshop.sources()]
        title = {"zh": "研讨课", "ru": "Практикум"}[folder.name]
        write(f"{language}.md", f"# {title}\n\n" + contents(notebooks))
    for path in SOURCE.rglob("*.md"):
        path.write_text(in_book(path.read_text()))


def in_book(text: str) -> str:
    """Return a page's text with pictures by theme, and folders as their index."""
    text = text.replace("](decisions/)", "](decisions/index.md)").replace(
        "](docs/README.md)", "](index.md)"
    )
    return _PICTURE.sub(_pictures, text)


def _pictures(found: re.Match[str]) -> str:
    file, alt = found[1], " ".join(found[2].split())
    return "\n".join(
        f"```{{image}} {file}-{theme}.png\n:class: only-{theme}\n:alt: {alt}\n```"
        for theme in ("light", "dark")
    )


def write(name: str, text: str) -> None:
    """Write a page."""
    path = SOURCE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_reference() -> None:
    """Write one page for each public module, of what its docstrings say."""
    modules = [
        name
        for name in public_modules()
        if not name.startswith("jxkernel.jupyter") and reference.public_names(import_module(name))
    ]
    for name in modules:
        write(f"api/{name}.md", reference.page(name))
    write("api/index.md", "# Reference\n\n" + contents([f"api/{name}" for name in modules]))


def write_notebooks() -> None:
    """Write the notebooks with their outputs; a translation has those of the English one."""
    for file in demos.notebooks():
        save(shown(demos.executed(file)), SOURCE / "demos" / file.name)
    for source in workshop.sources():
        notebook = shown(demos.run(workshop.build(source)))
        save(notebook, SOURCE / "demos/workshop" / f"{source.stem}.ipynb")
        for file, of, language in workshop.notebooks():
            if of == source and language:
                translated = workshop.build(source, language)
                for cell, told in zip(notebook.cells, translated.cells, strict=True):
                    told.update(outputs=cell.outputs) if cell.cell_type == "code" else None
                save(shown(translated, language), SOURCE / "demos/workshop" / language / file.name)


def shown(notebook: Any, language: str = "") -> Any:
    """Return a notebook with charts as HTML, and without what only JupyterLab draws.

    What a task checks is folded, as it is in JupyterLab, under a line in the notebook's language.
    """
    first = True
    unfold, fold = CHECKED[language]
    for cell in notebook.cells:
        if workshop.tagged(cell, "task"):
            cell.metadata["tags"] = [*cell.metadata["tags"], "hide-input"]
            cell.metadata["mystnb"] = {"code_prompt_show": unfold, "code_prompt_hide": fold}
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if _PLOTLY in data:
                data["text/html"] = chart(data.pop(_PLOTLY), first)
                first = False
            for kind in [kind for kind in data if _VIEWS.fullmatch(kind)]:
                del data[kind]
    return notebook


def chart(figure: Any, first: bool) -> str:
    """Return a chart as HTML; the first of a page loads what draws them."""
    html = plotly.io.to_html(
        {"data": figure["data"], "layout": figure["layout"]},
        full_html=False,
        include_plotlyjs=False,
    )
    return f'<script src="{_HOME}_static/plotly.min.js"></script>{html}' if first else html


def save(notebook: Any, path: Path) -> None:
    """Write a notebook; what its outputs load is found from where its page lies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    home = "../" * len(path.relative_to(SOURCE).parent.parts)
    path.write_text(nbformat.writes(notebook).replace(_HOME, home), encoding="utf-8")


def write_static() -> None:
    """Write what pages load: nothing comes from a network."""
    static = SOURCE / "_static"
    static.mkdir(parents=True)
    for name in ("book.css", "book.js"):
        shutil.copy(OWN / name, static)
    shutil.copy(ROOT / "labextension/style/charts.css", static)
    shutil.copy(Path(plotly.__file__).parent / "package_data/plotly.min.js", static)
    shutil.copy(OWN / "conf.py", SOURCE)


def main() -> None:
    """Build the site."""
    shutil.rmtree(BUILD, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    write_static()
    write_reference()
    copy_pages()
    write_notebooks()
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    subprocess.run([*command, str(SOURCE), str(HTML)], check=True)


if __name__ == "__main__":
    main()
