"""``%jaxpr``, ``%jx hlo``, ``stages`` and ``passes``: what a program is made of."""

from __future__ import annotations

from IPython.core.error import UsageError

from jxkernel.compile.stages import as_called
from jxkernel.jupyter.programs.pass_view import passes_view
from jxkernel.jupyter.programs.stage_view import stages_view
from jxkernel.jupyter.programs.view import outline_view
from jxkernel.jupyter.session.expressions import call_of, outlined, traced
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.tables import text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe import passes, stages

__all__ = ["all_passes", "all_stages", "hlo", "jaxpr"]


def jaxpr(session: Session, words: str) -> View:
    """Return the explorer of an expression's jaxpr.

    Raises:
      UsageError: no expression is given.
    """
    return outline_view(outlined(session, words, "%jaxpr"))


def hlo(session: Session, words: str) -> View:
    """Return the StableHLO module of an expression and the HLO that XLA made of it."""
    lowered, compiled = as_called(traced(session, words, "%jx hlo"))
    text = lowered.as_text()
    optimized = compiled.as_text()
    return text_view(f"StableHLO of {words}", f"{text}\n\n// optimized\n{optimized}")


def all_stages(session: Session, words: str) -> View:
    """Return an expression as source, jaxpr, StableHLO and optimized HLO, line by line."""
    function, args, kwargs = call_of(session, words, "%jx stages")
    stage = function.trace(*args, **kwargs)
    found = stages(stage, function=function, reserved=session.shell.user_ns)
    return stages_view(found, words)


def all_passes(session: Session, words: str) -> View:
    """Return what each pass of XLA changed in an expression's program, or in one equation of it.

    Raises:
      UsageError: there is no expression, or it has no equation of that number.
    """
    first, _, rest = words.partition(" ")
    equation = int(first) if first.isdecimal() and rest.strip() else None
    call = words if equation is None else rest.strip()
    function, args, kwargs = call_of(session, call, "%jx passes")
    stage = function.trace(*args, **kwargs)
    reserved = session.shell.user_ns
    try:
        found = passes(stage, equation=equation, function=function, reserved=reserved)
    except (ValueError, RuntimeError) as error:
        raise UsageError(f"%jx passes: {error}") from None
    return passes_view(found, call)
