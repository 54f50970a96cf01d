"""``%jx nan``: the equation that first made a NaN or an infinity, in a cell or a call."""

from __future__ import annotations

import re
from typing import Any

from IPython.core.error import UsageError

from jxkernel.jupyter.cells.cell import Version
from jxkernel.jupyter.errors.findings import finding_view
from jxkernel.jupyter.errors.tracebacks import name_cells
from jxkernel.jupyter.session.expressions import call_of
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.tables import text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe import find_nonfinite

__all__ = ["nan"]

_CELL = re.compile(r"(?:In)?\s*\[?\s*(\d+)\s*\]?")


def nan(session: Session, words: str) -> View:
    """Return what first made a NaN or an infinity in a traced cell, or in a call.

    A cell is named by its number or label (``3``, ``In[3]``), by default the one traced last that
    is still there; it runs again on what the names that it reads hold now, and writes nothing back.

    Raises:
      UsageError: the cell did not run under ``%%jit``, or the words are no expression.
    """
    found = _CELL.fullmatch(words)
    if words and not found and words not in {cell.name for cell in session.cells.values()}:
        function, args, kwargs = call_of(session, words, "%jx nan")
        return _shown(session, find_nonfinite(function, *args, **kwargs), words)
    label, version = _cell(session, int(found.group(1)) if found else words)
    inputs = version.inputs()
    arguments = {**inputs.traced, **inputs.static}
    error = find_nonfinite(version.jitted(inputs), **arguments)
    return _shown(session, error, f"{label}, run again on what {_names(inputs.traced)} now")


def _names(traced: dict[str, Any]) -> str:
    if not traced:
        return "its names hold"
    named = ", ".join(list(traced)[:6]) + (", …" if len(traced) > 6 else "")
    return f"{named} hold{'s' * (len(traced) == 1)}"


def _shown(session: Session, error: Any, what: str) -> View:
    if error is None:
        return text_view("", f"neither NaN nor infinity in the results of {what}")
    compiler = session.shell.compile
    error.where = name_cells(error.where, compiler)
    error.details = tuple(name_cells(line, compiler) for line in error.details)
    return finding_view(error, what)


def _cell(session: Session, wanted: int | str) -> tuple[str, Version]:
    """Find a version of a cell by its execution number, its name, or as the latest.

    Raises:
      UsageError: there is none.
    """
    numbers = getattr(session.shell.compile, "_filename_map", {})
    versions = [
        (numbers.get(one.source.file, 0), cell.name, one)
        for cell in session.cells.values()
        for one in cell.versions.values()
        if cell.compiled == {}
    ]
    chosen = [one for one in versions if wanted in ("", one[0], one[1])]
    if not chosen:
        labels = ", ".join(f"In[{number}]" for number, *_ in sorted(versions, key=_number)[-6:])
        there = f"traced were {labels}" if labels else "no cell was traced yet"
        raise UsageError(
            f"%jx nan: {f'In[{wanted}] was not traced; ' if wanted else ''}{there}; put %%jit "
            "above a cell, or give a call such as f(x)"
        )
    number, name, version = max(chosen, key=_number)
    return f"In[{number}]" if number else name, version


def _number(entry: tuple[int, str, Version]) -> int:
    return entry[0]
