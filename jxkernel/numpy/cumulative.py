"""Running results and differences: sums up to each element, and from one element to the next."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._reprs import counted
from jxkernel.core.dimensions import is_symbolic
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.arithmetic import true_divide
from jxkernel.numpy.creation import asarray, full, user_dtype
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.joining import concatenate
from jxkernel.numpy.nan_reductions import without_nan
from jxkernel.numpy.promotion import (
    argument_aval,
    cast,
    dtype_of,
    promote_dtypes,
    promote_inexact,
    refuse_complex,
    refuse_out,
    static_axis,
)
from jxkernel.numpy.reductions import accumulated_dtype
from jxkernel.numpy.shapes import broadcast_to, moveaxis, ravel
from jxkernel.primitives.arguments import canonical_axes, canonical_axis, listed
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.reduction import cumulative as ops
from jxkernel.runtime import ArrayLike

__all__ = [
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "ediff1d",
    "gradient",
    "nancumprod",
    "nancumsum",
    "trapezoid",
    "unwrap",
]


def _running_along(name: str, operation: Any, a: Any, axis: int | None, dtype: Any) -> Any:
    """Return running results of the elements in a dtype, that of ``a`` where none is given."""
    aval = argument_aval(name, a)
    if axis is None or not aval.ndim:
        a, axis = ravel(a), 0
    axis = canonical_axis(name, axis, np.ndim(a))
    if dtype is None:
        dtype = dtypes.default_int_dtype() if aval.dtype in dtypes.BOOLEAN else aval.dtype
    if dtype in dtypes.BOOLEAN:
        return operation(cast(cast(a, dtype), dtypes.default_int_dtype()), axis) != 0
    return operation(cast(a, dtype), axis)


def _running(name: str, operation: Any, before: Callable[[Any], Any] = lambda a: a) -> Any:
    """Return a function of an array, an axis and a dtype, one program when it runs eagerly."""

    @fused(static=("axis", "dtype"), name=name)
    def running(a: Any, axis: int | None, dtype: DTypeLike) -> Any:
        argument_aval(name, a)
        return _running_along(name, operation, before(a), axis, dtype)

    return running


_cumsum = _running("cumsum", ops.cumsum)
_cumprod = _running("cumprod", ops.cumprod)
_nancumsum = _running("nancumsum", ops.cumsum, partial(without_nan, value=0))
_nancumprod = _running("nancumprod", ops.cumprod, partial(without_nan, value=1))


def cumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None) -> Any:
    """Return the sums of the elements up to each one.

    Args:
      a: an array.
      axis: the axis; None for the flattened array.
      dtype: the dtype to sum in; that of ``a`` where not given, booleans made integers.
      out: must be None.

    Linear.

    >>> jnp.cumsum(jnp.array([[1, 2], [3, 4]]), axis=1)
    Array([[1, 3],
           [3, 7]], dtype=int32)
    """
    if out is not None:
        refuse_out("cumsum", out)
    if dtype is not None:
        dtype = user_dtype(dtype, "cumsum", a)
    return _cumsum(a, static_axis("cumsum", axis), dtype)


def cumprod(a: Any, axis: int | None = None, dtype: DTypeLike = None, out: None = None) -> Any:
    """Return the products of the elements up to each one; arguments are those of ``cumsum``.

    The derivative is right also where elements are 0.

    >>> jnp.cumprod(jnp.array([2, 3, 4]))
    Array([ 2,  6, 24], dtype=int32)
    """
    if out is not None:
        refuse_out("cumprod", out)
    if dtype is not None:
        dtype = user_dtype(dtype, "cumprod", a)
    return _cumprod(a, static_axis("cumprod", axis), dtype)


def nancumsum(a: Any, axis: int | None = None, dtype: DTypeLike = None, out: None = None) -> Any:
    """Return the running sums with NaN counted as 0; see ``cumsum``.

    >>> jnp.nancumsum(jnp.array([2.0, jnp.nan, 3.0]))
    Array([2., 2., 5.], dtype=float32)
    """
    if out is not None:
        refuse_out("nancumsum", out)
    if dtype is not None:
        dtype = user_dtype(dtype, "nancumsum", a)
    return _nancumsum(a, static_axis("nancumsum", axis), dtype)


def nancumprod(a: Any, axis: int | None = None, dtype: DTypeLike = None, out: None = None) -> Any:
    """Return the running products with NaN counted as 1; see ``cumsum``.

    >>> jnp.nancumprod(jnp.array([2.0, jnp.nan, 3.0]))
    Array([2., 2., 6.], dtype=float32)
    """
    if out is not None:
        refuse_out("nancumprod", out)
    if dtype is not None:
        dtype = user_dtype(dtype, "nancumprod", a)
    return _nancumprod(a, static_axis("nancumprod", axis), dtype)


def _standard(name: str, operation: Any, identity: int) -> Any:
    @fused(static=("axis", "dtype", "include_initial"), name=name)
    def standard(x: Any, axis: int | None, dtype: DTypeLike, include_initial: bool) -> Any:
        rank = argument_aval(name, x).ndim
        if axis is None and rank != 1:
            raise ValueError(f"{name} needs an axis for an array of shape {np.shape(x)}")
        axis = canonical_axis(name, 0 if axis is None else axis, rank)
        if dtype is None and operation is ops.cumsum:
            dtype = accumulated_dtype(dtype_of(x), True)
        result = _running_along(name, operation, x, axis, dtype)
        if not include_initial:
            return result
        shape = (*result.shape[:axis], 1, *result.shape[axis + 1 :])
        return concatenate([full(shape, identity, result.dtype), result], axis)

    return standard


_cumulative_sum = _standard("cumulative_sum", ops.cumsum, 0)
_cumulative_prod = _standard("cumulative_prod", ops.cumprod, 1)


def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike = None,
    include_initial: bool = False,
) -> Any:
    """Return running sums, as the array API standard has them.

    Args:
      x: an array.
      axis: the axis; needed unless the rank is 1.
      dtype: the dtype to sum in; where not given small integers are summed in 32 bits, or in
        64 where those are enabled, as by ``sum``.
      include_initial: whether a 0 comes first.

    Raises:
      ValueError: the axis is missing.

    >>> jnp.cumulative_sum(jnp.array([2, 3]), include_initial=True)
    Array([0, 2, 5], dtype=int32)
    """
    dtype = user_dtype(dtype, "cumulative_sum", x)
    return _cumulative_sum(x, static_axis("cumulative_sum", axis), dtype, bool(include_initial))


def cumulative_prod(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike = None,
    include_initial: bool = False,
) -> Any:
    """Return running products; arguments are those of ``cumulative_sum``, and 1 comes first.

    Small integers are multiplied in their own dtype where no other is given.

    >>> jnp.cumulative_prod(jnp.array([2, 3]), include_initial=True)
    Array([1, 2, 6], dtype=int32)
    """
    dtype = user_dtype(dtype, "cumulative_prod", x)
    return _cumulative_prod(x, static_axis("cumulative_prod", axis), dtype, bool(include_initial))


# ---------------------------------------------------------------- differences


def _differences(a: Any, n: int, axis: int) -> Any:
    a = moveaxis(a, axis, -1)
    for _ in range(n):
        a = a[..., 1:] != a[..., :-1] if a.dtype == bool else a[..., 1:] - a[..., :-1]
    return moveaxis(a, -1, axis)


@fused(static=("n", "axis"), normalized=True)
def diff(a: ArrayLike, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Return the differences of successive elements; of booleans, whether they differ.

    Args:
      a: an array of rank 1 or more.
      n: how often to take differences; for 0 the array is returned as it is.
      axis: the axis.
      prepend: values before the first element; a scalar is repeated.
      append: values after the last.

    Raises:
      ValueError: ``n`` is negative, or ``a`` is a scalar.

    >>> jnp.diff(jnp.array([1, 4, 9]), prepend=0)
    Array([1, 3, 5], dtype=int32)
    """
    aval = argument_aval("diff", a)
    if n < 0:
        raise ValueError(f"diff got n={n}: it is not negative")
    if not aval.ndim:
        raise ValueError("diff needs an array of rank 1 or more, got a scalar")
    axis = canonical_axis("diff", axis, aval.ndim)
    if not n:
        return asarray(a)
    parts = [_edge(p, aval.shape, axis) for p in (prepend, a, append) if p is not None]
    joined = concatenate(parts, axis) if len(parts) > 1 else asarray(a)
    return _differences(joined, n, axis)


def _edge(part: Any, shape: tuple[int, ...], axis: int) -> Any:
    if np.ndim(part):
        return part
    return broadcast_to(part, (*shape[:axis], 1, *shape[axis + 1 :]))


def ediff1d(ary: ArrayLike, to_end: Any = None, to_begin: Any = None) -> Any:
    """Return the differences of successive elements of the flattened array.

    Args:
      ary: an array.
      to_end: values to follow them.
      to_begin: values to come first.

    >>> jnp.ediff1d(jnp.array([[1, 4], [9, 16]]), to_end=0)
    Array([3, 5, 7, 0], dtype=int32)
    """
    argument_aval("ediff1d", ary)
    flat = ravel(ary)
    parts = [flat[1:] - flat[:-1]]
    if to_begin is not None:
        parts.insert(0, ravel(asarray(to_begin, flat.dtype)))
    if to_end is not None:
        parts.append(ravel(asarray(to_end, flat.dtype)))
    return concatenate(parts)


@fused(static=("axis",), name="gradient")
def _slopes(f: Any, spacing: Any, axis: int) -> Any:
    """Take central differences inside, of second order also where the spacing is uneven."""
    f = moveaxis(f, axis, -1)
    if np.ndim(spacing) == 0:
        inner = (f[..., 2:] - f[..., :-2]) / (2 * spacing)
        first, last = (f[..., 1:2] - f[..., :1]) / spacing, (f[..., -1:] - f[..., -2:-1]) / spacing
    else:
        steps = spacing[1:] - spacing[:-1]
        before, after = steps[:-1], steps[1:]
        inner = (
            -(after / (before * (before + after))) * f[..., :-2]
            + ((after - before) / (before * after)) * f[..., 1:-1]
            + (before / (after * (before + after))) * f[..., 2:]
        )
        first = (f[..., 1:2] - f[..., :1]) / steps[:1]
        last = (f[..., -1:] - f[..., -2:-1]) / steps[-1:]
    return moveaxis(concatenate([first, inner, last], -1), -1, axis)


def gradient(
    f: ArrayLike,
    *varargs: Any,
    axis: int | Sequence[int] | None = None,
    edge_order: int | None = None,
) -> Any:
    """Return slopes along axes by differences, central ones inside.

    Args:
      f: an array with at least two elements along each of the axes.
      *varargs: the spacing: nothing for 1, one number for all axes, or for each axis a number or
        the coordinates.
      axis: the axes; all where not given.
      edge_order: must be None or 1.

    Returns:
      an array, or a list of one for each axis.

    Raises:
      ValueError: an axis is too short, or the spacings do not fit.
      NotImplementedError: another order at the edges.

    >>> jnp.gradient(jnp.array([0.0, 1.0, 4.0, 9.0]))
    Array([1., 2., 4., 5.], dtype=float32)
    """
    if edge_order not in (None, 1):
        raise NotImplementedError(f"gradient(edge_order={edge_order}): there is 1")
    aval = argument_aval("gradient", f)
    f, *spacings = promote_inexact("gradient", f, *varargs)
    chosen = range(aval.ndim) if axis is None else listed(axis)
    axes = canonical_axes("gradient", chosen, aval.ndim)
    if any(aval.shape[i] < 2 for i in axes):
        raise ValueError(f"gradient needs two elements along each axis, got shape {aval.shape}")
    spacings = spacings or [1]
    if len(spacings) == 1 and (len(axes) != 1 or np.ndim(spacings[0]) == 0):
        spacings = spacings * len(axes)
    if len(spacings) != len(axes):
        raise ValueError(
            f"gradient got {counted(len(varargs), 'spacing')} for {counted(len(axes), 'axis')}"
        )
    for spacing, i in zip(spacings, axes, strict=True):
        if np.ndim(spacing) and np.shape(spacing) != (aval.shape[i],):
            raise ValueError(
                f"gradient got coordinates of shape {np.shape(spacing)} for axis {i} of size "
                f"{aval.shape[i]}"
            )
    results = [_slopes(f, spacing, i) for spacing, i in zip(spacings, axes, strict=True)]
    return results[0] if len(results) == 1 else results


@fused(static=("axis",), normalized=True)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Return the integral along an axis by the trapezoidal rule.

    Args:
      y: the values.
      x: their coordinates; otherwise they are ``dx`` apart.
      dx: the distance, or distances that broadcast to the steps.
      axis: the axis.

    >>> jnp.trapezoid(jnp.array([1.0, 2.0, 3.0]), dx=0.5)
    Array(2., dtype=float32)
    """
    y, *places = promote_inexact("trapezoid", y, *(() if x is None else (x,)))
    y = moveaxis(cast(y, dtype_of(y)), axis, -1)
    if x is None:
        dx = asarray(dx)
        size = np.shape(y)[-1]
        if not dx.ndim and not is_symbolic(size) and size > 1:
            ends = y[..., 0] * 0.5 + y[..., -1] * 0.5
            return (y[..., 1:-1].sum(-1) + ends) * dx
        return (moveaxis(y[..., 1:] + y[..., :-1], -1, axis) * dx).sum(axis) * 0.5
    places = cast(places[0], dtype_of(y))
    places = places if places.ndim == 1 else moveaxis(places, axis, -1)
    steps = places[..., 1:] - places[..., :-1]
    return ((y[..., 1:] + y[..., :-1]) * steps).sum(-1) * 0.5


@fused(static=("axis",), normalized=True, name="unwrap")
def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * np.pi) -> Any:
    """Return angles with jumps of more than half a period taken out.

    Args:
      p: the angles, of rank 1 or more, not complex.
      discont: the least jump to take out; half a period where not given.
      axis: the axis.
      period: the period, a number; integers with an integer period stay integers.

    Raises:
      TypeError: ``p`` is no array, or is complex.
      ValueError: the axis does not exist.

    >>> jnp.unwrap(jnp.array([0.0, 90.0, 280.0, 10.0]), period=360)
    Array([  0.,  90., -80.,  10.], dtype=float32)
    >>> jnp.unwrap(jnp.array([0, 3, 6, 1]), period=8)
    Array([0, 3, 6, 9], dtype=int32)
    """
    aval = argument_aval("unwrap", p)
    refuse_complex("unwrap", aval.dtype)
    p, period = promote_dtypes("unwrap", p, period)
    p = cast(p, dtype_of(p))
    p = moveaxis(p, canonical_axis("unwrap", axis, np.ndim(p)), -1)
    half = true_divide(period, 2)
    interval = half if dtype_of(p) in dtypes.INEXACT else period // 2
    step = p[..., 1:] - p[..., :-1]
    moved = (step + interval) % period - interval
    # A step of exactly half a period keeps its direction.
    exactly = (moved == -interval) & (step > 0) & (interval * 2 == period)
    correction = select(exactly, broadcast_to(interval, moved.shape), moved) - step
    small = abs(step) < (half if discont is None else discont)
    total = ops.cumsum(select(small, 0, correction), step.ndim - 1)
    return moveaxis(concatenate([p[..., :1], p[..., 1:] + total], -1), -1, axis)
