"""``%jx why`` and ``map``: what was traced in a cell, and what was static."""

from __future__ import annotations

from IPython.core.error import UsageError

from jxkernel.jupyter.provenance.view import map_view
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.tables import text_view
from jxkernel.jupyter.views.view import View

__all__ = ["source_map", "why"]


def why(session: Session, words: str) -> View:
    """Return what a name of a traced cell is and why, in the latest trace that has it.

    Raises:
      UsageError: no name is given, or no cell was traced.
    """
    if not words:
        raise UsageError("%jx why: give a name of a traced cell")
    if not session.maps:
        raise UsageError("%jx why: no cell was traced yet; run one under %%jit")
    for label, provenance in reversed(session.maps):
        if provenance.find(words):
            return text_view("", f"{label}: {provenance.why(words)}")
    label, provenance = session.maps[-1]
    return text_view("", f"{label}: {provenance.why(words)}")


def source_map(session: Session, words: str = "") -> View:
    """Return the traced/static map of the cell traced last.

    Raises:
      UsageError: no cell was traced.
    """
    if not session.maps:
        raise UsageError("%jx map: no cell was traced yet; run one under %%jit")
    return map_view(session.maps[-1][1])
