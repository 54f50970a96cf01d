"""Compare the formulas of ``elementwise/vectorized.py`` with exact values, over all float32.

``python -m tools.accuracy`` writes ``docs/numerics.md``.  The reference is NumPy's function in
float64.  An error is a distance from it, not from a rounded result, in units in the last place
of float32 there: so it is right to about 1e-8, wherever the exact value lies between two float32.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from math import inf, log
from pathlib import Path
from typing import Any

import numpy as np
import scipy.special

import jxkernel as jx
from jxkernel import numpy as jnp
from jxkernel.primitives.elementwise import vectorized
from jxkernel.scipy import special

__all__ = ["FUNCTIONS", "Function", "Tally", "differences", "pairs", "positive_floats", "ulps"]

OUTPUT = Path(__file__).resolve().parent.parent / "docs" / "numerics.md"
CHUNK = 1 << 22
LEAST_NORMAL = 2.0**-126


@dataclass(frozen=True)
class Function:
    """A function of float32 numbers and its reference.

    Attributes:
      name: its name.
      reference: NumPy's function, or SciPy's.
      operands: how many it takes.
      rising: whether it rises or falls everywhere; 0 where it does neither.
      parity: -1 for f(-x) = -f(x), 1 for f(-x) = f(x), 0 for neither.
      module: whose function it is.
      own: how XLA has it, where that is not the other way of a formula.
      most: the error that tests allow, in units in the last place.
    """

    name: str
    reference: Callable[..., Any]
    operands: int = 1
    rising: int = 0
    parity: int = 0
    module: Any = jnp
    own: Callable[..., Any] | None = None
    most: float = 0.502

    @property
    def operation(self) -> Callable[..., Any]:
        """The function itself."""
        return getattr(self.module, self.name)

    def on_cpu(self, *, formula: bool) -> Callable[..., Any]:
        """Return the jitted function: by its formula, or as XLA has it."""
        operation = self.operation if formula or self.own is None else self.own
        compiled = jx.jit(lambda *operands: operation(*operands))

        def call(*operands: Any) -> Any:
            least, narrow = vectorized.LEAST_SIZE, vectorized.NARROW
            vectorized.LEAST_SIZE, vectorized.NARROW = 1, narrow if formula else ()
            try:
                return np.asarray(compiled(*operands))
            finally:
                vectorized.LEAST_SIZE, vectorized.NARROW = least, narrow

        return call

    def exact(self, *operands: Any) -> Any:
        """Return the reference, in float64."""
        with np.errstate(all="ignore"):
            return self.reference(*[operand.astype(np.float64) for operand in operands])


def _inverse_error(x: Any) -> Any:
    """SciPy has 0 at -0."""
    return np.copysign(scipy.special.erfinv(x), x)


def _log_gamma(x: Any) -> Any:
    """SciPy has -inf at -inf, C and we inf."""
    return np.where(np.isinf(x), inf, scipy.special.gammaln(x))


FUNCTIONS = (
    Function("sin", np.sin, parity=-1),
    Function("cos", np.cos, parity=1),
    Function("tan", np.tan, parity=-1),
    Function("arcsin", np.arcsin, rising=1, parity=-1),
    Function("arccos", np.arccos, rising=-1),
    Function("expm1", np.expm1, rising=1, most=1.05),
    Function("cbrt", np.cbrt, rising=1, parity=-1),
    Function("sinh", np.sinh, rising=1, parity=-1),
    Function("cosh", np.cosh, parity=1, most=1.05),
    Function("log1p", np.log1p, rising=1, most=0.95),
    Function("log2", np.log2, rising=1, own=lambda x: jnp.log(x) / log(2), most=1.2),
    Function("exp2", np.exp2, rising=1, own=lambda x: jnp.exp(x * log(2))),
    Function("erfc", scipy.special.erfc, rising=-1, module=special, most=8),
    Function("erfinv", _inverse_error, rising=1, parity=-1, module=special, most=2),
    Function("gammaln", _log_gamma, module=special),
    Function("digamma", scipy.special.digamma, module=special),
    Function("arctan2", np.arctan2, operands=2),
    Function("power", np.power, operands=2),
    Function("fmod", np.fmod, operands=2),
)


def ulps(result: Any, exact: Any) -> Any:
    """Return the error of float32 results in units in the last place.

    Both NaN is no error, one alone is infinite.  Where the exact value rounds to infinity or is
    denormal, that result (or zero) is exact: XLA's arithmetic on CPU has no denormal numbers.
    """
    with np.errstate(all="ignore"):
        magnitude = np.abs(exact)
        unit = np.exp2(np.floor(np.log2(np.clip(magnitude, LEAST_NORMAL, 2.0**127))) - 23)
        error = np.abs(result.astype(np.float64) - exact) / unit
        rounded = exact.astype(np.float32)
    error[(result == rounded) | (np.isnan(result) & np.isnan(exact))] = 0.0
    error[(result == 0) & (magnitude < LEAST_NORMAL)] = 0.0
    error[np.isnan(result) != np.isnan(exact)] = inf
    error[np.isinf(result) & (magnitude < 3.4028234e38)] = inf
    return np.where(np.isnan(error), inf, error)


def differences(result: Any, exact: Any) -> Any:
    """Return where the sign of a zero is wrong."""
    zero = (exact == 0) & (result == 0)
    return zero & (np.signbit(result) != np.signbit(exact))


def positive_floats(chunk: int = CHUNK) -> Iterator[Any]:
    """Yield the float32 numbers from 0 to inf in order, then the NaNs, a chunk at a time."""
    for first in range(0, 1 << 31, chunk):
        yield np.arange(first, first + chunk, dtype=np.uint32).view(np.float32)


def pairs(count: int, seed: int = 0, chunk: int = CHUNK) -> Iterator[tuple[Any, Any]]:
    """Yield random pairs: a third of any bits, a third of near sizes, a third from -16 to 16."""
    for index in range(-(-count // chunk)):
        draw = np.random.default_rng((seed, index))
        x, y = draw.integers(0, 1 << 32, (2, chunk), dtype=np.uint32).view(np.float32)
        third = chunk // 3
        with np.errstate(all="ignore"):
            x[:third] = y[:third] * draw.normal(1, 0.7, third).astype(np.float32)
        x[third : 2 * third], y[third : 2 * third] = draw.uniform(-16, 16, (2, third))
        yield x, y


@dataclass
class Tally:
    """What was found of one function.

    Attributes:
      inputs: how many were compared.
      worst: the greatest error, in units in the last place; 0.5 where all are the nearest float32.
      where: its operands.
      signs: how many zeros have the wrong sign.
      turns: how many neighbours are in the wrong order.
      direction: 1 where operands come in rising order, -1 in falling.
      last: the last result of the chunk before.
    """

    inputs: int = 0
    worst: float = 0.5
    where: tuple[float, ...] = ()
    signs: int = 0
    turns: int = 0
    direction: int = 1
    last: Any = field(default_factory=lambda: np.zeros(0, np.float32))

    def add(self, function: Function, operands: tuple[Any, ...], result: Any, exact: Any) -> None:
        """Compare one chunk of results."""
        self.inputs += len(result)
        with np.errstate(all="ignore"):
            rounded = exact.astype(np.float32)
        # Integers compare zeros of either sign and all NaNs as different.
        places: Any = np.flatnonzero(result.view(np.int32) != rounded.view(np.int32))
        if len(places):
            error = ulps(result[places], exact[places])
            self._worst(float(error.max()), operands, places[error.argmax()])
            self.signs += int(differences(result[places], exact[places]).sum())
        if function.rising:
            line = np.concatenate([self.last, result])
            with np.errstate(invalid="ignore"):  # between two infinities
                steps = np.diff(line)
            self.turns += int((steps * (function.rising * self.direction) < 0).sum())
            self.last = result[-1:]

    def _worst(self, error: float, operands: tuple[Any, ...], place: int) -> None:
        if error > self.worst:
            self.worst = error
            self.where = tuple([float(operand[place]) for operand in operands])

    def join(self, other: Tally) -> Tally:
        """Return what two parts of the operands amount to."""
        worse = self if self.worst >= other.worst else other
        return Tally(
            self.inputs + other.inputs,
            worse.worst,
            worse.where,
            self.signs + other.signs,
            self.turns + other.turns,
        )


def measure_pairs(function: Function, count: int) -> tuple[Tally, Tally]:
    """Return what is found of a formula of two operands and of XLA's own operation."""
    kinds = [(function.on_cpu(formula=formula), Tally()) for formula in (True, False)]
    for operands in pairs(count):
        exact = function.exact(*operands)
        for call, tally in kinds:
            tally.add(function, operands, call(*operands), exact)
    return kinds[0][1], kinds[1][1]


def measure(function: Function, step: int = 1) -> tuple[Tally, Tally]:
    """Return what is found of a formula at every number, of XLA's own at every 64th.

    With a step, one chunk in so many is compared; the order is that of all that are.
    """
    formula, own = function.on_cpu(formula=True), function.on_cpu(formula=False)
    found = {1: Tally(), -1: Tally(direction=-1)}
    theirs = Tally()
    for positive in islice(positive_floats(1 << 16 if step > 1 else CHUNK), 0, None, step):
        exact = function.exact(positive)
        for sign, tally in found.items():
            x = positive if sign > 0 else -positive
            if sign < 0:
                exact = exact * function.parity if function.parity else function.exact(x)
            tally.add(function, (x,), formula(x), exact)
            theirs.add(function, (x[::64],), own(x[::64]), exact[::64])
    return found[1].join(found[-1]), theirs


HEAD = """\
# Numerics

<!-- Written by `python -m tools.accuracy`; changes by hand are lost. -->

On CPU, XLA calls the C library for most of the functions below, one element after another; the
others are formulas in float32, which lose digits. For arrays of {least:,} elements and more they
are lowered as formulas that become vector instructions, computed in float64 for float32 and
narrower results, `expm1`, `log1p`, `log2` and `erfinv` in float32. The jaxpr still has `sin`,
derivatives go through `sin` and `cos`, and other platforms are lowered as before. `cbrt` and
`arctan2`, of which XLA's own lose denormal numbers, and those of which it loses digits, `sinh` to
`erfinv`, `gammaln` and `digamma`, are formulas in arrays of every size; whole powers of `exp2` and
`log2` are exact on other platforms too. The
[decision](decisions/0035-formulas-that-become-vector-instructions.md) says why. `erfc` below 1 is
XLA's own 1 - erf(x), the one function here whose neighbours are in the wrong order somewhere.

Each function of one operand was compared at all 2^32 float32 numbers (the reference of negative
ones is that of their magnitude, with its sign, where the function is odd or even), or where the
table has fewer in runs of 65,536 numbers, evenly spaced; XLA's own at every 64th of them. Each
function of two operands was compared at random pairs:
a third of any bits, a third of nearly equal sizes, a third between -16 and 16. The reference is
NumPy's function in float64, or SciPy's. An error is the distance of the float32 result from it, in
units in the last place (ulp) of float32, so no midpoint between two results has to be decided:
0.5 is the error of correct rounding, and the reference adds less than 1e-7. NaN where the reference
has a number, or the reverse, and an early infinity would count as infinite. XLA's arithmetic takes
denormal numbers as 0; a denormal result counts as right if it is 0, and denormal operands count in
full, where the C library under XLA's mode loses them.

| function | inputs | greatest error, formula | at | zeros of the wrong sign | \
wrong order | XLA's own | at |
| --- | ---: | ---: | --- | ---: | ---: | ---: | --- |
"""


def _line(function: Function, ours: Tally, theirs: Tally) -> str:
    def at(tally: Tally) -> str:
        return ", ".join([f"`{value:.9g}`" for value in tally.where])

    turns = str(ours.turns) if function.rising else "–"
    cells = [
        f"`{function.name}`",
        f"{ours.inputs:,}",
        f"**{ours.worst:.4f}**",
        at(ours),
        str(ours.signs),
        turns,
        f"{theirs.worst:.4g}",
        at(theirs),
    ]
    return f"| {' | '.join(cells)} |\n"


def main() -> None:
    """Compare all functions and write the page."""
    parser = argparse.ArgumentParser(prog="python -m tools.accuracy", description=__doc__)
    parser.add_argument("--pairs", type=int, default=1 << 28, help="of functions of two operands")
    parser.add_argument(
        "--every", type=int, default=1, help="one run of 65,536 numbers in so many; all take 10 min"
    )
    parser.add_argument("--only", nargs="+", help="these functions alone, to the terminal")
    options = parser.parse_args()
    text = ""
    for function in FUNCTIONS:
        if options.only is None or function.name in options.only:
            sys.stderr.write(f"{function.name} ...\n")
            if function.operands > 1:
                found = measure_pairs(function, options.pairs)
            else:
                found = measure(function, options.every)
            line = _line(function, *found)
            sys.stderr.write(line)
            text += line
    if options.only is None:
        OUTPUT.write_text(HEAD.format(least=vectorized.LEAST_SIZE) + text, encoding="utf-8")


if __name__ == "__main__":
    main()
