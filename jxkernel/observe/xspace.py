"""The programs in a profile: which source lines each operation of a compiled program came from.

Field numbers are those of the published ``xplane.proto`` and ``hlo.proto``.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace

from jxkernel.hlo.messages import fields_of, numbers_in

__all__ = ["Operation", "ProfiledPrograms", "Program", "Spot", "program_in"]

_METADATA_PLANE = "/host:metadata"
_SPOTS = 6


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A line of source."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of a compiled program.

    Attributes:
      name: its name in the traced program: ``scan/sin``; empty where XLA made it.
      frames: the numbers of the source lines that it computes, its own first.
    """

    name: str
    frames: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled program that was profiled.

    Attributes:
      name: its name, ``jit_f``.
      operations: its operations by their names in the profile.
      spots: its source lines by number.
    """

    name: str
    operations: dict[str, Operation]
    spots: dict[int, Spot]

    def places(self, operation: str) -> tuple[str, ...]:
        """Return the source lines that an operation computes, as ``file:line``."""
        frames = self.operations[operation].frames
        spots = [str(self.spots[frame]) for frame in frames if frame in self.spots]
        return tuple(dict.fromkeys(spots))[:_SPOTS]

    def relocated(self, lowered: Program) -> Program:
        """Return the program with the source lines of what it was lowered from in this process.

        What comes from the disk cache has the lines of the process that compiled it.  The two agree
        in the names of operations, and lines that moved kept their order.
        """
        if set(self.spots.values()) <= set(lowered.spots.values()):
            return self
        moved: dict[Spot, Spot] = {}
        here = lowered.lines_by_name()
        for name, spots in self.lines_by_name().items():
            if len(spots) == len(here.get(name, ())):
                moved.update(zip(spots, here[name], strict=True))
        spots = {number: moved.get(spot, spot) for number, spot in self.spots.items()}
        return replace(self, spots=spots)

    def lines_by_name(self) -> dict[str, list[Spot]]:
        """Return the source lines, in order, of the operations of each name."""
        found: dict[str, set[Spot]] = {}
        for one in self.operations.values():
            if one.frames and one.frames[0] in self.spots:
                found.setdefault(one.name, set()).add(self.spots[one.frames[0]])
        return {name: sorted(spots) for name, spots in found.items()}


def _texts(message: memoryview, number: int) -> list[str]:
    return [bytes(one).decode(errors="replace") for one in _messages(message, number)]


def _text(message: memoryview, number: int) -> str:
    return next(iter(_texts(message, number)), "")


def _messages(message: memoryview, number: int) -> list[memoryview]:
    return [one for n, one in fields_of(message) if n == number and isinstance(one, memoryview)]


def _number(message: memoryview, number: int) -> int:
    return next(iter(numbers_in(message, number)), 0)


class ProfiledPrograms:
    """The programs of a serialized XSpace, each read when it is asked for.

    The profiler writes down every program that the process holds, of which few ran meanwhile. A
    program that cannot be read is left out: the times stay right without it.

    Args:
      space: the XSpace.
    """

    def __init__(self, space: bytes) -> None:
        self._modules: dict[str, list[tuple[int, memoryview]]] = {}
        try:
            planes = _messages(memoryview(space), 1)
            metadata = [plane for plane in planes if _text(plane, 2) == _METADATA_PLANE]
            entries = [entry for plane in metadata for entry in _messages(plane, 4)]
        except ValueError:
            return
        for entry in entries:
            with suppress(ValueError):
                for module in _modules(entry):
                    named = self._modules.setdefault(_text(module, 1), [])
                    named.append((_program_number(entry), module))

    def find(self, name: str, number: int, operations: Collection[str]) -> Program | None:
        """Return the program that events belong to.

        The number that they give is another one than the program's where it was loaded from a
        cache, so the program is known by its name and by the operations that it has.

        Args:
          name: its name, ``jit_f``.
          number: the number that the events give.
          operations: the operations that they tell.
        """
        best: Program | None = None
        most = -1
        # The one of that number, then the latest: the first with all operations is it.
        named = self._modules.get(name, ())
        for _, module in sorted(named, key=lambda one: (one[0] != number, -one[0])):
            with suppress(ValueError):
                program = _Module(module).program()
                common = sum(one in program.operations for one in operations)
                if common > most:
                    best, most = program, common
                if common == len(operations):
                    break
        return best


def _program_number(entry: memoryview) -> int:
    """The number of a program, which its name ends in: ``jit_f(3)``."""
    names = [_text(metadata, 2) for metadata in _messages(entry, 2)]
    number = names[0].rpartition("(")[2].removesuffix(")") if names else ""
    return int(number) if number.isdigit() else _number(entry, 1)


def _modules(entry: memoryview) -> list[memoryview]:
    """The module of an entry of the metadata plane's map: an XEventMetadata with it as a stat."""
    return [
        module
        for metadata in _messages(entry, 2)
        for stat in _messages(metadata, 5)
        for proto in _messages(stat, 6)
        for module in _messages(proto, 1)
    ][:1]


class _Module:
    """One HLO module while it is read."""

    def __init__(self, module: memoryview) -> None:
        self._module = module
        self._instructions: dict[int, list[memoryview]] = {
            _number(computation, 5): _messages(computation, 2)
            for computation in _messages(module, 3)
        }

    def program(self) -> Program:
        """Return the module's operations."""
        operations = {
            _text(one, 1): self._operation(one)
            for instructions in self._instructions.values()
            for one in instructions
        }
        return Program(_text(self._module, 1), operations, _spots_of(self._module))

    def _operation(self, instruction: memoryview) -> Operation:
        name, frame = _origin(instruction)
        frames = [frame]
        if _text(instruction, 2) in ("fusion", "call"):
            for inner in self._inside(instruction):
                inner_name, inner_frame = _origin(inner)
                name = name or inner_name
                frames.append(inner_frame)
        return Operation(name, tuple(dict.fromkeys(one for one in frames if one)))

    def _inside(self, instruction: memoryview) -> list[memoryview]:
        called = numbers_in(instruction, 38)
        return [one for number in called for one in self._instructions.get(number, ())]


def _origin(instruction: memoryview) -> tuple[str, int]:
    """The name and the frame's number that an instruction's metadata tells; 0 for none."""
    for metadata in _messages(instruction, 7):
        return _text(metadata, 2), _number(metadata, 15)
    return "", 0


def program_in(module: bytes) -> Program:
    """Return the program of a serialized HLO module.

    Raises:
      ValueError: it is not one.
    """
    return _Module(memoryview(module)).program()


def _spots_of(module: memoryview) -> dict[int, Spot]:
    """The module's stack frames, by number from 1, as far as they are places."""
    found: dict[int, Spot] = {}
    for index in _messages(module, 17):
        files = _texts(index, 1)
        locations = [(_number(one, 1), _number(one, 3)) for one in _messages(index, 3)]
        for number, frame in enumerate(_messages(index, 4), start=1):
            location = _number(frame, 1)
            if 0 < location <= len(locations):
                file, line = locations[location - 1]
                if 0 < file <= len(files):
                    found[number] = Spot(files[file - 1], line)
    return found
