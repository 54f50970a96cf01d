"""``%jx report``: the session in one page, to read or to send."""

from __future__ import annotations

from pathlib import Path

from IPython.core.error import UsageError

from jxkernel._reprs import file_error
from jxkernel.jupyter.report.page import overview, page_of
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.view import View

__all__ = ["report"]


def report(session: Session, words: str) -> View:
    """Return the session in one view; with a file name, write it as HTML or JSON.

    Raises:
      UsageError: the file is neither ``.html`` nor ``.json``, or cannot be written.
    """
    file = Path(words)
    if words and file.suffix not in (".html", ".json"):
        raise UsageError(f"%jx report: {words} must end in .html or .json")
    view = overview(session)
    if words:
        try:
            file.write_text(page_of(view, as_json=file.suffix == ".json"), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"%jx report: {file_error(error)}") from None
    return view
