"""What the map of traced and static sends."""

from __future__ import annotations

from typing import TypedDict

from jxkernel.observe.marks import Loop, Mark, NameFact

__all__ = ["FunctionMapPayload", "ProvenancePayload"]


class FunctionMapPayload(TypedDict):
    """A traced function's source, from ``source_line`` on, and what its names are."""

    name: str
    file: str
    first_line: int
    source_line: int
    source: list[str]
    names: list[NameFact]
    marks: list[Mark]
    loops: list[Loop]


class ProvenancePayload(TypedDict):
    """What was traced and what was static."""

    legend: str
    functions: list[FunctionMapPayload]
