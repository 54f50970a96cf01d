"""Quantiles and medians: find the neighbours by rank, then interpolate between them."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.dimensions import is_symbolic
from jxkernel.numpy.arithmetic import maximum, minimum, true_divide
from jxkernel.numpy.creation import full
from jxkernel.numpy.cumulative import cumsum
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.logic import isinf, isnan
from jxkernel.numpy.mathematics import ceil, floor, rint
from jxkernel.numpy.promotion import (
    argument_aval,
    cast,
    dtype_of,
    inexact_dtype,
    refuse_complex,
    refuse_out,
    static_axes,
)
from jxkernel.numpy.reductions import Axis, reduced_axes
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import (
    broadcast_to,
    expand_dims,
    moveaxis,
    permute_dims,
    ravel,
    reshape,
)
from jxkernel.numpy.sorting import argsort
from jxkernel.numpy.taking import take_along_axis
from jxkernel.primitives.reduction.ranked import ranked
from jxkernel.primitives.sharding.constraints import with_out_sharding
from jxkernel.runtime import ArrayLike

__all__ = [
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "quantile",
]

# (alpha, beta) of Hyndman and Fan: q lies at n q + alpha + q (1 - alpha - beta) - 1, from 0.
_CONTINUOUS = {
    "linear": (1.0, 1.0),
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}


def _lower(place: Any) -> tuple[Any, Any]:
    return floor(place), 0.0


def _higher(place: Any) -> tuple[Any, Any]:
    return ceil(place), 0.0


def _nearest(place: Any) -> tuple[Any, Any]:
    return rint(place), 0.0


def _midpoint(place: Any) -> tuple[Any, Any]:
    low = floor(place)
    return low, where(place > low, 0.5, 0.0)


_BETWEEN = {"lower": _lower, "higher": _higher, "nearest": _nearest, "midpoint": _midpoint}


def _inverted_cdf(place: Any) -> tuple[Any, Any]:
    low = floor(place)
    return where(place > low, low + 1, low), 0.0


def _averaged_inverted_cdf(place: Any) -> tuple[Any, Any]:
    low = floor(place)
    return low, where(place > low, 1.0, 0.5)


def _closest_observation(place: Any) -> tuple[Any, Any]:
    place = place - 0.5
    low = floor(place)
    stays = (place == low) & (low % 2 == 0)
    return where(stays, low, low + 1), 0.0


_DISCRETE = {
    "inverted_cdf": _inverted_cdf,
    "averaged_inverted_cdf": _averaged_inverted_cdf,
    "closest_observation": _closest_observation,
}
METHODS = (*_CONTINUOUS, *_BETWEEN, *_DISCRETE)


def _neighbours(q: Any, count: Any, method: str) -> tuple[Any, Any]:
    """Return the place of q's lower neighbour among ``count``, from 0, and the part beyond it."""
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        place = q * count + (alpha + q * (1 - alpha - beta)) - 1
        place = minimum(maximum(place, 0), count - 1)
        low = floor(place)
        return low, place - low
    if method in _BETWEEN:
        return _BETWEEN[method](q * (count - 1))
    return _DISCRETE[method](q * count - 1)


def _between_neighbours(
    name: str, a: Any, q: Any, weights: Any, axis: Axis, method: str, keepdims: bool, skip_nan: bool
) -> Any:
    axes = _checked_axes(name, a, q, axis, method, skip_nan)
    dtype = inexact_dtype(dtypes.lattice_result_type(*map(_inexact_pair, (a, q)))[0])
    rest = tuple(n for i, n in enumerate(np.shape(a)) if i not in axes)
    x, parts = _lines(cast(a, dtype), axes), ravel(cast(q, dtype))
    if not x.shape[-1]:
        result = full((*x.shape[:-1], parts.shape[0]), np.nan, dtype)
    elif weights is None:
        result = _unweighted(x, parts, method, skip_nan)
    else:
        weights = _lines(cast(_aligned_weights(name, a, weights, axis, axes, method), dtype), axes)
        result = _weighted(x, parts, weights, skip_nan)
    result = reshape(moveaxis(result, -1, 0), (*np.shape(q), *rest))
    result = cast(result, inexact_dtype(dtype_of(a)))
    return expand_dims(result, tuple(np.ndim(q) + i for i in axes)) if keepdims else result


def _lines(a: Any, axes: tuple[int, ...]) -> Any:
    """Return an array with some axes made one, the last."""
    shape = np.shape(a)
    rest = tuple(n for i, n in enumerate(shape) if i not in axes)
    x = moveaxis(a, axes, tuple(range(len(rest), len(shape))))
    return reshape(x, (*rest, prod(shape[i] for i in axes)))


def _unweighted(x: Any, q: Any, method: str, skip_nan: bool) -> Any:
    """Return the quantiles of lines."""
    missing, dtype = isnan(x), dtype_of(x)
    size = x.shape[-1]
    if skip_nan:
        count = (~missing).sum(-1, dtype, keepdims=True)
    else:
        count = cast(size, dtype) if is_symbolic(size) else dtype.type(size)
    low, part = _neighbours(q, count, method)
    undefined = count == 0 if skip_nan else missing.any(-1, keepdims=True)
    return where(undefined, np.nan, _interpolated(x, low, part, count - 1))


def _weighted(x: Any, q: Any, weights: Any, skip_nan: bool) -> Any:
    """Return the first elements at which the running share of the weight reaches q."""
    order = argsort(x, -1)
    x, weights = take_along_axis(x, order, -1), take_along_axis(weights, order, -1)
    missing = isnan(x)
    weights = where(missing, 0, weights) if skip_nan else weights
    reached = cumsum(weights, -1)
    total = reached[..., -1:]
    # What comes before all weight is never reached, not even by q = 0; nor, where sums are
    # rounded, what comes after it.
    before = (reached[..., None] / total[..., None] < q) | (reached[..., None] <= 0)
    last = where(weights > 0, np.arange(x.shape[-1]), 0).max(-1, keepdims=True)
    place = minimum(before.sum(-2), last)
    undefined = total == 0 if skip_nan else missing.any(-1, keepdims=True)
    return where(undefined, np.nan, take_along_axis(x, place, -1))


def _aligned_weights(
    name: str, a: Any, weights: Any, axis: Axis, axes: tuple[int, ...], method: str
) -> Any:
    """Return weights of the shape of ``a``."""
    if method != "inverted_cdf":
        raise NotImplementedError(
            f"{name}(weights=...) needs method='inverted_cdf', got {method!r}"
        )
    shape, own = np.shape(a), argument_aval(name, weights).shape
    if own == shape:
        return weights
    if axis is None or own != tuple(shape[i] for i in axes):
        raise ValueError(
            f"{name} got weights of shape {own} for elements of shape {shape}: the shape must be "
            "the same, or the sizes of the axes given"
        )
    order = sorted(range(len(axes)), key=axes.__getitem__)
    others = tuple(i for i in range(len(shape)) if i not in axes)
    return broadcast_to(expand_dims(permute_dims(weights, order), others), shape)


def _quantiles(
    name: str, *, skip_nan: bool = False, part: Callable[[Any], Any] = lambda q: q
) -> Any:
    """Return a function with the arguments of ``quantile``, one program when it runs eagerly.

    ``part`` makes parts of one from what is given as ``q``.
    """

    def body(a: Any, q: Any, weights: Any, axis: Axis, method: str, keepdims: bool) -> Any:
        argument_aval(name, q, 1)
        return _between_neighbours(name, a, part(q), weights, axis, method, keepdims, skip_nan)

    static = ("axis", "method", "keepdims")
    at_any = fused(body, static=static, name=name)
    # For a number the neighbours' places are known when compiled.
    at_number = fused(body, static=("q", *static), name=name)

    def run(
        a: Any, q: Any, axis: Axis, out: None, method: str, keepdims: bool, weights: Any = None
    ) -> Any:
        if out is not None:
            refuse_out(name, out)
        at = at_number if type(q) is float or type(q) is int else at_any
        return at(a, q, weights, static_axes(name, axis), method, bool(keepdims))

    return run


def _inexact_pair(x: Any) -> tuple[Any, bool]:
    aval = argument_aval("quantile", x)
    return inexact_dtype(aval.dtype), aval.weak_type


def _interpolated(x: Any, low: Any, part: Any, last: Any) -> Any:
    """Return the element of the lower rank and on toward the next, both among the counted ones."""
    shape = (*x.shape[:-1], np.shape(low)[-1])
    rank = maximum(minimum(maximum(low, 0), last), 0)
    first, second = ranked(x, broadcast_to(_integer(rank), shape))
    second = where((low < 0) | (low + 1 > last), first, second)
    # An infinite neighbour takes no part where the place is that of the first.
    second = where(isinf(second) & (part == 0), first, second)
    # Equal infinite neighbours give themselves; the derivative of others is shared by both.
    same = (first == second) & isinf(first)
    return where(same, first, first * (1 - part) + second * part)


def _integer(place: Any) -> Any:
    return cast(place, np.dtype(np.int32))


def _checked_axes(
    name: str, a: Any, q: Any, axis: Axis, method: str, skip_nan: bool
) -> tuple[int, ...]:
    if method not in METHODS:
        raise ValueError(f"{name} got method {method!r}: there are {', '.join(METHODS)}")
    for argument in (a, q):
        refuse_complex(name, argument_aval(name, argument).dtype)
    if np.ndim(q) > 1:
        raise ValueError(f"{name} takes a number or a vector of q, got shape {np.shape(q)}")
    axes = reduced_axes(name, a, axis)
    if not skip_nan and not prod(np.shape(a)[i] for i in axes):
        raise ValueError(f"{name} of no elements is not defined, got shape {np.shape(a)}")
    return axes


def _part(q: Any) -> Any:
    """Return percents as parts of one."""
    return q / 100 if isinstance(q, (int, float)) else true_divide(q, 100)


_quantile = _quantiles("quantile")
_nanquantile = _quantiles("nanquantile", skip_nan=True)
_percentile = _quantiles("percentile", part=_part)
_nanpercentile = _quantiles("nanpercentile", skip_nan=True, part=_part)
_median = _quantiles("median")
_nanmedian = _quantiles("nanmedian", skip_nan=True)


def quantile(
    a: ArrayLike,
    q: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Return the values below which given parts of the elements lie.

    Args:
      a: an array, not complex.
      q: the parts, from 0 to 1: a number or a vector.
      axis: the axes; all where not given.
      out: must be None.
      overwrite_input: accepted; arrays do not change.
      method: what to do between two elements, one of NumPy's methods.
      keepdims: whether the axes stay, with size 1.
      weights: how much each element counts, not negative: an array of the shape of ``a``, or of
        the sizes of ``axis``.  For the method "inverted_cdf" only; without a derivative.

    Returns:
      an array of the dtype of ``a`` (a float's for integers), whose first axis is that of ``q``,
      if it has one.  NaN where an element is.

    Raises:
      TypeError: an argument is complex.
      ValueError: there is no element, or no such method, or the weights do not fit.
      NotImplementedError: there are weights, and the method is another than inverted_cdf.

    Source: R. Hyndman, Y. Fan, "Sample quantiles in statistical packages", The American
    Statistician 50, 1996.

    >>> jnp.quantile(jnp.array([1.0, 3.0, 5.0]), 0.75)
    Array(4., dtype=float32)
    >>> jnp.quantile(jnp.array([1.0, 3.0, 5.0]), 0.7, method="lower")
    Array(3., dtype=float32)
    """
    return _quantile(a, q, axis, out, method, keepdims, weights)


def nanquantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Return quantiles of the elements that are not NaN; NaN where there is none.

    Arguments are those of ``quantile``.

    >>> jnp.nanquantile(jnp.array([1.0, jnp.nan, 5.0]), 0.25)
    Array(2., dtype=float32)
    """
    return _nanquantile(a, q, axis, out, method, keepdims, weights)


def percentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return quantiles for ``q`` in percent; other arguments are those of ``quantile``.

    ``out_sharding`` says how the result is divided over explicit mesh axes.

    >>> jnp.percentile(jnp.array([1.0, 3.0, 5.0]), jnp.array([25, 50]))
    Array([2., 3.], dtype=float32)
    """
    if out_sharding is not None:
        how = {"method": method, "keepdims": keepdims, "weights": weights}
        return with_out_sharding(percentile, (a, q), out_sharding, axis, out, **how)
    return _percentile(a, q, axis, out, method, keepdims, weights)


def nanpercentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Return quantiles of the elements that are not NaN, for ``q`` in percent.

    Arguments and errors are those of ``percentile``.

    >>> jnp.nanpercentile(jnp.array([1.0, jnp.nan, 5.0]), 25)
    Array(2., dtype=float32)
    """
    return _nanpercentile(a, q, axis, out, method, keepdims, weights)


def median(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """Return the middle of the elements along axes; the mean of the two middle ones if even.

    Args:
      a: an array, not complex.
      axis: the axes; all where not given.
      out: must be None.
      overwrite_input: accepted; arrays do not change.
      keepdims: whether the axes stay, with size 1.

    >>> jnp.median(jnp.array([9, 1, 4, 2]))
    Array(3., dtype=float32)
    """
    return _median(a, 0.5, axis, out, "midpoint", keepdims)


def nanmedian(
    a: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """Return the median of the elements that are not NaN; NaN where there is none.

    Arguments are those of ``median``.

    >>> jnp.nanmedian(jnp.array([9.0, jnp.nan, 4.0, 2.0]))
    Array(4., dtype=float32)
    """
    return _nanmedian(a, 0.5, axis, out, "midpoint", keepdims)
