"""Functions along axes: softmax and its kin, standardization, one-hot codes.

The greatest element is taken out before anything is exponentiated, so nothing overflows; it is
held fixed under differentiation, which leaves the derivative exact.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.config import softmax_custom_jvp
from jxkernel.core.dimensions import is_symbolic
from jxkernel.dtypes import DTypeLike
from jxkernel.higher_order.custom_jvp import JvpRule, bind_custom_jvp
from jxkernel.numpy.creation import asarray, user_dtype
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.means import mean as mean_along
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_to_shape,
    cast,
    dtype_of,
    inexact_dtype,
    joint_shape,
    promote_operands,
)
from jxkernel.numpy.reductions import mask_of, reduced_axes
from jxkernel.primitives.arguments import canonical_axis, whole_number
from jxkernel.primitives.creation import broadcasted_iota
from jxkernel.primitives.elementwise import arithmetic as ops
from jxkernel.primitives.elementwise.compare import eq, lt, ne
from jxkernel.primitives.elementwise.complex import abs as modulus
from jxkernel.primitives.elementwise.complex import real as real_part
from jxkernel.primitives.elementwise.complex import sign as sign_of
from jxkernel.primitives.elementwise.exponential import exp, log, rsqrt
from jxkernel.primitives.elementwise.identity import stop_gradient
from jxkernel.primitives.elementwise.rounding import is_finite
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.reduction.reduce import peak, sum_widely
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.primitives.shape.reshape import expand_dims
from jxkernel.primitives.sharding.constraints import with_out_sharding
from jxkernel.runtime import ArrayLike

__all__ = ["log_softmax", "logmeanexp", "logsumexp", "one_hot", "softmax", "standardize"]

Axis = int | Sequence[int] | None


def _floating(name: str, x: Any) -> Any:
    aval = argument_aval(name, x)
    return cast(x, inexact_dtype(aval.dtype))


def _spread(reduced: Any, like: Any, axes: tuple[int, ...]) -> Any:
    """Return a reduced array repeated over the axes it has lost."""
    return broadcast_to_shape(expand_dims(reduced, axes) if axes else reduced, np.shape(like))


def _masked(x: Any, mask: Any, value: float) -> Any:
    return x if mask is None else select(mask, x, value)


def _peak(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the greatest element along axes, held fixed under differentiation."""
    x = stop_gradient(x)
    if not prod(np.shape(x)[axis] for axis in axes):
        return sum_widely(x, axes)
    return peak(x, axes)


@fused(static=("axes",), name="softmax")
def _softmax(x: Any, where: Any, axes: tuple[int, ...]) -> Any:
    x = _floating("softmax", x)
    mask = mask_of(where, np.shape(x))
    if not softmax_custom_jvp.value:
        return _shares(x, mask, axes)

    def value(x: Any) -> list[Any]:
        return [_shares(x, mask, axes)]

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Sequence[Any], list[Any]]:
        [y], [t] = value(*primals), tangents
        moved = ops.mul(y, t)
        return [y], [ops.sub(moved, ops.mul(y, _spread(sum_widely(moved, axes), y, axes)))]

    # Masked elements are 0, so nothing of them moves.  The rule closes over the mask.
    [y] = bind_custom_jvp(value, JvpRule(rule, "softmax"), (), (x,), captures=mask is not None)
    return y


def _shares(x: Any, mask: Any, axes: tuple[int, ...]) -> Any:
    x = _masked(x, mask, -np.inf)
    shifted = ops.sub(x, _spread(_peak(x, axes), x, axes))
    weights = _masked(exp(shifted), mask, 0)
    # One division per sum, not per element, in the gradient too.
    share = ops.div(1, sum_widely(weights, axes))
    return _masked(ops.mul(weights, _spread(share, x, axes)), mask, 0)


def softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Any:
    """Return exp(x) divided by its sum along axes.

    Args:
      x: an array.
      axis: the axes.
      where: booleans that broadcast to ``x``: the elements that count; others give 0.

    Raises:
      ValueError: ``where`` is not of booleans.

    NaN where all elements are -inf.

    >>> import jxkernel as jx
    >>> jx.nn.softmax(jx.numpy.zeros(2))
    Array([0.5, 0.5], dtype=float32)
    """
    return _softmax(x, where, reduced_axes("softmax", x, axis))


@fused(static=("axes",), name="log_softmax")
def _log_softmax(x: Any, where: Any, axes: tuple[int, ...]) -> Any:
    x = _floating("log_softmax", x)
    mask = mask_of(where, np.shape(x))
    x = _masked(x, mask, -np.inf)
    shifted = ops.sub(x, _spread(_peak(x, axes), x, axes))
    total = sum_widely(_masked(exp(shifted), mask, 0), axes)
    return _masked(ops.sub(shifted, _spread(log(total), x, axes)), mask, -np.inf)


def log_softmax(x: Any, axis: Axis = -1, where: Any = None) -> Any:
    """Return the logarithm of ``softmax``, without underflow; arguments are the same.

    >>> import numpy as np
    >>> from jxkernel import nn, numpy as jnp
    >>> np.asarray(nn.log_softmax(jnp.array([0.0, 0.0, 1.0]))).round(3)
    array([-1.551, -1.551, -0.551], dtype=float32)
    """
    return _log_softmax(x, where, reduced_axes("log_softmax", x, axis))


# ---------------------------------------------------------------- logsumexp


@fused(static=("axes", "keepdims", "return_sign"), name="logsumexp")
def _logsumexp(
    a: Any, b: Any, where: Any, axes: tuple[int, ...], keepdims: bool, return_sign: bool
) -> Any:
    if b is not None:
        a, b = promote_operands("logsumexp", a, b, rule=inexact_dtype)
        b = broadcast_to_shape(b, np.shape(a))
        # A factor of 0 takes its term out, also an infinite one.
        a = select(ne(b, 0), a, -np.inf)
    x = _floating("logsumexp", a)
    mask = mask_of(where, np.shape(x))
    x = _masked(x, mask, -np.inf)
    peak = _peak(_real(x), axes)
    # Where all are infinite there is nothing to take out.
    peak = select(is_finite(peak), peak, 0)
    weights = exp(ops.sub(x, cast(_spread(peak, x, axes), dtype_of(x))))
    if b is not None:
        weights = ops.mul(_masked(b, mask, 0), weights)
    real = dtype_of(weights) not in dtypes.COMPLEX
    signed = return_sign or (b is not None and real)
    result, sign = _logarithm(sum_widely(weights, axes), peak, signed)
    if b is not None and not return_sign and real:
        result = select(lt(sign, 0), np.nan, result)
    if keepdims and axes:
        result, sign = expand_dims(result, axes), expand_dims(sign, axes)
    return (result, sign) if return_sign else result


def _real(x: Any) -> Any:
    return real_part(x) if dtype_of(x) in dtypes.COMPLEX else x


def _logarithm(total: Any, peak: Any, signed: bool) -> tuple[Any, Any]:
    """Return log|total| + peak (of complex sums the complex logarithm), and the sum's sign."""
    sign = sign_of(total)
    if dtype_of(total) in dtypes.COMPLEX and not signed:
        return ops.add(log(total), cast(peak, dtype_of(total))), sign
    size = modulus(total)
    empty = eq(size, 0)
    result = ops.add(log(select(empty, 1, size)), peak)
    return select(empty, -np.inf, result), sign


def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Any:
    """Return the logarithm of the sum of exp(a), which neither overflows nor underflows.

    Args:
      a: an array.
      axis: the axes to sum over; all where not given.
      b: factors of the exponentials; they and ``a`` broadcast together.
      keepdims: whether the axes stay, with size 1.
      return_sign: whether to return log|sum| and the sum's sign; a negative sum gives NaN
        otherwise.
      where: booleans that broadcast to ``a``: the elements that count.

    The derivative is ``softmax``; where all elements are -inf, so is the result, and the
    derivative is 0.

    >>> import jxkernel as jx
    >>> jx.nn.logsumexp(jx.numpy.zeros(1))
    Array(0., dtype=float32)
    """
    if b is not None:
        shapes = [argument_aval("logsumexp", x).shape for x in (a, b)]
        a = broadcast_to_shape(a, joint_shape("logsumexp", shapes))
    return _logsumexp(a, b, where, reduced_axes("logsumexp", a, axis), keepdims, return_sign)


def logmeanexp(x: Any, axis: Axis = None, where: Any = None, keepdims: bool = False) -> Any:
    """Return the logarithm of the mean of exp(x); arguments are those of ``logsumexp``.

    >>> from jxkernel import nn, numpy as jnp
    >>> nn.logmeanexp(jnp.array([2.0, 2.0])).item()
    2.0
    """
    axes = reduced_axes("logmeanexp", x, axis)
    return _logmeanexp(x, where, axes, keepdims)


@fused(static=("axes", "keepdims"), name="logmeanexp")
def _logmeanexp(x: Any, where: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    x = _floating("logmeanexp", x)
    total = _logsumexp.__wrapped__(x, None, where, axes, keepdims, False)
    dtype = dtype_of(total)
    mask = mask_of(where, np.shape(x))
    if mask is None:
        return ops.sub(total, dtype.type(np.log(prod(np.shape(x)[axis] for axis in axes))))
    count = sum_widely(cast(mask, dtype), axes)
    return ops.sub(total, log(expand_dims(count, axes) if keepdims and axes else count))


# ---------------------------------------------------------------- standardize and one_hot


@fused(static=("axes", "algorithm"), name="standardize")
def _standardize(
    x: Any,
    mean: Any,
    variance: Any,
    epsilon: Any,
    where: Any,
    axes: tuple[int, ...],
    algorithm: str,
) -> Any:
    x = _floating("standardize", x)
    if dtype_of(x) in dtypes.COMPLEX and variance is None and algorithm == "fast":
        raise ValueError(
            "standardize(algorithm='fast') takes no complex numbers, whose variance is not the "
            "mean of squares less the squared mean: pass variance="
        )
    if mean is None:
        mean = mean_along(x, axes, keepdims=True, where=where)
    if variance is None:
        if algorithm == "fast":
            squares = mean_along(ops.square(x), axes, keepdims=True, where=where)
            variance = ops.max(squares - ops.square(mean), 0)
        else:
            variance = mean_along(ops.square(x - mean), axes, keepdims=True, where=where)
    return (x - mean) * rsqrt(variance + epsilon)


def standardize(
    x: ArrayLike,
    axis: Axis = -1,
    mean: ArrayLike | None = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: str = "fast",
) -> Any:
    """Return (x - mean) / √(variance + epsilon), with mean 0 and variance 1 along axes.

    Args:
      x: an array.
      axis: the axes.
      mean: the mean, with its axes kept; that of ``x`` where not given.
      variance: the variance, likewise.
      epsilon: what keeps the root from being 0.
      where: booleans that broadcast to ``x``: the elements of which mean and variance are taken.
      algorithm: ``"fast"`` takes the variance as the mean of squares less the squared mean,
        ``"stable"`` as the mean of squared distances.

    Raises:
      ValueError: the algorithm is neither, or complex numbers meet the fast one.

    >>> import numpy as np
    >>> from jxkernel import nn, numpy as jnp
    >>> np.asarray(nn.standardize(jnp.array([1.0, 3.0]))).round(3)
    array([-1.,  1.], dtype=float32)
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"standardize(algorithm={algorithm!r}): there are 'fast' and 'stable'")
    axes = reduced_axes("standardize", x, axis)
    return _standardize(x, mean, variance, epsilon, where, axes, algorithm)


@fused(static=("count", "dtype", "axis"), name="one_hot")
def _one_hot(x: Any, count: int, dtype: Any, axis: int) -> Any:
    aval = argument_aval("one_hot", x)
    shape = (*aval.shape[:axis], count, *aval.shape[axis:])
    kept = tuple(i for i in range(len(shape)) if i != axis)
    codes = broadcast_in_dim(cast(x, aval.dtype), shape, kept)
    return cast(eq(codes, broadcasted_iota(aval.dtype, shape, axis)), dtype)


def one_hot(
    x: Any, num_classes: int, *, dtype: DTypeLike = None, axis: int = -1, out_sharding: Any = None
) -> Any:
    """Return vectors with 1 at the place of each class and 0 elsewhere.

    Args:
      x: an array of integers, or a list; those outside 0 ... num_classes - 1 give zeros.
      num_classes: the number of classes.
      dtype: the result's dtype; the default float one where not given.
      axis: where the axis of the classes stands in the result.
      out_sharding: how the result is divided over explicit mesh axes.

    Raises:
      ValueError: the axis does not exist.

    It has no derivative.

    >>> import jxkernel as jx
    >>> jx.nn.one_hot(jx.numpy.array([0, 2]), 3)
    Array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    x = asarray(x)
    if out_sharding is not None:
        return with_out_sharding(one_hot, (x,), out_sharding, num_classes, dtype=dtype, axis=axis)
    rank = x.ndim
    place = canonical_axis("one_hot", axis, rank + 1)
    found = dtypes.default_float_dtype() if dtype is None else user_dtype(dtype, "one_hot")
    symbolic = is_symbolic(num_classes)
    count = num_classes if symbolic else whole_number("one_hot", "num_classes", num_classes)
    return _one_hot(x, count, found, place)
