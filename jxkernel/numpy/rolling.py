"""``roll``: elements moved along axes, those pushed out coming in again at the other end."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._reprs import counted
from jxkernel.core.dimensions import is_symbolic
from jxkernel.numpy.creation import asarray
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import cast, check_arguments, static_axes
from jxkernel.numpy.shapes import ravel, reshape
from jxkernel.primitives.arguments import canonical_axis, listed
from jxkernel.primitives.indexing.concatenate import concatenate as joined
from jxkernel.primitives.indexing.dynamic_slicing import dynamic_slice_in_dim
from jxkernel.primitives.indexing.slicing import slice_in_dim
from jxkernel.runtime import ArrayLike

__all__ = ["roll"]


def _moved_around(a: Any, shift: Any, axis: Any) -> Any:
    check_arguments("roll", a)
    if axis is None:
        return reshape(_moved_around(ravel(a), shift, 0), np.shape(a))
    axes, shifts = listed(axis), listed(shift)
    if len(axes) == 1 or len(shifts) == 1:
        axes, shifts = axes * len(shifts), shifts * len(axes)
    if len(shifts) != len(axes):
        raise ValueError(
            f"roll got {counted(len(shifts), 'shift')} for {counted(len(axes), 'axis')}"
        )
    a = asarray(a)
    # Two slices of a sharded axis would be of parts that its mesh axes do not divide.
    is_whole = a.aval.explicit_sharding is None
    for by, place in zip(shifts, [canonical_axis("roll", i, a.ndim) for i in axes], strict=True):
        if a.shape[place]:
            known = type(by) is int and not is_symbolic(a.shape[place])
            move = _moved_by_number if is_whole and known else _moved
            a = move(a, by, place)
    return a


def _moved_by_number(a: Any, by: int, axis: int) -> Any:
    size = a.shape[axis]
    start = -by % size
    if not start:
        return a
    parts = slice_in_dim(a, start, size, axis=axis), slice_in_dim(a, 0, start, axis=axis)
    return joined(parts, axis)


def _moved(a: Any, by: Any, axis: int) -> Any:
    size = a.shape[axis]
    start = -(cast(asarray(by), dtypes.default_int_dtype()) % size) % size
    return dynamic_slice_in_dim(joined([a, a], axis), start, size, axis)


_rolled = fused(_moved_around, static=("axis",), name="roll")
_rolled_by_numbers = fused(_moved_around, static=("shift", "axis"), name="roll")


def roll(a: ArrayLike, shift: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Return an array with its elements moved along axes, those pushed out coming in again.

    Args:
      a: an array.
      shift: how far, one number or one for each axis; it may be traced.
      axis: the axes; None for the flattened array.

    Linear in ``a``.

    >>> jnp.roll(jnp.array([1, 2, 3, 4]), 1)
    Array([4, 1, 2, 3], dtype=int32)
    """
    axis = static_axes("roll", axis)
    if isinstance(shift, list):
        shift = tuple(shift)
    numbers = shift if type(shift) is tuple else (shift,)
    known = all(type(number) is int for number in numbers)
    return (_rolled_by_numbers if known else _rolled)(a, shift, axis)
