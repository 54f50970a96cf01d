"""Cross products of vectors of two or three elements."""

from typing import Any

import numpy as np

from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import promote_strongly
from jxkernel.numpy.shapes import broadcast_arrays, moveaxis
from jxkernel.primitives.arguments import canonical_axis
from jxkernel.primitives.elementwise.arithmetic import mul, neg, sub
from jxkernel.primitives.indexing.concatenate import stack
from jxkernel.primitives.indexing.slicing import index_in_dim

__all__ = ["cross"]


def cross(
    a: Any,
    b: Any,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Any:
    """Return the cross products of vectors along an axis.

    Args:
      a: an array with 2 or 3 elements along ``axisa``; where 2, the third is 0.
      b: likewise along ``axisb``; the other axes broadcast.
      axisa: the axis of the vectors in ``a``.
      axisb: the axis of the vectors in ``b``.
      axisc: where the axis stands in the result.
      axis: in place of all three.

    Raises:
      ValueError: an axis is of another size.

    Of two vectors of 2 elements the result is the third component alone.

    >>> jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 2, 0]))
    Array([0, 0, 2], dtype=int32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    return _cross(a, b, axisa, axisb, axisc)


@fused(static=("axisa", "axisb", "axisc"), normalized=True, name="cross")
def _cross(a: Any, b: Any, axisa: int, axisb: int, axisc: int) -> Any:
    x, y = promote_strongly("cross", a, b)
    x = moveaxis(x, canonical_axis("cross", axisa, np.ndim(x)), -1)
    y = moveaxis(y, canonical_axis("cross", axisb, np.ndim(y)), -1)
    sizes = np.shape(x)[-1], np.shape(y)[-1]
    if not set(sizes) <= {2, 3}:
        raise ValueError(f"cross needs vectors of 2 or 3 elements, got {sizes[0]} and {sizes[1]}")
    xs, ys = _components(x), _components(y)
    parts = broadcast_arrays(*xs, *ys)
    x0, x1, x2, y0, y1, y2 = (
        *parts[: len(xs)],
        *([None] * (3 - len(xs))),
        *parts[len(xs) :],
        *([None] * (3 - len(ys))),
    )
    third = sub(mul(x0, y1), mul(x1, y0))
    if sizes == (2, 2):
        return third
    first = _difference(_times(x1, y2), _times(x2, y1))
    second = _difference(_times(x2, y0), _times(x0, y2))
    # On CPU whole components one behind the other are written fast, and then moved.
    return moveaxis(stack([first, second, third], 0), 0, axisc)


def _components(x: Any) -> list[Any]:
    return [index_in_dim(x, i, np.ndim(x) - 1, keepdims=False) for i in range(np.shape(x)[-1])]


def _times(x: Any, y: Any) -> Any:
    """Return a product, None standing for zero."""
    return None if x is None or y is None else mul(x, y)


def _difference(x: Any, y: Any) -> Any:
    """Return a difference, None standing for zero."""
    if y is None:
        return x
    return neg(y) if x is None else sub(x, y)
