"""Contractions of arrays that fall into groups of unequal size, and of scaled operands.

Compositions: groups are told apart by masks, so the work grows with their number.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.zeros import typed_scalar
from jxkernel.dtypes import DType, DTypeLike
from jxkernel.errors import ShapeMismatchError
from jxkernel.primitives.contraction.dot_general import dot_general
from jxkernel.primitives.contraction.precision import PrecisionLike
from jxkernel.primitives.creation import broadcasted_iota
from jxkernel.primitives.elementwise.arithmetic import mul, sub
from jxkernel.primitives.elementwise.bits import bitwise_and
from jxkernel.primitives.elementwise.compare import ge, lt
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.elementwise.select import select_n
from jxkernel.primitives.reduction.cumulative import cumsum
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.primitives.shape.reshape import reshape
from jxkernel.primitives.shape.transpose import move_axis, transpose
from jxkernel.primitives.sharding.constraints import with_out_sharding
from jxkernel.records import record
from jxkernel.runtime import ArrayLike

__all__ = ["RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general", "scaled_dot"]


@record()
class RaggedDotDimensionNumbers:
    """Which axes a ragged contraction pairs, and along which its groups lie.

    Attributes:
      dot_dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``.
      lhs_ragged_dimensions: the one axis of the left operand that falls into groups.
      rhs_group_dimensions: the axis of the right operand that counts groups, or none.
    """

    dot_dimension_numbers: Any
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]


def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Multiply each group of rows of a matrix with a matrix of its own.

    Args:
      lhs: an (m, k) matrix, its rows in groups one after the other.
      rhs: (g, k, n): one matrix per group.
      group_sizes: the groups' sizes, g integers; rows beyond their sum give zeros.
      precision: how precisely float32 is multiplied on hardware that could be less precise.
      preferred_element_type: the dtype of sums and result; the operands' where not given.
      group_offset: the first group to compute; not supported.
      out_sharding: how the result is divided over explicit mesh axes; where None, operands decide.

    Returns:
      an (m, n) matrix.

    Raises:
      TypeError: shapes or dtypes do not fit.
      NotImplementedError: ``group_offset`` is given.

    Linear in each operand.

    >>> from jxkernel import lax, numpy as jnp
    >>> x, matrices = jnp.ones((3, 2)), jnp.array([[[1.0], [1.0]], [[5.0], [5.0]]])
    >>> lax.ragged_dot(x, matrices, jnp.array([2, 1])).tolist()
    [[2.0], [2.0], [10.0]]
    """
    numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    return ragged_dot_general(
        lhs,
        rhs,
        group_sizes,
        numbers,
        precision,
        preferred_element_type,
        group_offset,
        out_sharding,
    )


def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: Any,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Contract arrays of which one axis of the left falls into groups.

    If that axis is neither contracted nor a batch axis, each group meets its own part of the
    right operand.  If it is contracted, each group gives a result of its own, along a new leading
    axis.  If it is a batch axis, batches beyond the groups give zeros.

    Args:
      lhs: an array.
      rhs: an array; in the first case with an axis that counts groups.
      group_sizes: the groups' sizes, a vector of integers; or one for each batch, and for each
        place along the axes of the left operand that come before the ragged one, of its kind.
      ragged_dot_dimension_numbers: which axis is what.
      precision: how precisely float32 is multiplied on hardware that could be less precise.
      preferred_element_type: the dtype of sums and result; the operands' where not given.
      group_offset: the first group to compute; not supported.
      out_sharding: how the result is divided over explicit mesh axes; where None, operands decide.

    Raises:
      TypeError: shapes, dtypes or dimension numbers do not fit.
      NotImplementedError: ``group_offset`` is given.

    Linear in each operand.

    >>> from jxkernel import lax, numpy as jnp
    >>> numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
    >>> lax.ragged_dot_general(jnp.ones((3, 2)), jnp.ones((3, 4)), jnp.array([2, 1]), numbers).shape
    (2, 2, 4)
    """
    if out_sharding is not None:
        how = (ragged_dot_dimension_numbers, precision, preferred_element_type, group_offset)
        operands = (lhs, rhs, group_sizes)
        return with_out_sharding(ragged_dot_general, operands, out_sharding, *how)
    if group_offset is not None:
        raise NotImplementedError("ragged_dot with group_offset: cut the groups off beforehand")
    (contract, other_contract), (batch, other_batch) = (
        ragged_dot_dimension_numbers.dot_dimension_numbers
    )
    ragged = _one("lhs_ragged_dimensions", ragged_dot_dimension_numbers.lhs_ragged_dimensions)
    outer = _outer_axes(rank_of(lhs), contract, batch, ragged)
    sizes = _sizes_of_groups(group_sizes, lhs, outer)
    groups = sizes.shape[-1]
    group = tuple(ragged_dot_dimension_numbers.rhs_group_dimensions)
    counts_groups = ragged not in contract and ragged not in batch
    if len(group) != counts_groups or any(shape_of(rhs)[axis] != groups for axis in group):
        raise TypeError(
            f"ragged_dot got rhs_group_dimensions {group} of shape {shape_of(rhs)} for "
            f"{groups} groups: there is one such axis, as long, where the ragged axis is "
            "neither contracted nor a batch axis, and none otherwise"
        )
    spread = _by_group(lhs, group_sizes, (*outer, ragged) if sizes.ndim > 1 else (ragged,))
    later, later_batch = ([axis + 1 for axis in axes] for axes in (contract, batch))
    # Groups are summed over: with those of the right operand, or because only one is not zero.
    if ragged in contract:
        numbers = ((later, other_contract), (later_batch, other_batch))
        y = dot_general(spread, rhs, numbers, precision, preferred_element_type)
        return move_axis(y, len(batch), 0)
    if not counts_groups:
        rhs = broadcast_in_dim(rhs, (groups, *shape_of(rhs)), tuple(range(1, rank_of(rhs) + 1)))
        group = (0,)
        other_contract, other_batch = (
            [axis + 1 for axis in axes] for axes in (other_contract, other_batch)
        )
    numbers = (([0, *later], [*group, *other_contract]), (later_batch, other_batch))
    return dot_general(spread, rhs, numbers, precision, preferred_element_type)


def _sizes_of_groups(group_sizes: Any, lhs: Any, outer: Sequence[int]) -> ShapedArray:
    """Return the type of the groups' sizes, checked against the axes that come before theirs."""
    sizes = abstractify(group_sizes)
    if not dtypes.issubdtype(sizes.dtype, np.integer):
        raise TypeError(f"ragged_dot needs integer group_sizes, got {sizes.short()}")
    several = tuple([shape_of(lhs)[axis] for axis in outer])
    if not sizes.ndim or sizes.shape[:-1] not in ((), several):
        raise TypeError(
            f"ragged_dot got group_sizes of shape {sizes.shape}: they form a vector, or one for "
            f"each place along the axes {outer} of the left operand, whose sizes are {several}"
        )
    return sizes


def _one(name: str, axes: Sequence[int]) -> int:
    if len(axes) != 1:
        raise TypeError(f"ragged_dot got {name} {tuple(axes)}: exactly one axis is ragged")
    return axes[0]


def _outer_axes(
    rank: int, contract: Sequence[int], batch: Sequence[int], ragged: int
) -> tuple[int, ...]:
    """Return the axes of the left operand along which groups may differ.

    They are its batches, and those before the ragged one that are contracted, or kept, as it is.
    """
    if ragged in batch:
        return tuple(batch[: batch.index(ragged)])
    kept = [axis for axis in range(rank) if axis not in batch and axis not in contract]
    alike = contract if ragged in contract else kept
    return (*batch, *alike[: alike.index(ragged)])


def _by_group(x: Any, group_sizes: Any, axes: tuple[int, ...]) -> Any:
    """Return an array once per group, along a new leading axis, zero outside of the group.

    Groups lie along the last of the axes, one row of sizes for each place along the others.
    """
    widths = move_axis(convert_element_type(group_sizes, np.int32), rank_of(group_sizes) - 1, 0)
    shape = (*shape_of(widths), shape_of(x)[axes[-1]])
    ends = cumsum(widths, 0)
    places = broadcasted_iota(np.int32, shape, len(shape) - 1)
    first, last = (
        broadcast_in_dim(v, shape, tuple(range(len(axes)))) for v in (sub(ends, widths), ends)
    )
    inside = bitwise_and(ge(places, first), lt(places, last))
    whole = (shape[0], *shape_of(x))
    repeated = broadcast_in_dim(x, whole, tuple(range(1, len(whole))))
    order = sorted(range(len(axes)), key=axes.__getitem__)
    inside = transpose(inside, (0, *[place + 1 for place in order]))
    mask = broadcast_in_dim(inside, whole, (0, *[axes[place] + 1 for place in order]))
    return select_n(mask, typed_scalar(abstractify(x).dtype, 0), repeated)


def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: Any = None,
    rhs_scale: Any = None,
    dimension_numbers: Any = None,
    preferred_element_type: DTypeLike = None,
) -> Any:
    """Contract operands that have one scale for each block along the contracted axes.

    Args:
      lhs: an array, of a narrow dtype as a rule.
      rhs: an array.
      lhs_scale: factors of the left operand: of its shape, but that contracted axes are shorter
        by a whole factor; ones where not given.
      rhs_scale: factors of the right operand.
      dimension_numbers: which axes are paired; of matrices, or of stacks of matrices, where not
        given.
      preferred_element_type: the dtype to compute in and of the result; bfloat16 where not given.

    Raises:
      TypeError: shapes do not fit.

    Linear in each operand and each scale.

    >>> from jxkernel import lax, numpy as jnp
    >>> x, y = jnp.ones((2, 4)), jnp.ones((4, 1))
    >>> lax.scaled_dot(x, y, lhs_scale=jnp.array([[1.0, 2.0], [3.0, 0.5]])).tolist()
    [[6.0], [7.0]]
    """
    rank = rank_of(lhs)
    if dimension_numbers is None:
        if rank not in (2, 3) or rank_of(rhs) != rank:
            raise TypeError(
                f"scaled_dot got shapes {shape_of(lhs)} and {shape_of(rhs)}: without "
                "dimension_numbers it takes two matrices, or two stacks of matrices"
            )
        batch = tuple(range(rank - 2))
        dimension_numbers = (((rank - 1,), (rank - 2,)), (batch, batch))
    wanted = "bfloat16" if preferred_element_type is None else preferred_element_type
    dtype = dtypes.check_and_canonicalize_user_dtype(wanted, "scaled_dot")
    left, right = (
        _scaled(operand, scale, axes, dtype)
        for operand, scale, axes in zip(
            (lhs, rhs), (lhs_scale, rhs_scale), dimension_numbers[0], strict=True
        )
    )
    return dot_general(left, right, dimension_numbers, preferred_element_type=dtype)


def _scaled(x: Any, scale: Any, contracted: Sequence[int], dtype: DType) -> Any:
    """Return an operand in a dtype, multiplied by the scales of its blocks."""
    x = convert_element_type(x, dtype)
    if scale is None:
        return x
    shape, blocks = shape_of(x), shape_of(scale)
    fits = len(blocks) == len(shape) and all(
        count == size or (axis in contracted and count and size % count == 0)
        for axis, (size, count) in enumerate(zip(shape, blocks, strict=True))
    )
    if not fits:
        raise ShapeMismatchError(
            "scaled_dot",
            [shape, blocks],
            "a scale has its operand's shape, but that contracted axes may be shorter by a whole "
            "factor",
        )
    split = tuple(
        part
        for size, count in zip(shape, blocks, strict=True)
        for part in (count, size // count if count else 0)
    )
    places = tuple(range(0, 2 * len(shape), 2))
    factors = broadcast_in_dim(convert_element_type(scale, dtype), split, places)
    return mul(x, reshape(factors, shape))
