"""A view: one thing to show, as text, as self-contained HTML, and as data.

``text/plain`` serves terminals, ``text/html`` a notebook without kernel or JavaScript, and the
data, under ``application/vnd.jxkernel.<kind>+json``, the lab extension. Each is capped: a view is
kept in the notebook's file.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["MIME", "VERSION", "Tidied", "View", "capped", "clean", "tidied"]

MIME = "application/vnd.jxkernel.{}+json"
"""The type of a view's data, by kind: jit, jaxpr, provenance, ledger, stages, table."""

VERSION = 1
"""The version of all views' data, their ``format``; a front end of an older one shows the text."""

TEXT_LIMIT = 100_000
HTML_LIMIT = 300_000
DATA_LIMIT = 300_000
STRING_LIMIT = 20_000

_NUMBERS = {bool, int, float}


@dataclass(frozen=True, slots=True)
class View:
    """Something to show.

    Attributes:
      kind: what it is, for the data's type.
      text: as plain text.
      html: as an HTML fragment; empty where text says it all.
      data: as JSON data; left out of the bundle where it is too large.
    """

    kind: str
    text: str
    html: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": capped(self.text, TEXT_LIMIT)}
        if self.html and len(self.html) <= HTML_LIMIT:
            bundle["text/html"] = self.html
        if self.data:
            data = {"format": VERSION, **_plain(self.data)}
            if len(json.dumps(data)) <= DATA_LIMIT:
                bundle[MIME.format(self.kind)] = data
        return bundle


class Tidied(dict[str, Any]):
    """Data that is plain already: made once for a trace and shown at each of its hits."""

    __slots__ = ()


def tidied(data: Mapping[str, Any]) -> Tidied:
    """Return data as JSON knows it, its texts clean and cut to a length."""
    return Tidied({key: _plain(value) for key, value in data.items()})


def _plain(data: Any) -> Any:
    """Data as JSON knows it, its texts without control characters and cut to a length."""
    # Long programs are millions of these: what is frequent comes first.
    if isinstance(data, str):
        return (
            data if data.isprintable() and len(data) <= STRING_LIMIT else capped(data, STRING_LIMIT)
        )
    if data is None or isinstance(data, int | float | Tidied):
        return data
    if isinstance(data, Mapping):
        return {_plain(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        kinds = set(map(type, data))
        if kinds <= _NUMBERS or (kinds == {str} and _are_clean(data)):
            return list(data)
        return [_plain(value) for value in data]
    return data


def _are_clean(texts: Sequence[str]) -> bool:
    """Whether texts are data as they are, looked at together."""
    return "".join(texts).isprintable() and max(map(len, texts)) <= STRING_LIMIT


def clean(text: str) -> str:
    """Return text without control characters, which could write over a terminal's lines."""
    if text.isprintable():
        return text
    return "".join(one if _is_clean(one) else "\ufffd" for one in text)


def _is_clean(one: str) -> bool:
    """Whether a character may be shown: printable, or white space that is no control."""
    return one.isprintable() or one in "\n\t" or unicodedata.category(one) == "Zs"


def capped(text: str, limit: int) -> str:
    """Return text cut to a length and cleaned, with a mark where it was cut.

    It is cut first: a text may be of any length, and cleaning looks at each character.
    """
    if len(text) <= limit:
        return clean(text)
    return f"{clean(text[:limit])}… ({len(text) - limit:,} more characters)"
