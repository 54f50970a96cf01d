"""``%%spmd``: a cell on every rank."""

from __future__ import annotations

import linecache
from typing import Any
from weakref import WeakKeyDictionary

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class, no_var_expand

from jxkernel.jupyter.cluster.answer import cluster_of
from jxkernel.jupyter.cluster.controller import Cluster
from jxkernel.jupyter.cluster.showing import Showing
from jxkernel.jupyter.session.session import Session

__all__ = ["ClusterMagics"]


@magics_class
class ClusterMagics(Magics):
    """Magics that run cells on a cluster."""

    def __init__(self, shell: Any, session: Session) -> None:
        super().__init__(shell)
        self._session = session
        self._showing: WeakKeyDictionary[Cluster, Showing] = WeakKeyDictionary()

    @no_var_expand
    @cell_magic
    def spmd(self, line: str, cell: str) -> None:
        """Run this cell on every rank of the cluster that ``%jx cluster`` started.

        The ranks have variables of their own; ``devices()`` are those of all of them, and a mesh
        spans them. What they print and show stands once where they agree, and by rank where they
        differ; of errors that are the same there is one, with the ranks that have it.
        """
        if line.strip():
            raise UsageError(f"%%spmd takes no words in its first line, got {line.strip()!r}")
        found = cluster_of(self._session)
        showing = self._showing.get(found)
        if showing is None:
            is_live = hasattr(self._session.shell, "kernel")
            showing = self._showing[found] = Showing(found.size, is_live)
        number = self._session.running.number or self._session.shell.execution_count
        try:
            found.run_cell(cell, number, showing)
        finally:
            self._remember(found)

    def _remember(self, found: Cluster) -> None:
        """Have what the ranks traced marked in the notebook's cells, and told by ``%jx why``."""
        numbers = getattr(self._session.shell.compile, "_filename_map", {})
        for one in found.maps:
            for file, (number, text) in one.cells.items():
                numbers[file] = number
                linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
            self._session.remember(one.provenance)
        found.maps.clear()
