"""How deep programs may nest: Python's recursion limit, raised and given back.

Nested functions are traced, transformed and lowered by recursion, and 1,000 frames end at about 80
of them.
"""

from __future__ import annotations

import sys
from contextlib import suppress

__all__ = ["allow_depth", "restore_depth"]

_DEPTH = 10_000


class _Limit:
    """The limit as it was before it was raised here; None where it was high enough."""

    def __init__(self) -> None:
        self.before: int | None = None

    def clear(self) -> None:
        """Forget it."""
        self.before = None


_limit = _Limit()


def allow_depth() -> None:
    """Raise Python's recursion limit to what deep programs need, unless it is as high."""
    present = sys.getrecursionlimit()
    if present < _DEPTH:
        _limit.before = present
        sys.setrecursionlimit(_DEPTH)


def restore_depth() -> None:
    """Give the limit back that was raised; the next trace raises it again.

    One that was set by others since, and one that the present depth exceeds, stays.
    """
    if _limit.before is not None and sys.getrecursionlimit() == _DEPTH:
        with suppress(RecursionError):
            sys.setrecursionlimit(_limit.before)
            _limit.clear()
