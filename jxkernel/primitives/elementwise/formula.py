"""Formulas: lowering rules of special functions, written as arithmetic on StableHLO values.

A special function that XLA lacks is one primitive whose lowering evaluates a series or a
continued fraction.  ``Scope`` turns the builder of a lowering rule into something formulas can be
written with: ``Formula`` has Python's operators, and ``Scope.loop`` iterates.  All values of one
scope have one shape; floats narrower than 32 bits are computed in float32.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.dtypes import DTypeLike
from jxkernel.primitives.elementwise.families import broadcast_values

__all__ = ["Formula", "Scope", "epsilon", "evaluate", "formula_rule"]

_BOOL, _BYTE = np.dtype(np.bool_), np.dtype(np.uint8)
_PAIRS = ((np.float32, np.int32), (np.float64, np.int64))
_OF_BITS = {np.dtype(a): np.dtype(b) for pair in _PAIRS for a, b in (pair, pair[::-1])}
_Operand: TypeAlias = "Formula | float"


class Formula:
    """A value being computed; arithmetic on it appends StableHLO operations."""

    __slots__ = ("dtype", "scope", "value")

    def __init__(self, scope: "Scope", value: Any, dtype: Any) -> None:
        self.scope = scope
        self.value = value
        self.dtype = dtype

    def _binary(self, operation: str, left: _Operand, right: _Operand) -> "Formula":
        pair = (self.scope.lift(left, self.dtype), self.scope.lift(right, self.dtype))
        return self.scope.apply(operation, pair, self.dtype)

    def _compare(self, direction: str, other: _Operand) -> "Formula":
        right = self.scope.lift(other, self.dtype)
        shape = self.scope.shape
        kind = "SIGNED" if self.dtype.kind == "i" else "FLOAT"
        value = self.scope.builder.compare(self.value, right.value, direction, shape, kind)
        return Formula(self.scope, value, _BOOL)

    def __add__(self, other: _Operand) -> "Formula":
        return self._binary("stablehlo.add", self, other)

    __radd__ = __add__

    def __sub__(self, other: _Operand) -> "Formula":
        return self._binary("stablehlo.subtract", self, other)

    def __rsub__(self, other: _Operand) -> "Formula":
        return self._binary("stablehlo.subtract", other, self)

    def __mul__(self, other: _Operand) -> "Formula":
        return self._binary("stablehlo.multiply", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: _Operand) -> "Formula":
        return self._binary("stablehlo.divide", self, other)

    def __rtruediv__(self, other: _Operand) -> "Formula":
        return self._binary("stablehlo.divide", other, self)

    def __neg__(self) -> "Formula":
        return self.scope.apply("stablehlo.negate", (self,), self.dtype)

    def magnitude(self) -> "Formula":
        """Return the absolute value."""
        return self.scope.apply("stablehlo.abs", (self,), self.dtype)

    def __and__(self, other: _Operand) -> "Formula":
        return self._binary("stablehlo.and", self, other)

    def __or__(self, other: _Operand) -> "Formula":
        return self._binary("stablehlo.or", self, other)

    def __lshift__(self, count: int) -> "Formula":
        return self._binary("stablehlo.shift_left", self, count)

    def __rshift__(self, count: int) -> "Formula":
        return self._binary("stablehlo.shift_right_arithmetic", self, count)

    def __invert__(self) -> "Formula":
        return self.scope.apply("stablehlo.not", (self,), _BOOL)

    def __lt__(self, other: _Operand) -> "Formula":
        return self._compare("LT", other)

    def __le__(self, other: _Operand) -> "Formula":
        return self._compare("LE", other)

    def __gt__(self, other: _Operand) -> "Formula":
        return self._compare("GT", other)

    def __ge__(self, other: _Operand) -> "Formula":
        return self._compare("GE", other)

    def equals(self, other: _Operand) -> "Formula":
        """Return where the two are equal."""
        return self._compare("EQ", other)

    def is_nan(self) -> "Formula":
        """Return where the value is NaN."""
        return self._compare("NE", self)

    def is_negative(self) -> "Formula":
        """Return where the sign is negative, -0 included."""
        return self.bits() < 0

    def convert(self, dtype: DTypeLike) -> "Formula":
        """Return the value in another dtype."""
        return self.scope.apply("stablehlo.convert", (self,), dtype)

    def bits(self) -> "Formula":
        """Return a float's bits as an integer of its width, or the float that an integer's are."""
        return self.scope.apply("stablehlo.bitcast_convert", (self,), _OF_BITS[self.dtype])

    def round_even(self) -> "Formula":
        """Return the nearest whole number, the even one of two."""
        return self.scope.apply("stablehlo.round_nearest_even", (self,), self.dtype)

    def floor(self) -> "Formula":
        """Return the greatest whole number that is not above the value."""
        return self.scope.apply("stablehlo.floor", (self,), self.dtype)

    def exp(self) -> "Formula":
        """Return the exponential."""
        return self.scope.apply("stablehlo.exponential", (self,), self.dtype)

    def log(self) -> "Formula":
        """Return the natural logarithm."""
        return self.scope.apply("stablehlo.log", (self,), self.dtype)

    def log1p(self) -> "Formula":
        """Return log(1 + x)."""
        return self.scope.apply("stablehlo.log_plus_one", (self,), self.dtype)

    def sqrt(self) -> "Formula":
        """Return the square root."""
        return self.scope.apply("stablehlo.sqrt", (self,), self.dtype)

    def lgamma(self) -> "Formula":
        """Return log |Γ(x)|."""
        return self.scope.apply("chlo.lgamma", (self,), self.dtype)

    def erfc(self) -> "Formula":
        """Return the complementary error function."""
        return self.scope.apply("chlo.erfc", (self,), self.dtype)

    def digamma(self) -> "Formula":
        """Return the derivative of log Γ(x)."""
        return self.scope.apply("chlo.digamma", (self,), self.dtype)

    def trigamma(self) -> "Formula":
        """Return the second derivative of log Γ(x)."""
        return self.scope.apply("chlo.zeta", (self.scope.lift(2.0, self.dtype), self), self.dtype)

    def polynomial(self, coefficients: Sequence[float]) -> "Formula":
        """Return c₀ + c₁ x + c₂ x² + ... by Horner's scheme."""
        total = self.scope.lift(coefficients[-1], self.dtype)
        for coefficient in reversed(coefficients[:-1]):
            total = total * self + coefficient
        return total

    def where(self, on_true: _Operand, on_false: _Operand, like: "Formula") -> "Formula":
        """Return one value where this condition holds and another elsewhere, typed as ``like``."""
        cases = (self.scope.lift(on_true, like.dtype), self.scope.lift(on_false, like.dtype))
        return self.scope.apply("stablehlo.select", (self, *cases), cases[0].dtype)


class Scope:
    """Where the operations of formulas go: a builder, and the one shape of all values."""

    def __init__(self, builder: hlo.Builder, shape: tuple[int, ...]) -> None:
        self.builder = builder
        self.shape = shape

    def lift(self, operand: _Operand, dtype: DTypeLike) -> Formula:
        """Return a number as a formula; a formula as it is."""
        if isinstance(operand, Formula):
            return operand
        return Formula(self, self.builder.splat(operand, self.shape, dtype), dtype)

    def apply(self, operation: str, operands: Sequence[Formula], dtype: DTypeLike) -> Formula:
        """Append an operation whose result has the scope's shape and the given dtype."""
        values = [operand.value for operand in operands]
        kind = hlo.tensor_type(self.shape, dtype)
        return Formula(self, self.builder.value(operation, kind, values), dtype)

    def loop(
        self,
        goes_on: Callable[..., Formula],
        body: Callable[..., Sequence[Formula]],
        start: Sequence[Formula],
        limit: int,
    ) -> list[Formula]:
        """Repeat ``body`` while ``goes_on`` holds anywhere, at most ``limit`` times.

        Args:
          goes_on: from the variables to where another step is wanted; elements that want none keep
            their values, so that no element depends on its neighbours.
          body: from the variables to their next values.
          start: the first values.
          limit: the greatest number of steps.
        """
        counter_dtype = np.dtype(np.int32)
        scalar = hlo.tensor_type((), counter_dtype)
        types = [scalar, *(hlo.tensor_type(self.shape, item.dtype) for item in start)]
        zero = self.builder.constant(0, counter_dtype)
        loop = self.builder.op(
            "stablehlo.while", types, [zero, *(item.value for item in start)], regions=2
        )

        def wrapped(values: Sequence[Any]) -> list[Formula]:
            return [Formula(self, v, item.dtype) for v, item in zip(values, start, strict=True)]

        def advance(current: list[Formula]) -> list[Formula]:
            wanted, following = goes_on(*current), body(*current)
            return [wanted.where(n, c, c) for n, c in zip(following, current, strict=True)]

        def condition(builder: hlo.Builder, count: Any, *values: Any) -> Sequence[Any]:
            wanted = self._inside(builder, lambda: goes_on(*wrapped(values)))
            bound = builder.constant(limit, counter_dtype)
            early = builder.compare(count, bound, "LT", (), "SIGNED")
            flag = hlo.tensor_type((), _BOOL)
            return [builder.value("stablehlo.and", flag, (early, self._any(builder, wanted)))]

        def step(builder: hlo.Builder, count: Any, *values: Any) -> Sequence[Any]:
            following = self._inside(builder, lambda: advance(wrapped(values)))
            more = builder.value(
                "stablehlo.add", scalar, (count, builder.constant(1, counter_dtype))
            )
            return [more, *(item.value for item in following)]

        self.builder.region(loop, 0, types, condition)
        self.builder.region(loop, 1, types, step)
        return wrapped(list(loop.results)[1:])

    def _inside(self, builder: hlo.Builder, make: Callable[[], Any]) -> Any:
        """Append what ``make`` builds to the block of another builder."""
        outer, self.builder = self.builder, builder
        try:
            return make()
        finally:
            self.builder = outer

    def _any(self, builder: hlo.Builder, flags: Formula) -> Any:
        """Append the disjunction of all elements: the greatest byte, for which XLA has vectors."""
        if not self.shape:
            return flags.value
        byte, flag = hlo.tensor_type((), _BYTE), hlo.tensor_type((), _BOOL)
        kind = hlo.tensor_type(self.shape, _BYTE)
        numbers = builder.value("stablehlo.convert", kind, (flags.value,))
        axes = hlo.dense_i64_array(tuple(range(len(self.shape))))
        start = builder.constant(0, _BYTE)
        reduce = builder.op(
            "stablehlo.reduce", (byte,), (numbers, start), {"dimensions": axes}, regions=1
        )

        def greater(inner: hlo.Builder, a: Any, b: Any) -> tuple[Any]:
            return (inner.value("stablehlo.maximum", byte, (a, b)),)

        builder.region(reduce, 0, (byte, byte), greater)
        return builder.value("stablehlo.convert", flag, (reduce.result,))


_Function: TypeAlias = Callable[[Formula, Formula], Formula] | Callable[..., Formula]


def formula_rule(function: _Function) -> Callable[..., Any]:
    """Return the lowering rule that evaluates a function of formulas, one per operand."""

    def lower(context: Any, *values: Any, **params: Any) -> Any:
        return evaluate(context, function, broadcast_values(context, values))

    return lower


def evaluate(context: Any, function: _Function, values: Sequence[Any]) -> Any:
    """Append a function of formulas, one per operand, all of the result's shape and dtype."""
    aval = context.avals_out[0]
    narrow = aval.dtype.itemsize < 4
    wide = np.dtype(np.float32) if narrow else aval.dtype
    scope = Scope(context, aval.shape)
    operands = [Formula(scope, value, aval.dtype) for value in values]
    if narrow:
        operands = [scope.apply("stablehlo.convert", (x,), wide) for x in operands]
    result = function(*operands)
    if narrow:
        result = scope.apply("stablehlo.convert", (result,), aval.dtype)
    return result.value


def epsilon(dtype: DTypeLike) -> float:
    """Return the spacing of the floats of a dtype at 1."""
    return float(dtypes.finfo(dtype).eps)
