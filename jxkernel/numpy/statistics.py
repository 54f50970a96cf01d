"""Statistics: averages, covariance, counts, histograms, interpolation, convolution."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes, tree
from jxkernel.core.trace import is_unknown
from jxkernel.errors import ConcretizationTypeError
from jxkernel.numpy.arithmetic import clip
from jxkernel.numpy.contractions import dot
from jxkernel.numpy.creation import asarray, user_dtype, zeros
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.joining import concatenate
from jxkernel.numpy.logic import isnan
from jxkernel.numpy.mathematics import conj, imag, real, sqrt
from jxkernel.numpy.matrices import diag
from jxkernel.numpy.means import mean, mean_function
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_to_shape,
    cast,
    check_arguments,
    inexact_dtype,
    promote_inexact,
    refuse_complex,
    result_dtype,
)
from jxkernel.numpy.ranges import linspace
from jxkernel.numpy.reductions import reduced_axes
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import broadcast_to, expand_dims, ravel, reshape
from jxkernel.numpy.sorting import searchsorted
from jxkernel.numpy.updating import IndexUpdater
from jxkernel.ops.arguments import sequence, whole_number
from jxkernel.ops.placing import asked_sharding, lie_as, mesh_cast, with_out_sharding

__all__ = [
    "average",
    "bincount",
    "corrcoef",
    "cov",
    "digitize",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "interp",
]

Axis = int | Sequence[int] | None

# ---------------------------------------------------------------- averages and covariance


def average(
    a: Any,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """Return the weighted mean of the elements along axes.

    Args:
      a: an array.
      axis: the axes; all where not given.
      weights: of the shape of ``a``, or of its axes that are averaged over; 1 where not given.
      returned: whether to return the sum of the weights as well.
      keepdims: whether the axes stay, with size 1.

    Raises:
      ValueError: the shape of the weights does not fit.

    Linear in ``a``.

    >>> jnp.average(jnp.array([1.0, 5.0]), weights=jnp.array([3, 1]))
    Array(2., dtype=float32)
    """
    if weights is None and not returned:
        return _plain_average(a, axis, None, None, keepdims, None)
    check_arguments("average", a, *(() if weights is None else (weights,)))
    axes = reduced_axes("average", a, axis)
    if weights is None:
        result = mean(a, axis, keepdims=keepdims)
        count = prod(np.shape(a)[i] for i in axes)
        return result, broadcast_to(asarray(count, result.dtype), result.shape)
    shape, own = np.shape(a), np.shape(weights)
    if own != shape:
        if axis is None or own != tuple(shape[i] for i in axes):
            raise ValueError(
                f"average got weights of shape {own} for an array of shape {shape}: the shapes are "
                "equal, or the weights have that of the axes averaged over"
            )
        weights = expand_dims(weights, tuple(i for i in range(len(shape)) if i not in axes))
    result, total = _weighted(a, weights, axes, keepdims)
    return (result, broadcast_to(total, result.shape)) if returned else result


_plain_average = mean_function("average")


@fused(static=("axes", "keepdims"), name="average")
def _weighted(a: Any, weights: Any, axes: tuple[int, ...], keepdims: bool) -> tuple[Any, Any]:
    a, weights = promote_inexact("average", a, weights)
    weights = broadcast_to_shape(weights, np.shape(a))
    total = weights.sum(axes, keepdims=keepdims)
    return (a * weights).sum(axes, keepdims=keepdims) / total, total


@fused(static=("rowvar", "ddof", "dtype"), name="cov")
def _covariance(
    m: Any, y: Any, fweights: Any, aweights: Any, rowvar: bool, ddof: float, dtype: Any
) -> Any:
    x = _variables(cast(m, dtype), rowvar)
    if y is not None:
        x = concatenate([x, _variables(cast(y, dtype), rowvar)], 0)
    weights = None
    for given in (fweights, aweights):
        if given is not None:
            weights = given if weights is None else weights * given
    count: Any = x.shape[1]
    if weights is None:
        center, freedom = x.mean(1), count - ddof
        weighted = x - center[:, None]
    else:
        weights = cast(weights, inexact_dtype(argument_aval("cov", weights).dtype))
        count = weights.sum()
        center = (x * weights).sum(1) / count
        correction = count if aweights is None else (weights * aweights).sum()
        freedom = count - ddof * correction / (1 if aweights is None else count)
        if aweights is None:
            freedom = count - ddof
        weighted = (x - center[:, None]) * weights
    return dot(x - center[:, None], conj(weighted).T) / freedom


def _variables(x: Any, rowvar: bool) -> Any:
    """Return observations as a matrix with a row for each variable."""
    if x.ndim < 2:
        return reshape(x, (1, -1 if x.size else 0))
    return x if rowvar else x.T


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Any:
    """Return the covariances of variables.

    Args:
      m: the observations, of rank 1 or 2.
      y: those of further variables.
      rowvar: whether a row is a variable, and not an observation.
      bias: whether to divide by the number of observations, and not by one less.
      ddof: what to subtract from that number, in place of what ``bias`` says.
      fweights: how often each observation occurs, integers.
      aweights: how much each observation weighs.
      dtype: the dtype to compute in.

    Raises:
      RuntimeError: there is not one weight for each observation.
      TypeError: ``fweights`` are not integers.
      ValueError: the rank is above 2, or ``dtype`` is neither floating nor complex.

    >>> jnp.cov(jnp.array([[1.0, 3.0], [5.0, 2.0]]))
    Array([[ 2. , -3. ],
           [-3. ,  4.5]], dtype=float32)
    """
    argument_aval("cov", m)
    given = [x for x in (m, y, fweights, aweights) if x is not None]
    check_arguments("cov", *given)
    observations = [x for x in (m, y) if x is not None]
    if any(np.ndim(x) > 2 for x in observations):
        raise ValueError(f"cov takes matrices, got shapes {[np.shape(x) for x in observations]}")
    if ddof is None:
        ddof = 0 if bias else 1
    pairs = [argument_aval("cov", x) for x in observations]
    joint, _ = dtypes.lattice_result_type(*[(aval.dtype, aval.weak_type) for aval in pairs])
    found = user_dtype(dtype, "cov", *observations) or inexact_dtype(joint)
    if found not in dtypes.INEXACT:
        raise ValueError(f"cov is computed in a floating or complex dtype, got dtype={found.name}")
    if fweights is not None and argument_aval("cov", fweights).dtype not in dtypes.INTEGRAL:
        raise TypeError(f"cov counts by fweights, integers, got {dtypes.dtype(fweights).name}")
    count = np.shape(m)[1 if rowvar else 0] if np.ndim(m) == 2 else np.size(m)
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is not None and np.shape(weights) != (count,):
            raise RuntimeError(
                f"cov got {name} of shape {np.shape(weights)} for {count} observations: there is "
                "one weight for each"
            )
    result = _covariance(m, y, fweights, aweights, rowvar, ddof, found)
    return result[0, 0] if result.shape == (1, 1) else result


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """Return the correlations of variables: their covariances divided by their deviations.

    Arguments are those of ``cov``.  Real and imaginary parts are kept within -1 and 1.

    >>> jnp.corrcoef(jnp.array([[1.0, 3.0], [5.0, 2.0]])).round(3)
    Array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    check_arguments("corrcoef", x, *[part for part in (y,) if part is not None])
    dtype = user_dtype(dtype, "corrcoef")
    return _correlation(cov(x, y, rowvar, dtype=dtype))


@fused(name="corrcoef")
def _correlation(c: Any) -> Any:
    if not c.ndim:
        return c / c
    deviation = sqrt(real(diag(c)))
    c = c / deviation[:, None] / deviation[None, :]
    if c.dtype in dtypes.COMPLEX:
        return clip(real(c), -1, 1) + 1j * clip(imag(c), -1, 1)
    return clip(c, -1, 1)


# ---------------------------------------------------------------- counting


@fused(static=("length",), name="bincount")
def _counted(x: Any, weights: Any, length: int) -> Any:
    """Add each weight (or 1) at its place; negative numbers count as 0."""
    places = clip(x, 0)
    values: Any = 1 if weights is None else weights
    dtype = dtypes.default_int_dtype() if weights is None else argument_aval("b", weights).dtype
    return IndexUpdater(zeros(length, dtype))[places].add(values, mode="drop")


def bincount(
    x: Any,
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
      out_sharding: how the result is divided over explicit mesh axes; what operands leave open.

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
        if is_unknown(x):
            raise ConcretizationTypeError(
                x.describe_type(),
                "bincount without length=",
                origin=x.owner.describe(x),
                instead=("give the length: jnp.bincount(x, length=n)",),
            )
        known = np.asarray(x)
        length = max(least, int(known.max()) + 1 if known.size else 0)
    x = cast(asarray(x), dtypes.default_int_dtype()) if aval.dtype in dtypes.BOOLEAN else x
    return _counted(x, weights, whole_number("bincount", "length", length))


def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Any:
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
    other = "left" if side == "right" else "right"
    falling = bins.size - searchsorted(bins[::-1], x, other, method=how)
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
    if np.ndim(bins):
        return asarray(bins)
    count = whole_number("histogram", "bins", bins)
    if count < 1:
        raise ValueError(f"histogram got bins={count}: at least one bin is needed")
    argument_aval("histogram_bin_edges", a)
    a = ravel(a)
    dtype = inexact_dtype(a.dtype)
    if range is not None and np.shape(range) != (2,):
        raise ValueError(f"histogram got range={range!r:.100}: it is the pair (least, greatest)")
    low, high = range if range is not None else (_least(a), _greatest(a))
    low, high = asarray(low, dtype), asarray(high, dtype)
    flat = low == high
    low, high = where(flat, low - 0.5, low), where(flat, high + 0.5, high)
    return linspace(low, high, count + 1, dtype=dtype)


def _least(a: Any) -> Any:
    return a.min() if a.size else 0.0


def _greatest(a: Any) -> Any:
    return a.max() if a.size else 1.0


def _bin_of(values: Any, edges: Any) -> Any:
    """Return the bin of each value: from 0; the last one includes its right edge."""
    place = searchsorted(edges, values, "right")
    return where(values == edges[-1], edges.size - 1, place) - 1


def histogram(
    a: Any,
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
      ValueError: the weights' shape is another.

    >>> counts, edges = jnp.histogram(jnp.array([0.0, 1.0, 1.5, 4.0]), bins=2)
    >>> counts.tolist(), edges.tolist()
    ([3.0, 1.0], [0.0, 2.0, 4.0])
    """
    if out_sharding is not None:
        sharding = asked_sharding("histogram", out_sharding, (a,))
        a, bins, range, weights = tree.map(mesh_cast, (a, bins, range, weights))
        counts, edges = histogram(a, bins, range, weights, density)
        return lie_as(counts, sharding), edges
    check_arguments("histogram", a, *(() if weights is None else (weights,)))
    if weights is not None and np.shape(weights) != np.shape(a):
        raise ValueError(
            f"histogram got weights of shape {np.shape(weights)} for values of shape {np.shape(a)}"
        )
    dtype = inexact_dtype(result_dtype("histogram", (a,) if weights is None else (a, weights))[0])
    values, edges = cast(ravel(a), dtype), cast(histogram_bin_edges(a, bins, range), dtype)
    counts = _histogram(values, edges, None if weights is None else ravel(weights))
    if density:
        counts = counts / (edges[1:] - edges[:-1]) / counts.sum()
    return counts, edges


@fused(name="histogram")
def _histogram(values: Any, edges: Any, weights: Any) -> Any:
    dtype = values.dtype if weights is None else inexact_dtype(weights.dtype)
    place = _bin_of(values, edges)
    outside = (place < 0) | (place >= edges.size - 1) | isnan(values)
    place = where(outside, edges.size - 1, place)
    counts = IndexUpdater(zeros(edges.size - 1, dtype))[place]
    return counts.add(1 if weights is None else cast(weights, dtype), mode="drop")


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
    sample = asarray(sample)
    sample = cast(sample, inexact_dtype(sample.dtype))
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
    if weights is not None:
        argument_aval("histogramdd", weights, 3)
    counts = _boxes(tuple(columns), tuple(edges), weights)
    if density:
        for axis, line in enumerate(edges):
            width = line[1:] - line[:-1]
            counts = counts / expand_dims(width, tuple(i for i in np.arange(rank) if i != axis))
        counts = counts / _boxes(tuple(columns), tuple(edges), weights).sum()
    return counts, edges


@fused(name="histogramdd")
def _boxes(columns: tuple[Any, ...], edges: tuple[Any, ...], weights: Any) -> Any:
    shape = tuple(line.size - 1 for line in edges)
    dtype = dtypes.default_int_dtype() if weights is None else inexact_dtype(weights.dtype)
    place: Any = 0
    outside: Any = False
    for values, line in zip(columns, edges, strict=True):
        own = _bin_of(values, line)
        outside = outside | (own < 0) | (own >= line.size - 1)
        place = place * (line.size - 1) + own
    place = where(outside, prod(shape), place)
    flat = IndexUpdater(zeros(prod(shape), dtype))[place]
    return reshape(flat.add(1 if weights is None else cast(weights, dtype), mode="drop"), shape)


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


# ---------------------------------------------------------------- interpolation


@fused(static=("left_side", "right_side"), name="interp")
def _interpolated(
    x: Any, xp: Any, fp: Any, left: Any, right: Any, left_side: str, right_side: str
) -> Any:
    upper = clip(searchsorted(xp, x, "right"), 1, xp.size - 1)
    width = xp[upper] - xp[upper - 1]
    flat = abs(width) <= np.spacing(np.finfo(xp.dtype).eps)
    step = fp[upper] - fp[upper - 1]
    rise = where(flat, 0, step * ((x - xp[upper - 1]) / where(flat, 1, width)))
    result = fp[upper - 1] + rise
    if left_side == "value":
        result = where(x < xp[0], fp[0] if left is None else left, result)
    if right_side == "value":
        result = where(x > xp[-1], fp[-1] if right is None else right, result)
    return result


def interp(
    x: Any,
    xp: Any,
    fp: Any,
    left: Any = None,
    right: Any = None,
    period: Any = None,
) -> Any:
    """Return values between given points by straight lines.

    Args:
      x: where to evaluate.
      xp: the points' coordinates, rising (unless ``period`` is given).
      fp: their values.
      left: the value for ``x`` below all points; the first one's where not given; or
        ``"extrapolate"``.
      right: likewise above all points.
      period: the period of the coordinates; ``left`` and ``right`` are not used with it.

    Raises:
      ValueError: ``xp`` and ``fp`` are not vectors of one length, ``period`` is 0, or coordinates
        are complex.

    >>> jnp.interp(jnp.array([1.5, 9.0]), jnp.array([1, 2, 3]), jnp.array([10, 20, 0]))
    Array([15.,  0.], dtype=float32)
    """
    check_arguments("interp", x, xp, fp)
    if np.shape(xp) != np.shape(fp) or np.ndim(xp) != 1:
        raise ValueError(f"interp takes two vectors, got shapes {np.shape(xp)}, {np.shape(fp)}")
    x, xp = promote_inexact("interp", x, xp)
    refuse_complex("interp", dtypes.dtype(x))
    (fp,) = promote_inexact("interp", fp)
    if period is not None:
        return _periodic(x, xp, fp, period)
    sides = []
    for name, value in (("left", left), ("right", right)):
        if isinstance(value, str) and value != "extrapolate":
            raise ValueError(f"interp got {name}={value!r}: a string is 'extrapolate'")
        sides.append("line" if isinstance(value, str) else "value")
    left, right = (None if isinstance(v, str) else v for v in (left, right))
    return _interpolated(asarray(x), asarray(xp), asarray(fp), left, right, *sides)


def _periodic(x: Any, xp: Any, fp: Any, period: Any) -> Any:
    if isinstance(period, (int, float)) and period == 0:
        raise ValueError("interp got period=0")
    period = abs(period)
    x, xp = asarray(x) % period, asarray(xp) % period
    order = xp.argsort()
    xp, fp = xp[order], asarray(fp)[order]
    xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
    fp = concatenate([fp[-1:], fp, fp[:1]])
    return _interpolated(x, xp, fp, None, None, "line", "line")
