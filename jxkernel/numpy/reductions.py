"""Reductions: sums, products, extremes and truth along axes.

All take ``axis`` (an int, several, or None for all), ``keepdims``, and most ``where``, a mask of
the elements that count.  Results are strongly typed.  Each is one fused program.
"""

from collections.abc import Callable, Sequence
from math import prod as product_of
from typing import Any, NamedTuple

import numpy as np

from jxkernel import dtypes
from jxkernel.dtypes import DTypeLike
from jxkernel.errors import KeyTypeError
from jxkernel.numpy.creation import user_dtype
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.logic import isnan, truth
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_to_shape,
    cast,
    dtype_of,
    refuse_out,
    static_axes,
)
from jxkernel.primitives.arguments import canonical_axes, listed
from jxkernel.primitives.elementwise import arithmetic as ops
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.reduction import reduce
from jxkernel.primitives.reduction.reduce import sum_widely
from jxkernel.primitives.shape.reshape import expand_dims
from jxkernel.runtime import ArrayLike

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "count_nonzero",
    "max",
    "min",
    "prod",
    "ptp",
    "sum",
]

Axis = int | Sequence[int] | None


class Along(NamedTuple):
    """How a reduction is done, one static value.

    Attributes:
      axis: the axes as they were given, whole numbers; None for all.
      keepdims: whether they stay, with size 1.
      dtype: the canonical dtype asked for, or None.
    """

    axis: Any
    keepdims: bool
    dtype: Any


_ALL = Along(None, False, None)


def along(
    name: str, axis: Axis, keepdims: bool, out: None, dtype: DTypeLike = None, *converted: Any
) -> Along:
    """Return what a user said of a reduction beside its arrays.

    Args:
      name: the function, for messages.
      axis: one or several axes, or None.
      keepdims: whether they stay.
      out: must be None.
      dtype: a dtype or None.
      *converted: what is converted to it.

    Raises:
      NotImplementedError: there is an ``out``.
      TypeError: an axis is no whole number, or the dtype is none.
    """
    if axis is None and dtype is None and out is None and keepdims is False:
        return _ALL
    if out is not None:
        refuse_out(name, out)
    if dtype is not None:
        dtype = user_dtype(dtype, name, *converted)
    # As ``Along(static_axes(name, axis), ...)`` without two calls, which an eager sum would feel.
    axes = axis if axis is None or type(axis) is int else static_axes(name, axis)
    return tuple.__new__(Along, (axes, keepdims, dtype))


def reduced_axes(name: str, a: Any, axis: Axis) -> tuple[int, ...]:
    """Return the axes to reduce, counted from the front; all where none is given.

    Raises:
      TypeError: ``a`` is no array and no number.
      KeyTypeError: it is one of keys.
      ValueError: an axis does not exist or is named twice.
    """
    aval = argument_aval(name, a)
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        raise KeyTypeError(name, aval.short())
    rank = aval.ndim
    if axis is None:
        return tuple(range(rank))
    if type(axis) is int and -rank <= axis < rank:
        return (axis + rank if axis < 0 else axis,)
    return canonical_axes(name, listed(axis), rank)


def finished(result: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    return expand_dims(result, axes) if keepdims and axes else result


def masked(x: Any, where: Any, identity: Any) -> Any:
    """Return an array with a neutral element where a mask does not hold.

    Raises:
      ValueError: the mask is not of booleans.
    """
    mask = mask_of(where, np.shape(x))
    return x if mask is None else select(mask, x, identity)


def mask_of(where: Any, shape: tuple[Any, ...]) -> Any:
    """Return what ``where=`` says of each element of an array; None where it says nothing.

    Raises:
      TypeError: the mask is no array.
      ValueError: it is not of booleans, or not of a shape that broadcasts to the array's.
    """
    if where is None:
        return None
    if (kind := argument_aval("where", where).dtype) not in dtypes.BOOLEAN:
        raise ValueError(f"where= takes booleans, got {kind.name}: write where=mask != 0")
    return broadcast_to_shape(where, shape)


def _first_value(name: str, initial: Any, dtype: Any) -> Any:
    """Return what a reduction begins with, which is a scalar."""
    value = cast(initial, dtype)
    if np.ndim(value):
        raise ValueError(f"{name}(initial=...) takes a scalar, got shape {np.shape(value)}")
    return value


# ---------------------------------------------------------------- sum and prod


def accumulated_dtype(dtype: DTypeLike, promote_integers: bool) -> Any:
    """Return the dtype of a sum: integers narrower than the default one become it."""
    if dtype in dtypes.BOOLEAN:
        return dtypes.default_int_dtype() if promote_integers else np.dtype(np.int32)
    if not promote_integers or dtype not in dtypes.INTEGRAL:
        return dtype
    wide = dtypes.default_uint_dtype() if dtype in dtypes.UNSIGNED else dtypes.default_int_dtype()
    return wide if dtypes.itemsize_bits(dtype) < dtypes.itemsize_bits(wide) else dtype


def accumulation(
    name: str,
    operation: Any,
    combine: Any,
    identity: int,
    before: Callable[[Any], Any] = lambda a: a,
) -> Any:
    """Return a function with the arguments of ``sum``, one program when it runs eagerly.

    ``before`` is done to the array first, and ``combine`` joins ``initial`` to the result.
    """

    @fused(static=("how", "promote_integers"), name=name)
    def accumulated(a: Any, initial: Any, where: Any, how: Along, promote_integers: bool) -> Any:
        axes = reduced_axes(name, a, how.axis)
        dtype = how.dtype
        if dtype is None:
            dtype = accumulated_dtype(dtype_of(a), promote_integers)
        # Truth values are counted, and any number but 0 is true again.
        counts = dtype in dtypes.BOOLEAN
        x = cast(before(a), dtype)
        if counts:
            dtype = dtypes.default_int_dtype()
            x = cast(x, dtype)
        result = finished(operation(masked(x, where, identity), axes), axes, how.keepdims)
        if initial is not None:
            result = combine(result, _first_value(name, initial, dtype))
        return result != 0 if counts else result

    return accumulated


_sum = accumulation("sum", sum_widely, ops.add, 0)
_prod = accumulation("prod", reduce.reduce_prod, ops.mul, 1)


def sum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Any:
    """Return the sum of the elements along axes.

    Args:
      a: an array or number.
      axis: the axes to sum over; all where not given.
      dtype: the dtype to sum in; otherwise that of ``a``, narrow integers and booleans made the
        default integer.
      out: must be None.
      keepdims: whether the axes stay, with size 1.
      initial: a number to begin with.
      where: booleans that broadcast to ``a``; the elements that count.
      promote_integers: whether narrow integers are widened; if not, booleans are counted in int32.

    Raises:
      TypeError: ``a`` is no array (a list is not converted silently).
      ValueError: an axis does not exist.

    16-bit floats are summed in float32.  Linear in ``a``.

    >>> import jxkernel.numpy as jnp
    >>> jnp.sum(jnp.arange(6.).reshape(2, 3), axis=0)
    Array([3., 5., 7.], dtype=float32)
    """
    how = along("sum", axis, keepdims, out, dtype, a)
    return _sum(a, initial, where, how, promote_integers)


def prod(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """Return the product of the elements along axes; arguments are those of ``sum``.

    The derivative is right also where elements are 0.

    >>> jnp.prod(jnp.array([2, 3, 4]))
    Array(24, dtype=int32)
    """
    how = along("prod", axis, keepdims, out, dtype, a)
    return _prod(a, initial, where, how, promote_integers)


# ---------------------------------------------------------------- extremes


def _check_elements(name: str, shape: tuple[int, ...], axes: tuple[int, ...], where: Any) -> None:
    """Check that there is an element for each result."""
    if where is not None:
        raise ValueError(f"{name}(where=...) needs initial=..., for when no element counts")
    if not product_of(shape[i] for i in axes):
        raise ValueError(
            f"{name} of no elements is not defined, and shape {shape} has none along axes "
            f"{axes}: give initial=..."
        )


def extreme(name: str, of: tuple[Any, Any, Any], skip_nan: bool = False) -> Any:
    """Return a function with the arguments of ``max``, one program when it runs eagerly.

    ``of`` is one of ``GREATEST`` and ``LEAST``.  NaN may count only where there is nothing else.
    """
    operation, combine, neutral = of

    @fused(static=("how",), name=name)
    def found(a: Any, initial: Any, where: Any, how: Along) -> Any:
        axes = reduced_axes(name, a, how.axis)
        dtype = dtype_of(a)
        x = cast(a, dtype)
        missing = isnan(x) if skip_nan and dtype in dtypes.INEXACT else None
        if missing is not None:
            x = select(missing, neutral(dtype), x)
        if initial is None:
            _check_elements(name, np.shape(x), axes, where)
        elif where is not None or not product_of(np.shape(x)):
            x = masked(x, True if where is None else where, neutral(dtype))
        result = operation(x, axes)
        if initial is not None:
            result = combine(result, _first_value(name, initial, dtype))
        elif missing is not None:
            result = select(reduce.reduce_and(missing, axes), dtype.type(np.nan), result)
        return finished(result, axes, how.keepdims)

    return found


GREATEST = (reduce.reduce_max, ops.max, reduce.least)
LEAST = (reduce.reduce_min, ops.min, reduce.greatest)
_max, _min = extreme("max", GREATEST), extreme("min", LEAST)


def max(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: ArrayLike | None = None,
) -> Any:
    """Return the greatest element along axes; NaN where there is one.

    Args:
      a: an array or number.
      axis: the axes; all where not given.
      out: must be None.
      keepdims: whether the axes stay, with size 1.
      initial: the least the result may be; needed with ``where`` and for axes of size 0.
      where: booleans that broadcast to ``a``; the elements that count.

    Raises:
      ValueError: there is no element and no ``initial``, or an axis does not exist.

    Equal greatest elements share the derivative equally.

    >>> jnp.max(jnp.array([[1, 7], [5, 2]]), axis=0)
    Array([5, 7], dtype=int32)
    >>> jnp.max(jnp.array([3, 8]), where=jnp.array([True, False]), initial=0)
    Array(3, dtype=int32)
    """
    return _max(a, initial, where, along("max", axis, keepdims, out))


def min(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Return the least element along axes; NaN where there is one.  See ``max``.

    >>> jnp.min(jnp.array([[1, 7], [5, 2]]), axis=0)
    Array([1, 2], dtype=int32)
    """
    return _min(a, initial, where, along("min", axis, keepdims, out))


amax, amin = max, min


def ptp(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
    """Return the greatest element along axes less the least.

    Arguments and errors are those of ``max``.  The derivative goes to both extremes, in equal
    shares where they are attained more than once.

    >>> jnp.ptp(jnp.array([4, 9, 1]))
    Array(8, dtype=int32)
    """
    return _spread(a, along("ptp", axis, keepdims, out))


@fused(static=("how",), name="ptp")
def _spread(a: Any, how: Along) -> Any:
    axes = reduced_axes("ptp", a, how.axis)
    _check_elements("ptp", np.shape(a), axes, None)
    a = cast(a, dtype_of(a))
    spread = ops.sub(reduce.reduce_max(a, axes), reduce.reduce_min(a, axes))
    return finished(spread, axes, how.keepdims)


# ---------------------------------------------------------------- truth


def _truth(name: str, operation: Any, identity: bool) -> Any:
    @fused(static=("how",), name=name)
    def truth_along(a: Any, where: Any, how: Along) -> Any:
        axes = reduced_axes(name, a, how.axis)
        x = masked(cast(truth(a), np.dtype(bool)), where, np.bool_(identity))
        return finished(operation(x, axes), axes, how.keepdims)

    return truth_along


_all = _truth("all", reduce.reduce_and, True)
_any = _truth("any", reduce.reduce_or, False)


def all(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Any:
    """Return whether all elements along axes are nonzero; True where there are none.

    Args:
      a: an array or number.
      axis: the axes; all where not given.
      out: must be None.
      keepdims: whether the axes stay, with size 1.
      where: booleans that broadcast to ``a``; the elements that count.

    >>> jnp.all(jnp.array([[1, 0], [2, 3]]), axis=1)
    Array([False,  True], dtype=bool)
    """
    return _all(a, where, along("all", axis, keepdims, out))


def any(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Return whether any element along axes is nonzero; False where there are none.  See ``all``.

    >>> jnp.any(jnp.array([[0, 0], [2, 0]]), axis=1)
    Array([False,  True], dtype=bool)
    """
    return _any(a, where, along("any", axis, keepdims, out))


@fused(static=("how",), name="count_nonzero")
def _nonzeros(a: Any, how: Along) -> Any:
    axes = reduced_axes("count_nonzero", a, how.axis)
    counted = cast(cast(truth(a), np.dtype(bool)), dtypes.default_int_dtype())
    return finished(sum_widely(counted, axes), axes, how.keepdims)


def count_nonzero(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Return how many elements along axes are nonzero; NaN counts.

    Arguments and errors are those of ``sum``; the result has the default integers' dtype.

    >>> jnp.count_nonzero(jnp.array([[0, 1], [2, 3]]), axis=1)
    Array([1, 2], dtype=int32)
    """
    return _nonzeros(a, along("count_nonzero", axis, keepdims, None))
