"""Floating numbers in parts: mantissas, exponents, and distances to the next number."""

from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.logic import isfinite
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_shapes,
    broadcast_to_shape,
    cast,
    dtype_of,
    promote_inexact,
    refuse_complex,
)
from jxkernel.numpy.ufuncs import inexact, unary_function
from jxkernel.primitives.creation import full_like
from jxkernel.primitives.elementwise import bits, rounding
from jxkernel.primitives.elementwise.arithmetic import add, clamp, mul, neg, sub
from jxkernel.primitives.elementwise.compare import eq, gt, lt
from jxkernel.primitives.elementwise.complex import abs as modulus
from jxkernel.primitives.elementwise.convert import bitcast_convert_type
from jxkernel.primitives.elementwise.select import select

__all__ = ["frexp", "ldexp", "spacing"]


def _layout(dtype: Any) -> tuple[Any, int, int]:
    """Return the integer dtype as wide as a float, its mantissa's bits and its exponent's bias."""
    bits, mantissa = dtypes.itemsize_bits(dtype), dtypes.finfo(dtype).nmant
    return np.dtype(f"int{bits}"), mantissa, 2 ** (bits - mantissa - 2) - 1


@fused
def frexp(x: Any, /) -> Any:
    """Return the pair (m, n) with x = m · 2ⁿ and 0.5 ≤ |m| < 1; (x, 0) for 0, NaN, infinities.

    Raises:
      TypeError: x is complex.

    The derivative of m is 2⁻ⁿ, and 0 where x is subnormal; n is an int32 array.

    >>> m, n = jnp.frexp(jnp.array([6.0, 0.25]))
    >>> m.tolist(), n.tolist()
    ([0.75, 0.5], [3, -1])
    """
    (x,) = promote_inexact("frexp", x)
    dtype = dtype_of(x)
    refuse_complex("frexp", dtype)
    integers, mantissa, bias = _layout(dtype)
    stored = bitcast_convert_type(x, integers)
    size = bits.bitwise_and(stored, dtypes.iinfo(integers).max)
    small = lt(size, 1 << mantissa)
    # Arithmetic takes subnormal numbers for zeros, but what is stored counts their unit.
    counted = cast(size, dtype)
    normal = select(small, select(lt(stored, 0), neg(counted), counted), x)
    exponent = bits.shift_right_logical(bitcast_convert_type(normal, integers), mantissa)
    exponent = sub(bits.bitwise_and(exponent, 2 * bias + 1), bias - 1)
    special = bits.bitwise_or(eq(size, 0), bits.bitwise_not(isfinite(x)))
    scaled = _scaled(normal, cast(neg(exponent), np.dtype(np.int32)))
    unit = cast(select(small, integers.type(bias - 1 + mantissa), integers.type(0)), np.dtype("i4"))
    exponent = sub(cast(exponent, np.dtype(np.int32)), unit)
    return select(special, x, scaled), select(special, 0, exponent)


def _scaled(x: Any, n: Any) -> Any:
    """Return x · 2ⁿ in three steps, so that no power leaves the range of normal numbers."""
    dtype = dtype_of(x)
    integers, mantissa, bias = _layout(dtype)
    for _ in range(3):
        step = clamp(np.int32(1 - bias), n, np.int32(bias))
        n = sub(n, step)
        power = bits.shift_left(cast(add(step, bias), integers), mantissa)
        x = mul(x, bitcast_convert_type(power, dtype))
    return x


@fused
def ldexp(x1: Any, x2: Any, /) -> Any:
    """Return x1 · 2^x2, where x2 is an integer array.

    Raises:
      TypeError: ``x2`` is not of an integer dtype, or ``x1`` is complex.

    Linear in ``x1``.

    >>> jnp.ldexp(jnp.array([0.75, 0.5]), jnp.array([3, -1]))
    Array([6.  , 0.25], dtype=float32)
    """
    exponent = argument_aval("ldexp", x2, 1)
    if exponent.dtype not in dtypes.INTEGRAL and exponent.dtype != np.bool_:
        raise TypeError(f"ldexp takes integers as exponents, got dtype {exponent.dtype.name}")
    (x,) = promote_inexact("ldexp", x1)
    refuse_complex("ldexp", dtype_of(x))
    shape = broadcast_shapes(np.shape(x), exponent.shape)
    n = _exponent(x2, exponent.dtype, _layout(dtype_of(x))[2])
    return _scaled(broadcast_to_shape(x, shape), broadcast_to_shape(n, shape))


def _exponent(n: Any, dtype: Any, bias: int) -> Any:
    """Return an exponent in 32 bits: one that they do not hold is as good as the nearest."""
    if dtypes.itemsize_bits(dtype) < 32:
        return cast(n, np.dtype(np.int32))
    low = -4 * bias if dtype.kind == "i" else 0
    return cast(clamp(dtype.type(low), cast(n, dtype), dtype.type(4 * bias)), np.dtype(np.int32))


def _spacing(x: Any) -> Any:
    dtype = dtype_of(x)
    refuse_complex("spacing", dtype)
    # Some dtypes of 8 bits have NaN in place of infinity: there the greatest number is farthest.
    far = dtypes.finfo(dtype).max if np.isnan(dtype.type(np.inf)) else np.inf
    away = sub(rounding.nextafter(modulus(x), far), modulus(x))
    # A device may take subnormal numbers as 0: such distances are one bit of the result.
    integers, mantissa, _ = _layout(dtype)
    size = bitcast_convert_type(modulus(x), integers)
    exponent = bits.shift_right_logical(size, mantissa)
    place = clamp(integers.type(0), sub(exponent, 1), integers.type(mantissa - 1))
    bit = bits.shift_left(full_like(place, 1), place)
    away = select(gt(exponent, mantissa), away, bitcast_convert_type(bit, dtype))
    negative = bits.bitwise_and(lt(bitcast_convert_type(x, integers), 0), gt(size, 0))
    return cast(select(negative, neg(away), away), dtype)


spacing = unary_function(
    "spacing",
    _spacing,
    "Return the distance from x to the next number away from 0.",
    example=("float(jnp.spacing(1.0)) == 2**-23", "True"),
    **inexact,
)
