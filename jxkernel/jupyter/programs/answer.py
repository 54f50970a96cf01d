"""`%jaxpr`, `%jx hlo`, `why` and `map`: what a program is made of.

Purpose: the stages of an expression, and the marks on the source of a cell.

Place in the pipeline: between `magics.jx` and `observe`, over `expressions`.

Must not know: how a line is split into subcommands, or how views are drawn.
"""

from __future__ import annotations

from IPython.core.error import UsageError

from jxkernel.jupyter.session.expressions import call_of, outlined, traced
from jxkernel.jupyter.programs.stages import stages_view
from jxkernel.jupyter.programs.view import outline_view
from jxkernel.jupyter.provenance.view import map_view
from jxkernel.jupyter.views.tables import text_view
from jxkernel.jupyter.views.view import View
from jxkernel.jupyter.session.session import Session
from jxkernel.observe import stages

__all__ = ["all_stages", "hlo", "jaxpr", "source_map", "why"]


def jaxpr(session: Session, words: str) -> View:
    """Returns the explorer of an expression's jaxpr.

    Raises:
      UsageError: no expression is given.
    """
    return outline_view(outlined(session, words, "%jaxpr"))


def hlo(session: Session, words: str) -> View:
    """Returns the StableHLO module of an expression and the HLO that XLA made of it."""
    lowered = traced(session, words, "%jx hlo").lower()
    text = lowered.as_text()
    optimized = lowered.compile().as_text()
    return text_view(f"StableHLO of {words}", f"{text}\n\n// optimized\n{optimized}")


def all_stages(session: Session, words: str) -> View:
    """Returns an expression as source, jaxpr, StableHLO and optimized HLO, line by line."""
    function, args, kwargs = call_of(session, words, "%jx stages")
    return stages_view(stages(function.trace(*args, **kwargs), function=function), words)


def why(session: Session, words: str) -> View:
    """Returns what a name of a traced cell is and why, in the latest trace that has it.

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
    """Returns the traced/static map of the cell traced last.

    Raises:
      UsageError: no cell was traced.
    """
    if not session.maps:
        raise UsageError("%jx map: no cell was traced yet; run one under %%jit")
    return map_view(session.maps[-1][1])
