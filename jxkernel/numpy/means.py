"""Means, variances and deviations along axes: sums divided by how many elements count."""

from collections.abc import Callable
from math import prod as product_of
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.dimensions import is_symbolic
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.logic import truth
from jxkernel.numpy.promotion import (
    broadcast_to_shape,
    cast,
    dtype_of,
    inexact_dtype,
)
from jxkernel.numpy.reductions import Along, Axis, along, finished, masked, reduced_axes
from jxkernel.primitives.arguments import is_array
from jxkernel.primitives.elementwise import arithmetic as ops
from jxkernel.primitives.elementwise.compare import gt
from jxkernel.primitives.elementwise.complex import imag as imaginary_part
from jxkernel.primitives.elementwise.complex import real as real_part
from jxkernel.primitives.elementwise.exponential import sqrt
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.reduction.reduce import sum_widely
from jxkernel.primitives.shape.reshape import reshape
from jxkernel.runtime import ArrayLike

__all__ = ["mean", "std", "var"]


def computation_dtype(dtype: DTypeLike) -> Any:
    """Return the dtype to compute a mean in: float32 for narrower floats."""
    narrow = dtype in dtypes.FLOATING and dtypes.itemsize_bits(dtype) < 32
    return np.dtype(np.float32) if narrow else dtype


def _own_dtype(a: Any) -> Any:
    """Return the dtype of a mean: of 32 bits where 64 are off, for arrays made with them too."""
    return dtypes.canonicalize_dtype(inexact_dtype(dtype_of(a)))


def _count(shape: tuple[int, ...], where: Any, axes: tuple[int, ...], dtype: Any) -> Any:
    """Return how many elements count, keeping the axes where a mask says so."""
    if where is None:
        count = product_of(shape[i] for i in axes)
        return cast(count, dtype) if is_symbolic(count) else dtype.type(count)
    mask = broadcast_to_shape(cast(truth(where), np.dtype(bool)), shape)
    return finished(sum_widely(cast(mask, dtype), axes), axes, True)


def _mean_of(x: Any, where: Any, axes: tuple[int, ...]) -> Any:
    """Return the mean in the dtype of x, its axes kept."""
    total = finished(sum_widely(masked(x, where, 0), axes), axes, True)
    return ops.div(total, _count(np.shape(x), where, axes, dtype_of(x)))


def mean_function(name: str, counted: Callable[..., Any] = lambda a, where: where) -> Any:
    """Return a function with the arguments of ``mean``, one program when it runs eagerly.

    ``counted`` makes the mask of the elements that count from the array and the caller's mask.
    """

    @fused(static=("how",), name=name)
    def averaged(a: Any, where: Any, how: Along) -> Any:
        axes = reduced_axes(name, a, how.axis)
        dtype = _own_dtype(a) if how.dtype is None else how.dtype
        mask = counted(a, where)
        x = cast(a, computation_dtype(dtype))
        if how.keepdims or mask is not None:
            result = _mean_of(x, mask, axes)
            result = result if how.keepdims or not axes else reshape(result, _remaining(x, axes))
        else:
            result = ops.div(sum_widely(x, axes), _count(np.shape(x), None, axes, dtype_of(x)))
        return cast(result, dtype)

    return averaged


_mean = mean_function("mean")


def _remaining(x: Any, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for axis, size in enumerate(np.shape(x)) if axis not in axes)


def mean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
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
    return _mean(a, where, along("mean", axis, keepdims, out, dtype, a))


def squared_modulus(x: Any) -> Any:
    """Return |x|², real also where x is complex."""
    if dtype_of(x) in dtypes.COMPLEX:
        return ops.add(ops.square(real_part(x)), ops.square(imaginary_part(x)))
    return ops.square(x)


def spread_function(
    name: str, root: bool, counted: Callable[..., Any] = lambda a, where: where
) -> Any:
    """Return a function with the arguments of ``var``, one program when it runs eagerly.

    ``counted`` is as for a mean; ``root`` makes it the deviation.
    """

    @fused(static=("how", "ddof"), name=name)
    def spread(a: Any, where: Any, center: Any, how: Along, ddof: float) -> Any:
        axes = reduced_axes(name, a, how.axis)
        own = _own_dtype(a) if how.dtype is None else how.dtype
        if own not in dtypes.INEXACT:
            raise ValueError(f"{name} is computed in a floating dtype, got dtype={own.name}")
        result = _variance(a, counted(a, where), center, axes, own, ddof, how.keepdims)
        result = sqrt(result) if root else result
        return cast(result, dtypes.to_floating_dtype(own) if how.dtype is None else own)

    def run(a: Any, where: Any, center: Any, how: Along, ddof: float | None) -> Any:
        if ddof is None:
            raise TypeError(f"{name} got ddof=None: it takes a number")
        # A number that is data, and may be traced, is no parameter of a program.
        computed = spread.__wrapped__ if is_array(ddof) else spread
        return computed(a, where, center, how, ddof)

    return run


def _degrees(name: str, ddof: float, correction: float | None) -> float:
    """Return what is subtracted from the number of elements, by the one of its two names given."""
    if correction is None:
        return ddof
    if not (isinstance(ddof, int) and ddof == 0):
        raise ValueError(f"{name} takes ddof or correction, which mean the same, not both")
    return correction


def _variance(
    a: Any,
    where: Any,
    center: Any,
    axes: tuple[int, ...],
    dtype: Any,
    ddof: float,
    keepdims: bool,
) -> Any:
    x = cast(a, computation_dtype(dtype))
    middle = _mean_of(x, where, axes) if center is None else cast(center, dtype_of(x))
    apart = ops.sub(x, broadcast_to_shape(middle, np.shape(x)))
    # Masked before it is squared: what is left out may be NaN, and has no derivative.
    squares = squared_modulus(masked(apart, where, 0))
    total = finished(sum_widely(squares, axes), axes, keepdims or where is not None)
    result = _divided(total, _count(np.shape(x), where, axes, dtype_of(total)), ddof)
    if where is not None and not keepdims:
        return reshape(result, _remaining(x, axes))
    return result


def _positive_or_nan(count: Any, ddof: float) -> Any:
    kind = type(count)
    degrees = count - kind(ddof)
    return degrees if degrees > 0 else kind(np.nan)


def _divided(total: Any, count: Any, ddof: float) -> Any:
    """Return a sum divided by a count less ``ddof``; NaN where that is not positive."""
    if isinstance(count, np.generic) and not is_array(ddof):
        return ops.div(total, _positive_or_nan(count, ddof))
    degrees = ops.sub(count, cast(ddof, dtype_of(count)))
    positive = gt(degrees, 0)
    return select(positive, ops.div(total, select(positive, degrees, 1)), np.nan)


_var, _std = spread_function("var", False), spread_function("std", True)


def var(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Any:
    """Return the variance of the elements along axes: the mean of |x - mean|².

    Args:
      a: an array or number.
      axis: the axes; all where not given.
      dtype: the dtype to compute in; otherwise that of ``a``, made floating.
      out: must be None.
      ddof: what to subtract from the number of elements before dividing by it; it may be
        traced.
      keepdims: whether the axes stay, with size 1.
      where: booleans that broadcast to ``a``; the elements that count.
      mean: the mean, where it is known, with its axes kept.
      correction: another name of ``ddof``.

    Raises:
      ValueError: both ``ddof`` and ``correction`` are given.

    NaN where the number of elements does not exceed ``ddof``.  Real where ``a`` is complex,
    unless a complex ``dtype`` is asked for.

    >>> jnp.var(jnp.array([1.0, 5.0])), jnp.var(jnp.array([1.0, 5.0]), ddof=1)
    (Array(4., dtype=float32), Array(8., dtype=float32))
    """
    how = along("var", axis, keepdims, out, dtype)
    return _var(a, where, mean, how, _degrees("var", ddof, correction))


def std(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike = None,
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
    how = along("std", axis, keepdims, out, dtype)
    return _std(a, where, mean, how, _degrees("std", ddof, correction))
