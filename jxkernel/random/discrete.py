"""Discrete distributions: coins, integers, categories, permutations and choices.

None of the results has a derivative.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.creation import canonical_shape, placed
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_shapes,
    broadcast_to_shape,
    cast,
    inexact_dtype,
)
from jxkernel.primitives.arguments import canonical_axis
from jxkernel.primitives.elementwise import arithmetic as ops
from jxkernel.primitives.elementwise.bits import bitwise_and
from jxkernel.primitives.elementwise.compare import eq, gt, le, lt
from jxkernel.primitives.elementwise.exponential import log as logarithm
from jxkernel.primitives.elementwise.exponential import log1p
from jxkernel.primitives.elementwise.rounding import floor
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.indexing.slicing import index_in_dim
from jxkernel.primitives.reduction.reduce import argmax
from jxkernel.random.continuous import fine_gumbel, finely, several, standard_gumbel
from jxkernel.random.drawing import joint_shape, random_bits, uniform_floats
from jxkernel.random.keys import checked_key_data
from jxkernel.runtime import ArrayLike

__all__ = [
    "bernoulli",
    "categorical",
    "geometric",
    "rademacher",
    "randint",
]

Shape = tuple[int, ...]


def integer_dtype(name: str, dtype: DTypeLike, error: type[Exception] = ValueError) -> Any:
    """Return the canonical dtype of a distribution of integers.

    Raises:
      ValueError: it is not an integer dtype (or the class ``error``).
    """
    if dtype is None or dtype is int:
        return dtypes.default_int_dtype()
    found = dtypes.check_and_canonicalize_user_dtype(dtype, f"random.{name}")
    if found not in dtypes.INTEGRAL:
        raise error(f"random.{name} makes integers, got dtype {found.name}")
    return found


@fused(static=("name", "shape", "fine"), name="bernoulli")
def _bernoulli(key_data: Any, p: Any, name: str, shape: Shape, fine: bool) -> Any:
    dtype = inexact_dtype(argument_aval("bernoulli", p).dtype)
    if fine:
        # A second uniform number fills the places below the first one's last.
        pair = uniform_floats(key_data, name, (2, *shape), dtype)
        first, second = (index_in_dim(pair, i, 0, keepdims=False) for i in range(2))
        second = ops.mul(second, 2.0 ** -dtypes.finfo(dtype).nmant)
        return lt(second, ops.sub(broadcast_to_shape(cast(p, dtype), shape), first))
    drawn = uniform_floats(key_data, name, shape, dtype)
    return lt(drawn, broadcast_to_shape(cast(p, dtype), shape))


def bernoulli(
    key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low", *, out_sharding: Any = None
) -> Any:
    """Return booleans that are true with a given probability.

    Args:
      key: a key.
      p: the probability, a number or array.
      shape: the result's shape; that of ``p`` where not given.
      mode: ``"low"`` for one word of bits each, or ``"high"`` for two, which resolve probabilities
        near 0.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      TypeError: ``p`` is complex.
      ValueError: there is no such mode.

    >>> from jxkernel import random
    >>> random.bernoulli(random.key(0), 1.0, (2,))
    Array([ True,  True], dtype=bool)
    """
    fine = finely("bernoulli", mode)
    key_data, generator = checked_key_data("bernoulli", key)
    if argument_aval("random.bernoulli", p, 1).dtype in dtypes.COMPLEX:
        raise TypeError("random.bernoulli takes real probabilities")
    return placed(
        "random.bernoulli",
        _bernoulli(key_data, p, generator.name, joint_shape("bernoulli", shape, p), fine),
        None,
        out_sharding,
    )


@fused(static=("name", "shape", "dtype"), name="rademacher")
def _rademacher(key_data: Any, name: str, shape: Shape, dtype: Any) -> Any:
    chosen = lt(uniform_floats(key_data, name, shape, dtypes.default_float_dtype()), 0.5)
    return ops.sub(ops.mul(cast(chosen, dtype), 2), 1)


def rademacher(
    key: Any, shape: int | Sequence[int] = (), dtype: DTypeLike = None, *, out_sharding: Any = None
) -> Any:
    """Return -1 or 1, each with probability one half.

    Args:
      key: a key.
      shape: the result's shape.
      dtype: a signed dtype; the default integers where not given.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      TypeError: ``dtype`` is bool, which has no -1.

    >>> from jxkernel import random
    >>> set(random.rademacher(random.key(0), (50,)).tolist()) == {-1, 1}
    True
    """
    key_data, generator = checked_key_data("rademacher", key)
    if dtype is None or dtype is int:
        found = dtypes.default_int_dtype()
    else:
        found = dtypes.check_and_canonicalize_user_dtype(dtype, "random.rademacher")
    if found == np.bool_:
        raise TypeError("rademacher gives -1 and 1, which bool does not have: use bernoulli")
    sizes = canonical_shape(shape, "random.rademacher")
    return placed(
        "random.rademacher", _rademacher(key_data, generator.name, sizes, found), None, out_sharding
    )


# ---------------------------------------------------------------- integers


@fused(static=("name", "shape", "dtype"), name="randint")
def _randint(key_data: Any, low: Any, high: Any, name: str, shape: Shape, dtype: Any) -> Any:
    """Reduce two draws of bits to the span: h · 2ⁿ + l, modulo the span.

    With twice as many bits as the span has, the least and the most frequent result differ in
    probability by no more than 2⁻ⁿ.  Narrow dtypes draw 32 bits, so that the numbers are
    those of int32.
    """
    own = dtypes.itemsize_bits(dtype)
    width = max(own, 32)
    least, most = dtypes.iinfo(dtype).min, dtypes.iinfo(dtype).max
    beyond = _exceeds(high, most)
    low, high = (broadcast_to_shape(_clipped(x, least, most, dtype), shape) for x in (low, high))
    unsigned = np.dtype(f"uint{width}")
    span = cast(cast(ops.sub(high, low), np.dtype(f"uint{own}")), unsigned)
    span = select(le(high, low), 1, span)
    if beyond is not None:
        beyond = broadcast_to_shape(beyond, shape)
        span = select(bitwise_and(beyond, gt(high, low)), ops.add(span, 1), span)
    upper, lower = (random_bits(key, name, width, shape) for key in several(key_data, name))
    power = ops.rem(unsigned.type(2 ** (width // 2)), span)
    power = ops.rem(ops.mul(power, power), span)
    offset = ops.add(ops.mul(ops.rem(upper, span), power), ops.rem(lower, span))
    return ops.add(low, cast(ops.rem(offset, span), dtype))


def _exceeds(high: Any, most: int) -> Any:
    """Return whether a bound lies past the dtype's end, so that its greatest value may come."""
    aval = argument_aval("randint", high)
    if int(dtypes.iinfo(aval.dtype).max) <= most:
        return None
    return gt(high, aval.dtype.type(most))


def _clipped(x: Any, least: int, most: int, dtype: Any) -> Any:
    """Return a bound within a dtype, and in it."""
    own = argument_aval("randint", x).dtype
    info = dtypes.iinfo(own)
    x = cast(x, own)
    if int(info.min) < least:
        x = ops.max(x, own.type(least))
    if int(info.max) > most:
        x = ops.min(x, own.type(most))
    return cast(x, dtype)


def randint(
    key: Any,
    shape: int | Sequence[int],
    minval: Any,
    maxval: ArrayLike,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return random integers, uniform from ``minval`` up to, not including, ``maxval``.

    Args:
      key: a key.
      shape: the result's shape.
      minval: the least, an integer or an array that broadcasts to the shape; floats lose their
        fractions.
      maxval: the bound, likewise; where it is not above ``minval`` the result is ``minval``.
      dtype: an integer dtype; a bound past its end stands for the end.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      TypeError: a bound is boolean or complex, or ``dtype`` is no integer dtype.

    >>> from jxkernel import random
    >>> bool((random.randint(random.key(0), (100,), 0, 6) < 6).all())
    True
    """
    key_data, generator = checked_key_data("randint", key)
    found = integer_dtype("randint", dtype, TypeError)
    low, high = _bound(minval), _bound(maxval)
    sizes = joint_shape("randint", shape, low, high)
    result = _randint(key_data, low, high, generator.name, sizes, found)
    return placed("random.randint", result, None, out_sharding)


def _bound(x: Any) -> Any:
    """Return a bound as an integer; a Python one as wide as it needs."""
    if isinstance(x, int):
        x = int(x)  # a boolean counts as a number
        # C++ narrows 64-bit NumPy numbers, so a bound past the default dtype becomes unsigned.
        most = int(dtypes.iinfo(dtypes.default_int_dtype()).max)
        return np.uint32(x) if most < x < 2**32 else x
    aval = argument_aval("random.randint", x)
    if aval.dtype in dtypes.FLOATING:
        return _bound(int(x)) if isinstance(x, float) else cast(x, dtypes.default_int_dtype())
    if aval.dtype == np.bool_:
        return cast(x, dtypes.default_int_dtype())
    if aval.dtype not in dtypes.INTEGRAL:
        raise TypeError(f"random.randint takes integer bounds, got dtype {aval.dtype.name}")
    return x


# ---------------------------------------------------------------- categories


@fused(static=("name", "axis", "shape", "fine"), name="categorical")
def _categorical(key_data: Any, logits: Any, name: str, axis: int, shape: Shape, fine: bool) -> Any:
    """Return the place of the greatest of the logits with Gumbel noise added."""
    aval = argument_aval("categorical", logits)
    dtype = inexact_dtype(aval.dtype)
    rest = len(shape) - (aval.ndim - 1)
    place = axis + rest
    whole = (*shape[:place], aval.shape[axis], *shape[place:])
    noise = (fine_gumbel if fine else standard_gumbel)(key_data, name, whole, dtype)
    total = ops.add(noise, broadcast_to_shape(cast(logits, dtype), whole))
    return argmax(total, place, dtypes.default_int_dtype())


@fused(static=("name", "axis", "prefix", "fine"), name="categorical")
def _distinct(key_data: Any, logits: Any, name: str, axis: int, prefix: Shape, fine: bool) -> Any:
    """Return the places of the greatest noisy logits: a draw without replacement."""
    dtype = inexact_dtype(argument_aval("categorical", logits).dtype)
    draw = fine_gumbel if fine else standard_gumbel
    total = ops.add(draw(key_data, name, np.shape(logits), dtype), cast(logits, dtype))
    order = jnp.argsort(-total, axis)
    first = jnp.moveaxis(order, axis, 0)[: prod(prefix)]
    return first.reshape((*prefix, *first.shape[1:])).astype(np.int32)


def categorical(
    key: Any,
    logits: Any,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return random positions along an axis, with probabilities in proportion to exp(logits).

    Args:
      key: a key.
      logits: logarithms of the probabilities, up to a constant.
      axis: the axis of the categories.
      shape: the result's shape, which ends in that of ``logits`` without the axis.
      replace: whether a category may be drawn again along the shape's leading axes.
      mode: ``"low"``, the default, or ``"high"``; see ``gumbel``.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      ValueError: the shape does not end so, there are not enough categories to draw without
        replacement, or there is no such mode.

    >>> import jxkernel as jx
    >>> jx.random.categorical(jx.random.key(0), jx.numpy.array([0.0, 100.0]))
    Array(1, dtype=int32)
    """
    fine = finely("categorical", mode)
    key_data, generator = checked_key_data("categorical", key)
    aval = argument_aval("random.categorical", logits, 1)
    place = canonical_axis("random.categorical", axis, aval.ndim)
    own = (*aval.shape[:place], *aval.shape[place + 1 :])
    sizes = own if shape is None else canonical_shape(shape, "random.categorical")
    if (
        len(sizes) < len(own)
        or broadcast_shapes(sizes[len(sizes) - len(own) :], own) != sizes[len(sizes) - len(own) :]
    ):
        raise ValueError(f"random.categorical got shape {sizes}, which does not end in {own}")
    if replace:
        return placed(
            "random.categorical",
            _categorical(key_data, logits, generator.name, place, sizes, fine),
            None,
            out_sharding,
        )
    prefix = sizes[: len(sizes) - len(own)]
    if prod(prefix) > aval.shape[place]:
        raise ValueError(
            f"random.categorical cannot draw {prod(prefix)} of {aval.shape[place]} categories "
            "without replacement"
        )
    return placed(
        "random.categorical",
        _distinct(key_data, logits, generator.name, place, prefix, fine),
        None,
        out_sharding,
    )


# ---------------------------------------------------------------- waiting times


@fused(static=("name", "shape", "dtype"), name="geometric")
def _geometric(key_data: Any, p: Any, name: str, shape: Shape, dtype: Any) -> Any:
    float_kind = inexact_dtype(argument_aval("geometric", p).dtype)
    drawn = uniform_floats(key_data, name, shape, float_kind)
    drawn = select(eq(drawn, 0), 1, drawn)
    rate = log1p(ops.neg(broadcast_to_shape(cast(p, float_kind), shape)))
    return cast(ops.add(floor(ops.div(logarithm(drawn), rate)), 1), dtype)


def geometric(
    key: Any, p: Any, shape: Any = None, dtype: DTypeLike = None, *, out_sharding: Any = None
) -> Any:
    """Return the numbers of trials up to the first success, at least 1.

    Args:
      key: a key.
      p: the probability of success, a number or array in (0, 1].
      shape: the result's shape; that of ``p`` where not given.
      dtype: an integer dtype.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    >>> from jxkernel import random
    >>> x = random.geometric(random.key(0), 0.3, (5,))
    >>> x.shape, bool((x >= 1).all())
    ((5,), True)
    """
    key_data, generator = checked_key_data("geometric", key)
    sizes = joint_shape("geometric", shape, p)
    return placed(
        "random.geometric",
        _geometric(key_data, p, generator.name, sizes, integer_dtype("geometric", dtype)),
        None,
        out_sharding,
    )
