"""What each pass of XLA changed in a program, told from the dumps that it writes on request.

XLA writes the module after each pass that changed it. Two dumps are compared as collections of
instructions: an instruction that only moved is no change, one whose operand was renamed is. Which
equation an instruction came from stands in its metadata, for the program is lowered anew with the
number of each equation as a scope; what a pass makes without metadata came from none.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jxkernel import events, source
from jxkernel.compile.stages import Traced
from jxkernel.config import enable_compilation_cache
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn
from jxkernel.observe.programs import Outline, outline

__all__ = ["Instruction", "PassStep", "Passes", "passes"]

_MOST = 200
"""How many instructions a step lists on either side; of one equation it lists all."""

_SCOPE = "jxkernel_equation_"
_EQUATION = re.compile(rf"{_SCOPE}(\d+)/")
_METADATA = re.compile(r",? metadata=\{((?:[^{}\"]|\"(?:[^\"\\]|\\.)*\")*)\}")
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) .*\{$")
_STEP = re.compile(r"\.(\d{4,})\.(?P<pipeline>.+?)\.after_(?P<name>.+?)(?:\.before_.+)?\.txt$")
_FIRST = ".before_optimizations.txt"

_OPTIONS = {"xla_dump_hlo_pass_re": ".*", "xla_dump_hlo_as_text": True}


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction of a module.

    Attributes:
      text: as XLA writes it, without metadata.
      computation: the computation that it is in; empty for the program's own.
      equation: the number of the equation that it came from; 0 where XLA does not say.
    """

    text: str
    computation: str
    equation: int

    def __str__(self) -> str:
        return f"{self.text}  in {self.computation}" if self.computation else self.text


@dataclass(frozen=True, slots=True)
class PassStep:
    """A pass that changed something.

    Attributes:
      number: counted from 1 in the order in which the passes ran.
      name: XLA's name of the pass, such as ``algsimp``.
      pipeline: XLA's name of the group of passes that it ran in.
      instructions: how many instructions there are after it.
      gone: the instructions that are no longer there, the first ones.
      new: the instructions that were not there before, the first ones.
      gone_count: how many are no longer there.
      new_count: how many were not there before.
    """

    number: int
    name: str
    pipeline: str
    instructions: int
    gone: tuple[Instruction, ...]
    new: tuple[Instruction, ...]
    gone_count: int
    new_count: int

    def __str__(self) -> str:
        head = f"{self.number}  {self.name} ({self.pipeline})"
        listed = [("-", one) for one in self.gone] + [("+", one) for one in self.new]
        left_out = self.gone_count + self.new_count - len(listed)
        more = [f"  … {left_out:,} more"] * bool(left_out)
        return "\n".join([head, *(f"  {sign} {one}" for sign, one in listed), *more])


@dataclass(frozen=True, slots=True)
class Passes:
    """What XLA's passes did to a program, step by step.

    Attributes:
      program: the outline, whose equations are numbered.
      equation: the number of the one that is told of; None for all.
      before: what XLA was given; of one equation only what came of it.
      after: the same of what the last pass left.
      steps: the passes that changed something, in order.
      changed_by: for each equation of which instructions came, the numbers of the steps that
        changed some of them.
    """

    program: Outline
    equation: int | None
    before: tuple[Instruction, ...]
    after: tuple[Instruction, ...]
    steps: tuple[PassStep, ...]
    changed_by: Mapping[int, tuple[int, ...]]

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps)) or "no pass changed anything"


def passes(
    program: Traced,
    *,
    equation: int | None = None,
    function: Callable[..., Any] | None = None,
    reserved: Collection[str] = (),
) -> Passes:
    """Compile a traced program once more and return what each pass of XLA changed in it.

    The compiled program is thrown away, and nothing of it reaches the disk cache.

    Args:
      program: a stage such as ``jax.jit(f).trace(x)``.
      equation: the number of the equation to tell of, as ``observe.outline`` counts them: those
        of inner programs follow the one that they are in. None tells of all.
      function: the function that was traced, for the names of its arguments.
      reserved: names that no letter may equal.

    Raises:
      ValueError: there is no such equation.
      RuntimeError: the device's compiler writes no dumps.

    >>> import jxkernel as jx
    >>> from jxkernel.observe import passes
    >>> f = jx.jit(lambda x: jx.numpy.sin(x) / 2.0)
    >>> found = passes(f.trace(1.0), equation=2)
    >>> [step.name for step in found.steps][0]
    'algsimp'
    """
    title = program.fun_name
    # XLA's passes work on the values of references.
    compiled = program if program.recorded is None else program.program
    listed = outline(compiled, title=title, function=function, reserved=reserved)
    if equation is not None and not 1 <= equation <= listed.count:
        raise ValueError(f"there is no equation {equation}: {title} has {listed.count:,}")
    numbered = _Numbered().program(program.program)
    staged = Traced(numbered, title, *program.trees, program.options)
    with tempfile.TemporaryDirectory(prefix="jxkernel-passes-") as folder:
        # Looking is no build of the user's: it is in no ledger.
        with enable_compilation_cache(False), events.private():
            staged.lower().compile({"xla_dump_to": folder, **_OPTIONS})
        return _compared(listed, equation, _dumps(Path(folder)))


class _Numbered:
    """Puts the number of each equation into its place, as an outline counts them."""

    def __init__(self) -> None:
        self._count = 0

    def program(self, closed: ClosedJaxpr) -> ClosedJaxpr:
        """Return a program whose equations are in a scope with their number."""
        equations = [self._equation(eqn) for eqn in closed.jaxpr.eqns]
        return ClosedJaxpr(closed.jaxpr.replace(eqns=equations), closed.consts)

    def _equation(self, eqn: Eqn) -> Eqn:
        self._count += 1
        place = eqn.source
        if place is not None:
            place = source.scoped(place, (f"{_SCOPE}{self._count}",))
        params = {name: self._parameter(value) for name, value in eqn.params.items()}
        return eqn.replace(source=place, params=params)

    def _parameter(self, value: Any) -> Any:
        if isinstance(value, ClosedJaxpr):
            return self.program(value)
        if type(value) is tuple:
            return tuple(self._parameter(item) for item in value)
        return value


@dataclass(frozen=True, slots=True)
class _Dump:
    pipeline: str
    name: str
    file: Path


def _dumps(folder: Path) -> list[_Dump]:
    """The module as XLA got it, then the dumps of the passes in the order in which they ran.

    Raises:
      RuntimeError: there are none.
    """
    first = list(folder.glob(f"*{_FIRST}"))
    if not first:
        raise RuntimeError("the compiler of this device writes no dumps of its passes")
    found = [(match, file) for file in folder.iterdir() if (match := _STEP.search(file.name))]
    found.sort(key=lambda pair: int(pair[0][1]))
    later = [_Dump(match["pipeline"], match["name"], file) for match, file in found]
    return [_Dump("", "", first[0]), *later]


def _compared(program: Outline, equation: int | None, dumps: list[_Dump]) -> Passes:
    """Compare each dump with the one before."""
    before = started = _instructions(dumps[0].file)
    steps: list[PassStep] = []
    changed_by: dict[int, list[int]] = {}
    for dump in dumps[1:]:
        after = _instructions(dump.file)
        gone, new = _of(equation, _missing(before, after)), _of(equation, _missing(after, before))
        before = after
        if not gone and not new:
            continue
        number, most = len(steps) + 1, _MOST if equation is None else None
        counts = len(gone), len(new)
        shown = tuple(gone[:most]), tuple(new[:most])
        steps.append(PassStep(number, dump.name, dump.pipeline, len(after), *shown, *counts))
        for one in {one.equation for one in (*gone, *new)} - {0}:
            changed_by.setdefault(one, []).append(number)
    told = {one: tuple(changed_by[one]) for one in sorted(changed_by)}
    ends = tuple(_of(equation, started)), tuple(_of(equation, before))
    return Passes(program, equation, *ends, tuple(steps), told)


def _of(equation: int | None, instructions: list[Instruction]) -> list[Instruction]:
    return [one for one in instructions if equation in (None, one.equation)]


def _missing(these: list[Instruction], others: list[Instruction]) -> list[Instruction]:
    """The instructions that others have not, as often as they are missing there."""
    left = Counter(one.text for one in others)
    missing: list[Instruction] = []
    for one in these:
        if left[one.text]:
            left[one.text] -= 1
        else:
            missing.append(one)
    return missing


def _instructions(file: Path) -> list[Instruction]:
    found: list[Instruction] = []
    computation = ""
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        if head := _COMPUTATION.match(line):
            computation = "" if line.startswith("ENTRY") else head[1]
        elif line.startswith("  ") and " = " in line:
            found.append(_instruction(line, computation))
    return found


def _instruction(line: str, computation: str) -> Instruction:
    metadata = _METADATA.search(line)
    if metadata is None:
        return Instruction(line.strip(), computation, 0)
    numbers = _EQUATION.findall(metadata[1])
    text = (line[: metadata.start()] + line[metadata.end() :]).strip()
    return Instruction(text, computation, int(numbers[-1]) if numbers else 0)
