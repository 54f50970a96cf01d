"""A notebook with a cluster of two engines: real processes, on loopback."""

from collections.abc import Callable, Iterator

import pytest
from jupyter_client import session

from jxkernel.jupyter import load_ipython_extension
from tests.jupyter.conftest import Notebook, Ran, notebook, opened, plain_notebook

SETUP = """%%spmd
import numpy as np, jxkernel as jx, jxkernel.numpy as jnp
from jxkernel import lax
rank = jx.process_index()
mesh = jx.make_mesh((jx.process_count(),), ("x",))
rows = jx.NamedSharding(mesh, jx.P("x"))
x = jx.make_array_from_process_local_data(rows, np.arange(2.0) + 2 * rank)
"""

Spmd = Callable[[str], Ran]


@pytest.fixture(scope="module", autouse=True)
def dates() -> Iterator[None]:
    """Undo what ipyparallel does to jupyter_client in this process: messages lose their dates."""
    before = session.extract_dates
    yield
    session.extract_dates = before


@pytest.fixture(scope="module")
def pair() -> Iterator[Notebook]:
    """A notebook whose cluster has two ranks."""
    pytest.importorskip("ipyparallel")
    with opened() as notebook:
        load_ipython_extension(notebook.shell)
        notebook.run("%jx cluster 2")
        notebook.run(SETUP)
        yield notebook


@pytest.fixture
def spmd(pair: Notebook) -> Spmd:
    """Runs a cell on both ranks; it may fail."""
    return lambda source: pair.attempt(f"%%spmd\n{source}")


__all__ = ["notebook", "pair", "plain_notebook", "spmd"]
