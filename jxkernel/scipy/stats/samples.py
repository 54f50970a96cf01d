"""Statistics of samples: the most frequent value, ranks, the standard error of the mean."""

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.api.vectorize import vmap
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import argument_aval, promote_inexact
from jxkernel.primitives.arguments import canonical_axes, canonical_axis, listed

__all__ = ["ModeResult", "mode", "rankdata", "sem"]


class ModeResult(NamedTuple):
    """The most frequent values and how often they come."""

    mode: Any
    count: Any


def _check_policy(name: str, nan_policy: str, known: tuple[str, ...]) -> None:
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(
            f"{name} got nan_policy={nan_policy!r}: there are 'propagate', 'omit' and 'raise'"
        )
    if nan_policy not in known:
        raise NotImplementedError(
            f"{name}(nan_policy={nan_policy!r}): there is {' and '.join(map(repr, known))}"
        )


def _most_frequent(row: Any) -> tuple[Any, Any]:
    """Return the least of the most frequent values of a vector, and its count; NaN are alike."""
    ordered = jnp.sort(row)
    same = (ordered[:, None] == ordered) | ((ordered != ordered)[:, None] & (ordered != ordered))
    counts = same.sum(1)
    place = jnp.argmax(counts)
    return ordered[place], counts[place]


@fused(static=("axis", "nan_policy", "keepdims"), normalized=True)
def mode(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """Return the most frequent values along an axis, the least of them where several are.

    Args:
      a: an array.
      axis: the axis; None for all.
      nan_policy: ``"propagate"``: NaN counts as a value.
      keepdims: whether the axis stays, with size 1.

    Returns:
      the values and their counts; NaN and 0 of an empty axis.

    Raises:
      ValueError: there is no such policy.
      NotImplementedError: the policy is not supported.

    >>> import jxkernel as jx
    >>> jx.scipy.stats.mode(jx.numpy.array([1, 2, 2])).mode
    Array(2, dtype=int32)
    """
    _check_policy("mode", nan_policy, ("propagate",))
    argument_aval("mode", a)
    a = jnp.asarray(a)
    if axis is not None and not a.ndim:
        a = a.reshape(1)
    rank = a.ndim
    if axis is None:
        rows, kept, rest = a.reshape(1, -1), (1,) * rank, ()
    else:
        axis = canonical_axis("mode", axis, rank)
        rest = (*a.shape[:axis], *a.shape[axis + 1 :])
        kept = (*a.shape[:axis], 1, *a.shape[axis + 1 :])
        rows = jnp.moveaxis(a, axis, -1).reshape(prod(rest), a.shape[axis])
    if not rows.shape[1]:
        empty = jnp.full(kept if keepdims else rest, np.nan, dtypes.default_float_dtype())
        return ModeResult(empty, jnp.zeros_like(empty))
    values, counts = vmap(_most_frequent)(rows)
    shape = kept if keepdims else rest
    if a.dtype in dtypes.COMPLEX:
        values = values.astype(a.dtype)
    return ModeResult(values.reshape(shape), counts.reshape(shape))


_METHODS = ("average", "min", "max", "dense", "ordinal")


def _ranks(row: Any, method: str) -> Any:
    """Return the ranks of a vector's elements, from 1; ties get what the method says."""
    order = jnp.argsort(row)
    places = jnp.argsort(order)
    if method == "ordinal":
        return places + 1
    ordered = row[order]
    starts = jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]])
    dense = jnp.cumsum(starts)[places]
    if method == "dense":
        return dense
    # Where each group of equal values begins, and, one further, ends.
    bounds = jnp.nonzero(starts, size=row.size, fill_value=row.size)[0]
    bounds = jnp.concatenate([bounds, jnp.full(1, row.size)])
    least, most = bounds[dense - 1] + 1, bounds[dense]
    if method == "average":
        return (least + most) / 2
    return least if method == "min" else most


@fused(static=("method", "axis", "nan_policy"), normalized=True)
def rankdata(
    a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Any:
    """Return the ranks of values, from 1.

    Args:
      a: an array.
      method: what ties get: ``"average"``, ``"min"`` or ``"max"`` of their ranks, ``"dense"``
        without gaps after them, or ``"ordinal"``, by position.
      axis: the axis to rank along; None for all elements, flattened.
      nan_policy: ``"propagate"``: a NaN makes all ranks along its axis NaN.

    Returns:
      floating ranks.

    Raises:
      ValueError: there is no such method or policy.
      NotImplementedError: the policy is not supported.

    >>> import jxkernel as jx
    >>> jx.scipy.stats.rankdata(jx.numpy.array([3.0, 1.0, 3.0]))
    Array([2.5, 1. , 2.5], dtype=float32)
    """
    _check_policy("rankdata", nan_policy, ("propagate",))
    if method not in _METHODS:
        raise ValueError(f"rankdata got method={method!r}: there are {', '.join(_METHODS)}")
    argument_aval("rankdata", a)
    a = jnp.asarray(a)
    if axis is None:
        a, axis = a.ravel(), 0
    dtype = dtypes.default_float_dtype()
    if not a.size:
        return jnp.zeros(a.shape, dtype)
    moved = jnp.moveaxis(a, axis, -1)
    rows = moved.reshape(-1, moved.shape[-1])
    ranks = vmap(lambda row: _ranks(row, method))(rows).astype(dtype)
    missing = (rows != rows).any(-1, keepdims=True)
    ranks = jnp.where(missing, np.nan, ranks).reshape(moved.shape)
    return jnp.moveaxis(ranks, -1, axis)


@fused(static=("axis", "ddof", "nan_policy", "keepdims"), normalized=True)
def sem(
    a: Any,
    axis: int | Sequence[int] | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """Return the standard error of the mean, the standard deviation over √n.

    Args:
      a: an array; integers become floating.
      axis: the axis, or several; None for all.
      ddof: what is taken from n in the variance.
      nan_policy: ``"propagate"``, or ``"omit"`` to leave NaN out.
      keepdims: whether the axis stays, with size 1.

    Raises:
      ValueError: there is no such policy.
      NotImplementedError: the policy is not supported.

    >>> import jxkernel as jx
    >>> jx.scipy.stats.sem(jx.numpy.array([1.0, 3.0])).round(4)
    Array(1., dtype=float32)
    """
    _check_policy("sem", nan_policy, ("propagate", "omit"))
    (a,) = promote_inexact("sem", a)
    a = jnp.asarray(a)
    if nan_policy == "omit":
        count = (a == a).sum(axis, keepdims=keepdims)
        deviation = jnp.nanstd(a, axis, ddof=ddof, keepdims=keepdims)
        return deviation / jnp.sqrt(count.astype(deviation.dtype))
    size = (
        a.size
        if axis is None
        else prod([a.shape[i] for i in canonical_axes("sem", listed(axis), a.ndim)])
    )
    return jnp.std(a, axis, ddof=ddof, keepdims=keepdims) / size**0.5
