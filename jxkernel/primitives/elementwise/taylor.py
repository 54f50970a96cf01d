"""Formulas with their derivatives: arithmetic on Taylor series that are cut after some terms."""

from functools import reduce
from operator import add
from typing import TypeAlias

from jxkernel.primitives.elementwise.formula import Formula

_Operand: TypeAlias = "Taylor | Formula | float"


class Taylor:
    """A function of one variable about a point: the coefficients of its series.

    A formula or a number to the right of an operator is a constant, as is a number to the left.
    """

    __slots__ = ("coefficients",)

    def __init__(self, *coefficients: Formula) -> None:
        self.coefficients = coefficients

    @classmethod
    def variable(cls, at: Formula, order: int) -> "Taylor":
        """Return the variable itself about a point."""
        zero, one = at.scope.lift(0.0, at.dtype), at.scope.lift(1.0, at.dtype)
        return cls(at, one, *[zero] * (order - 1))

    def _like(self, other: _Operand) -> "Taylor":
        if isinstance(other, Taylor):
            return other
        first, *rest = self.coefficients
        zero = first.scope.lift(0.0, first.dtype)
        return Taylor(first.scope.lift(other, first.dtype), *[zero] * len(rest))

    def __add__(self, other: _Operand) -> "Taylor":
        first, *rest = self.coefficients
        if not isinstance(other, Taylor):
            return Taylor(first + other, *rest)
        pairs = zip(self.coefficients, other.coefficients, strict=True)
        return Taylor(*(u + v for u, v in pairs))

    __radd__ = __add__

    def __neg__(self) -> "Taylor":
        return Taylor(*(-u for u in self.coefficients))

    def __sub__(self, other: _Operand) -> "Taylor":
        return self + -other

    def __rsub__(self, other: float) -> "Taylor":
        return -self + other

    def __mul__(self, other: _Operand) -> "Taylor":
        u = self.coefficients
        if not isinstance(other, Taylor):
            return Taylor(*(c * other for c in u))
        v = other.coefficients
        return Taylor(
            *(reduce(add, [u[i] * v[k - i] for i in range(k + 1)]) for k in range(len(u)))
        )

    __rmul__ = __mul__

    def __truediv__(self, other: _Operand) -> "Taylor":
        """Return q, found coefficient by coefficient from q · other = self."""
        if not isinstance(other, Taylor):
            return Taylor(*(c / other for c in self.coefficients))
        v, found = other.coefficients, list[Formula]()
        for k, u in enumerate(self.coefficients):
            known = [u, *(-(found[i] * v[k - i]) for i in range(k))]
            found.append(reduce(add, known) / v[0])
        return Taylor(*found)

    def __rtruediv__(self, other: float) -> "Taylor":
        return self._like(other) / self

    def polynomial(self, coefficients: "tuple[float, ...] | list[float]") -> "Taylor":
        """Return c₀ + c₁ x + c₂ x² + ... by Horner's scheme."""
        total = self._like(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = total * self + coefficient
        return total

    def size(self) -> Formula:
        """Return the sum of the coefficients' magnitudes."""
        return reduce(add, [c.magnitude() for c in self.coefficients])
