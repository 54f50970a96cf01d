"""What the view of memory sends."""

from __future__ import annotations

from typing import TypedDict

from jxkernel.jupyter.views.payload import TablePayload

__all__ = ["HeldPayload", "MemoryPayload", "ShortagePayload"]


class MemoryPayload(TypedDict):
    """Live arrays and what devices hold."""

    arrays: TablePayload
    devices: TablePayload


class HeldPayload(TypedDict):
    """Something that a click frees; ``name`` is what ``%jx free`` takes."""

    name: str
    bytes: int


class ShortagePayload(TypedDict):
    """What may be freed where memory ran out; ``token`` is that of the session that knows it."""

    token: str
    offered: list[HeldPayload]
