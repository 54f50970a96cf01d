"""The four stages of a program, linked by source line: source, jaxpr, StableHLO, optimized HLO."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jxkernel._reprs import counted
from jxkernel.compile.stages import as_called
from jxkernel.config import enable_compilation_cache
from jxkernel.observe.programs import Outline, outline

__all__ = ["StageLine", "Stages", "of_texts", "optimized_lines", "stablehlo_lines", "stages"]

_LINES = 250
_EQUATIONS = 200
_TEXT = 400

_Place = tuple[str, int]
_NOWHERE: _Place = ("", 0)

_FILE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):\d+')
_ALIAS = re.compile(r"#loc\d*")
_DEFINITION = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_LOCATION = re.compile(r" loc\((.*)\)$")
_METADATA = re.compile(r",? metadata=\{((?:[^{}\"]|\"(?:[^\"\\]|\\.)*\")*)\}")
_FRAME = re.compile(r"stack_frame_id=(\d+)")
_OWN_FILE = re.compile(r'source_file="((?:[^"\\]|\\.)*)" source_line=(\d+)')
_TABLE = re.compile(r"^(FileNames|FunctionNames|FileLocations|StackFrames)$")
_FIELD = re.compile(r"(\w+)=(\d+)")


@dataclass(frozen=True, slots=True)
class StageLine:
    """A line of a module's text, and the user's line that it came from.

    Attributes:
      text: the line, without the words that say where it came from.
      file: the user's file; empty when it came from none.
      line: the line there; 0 when it came from none.
    """

    text: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Stages:
    """A program at four stages.

    Attributes:
      program: the outline, with the source lines.
      stablehlo: the module that was lowered.
      optimized: what XLA made of it, the entry computation first.
      left_out: how many lines of the two are not listed.
    """

    program: Outline
    stablehlo: tuple[StageLine, ...]
    optimized: tuple[StageLine, ...]
    left_out: int = 0

    def __str__(self) -> str:
        source = "\n".join(f"{one.line:4} {one.text}" for one in self.program.source)
        parts = [
            f"-- source\n{source}",
            f"-- jaxpr\n{self.program}",
            f"-- StableHLO\n{_text(self.stablehlo)}",
            f"-- optimized HLO\n{_text(self.optimized)}",
        ]
        more = [f"… {counted(self.left_out, 'more line')}"] * bool(self.left_out)
        return "\n\n".join([*parts, *more])


def stages(
    program: Any,
    *,
    function: Callable[..., Any] | None = None,
    reserved: Collection[str] = (),
) -> Stages:
    """Return the stages of a traced program, linked by source line.

    What a call has lowered and compiled already is not made again, unless it came from the disk
    cache: that bears the lines of the program that was compiled first.

    Args:
      program: a stage such as ``jax.jit(f).trace(x)``.
      function: the function that was traced, for the names of its arguments.
      reserved: names that no letter may equal.

    >>> import jxkernel as jx
    >>> from jxkernel.observe import stages
    >>> f = jx.jit(lambda x: jx.numpy.sin(x) * 2.0)
    >>> found = stages(f.trace(1.0), function=f)
    >>> [one.text.split()[2] for one in found.stablehlo if one.line]
    ['stablehlo.sine', 'stablehlo.constant', 'stablehlo.multiply']
    """
    lowered, compiled = as_called(program)
    text = lowered.as_text(debug_info=True)
    title = getattr(program, "fun_name", "jaxpr")
    listed = outline(program, title=title, function=function, reserved=reserved, limit=_EQUATIONS)
    if compiled.from_disk:
        with enable_compilation_cache(False):
            compiled = lowered.compile()
    return of_texts(listed, text, compiled.as_text())


def of_texts(program: Outline, stablehlo: str, optimized: str) -> Stages:
    """Return the stages of a program whose modules were made before.

    Args:
      program: its outline.
      stablehlo: the text of its module, with locations.
      optimized: the text of what XLA made of that.
    """
    first, second = list(stablehlo_lines(stablehlo)), list(optimized_lines(optimized))
    left_out = max(len(first) - _LINES, 0) + max(len(second) - _LINES, 0)
    return Stages(program, tuple(first[:_LINES]), tuple(second[:_LINES]), left_out)


def stablehlo_lines(text: str) -> Iterator[StageLine]:
    """Yield the lines of an MLIR module, locations resolved and taken off."""
    lines = text.splitlines()
    aliases = {found[1]: found[2] for line in lines if (found := _DEFINITION.match(line))}
    for line in lines:
        if line.startswith("#loc") or not line.strip():
            continue
        found = _LOCATION.search(line)
        shown = line[: found.start()] if found else line
        place = _resolved(found[1], aliases) if found else _NOWHERE
        yield StageLine(_cut(re.sub(r" loc\((?:#loc\d*|unknown)\)", "", shown)), *place)


def _resolved(location: str, aliases: Mapping[str, str]) -> _Place:
    """The first file and line that a location speaks of, through its aliases."""
    for _ in range(20):
        found = _FILE.search(location)
        if found:
            return found[1], int(found[2])
        alias = _ALIAS.search(location)
        if alias is None or alias[0] not in aliases:
            break
        location = aliases[alias[0]]
    return _NOWHERE


def optimized_lines(text: str) -> Iterator[StageLine]:
    """Yield the lines of an HLO module, the entry computation first, metadata taken off."""
    frames = _frames(text)
    computations: list[list[StageLine]] = [[]]
    in_table = False
    for line in text.splitlines():
        in_table = bool(_TABLE.match(line)) or (in_table and bool(line.strip()))
        if in_table or not line.strip():
            continue
        if line.startswith(("%", "ENTRY")):
            computations.append([])
        computations[-1].append(_optimized_line(line, frames))
    head, *rest = computations
    rest.sort(key=lambda lines: not lines[0].text.startswith("ENTRY"))
    for lines in (head, *rest):
        yield from lines


def _optimized_line(line: str, frames: Mapping[str, _Place]) -> StageLine:
    found = _METADATA.search(line)
    if found is None:
        return StageLine(_cut(line))
    frame, own = _FRAME.search(found[1]), _OWN_FILE.search(found[1])
    place = (own[1], int(own[2])) if own else frames.get(frame[1], _NOWHERE) if frame else _NOWHERE
    return StageLine(_cut(line[: found.start()] + line[found.end() :]), *place)


def _frames(text: str) -> dict[str, _Place]:
    """The file and line of each stack frame that the module's tables list."""
    tables: dict[str, dict[str, str]] = {}
    current: dict[str, str] | None = None
    for line in text.splitlines():
        found = _TABLE.match(line)
        if found:
            current = tables[found[1]] = {}
        elif not line.strip():
            current = None
        elif current is not None:
            number, _, rest = line.partition(" ")
            current[number] = rest
    locations: dict[str, _Place] = {}
    for number, rest in tables.get("FileLocations", {}).items():
        fields = dict(_FIELD.findall(rest))
        file = tables.get("FileNames", {}).get(fields.get("file_name_id", ""), "").strip('"')
        locations[number] = (file, int(fields.get("line", 0)))
    return {
        number: locations.get(dict(_FIELD.findall(rest)).get("file_location_id", ""), _NOWHERE)
        for number, rest in tables.get("StackFrames", {}).items()
    }


def _cut(text: str) -> str:
    left_out = len(text) - _TEXT
    return text if left_out <= 0 else f"{text[:_TEXT]} … {left_out:,} more characters"


def _text(lines: tuple[StageLine, ...]) -> str:
    return "\n".join(one.text for one in lines)
