"""A notebook with a cluster of two engines: real processes, on loopback."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from jupyter_client import session

from jxkernel.jupyter import load_ipython_extension
from jxkernel.jupyter.cluster import answer, progress
from jxkernel.jupyter.cluster.controller import Cluster
from tests.jupyter.conftest import Notebook, Ran, notebook, opened, plain_notebook

SETUP = """import numpy as np, jxkernel as jx, jxkernel.numpy as jnp
from jxkernel import lax
rank = jx.process_index()
mesh = jx.make_mesh((jx.process_count(),), ("x",))
rows = jx.NamedSharding(mesh, jx.P("x"))
x = jx.make_array_from_process_local_data(rows, np.arange(2.0) + 2 * rank)
"""

Spmd = Callable[[str], Ran]
HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE:
            # One process, or each would start engines of its own.
            item.add_marker(pytest.mark.xdist_group("cluster"))


BEFORE = session.extract_dates


@pytest.fixture(scope="module", autouse=True)
def dates() -> Iterator[None]:
    """Undo what ipyparallel does to jupyter_client in this process: messages lose their dates."""
    yield
    session.extract_dates = BEFORE


@pytest.fixture(autouse=True)
def no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no cell take so long that lines say where its ranks are: a busy machine is slow."""
    monkeypatch.setattr(progress, "_STEP_SECONDS", float("inf"))


@pytest.fixture(scope="session")
def two_engines() -> Iterator[Cluster]:
    """A cluster of two ranks, for all tests of this process: to start it takes ten seconds."""
    cluster = Cluster(2)
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def pair(two_engines: Cluster) -> Iterator[Notebook]:
    """A notebook whose cluster has two ranks."""
    if not two_engines.is_whole:
        two_engines.mend()
    with opened() as notebook:
        load_ipython_extension(notebook.shell)
        answer._clusters[notebook.session] = two_engines
        notebook.run(f"%%spmd\n{SETUP}")
        yield notebook
        # It outlives the notebook.
        del answer._clusters[notebook.session]


@pytest.fixture
def spmd(pair: Notebook) -> Spmd:
    """Runs a cell on both ranks; it may fail."""
    return lambda source: pair.attempt(f"%%spmd\n{source}")


__all__ = ["no_progress", "notebook", "pair", "plain_notebook", "spmd", "two_engines"]
