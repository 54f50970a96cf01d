"""Polynomials as vectors of coefficients, the highest power first."""

from functools import reduce
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.trace import is_unknown
from jxkernel.numpy.convolutions import convolve
from jxkernel.numpy.creation import asarray, full_like, ones, zeros
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.joining import concatenate
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_shapes,
    broadcast_to_shape,
    cast,
    inexact_dtype,
    promote_dtypes,
)
from jxkernel.numpy.shapes import ravel
from jxkernel.primitives.arguments import whole_number
from jxkernel.primitives.elementwise.arithmetic import add, mul
from jxkernel.primitives.elementwise.identity import stop_gradient
from jxkernel.primitives.indexing.slicing import index_in_dim
from jxkernel.primitives.shape.broadcast import broadcast_in_dim

__all__ = [
    "polyadd",
    "polyder",
    "polydiv",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
]


def _vector(name: str, p: Any) -> Any:
    """Return coefficients as a vector.

    Raises:
      ValueError: the rank is above 1.
    """
    if argument_aval(name, p).ndim > 1:
        raise ValueError(f"{name} takes vectors of coefficients, got shape {np.shape(p)}")
    return ravel(asarray(p))


def _aligned(name: str, a1: Any, a2: Any) -> list[Any]:
    """Return polynomials of one degree and dtype, zeros put in front of those of lower degree.

    Several stand side by side, in arrays of one rank: coefficients along the first axis.
    """
    if argument_aval(name, a1).ndim != argument_aval(name, a2, 1).ndim or np.ndim(a1) < 2:
        a1, a2 = _vector(name, a1), _vector(name, a2)
    both = [asarray(p) for p in promote_dtypes(name, a1, a2)]
    size = max(p.shape[0] for p in both)
    return [
        concatenate([full_like(p, 0, shape=(size - p.shape[0], *p.shape[1:])), p]) for p in both
    ]


def polyadd(a1: Any, a2: Any) -> Any:
    """Return the sum of two polynomials.

    Args:
      a1: a vector of coefficients, the highest power first; or several along further axes.
      a2: likewise.

    >>> jnp.polyadd(jnp.array([1, 2]), jnp.array([5, 0, 1]))
    Array([5, 1, 3], dtype=int32)
    """
    first, second = _aligned("polyadd", a1, a2)
    return first + second


def polysub(a1: Any, a2: Any) -> Any:
    """Return the difference of two polynomials.

    Args:
      a1: a vector of coefficients, the highest power first; or several along further axes.
      a2: likewise.

    >>> jnp.polysub(jnp.array([5, 0, 1]), jnp.array([1, 2]))
    Array([ 5, -1, -1], dtype=int32)
    """
    first, second = _aligned("polysub", a1, a2)
    return first - second


def _trimmed(p: Any) -> Any:
    """Return coefficients without leading zeros; their values are known now."""
    if is_unknown(p):
        raise ValueError("trim_leading_zeros needs values known now: leave it False while traced")
    places = np.flatnonzero(np.asarray(stop_gradient(p)))
    return p[int(places[0]) :] if places.size else p[-1:]


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """Return the product of two polynomials.

    Args:
      a1: coefficients.
      a2: coefficients.
      trim_leading_zeros: whether to drop zeros in front of the arguments first.

    >>> jnp.polymul(jnp.array([1, 2]), jnp.array([1, 3]))
    Array([1., 5., 6.], dtype=float32)
    """
    first, second = promote_dtypes("polymul", _vector("polymul", a1), _vector("polymul", a2))
    if trim_leading_zeros and (first.size > 1 or second.size > 1):
        first, second = _trimmed(first), _trimmed(second)
    return convolve(
        first if first.size else zeros(1, first.dtype),
        second if second.size else zeros(1, second.dtype),
    )


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """Return quotient and remainder of two polynomials.

    Args:
      u: coefficients of the dividend.
      v: coefficients of the divisor.
      trim_leading_zeros: whether to drop zeros in front of the remainder.

    >>> quotient, remainder = jnp.polydiv(jnp.array([1.0, 0.0, -4.0]), jnp.array([1.0, 2.0]))
    >>> quotient.tolist(), remainder.tolist()
    ([1.0, -2.0], [0.0, 0.0, 0.0])
    """
    first, second = promote_dtypes("polydiv", _vector("polydiv", u), _vector("polydiv", v))
    weak = first.aval.weak_type
    dtype = inexact_dtype(first.dtype)
    quotient, rest = _divided(cast(first, dtype), cast(second, dtype))
    rest = cast(rest, dtype, weak)
    return quotient, _trimmed(rest) if trim_leading_zeros else rest


@fused(name="polydiv")
def _divided(u: Any, v: Any) -> tuple[Any, Any]:
    steps = u.size - v.size + 1
    if steps < 1:
        return zeros(1, u.dtype), u
    parts: list[Any] = []
    rest = u
    for place in range(steps):
        factor = rest[place] / v[0]
        parts.append(factor.reshape(1))
        rest = rest.at[place : place + v.size].add(-factor * v)
    # What the quotient has taken out is 0 by construction; rounding may say otherwise.
    return concatenate(parts), rest.at[:steps].set(0)


def polyder(p: Any, m: int = 1) -> Any:
    """Return the derivative of a polynomial.

    Args:
      p: coefficients.
      m: how often to differentiate.

    Raises:
      ValueError: ``m`` is negative.

    >>> jnp.polyder(jnp.array([3, 2, 1]))
    Array([6., 2.], dtype=float32)
    """
    order = whole_number("polyder", "m", m)
    if order < 0:
        raise ValueError(f"polyder got m={order}: it is not negative")
    p = _vector("polyder", p)
    p = cast(p, inexact_dtype(p.dtype))
    if not order:
        return p
    powers = np.arange(p.size)[::-1]
    factors = np.ones(p.size)
    for step in range(order):
        factors *= powers - step
    return p[:-order] * factors[:-order].astype(p.dtype) if order else p


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """Return the integral of a polynomial.

    Args:
      p: coefficients.
      m: how often to integrate.
      k: the constants of integration, one or one for each time; 0 where not given.

    Raises:
      ValueError: ``m`` is negative, or there are not as many constants.

    >>> jnp.polyint(jnp.array([6, 2]), k=5)
    Array([3., 2., 5.], dtype=float32)
    """
    order = whole_number("polyint", "m", m)
    if order < 0:
        raise ValueError(f"polyint got m={order}: it is not negative")
    p = _vector("polyint", p)
    constants = zeros(order, p.dtype) if k is None else ravel(asarray(k))
    if constants.size == 1 and order != 1:
        constants = constants * ones(order, constants.dtype)
    if constants.size != order:
        raise ValueError(f"polyint got {constants.size} constants for m={order}")
    p, constants = promote_dtypes("polyint", p, constants)
    dtype = inexact_dtype(p.dtype)
    p, constants = cast(p, dtype), cast(constants, dtype)
    for step in range(order):
        divisors = np.arange(p.size, 0, -1).astype(dtype)
        p = concatenate([p / divisors, constants[step : step + 1]])
    return p


@fused(static=("unroll",), name="polyval")
def polyval(p: Any, x: Any, *, unroll: int | None = None) -> Any:
    """Return the values of a polynomial, by Horner's rule.

    A polynomial of one coefficient is this coefficient, at infinities and NaN too.

    Args:
      p: coefficients along the first axis, the highest power first; further axes broadcast with
        those of ``x``.
      x: where to evaluate.
      unroll: accepted; the rule is written out.

    >>> jnp.polyval(jnp.array([2, 0, 1]), jnp.array([0, 3]))
    Array([ 1, 19], dtype=int32)
    """
    p, x = promote_dtypes("polyval", p, x)
    if np.ndim(p) == 0:
        raise ValueError("polyval takes a vector of coefficients, got shape ()")
    shape = broadcast_shapes(np.shape(p)[1:], np.shape(x))
    x = broadcast_to_shape(x, shape)
    parts = [index_in_dim(p, place, 0, keepdims=False) for place in range(np.shape(p)[0])]
    parts = [broadcast_to_shape(part, shape) for part in parts]
    if not parts:
        return broadcast_in_dim(dtypes.dtype(p).type(0), shape, ())
    return reduce(lambda result, part: add(mul(result, x), part), parts)
