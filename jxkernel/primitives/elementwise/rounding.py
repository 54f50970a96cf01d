"""Rounding of floating numbers, and their neighbours.  All are flat: derivatives are zero."""

import enum
from typing import Any

import numpy as np

from jxkernel.primitives.elementwise.families import (
    FLOATING,
    ZERO_DERIVATIVE,
    bind_binary,
    broadcast_values,
    lower_by_name,
    nary,
    unary,
)
from jxkernel.primitives.elementwise.formula import Formula, Scope
from jxkernel.primitives.reference import untyped_numpy
from jxkernel.runtime import ArrayLike

__all__ = [
    "RoundingMethod",
    "ceil",
    "ceil_p",
    "floor",
    "floor_p",
    "is_finite",
    "is_finite_p",
    "nextafter",
    "nextafter_p",
    "round",
    "round_p",
]

floor_p = unary("floor", FLOATING, lower="stablehlo.floor", reference=np.floor, jvp=ZERO_DERIVATIVE)


def floor(x: ArrayLike) -> Any:
    """Return the greatest integer ≤ x, for floating dtypes.  StableHLO ``floor``.

    Args:
      x: an array of a floating dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    The derivative is zero, at integers too.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.floor(jnp.array([1.2, -1.2])).tolist()
    [1.0, -2.0]
    """
    return floor_p.bind(x)


ceil_p = unary("ceil", FLOATING, lower="stablehlo.ceil", reference=np.ceil, jvp=ZERO_DERIVATIVE)


def ceil(x: ArrayLike) -> Any:
    """Return the least integer ≥ x, for floating dtypes.  StableHLO ``ceil``.

    Args:
      x: an array of a floating dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    The derivative is zero, at integers too.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.ceil(jnp.array([1.2, -1.2])).tolist()
    [2.0, -1.0]
    """
    return ceil_p.bind(x)


class RoundingMethod(enum.IntEnum):
    """How ``round`` treats numbers half-way between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


_ROUNDING = {
    RoundingMethod.AWAY_FROM_ZERO: "stablehlo.round_nearest_afz",
    RoundingMethod.TO_NEAREST_EVEN: "stablehlo.round_nearest_even",
}


def _round_lower(context: Any, x: Any, *, rounding_method: RoundingMethod) -> Any:
    return context.value(_ROUNDING[rounding_method], context.out_type, (x,))


def _round_reference(x: Any, *, rounding_method: RoundingMethod) -> Any:
    if rounding_method is RoundingMethod.TO_NEAREST_EVEN:
        return untyped_numpy.round(x)
    whole = np.trunc(x)
    return untyped_numpy.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole)


round_p = unary(
    "round", FLOATING, lower=_round_lower, reference=_round_reference, jvp=ZERO_DERIVATIVE
)


def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """Return the integer nearest to x, for floating dtypes.

    Args:
      x: an array of a floating dtype.
      rounding_method: where 0.5 goes: away from zero (1.0), or to the nearest even number (0.0).

    Raises:
      TypeError: the operand has another dtype.

    The derivative is zero, at integers too.  StableHLO ``round_nearest_afz`` or
    ``round_nearest_even``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.round(jnp.array([0.5, 1.5, -2.4])).tolist()
    [1.0, 2.0, -2.0]
    >>> lax.round(jnp.array([0.5, 1.5, -2.4]), lax.RoundingMethod.TO_NEAREST_EVEN).tolist()
    [0.0, 2.0, -2.0]
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


is_finite_p = unary(
    "is_finite",
    FLOATING,
    lower="stablehlo.is_finite",
    reference=np.isfinite,
    jvp=ZERO_DERIVATIVE,
    result_dtype=lambda dtype: np.dtype(np.bool_),
)


def is_finite(x: ArrayLike) -> Any:
    """Return whether x is finite: neither infinite nor NaN.  StableHLO ``is_finite``.

    Args:
      x: an array of a floating dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.is_finite(jnp.array([1.0, jnp.inf, jnp.nan])).tolist()
    [True, False, False]
    """
    return is_finite_p.bind(x)


_BITS = {2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}


def _nextafter_lower(context: Any, *values: Any) -> Any:
    """Append the neighbour of a number by its bits: XLA compares denormal numbers as zeros."""
    aval = context.avals_out[0]
    if aval.dtype.itemsize not in _BITS:
        return lower_by_name("chlo.next_after")(context, *values)
    whole, scope = _BITS[aval.dtype.itemsize], Scope(context, aval.shape)
    least = np.iinfo(whole).min
    x, y = (Formula(scope, v, aval.dtype) for v in broadcast_values(context, values))
    bits = [scope.apply("stablehlo.bitcast_convert", (v,), whole) for v in (x, y)]
    # As the numbers are ordered, with one place for both zeros; both ways it is its own inverse.
    here, there = ((b < 0).where(least - b, b, b) for b in bits)
    place = (here < there).where(here + 1, here - 1, here)
    step = (place < 0).where(least - place, place, place)
    step = (place.equals(0) & (here < 0)).where(least, step, step)
    step = here.equals(there).where(bits[1], step, step)
    value = scope.apply("stablehlo.bitcast_convert", (step,), aval.dtype)
    return (x.is_nan() | y.is_nan()).where(x + y, value, value).value


nextafter_p = nary(
    "nextafter",
    (FLOATING, FLOATING),
    lower=_nextafter_lower,
    reference=np.nextafter,
    # One step away from x1 moves as x1 does.
    jvp=(lambda t, x1, x2, y: t, None),
)


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Any:
    """Return the representable number after x1 in the direction of x2.

    The derivative is 1 in x1 and 0 in x2.

    Args:
      x1: an array of a floating dtype, or a number.
      x2: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    By the numbers' bits, denormal numbers included; of 8 bits CHLO ``next_after``.

    >>> from jxkernel import lax
    >>> (lax.nextafter(1.0, 2.0) - 1.0).item() == 2.0**-23
    True
    """
    return bind_binary(nextafter_p, x1, x2)
