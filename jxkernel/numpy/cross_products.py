"""Cross products of vectors of three elements."""

from typing import Any

import numpy as np

from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import promote_strongly
from jxkernel.numpy.shapes import broadcast_arrays, moveaxis
from jxkernel.primitives.arguments import canonical_axis
from jxkernel.primitives.elementwise.arithmetic import mul, sub
from jxkernel.primitives.indexing.concatenate import stack
from jxkernel.primitives.indexing.slicing import index_in_dim
from jxkernel.runtime import ArrayLike

__all__ = ["cross"]


def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Any:
    """Return the cross products of vectors along an axis.

    Args:
      a: an array with 3 elements along ``axisa``.
      b: likewise along ``axisb``; the other axes broadcast.
      axisa: the axis of the vectors in ``a``.
      axisb: the axis of the vectors in ``b``.
      axisc: where the axis stands in the result.
      axis: in place of all three.

    Raises:
      ValueError: an axis is of another size.

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
    if sizes != (3, 3):
        raise ValueError(f"cross takes vectors of 3 elements, got {sizes[0]} and {sizes[1]}")
    x0, x1, x2, y0, y1, y2 = broadcast_arrays(*_components(x), *_components(y))
    parts = [
        sub(mul(x1, y2), mul(x2, y1)),
        sub(mul(x2, y0), mul(x0, y2)),
        sub(mul(x0, y1), mul(x1, y0)),
    ]
    # On CPU whole components one behind the other are written fast, and then moved.
    return moveaxis(stack(parts, 0), 0, axisc)


def _components(x: Any) -> list[Any]:
    return [index_in_dim(x, i, np.ndim(x) - 1, keepdims=False) for i in range(np.shape(x)[-1])]
