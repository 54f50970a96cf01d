"""Several extremes: the least and the greatest at once, and the first ``k`` in order."""

from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.numpy.promotion import argument_aval, cast
from jxkernel.numpy.reductions import Axis, reduced_axes
from jxkernel.numpy.reductions import max as greatest
from jxkernel.numpy.reductions import min as least
from jxkernel.numpy.shapes import moveaxis
from jxkernel.numpy.sorting import argsort
from jxkernel.numpy.taking import take_along_axis
from jxkernel.primitives.arguments import canonical_axis, whole_numbers
from jxkernel.primitives.reduction.sort import top_k as top_along_last
from jxkernel.runtime import ArrayLike

__all__ = ["minmax", "top_k"]


def minmax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: ArrayLike | None = None,
) -> tuple[Any, Any]:
    """Return the least and the greatest element along axes.

    Args:
      a: an array or number.
      axis: the axes; all where not given.
      out: must be None.
      keepdims: whether the axes stay, with size 1.
      initial: one bound for both, or a pair of bounds; needed with ``where`` and for axes of
        size 0.
      where: booleans that broadcast to ``a``; the elements that count.

    Raises:
      ValueError: there is no element and no ``initial``.

    >>> import jxkernel.numpy as jnp
    >>> low, high = jnp.minmax(jnp.array([3, 1, 2]))
    >>> int(low), int(high)
    (1, 3)
    """
    low, high = initial if isinstance(initial, tuple) else (initial, initial)
    _check_bounded(a, axis, initial, where)
    return (
        least(a, axis, out, keepdims, low, where),
        greatest(a, axis, out, keepdims, high, where),
    )


def _check_bounded(a: Any, axis: Axis, initial: Any, where: Any) -> None:
    """Check that some element decides.

    Raises:
      ValueError: none does.
    """
    if initial is not None:
        return
    if where is not None:
        raise ValueError("minmax(where=...) needs initial=..., for when no element counts")
    axes, shape = reduced_axes("minmax", a, axis), np.shape(a)
    if not all(shape[i] for i in axes):
        raise ValueError(
            f"minmax of no elements is not defined, and shape {shape} has none along axes {axes}: "
            "give initial=..."
        )


def top_k(
    a: ArrayLike, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True
) -> tuple[Any, Any]:
    """Return the ``k`` greatest (or least) elements along an axis, and where they are.

    Args:
      a: an array of rank 1 or more, not complex.
      k: how many, at most the axis's size.
      axis: the axis.
      mode: ``"largest"`` or ``"smallest"``.
      sorted: accepted: the elements are in order, the first of them first.

    Returns:
      values and int32 positions, ``a``'s shape with ``k`` in place of the axis's size.

    Raises:
      ValueError: ``k`` does not fit, there is no such mode, or the dtype is complex.

    NaN counts as greater than every number.  Derivatives go to the elements that were taken.

    >>> import jxkernel.numpy as jnp
    >>> jnp.top_k(jnp.array([1., 4., 3.]), 2)[1]
    Array([1, 2], dtype=int32)
    """
    aval = argument_aval("top_k", a)
    if aval.dtype in dtypes.COMPLEX:
        raise ValueError(f"top_k got {aval.dtype.name}: complex numbers have no order")
    if mode not in ("largest", "smallest"):
        raise ValueError(f"top_k got mode {mode!r}: it is 'largest' or 'smallest'")
    place = canonical_axis("top_k", axis, aval.ndim)
    (count,) = whole_numbers("top_k", "k", (k,))
    if not 0 <= count <= aval.shape[place]:
        raise ValueError(
            f"top_k got k={count} for axis {place} of shape {aval.shape}: it is 0 to "
            f"{aval.shape[place]}"
        )
    if mode == "largest":
        found = top_along_last(moveaxis(a, place, -1), count)
        values, places = (moveaxis(part, -1, place) for part in found)
        return values, places
    order = argsort(a, axis=place, stable=True)
    places = cast(order[(slice(None),) * place + (slice(count),)], np.dtype(np.int32))
    return take_along_axis(a, places, axis=place), places
