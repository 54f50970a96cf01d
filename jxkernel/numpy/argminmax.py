"""Positions of extremes: where along an axis the greatest and the least element stand."""

from typing import Any

from jxkernel import dtypes
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.logic import isnan
from jxkernel.numpy.promotion import argument_aval, refuse_out, static_axis
from jxkernel.primitives.arguments import canonical_axis
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.reduction import reduce
from jxkernel.primitives.shape.reshape import reshape
from jxkernel.runtime import ArrayLike

__all__ = ["argmax", "argmin"]


def position(name: str, find: Any, nothing: float | None = None) -> Any:
    """Return a function with the arguments of ``argmax``, one program when it runs eagerly.

    Args:
      name: what errors call it.
      find: the operation along one axis.
      nothing: what stands for NaN, if that is to be passed over; -1 is found where all is NaN.
    """

    @fused(static=("axis", "keepdims"), name=name)
    def found(a: Any, axis: int | None, keepdims: bool | None) -> Any:
        aval = argument_aval(name, a)
        place = None if axis is None else canonical_axis(name, axis, aval.ndim)
        if not (aval.size if place is None else aval.shape[place]):
            raise ValueError(f"{name} of no elements is not defined, got shape {aval.shape}")
        x = reshape(a, (aval.size,)) if place is None else a
        missing = None
        if nothing is not None and aval.dtype in dtypes.INEXACT:
            missing = isnan(x)
            x = select(missing, aval.dtype.type(nothing), x)
        result = find(x, place or 0, dtypes.default_int_dtype())
        if missing is not None:
            result = select(reduce.reduce_and(missing, (place or 0,)), -1, result)
        if not keepdims:
            return result
        return reshape(result, [1 if place in (None, i) else n for i, n in enumerate(aval.shape)])

    def run(a: Any, axis: int | None, out: None, keepdims: bool | None) -> Any:
        if out is not None:
            refuse_out(name, out)
        return found(a, static_axis(name, axis), keepdims)

    return run


_argmax, _argmin = position("argmax", reduce.argmax), position("argmin", reduce.argmin)


def argmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Any:
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
    return _argmax(a, axis, out, keepdims)


def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Return the first position of the least element, or of NaN.  See ``argmax``.

    >>> jnp.argmin(jnp.array([4, 1, 1]))
    Array(1, dtype=int32)
    """
    return _argmin(a, axis, out, keepdims)
