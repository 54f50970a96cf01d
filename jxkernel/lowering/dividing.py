"""Loops that XLA divides between two cores, and does badly where the halves are not of one size.

On CPU, XLA cuts the loop of a large array into pieces for the cores, along the first axis.  Where
it makes two, and the axis is odd, LLVM has each place asked whether it still lies in the array.  Of
a matrix that is once for each row; of a vector it is once for each element, which then is not
computed by vector instructions: two cores then take three to ten times as long as one that has
all of it.  XLA can leave loops whole only in a program as a whole, so it does where most is gained.

The times below are those of an AMD EPYC; only what they are to each other counts.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, prod, sqrt
from typing import NamedTuple

import numpy as np

from jxkernel._lazy import late_function
from jxkernel.core.dimensions import is_symbolic
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Jaxpr, subjaxprs
from jxkernel.lowering.unrolling import HOLDERS, LONG_FORMULAS, LOOPS

__all__ = ["ALONE", "Division", "division", "is_divided", "turns_of"]

are_short_rows = late_function("jxkernel.primitives.shape.short_rows", "are_short_rows")

_CYCLES = 100_000
"""What XLA wants a piece to take, where computing takes longer than reading: ten for a byte."""

_BYTES = 2**18
"""What XLA wants a piece to read and write, where that takes longer."""

_SHORT_ROW = 8
"""In longer rows, asking once a row costs little."""

_WRITTEN_OUT = 40
"""Unless LLVM unrolls loops, and writes rows of this length out where they have a long formula."""

_ASKING = 0.75
"""What asking adds to an element in each equation, in nanoseconds."""

ALONE = {
    **dict.fromkeys(("acos", "asin", "cbrt", "cosh", "sinh"), 2.0),
    **dict.fromkeys(("acosh", "asinh", "atanh", "bessel_i0e", "bessel_i1e", "erf_inv"), 3.0),
    **dict.fromkeys(("atan2", "cos", "pow", "sin", "tan", "threefry2x32"), 4.0),
    **dict.fromkeys(("cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "transpose"), 5.0),
    "gather": 8.0,
    **dict.fromkeys(("digamma", "lgamma"), 10.0),
    **dict.fromkeys(("igamma", "igammac", "polygamma", "zeta"), 15.0),
}
"""What an element takes on one core, where that is much."""

_NO_VECTORS = frozenset(
    (
        *("atan2", "cos", "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "log1p", "pad"),
        *("reshape", "squeeze", "tan", "transpose"),
    )
)
"""Primitives that lose nothing when each element is asked for."""

_BY_TILES = frozenset(
    (
        *("abs", "add", "add_any", "ceil", "copy", "div", "eq", "erf", "exp", "expm1", "floor"),
        *("ge", "gt", "le", "log", "lt", "max", "min", "mul", "ne", "neg", "rsqrt", "sqrt"),
        *("square", "sub", "tanh"),
    )
)
"""Primitives that XLA computes by tiles, and well, unless a number is spread over an array."""

_LOOPS_TOO = frozenset({"concatenate", "stack", "threefry2x32"})
"""Primitives that are, or may be, loops over the elements though their results are stored."""

_REDUCTIONS = {
    "reduce_max": "stablehlo.maximum",
    "reduce_min": "stablehlo.minimum",
    "reduce_sum": "stablehlo.add",
}

_MANY = 8
"""Loops of more equations take longer to compute than to read, so three cores get a piece each.

So do those of long formulas."""

_TURNS = 100
"""How often a loop is thought to turn whose number of turns is not known."""


class Division(NamedTuple):
    """How XLA divides an array.

    Attributes:
      elements: how many it has.
      pieces: into how many parts it is divided.
      row: how many elements a row has, where there are two that are unequal; else 0.
    """

    elements: int
    pieces: int
    row: int


class _Effects(NamedTuple):
    """What dividing its loops does to a program.

    Attributes:
      lost: nanoseconds by which uneven halves lengthen it, if any loop asks.
      gained: nanoseconds by which the other loops shorten it.
      equations: how many have uneven halves.
      asks: whether some of them would have vectors otherwise.
      looks_up: whether some look elements up, so that what is beside them has no vectors anyway.
    """

    lost: float
    gained: float
    equations: int
    asks: bool
    looks_up: bool


def is_divided(jaxpr: Jaxpr, cores: int, *, unrolled: bool = True) -> bool:
    """Return whether XLA is to divide a program's loops among so many cores.

    Args:
      jaxpr: the program.
      cores: how many threads XLA has.
      unrolled: whether LLVM unrolls its loops.
    """
    if cores < 2 or not _is_uneven(jaxpr, cores):
        return True
    lost, gained, equations, asks, looks_up = _effects(jaxpr, cores, unrolled)
    are_long = cores > 2 and equations > _MANY
    return are_long or looks_up or not asks or lost <= gained


def _is_uneven(jaxpr: Jaxpr, cores: int) -> bool:
    """Whether some array has uneven halves: in most programs none has."""
    shapes = {eqn.outvars[0].aval.shape for eqn in jaxpr.eqns if eqn.outvars}
    divisions = [division(shape, cores) for shape in shapes]
    return any(found.row for found in divisions if found) or any(
        closed.remember(_is_uneven_inside, cores)
        for eqn in jaxpr.eqns
        if eqn.primitive.name in HOLDERS
        for closed in subjaxprs(eqn.params)
    )


def _is_uneven_inside(closed: ClosedJaxpr, cores: int) -> bool:
    return _is_uneven(closed.jaxpr, cores)


def _effects(jaxpr: Jaxpr, cores: int, unrolled: bool) -> _Effects:
    lost = gained = 0.0
    equations = 0
    asks = looks_up = False
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name in HOLDERS:
            turns = turns_of(eqn)
            for closed in subjaxprs(eqn.params):
                inside = closed.remember(_effects_inside, cores, unrolled)
                lost += turns * inside.lost
                gained += turns * inside.gained
                equations += inside.equations
                asks, looks_up = asks or inside.asks, looks_up or inside.looks_up
            continue
        for var in eqn.outvars[:1]:
            found = division(var.aval.shape, cores)
            if found is None:
                continue
            elements, pieces, row = found
            is_even = not 0 < row <= (_WRITTEN_OUT if unrolled else _SHORT_ROW)
            is_long = cores > 2 and name in ALONE
            if is_even or is_long or name in _NO_VECTORS:
                gained += elements * ALONE.get(name, 0.0) * (1 - 1 / pieces)
            elif name == "gather" or (name == "rem" and var.aval.dtype == np.float64):
                looks_up = True
            elif eqn.primitive.element_work or name in _LOOPS_TOO or _is_by_columns(eqn):
                asks = asks or not _is_by_tiles(eqn)
                if row <= _SHORT_ROW or name in LONG_FORMULAS:
                    lost += elements * _ASKING
                    equations += 1
    return _Effects(lost, gained, equations, asks, looks_up)


def _effects_inside(closed: ClosedJaxpr, cores: int, unrolled: bool) -> _Effects:
    return _effects(closed.jaxpr, cores, unrolled)


def turns_of(eqn: Eqn) -> int:
    """Return how often the programs of an equation run."""
    if eqn.primitive.name not in LOOPS:
        return 1
    length = eqn.params.get("length", _TURNS)
    return length if isinstance(length, int) else _TURNS


def _is_by_tiles(eqn: Eqn) -> bool:
    """Whether XLA computes the equation by tiles where it stands alone."""
    out = eqn.outvars[0].aval
    same = all(atom.aval.shape == out.shape for atom in eqn.invars)
    return eqn.primitive.name in _BY_TILES and same and out.dtype.kind != "u"


def _is_by_columns(eqn: Eqn) -> bool:
    """Whether the equation reduces short rows, by a loop over them."""
    operation = _REDUCTIONS.get(eqn.primitive.name)
    axes = eqn.params.get("axes", ())
    return operation is not None and are_short_rows(eqn.invars[0].aval, axes, operation)


@lru_cache(maxsize=4096)
def division(shape: tuple[int, ...], cores: int) -> Division | None:
    """Return how XLA divides arrays of a shape, of numbers of 32 bits; None if it does not.

    How many pieces there are depends on whether a loop computes for longer than it reads, which is
    not known before XLA has made the loop.
    """
    if any(map(is_symbolic, shape)):
        return None
    elements = prod(shape)
    reading = min(ceil(sqrt(cores)), 8 * elements // _BYTES)
    computing = min(cores, 90 * elements // _CYCLES)
    pieces = max(reading, computing)
    if pieces < 2:
        return None
    rows = next(size for size in shape if size > 1)
    is_uneven = rows % 2 == 1 and 2 in (reading, computing)
    return Division(elements, pieces, elements // rows if is_uneven else 0)
