"""Reductions that skip NaN: each is the plain one with NaN replaced or masked out."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.logic import isnan
from jxkernel.numpy.positions import argmax, argmin
from jxkernel.numpy.promotion import argument_aval
from jxkernel.numpy.reductions import all as all_along
from jxkernel.numpy.reductions import max, mean, min, prod, std, sum, var
from jxkernel.ops.select import select

__all__ = [
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]

Axis = int | Sequence[int] | None


@fused(static=("value",))
def _filled(a: Any, value: float) -> Any:
    """Return an array with a number in place of NaN."""
    dtype = argument_aval("nan", a).dtype
    if dtype not in dtypes.INEXACT:
        return a
    return select(isnan(a), dtype.type(value), a)


@fused
def _present(a: Any, where: Any) -> Any:
    """Return where an array is not NaN, and the caller's mask holds."""
    mask = ~isnan(a)
    return mask if where is None else mask & where


def nansum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Return the sum of the elements that are not NaN; arguments are those of ``sum``.

    >>> jnp.nansum(jnp.array([[2.0, jnp.nan], [3.0, 1.0]]), axis=0)
    Array([5., 1.], dtype=float32)
    """
    argument_aval("nansum", a)
    return sum(_filled(a, 0), axis, dtype, out, keepdims, initial, where)


def nanprod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Return the product of the elements that are not NaN; arguments are those of ``prod``.

    >>> jnp.nanprod(jnp.array([2.0, jnp.nan, 3.0]))
    Array(6., dtype=float32)
    """
    argument_aval("nanprod", a)
    return prod(_filled(a, 1), axis, dtype, out, keepdims, initial, where)


def _extreme(
    function: Callable[..., Any],
    worst: float,
    a: Any,
    axis: Axis,
    out: None,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    if argument_aval("nanmax", a).dtype not in dtypes.INEXACT:
        return function(a, axis, out, keepdims, initial, where)
    result = function(_filled(a, worst), axis, out, keepdims, initial, where)
    if initial is not None:
        return result
    return _nan_where(all_along(isnan(a), axis, None, keepdims), result)


@fused
def _nan_where(empty: Any, result: Any) -> Any:
    return select(empty, np.nan, result)


def nanmax(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Return the greatest element that is not NaN; NaN where all are.  See ``max``.

    >>> jnp.nanmax(jnp.array([1.0, jnp.nan, 3.0]))
    Array(3., dtype=float32)
    """
    return _extreme(max, -np.inf, a, axis, out, keepdims, initial, where)


def nanmin(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Return the least element that is not NaN; NaN where all are.  See ``min``.

    >>> jnp.nanmin(jnp.array([1.0, jnp.nan, 3.0]))
    Array(1., dtype=float32)
    """
    return _extreme(min, np.inf, a, axis, out, keepdims, initial, where)


def _position(
    function: Callable[..., Any],
    worst: float,
    a: Any,
    axis: int | None,
    out: None,
    keepdims: bool | None,
) -> Any:
    if argument_aval("nanargmax", a).dtype not in dtypes.INEXACT:
        return function(a, axis, out, keepdims)
    place = function(_filled(a, worst), axis, out, keepdims)
    return _minus_one_where(all_along(isnan(a), axis, None, bool(keepdims)), place)


@fused
def _minus_one_where(empty: Any, place: Any) -> Any:
    return select(empty, -1, place)


def nanargmax(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Any:
    """Return the position of the greatest element that is not NaN; -1 where all are NaN.

    Args:
      a: an array, not complex.
      axis: the axis; None for the position in the flattened array.
      out: must be None.
      keepdims: whether the axis stays, with size 1.

    >>> jnp.nanargmax(jnp.array([1.0, jnp.nan, 3.0]))
    Array(2, dtype=int32)
    """
    return _position(argmax, -np.inf, a, axis, out, keepdims)


def nanargmin(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Any:
    """Return the position of the least element that is not NaN; -1 where all are NaN.

    Arguments are those of ``nanargmax``.

    >>> jnp.nanargmin(jnp.array([jnp.nan, 2.0, 3.0]))
    Array(1, dtype=int32)
    """
    return _position(argmin, np.inf, a, axis, out, keepdims)


def nanmean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    where: Any = None,
) -> Any:
    """Return the mean of the elements that are not NaN; NaN where all are.  See ``mean``.

    >>> jnp.nanmean(jnp.array([1.0, jnp.nan, 3.0]))
    Array(2., dtype=float32)
    """
    argument_aval("nanmean", a)
    return mean(a, axis, dtype, out, keepdims, where=_present(a, where))


def nanvar(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """Return the variance of the elements that are not NaN.  See ``var``.

    >>> jnp.nanvar(jnp.array([1.0, jnp.nan, 5.0]))
    Array(4., dtype=float32)
    """
    argument_aval("nanvar", a)
    mask = _present(a, where)
    return var(_filled(a, 0), axis, dtype, out, ddof, keepdims, where=mask, mean=mean)


def nanstd(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """Return the standard deviation of the elements that are not NaN.  See ``std``.

    The derivative at NaN is 0.

    >>> jnp.nanstd(jnp.array([1.0, jnp.nan, 5.0]))
    Array(2., dtype=float32)
    """
    argument_aval("nanstd", a)
    mask = _present(a, where)
    return std(_filled(a, 0), axis, dtype, out, ddof, keepdims, where=mask, mean=mean)
