"""Creation: arrays from nothing but parameters, and from one number.

``full`` and its kin are compositions; ``iota`` is the one primitive without operands.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.dimensions import is_symbolic
from jxkernel.core.key_data import ExtendedArray
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import scalar_like, zero_jvp
from jxkernel.dtypes import DType, DTypeLike
from jxkernel.errors import ShapeError
from jxkernel.primitives.arguments import canonical_axis, integers, is_array, whole_numbers
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.primitives.sharding.constraints import (
    puts_off_sums,
    with_out_sharding,
    with_sums_moved,
)
from jxkernel.runtime import ArrayImpl, ArrayLike, place

__all__ = ["beside_committed", "broadcasted_iota", "empty", "full", "full_like", "iota", "iota_p"]

# ---------------------------------------------------------------- iota

iota_p = Primitive("iota", element_work=1)

_TOO_MANY = 2**36
"""From so many elements on, XLA's program for the CPU ends the process instead of failing."""


def iota(dtype: DTypeLike, size: int) -> Any:
    """Return the array 0, 1, ..., ``size`` - 1 of a numeric dtype.  StableHLO ``iota``.

    Raises:
      TypeError: the dtype makes no numbers, or ``size`` is no whole number.
      ShapeError: ``size`` is negative.

    >>> from jxkernel import lax
    >>> lax.iota("float32", 4).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    return _counting("iota", dtype, whole_numbers("iota", "size", [size]), 0)


def broadcasted_iota(
    dtype: DTypeLike, shape: Sequence[int], dimension: int, *, out_sharding: Any = None
) -> Any:
    """Return an array whose elements are their own positions along one axis.

    Args:
      dtype: a numeric dtype.
      shape: the result's shape.
      dimension: the axis along which it counts.
      out_sharding: how the result is divided over explicit mesh axes.

    Raises:
      TypeError: the dtype is not numeric.
      ValueError: the axis does not exist, or a size is negative.

    It has no operand, so its derivative is zero.  StableHLO ``iota``.

    >>> from jxkernel import lax
    >>> lax.broadcasted_iota("int32", (2, 3), 1).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    if out_sharding is not None:
        return with_out_sharding(broadcasted_iota, (), out_sharding, dtype, shape, dimension)
    return _counting("broadcasted_iota", dtype, shape, dimension)


def _counting(name: str, dtype: DType, shape: Sequence[int], dimension: int) -> Any:
    wanted = dtypes.check_and_canonicalize_user_dtype(dtype, name)
    if not dtypes.issubdtype(wanted, np.number):
        raise TypeError(f"{name} does not accept dtype {wanted}: it makes numbers")
    sizes = integers(name, "shape", shape)
    if any(size < 0 for size in sizes):
        raise ShapeError(f"{name} got shape {sizes}: sizes are not negative")
    place = canonical_axis(name, dimension, len(sizes), "dimension")
    return iota_p.bind(dtype=wanted, shape=sizes, dimension=place)


@iota_p.def_abstract_eval
def _iota_abstract_eval(*, dtype: DType, shape: tuple[int, ...], dimension: int) -> ShapedArray:
    return ShapedArray(shape, dtype)


@iota_p.def_lower
def _iota_lower(context: Any, *, dtype: DType, shape: tuple[int, ...], dimension: int) -> Any:
    if not any(map(is_symbolic, shape)) and prod(shape) >= _TOO_MANY:
        raise ShapeError(f"iota got shape {shape}: no device has memory for so many numbers")
    return context.iota(dtype, shape, dimension)


iota_p.define(
    jvp=zero_jvp(iota_p),
    transpose=Undefined("it has no operand"),
    batch=Undefined("it has no operand, so none can be batched"),
)

# ---------------------------------------------------------------- full


def full(
    shape: int | Sequence[int],
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    *,
    sharding: Any = None,
) -> Any:
    """Return a scalar repeated over a shape.

    Args:
      shape: the result's shape.
      fill_value: a scalar array or a Python number.
      dtype: the result's dtype; that of ``fill_value`` where not given.
      sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      TypeError: ``fill_value`` is no scalar, or ``shape`` holds no whole numbers.
      OverflowError: ``fill_value`` is a Python integer that ``dtype`` cannot hold.

    Linear in ``fill_value``.  StableHLO ``broadcast_in_dim``.

    >>> from jxkernel import lax
    >>> lax.full((2, 2), 6, "int8").tolist()
    [[6, 6], [6, 6]]
    """
    if sharding is not None:
        return with_out_sharding(full, (), sharding, shape, fill_value, dtype)
    sizes = whole_numbers("full", "shape", shape)
    if rank_of(fill_value):
        raise TypeError(
            f"full got a fill value of shape {shape_of(fill_value)}: it is a scalar; "
            "broadcast_in_dim repeats arrays"
        )
    return broadcast_in_dim(_scalar_of(fill_value, dtype), sizes, ())


def _scalar_of(value: Any, dtype: DType) -> Any:
    """Return a scalar in a dtype; in its own, weak if it was, where none is asked for."""
    if dtype is None:
        return value
    if isinstance(dtype, dtypes.ExtendedDType):
        return value if isinstance(value, ExtendedArray) else dtype.scalar(value)
    wanted = dtypes.check_and_canonicalize_user_dtype(dtype, "full")
    # Numbers with a fraction become the nearest integers, as those of arrays do.
    numbers = isinstance(value, float | np.generic | np.ndarray)
    floating = numbers and dtypes.dtype(value) in dtypes.FLOATING
    if is_array(value) or (floating and wanted in dtypes.INTEGRAL):
        return convert_element_type(value, wanted)
    if isinstance(value, np.generic | np.ndarray):
        return value.astype(wanted)[()]
    return dtypes.coerce_scalar(value, wanted)[()]


def full_like(
    x: Any,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    shape: Sequence[int] | None = None,
    sharding: Any = None,
) -> Any:
    """Return a scalar repeated over the shape of ``x``, in its dtype.

    The result lies where ``x`` is committed to, in its shards if the shapes agree.

    Args:
      x: an array, or anything with ``shape`` and ``dtype``.
      fill_value: a scalar array or a Python number.
      dtype: the result's dtype, if not that of ``x``.
      shape: the result's shape, if not that of ``x``.
      sharding: how the result is divided: a sharding, or a spec under ``set_mesh``; over explicit
        axes as ``x``, if not given and the shape is that of ``x``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.full_like(jnp.ones((2, 2)), 7).tolist()
    [[7.0, 7.0], [7.0, 7.0]]
    >>> lax.full_like(jnp.ones(2), 3, dtype="int32", shape=(3,)).tolist()
    [3, 3, 3]
    """
    if sharding is None and shape is None and is_array(x):
        sharding = abstractify(x).explicit_sharding
    sizes = shape_of(x) if shape is None else shape
    if sharding is not None:
        return with_out_sharding(full_like, (), sharding, x, fill_value, dtype, sizes)
    if dtype is None and dtypes.is_weakly_typed(x):
        return beside_committed(_weak_like(x, fill_value, sizes), x)
    return beside_committed(full(sizes, fill_value, dtypes.dtype(x) if dtype is None else dtype), x)


def _weak_like(x: Any, fill_value: Any, shape: Any) -> Any:
    weak = (
        convert_element_type(fill_value, dtypes.dtype(x), weak_type=True)
        if is_array(fill_value)
        else scalar_like(x, fill_value)
    )
    return broadcast_in_dim(weak, integers("full_like", "shape", shape), ())


def beside_committed(made: Any, like: Any) -> Any:
    """Return an array that was made like another where that one lies, if it is committed there.

    One of another shape lies there only where no axis is divided.  While a program is staged the
    compiler decides.
    """
    if type(made) is not ArrayImpl or type(like) is not ArrayImpl or not like.committed:
        return made
    if made.shape != like.shape and not like.sharding.is_fully_replicated:
        return made
    sharding = like.sharding
    return with_sums_moved(made, sharding) if puts_off_sums(sharding) else place(made, sharding)


def empty(shape: Sequence[int], dtype: DTypeLike, *, out_sharding: Any = None) -> Any:
    """Return an array of a shape and dtype; its elements are zeros.

    Args:
      shape: the shape.
      dtype: the dtype.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    >>> from jxkernel import lax
    >>> lax.empty((2,), "float32").shape
    (2,)
    """
    return full(shape, 0, dtype, sharding=out_sharding)
