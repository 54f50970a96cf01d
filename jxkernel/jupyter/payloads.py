"""The data of views, as types: what the lab extension finds under each view's MIME type.

Purpose: say field by field what the views that the lab extension draws send.

Place in the pipeline: beside the views of `jupyter.display`, which make these.
`labextension/src/protocol.ts` is written from them; a test compares real views with them.

Must not know: how the data is made or drawn.

Every payload comes with `format` besides, the number `view.VERSION`. Rows that are dataclasses of
`observe` are sent field by field.
"""

from __future__ import annotations

from typing import TypedDict

from jxkernel.observe.builds import BuildTimeline
from jxkernel.observe.differences import DiffRow
from jxkernel.observe.marks import Loop, Mark, NameFact
from jxkernel.observe.stages import StageLine

__all__ = [
    "PAYLOADS",
    "DiffPayload",
    "EquationPayload",
    "FunctionMapPayload",
    "JaxprPayload",
    "JitPayload",
    "LanePayload",
    "LedgerPayload",
    "LedgerRowPayload",
    "MemoryPayload",
    "NamedTimePayload",
    "ProgramPart",
    "ProgramPayload",
    "ProvenancePayload",
    "SamePayload",
    "SectionPayload",
    "ShareLinePayload",
    "SlicePayload",
    "SourceLinePayload",
    "StagesPayload",
    "TablePayload",
    "TimelinePayload",
    "TimesPayload",
]


class EquationPayload(TypedDict):
    """An equation: a row of the list, at its depth; `number` is its place in it, from 1."""

    number: int
    depth: int
    named: bool
    text: str
    primitive: str
    operands: list[str]
    results: list[str]
    file: str
    line: int
    flops: int
    bytes: int


class ProgramPayload(TypedDict):
    """A program of the list: the whole one, or one inside an equation.

    Its listed equations, with those inside them, have the numbers from `first` to before `end`.
    `equation` is the number of the equation that it lies in, 0 for the whole program.
    """

    label: str
    head: str
    tail: str
    inputs: list[str]
    results: list[str]
    equation: int
    depth: int
    first: int
    end: int
    left_out: int


class SourceLinePayload(TypedDict):
    """A line of the user's code, and how many equations it made."""

    file: str
    line: int
    text: str
    equations: int
    flops: int


class JaxprPayload(TypedDict):
    """A program, `application/vnd.jxkernel.jaxpr+json`; `count` counts all, listed or not.

    `token` is what the kernel that made it knows it by, for as long as it has it.
    """

    title: str
    token: str
    stack: list[str]
    count: int
    flops: int
    bytes: int
    inputs: str
    equations: list[EquationPayload]
    programs: list[ProgramPayload]
    results: str
    source: list[SourceLinePayload]


class ProgramPart(TypedDict):
    """The answer to the request `program`: some equations, and the programs that begin or end.

    A program comes as it begins, without its tail and results, and again when it is whole.
    """

    programs: list[ProgramPayload]
    equations: list[EquationPayload]
    is_last: bool


class StagesPayload(TypedDict):
    """A program at four stages; `left_out` counts the lines that are not listed."""

    jaxpr: JaxprPayload
    stablehlo: list[StageLine]
    optimized: list[StageLine]
    left_out: int


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


class FunctionMapPayload(TypedDict):
    """A traced function's source, from `source_line` on, and what its names are."""

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


class TimesPayload(TypedDict):
    """The stages' times in nanoseconds; `run` is None where a cell was not run."""

    trace: int
    lower: int
    compile: int
    run: int | None


class SectionPayload(TypedDict):
    """A text of a `%%jit` cell; some have more fields, those of the view of their name."""

    name: str
    title: str
    text: str


class JitPayload(TypedDict):
    """What happened in a `%%jit` cell."""

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


class LedgerRowPayload(TypedDict):
    """One build of a program: the fields of `observe.LedgerRow`, and what they come to."""

    why: str
    fix: str
    cost_ns: int


class LedgerPayload(TypedDict):
    """The recompilation ledger; the timeline is of the latest rows, where there are many.

    `token` is what the request `builds` knows it by; empty where it cannot be asked for.
    """

    rows: list[LedgerRowPayload]
    left_out: int
    dropped: int
    timeline: BuildTimeline
    token: str


class TablePayload(TypedDict):
    """A table of texts; `count` counts its rows, shown or not."""

    title: str
    head: list[str]
    rows: list[list[str]]
    count: int


class MemoryPayload(TypedDict):
    """Live arrays and what devices hold."""

    arrays: TablePayload
    devices: TablePayload


class SlicePayload(TypedDict):
    """A stretch of a lane."""

    name: str
    start_ns: float
    duration_ns: float
    program: str
    origin: str
    spots: list[str]


class LanePayload(TypedDict):
    """A lane of a timeline; `count` counts its slices, sent or not."""

    name: str
    kind: str
    count: int
    slices: list[SlicePayload]


class NamedTimePayload(TypedDict):
    """Time on the device, by cell."""

    name: str
    device_ns: int


class ShareLinePayload(TypedDict):
    """Time on the device, by line."""

    line: str
    total_ns: int
    share: float


class TimelinePayload(TypedDict):
    """A profile."""

    duration_ns: int
    device_ns: int
    cells: list[NamedTimePayload]
    lanes: list[LanePayload]
    lines: list[ShareLinePayload]
    files: list[str]


PAYLOADS: dict[str, type] = {
    "jit": JitPayload,
    "jaxpr": JaxprPayload,
    "stages": StagesPayload,
    "diff": DiffPayload,
    "provenance": ProvenancePayload,
    "ledger": LedgerPayload,
    "memory": MemoryPayload,
    "timeline": TimelinePayload,
    "table": TablePayload,
}
"""The payload of each kind of view that the lab extension may draw."""
