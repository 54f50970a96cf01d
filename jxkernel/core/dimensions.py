"""Symbolic dimensions: sizes of axes that are not known while a function is traced.

A dimension is an integer polynomial in named variables, each from 1 to 2**31 - 1 (sizes are 32-bit
numbers in modules) unless its scope says otherwise; quotients, remainders, maxima and minima that
do not simplify are variables of it too.

An operation whose result is a plain integer returns an ``int``, so shapes without symbols never
meet this module.  A comparison is answered where it has one answer for all values of the
variables, and refused otherwise; equality alone is never refused: what is not always equal is
different.

A symbolic size that meets a number that is no integer becomes an array: the numerical API attaches
those operators (the ``install_operators`` port).

This module must not know of arrays, avals or modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf, prod
from operator import index
from typing import Any, final

from jxkernel.core.size_arithmetic import Arithmetic
from jxkernel.errors import InconclusiveDimensionOperation

__all__ = [
    "Dimension",
    "DimensionSize",
    "Operation",
    "SymbolicScope",
    "bounds",
    "greater",
    "is_symbolic",
    "lesser",
    "sizes",
]

GREATEST = 2**31 - 1
"""The greatest size of an axis: modules compute sizes in 32 bits."""

Monomial = tuple[tuple[Any, int], ...]
"""Atoms with their powers, in the order of their names; empty for the constant term."""


@final
class Operation:
    """A quotient, remainder, maximum or minimum that stands for itself in a polynomial.

    Attributes:
      kind: ``floordiv mod max min``.
      operands: two dimensions or integers.
    """

    __slots__ = ("kind", "operands")

    def __init__(self, kind: str, *operands: DimensionSize) -> None:
        self.kind = kind
        self.operands = operands

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Operation):
            return NotImplemented
        return (self.kind, self.operands) == (other.kind, other.operands)

    def __hash__(self) -> int:
        return hash((self.kind, self.operands))

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(str, self.operands))})"


class SymbolicScope:
    """Where names of dimensions mean the same, and what is promised of them.

    Args:
      constraints_str: promises such as ``"b >= 8"``, ``"a <= b"`` or ``"mod(b, 2) == 0"``; what
        an exported program is called with must keep them.

    They are read when the first shape of the scope is written (``export.symbolic_shape``).
    """

    __slots__ = ("_equal", "_nonnegative", "constraints", "is_read")

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        self.constraints = tuple(constraints_str)
        self._nonnegative: list[Dimension] = []
        self._equal: dict[Any, DimensionSize] = {}
        self.is_read = False

    def promise(self, left: DimensionSize, relation: str, right: DimensionSize) -> None:
        """Add a promise that was read: ``left relation right``.

        Raises:
          ValueError: it cannot hold, or an equality has no single symbol on its left.
        """
        difference = left - right if relation != "<=" else right - left
        if isinstance(difference, int):
            if difference < 0 or (relation == "==" and difference):
                raise ValueError(f"the constraint {left} {relation} {right} never holds")
        elif relation == "==":
            atom = left.single_atom() if isinstance(left, Dimension) else None
            if atom is None:
                raise ValueError(f"{left} == {right}: an equality needs one symbol on its left")
            self._equal[atom] = right
        else:
            self._nonnegative.append(difference)

    def value_of(self, atom: Any) -> DimensionSize | None:
        """Return what a symbol was promised to equal, or None."""
        return self._equal.get(atom)

    @property
    def nonnegative(self) -> Sequence[Dimension]:
        """What was promised not to be negative."""
        return self._nonnegative

    def __repr__(self) -> str:
        promised = f" with {', '.join(self.constraints)}" if self.constraints else ""
        return f"SymbolicScope({id(self):#x}{promised})"


@final
class Dimension:
    """An integer that depends on named variables; see the module.

    Attributes:
      terms: the coefficient of each monomial, never 0.
      scope: where its names belong.
    """

    __slots__ = ("_hash", "scope", "terms")

    __array_priority__ = 1000  # so that NumPy's operators ask this operand

    def __init__(self, terms: Mapping[Monomial, int], scope: SymbolicScope) -> None:
        self.terms = dict(terms)
        self.scope = scope
        self._hash: int | None = None

    @staticmethod
    def of(atom: Any, scope: SymbolicScope) -> DimensionSize:
        """Return the dimension that is one symbol, or what the symbol was promised to equal."""
        known = scope.value_of(atom)
        return Dimension({((atom, 1),): 1}, scope) if known is None else known

    def single_atom(self) -> Any:
        """Return the symbol that this is, or None if it is no single symbol."""
        if len(self.terms) == 1:
            ((monomial, coefficient),) = self.terms.items()
            if coefficient == 1 and len(monomial) == 1 and monomial[0][1] == 1:
                return monomial[0][0]
        return None

    def variables(self) -> frozenset[str]:
        """Return the names that it depends on."""
        found: set[str] = set()
        for monomial in self.terms:
            for atom, _ in monomial:
                if isinstance(atom, str):
                    found.add(atom)
                else:
                    for operand in atom.operands:
                        if isinstance(operand, Dimension):
                            found |= operand.variables()
        return frozenset(found)

    def evaluate(self, values: Mapping[str, Any], operations: Arithmetic | None = None) -> Any:
        """Return the value for given values of the variables.

        Args:
          values: the value of each variable.
          operations: how to compute with them; by default as with integers.
        """
        compute = operations or Arithmetic()
        total: Any = None
        for monomial, coefficient in self.terms.items():
            factors = [compute.constant(coefficient)] if coefficient != 1 or not monomial else []
            for atom, power in monomial:
                factors += [_evaluated(atom, values, compute)] * power
            term = factors[0]
            for factor in factors[1:]:
                term = compute.multiply(term, factor)
            total = term if total is None else compute.add(total, term)
        return total

    def __add__(self, other: Any) -> Any:
        if not is_dimension(other):
            return NotImplemented
        terms = dict(self.terms)
        for monomial, coefficient in _terms(other, self):
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return _simple(terms, self.scope)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return _simple({monomial: -c for monomial, c in self.terms.items()}, self.scope)

    def __sub__(self, other: Any) -> Any:
        return self + -other if is_dimension(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other if is_dimension(other) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        if not is_dimension(other):
            return NotImplemented
        terms: dict[Monomial, int] = {}
        for first, one in self.terms.items():
            for second, two in _terms(other, self):
                product = _monomial_product(first, second)
                terms[product] = terms.get(product, 0) + one * two
        return _simple(terms, self.scope)

    __rmul__ = __mul__

    def __pow__(self, power: Any) -> Any:
        if not isinstance(power, int) or power < 0:
            return NotImplemented
        return prod([self] * power, start=1)

    def __floordiv__(self, divisor: Any) -> Any:
        return _divided(self, divisor)[0] if is_dimension(divisor) else NotImplemented

    def __rfloordiv__(self, dividend: Any) -> Any:
        return _divided(dividend, self)[0] if is_dimension(dividend) else NotImplemented

    def __mod__(self, divisor: Any) -> Any:
        return _divided(self, divisor)[1] if is_dimension(divisor) else NotImplemented

    def __rmod__(self, dividend: Any) -> Any:
        return _divided(dividend, self)[1] if is_dimension(dividend) else NotImplemented

    def __divmod__(self, divisor: Any) -> Any:
        return _divided(self, divisor) if is_dimension(divisor) else NotImplemented

    def __rdivmod__(self, dividend: Any) -> Any:
        return _divided(dividend, self) if is_dimension(dividend) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dimension):
            return self.terms == other.terms and self.scope is other.scope
        return False if isinstance(other, int) else NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((frozenset(self.terms.items()), id(self.scope)))
        return self._hash

    def __ge__(self, other: Any) -> bool:
        return _decided(self, ">=", other) if is_dimension(other) else NotImplemented

    def __lt__(self, other: Any) -> bool:
        return not _decided(self, ">=", other, "<") if is_dimension(other) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return _decided(self, ">=", other + 1, ">") if is_dimension(other) else NotImplemented

    def __le__(self, other: Any) -> bool:
        if not is_dimension(other):
            return NotImplemented
        return not _decided(self, ">=", other + 1, "<=")

    def __bool__(self) -> bool:
        lower, upper = bounds(self)
        if lower > 0 or upper < 0:
            return True
        raise InconclusiveDimensionOperation(f"bool({self})")

    def __index__(self) -> int:
        raise InconclusiveDimensionOperation(
            f"int({self})",
            instead=(
                "keep the size symbolic: x.reshape(-1), jnp.sum, lax.fori_loop instead of range",
                "or export with concrete shapes",
            ),
        )

    def __int__(self) -> int:
        return self.__index__()

    def __float__(self) -> float:
        return float(self.__index__())

    def __str__(self) -> str:
        parts: list[str] = []
        for monomial, coefficient in sorted(self.terms.items(), key=_printing_order):
            body = "*".join(str(a) if power == 1 else f"{a}^{power}" for a, power in monomial)
            size = abs(coefficient)
            text = body if size == 1 and body else f"{size}*{body}" if body else str(size)
            sign = "- " if coefficient < 0 else "+ " if parts else ""
            parts.append(sign + text)
        return " ".join(parts).replace("- ", "-", 1) if parts[0][0] == "-" else " ".join(parts)

    __repr__ = __str__

    def __reduce__(self) -> Any:
        raise TypeError(f"the symbolic dimension {self} belongs to its scope and is not pickled")


DimensionSize = int | Dimension
"""What a shape holds."""


def _evaluated(atom: Any, values: Mapping[str, Any], compute: Arithmetic) -> Any:
    if isinstance(atom, str):
        return values[atom]
    operands = [
        operand.evaluate(values, compute)
        if isinstance(operand, Dimension)
        else compute.constant(operand)
        for operand in atom.operands
    ]
    rule: Callable[..., Any] = getattr(compute, atom.kind)
    return rule(*operands)


def is_symbolic(size: object) -> bool:
    """Whether a size is a symbolic dimension; an integer is not."""
    return isinstance(size, Dimension)


def greater(d1: DimensionSize, d2: DimensionSize) -> DimensionSize:
    """Return the greater of two sizes, as a symbol where it depends."""
    if isinstance(d1, int) and isinstance(d2, int):
        return max(d1, d2)
    return _extreme("max", d1, d2)


def lesser(d1: DimensionSize, d2: DimensionSize) -> DimensionSize:
    """Return the lesser of two sizes, as a symbol where it depends."""
    if isinstance(d1, int) and isinstance(d2, int):
        return min(d1, d2)
    return _extreme("min", d1, d2)


def sizes(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return static sizes as a tuple of ints, symbolic ones as they are.

    Raises:
      TypeError: one is not a whole number; a traced value is told so.
    """
    given = tuple(values)
    try:
        return tuple(map(index, given))
    except InconclusiveDimensionOperation:
        return tuple([size if isinstance(size, Dimension) else index(size) for size in given])


def is_dimension(value: object) -> bool:
    """Whether a value can be the size of an axis."""
    return isinstance(value, (int, Dimension))


def _printing_order(term: tuple[Monomial, int]) -> tuple[Any, ...]:
    monomial, _ = term
    return (-sum(power for _, power in monomial), [str(atom) for atom, _ in monomial])


def _terms(value: DimensionSize, beside: Dimension) -> Iterator[tuple[Monomial, int]]:
    """Yield the terms of a dimension or integer that meets another dimension.

    Raises:
      ValueError: they belong to different scopes.
    """
    if isinstance(value, int):
        if value:
            yield (), value
        return
    if value.scope is not beside.scope:
        raise ValueError(
            f"the dimensions {beside} and {value} belong to different scopes: give one `scope=` "
            "to both calls of symbolic_shape"
        )
    yield from value.terms.items()


def _simple(terms: Mapping[Monomial, int], scope: SymbolicScope) -> DimensionSize:
    """Return a polynomial, as an integer if it is one."""
    kept = {monomial: c for monomial, c in terms.items() if c}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    return Dimension(kept, scope)


def _monomial_product(first: Monomial, second: Monomial) -> Monomial:
    powers = dict(first)
    for atom, power in second:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: str(item[0])))


def _monomial_quotient(dividend: Monomial, divisor: Monomial) -> Monomial | None:
    powers = dict(dividend)
    for atom, power in divisor:
        powers[atom] = powers.get(atom, 0) - power
    if any(power < 0 for power in powers.values()):
        return None
    return tuple((atom, power) for atom, power in powers.items() if power)


def _divided(
    dividend: DimensionSize, divisor: DimensionSize
) -> tuple[DimensionSize, DimensionSize]:
    """Return quotient and remainder: the terms that divide evenly, and symbols for the rest.

    ``floor((q d + r) / d) = q + floor(r / d)`` for integers, and ``(q d + r) mod d = r mod d``.
    """
    if isinstance(divisor, int) and divisor == 0:
        raise ZeroDivisionError(f"{dividend} divided by 0")
    scope = dividend.scope if isinstance(dividend, Dimension) else None
    scope = divisor.scope if isinstance(divisor, Dimension) else scope
    assert scope is not None, "integers are divided by Python"
    quotient: DimensionSize = 0
    rest = dividend
    ((monomial, coefficient), *others) = (
        [((), divisor)] if isinstance(divisor, int) else list(divisor.terms.items())
    )
    if not others and isinstance(dividend, Dimension):
        even: dict[Monomial, int] = {}
        for term, amount in dividend.terms.items():
            left = _monomial_quotient(term, monomial)
            if left is not None and amount % coefficient == 0:
                even[left] = amount // coefficient
        quotient = _simple(even, scope)
        rest = dividend - quotient * divisor
    elif dividend == divisor:
        return 1, 0
    if isinstance(rest, int) and isinstance(divisor, int):
        return quotient + rest // divisor, rest % divisor
    if isinstance(rest, int) and rest == 0:
        return quotient, 0
    low, high = bounds(rest)
    if low >= 0 and high < bounds(divisor)[0]:
        return quotient, rest
    remainder = Dimension.of(Operation("mod", rest, divisor), scope)
    return quotient + Dimension.of(Operation("floordiv", rest, divisor), scope), remainder


def _extreme(kind: str, left: DimensionSize, right: DimensionSize) -> DimensionSize:
    """Return the greater or lesser, decided where it can be."""
    difference = left - right
    low, high = bounds(difference)
    if low >= 0 or high <= 0:
        return left if (low >= 0) == (kind == "max") else right
    assert isinstance(difference, Dimension)
    return Dimension.of(Operation(kind, left, right), difference.scope)


Promises = Sequence[Dimension]
"""What may still be used while a bound is sought: each once, so that the search ends."""


def bounds(size: DimensionSize, promises: Promises | None = None) -> tuple[float, float]:
    """Return a lower and an upper bound of a size, infinite where there is none.

    Each term is bounded by itself, and once more after a promise of the scope is taken off: if
    ``p >= 0`` was promised and ``e - p`` has a lower bound, so has ``e``.

    Args:
      size: what is bounded.
      promises: those of the scope that may be used; by default all.
    """
    if isinstance(size, int):
        return size, size
    promises = size.scope.nonnegative if promises is None else promises
    low, high = _interval(size, promises)
    for place, promised in enumerate(promises):
        others = (*promises[:place], *promises[place + 1 :])
        for sign in (1, -1):
            rest = size - promised if sign > 0 else size + promised
            below, above = (rest, rest) if isinstance(rest, int) else _interval(rest, others)
            if sign > 0:
                low = max(low, below)
            else:
                high = min(high, above)
    return low, high


def _interval(size: Dimension, promises: Promises) -> tuple[float, float]:
    for monomial, coefficient in size.terms.items():
        atom = monomial[0][0] if len(monomial) == 1 and monomial[0][1] == 1 else None
        if isinstance(atom, Operation):
            found = _interval_by_cases(size, monomial, coefficient, atom, promises)
            if found is not None:
                return found
    low = high = 0.0
    for monomial, coefficient in size.terms.items():
        term: tuple[float, float] = (1, 1)
        for atom, power in monomial:
            for _ in range(power):
                term = _product_interval(term, _atom_interval(atom, size.scope, promises))
        ends = _product_interval(term, (coefficient, coefficient))
        low, high = low + ends[0], high + ends[1]
    return low, high


def _interval_by_cases(
    size: Dimension, monomial: Monomial, coefficient: int, atom: Operation, promises: Promises
) -> tuple[float, float] | None:
    """Return bounds of a polynomial with an operation in one linear term, by what it means.

    ``min(x, y)`` is the lesser of ``x`` and ``y``, and the polynomial that of the two it gives;
    ``n floor(x / n)`` is ``x - x mod n``.
    """
    rest = size - Dimension({monomial: coefficient}, size.scope)
    first, second = atom.operands
    if atom.kind in ("min", "max"):
        cases = [bounds(rest + coefficient * operand, promises) for operand in atom.operands]
        choose = min if (atom.kind == "min") == (coefficient > 0) else max
        (low, high), (low2, high2) = cases
        return choose(low, low2), choose(high, high2)
    if atom.kind == "floordiv" and isinstance(second, int) and coefficient % second == 0:
        remainder = Dimension.of(Operation("mod", first, second), size.scope)
        return bounds(rest + coefficient // second * (first - remainder), promises)
    return None


def _product_interval(
    first: tuple[float, float], second: tuple[float, float]
) -> tuple[float, float]:
    # 0 times an unbounded end is 0: the end is never reached.
    ends = [0.0 if 0 in (a, b) else a * b for a in first for b in second]
    return min(ends), max(ends)


def _atom_interval(atom: Any, scope: SymbolicScope, promises: Promises) -> tuple[float, float]:
    if isinstance(atom, str):
        return _variable_interval(atom, scope)
    (low, high), (low2, high2) = (bounds(operand, promises) for operand in atom.operands)
    if atom.kind == "max":
        return max(low, low2), max(high, high2)
    if atom.kind == "min":
        return min(low, low2), min(high, high2)
    if atom.kind == "mod":
        return (0, high2 - 1) if low2 > 0 else (-inf, inf)
    if low2 <= 0:
        return -inf, inf
    least = low // low2 if low < 0 else (0 if high2 == inf else low // high2)
    return least, (high if high == inf else high // low2)


def _variable_interval(name: str, scope: SymbolicScope) -> tuple[float, float]:
    """Return the bounds of a variable: those of a size, and what was promised of it alone."""
    low, high = 1.0, float(GREATEST)
    alone: Monomial = ((name, 1),)
    for promised in scope.nonnegative:
        if promised.terms.keys() <= {alone, ()} and alone in promised.terms:
            factor, offset = promised.terms[alone], promised.terms.get((), 0)
            if factor > 0:
                low = max(low, -(offset // factor))
            else:
                high = min(high, offset // -factor)
    return low, high


def _decided(left: Dimension, relation: str, right: DimensionSize, written: str = "") -> bool:
    """Say whether ``left >= right`` for all values of the variables.

    Raises:
      InconclusiveDimensionOperation: for some it is, for others not.
    """
    low, high = bounds(left - right)
    if low >= 0:
        return True
    if high < 0:
        return False
    shown = right - 1 if written in (">", "<=") else right
    asked = f"{left} {written or relation} {shown}"
    raise InconclusiveDimensionOperation(
        asked,
        details=(f"{left} lies between {_bounds_text(left)}.",),
        instead=(
            f"promise what holds: symbolic_shape(..., constraints=[{asked!r}])",
            "or export with concrete shapes",
        ),
    )


def _bounds_text(size: Dimension) -> str:
    low, high = ("infinity" if abs(end) == inf else f"{end:.0f}" for end in bounds(size))
    return f"{low} and {high}"
