"""Tiling and unstacking: made of other operations, and in programs by their own names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jxkernel.core.avals import rank_of, shape_of
from jxkernel.core.jaxpr import Value
from jxkernel.errors import ShapeError
from jxkernel.primitives.arguments import canonical_axis, integers, operand_aval
from jxkernel.primitives.indexing.concatenate import split
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.primitives.shape.reshape import reshape, squeeze
from jxkernel.transforms.composed import Composed

__all__ = ["tile", "tile_p", "unstack", "unstack_p"]


def _tile(operand: Value, *, reps: tuple[int, ...]) -> Any:
    shape = shape_of(operand)
    interleaved = tuple(size for pair in zip(reps, shape, strict=True) for size in pair)
    repeated = broadcast_in_dim(operand, interleaved, tuple(range(1, 2 * len(shape), 2)))
    return reshape(repeated, [n * size for n, size in zip(reps, shape, strict=True)])


tile_p = Composed("tile", _tile, linear=(0,))


def tile(operand: Any, reps: Sequence[int]) -> Any:
    """Repeat an array ``reps[i]`` times along its axis i.

    Raises:
      ValueError: there is not one non-negative count per axis.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.tile(jnp.array([[1, 2]]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    shape = operand_aval("tile", operand).shape
    counts = integers("tile", "reps", reps)
    if len(counts) != len(shape) or any(count < 0 for count in counts):
        raise ShapeError(
            f"tile got reps {counts} for shape {shape}: it takes one non-negative count per axis"
        )
    return tile_p.bind(operand, reps=counts)


def _unstack(x: Value, *, axis: int) -> list[Any]:
    return [squeeze(part, (axis,)) for part in split(x, (1,) * shape_of(x)[axis], axis)]


unstack_p = Composed("unstack", _unstack, multiple_results=True)


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """Return the parts of an array at each position of an axis, without that axis.

    Args:
      x: an array of any dtype, of random keys too, of rank 1 or more.
      axis: the axis; negative counts from the end.

    Returns:
      a tuple with one array for each position, of the dtype of ``x``; an empty one where the axis
      has size 0.

    Raises:
      ValueError: there is no such axis.
      TypeError: ``x`` is no array, or ``axis`` no whole number.

    The derivative is linear.  It becomes a slice and a reshape of StableHLO for each part.

    >>> from jxkernel import lax, numpy as jnp
    >>> [row.tolist() for row in lax.unstack(jnp.array([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    place = canonical_axis("unstack", axis, rank_of(x))
    return tuple(unstack_p.bind(x, axis=place))
