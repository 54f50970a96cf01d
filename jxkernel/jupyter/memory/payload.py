"""What the view of memory sends."""

from __future__ import annotations

from typing import TypedDict

from jxkernel.jupyter.views.payload import TablePayload

__all__ = ["MemoryPayload"]


class MemoryPayload(TypedDict):
    """Live arrays and what devices hold."""

    arrays: TablePayload
    devices: TablePayload
