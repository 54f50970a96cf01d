"""Two traces compared: which equations came, went, or changed their types.

Equations are matched by primitive, in order. A pair is the same when its parameters and types are
and its operands are a pair's results, whatever their names. So another shape shows as changed
types, not as a program gone and another come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any, Literal

from jxkernel._reprs import counted
from jxkernel.observe.programs import Equation, Outline, Program, outline

__all__ = ["DiffRow", "ProgramDiff", "diff", "folded"]

Sign = Literal["=", "~", "-", "+"]
"""The same, changed, only before, only after."""

_EQUATIONS = 1_000
CONTEXT = 2
"""How many lines that are the same stand around those that are not."""


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A line of the comparison.

    Attributes:
      sign: ``=`` the same, ``~`` changed, ``-`` only before, ``+`` only after.
      depth: how deep it lies in programs inside others.
      before: the text before; empty for ``+``.
      after: the text after; empty for ``-``.
      line: the source line after it, else before it; 0 when unknown.
    """

    sign: Sign
    depth: int
    before: str
    after: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class ProgramDiff:
    """Two programs compared.

    Attributes:
      before: the title of the one.
      after: the title of the other.
      rows: the comparison: arguments, equations, results.
      left_out: how many equations of both were not compared.
    """

    before: str
    after: str
    rows: tuple[DiffRow, ...]
    left_out: int = 0

    @property
    def is_same(self) -> bool:
        """Whether nothing differs in what was compared."""
        return all(row.sign == "=" for row in self.rows)

    def summary(self) -> str:
        """The counts in words."""
        if self.is_same:
            return "no difference"
        counts = {sign: sum(row.sign == sign for row in self.rows) for sign in "~-+="}
        words = {"~": "changed", "-": "gone", "+": "new", "=": "the same"}
        return ", ".join(f"{counts[sign]} {words[sign]}" for sign in counts if counts[sign])

    def __str__(self) -> str:
        lines = [f"{self.before} → {self.after}: {self.summary()}", *_text_lines(self.rows)]
        return "\n".join(
            [*lines, *[f"… {counted(self.left_out, 'more equation')}"] * bool(self.left_out)]
        )


def diff(before: Any, after: Any) -> ProgramDiff:
    """Return what differs between two programs.

    Args:
      before: a closed jaxpr, a stage such as ``jax.jit(f).trace(x)``, or an outline.
      after: likewise.

    >>> import jxkernel as jx
    >>> from jxkernel import numpy as jnp
    >>> from jxkernel.observe import diff
    >>> f = jx.jit(lambda x: jnp.sin(x) * 2.0)
    >>> g = jx.jit(lambda x: jnp.cos(jnp.sin(x)) * 2.0)
    >>> print(diff(f.trace(1.0), g.trace(1.0)))
    jaxpr → jaxpr: 1 changed, 1 new, 3 the same
      λ ; a:f32[]
      b:f32[] = sin a
    + c:f32[] = cos b
    ~ c:f32[] = mul b 2.0:f32[] → d:f32[] = mul c 2.0:f32[]
      in (d,)
    """
    one, other = _outlined(before), _outlined(after)
    old, new = list(_lines(one.program, ())), list(_lines(other.program, ()))
    left_out = one.count + other.count - len(list(one.walk())) - len(list(other.walk()))
    return ProgramDiff(one.title, other.title, tuple(_compared(old, new)), left_out)


def _outlined(program: Any) -> Outline:
    return program if isinstance(program, Outline) else outline(program, limit=_EQUATIONS)


_Scope = tuple[str, ...]
_Name = tuple[_Scope, str]
"""A variable: the program that it belongs to, and its name there."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a program.

    Attributes:
      key: what it is matched by.
      content: what must agree besides.
      reads: its operands.
      writes: the variables that it defines.
      text: how it reads.
      line: the source line.
    """

    key: tuple[Any, ...]
    content: tuple[Any, ...]
    reads: tuple[_Name, ...]
    writes: tuple[_Name, ...]
    text: str
    line: int = 0

    @property
    def depth(self) -> int:
        """How deep it lies in programs inside others."""
        return self.key[0]


def _lines(program: Program, scope: _Scope) -> Iterator[_Line]:
    depth = len(scope)
    variables = (*program.constants, *program.inputs)
    types = tuple(one.type for one in variables)
    writes = tuple((scope, one.name) for one in variables)
    label = f"{program.label}: " if program.label else ""
    yield _Line((depth, "λ", program.label), types, (), writes, f"{label}λ {program.head}")
    for one in program.equations:
        yield _equation_line(one, scope)
        for inner in one.programs:
            yield from _lines(inner, (*scope, f"{one.number} {inner.label}"))
    reads = tuple((scope, name) for name in program.results)
    yield _Line((depth, "in"), (), reads, (), f"in {program.tail}")


def _equation_line(one: Equation, scope: _Scope) -> _Line:
    return _Line(
        (len(scope), one.primitive),
        (one.parameters, *(result.type for result in one.results)),
        tuple((scope, name) for name in one.operands),
        tuple((scope, result.name) for result in one.results),
        one.text,
        one.line,
    )


def _compared(old: Sequence[_Line], new: Sequence[_Line]) -> Iterator[DiffRow]:
    defined = {name for one in old for name in one.writes}
    pairs: dict[_Name, _Name] = {}

    def agrees(before: _Name, after: _Name) -> bool:
        return pairs.get(before) == after if before in defined else before[1] == after[1]

    keys = [one.key for one in old], [one.key for one in new]
    for kind, i, i_end, j, j_end in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if kind != "equal":
            yield from (DiffRow("-", one.depth, one.text, "", one.line) for one in old[i:i_end])
            yield from (DiffRow("+", one.depth, "", one.text, one.line) for one in new[j:j_end])
            continue
        for before, after in zip(old[i:i_end], new[j:j_end], strict=True):
            same = before.content == after.content and len(before.reads) == len(after.reads)
            same = same and all(map(agrees, before.reads, after.reads))
            pairs.update(zip(before.writes, after.writes, strict=False))
            sign = "=" if same else "~"
            yield DiffRow(sign, after.depth, before.text, after.text, after.line or before.line)


def folded(rows: Sequence[DiffRow]) -> Iterator[DiffRow | int]:
    """Yield rows, with the number of those that are the same in place of a long run of them."""
    for same, group in groupby(rows, key=lambda row: row.sign == "="):
        run = list(group)
        if same and len(run) > 2 * CONTEXT + 1:
            yield from run[:CONTEXT]
            yield len(run) - 2 * CONTEXT
            yield from run[-CONTEXT:]
        else:
            yield from run


def _text_lines(rows: Sequence[DiffRow]) -> Iterator[str]:
    for row in folded(rows):
        if isinstance(row, int):
            yield f"    … {row} the same"
            continue
        indent = "  " * row.depth
        mark = " " if row.sign == "=" else row.sign
        both = row.sign == "~" and row.before != row.after
        text = f"{row.before} → {row.after}" if both else row.after or row.before
        yield f"{mark} {indent}{text}"
