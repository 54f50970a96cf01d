"""A finding: a place in the user's source, underlined, with what was found there."""

from __future__ import annotations

from jxkernel.errors import JXError
from jxkernel.jupyter.views.html import Html, element, escape, join, page, row
from jxkernel.jupyter.views.view import View

__all__ = ["finding_view"]

_CODE = 500


def finding_view(error: JXError, subject: str) -> View:
    """Return the view of a finding.

    Args:
      error: what was found, in the parts of an error.
      subject: where it was looked for, in words.
    """
    data = {
        "subject": subject,
        "what": error.what,
        "details": list(error.details),
        "where": error.where,
        "code": error.code,
        "underline": error.underline,
        "instead": list(error.instead),
    }
    rows = [row(escape(line, _CODE)) for line in error.details]
    html = page(
        element("div", element("b", escape(error.what, _CODE))),
        element("div", escape(subject, _CODE), class_="dim"),
        element("div", *rows),
        _place(error),
    )
    return View("finding", f"{error}\n\n(looked for in {subject})", html, data)


def _place(error: JXError) -> Html:
    if not error.where:
        return join([])
    code = error.code.strip()[:_CODE]
    shown: object = code
    if error.underline is not None:
        indentation = len(error.code) - len(error.code.lstrip())
        start, end = (max(column - indentation, 0) for column in error.underline)
        shown = join([code[:start], element("u", code[start:end], class_="k X"), code[end:]])
    place = element("div", f"{error.where}:")
    return element("div", place, row(shown), class_="warn")
