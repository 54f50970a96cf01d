"""Bessel functions, by their recurrences."""

from math import factorial
from typing import Any

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.api.control_flow.looping import fori_loop
from jxkernel.api.custom.derivatives import custom_jvp
from jxkernel.api.derivatives.autodiff import jvp
from jxkernel.core.jaxpr import Value
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import inexact_dtype
from jxkernel.primitives.elementwise import special as ops
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special.elementwise import computed, polynomial, unary_function

__all__ = ["bessel_jn", "i0", "i0e", "i1", "i1e"]

_floating: dict[str, Any] = {"ready": dtypes.FLOATING, "rule": inexact_dtype}

i0e = unary_function(
    "i0e",
    ops.bessel_i0e,
    """Return exp(-|x|) I₀(x), the scaled modified Bessel function of order 0.

    Args:
      x: a real array; integers become floating.

    >>> from jxkernel.scipy import special
    >>> special.i0e(0.0)
    Array(1.0000001, dtype=float32, weak_type=True)
    """,
    **_floating,
)
i1e = unary_function(
    "i1e",
    ops.bessel_i1e,
    """Return exp(-|x|) I₁(x), the scaled modified Bessel function of order 1.

    Args:
      x: a real array; integers become floating.

    >>> from jxkernel.scipy import special
    >>> special.i1e(0.0)
    Array(0., dtype=float32, weak_type=True)
    """,
    **_floating,
)


def _grown(x: Value, scaled: Value) -> Value:
    """Return exp(|x|) times a number, which may be in range where the exponential is not."""
    half = jnp.exp(abs(x) / 2)
    return half * (half * scaled)


def _finite(x: Value) -> Value:
    """Return x, and the greatest number in place of infinity: scaled functions are not 0 there."""
    greatest = float(dtypes.finfo(x.dtype).max)
    return jnp.clip(x, -greatest, greatest)


@custom_jvp
def _i0(x: Value) -> Value:
    return _grown(x, ops.bessel_i0e(_finite(x)))


@custom_jvp
def _i1(x: Value) -> Value:
    return _grown(x, ops.bessel_i1e(_finite(x)))


_I2 = tuple(1 / (4 ** (k + 1) * factorial(k) * factorial(k + 2)) for k in range(9))


@custom_jvp
def _i2(x: Value) -> Value:
    """Return I₂(x): I₀(x) - 2/x I₁(x), and below 1 its power series (DLMF 10.29.1, 10.25.2)."""
    near = abs(x) < 1
    far = _finite(jnp.where(near, 1, x))
    return jnp.where(near, _near_i2(jnp.where(near, x, 0)), _grown(x, _scaled_i2(far)))


def _near_i2(x: Value) -> Value:
    square = x * x
    return square * polynomial(square, _I2)


def _scaled_i2(x: Value) -> Value:
    return ops.bessel_i0e(x) - 2 * ops.bessel_i1e(x) / x


def _i2_slope(x: Value) -> Value:
    """Return I₁(x) - 2/x I₂(x), which is made of scaled functions: infinities would cancel."""
    near = abs(x) < 1
    little = jvp(_near_i2, (jnp.where(near, x, 0),), (jnp.ones_like(x),))[1]
    far = _finite(jnp.where(near, 1, x))
    scaled = ops.bessel_i1e(far) - 2 * _scaled_i2(far) / far
    return jnp.where(near, little, _grown(x, scaled))


# DLMF 10.29.1 to 10.29.3.
_i2.defjvps(lambda t, y, x: t * _i2_slope(x))
_i0.defjvps(lambda t, y, x: t * _i1(x))
_i1.defjvps(lambda t, y, x: t * (0.5 * _i0(x) + 0.5 * _i2(x)))


@fused
def i0(x: ArrayLike) -> Any:
    """Return I₀(x), the modified Bessel function of the first kind and order 0.

    Args:
      x: a real array; integers become floating.

    Infinite where it is beyond the dtype.  The derivative is I₁(x).  Source: DLMF 10.25.

    >>> from jxkernel.scipy import special
    >>> special.i0(0.0)
    Array(1.0000001, dtype=float32, weak_type=True)
    """
    return computed("i0", _i0, x, weakly=True)


@fused
def i1(x: ArrayLike) -> Any:
    """Return I₁(x), the modified Bessel function of the first kind and order 1.

    Args:
      x: a real array; integers become floating.

    Infinite where it is beyond the dtype.  The derivative is (I₀(x) + I₂(x))/2.

    Source: DLMF 10.25.

    >>> from jxkernel.scipy import special
    >>> special.i1(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return computed("i1", _i1, x, weakly=True)


def _downward(z: Any, v: int, count: int) -> Any:
    """Return J₀ to Jᵥ by Miller's algorithm: down from an order where J is negligible.

    Jₖ₋₁ = 2k/z Jₖ - Jₖ₊₁, and J₀ + 2 (J₂ + J₄ + ...) = 1 gives the scale (DLMF 3.6(vi), 10.12.4).
    Values are scaled down whenever they grow large.
    """
    tiny = float(dtypes.finfo(z.dtype).tiny) ** 0.5
    safe = jnp.where(abs(z) < 1e-3, 1, z)
    zero = jnp.zeros_like(z)
    rows = jnp.arange(v + 1).reshape(-1, *[1] * z.ndim)

    def step(i: Any, state: Any) -> Any:
        after, current, total, kept = state
        k = count - i
        kept = jnp.where(rows == k, current, kept)
        total = total + jnp.where(k % 2 == 0, 2 * current, 0)
        after, current = current, 2 * k / safe * current - after
        scale = jnp.where(abs(current) > 1e10, 1e-10, 1.0).astype(z.dtype)
        return after * scale, current * scale, total * scale, kept * scale

    start = (zero, zero + tiny, zero, jnp.zeros((v + 1, *z.shape), z.dtype))
    _, current, total, kept = fori_loop(0, count, step, start)
    return jnp.where(rows == 0, current, kept) / (total + current)


def _near_zero(z: Any, v: int) -> Any:
    """Return the first two terms of each power series, for |z| < 1e-3 (DLMF 10.2.2)."""
    half = z / 2
    rows = [jnp.ones_like(z)]
    for k in range(1, v + 1):
        rows.append(rows[-1] * half / k)
    return jnp.stack([row * (1 - half * half / (k + 1)) for k, row in enumerate(rows)])


@fused(static=("v", "n_iter"), name="bessel_jn")
def _bessel_jn(z: Any, v: int, n_iter: int) -> Any:
    def compute(z: Any) -> Any:
        near = abs(z) < 1e-3
        return jnp.where(near, _near_zero(jnp.where(near, z, 0), v), _downward(z, v, n_iter))

    return computed("bessel_jn", compute, z)


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Any:
    """Return the Bessel functions of the first kind of orders 0 to v.

    Args:
      z: a real array.
      v: the last order, a known integer.
      n_iter: the order at which the downward recurrence starts; it must lie well above v and |z|.

    Returns:
      an array with one more leading axis, of size v + 1.

    Raises:
      ValueError: ``v`` is negative, or ``n_iter`` not above it.

    Source: J. Miller's algorithm, DLMF 3.6(vi).

    >>> from jxkernel.scipy import special
    >>> special.bessel_jn(1.0, v=1).round(4)
    Array([0.76519996, 0.44009998], dtype=float32)
    """
    if v < 0:
        raise ValueError(f"bessel_jn takes an order v ≥ 0, got {v}")
    if n_iter <= v:
        raise ValueError(f"bessel_jn starts above v: got n_iter={n_iter} with v={v}")
    return _bessel_jn(z, v, n_iter)
