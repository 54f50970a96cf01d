"""What the map of traced and static sends."""

from __future__ import annotations

from typing import TypedDict

from jxkernel.observe.marks import Loop, Mark, NameFact

__all__ = ["FunctionMapPayload", "MarkedPayload", "MarksPayload", "ProvenancePayload"]


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


class MarkedPayload(TypedDict):
    """A function whose cell shows no map.

    ``number`` counts the traces, ``count`` is the execution count of the cell in which it was
    traced, and ``cell`` the front end's id of the cell that it stands in, or empty.
    """

    number: int
    count: int
    cell: str
    function: FunctionMapPayload


class MarksPayload(TypedDict):
    """Functions that were traced since one asked, each in the place of an earlier map of its."""

    maps: list[MarkedPayload]
