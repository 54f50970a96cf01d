"""Counts: of numbers, of values in bins, of points in boxes."""

from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.api.control_flow.branching import cond
from jxkernel.core.dimensions import is_symbolic
from jxkernel.numpy.arithmetic import absolute, clip, minimum
from jxkernel.numpy.creation import asarray, zeros
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.joining import concatenate
from jxkernel.numpy.logic import isnan
from jxkernel.numpy.promotion import (
    argument_aval,
    cast,
    check_arguments,
    dtype_of,
    inexact_dtype,
    promote_inexact,
)
from jxkernel.numpy.ranges import arange, linspace
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import expand_dims, ravel, reshape
from jxkernel.numpy.sorting import searchsorted
from jxkernel.numpy.taking import known_now
from jxkernel.numpy.updating import IndexUpdater
from jxkernel.primitives.arguments import sequence, whole_number
from jxkernel.primitives.elementwise.identity import optimization_barrier, stop_gradient
from jxkernel.primitives.sharding.constraints import (
    asked_sharding,
    mesh_cast,
    reshard_to,
    with_out_sharding,
)
from jxkernel.runtime import ArrayLike
from jxkernel.tree import physical

__all__ = [
    "bincount",
    "digitize",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
]

_MANY = 1 << 17
"""The values from which a way that takes longer to compile pays."""

_MOST = 1 << 22
"""The edges whose numbers, and halves between them, float32 tells apart."""


@fused(static=("length",), name="bincount")
def _counted(x: Any, weights: Any, length: int) -> Any:
    """Add each weight (or 1) at its place; negative numbers count as 0."""
    places = clip(x, 0)
    values: Any = 1 if weights is None else weights
    dtype = dtypes.default_int_dtype() if weights is None else argument_aval("b", weights).dtype
    return IndexUpdater(zeros(length, dtype))[places].add(values, mode="drop")


def bincount(
    x: ArrayLike,
    weights: Any = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: Any = None,
) -> Any:
    """Return how often each number from 0 on occurs.

    Args:
      x: a vector of integers; negative ones count as 0.
      weights: what each counts, in place of 1.
      minlength: the least length of the result.
      length: the length, needed while ``x`` is traced; greater numbers are dropped.
      out_sharding: how the result is divided over explicit mesh axes; where None, operands decide.

    Raises:
      TypeError: ``x`` is not of integers.
      ValueError: ``x`` is not a vector, or a length is negative.
      ConcretizationTypeError: ``x`` is traced and ``length`` not given.

    >>> jnp.bincount(jnp.array([0, 2, 2]), minlength=4)
    Array([1, 0, 2, 0], dtype=int32)
    """
    if out_sharding is not None:
        how = {"length": length}
        return with_out_sharding(bincount, (x, weights), out_sharding, minlength, **how)
    aval = argument_aval("bincount", x)
    if aval.dtype not in dtypes.INTEGRAL and aval.dtype not in dtypes.BOOLEAN:
        raise TypeError(f"bincount counts integers, got dtype {aval.dtype.name}")
    if aval.ndim != 1:
        raise ValueError(f"bincount counts a vector, got shape {aval.shape}")
    least = whole_number("bincount", "minlength", minlength)
    if min(least, 0 if length is None else whole_number("bincount", "length", length)) < 0:
        raise ValueError(f"bincount got minlength={minlength}, length={length}: not negative")
    if length is None:
        known = np.asarray(known_now("bincount", x, "length"))
        length = max(least, int(known.max()) + 1 if known.size else 0)
    x = cast(asarray(x), dtypes.default_int_dtype()) if aval.dtype in dtypes.BOOLEAN else x
    return _counted(x, weights, whole_number("bincount", "length", length))


def digitize(x: ArrayLike, bins: Any, right: bool = False, *, method: str | None = None) -> Any:
    """Return the number of the bin that each value falls into.

    Args:
      x: the values.
      bins: the edges, a vector that rises or falls.
      right: whether a bin includes its right edge, and not its left one.
      method: as for ``searchsorted``.

    Raises:
      ValueError: ``bins`` is not a vector.

    >>> jnp.digitize(jnp.array([-1, 0, 7]), jnp.array([0, 5, 10]))
    Array([0, 1, 2], dtype=int32)
    """
    check_arguments("digitize", x, bins)
    if np.ndim(bins) != 1:
        raise ValueError(f"digitize takes a vector of edges, got shape {np.shape(bins)}")
    bins = asarray(bins)
    side = "right" if not right else "left"
    how = method or "scan"
    if not bins.size:
        return zeros(np.shape(x), dtypes.default_int_dtype())
    rising = searchsorted(bins, x, side, method=how)
    falling = bins.size - searchsorted(bins[::-1], x, side, method=how)
    return where(bins[-1] >= bins[0], rising, falling)


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """Return the edges of the bins that ``histogram`` uses for the same arguments.

    Raises:
      NotImplementedError: ``bins`` names a rule: the number of bins would depend on values.

    >>> jnp.histogram_bin_edges(jnp.array([0.0, 3.0, 4.0]), bins=4)
    Array([0., 1., 2., 3., 4.], dtype=float32)
    """
    if isinstance(bins, str):
        raise NotImplementedError(
            f"histogram(bins={bins!r}): the number of bins would depend on values; give a number"
        )
    argument_aval("histogram_bin_edges", a)
    dtype = inexact_dtype(dtype_of(a))
    if np.ndim(bins):
        return asarray(bins, dtype)
    count = whole_number("histogram", "bins", bins)
    if count < 1:
        raise ValueError(f"histogram got bins={count}: at least one bin is needed")
    a = ravel(a)
    given = (_least(a), _greatest(a)) if range is None else range
    limits = sequence("histogram", "range", given, "two numbers")
    if len(limits) != 2:
        raise ValueError(f"histogram got range={range!r:.100}: it is the pair (least, greatest)")
    low, high = [asarray(limit, dtype) for limit in limits]
    flat = low == high
    low, high = where(flat, low - 0.5, low), where(flat, high + 0.5, high)
    return linspace(low, high, count + 1, dtype=dtype)


def _least(a: Any) -> Any:
    return a.min() if a.size else 0.0


def _greatest(a: Any) -> Any:
    return a.max() if a.size else 1.0


def _bin_of(values: Any, edges: Any, even: bool) -> Any:
    """Return the bin of each value: from 0; the last one includes its right edge.

    Args:
      values: the values.
      edges: the bins' edges, in rising order.
      even: whether the bins are of equal width, but for rounding.

    Returns:
      integers; values outside have a negative one, or one of no bin.
    """
    values, edges = stop_gradient((values, edges))
    if not even or edges.size > _MOST or is_symbolic(values.size) or values.size < _MANY:
        return _searched_bin(values, edges)
    # Else XLA would compute an edge anew for each value that is compared with it.
    edges = optimization_barrier(edges)
    return cond(_is_near(edges), _nearby_bin, _searched_bin, values, edges)


def _searched_bin(values: Any, edges: Any) -> Any:
    place = searchsorted(edges, values, "right")
    return cast(where(values == edges[-1], edges.size - 1, place) - 1, np.dtype(np.int32))


def _divided(values: Any, edges: Any) -> Any:
    """Return how many bins lie before each value, of bins of equal width.

    Of 16-bit floats in float32: their own digits do not count far.
    """
    if values.dtype.itemsize < 4:
        values, edges = cast(values, np.dtype(np.float32)), cast(edges, np.dtype(np.float32))
    return (values - edges[0]) * ((edges.size - 1) / (edges[-1] - edges[0]))


def _is_near(edges: Any) -> Any:
    """Return whether ``_nearby_bin`` holds: a division is less than a half off at every edge."""
    return (absolute(_divided(edges, edges) - arange(edges.size)) <= 0.5).all()


def _nearby_bin(values: Any, edges: Any) -> Any:
    """Return the bin of each value by a division, set right by a look at two edges.

    A division rises with the value.  So where it is less than a half off at every edge, it is less
    than one bin off between them.
    """
    last = edges.size - 2
    found = _divided(values, edges)
    bins = cast(where(found > 0, minimum(found, last), 0), np.dtype(np.int32))
    low, high = edges[bins], edges[bins + 1]
    below, above = (cast(x, bins.dtype) for x in (values < low, (values >= high) & (bins < last)))
    outside = (values < edges[0]) | (values > edges[-1]) | isnan(values)
    return where(outside, -1, bins - below + above)


def histogram(
    a: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
    out_sharding: Any = None,
) -> tuple[Any, Any]:
    """Return how many values fall into each bin, and the bins' edges.

    Args:
      a: the values.
      bins: the number of bins of equal width, or the edges.
      range: the least and the greatest edge; those of the values where not given.
      weights: what each value counts, in place of 1.
      density: whether to divide so that the integral is 1.
      out_sharding: how the counts are divided over explicit mesh axes.

    Raises:
      ValueError: the weights have another shape than the values.

    >>> counts, edges = jnp.histogram(jnp.array([0.0, 1.0, 1.5, 4.0]), bins=2)
    >>> counts.tolist(), edges.tolist()
    ([3.0, 1.0], [0.0, 2.0, 4.0])
    """
    if out_sharding is not None:
        sharding = asked_sharding("histogram", out_sharding, (a,))
        a, bins, range, weights = physical.map(mesh_cast, (a, bins, range, weights))
        counts, edges = histogram(a, bins, range, weights, density)
        return reshard_to(counts, sharding), edges
    check_arguments("histogram", a, *(() if weights is None else (weights,)))
    if weights is not None and np.shape(weights) != np.shape(a):
        raise ValueError(
            f"histogram got weights of shape {np.shape(weights)} for values of shape {np.shape(a)}"
        )
    given = (a,) if weights is None else (a, weights)
    values, *counted = [ravel(x) for x in promote_inexact("histogram", *given)]
    edges = cast(histogram_bin_edges(a, bins, range), values.dtype)
    counts = _histogram(values, edges, *counted, even=not np.ndim(bins))
    if density:
        counts = counts / (edges[1:] - edges[:-1]) / counts.sum()
    return counts, edges


@fused(static=("even",), name="histogram")
def _histogram(values: Any, edges: Any, weights: Any = 1, *, even: bool) -> Any:
    place = _bin_of(values, edges, even)
    outside = (place < 0) | (place >= edges.size - 1) | isnan(values)
    place = where(outside, edges.size - 1, place)
    counts = IndexUpdater(zeros(edges.size - 1, values.dtype))[place]
    return counts.add(weights, mode="drop")


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Any, list[Any]]:
    """Return how many points fall into each box of a grid, and the edges along each axis.

    Args:
      sample: the points, of shape (number, axes).
      bins: the number of bins, the same or one for each axis, or the edges along each.
      range: the least and greatest edge along each axis.
      weights: what each point counts, in place of 1.
      density: whether to divide so that the integral is 1.

    Raises:
      ValueError: there are not as many ``bins`` or ranges as axes.

    >>> points = jnp.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    >>> counts, edges = jnp.histogramdd(points, bins=2)
    >>> counts.tolist(), edges[0].tolist()
    ([[1, 0], [1, 1]], [0.0, 0.5, 1.0])
    """
    if weights is not None:
        argument_aval("histogramdd", weights, 3)
    given = (asarray(sample),) if weights is None else (asarray(sample), weights)
    sample, *counted = promote_inexact("histogramdd", *given)
    if sample.ndim != 2:
        raise ValueError(f"histogramdd takes points of shape (n, d), got shape {sample.shape}")
    rank = sample.shape[1]
    several = isinstance(bins, (list, tuple)) or np.ndim(bins)
    each = list(bins) if several else [bins] * rank
    ranges = (
        [None] * rank if range is None else sequence("histogramdd", "range", range, "pairs or None")
    )
    if len(each) != rank or len(ranges) != rank:
        raise ValueError(
            f"histogramdd got {len(each)} bins and {len(ranges)} ranges for {rank} axes"
        )
    columns = [sample[:, i] for i in np.arange(rank).tolist()]
    edges = [
        asarray(histogram_bin_edges(*part), sample.dtype)
        for part in zip(columns, each, ranges, strict=True)
    ]
    even = tuple([not np.ndim(own) for own in each])
    counts = _boxes(tuple(columns), tuple(edges), *counted, even=even)
    if density:
        for axis, line in enumerate(edges):
            width = line[1:] - line[:-1]
            counts = counts / expand_dims(width, tuple(i for i in np.arange(rank) if i != axis))
        counts = counts / _boxes(tuple(columns), tuple(edges), *counted, even=even).sum()
    return counts, edges


@fused(static=("even",), name="histogramdd")
def _boxes(
    columns: tuple[Any, ...], edges: tuple[Any, ...], weights: Any = None, *, even: tuple[bool, ...]
) -> Any:
    shape = tuple(line.size - 1 for line in edges)
    dtype = dtypes.default_int_dtype() if weights is None else weights.dtype
    place: Any = 0
    outside: Any = False
    for values, line, is_even in zip(columns, edges, even, strict=True):
        own = _bin_of(values, line, is_even)
        outside = outside | (own < 0) | (own >= line.size - 1)
        place = place * (line.size - 1) + own
    place = where(outside, prod(shape), place)
    flat = IndexUpdater(zeros(prod(shape), dtype))[place]
    return reshape(flat.add(1 if weights is None else weights, mode="drop"), shape)


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Any, Any, Any]:
    """Return how many points fall into each box of a plane's grid, and the edges of both axes.

    Args:
      x: the first coordinates.
      y: the second coordinates.
      bins: the number of bins, or a pair of numbers or edges, or the edges of both axes.
      range: the least and greatest edge along each axis.
      weights: what each point counts, in place of 1.
      density: whether to divide so that the integral is 1.

    >>> x, y = jnp.array([0.0, 1.0, 1.0]), jnp.array([0.0, 0.0, 1.0])
    >>> jnp.histogram2d(x, y, bins=2)[0]
    Array([[1, 0],
           [1, 1]], dtype=int32)
    """
    points = [ravel(asarray(x)), ravel(asarray(y))]
    sample = concatenate(
        [reshape(part, (-1, 1)) for part in promote_inexact("histogram2d", *points)], 1
    )
    if isinstance(bins, (list, tuple)):
        bins = bins if len(bins) == 2 else [asarray(bins)] * 2
    elif np.ndim(bins) and len(bins) != 2:
        bins = [bins, bins]
    counts, edges = histogramdd(sample, bins, range, weights, density)
    return counts, edges[0], edges[1]
