"""``pallas_call_p``: a kernel that is run for each step of a grid.

What it means is a loop.  The loop carries the arrays that are written (results, scratch memory,
arguments that a kernel writes to); each turn reads the blocks of its step, runs the kernel with
references to them, and puts back the blocks that are written.  So all rules of the primitive are
those of the loop: its StableHLO, its derivatives both ways and its batched form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import Any

from jxkernel.api.control_flow.looping import fori_loop
from jxkernel.api.control_flow.scanning import scan
from jxkernel.core.avals import ShapedArray
from jxkernel.core.effects import ReadEffect
from jxkernel.core.jaxpr import ClosedJaxpr, eval_jaxpr
from jxkernel.core.key_data import numbers_of
from jxkernel.experimental.pallas.blocks import Block, scratch, undefined
from jxkernel.experimental.pallas.grids import INDEX, Grid, standing_in
from jxkernel.experimental.pallas.memory import reference
from jxkernel.primitives.creation import iota
from jxkernel.primitives.elementwise.arithmetic import div, mul, rem
from jxkernel.primitives.elementwise.arithmetic import max as greater
from jxkernel.transforms.composed import Composed

__all__ = ["pallas_call_p"]


def _run(
    *given: Any,
    jaxpr: ClosedJaxpr,
    grid: tuple[int | None, ...],
    in_blocks: tuple[Block, ...],
    out_blocks: tuple[Block, ...],
    input_output_aliases: tuple[tuple[int, int], ...],
    name: str,
) -> list[Any]:
    """Run a kernel by a loop over its grid.

    Args:
      given: the sizes of the grid that are data, what is prefetched, and the arrays of which the
        kernel gets blocks.
      jaxpr: the kernel, as a program of references: to what is prefetched, to blocks of arguments
        and of results, and to scratch memory.
      grid: the sizes of the grid; None for one that is data.
      in_blocks: the blocks of arguments.
      out_blocks: the blocks of results.
      input_output_aliases: which arguments' arrays are those of results.
      name: what the kernel is called.
    """
    args = given[grid.count(None) :]
    sizes = _sizes(grid, given)
    count = len(args) - len(in_blocks)
    first_out = len(args)
    blocks = [*[None] * count, *in_blocks, *out_blocks]
    blocks += [None] * (len(jaxpr.in_avals) - len(blocks))
    # Each reference is to a part of a memory; a result that is aliased has an argument's.
    aliased = {first_out + out: at for at, out in input_output_aliases}
    homes = [aliased.get(at, at) for at in range(len(blocks))]
    types: Any = jaxpr.in_avals
    start = [
        *args,
        *[undefined(block.aval) for block in out_blocks],
        *[scratch(ref.inner_aval) for ref in types[first_out + len(out_blocks) :]],
    ]
    start = [block.surround(x) if block else x for block, x in zip(blocks, start, strict=True)]
    written = [at for at in range(len(blocks)) if at >= first_out or _writes(jaxpr, at)]
    moving = sorted({homes[at] for at in written})

    def step(carry: list[Any], number: Any) -> tuple[list[Any], None]:
        memories = dict(enumerate(start)) | dict(zip(moving, carry, strict=True))
        indices = _indices(number, sizes)
        with standing_in(Grid(sizes, indices.__getitem__)):
            prefetch = [reference(types[at], memories[at]) for at in range(count)]
            places = [block.place(indices, prefetch) if block else [] for block in blocks]
            parts = [
                block.read(memories[home], place) if block else memories[home]
                for block, home, place in zip(blocks, homes, places, strict=True)
            ]
            refs = [reference(kind, part) for kind, part in zip(types, parts, strict=True)]
            eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *refs)
        for at in written:
            block, home, part = blocks[at], homes[at], numbers_of(refs[at].read())
            memories[home] = block.write(memories[home], places[at], part) if block else part
        return [memories[home] for home in moving], None

    last = _steps(step, [start[home] for home in moving], sizes)
    after = dict(zip(moving, last, strict=True))
    return [block.cut_out(after[homes[at]]) for at, block in enumerate(out_blocks, first_out)]


def _sizes(grid: Sequence[int | None], given: Sequence[Any]) -> tuple[Any, ...]:
    """Return the sizes of a grid, those that are data from what is given first."""
    values = iter(given)
    return tuple([greater(next(values), 0) if size is None else size for size in grid])


def _steps(step: Callable[..., Any], start: list[Any], sizes: Sequence[Any]) -> list[Any]:
    """Do the steps of a grid, one after the other."""
    if all(isinstance(size, int) for size in sizes):
        return scan(step, start, iota(INDEX.dtype, prod(sizes)))[0]
    total = reduce(mul, sizes)
    return fori_loop(0, total, lambda number, carry: step(carry, number)[0], start)


def _indices(number: Any, sizes: Sequence[Any]) -> list[Any]:
    """Return the indices of a step by its number: those of the last axis change first."""
    indices: list[Any] = []
    for size in reversed(sizes):
        indices.append(rem(number, size))
        number = div(number, size)
    return indices[::-1]


def _writes(jaxpr: ClosedJaxpr, at: int) -> bool:
    """Whether a kernel writes to one of its references."""
    variable = jaxpr.jaxpr.invars[at]
    return any(
        getattr(effect, "variable", None) is variable and not isinstance(effect, ReadEffect)
        for effect in jaxpr.effects
    )


class _Kernel(Composed):
    """The primitive; it has the effects of the loop."""

    def __init__(self) -> None:
        super().__init__("pallas_call", _run, multiple_results=True)
        self.define(effects=self._effects)

    def _effects(self, *avals: ShapedArray, **params: Any) -> frozenset[Any]:
        return self.program(avals, params).effects


pallas_call_p = _Kernel()
"""A kernel run by a loop over its grid: from arrays to arrays."""
