"""Reductions: sums, products, extremes, truth, means and variances along axes.

All take ``axis`` (an int, several, or None for all), ``keepdims``, and most ``where``, a mask of
the elements that count.  Results are strongly typed.  Each is one fused program.
"""

from collections.abc import Callable, Sequence
from math import prod as product_of
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.dimensions import is_symbolic
from jxkernel.numpy.creation import user_dtype
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.logic import truth
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_to_shape,
    cast,
    dtype_of,
    inexact_dtype,
    refuse_out,
)
from jxkernel.ops import arithmetic as ops
from jxkernel.ops import reduce
from jxkernel.ops.broadcast import reduce_sum
from jxkernel.ops.compare import gt
from jxkernel.ops.complex import imag as imaginary_part
from jxkernel.ops.complex import real as real_part
from jxkernel.ops.exponential import sqrt
from jxkernel.ops.select import select
from jxkernel.ops.shape import expand_dims, reshape
from jxkernel.ops.structural import canonical_axes, listed

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "count_nonzero",
    "max",
    "mean",
    "min",
    "prod",
    "ptp",
    "std",
    "sum",
    "var",
]

Axis = int | Sequence[int] | None


def reduced_axes(name: str, a: Any, axis: Axis) -> tuple[int, ...]:
    """Return the axes to reduce, counted from the front; all where none is given.

    Raises:
      TypeError: ``a`` is no array and no number.
      ValueError: an axis does not exist or is named twice.
    """
    rank = argument_aval(name, a).ndim
    if axis is None:
        return tuple(range(rank))
    if type(axis) is int and -rank <= axis < rank:
        return (axis + rank if axis < 0 else axis,)
    return canonical_axes(name, listed(axis), rank)


def _finished(result: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    return expand_dims(result, axes) if keepdims and axes else result


def _masked(x: Any, where: Any, identity: Any) -> Any:
    """Return an array with a neutral element where a mask does not hold."""
    if where is None:
        return x
    shape = np.shape(x)
    return select(broadcast_to_shape(truth(where), shape), x, identity)


# ---------------------------------------------------------------- sum and prod


def accumulated_dtype(dtype: Any, promote_integers: bool) -> Any:
    """Return the dtype of a sum: integers narrower than the default one become it."""
    if dtype in dtypes.BOOLEAN:
        return dtypes.default_int_dtype() if promote_integers else dtype
    if not promote_integers or dtype not in dtypes.INTEGRAL:
        return dtype
    wide = dtypes.default_uint_dtype() if dtype in dtypes.UNSIGNED else dtypes.default_int_dtype()
    return wide if dtypes.itemsize_bits(dtype) < dtypes.itemsize_bits(wide) else dtype


_static = ("axes", "dtype", "keepdims")


def _accumulation(name: str, operation: Any, combine: Any, identity: int) -> Any:
    @fused(static=_static, name=name)
    def accumulated(
        a: Any, initial: Any, where: Any, *, axes: tuple[int, ...], dtype: Any, keepdims: bool
    ) -> Any:
        x = _masked(cast(a, dtype), where, identity)
        result = _finished(operation(x, axes), axes, keepdims)
        return result if initial is None else combine(result, cast(initial, dtype))

    return accumulated


_sum = _accumulation("sum", reduce_sum, ops.add, 0)
_prod = _accumulation("prod", reduce.reduce_prod, ops.mul, 1)


def _accumulate(
    name: str,
    accumulated: Any,
    a: Any,
    axis: Axis,
    dtype: Any,
    out: None,
    keepdims: bool,
    initial: Any,
    where: Any,
    promote_integers: bool,
) -> Any:
    if out is not None:
        refuse_out(name, out)
    axes = reduced_axes(name, a, axis)
    if dtype is None:
        dtype = accumulated_dtype(dtype_of(a), promote_integers)
    else:
        dtype = user_dtype(dtype, name)
    return accumulated(a, initial, where, axes=axes, dtype=dtype, keepdims=keepdims)


def sum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
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
      promote_integers: whether narrow integers are widened.

    Raises:
      TypeError: ``a`` is no array (a list is not converted silently).
      ValueError: an axis does not exist.

    16-bit floats are summed in float32.  Linear in ``a``.

    >>> import jxkernel.numpy as jnp
    >>> jnp.sum(jnp.arange(6.).reshape(2, 3), axis=0)
    Array([3., 5., 7.], dtype=float32)
    """
    return _accumulate("sum", _sum, a, axis, dtype, out, keepdims, initial, where, promote_integers)


def prod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
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
    return _accumulate(
        "prod", _prod, a, axis, dtype, out, keepdims, initial, where, promote_integers
    )


# ---------------------------------------------------------------- extremes


def _extreme(name: str, operation: Any, combine: Any, identity: Callable[[Any], Any]) -> Any:
    @fused(static=("axes", "keepdims"), name=name)
    def extreme(a: Any, initial: Any, where: Any, *, axes: tuple[int, ...], keepdims: bool) -> Any:
        dtype = argument_aval(name, a).dtype
        x = cast(a, dtype)
        if where is not None or (initial is not None and not product_of(np.shape(x))):
            x = _masked(x, True if where is None else where, identity(dtype))
        result = _finished(operation(x, axes), axes, keepdims)
        return result if initial is None else combine(result, cast(initial, dtype))

    return extreme


_max = _extreme("max", reduce.reduce_max, ops.max, reduce.least)
_min = _extreme("min", reduce.reduce_min, ops.min, reduce.greatest)


def _find_extreme(
    name: str,
    extreme: Any,
    a: Any,
    axis: Axis,
    out: None,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    if out is not None:
        refuse_out(name, out)
    axes = reduced_axes(name, a, axis)
    if initial is None:
        if where is not None:
            raise ValueError(f"{name}(where=...) needs initial=..., for when no element counts")
        shape = np.shape(a)
        if not product_of(shape[i] for i in axes):
            raise ValueError(
                f"{name} of no elements is not defined, and shape {shape} has none along axes "
                f"{axes}: give initial=..."
            )
    return extreme(a, initial, where, axes=axes, keepdims=keepdims)


def max(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
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
    return _find_extreme("max", _max, a, axis, out, keepdims, initial, where)


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
    return _find_extreme("min", _min, a, axis, out, keepdims, initial, where)


amax, amin = max, min


def ptp(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
    """Return the greatest element along axes less the least.

    >>> jnp.ptp(jnp.array([4, 9, 1]))
    Array(8, dtype=int32)
    """
    refuse_out("ptp", out)
    return max(a, axis, None, keepdims) - min(a, axis, None, keepdims)


# ---------------------------------------------------------------- truth


@fused(static=("axes", "keepdims", "conjunction"), name="all")
def _truth(a: Any, where: Any, *, axes: tuple[int, ...], keepdims: bool, conjunction: bool) -> Any:
    x = _masked(cast(truth(a), np.dtype(bool)), where, np.bool_(conjunction))
    return _finished(
        (reduce.reduce_and if conjunction else reduce.reduce_or)(x, axes), axes, keepdims
    )


def all(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Return whether all elements along axes are nonzero; true of none.

    Args:
      a: an array or number.
      axis: the axes; all where not given.
      out: must be None.
      keepdims: whether the axes stay, with size 1.
      where: booleans that broadcast to ``a``; the elements that count.

    >>> jnp.all(jnp.array([[1, 0], [2, 3]]), axis=1)
    Array([False,  True], dtype=bool)
    """
    refuse_out("all", out)
    axes = reduced_axes("all", a, axis)
    return _truth(a, where, axes=axes, keepdims=keepdims, conjunction=True)


def any(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Return whether an element along axes is nonzero; false of none.  See ``all``.

    >>> jnp.any(jnp.array([[0, 0], [2, 0]]), axis=1)
    Array([False,  True], dtype=bool)
    """
    refuse_out("any", out)
    axes = reduced_axes("any", a, axis)
    return _truth(a, where, axes=axes, keepdims=keepdims, conjunction=False)


@fused(static=("axes", "keepdims"))
def _nonzeros(a: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    counted = cast(cast(truth(a), np.dtype(bool)), dtypes.default_int_dtype())
    return _finished(reduce_sum(counted, axes), axes, keepdims)


def count_nonzero(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Return how many elements along axes are nonzero; NaN counts.

    >>> jnp.count_nonzero(jnp.array([[0, 1], [2, 3]]), axis=1)
    Array([1, 2], dtype=int32)
    """
    return _nonzeros(a, reduced_axes("count_nonzero", a, axis), keepdims)


# ---------------------------------------------------------------- mean and variance


def computation_dtype(dtype: Any) -> Any:
    """Return the dtype to compute a mean in: float32 for narrower floats."""
    narrow = dtype in dtypes.FLOATING and dtypes.itemsize_bits(dtype) < 32
    return np.dtype(np.float32) if narrow else dtype


def _count(shape: tuple[int, ...], where: Any, axes: tuple[int, ...], dtype: Any) -> Any:
    """Return how many elements count, keeping the axes where a mask says so."""
    if where is None:
        count = product_of(shape[i] for i in axes)
        return cast(count, dtype) if is_symbolic(count) else dtype.type(count)
    mask = broadcast_to_shape(cast(truth(where), np.dtype(bool)), shape)
    return _finished(reduce_sum(cast(mask, dtype), axes), axes, True)


def _mean_of(x: Any, where: Any, axes: tuple[int, ...]) -> Any:
    """Return the mean in the dtype of x, its axes kept."""
    total = _finished(reduce_sum(_masked(x, where, 0), axes), axes, True)
    return ops.div(total, _count(np.shape(x), where, axes, dtype_of(x)))


@fused(static=("axes", "dtype", "keepdims"), name="mean")
def _mean(a: Any, where: Any, *, axes: tuple[int, ...], dtype: Any, keepdims: bool) -> Any:
    x = cast(a, computation_dtype(dtype))
    if keepdims or where is not None:
        result = _mean_of(x, where, axes)
        result = result if keepdims or not axes else reshape(result, _remaining(x, axes))
    else:
        count = _count(np.shape(x), None, axes, dtype_of(x))
        result = ops.div(reduce_sum(x, axes), count)
    return cast(result, dtype)


def _remaining(x: Any, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for axis, size in enumerate(np.shape(x)) if axis not in axes)


def mean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Any:
    """Return the arithmetic mean of the elements along axes.

    Args:
      a: an array or number.
      axis: the axes; all where not given.
      dtype: the result's dtype; otherwise that of ``a``, made floating.
      out: must be None.
      keepdims: whether the axes stay, with size 1.
      where: booleans that broadcast to ``a``; the elements that count.

    The mean of no elements is NaN.  16-bit floats are summed in float32.  Linear in ``a``.

    >>> jnp.mean(jnp.array([[1, 2], [3, 6]]), axis=0)
    Array([2., 4.], dtype=float32)
    """
    if out is not None:
        refuse_out("mean", out)
    axes = reduced_axes("mean", a, axis)
    found = inexact_dtype(dtype_of(a)) if dtype is None else user_dtype(dtype, "mean")
    return _mean(a, where, axes=axes, dtype=found, keepdims=keepdims)


def squared_modulus(x: Any) -> Any:
    """Return |x|², real also where x is complex."""
    if dtype_of(x) in dtypes.COMPLEX:
        return ops.add(ops.square(real_part(x)), ops.square(imaginary_part(x)))
    return ops.square(x)


@fused(static=("ddof", "axes", "dtype", "keepdims", "root"), name="var")
def _variance(
    a: Any,
    where: Any,
    center: Any,
    *,
    ddof: float,
    axes: tuple[int, ...],
    dtype: Any,
    keepdims: bool,
    root: bool,
) -> Any:
    x = cast(a, computation_dtype(dtype))
    middle = _mean_of(x, where, axes) if center is None else cast(center, dtype_of(x))
    apart = ops.sub(x, broadcast_to_shape(middle, np.shape(x)))
    # Masked before it is squared: what is left out may be NaN, and has no derivative.
    squares = squared_modulus(_masked(apart, where, 0))
    total = _finished(reduce_sum(squares, axes), axes, keepdims or where is not None)
    result = _divided(total, _count(np.shape(x), where, axes, dtype_of(total)), ddof)
    result = sqrt(result) if root else result
    if where is not None and not keepdims:
        result = reshape(result, _remaining(x, axes))
    return cast(result, dtype_of(total) if dtype in dtypes.COMPLEX else dtype)


def _positive_or_nan(count: Any, ddof: float) -> Any:
    kind = type(count)
    degrees = count - kind(ddof)
    return degrees if degrees > 0 else kind(np.nan)


def _divided(total: Any, count: Any, ddof: float) -> Any:
    """Return a sum divided by a count less ``ddof``; NaN where that is not positive."""
    if isinstance(count, np.generic):
        return ops.div(total, _positive_or_nan(count, ddof))
    degrees = ops.sub(count, ddof)
    positive = gt(degrees, 0)
    return select(positive, ops.div(total, select(positive, degrees, 1)), np.nan)


def _spread(
    name: str,
    a: Any,
    axis: Axis,
    dtype: Any,
    out: None,
    ddof: float,
    keepdims: bool,
    where: Any,
    center: Any,
    correction: Any,
    root: bool,
) -> Any:
    if out is not None:
        refuse_out(name, out)
    if correction is not None:
        if not (isinstance(ddof, int) and ddof == 0):
            raise ValueError(f"{name} takes ddof or correction, which mean the same, not both")
        ddof = correction
    axes = reduced_axes(name, a, axis)
    found = inexact_dtype(dtype_of(a))
    if dtype is not None:
        found = user_dtype(dtype, name)
        if found not in dtypes.INEXACT:
            raise ValueError(f"{name} is computed in a floating dtype, got dtype={found.name}")
    return _variance(
        a, where, center, ddof=ddof, axes=axes, dtype=found, keepdims=keepdims, root=root
    )


def var(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Return the variance of the elements along axes: the mean of |x - mean|².

    Args:
      a: an array or number.
      axis: the axes; all where not given.
      dtype: the dtype to compute in; otherwise that of ``a``, made floating.
      out: must be None.
      ddof: what to subtract from the number of elements before dividing by it.
      keepdims: whether the axes stay, with size 1.
      where: booleans that broadcast to ``a``; the elements that count.
      mean: the mean, where it is known, with its axes kept.
      correction: another name of ``ddof``.

    Raises:
      ValueError: both ``ddof`` and ``correction`` are given.

    NaN where the number of elements does not exceed ``ddof``.  Real also where ``a`` is complex.

    >>> jnp.var(jnp.array([1.0, 5.0])), jnp.var(jnp.array([1.0, 5.0]), ddof=1)
    (Array(4., dtype=float32), Array(8., dtype=float32))
    """
    return _spread("var", a, axis, dtype, out, ddof, keepdims, where, mean, correction, False)


def std(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Return the standard deviation of the elements along axes, the root of ``var``.

    Arguments are those of ``var``.  The derivative is not finite where all elements are equal.

    >>> jnp.std(jnp.array([1.0, 5.0]))
    Array(2., dtype=float32)
    """
    return _spread("std", a, axis, dtype, out, ddof, keepdims, where, mean, correction, True)
