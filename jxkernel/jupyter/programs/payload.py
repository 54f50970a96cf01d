"""What the explorer of programs and the view of stages send."""

from __future__ import annotations

from typing import TypedDict

from jxkernel.observe.stages import StageLine

__all__ = [
    "EquationColumns",
    "EquationPayload",
    "JaxprPayload",
    "LineCostPayload",
    "LineCostsAnswer",
    "ProgramPart",
    "ProgramPayload",
    "SourceLinePayload",
    "StagesPayload",
]


class EquationPayload(TypedDict):
    """An equation: a row of the list, at its depth; ``number`` is its place in it, from 1."""

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

    Its listed equations, with those inside them, have the numbers from ``first`` to before ``end``.
    ``equation`` is the number of the equation that it lies in, 0 for the whole program.
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
    """A program, ``application/vnd.jxkernel.jaxpr+json``; ``count`` counts all, listed or not.

    ``token`` is what the kernel that made it knows it by, for as long as it has it.
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


class EquationColumns(TypedDict):
    """Equations that follow each other, by columns: long programs are sent in a fraction of time.

    ``first`` is the number of the first one. Names of operands and results stand in one text each,
    with blanks between them; ``file`` is an index of ``files``.
    """

    first: int
    depth: list[int]
    named: list[bool]
    text: list[str]
    primitive: list[str]
    operands: list[str]
    results: list[str]
    files: list[str]
    file: list[int]
    line: list[int]
    flops: list[int]
    bytes: list[int]


class ProgramPart(TypedDict):
    """The answer to the request ``program_part``: equations, and the programs that begin or end.

    A program comes as it begins, without its tail and results, and again when it is whole.
    """

    programs: list[ProgramPayload]
    equations: EquationColumns
    is_last: bool


class LineCostPayload(TypedDict):
    """What a source line costs, and what devices took for it in the latest profile; 0 for none."""

    file: str
    line: int
    flops: int
    bytes: int
    device_ns: int


class LineCostsAnswer(TypedDict):
    """The answer to the request ``line_costs``: the lines of all programs that jit keeps."""

    lines: list[LineCostPayload]


class StagesPayload(TypedDict):
    """A program at four stages; ``left_out`` counts the lines that are not listed."""

    jaxpr: JaxprPayload
    stablehlo: list[StageLine]
    optimized: list[StageLine]
    left_out: int
