"""What a call costs: operations and bytes, by XLA's count and by ours, operation by operation.

XLA's figures are of the program that it made: fused, so of fewer bytes, with the body of a loop
counted once.  Ours are of the program as traced: every turn of a ``scan`` counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jxkernel.api.jit import jit, jit_state
from jxkernel.compile.stages import as_called
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Jaxpr, subjaxprs
from jxkernel.observe.costs import Cost, equation_cost, format_flops
from jxkernel.observe.explain import format_size
from jxkernel.source import user_frame

__all__ = ["CallCost", "OperationCost", "cost", "cost_of"]

_SHOWN = 15


@dataclass(frozen=True, slots=True)
class OperationCost:
    """What one primitive on one line costs, all its equations and turns together.

    Attributes:
      primitive: the primitive's name.
      spot: the line that made it, ``file:line``; empty where unknown.
      count: how often it runs.
      cost: what that costs, loops and inner programs counted as often as they run.
    """

    primitive: str
    spot: str
    count: int
    cost: Cost


@dataclass(frozen=True, slots=True)
class CallCost:
    """What a call costs.

    Attributes:
      flops: floating-point operations of the compiled program, by XLA's count; None where it
        gives none, as ``bytes`` and ``transcendentals``.
      bytes: bytes read and written.
      transcendentals: evaluations of ``exp``, ``sin`` and the like.
      traced: the cost of the program as traced.
      operations: that by primitive and line, the most operations first.
      has_loops: whether there are loops, whose bodies XLA counts once.
      has_open_loops: whether there are ``while`` loops, whose turns nobody knows; counted once too.
    """

    flops: float | None
    bytes: float | None
    transcendentals: float | None
    traced: Cost
    operations: tuple[OperationCost, ...]
    has_loops: bool = False
    has_open_loops: bool = False

    @property
    def intensity(self) -> float | None:
        """Operations for each byte, of the compiled program, or where it has loops as traced.

        A device is kept busy by computing, not by memory, from some intensity on: the ratio of the
        two limits that ``roofline`` measures.
        """
        if self.flops is None or not self.bytes or self.has_loops:
            return self.traced.flops / self.traced.bytes if self.traced.bytes else None
        return self.flops / self.bytes

    def notes(self) -> tuple[str, ...]:
        """Say what the figures leave out."""
        notes = ["XLA counts the body of a loop once"] if self.has_loops else []
        notes += ["so does the count as traced, of a while loop"] if self.has_open_loops else []
        return tuple(notes)

    def __str__(self) -> str:
        lines = [f"{name:26}{told}" for name, told in self.rows()]
        for one in self.operations[:_SHOWN]:
            flops, size = format_flops(one.cost.flops), format_size(one.cost.bytes)
            lines.append(f"  {flops:>10} {size:>8} {one.count:>6}x {one.primitive}  {one.spot}")
        return "\n".join([*lines, *self.notes()])

    def rows(self) -> tuple[tuple[str, str], ...]:
        """Return the totals, each with what it is."""
        found = []
        if self.flops is not None:
            found.append(("operations, compiled", format_flops(round(self.flops))))
        if self.bytes is not None:
            found.append(("bytes, compiled", format_size(round(self.bytes))))
        if self.transcendentals:
            found.append(("transcendentals", f"{self.transcendentals:,.0f}"))
        found.append(("operations, as traced", format_flops(self.traced.flops)))
        found.append(("bytes, as traced", format_size(self.traced.bytes)))
        if self.intensity is not None:
            found.append(("intensity", f"{self.intensity:.3g} operations per byte"))
        return tuple(found)


def cost(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> CallCost:
    """Return what a call would cost, by compiling it; it is not run.

    Args:
      fun: a function of arrays, jitted or not.
      *args: its arguments, or ``ShapeDtypeStruct``s that stand for them.
      **kwargs: its arguments by name.

    >>> import jxkernel as jx
    >>> square = jx.ShapeDtypeStruct((100, 100), "float32")
    >>> found = cost(lambda a, b: a @ b, square, square)
    >>> found.traced.flops, found.operations[0].primitive
    (2000000, 'dot_general')
    """
    jitted: Any = fun if jit_state(fun) is not None else jit(fun)
    return cost_of(jitted.trace(*args, **kwargs))


def cost_of(traced: Any) -> CallCost:
    """Return what calls of a ``Traced`` stage cost, by compiling it, unless it is."""
    told: Any = as_called(traced)[1].cost_analysis()
    counted: Mapping[str, float] = (told[0] if isinstance(told, list) else told) or {}
    groups: dict[tuple[str, str], tuple[int, Cost]] = {}
    total = Cost()
    loops = set[str]()
    for eqn, times in _walk(traced.program.jaxpr, 1, loops):
        frame = user_frame(eqn.source)
        key = (eqn.primitive.name, f"{frame.file}:{frame.line}" if frame else "")
        count, before = groups.get(key, (0, Cost()))
        one = equation_cost(eqn).times(times)
        groups[key] = (count + times, before + one)
        total += one
    operations = [OperationCost(*key, count, one) for key, (count, one) in groups.items()]
    operations.sort(key=lambda one: (-one.cost.flops, -one.cost.bytes))
    return CallCost(
        counted.get("flops"),
        counted.get("bytes accessed"),
        counted.get("transcendentals"),
        total,
        tuple(operations),
        bool(loops),
        "while" in loops,
    )


def _walk(jaxpr: Jaxpr, times: int, loops: set[str]) -> Iterator[tuple[Eqn, int]]:
    """Yield the equations that hold no program, with how often each runs; note the loops."""
    for eqn in jaxpr.eqns:
        programs = list(subjaxprs(eqn.params))
        if not programs:
            yield eqn, times
            continue
        turns = 1
        if eqn.primitive.name in ("scan", "while"):
            loops.add(eqn.primitive.name)
            turns = int(eqn.params.get("length", 1))
        for program in _running(eqn, programs):
            yield from _walk(program.jaxpr, times * turns, loops)


def _running(eqn: Eqn, programs: list[ClosedJaxpr]) -> list[ClosedJaxpr]:
    """The programs of an equation that a run of it goes through: of branches the costliest."""
    if eqn.primitive.name == "cond":
        return [max(programs, key=lambda one: sum(equation_cost(e).flops for e in one.eqns))]
    if eqn.primitive.name.startswith("custom_"):  # the rules run only when it is differentiated
        return programs[:1]
    return programs
