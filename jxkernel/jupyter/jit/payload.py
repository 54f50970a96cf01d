"""What the view of a ``%%jit`` cell sends."""

from __future__ import annotations

from typing import TypedDict

from jxkernel.jupyter.programs.payload import JaxprPayload
from jxkernel.jupyter.provenance.payload import ProvenancePayload

__all__ = ["JitPayload", "SectionPayload", "TimesPayload"]


class TimesPayload(TypedDict):
    """The stages' times in nanoseconds; ``run`` is None where a cell was not run."""

    trace: int
    lower: int
    compile: int
    run: int | None


class SectionPayload(TypedDict):
    """A text of a ``%%jit`` cell; some have more fields, those of the view of their name."""

    name: str
    title: str
    text: str


class JitPayload(TypedDict):
    """What happened in a ``%%jit`` cell."""

    cell: str
    function: str
    defined: list[str]
    version: int
    summary: str
    hit: bool
    why: str
    times_ns: TimesPayload
    device: str
    traced: dict[str, str]
    static: dict[str, str]
    assigned: list[str]
    warnings: list[str]
    open: list[str]
    jaxpr: JaxprPayload | None
    provenance: ProvenancePayload | None
    sections: list[SectionPayload]
