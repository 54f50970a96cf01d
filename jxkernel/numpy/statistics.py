"""Statistics: averages, covariance, interpolation."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.arithmetic import clip
from jxkernel.numpy.contractions import dot
from jxkernel.numpy.creation import asarray, user_dtype
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.joining import concatenate
from jxkernel.numpy.mathematics import conj, imag, real, sqrt
from jxkernel.numpy.matrices import diag
from jxkernel.numpy.means import mean, mean_function
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_to_shape,
    cast,
    check_arguments,
    dtype_of,
    inexact_dtype,
    promote_inexact,
    refuse_complex,
    result_dtype,
)
from jxkernel.numpy.reductions import along, reduced_axes
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import broadcast_to, expand_dims, reshape, transpose
from jxkernel.numpy.sorting import searchsorted
from jxkernel.runtime import ArrayLike

__all__ = [
    "average",
    "corrcoef",
    "cov",
    "interp",
]

Axis = int | Sequence[int] | None

# ---------------------------------------------------------------- averages and covariance


def average(
    a: ArrayLike,
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
        return _plain_average(a, None, along("average", axis, keepdims, None))
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
        # Their axes stand in the order of ``axis``.
        order = sorted(range(len(axes)), key=axes.__getitem__)
        weights = transpose(weights, order)
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


def _covariance_dtype(observations: Sequence[Any], aweights: Any) -> Any:
    """Return the floating or complex dtype of observations, and of weights where there are any."""
    dtype, weak = result_dtype("cov", observations)
    kinds = [(inexact_dtype(dtype), weak)]
    if aweights is not None:
        kinds.append((dtype_of(aweights), False))
    return dtypes.lattice_result_type(*kinds)[0]


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
        weights = cast(weights, dtypes.finfo(dtype).dtype)
        count = weights.sum()
        center = (x * weights).sum(1) / count
        correction = count if aweights is None else (weights * aweights).sum()
        freedom = count - ddof * correction / (1 if aweights is None else count)
        if aweights is None:
            freedom = count - ddof
        weighted = (x - center[:, None]) * weights
    return dot(x - center[:, None], conj(weighted).T) / (freedom if x.shape[1] else np.nan)


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
    dtype: DTypeLike = None,
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
      TypeError: ``fweights`` are not integers, or ``aweights`` are complex.
      ValueError: the rank is above 2, or ``dtype`` is neither floating nor complex.

    >>> jnp.cov(jnp.array([[1.0, 3.0], [5.0, 2.0]]))
    Array([[ 2. , -3. ],
           [-3. ,  4.5]], dtype=float32)
    """
    argument_aval("cov", m)
    check_arguments("cov", *[x for x in (m, y, fweights, aweights) if x is not None])
    observations = [x for x in (m, y) if x is not None]
    if any(np.ndim(x) > 2 for x in observations):
        raise ValueError(f"cov takes matrices, got shapes {[np.shape(x) for x in observations]}")
    if ddof is None:
        ddof = 0 if bias else 1
    found = user_dtype(dtype, "cov", *observations) or _covariance_dtype(observations, aweights)
    if found not in dtypes.INEXACT:
        raise ValueError(f"cov is computed in a floating or complex dtype, got dtype={found.name}")
    if fweights is not None and argument_aval("cov", fweights).dtype not in dtypes.INTEGRAL:
        raise TypeError(f"cov counts by fweights, integers, got {dtypes.dtype(fweights).name}")
    if aweights is not None and dtype_of(aweights) in dtypes.COMPLEX:
        raise TypeError(f"cov weighs by aweights, real numbers, got {dtypes.dtype(aweights).name}")
    count = np.shape(m)[1 if rowvar else 0] if np.ndim(m) == 2 else np.size(m)
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is not None and np.shape(weights) != (count,):
            raise RuntimeError(
                f"cov got {name} of shape {np.shape(weights)} for {count} observations: there is "
                "one weight for each"
            )
    result = _covariance(m, y, fweights, aweights, rowvar, ddof, found)
    return result[0, 0] if result.shape == (1, 1) else result


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: DTypeLike = None) -> Any:
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
    xp: ArrayLike,
    fp: Any,
    left: Any = None,
    right: ArrayLike | None = None,
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
