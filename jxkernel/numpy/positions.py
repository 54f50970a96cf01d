"""Positions of extremes: where along an axis the greatest and the least element stand."""

from math import prod as product_of
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import argument_aval, refuse_out
from jxkernel.ops import reduce
from jxkernel.ops.shape import expand_dims, reshape
from jxkernel.ops.structural import canonical_axis

__all__ = ["argmax", "argmin"]


@fused(static=("axis", "greatest", "keepdims"), name="argmax")
def _position(a: Any, axis: int | None, greatest: bool, keepdims: bool) -> Any:
    shape = np.shape(a)
    x = reshape(a, (product_of(shape),)) if axis is None else a
    find = reduce.argmax if greatest else reduce.argmin
    result = find(x, 0 if axis is None else axis, dtypes.default_int_dtype())
    if not keepdims:
        return result
    return reshape(result, (1,) * len(shape)) if axis is None else expand_dims(result, (axis,))


def _find_position(
    name: str, a: Any, axis: int | None, out: None, keepdims: bool | None, greatest: bool
) -> Any:
    refuse_out(name, out)
    aval = argument_aval(name, a)
    place = None if axis is None else canonical_axis(name, axis, aval.ndim)
    if not (aval.size if place is None else aval.shape[place]):
        raise ValueError(f"{name} of no elements is not defined, got shape {aval.shape}")
    return _position(a, place, greatest, bool(keepdims))


def argmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Return the first position of the greatest element, or of NaN where there is one.

    Args:
      a: an array or number.
      axis: the axis; None for the position in the flattened array.
      out: must be None.
      keepdims: whether the axis stays, with size 1.

    Raises:
      ValueError: there is no element, or the axis does not exist.

    It has no derivative.

    >>> jnp.argmax(jnp.array([[1, 7], [5, 2]]), axis=1)
    Array([1, 0], dtype=int32)
    """
    return _find_position("argmax", a, axis, out, keepdims, True)


def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Return the first position of the least element, or of NaN.  See ``argmax``.

    >>> jnp.argmin(jnp.array([4, 1, 1]))
    Array(1, dtype=int32)
    """
    return _find_position("argmin", a, axis, out, keepdims, False)
