"""The book: each page has its place, docstrings are written out right, and the site is whole."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import nbformat
import plotly.graph_objects as go
import pytest
from nbformat import v4

from tests.front.jupyter import CHROMIUM, running_browser
from tools import book, reference, workshop
from tools.checkout import ROOT

PAGES = (
    "index",
    "demos/01_first_steps",
    "demos/02_why_did_it_recompile",
    "demos/03_looking_inside",
    "demos/workshop/04_control_flow",
    "demos/workshop/05_derivatives",
    "demos/workshop/zh/01_numpy_and_here",
    "docs/jupyterlab",
    "docs/glossary",
    "docs/for-jax-users",
    "api/jxkernel.random",
)
FOUND = """async () => {
  const found = await axe.run({ include: ['body'] }, { resultTypes: ['violations'] });
  return found.violations
    .filter(one => ['serious', 'critical'].includes(one.impact))
    .flatMap(one => one.nodes.map(node => `${one.id}: ${node.target} ${node.failureSummary}`));
}"""


def test_every_page_of_the_documentation_has_one_place() -> None:
    placed = [page for pages in book.pages().values() for page in pages]
    assert len(placed) == len(set(placed))
    found = {f"docs/{path.stem}" for path in (ROOT / "docs").glob("*.md")}
    assert found - set(placed) == {"docs/README"}


def test_parts_name_pages_that_exist() -> None:
    named = {*book.EXPLANATION, *book.REFERENCE, *book.ABOUT}
    assert [name for name in named if not (ROOT / f"docs/{name}.md").exists()] == []


def test_a_docstring_is_written_out() -> None:
    told = reference.rendered(
        """Return ``x`` to the power 2**k, or |x|.

        Args:
          x: an array
            of numbers.
          k (optional): a ``number``.

        Raises:
          TypeError: it is none.

        >>> power([1], 2)
        [1]
        """
    )
    assert told == (
        "Return `x` to the power 2\\*\\*k, or \\|x\\|.\n\n"
        "**Args**\n\n- `x`: an array of numbers.\n- `k`: a `number`.\n\n"
        "**Raises**\n\n- `TypeError`: it is none.\n\n"
        "```python\n>>> power([1], 2)\n[1]\n```"
    )


def test_a_module_s_page_has_its_names_and_signatures() -> None:
    page = reference.page("jxkernel.observe")
    assert (
        "## assert_max_traces\n\n```python\nassert_max_traces(limit: int, *functions: Any)" in page
    )
    assert "<class" not in page


def test_pictures_stand_by_theme() -> None:
    picture = (
        '<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="a-dark.png">\n'
        '  <img src="a-light.png" alt="two\n  words">\n</picture>'
    )
    assert re.findall(r"\{image\} (\S+)\n:class: (\S+)\n:alt: (.*)", book.in_book(picture)) == [
        ("a-light.png", "only-light", "two words"),
        ("a-dark.png", "only-dark", "two words"),
    ]


@pytest.mark.parametrize(
    ("page", "home"), [("demos/one.ipynb", "../"), ("demos/workshop/ru/one.ipynb", "../../../")]
)
def test_a_chart_finds_what_draws_it(tmp_path, monkeypatch, page: str, home: str) -> None:
    monkeypatch.setattr(book, "SOURCE", tmp_path)
    figure = {"data": [{"y": [1, 2]}], "layout": {}}
    output = v4.new_output("display_data", {"application/vnd.plotly.v1+json": figure})
    notebook = v4.new_notebook(cells=[v4.new_code_cell("", outputs=[output])])
    book.save(book.shown(notebook), tmp_path / page)
    [cell] = nbformat.read(tmp_path / page, 4).cells
    assert f'<script src="{home}_static/plotly.min.js">' in cell.outputs[0].data["text/html"]


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")
def test_a_chart_has_the_colours_of_its_page(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(book, "SOURCE", tmp_path)
    book.write_static()
    figure = go.Figure(go.Scatter(y=[1, 2]), {"title": "loss"}).to_plotly_json()
    chart = book.chart(figure, first=True).replace("{book}/", "")
    styles = "".join(
        f'<link rel="stylesheet" href="_static/{name}">' for name in ("book.css", "charts.css")
    )
    (tmp_path / "page.html").write_text(
        f'{styles}<body style="color:rgb(1,2,3)"><div class="cell_output">'
        f'<div class="output text_html">{chart}</div></div>'
    )
    with running_browser() as browser:
        page = browser.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        page.wait_for_selector(".gtitle")
        colour = "([place, name]) => getComputedStyle(document.querySelector(place))[name]"
        assert page.evaluate(colour, [".gtitle", "fill"]) == "rgb(1, 2, 3)"
        for place in (".main-svg", ".output"):
            assert page.evaluate(colour, [place, "backgroundColor"]) == "rgba(0, 0, 0, 0)"


def test_what_a_task_checks_is_folded() -> None:
    task = v4.new_code_cell("def check(): ...", metadata={"tags": ["task"]})
    answer = v4.new_code_cell("answer = ...", metadata={"tags": ["exercise"]})
    shown = book.shown(v4.new_notebook(cells=[task, answer])).cells
    assert ["hide-input" in cell.metadata["tags"] for cell in shown] == [True, False]


@pytest.mark.parametrize("language", workshop.SUMMARIES)
def test_the_line_that_unfolds_a_check_is_in_the_language_of_its_page(language: str) -> None:
    notebook = book.shown(workshop.build(workshop.sources()[0], language), language)
    prompts = {
        (cell.metadata["mystnb"]["code_prompt_show"], cell.metadata["mystnb"]["code_prompt_hide"])
        for cell in notebook.cells
        if workshop.tagged(cell, "task")
    }
    assert prompts == {book.CHECKED[language]}


@pytest.fixture(scope="module")
def site() -> Path:
    """The site, as `make docs` leaves it; Sphinx fails at any warning and at any dead link."""
    pytest.importorskip("furo", reason="needs furo and myst-nb: pip install 'jxkernel[docs]'")
    subprocess.run([sys.executable, "-m", "tools.book"], cwd=ROOT, check=True)
    return book.HTML


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with running_browser() as browser:
        yield browser


class Page(HTMLParser):
    """What a page of the site points to, what it loads, and what can be pointed to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.anchors.update(filter(None, [told.get("id")]))
        target = told.get("href") or told.get("src")
        if target:
            self.links.append(target)
            if tag != "a":
                self.loaded.append(target)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text()) for path in site.rglob("*.html")}


def lost(path: Path, link: str, pages: dict[Path, Page]) -> bool:
    """Whether a link inside the site leads to no file, or to no place in it."""
    parts = urlsplit(link)
    if parts.scheme:
        return False
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return True
    anchor = unquote(parts.fragment)
    return bool(anchor) and target in pages and anchor not in pages[target].anchors


@pytest.mark.slow
def test_every_link_and_file_of_the_site_is_there(pages: dict[Path, Page]) -> None:
    assert [
        (path.name, link)
        for path, page in pages.items()
        for link in page.links
        if lost(path, link, pages)
    ] == []


@pytest.mark.slow
def test_no_page_loads_anything_from_elsewhere(pages: dict[Path, Page]) -> None:
    assert {
        (path.name, link)
        for path, page in pages.items()
        for link in page.loaded
        if urlsplit(link).scheme in ("http", "https")
    } == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["demos/01_first_steps", "demos/workshop/05_derivatives", "demos/workshop/zh/10_own_primitive"],
)
def test_charts_are_drawn_without_a_network(site: Path, browser: Any, name: str) -> None:
    page = browser.new_page()
    page.goto((site / f"{name}.html").as_uri())
    page.wait_for_selector(".plotly-graph-div svg.main-svg")
    page.close()


@pytest.mark.slow
def test_the_site_is_searched(site: Path, browser: Any) -> None:
    page = browser.new_page()
    page.goto((site / "search.html").as_uri() + "?q=cotangent")
    page.wait_for_selector("#search-results li a[href*='glossary']")
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(site: Path, browser: Any, theme: str) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.base",
        reason="needs axe-playwright-python: pip install 'jxkernel[dev]'",
    )
    page = browser.new_page(color_scheme=theme)
    found = {}
    for name in PAGES:
        page.goto((site / f"{name}.html").as_uri())
        page.evaluate(axe.AXE_SCRIPT)
        found[name] = page.evaluate(FOUND)
    page.close()
    assert {name: these for name, these in found.items() if these} == {}
