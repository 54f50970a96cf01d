"""What the view of a difference sends."""

from __future__ import annotations

from typing import TypedDict

from jxkernel.observe.differences import DiffRow

__all__ = ["DiffPayload", "SamePayload"]


class SamePayload(TypedDict):
    """A number of rows that both sides of a diff have."""

    same: int


class DiffPayload(TypedDict):
    """Two programs compared."""

    before: str
    after: str
    summary: str
    left_out: int
    rows: list[SamePayload | DiffRow]
