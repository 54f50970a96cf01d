"""``%jx residuals``: what the derivative of a call keeps, and what ``checkpoint`` saves."""

from __future__ import annotations

import linecache
import re
from dataclasses import replace

from IPython.core.error import UsageError

from jxkernel.jupyter.errors.tracebacks import name_cells
from jxkernel.jupyter.session.expressions import call_of
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.tables import stacked_view, table_view, text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe.costs import format_flops
from jxkernel.observe.explain import format_size
from jxkernel.observe.residuals import KeptForBackward, KeptValue, Way
from jxkernel.observe.residuals import residuals as residuals_of

__all__ = ["residuals"]

_HALF = 0.5
_LITTLE_MORE = 1.1


def residuals(session: Session, words: str) -> View:
    """Return what the derivative of a call keeps, and what it would keep under ``checkpoint``.

    Raises:
      UsageError: the words are no call, or none of its arguments has a derivative.
    """
    function, args, kwargs = call_of(session, words, "%jx residuals")
    try:
        found = residuals_of(function, *args, **kwargs)
    except TypeError as error:
        if "no argument is a real or complex array" not in str(error):
            raise
        raise UsageError(f"%jx residuals: {words} has no real or complex argument") from None
    made = [one for one in found.values if not one.what.startswith("the argument ")]
    title = f"Kept for the way back through {words}: {format_size(sum(o.bytes for o in made))}"
    rows = [(format_size(one.bytes), one.type, one.what, *_place(session, one)) for one in made]
    found = replace(found, ways=tuple(_named(way, words) for way in found.ways))
    ways = [(format_size(way.bytes), format_flops(way.flops), way.code) for way in found.ways]
    return stacked_view(
        "residuals",
        {
            "kept": table_view(title, ("Size", "Type", "What", "Line", "Source"), rows, (0,)),
            "ways": table_view("And under checkpoint", ("Kept", "Work", "As"), ways, (0, 1)),
            "advice": text_view("", _advice(found)),
        },
    )


def _place(session: Session, one: KeptValue) -> tuple[str, str]:
    if not one.file:
        return "", ""
    code = linecache.getline(one.file, one.line).strip()
    is_call = one.file.startswith("<expression ")
    where = "the call" if is_call else name_cells(f"{one.file}:{one.line}", session.shell.compile)
    return where, code if len(code) <= 80 else f"{code[:79]}…"


def _named(way: Way, words: str) -> Way:
    """A way as one writes it for the function that is called; ``f`` where that has no name."""
    name = re.match(r"([\w.]+)\(.*\)$", words, re.DOTALL)
    return replace(way, code=re.sub(r"\bf\b", name[1], way.code)) if name else way


def _advice(found: KeptForBackward) -> str:
    """What to write: the way that keeps half or less for a tenth more work, else the trade."""
    plain, *others = found.ways
    if not plain.bytes:
        return "Nothing is kept besides arguments."
    for way in others:
        if way.bytes <= plain.bytes * _HALF and way.flops <= plain.flops * _LITTLE_MORE:
            return f"{way.code} keeps {_saved(plain, way)} less for {_more(plain, way)} more work."
    least = min(others, key=lambda way: way.bytes)
    if least.bytes >= plain.bytes:
        return "checkpoint around the whole function saves nothing here."
    return (
        f"{least.code} keeps {_saved(plain, least)} less, for {_more(plain, least)} more work: "
        "worth it where memory is short. Use it for each layer, not for the whole loss."
    )


def _saved(plain: Way, way: Way) -> str:
    return format_size(plain.bytes - way.bytes)


def _more(plain: Way, way: Way) -> str:
    return f"{max(way.flops / plain.flops - 1, 0):.0%}" if plain.flops else "no"
