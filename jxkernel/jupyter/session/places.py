"""Where something is, as a front end knows it: cells by name and by id."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from jxkernel.jupyter.errors.tracebacks import name_cells
from jxkernel.jupyter.session.session import Session

__all__ = ["identities", "with_cell_names"]


_LABEL = re.compile(r"In\[\d+\]")


def identities(session: Session, texts: Iterable[str | None]) -> dict[str, str]:
    """Return the front end's ids of the cells that texts name."""
    labels = {label for text in texts for label in _LABEL.findall(text or "")}
    known = session.identities
    return {label: known[label] for label in labels if label in known}


def with_cell_names(session: Session, data: Any) -> Any:
    """Name cells in place of their files, in texts at any depth."""
    if isinstance(data, str):
        return name_cells(data, session.shell.compile)
    if isinstance(data, dict):
        return {key: with_cell_names(session, value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [with_cell_names(session, value) for value in data]
    return data
