"""What provenance says: marks on source text, facts about names, chains, and their words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from jxkernel.observe.explain import format_size
from jxkernel.observe.near_names import meant

__all__ = [
    "LETTERS",
    "FunctionMap",
    "Kind",
    "Link",
    "Loop",
    "Mark",
    "NameFact",
    "Provenance",
    "spoken_name",
]

Kind = Literal["traced", "static", "constant", "effect"]

LETTERS: dict[Kind, str] = {"traced": "T", "static": "S", "constant": "C", "effect": "!"}
"""The letter of each kind: marks must not speak by colour alone."""

_ARGUMENTS = 20


@dataclass(frozen=True, slots=True)
class Mark:
    """A name or an expression in the source, and what it is to tracing.

    Attributes:
      kind: traced, static, constant or effect.
      code: the source text marked.
      line: its first line, 1-based; ``column`` is 0-based, in characters.
      column: its first column.
      end_line: its last line.
      end_column: the column after its last character.
      detail: its type, its value, or what is the matter.
      bytes: the size of a constant; 0 for others.
      is_name: whether it is a name rather than an expression.
    """

    kind: Kind
    code: str
    line: int
    column: int
    end_line: int
    end_column: int
    detail: str
    bytes: int = 0
    is_name: bool = True


@dataclass(frozen=True, slots=True)
class Link:
    """One step of a chain back to an argument.

    Attributes:
      name: the name that held the value, or the argument.
      detail: its type.
      line: the line that made it; 0 for an argument.
      code: the text of that line.
    """

    name: str
    detail: str
    line: int = 0
    code: str = ""


@dataclass(frozen=True, slots=True)
class NameFact:
    """What a name is to tracing, after its latest assignment.

    Attributes:
      name: the name.
      function: the function that it belongs to, or ``the cell``.
      kind: traced, static or constant.
      detail: its type or value.
      line: the line that bound it; 0 for a global or a closed-over name.
      code: the text of that line.
      chain: from the name's value back to the nearest argument; empty unless traced. A long one
        has a link ``…`` before the argument in place of what is left out.
      depends_on: all arguments that the value depends on.
      bytes: the size of a constant.
      is_argument: whether it is an argument that nothing has assigned anew.
    """

    name: str
    function: str
    kind: Kind
    detail: str
    line: int
    code: str
    chain: tuple[Link, ...] = ()
    depends_on: tuple[str, ...] = ()
    bytes: int = 0
    is_argument: bool = False


@dataclass(frozen=True, slots=True)
class Loop:
    """A Python loop that tracing unrolled.

    Attributes:
      line: the line of the ``for`` or ``while``.
      code: its text.
      times: how often its body ran.
      equations: how many equations its body recorded, in all rounds together.
      instead: what to write to keep it a loop, in one line.
      rewrite: the loop written so, on lines of its own; empty where that is not straightforward.
    """

    line: int
    code: str
    times: int
    equations: int
    instead: str
    rewrite: str = ""


@dataclass(frozen=True, slots=True)
class FunctionMap:
    """One traced function's source with its marks.

    Attributes:
      name: the function's name; ``<module>`` for a cell.
      file: its file, or the name that IPython gave the cell.
      first_line: the line of its ``def``.
      calls: how often it was traced in this watch; the marks show the latest.
      complete: whether the latest trace ran to its end.
      names: one fact per name, in the order of first binding; globals come last.
      marks: every marked place, in the order of the text; empty where the source is gone.
      effects: the marks of side effects, with ``detail`` saying what to write instead.
      loops: the loops that were unrolled.
      source: the lines of the function as they were traced; empty where the source was gone.
    """

    name: str
    file: str
    first_line: int
    calls: int
    complete: bool
    names: tuple[NameFact, ...]
    marks: tuple[Mark, ...]
    effects: tuple[Mark, ...]
    loops: tuple[Loop, ...]
    source: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Provenance:
    """The maps of all functions that were traced."""

    functions: tuple[FunctionMap, ...]

    def find(self, name: str) -> tuple[NameFact, ...]:
        """The facts of a name, one for each function that has it; outermost function first."""
        return tuple(
            fact for function in self.functions for fact in function.names if fact.name == name
        )

    def why(self, name: str) -> str:
        """Say what a name is to tracing and why, in a few lines."""
        facts = self.find(name)
        if not facts:
            seen = ", ".join(spoken_name(function.name) for function in self.functions)
            if not seen:
                return f"{name}: not a name of a traced function: nothing ran"
            known = sorted({fact.name for function in self.functions for fact in function.names})
            return f"{name}: not a name of the traced functions ({seen}){meant(name, known)}"
        return "\n".join(line for fact in facts for line in _why_lines(fact))

    def __str__(self) -> str:
        if not self.functions:
            return "nothing was traced: the call hit its cache, or ran without tracing"
        return "\n\n".join("\n".join(_map_lines(one)) for one in self.functions)


def spoken_name(code_name: str) -> str:
    """The name of a function in sentences; what was typed as a whole has none of its own."""
    return "the cell" if code_name == "<module>" else code_name


def _why_lines(fact: NameFact) -> Iterator[str]:
    head = f"{fact.name} in {fact.function}: "
    if fact.kind == "constant":
        yield f"{head}constant, {fact.detail}, {format_size(fact.bytes)}, baked in at trace time"
        yield "  a later change is not seen; pass it as an argument to change it"
    elif fact.kind == "static":
        yield f"{head}static, {fact.detail}"
        yield "  a plain Python value: known while tracing, and written into the program"
    else:
        yield f"{head}traced, {fact.detail}" + (", an argument" if fact.is_argument else "")
        if fact.code:
            yield f"  {fact.code}    (line {fact.line})"
        if "*[" in fact.detail:
            yield "  * a weak type: made from Python numbers, it takes the dtype of what it meets"
        yield from _chain_lines(fact)


def _chain_lines(fact: NameFact) -> Iterator[str]:
    if not fact.depends_on:
        yield "  depends on no argument: it was made from constants while tracing"
    for link in fact.chain:
        if link.name == "…":
            yield "  ← …"
        elif link.line:
            yield f"  ← {link.name}: {link.detail}    {link.code}    (line {link.line})"
        elif not (fact.is_argument and link.name == fact.name):
            yield f"  ← {link.name}: {link.detail}, argument"
    if len(fact.depends_on) > 1:
        shown = ", ".join(fact.depends_on[:_ARGUMENTS])
        left = len(fact.depends_on) - _ARGUMENTS
        yield f"  depends on the arguments {shown}" + (f", … {left} more" if left > 0 else "")


def _map_lines(function: FunctionMap) -> Iterator[str]:
    times = "" if function.calls == 1 else f", traced {function.calls} times, the latest shown"
    yield f"{spoken_name(function.name)} ({function.file}:{function.first_line}){times}"
    for fact in function.names:
        size = f", {format_size(fact.bytes)}" if fact.bytes else ""
        line = f"    line {fact.line}" if fact.line else ""
        yield f"  {LETTERS[fact.kind]} {fact.name}: {fact.detail}{size}{line}"
    for mark in function.effects:
        yield f"  ! line {mark.line}: {mark.code} {mark.detail}"
    for loop in function.loops:
        yield (
            f"  ! line {loop.line}: {loop.code} was unrolled {loop.times:,} times into "
            f"{loop.equations:,} equations; to keep it a loop: {loop.instead}"
        )
        for line in loop.rewrite.splitlines():
            yield f"      {line}"
