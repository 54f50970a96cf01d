"""Reductions that skip NaN: each is the plain one with NaN replaced or masked out."""

from functools import partial
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.argminmax import position
from jxkernel.numpy.logic import bitwise_not, isnan
from jxkernel.numpy.means import mean_function, spread_function
from jxkernel.numpy.promotion import dtype_of
from jxkernel.numpy.reductions import (
    GREATEST,
    LEAST,
    Axis,
    accumulation,
    along,
    extreme,
    masked,
)
from jxkernel.primitives.elementwise.arithmetic import add, mul
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.reduction import reduce
from jxkernel.primitives.reduction.reduce import sum_widely
from jxkernel.runtime import ArrayLike

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


def without_nan(a: Any, value: float) -> Any:
    """Return an array with a number in place of NaN."""
    dtype = dtype_of(a)
    return select(isnan(a), dtype.type(value), a) if dtype in dtypes.INEXACT else a


def _present(a: Any, where: Any) -> Any:
    """Return where an array is not NaN, and the caller's mask holds."""
    return masked(bitwise_not(isnan(a)), where, np.bool_(False))


_nansum = accumulation("nansum", sum_widely, add, 0, partial(without_nan, value=0))
_nanprod = accumulation("nanprod", reduce.reduce_prod, mul, 1, partial(without_nan, value=1))
_nanmax = extreme("nanmax", GREATEST, skip_nan=True)
_nanmin = extreme("nanmin", LEAST, skip_nan=True)
_nanargmax = position("nanargmax", reduce.argmax, -np.inf)
_nanargmin = position("nanargmin", reduce.argmin, np.inf)
_nanmean = mean_function("nanmean", _present)
_nanvar = spread_function("nanvar", False, _present)
_nanstd = spread_function("nanstd", True, _present)


def nansum(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Return the sum of the elements that are not NaN; arguments are those of ``sum``.

    >>> jnp.nansum(jnp.array([[2.0, jnp.nan], [3.0, 1.0]]), axis=0)
    Array([5., 1.], dtype=float32)
    """
    return _nansum(a, initial, where, along("nansum", axis, keepdims, out, dtype, a), True)


def nanprod(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Return the product of the elements that are not NaN; arguments are those of ``prod``.

    >>> jnp.nanprod(jnp.array([2.0, jnp.nan, 3.0]))
    Array(6., dtype=float32)
    """
    return _nanprod(a, initial, where, along("nanprod", axis, keepdims, out, dtype, a), True)


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
    return _nanmax(a, initial, where, along("nanmax", axis, keepdims, out))


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
    return _nanmin(a, initial, where, along("nanmin", axis, keepdims, out))


def nanargmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
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
    return _nanargmax(a, axis, out, keepdims)


def nanargmin(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Any:
    """Return the position of the least element that is not NaN; -1 where all are NaN.

    Arguments are those of ``nanargmax``.

    >>> jnp.nanargmin(jnp.array([jnp.nan, 2.0, 3.0]))
    Array(1, dtype=int32)
    """
    return _nanargmin(a, axis, out, keepdims)


def nanmean(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    where: Any = None,
) -> Any:
    """Return the mean of the elements that are not NaN; NaN where all are.  See ``mean``.

    >>> jnp.nanmean(jnp.array([1.0, jnp.nan, 3.0]))
    Array(2., dtype=float32)
    """
    return _nanmean(a, where, along("nanmean", axis, keepdims, out, dtype, a))


def nanvar(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike = None,
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
    return _nanvar(a, where, mean, along("nanvar", axis, keepdims, out, dtype), ddof)


def nanstd(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike = None,
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
    return _nanstd(a, where, mean, along("nanstd", axis, keepdims, out, dtype), ddof)
