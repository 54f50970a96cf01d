"""The book: each page has its place, docstrings are written out right, and the site is whole."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.front.jupyter import CHROMIUM, running_browser
from tools import book, reference
from tools.checkout import ROOT

PAGES = (
    "index",
    "demos/01_first_steps",
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


@pytest.fixture(scope="module")
def site() -> Path:
    """The site, as `make docs` leaves it; Sphinx fails at any warning and at any dead link."""
    pytest.importorskip("furo", reason="needs furo and myst-nb: pip install 'jxkernel[docs]'")
    subprocess.run([sys.executable, "-m", "tools.book"], cwd=ROOT, check=True)
    return book.HTML


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    with running_browser() as browser:
        yield browser


@pytest.mark.slow
def test_the_site_is_searched_and_loads_nothing_from_elsewhere(site: Path) -> None:
    index = (site / "searchindex.js").read_text()
    found = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))
    assert set(PAGES) <= set(found["docnames"])
    for page in PAGES:
        text = (site / f"{page}.html").read_text()
        loaded = re.findall(
            r"""<(?:script|img|link)\b[^>]*\b(?:src|href)=["'](https?://[^"']+)""", text
        )
        assert loaded == []


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(site: Path, browser: Any, theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.base")
    page = browser.new_page(color_scheme=theme)
    found = {}
    for name in PAGES:
        page.goto((site / f"{name}.html").as_uri())
        page.evaluate(axe.AXE_SCRIPT)
        found[name] = page.evaluate(FOUND)
    page.close()
    assert {name: these for name, these in found.items() if these} == {}
