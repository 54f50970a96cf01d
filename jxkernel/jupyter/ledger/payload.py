"""What the view of the ledger sends."""

from __future__ import annotations

from typing import TypedDict

from jxkernel.observe.builds import BuildTimeline

__all__ = ["LedgerPayload", "LedgerRowPayload"]


class LedgerRowPayload(TypedDict):
    """One build of a program: the fields of ``observe.LedgerRow``, and what they come to."""

    why: str
    fix: str
    cost_ns: int


class LedgerPayload(TypedDict):
    """The recompilation ledger; the timeline is of the latest rows, where there are many.

    ``token`` is what the request ``builds`` knows it by; empty where it cannot be asked for.
    """

    rows: list[LedgerRowPayload]
    left_out: int
    dropped: int
    timeline: BuildTimeline
    token: str
