"""``%jx nan``: the equation that first made a NaN or an infinity, in a cell or a call."""

from __future__ import annotations

import re
from typing import Any

from IPython.core.error import UsageError

from jxkernel.jupyter.cells.cell import Inputs, Version
from jxkernel.jupyter.cells.kept_inputs import is_finite
from jxkernel.jupyter.errors.findings import finding_view
from jxkernel.jupyter.errors.tracebacks import name_cells
from jxkernel.jupyter.session.expressions import call_of
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.tables import text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe import find_nonfinite
from jxkernel.observe.explain import format_size

__all__ = ["nan"]

_EXPRESSION = re.compile(r"<expression \w+>:\d+(?:, in <module>| \(<module>\))?")
_MAGIC = "get_ipython().run_line_magic("
"""How a line of a cell begins that calls a magic: no line of the user's, and not to blame."""

_IN_CELL = re.compile(r"^In cell_\d+_*(?!\w)")
_CELL = re.compile(r"(?:In)?\s*\[?\s*(\d+)\s*\]?")


def nan(session: Session, words: str) -> View:
    """Return what first made a NaN or an infinity in a traced cell, or in a call.

    A cell is named by its number or label (``3``, ``In[3]``), by default the one traced last that
    is still there; it runs again on what the names that it reads hold now, or, where it has made
    a NaN of its own state, on the last finite inputs that it had. It writes nothing back.

    Raises:
      UsageError: the cell did not run under ``%%jit``, or the words are no expression.
    """
    found = _CELL.fullmatch(words)
    if words and not found and words not in {cell.name for cell in session.cells.values()}:
        function, args, kwargs = call_of(session, words, "%jx nan")
        error = find_nonfinite(function, *args, **kwargs)
        if error is not None and _MAGIC in error.code:
            error.where, error.code = "the expression", words
            error.underline = (0, len(words))
        return _shown(session, error, words)
    label, version = _cell(session, int(found.group(1)) if found else words)
    inputs, what = _inputs(version, label)
    arguments = {**inputs.traced, **inputs.static}
    error = find_nonfinite(version.jitted(inputs), **arguments)
    return _shown(session, error, what)


def _inputs(version: Version, label: str) -> tuple[Inputs, str]:
    """What to run a cell again on, and that in words: what its names hold, or held at the last."""
    inputs, kept = version.inputs(), version.kept
    bad = [
        name for name in kept.state if name in inputs.traced and not is_finite(inputs.traced[name])
    ]
    told = f"{label}, run again on what {_names(inputs.traced)} now"
    if not bad:
        return inputs, told
    if kept.inputs is not None:
        when = "" if kept.label == label else f", in {kept.label}"
        return kept.inputs, f"{label}, run again on the last finite inputs that it had{when}"
    if kept.too_large:
        size, limit = format_size(kept.too_large), "%config JX.kept_inputs"
        return inputs, f"{told}; its earlier inputs were not kept: {size} are more than {limit}"
    return inputs, told


def _names(traced: dict[str, Any]) -> str:
    if not traced:
        return "its names hold"
    named = ", ".join(list(traced)[:6]) + (", …" if len(traced) > 6 else "")
    return f"{named} hold{'s' * (len(traced) == 1)}"


def _shown(session: Session, error: Any, what: str) -> View:
    if error is None:
        return text_view("", f"There is neither NaN nor infinity in the results of {what}.")
    compiler = session.shell.compile
    error.where = _placed(error.where, compiler)
    details = (_IN_CELL.sub("In the cell", _placed(line, compiler)) for line in error.details)
    # Where the cell itself is searched, that it is in the cell says nothing.
    error.details = tuple(line for line in details if line != "In the cell.")
    return finding_view(error, what)


def _placed(text: str, compiler: Any) -> str:
    """A text that names cells in place of their files, and no file of an expression."""
    return _EXPRESSION.sub("the expression", name_cells(text, compiler))


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
        there = f"these were: {labels}" if labels else "no cell was traced yet"
        raise UsageError(
            f"%jx nan: {f'In[{wanted}] was not traced; ' if wanted else ''}{there}; put %%jit "
            "above a cell, or give a call such as f(x)"
        )
    number, name, version = max(chosen, key=_number)
    return f"In[{number}]" if number else name, version


def _number(entry: tuple[int, str, Version]) -> int:
    return entry[0]
