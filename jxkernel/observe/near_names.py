"""How messages about unknown names go on."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["meant"]


def meant(name: str, known: Iterable[str], most: int = 12) -> str:
    """Return how a message goes on about an unknown name: which was meant, or which there are.

    >>> meant("hiden", ["hidden", "loss"]), meant("x", ["hidden", "loss"]), meant("x", [])
    ('; did you mean hidden?', '; there are hidden, loss', '')
    """
    names = list(known)
    near = difflib.get_close_matches(name, names, 1)
    if near:
        return f"; did you mean {near[0]}?"
    more = ", …" if len(names) > most else ""
    return f"; there are {', '.join(names[:most])}{more}" if names else ""
