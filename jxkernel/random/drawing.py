"""Drawing: random bits and uniform floats of a key, and what all distributions share.

Functions with an underscore take key data and static names and run inside fused programs; public
ones check their arguments first.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.dtypes import DTypeLike
from jxkernel.errors import ShapeMismatchError
from jxkernel.numpy.creation import canonical_shape, placed
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_shapes,
    broadcast_to_shape,
    cast,
    refuse_complex,
)
from jxkernel.primitives.elementwise.arithmetic import add, max, mul, sub
from jxkernel.primitives.elementwise.bits import bitwise_or, shift_right_logical
from jxkernel.primitives.elementwise.convert import bitcast_convert_type
from jxkernel.primitives.elementwise.identity import materialize
from jxkernel.random.generators import GENERATORS
from jxkernel.random.keys import checked_key_data
from jxkernel.runtime import ArrayLike

__all__ = ["bits", "float_dtype", "joint_shape", "random_bits", "uniform", "uniform_floats"]


def random_bits(key_data: Any, name: str, width: int, shape: tuple[int, ...]) -> Any:
    """Return random bits of key data as unsigned integers of a width."""
    return GENERATORS[name].bits(key_data, width, shape)


@fused(static=("name", "shape", "dtype"), name="random_bits")
def _bits(key_data: Any, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
    return random_bits(key_data, name, dtypes.itemsize_bits(dtype), shape)


def bits(
    key: Any,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return random bits as unsigned integers.

    Args:
      key: a key.
      shape: the result's shape.
      dtype: an unsigned dtype; the default one where not given.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      ValueError: the dtype is not unsigned.

    >>> from jxkernel import random
    >>> random.bits(random.key(1), (2,)).dtype.name
    'uint32'
    """
    key_data, generator = checked_key_data("bits", key)
    if dtype is None:
        found = dtypes.default_uint_dtype()
    else:
        found = dtypes.check_and_canonicalize_user_dtype(dtype, "random.bits")
    if found not in dtypes.UNSIGNED:
        raise ValueError(f"random.bits makes unsigned integers, got dtype {found.name}")
    result = _bits(key_data, generator.name, canonical_shape(shape, "random.bits"), found)
    return placed("random.bits", result, None, out_sharding)


def float_dtype(name: str, dtype: DTypeLike) -> Any:
    """Return the canonical dtype of a floating distribution.

    Raises:
      ValueError: it is not floating.
    """
    if dtype is None or dtype is float:
        return dtypes.default_float_dtype()
    found = dtypes.check_and_canonicalize_user_dtype(dtype, f"random.{name}")
    if found not in dtypes.FLOATING:
        raise ValueError(f"random.{name} makes floating numbers, got dtype {found.name}")
    return found


def joint_shape(name: str, shape: Any, *parameters: Any) -> tuple[int, ...]:
    """Return the shape of a result: as asked for, else that of the parameters together.

    Raises:
      TypeError: a parameter is no array, or complex.
      ShapeMismatchError: the parameters do not broadcast to the shape.
    """
    avals = [argument_aval(f"random.{name}", p, i) for i, p in enumerate(parameters)]
    for aval in avals:
        refuse_complex(f"random.{name}", aval.dtype)
    joint = broadcast_shapes(*(aval.shape for aval in avals))
    if shape is None:
        return joint
    wanted = canonical_shape(shape, f"random.{name}")
    if joint != () and not _fits(joint, wanted):
        rule = f"the parameters do not broadcast to shape {wanted}"
        raise ShapeMismatchError(f"random.{name}", [joint], rule)
    return wanted


def _fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    pairs = zip(reversed(shape), reversed(wanted), strict=False)
    return len(shape) <= len(wanted) and all(size in (1, target) for size, target in pairs)


def uniform_floats(
    key_data: Any,
    name: str,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    low: Any = 0.0,
    high: Any = 1.0,
) -> Any:
    """Return floats from [low, high).

    Random bits become the mantissa of a number in [1, 2), less 1: every result is a multiple of
    the mantissa's last place, and 1 is never reached.
    """
    size, mantissa = dtypes.itemsize_bits(dtype), dtypes.finfo(dtype).nmant
    # Fewer random bits do where the mantissa is short.
    width = 8 if mantissa < 8 else size
    pattern = random_bits(key_data, name, width, shape)
    unsigned = np.dtype(f"uint{size}")
    one = np.array(1, dtype).view(unsigned)[()]
    pattern = shift_right_logical(pattern, width - mantissa)
    number = bitcast_convert_type(bitwise_or(cast(pattern, unsigned), one), dtype)
    fraction = materialize(sub(number, dtype.type(1)))
    low, high = (broadcast_to_shape(cast(x, dtype), shape) for x in (low, high))
    return max(low, add(mul(fraction, sub(high, low)), low))


@fused(static=("name", "shape", "dtype"), name="uniform")
def _uniform(
    key_data: Any, low: Any, high: Any, name: str, shape: tuple[int, ...], dtype: Any
) -> Any:
    return uniform_floats(key_data, name, shape, dtype, low, high)


def uniform(
    key: Any,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike = None,
    minval: Any = 0.0,
    maxval: ArrayLike = 1.0,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return random floats, uniform in [minval, maxval).

    Args:
      key: a key.
      shape: the result's shape.
      dtype: a floating dtype; the default one where not given.
      minval: the least value, a number or an array that broadcasts to the shape.  Where the shape
        is ``()``, a bound of one element may have axes, which the result has too.
      maxval: the bound, likewise.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      ValueError: the dtype is not floating.

    Linear in ``minval`` and ``maxval``.

    >>> from jxkernel import random
    >>> random.uniform(random.key(0), (2,)).shape
    (2,)
    """
    key_data, generator = checked_key_data("uniform", key)
    found = float_dtype("uniform", dtype)
    sizes = joint_shape("uniform", None, minval, maxval)
    if canonical_shape(shape, "random.uniform") or prod(sizes) != 1:
        sizes = joint_shape("uniform", shape, minval, maxval)
    result = _uniform(key_data, minval, maxval, generator.name, sizes, found)
    return placed("random.uniform", result, None, out_sharding)
