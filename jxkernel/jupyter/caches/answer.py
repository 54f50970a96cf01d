"""``%jx cache``: what is remembered, here and on disk."""

from __future__ import annotations

from IPython.core.error import UsageError

from jxkernel.api.jit import clear_caches
from jxkernel.compile import clear_disk_cache, disk_cache_summary
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.tables import stacked_view, table_view, text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe.explain import format_duration, format_size

__all__ = ["cache"]


def cache(session: Session, words: str) -> View:
    """Return what is remembered, on disk and of the session's cells; ``clear`` forgets it.

    ``clear`` forgets every trace and executable and empties the disk cache; ``clear memory`` and
    ``clear disk`` do one of the two.

    Raises:
      UsageError: the words are none of these.
    """
    if words and words not in ("clear", "clear memory", "clear disk"):
        raise UsageError(f"%jx cache: {words!r} is not 'clear', 'clear memory' or 'clear disk'")
    said: list[str] = []
    if words in ("clear", "clear memory"):
        clear_caches()
        session.cells.clear()
        said.append("every trace and compiled call is forgotten")
    if words in ("clear", "clear disk"):
        said.append(f"{clear_disk_cache()} executables deleted from disk")
    return text_view("", "; ".join(said)) if said else _remembered(session)


def _remembered(session: Session) -> View:
    disk = disk_cache_summary()
    limit = "no bound" if disk.limit < 0 else f"of {format_size(disk.limit)}"
    rows: list[tuple[str, object]] = [("folder", disk.folder or "none: the cache is off")]
    if disk.folder:
        rows += [
            ("entries", disk.entries),
            ("size", f"{format_size(disk.bytes)} {limit}"),
            ("hits", f"{disk.hits}, {format_size(disk.bytes_read)} read"),
            ("misses", f"{disk.misses}, {format_size(disk.bytes_written)} stored"),
            ("saved", format_duration(disk.saved_ns)),
        ]
    if disk.problem:
        rows.append(("cannot be written", disk.problem))
    cells = [
        (cell.name, len(cell.versions), sum(one.traces for one in cell.versions.values()))
        for cell in session.cells.values()
    ]
    return stacked_view(
        "cache",
        {
            "disk": table_view("Executables on disk", ("", "In this process"), rows),
            "cells": table_view(
                "Cells under %%jit", ("Cell", "Versions", "Traces"), cells, numeric=(1, 2)
            ),
        },
    )
