"""What a table sends."""

from __future__ import annotations

from typing import TypedDict

__all__ = ["TablePayload"]


class TablePayload(TypedDict):
    """A table of texts; ``count`` counts its rows, shown or not."""

    title: str
    head: list[str]
    rows: list[list[str]]
    count: int
