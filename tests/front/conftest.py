"""One server of each application and one browser for all tests here.

Without Chromium they are skipped, and say so.
"""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.front.jupyter import CHROMIUM, Notebook, Server, running_browser, running_server

HERE = Path(__file__).parent
LOUD = "NOT TESTED: the lab extension in a browser, for there is no {}"
MISSING = (
    LOUD.format("Chromium: apt-get install chromium")
    if CHROMIUM is None
    else LOUD.format("playwright: pip install playwright")
    if importlib.util.find_spec("playwright") is None
    else ""
)


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE:
            # One process, or each would start its own server.
            item.add_marker(pytest.mark.xdist_group("front"))
            if MISSING:
                item.add_marker(pytest.mark.skip(reason=MISSING))


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    # Not for the session: until it is closed, the process has an event loop that runs.
    with running_browser() as browser:
        yield browser


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """JupyterLab."""
    with running_server("lab", tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture(scope="package")
def notebook_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Notebook 7."""
    with running_server("notebook", tmp_path_factory.mktemp("notebook")) as server:
        yield server


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Notebook]]:
    """Opens notebooks, and closes them after the test."""
    notebooks: list[Notebook] = []

    def open_one(server: Server, name: str, **options: Any) -> Notebook:
        notebooks.append(Notebook(browser, server, name, **options))
        return notebooks[-1]

    yield open_one
    for one in notebooks:
        one.close()
