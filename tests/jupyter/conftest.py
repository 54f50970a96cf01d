"""A notebook without a front end: IPython in this process, its outputs kept."""

import atexit
import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from jxkernel.api.jit import clear_caches
from jxkernel.compile.keys import history
from jxkernel.jupyter import load_ipython_extension, session_of, unload_ipython_extension
from jxkernel.jupyter.session.session import Session

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Ran:
    """What running a cell gave.

    Attributes:
      value: what `Out` holds.
      error: the exception that ended it, or None.
      printed: what was printed, tracebacks included, without colours.
      shown: the mimebundle of each view that was displayed, `Out` left out.
    """

    value: Any
    error: BaseException | None
    printed: str
    shown: list[dict[str, Any]]

    @property
    def line(self) -> str:
        """The first line of the first view as text: the summary of a `%%jit` cell."""
        return self.shown[0]["text/plain"].splitlines()[0]


class Notebook:
    """Runs cells in a shell of its own."""

    def __init__(self) -> None:
        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "nocolor"
        InteractiveShell.clear_instance()
        self.shell = InteractiveShell.instance(config=config)
        self.names = self.shell.user_ns

    @property
    def session(self) -> Session:
        """The session of the extension."""
        session = session_of(self.shell)
        assert session is not None
        return session

    def run(self, source: str, cell_id: str | None = None) -> Ran:
        """Runs a cell that must succeed."""
        ran = self.attempt(source, cell_id)
        assert ran.error is None, ran.printed
        return ran

    def attempt(self, source: str, cell_id: str | None = None) -> Ran:
        """Runs a cell that may fail."""
        with capture_output() as captured:
            result = self.shell.run_cell(source, store_history=True, cell_id=cell_id)
        error = result.error_before_exec or result.error_in_exec
        printed = ESCAPES.sub("", captured.stdout + captured.stderr)
        shown = [output.data for output in captured.outputs]
        return Ran(result.result, error, printed, shown)

    def fails(
        self,
        source: str,
        kind: type[BaseException] | tuple[type[BaseException], ...],
        cell_id: str | None = None,
    ) -> Ran:
        """Runs a cell that must fail with an error of a kind."""
        ran = self.attempt(source, cell_id)
        assert isinstance(ran.error, kind), (ran.error, ran.printed)
        return ran


SETUP = (
    "import numpy as np, jxkernel as jx, jxkernel.numpy as jnp\n"
    "from jxkernel import lax\n"
    "x = jnp.arange(8.0)\n"
    "w = 2.0"
)


@contextmanager
def opened() -> Iterator[Notebook]:
    """A notebook without the extension, closed at the end of the block."""
    notebook = Notebook()
    try:
        yield notebook
    finally:
        unload_ipython_extension(notebook.shell)
        atexit.unregister(notebook.shell.atexit_operations)
        # Flushing the cache of outputs would collect garbage, which takes most of a test's time:
        # that is done once a module.
        notebook.shell.displayhook.do_full_cache = False
        notebook.shell.atexit_operations()
        # Else the next shell would hold this one's module as the one to restore, and so on.
        notebook.shell.restore_sys_module_state()
        InteractiveShell.clear_instance()


@pytest.fixture(autouse=True, scope="module")
def _garbage_collected() -> None:
    gc.collect()


@pytest.fixture
def plain_notebook() -> Iterator[Notebook]:
    """A notebook without the extension."""
    with opened() as notebook:
        yield notebook


@pytest.fixture
def notebook(plain_notebook: Notebook) -> Notebook:
    """A notebook with the extension loaded and the usual imports done."""
    clear_caches()
    history.clear()
    load_ipython_extension(plain_notebook.shell)
    plain_notebook.run(SETUP)
    return plain_notebook


@pytest.fixture(scope="module")
def lasting_notebook() -> Iterator[Notebook]:
    """A notebook with the extension for all tests of a module, which run `SETUP` themselves."""
    with opened() as notebook:
        load_ipython_extension(notebook.shell)
        yield notebook
