"""Distributions of counts: Poisson, binomial and multinomial numbers.

None of the results has a derivative.
"""

from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.api.control_flow.scanning import scan
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.creation import placed, user_dtype
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_to_shape,
    cast,
    inexact_dtype,
    result_dtype,
)
from jxkernel.random.continuous import check_method
from jxkernel.random.discrete import integer_dtype
from jxkernel.random.drawing import float_dtype, joint_shape
from jxkernel.random.generators import GENERATORS
from jxkernel.random.keys import checked_key_data
from jxkernel.random.rejection import binomial_numbers, poisson_numbers, rounded_poisson_numbers
from jxkernel.runtime import ArrayLike

__all__ = ["binomial", "multinomial", "poisson"]

Shape = tuple[int, ...]


@fused(static=("name", "shape", "dtype", "exact"), name="poisson")
def _poisson(key_data: Any, rate: Any, name: str, shape: Shape, dtype: Any, exact: bool) -> Any:
    rate = broadcast_to_shape(cast(rate, np.dtype(np.float32)), shape)
    draw = poisson_numbers if exact else rounded_poisson_numbers
    return draw(key_data, name, rate, dtype)


def poisson(
    key: Any,
    lam: Any,
    shape: Any = None,
    dtype: DTypeLike = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """Return numbers of events of which ``lam`` are expected.

    Args:
      key: a key.
      lam: the rate, not negative: for others, and NaN, the result is -1.
      shape: the result's shape; that of ``lam`` where not given.
      dtype: an integer dtype; numbers past its end become its end.
      method: ``"exact"``, or ``"approximate"``: without trial and error, by an expansion about
        the normal distribution for rates above 10.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      ValueError: the dtype is not an integer one, the rates do not broadcast to the shape, or
        there is no such method.

    Sources: D. Knuth, The Art of Computer Programming 2, 3.4.1, below 10; W. Hörmann, "The
    transformed rejection method for generating Poisson random variables", 1993, above.

    >>> from jxkernel import random
    >>> random.poisson(random.key(0), 3.0, (2,)).dtype
    dtype('int32')
    """
    exact = check_method("poisson", method)
    key_data, generator = checked_key_data("poisson", key)
    sizes = joint_shape("poisson", shape, lam)
    return placed(
        "random.poisson",
        _poisson(key_data, lam, generator.name, sizes, integer_dtype("poisson", dtype), exact),
        None,
        out_sharding,
    )


def _working_dtype(name: str, *parameters: Any) -> Any:
    """Return the parameters' floating dtype, of 32 bits at least: float16 counts to 2048."""
    own = inexact_dtype(result_dtype(f"random.{name}", parameters)[0])
    return np.dtype(np.float32) if dtypes.itemsize_bits(own) < 32 else own


@fused(static=("name", "shape", "dtype"), name="binomial")
def _binomial(key_data: Any, n: Any, p: Any, name: str, shape: Shape, dtype: Any) -> Any:
    n, p = (broadcast_to_shape(cast(x, dtype), shape) for x in (n, p))
    return binomial_numbers(key_data, name, n, p)


def binomial(key: Any, n: ArrayLike, p: Any, shape: Any = None, dtype: DTypeLike = None) -> Any:
    """Return numbers of successes in ``n`` trials, as floats.

    Args:
      key: a key.
      n: the numbers of trials, not negative.
      p: the probability of success; NaN results for n or p without meaning.
      shape: the result's shape; that of the parameters where not given.
      dtype: a floating dtype; the default one where not given.  The numbers are drawn in the
        parameters' dtype, of 32 bits at least.

    Raises:
      ValueError: the dtype is not floating, or the parameters do not broadcast to the shape.

    Sources: waiting times for up to 10 expected successes; W. Hörmann, "The generation of
    binomial random variates", 1993, for more.

    >>> from jxkernel import random
    >>> random.binomial(random.key(0), 10, 1.0)
    Array(10., dtype=float32)
    """
    key_data, generator = checked_key_data("binomial", key)
    sizes = joint_shape("binomial", shape, n, p)
    found, working = float_dtype("binomial", dtype), _working_dtype("binomial", n, p)
    return cast(_binomial(key_data, n, p, generator.name, sizes, working), found)


@fused(static=("name", "shape", "dtype", "unroll"), name="multinomial")
def _multinomial(
    key_data: Any, n: Any, p: Any, name: str, shape: Shape, dtype: Any, unroll: int | bool
) -> Any:
    """Draw each category's count given those before it: binomial of what is left."""
    count = np.shape(p)[-1]
    p = broadcast_to_shape(cast(p, dtype), (*shape, count))
    left = broadcast_to_shape(cast(n, dtype), shape)
    # What is left of the probability before each category, summed from the end: no cancellation.
    tail = jnp.flip(jnp.cumsum(jnp.flip(p, -1), -1), -1)
    shares = jnp.where(tail == 0, 0, jnp.clip(p / jnp.where(tail == 0, 1, tail), 0, 1))

    def step(left: Any, item: Any) -> tuple[Any, Any]:
        key, share = item
        drawn = binomial_numbers(key, name, left, share)
        return left - drawn, drawn

    keys = GENERATORS[name].split(key_data, (count - 1,))
    first = jnp.moveaxis(shares[..., :-1], -1, 0)
    left, counts = scan(step, left, (keys, first), unroll=unroll)
    return jnp.moveaxis(jnp.concatenate([counts, left[None]]), 0, -1)


def multinomial(
    key: Any,
    n: ArrayLike,
    p: Any,
    *,
    shape: Any = None,
    dtype: DTypeLike = None,
    unroll: int | bool = 1,
) -> Any:
    """Return how often each category comes in ``n`` draws, as floats where not asked otherwise.

    Args:
      key: a key.
      n: the numbers of draws.
      p: the categories' probabilities along the last axis, summing to 1.
      shape: the result's shape without the axis of categories; that of ``n`` and the leading
        axes of ``p`` where not given.
      dtype: a floating or integer dtype; the default floating one where not given.  The counts
        are drawn in the parameters' dtype, of 32 bits at least, and add up to ``n`` in it.
      unroll: how many categories a step of the loop draws, as for ``scan``.

    Raises:
      ValueError: ``p`` has no axis, the dtype is neither floating nor integer, or the parameters
        do not broadcast to the shape.

    >>> import jxkernel as jx
    >>> jx.random.multinomial(jx.random.key(0), 10, jx.numpy.array([0.2, 0.8])).sum()
    Array(10., dtype=float32)
    """
    key_data, generator = checked_key_data("multinomial", key)
    aval = argument_aval("random.multinomial", p, 2)
    if not aval.ndim:
        raise ValueError("random.multinomial needs p of rank 1 or more, got a scalar")
    rows = np.broadcast_to(np.float32(0), aval.shape[:-1])
    sizes = joint_shape("multinomial", shape, n, rows)
    wanted = None if dtype is None else user_dtype(dtype, "random.multinomial")
    found = wanted if wanted in dtypes.INTEGRAL else float_dtype("multinomial", dtype)
    working = _working_dtype("multinomial", n, p)
    return cast(_multinomial(key_data, n, p, generator.name, sizes, working, unroll), found)
