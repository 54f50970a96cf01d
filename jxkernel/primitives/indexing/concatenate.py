"""Joining arrays along an axis and taking them apart: concatenate, stack, split, unstack.

All are linear; joining and cutting are each other's transposes.
"""

from collections.abc import Sequence
from math import gcd
from typing import Any, TypeAlias

import numpy as np

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray, rank_of, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.dimensions import is_symbolic
from jxkernel.core.zeros import Zero, is_linear
from jxkernel.errors import ShapeMismatchError
from jxkernel.primitives.arguments import canonical_axis, integers, is_array, sequence, whole_number
from jxkernel.primitives.indexing.slicing import index_in_dim, slice_in_dim
from jxkernel.primitives.shape.broadcast import instantiate
from jxkernel.primitives.shape.structural import (
    front,
    joint_weak_type,
    linear_jvp,
    same_dtype,
    zero_cotangents,
)
from jxkernel.primitives.shape.transpose import MovingPrimitive
from jxkernel.primitives.sharding import rules
from jxkernel.runtime import ArrayLike

__all__ = [
    "concatenate",
    "concatenate_p",
    "split",
    "split_p",
    "stack",
    "stack_p",
]

_INDEX = np.dtype(np.int32)
_Slice: TypeAlias = tuple[Any, tuple[int, ...], tuple[int, ...]]

# ---------------------------------------------------------------- concatenate

_LEAST_ROLLED, _SHORT = 1 << 14, 4
"""The elements of an array, and how many times as long as one of two slices, that are rolled."""

_MOST_JOINED, _SHORTEST_BLOCK = 8, 64
"""The arrays that XLA joins in a loop with others, and the bytes of a block."""

concatenate_p = MovingPrimitive("concatenate").define(sharding=rules.Linear(rules.concatenating))


def concatenate(operands: Sequence[Any], dimension: int) -> Any:
    """Join arrays of one dtype along an axis they have.

    Args:
      operands: at least one array; shapes agree but along ``dimension``.
      dimension: the axis, counted from the front.

    Raises:
      TypeError: dtypes or shapes do not fit.
      ValueError: there is no operand, or no such axis.

    Linear: a cotangent is cut into slices.  StableHLO ``concatenate``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.concatenate([jnp.array([1, 2]), jnp.array([3])], 0).tolist()
    [1, 2, 3]
    """
    operands = sequence("concatenate", "operands", operands, "arrays")
    if not operands:
        raise ValueError("concatenate needs at least one array")
    place = whole_number("concatenate", "dimension", dimension)
    if len(operands) == 1 and is_array(operands[0]) and 0 <= place < rank_of(operands[0]):
        return operands[0]
    return concatenate_p.bind(*operands, dimension=place)


@concatenate_p.def_abstract_eval
def _concatenate_abstract_eval(*operands: ShapedArray, dimension: int) -> ShapedArray:
    first = operands[0].shape
    if not 0 <= dimension < len(first):
        raise ValueError(
            f"concatenate got axis {dimension} for arrays of rank {len(first)}: stack joins along "
            "a new axis"
        )
    rest = (*first[:dimension], *first[dimension + 1 :])
    for aval in operands:
        fits = aval.ndim == len(first)
        if not fits or (*aval.shape[:dimension], *aval.shape[dimension + 1 :]) != rest:
            raise ShapeMismatchError(
                "concatenate",
                [a.shape for a in operands],
                f"all sizes but those of axis {dimension} must be equal",
            )
    dtype = same_dtype("concatenate", operands)
    total = sum(aval.shape[dimension] for aval in operands)
    shape = (*first[:dimension], total, *first[dimension + 1 :])
    return ShapedArray(shape, dtype, joint_weak_type(operands))


@concatenate_p.def_lower
def _concatenate_lower(context: Any, *values: Any, dimension: int) -> Any:
    if len(values) == 1:
        return values[0]
    if (rolled := _rolled(context, values, dimension)) is not None:
        return rolled
    if (block := _block(context, values, dimension)) is not None:
        return _joined_by_blocks(context, values, block)
    return context.value(
        "stablehlo.concatenate", context.out_type, values, {"dimension": hlo.i64_attr(dimension)}
    )


def _rolled(context: Any, values: Sequence[Any], dimension: int) -> Any:
    """Append an array whose end is moved in front of its start; None for another concatenation.

    XLA's CPU compiler copies both slices, and joins the copies; in a larger kernel it asks of each
    element which one it is of.  Where one of them is short, it is written into a copy of the array
    that is moved by it, which is made, or computed with, by vectors.
    """
    aval = context.avals_out[0]
    module, size = context.module, aval.shape[dimension]
    if module.platform != "cpu" or module.partitioned or any(map(is_symbolic, aval.shape)):
        return None
    if aval.size < _LEAST_ROLLED or len(values) != 2:
        return None
    end, start = hlo.known_slice(values[0]), hlo.known_slice(values[1])
    if end is None or start is None or not _is_roll(end, start, aval.shape, dimension):
        return None
    cut = end[1][dimension]
    if not cut or min(cut, size - cut) * _SHORT > size:
        return None
    by = size - cut if size - cut < cut else -cut
    short, place = (values[0], 0) if by > 0 else (values[1], size - cut)
    padding = {
        "edge_padding_low": hlo.dense_i64_array(_at(dimension, by, aval.ndim)),
        "edge_padding_high": hlo.dense_i64_array(_at(dimension, -by, aval.ndim)),
        "interior_padding": hlo.dense_i64_array((0,) * aval.ndim),
    }
    zero = context.constant(0, aval.dtype)
    moved = context.value("stablehlo.pad", context.out_type, (end[0], zero), padding)
    places = [context.constant(number, _INDEX) for number in _at(dimension, place, aval.ndim)]
    update = moved, short, *places
    return context.value("stablehlo.dynamic_update_slice", context.out_type, update)


def _at(dimension: int, number: int, rank: int) -> tuple[int, ...]:
    return tuple([number if axis == dimension else 0 for axis in range(rank)])


def _is_roll(end: _Slice, start: _Slice, shape: tuple[int, ...], dimension: int) -> bool:
    """Return whether two slices are the end and the start of one array, cut at one place."""
    rank, cut = len(shape), end[1][dimension]
    if end[0] != start[0] or tuple(end[0].type.shape) != shape:
        return False
    until = tuple([cut if axis == dimension else size for axis, size in enumerate(shape)])
    return (*end[1:], *start[1:]) == (_at(dimension, cut, rank), shape, (0,) * rank, until)


def _block(context: Any, values: Sequence[Any], dimension: int) -> int | None:
    """Return the length of the blocks by which transposed arrays are joined; None for others."""
    module, aval = context.module, context.avals_out[0]
    if module.platform != "cpu" or module.partitioned or any(map(is_symbolic, aval.shape)):
        return None
    if not 1 <= dimension == aval.ndim - 1 or len(values) > _MOST_JOINED:
        return None
    block = gcd(*[one.shape[-1] for one in context.avals_in])
    long = block * aval.dtype.itemsize >= _SHORTEST_BLOCK
    return block if long and all(map(hlo.is_transposed, values)) else None


def _joined_by_blocks(context: Any, values: Sequence[Any], block: int) -> Any:
    """Append a concatenation along rows, as one of blocks.

    XLA's CPU compiler makes no loop of the transposition of arrays and their concatenation along
    rows, and compiles each such concatenation of a program anew.  Along another axis it does
    both in one loop, which equal ones share.
    """
    aval = context.avals_out[0]
    rows = aval.shape[:-1]

    def of_blocks(length: int) -> Any:
        return hlo.tensor_type((*rows, length // block, block), aval.dtype)

    parts = [
        context.value("stablehlo.reshape", of_blocks(one.shape[-1]), (value,))
        for one, value in zip(context.avals_in, values, strict=True)
    ]
    along = {"dimension": hlo.i64_attr(aval.ndim - 1)}
    joined = context.value("stablehlo.concatenate", of_blocks(aval.shape[-1]), parts, along)
    whole = context.value("stablehlo.reshape", context.out_type, (joined,))
    # What reads it would ask of each element which array it is of.
    return context.value("stablehlo.optimization_barrier", context.out_type, (whole,))


@concatenate_p.def_batch
def _concatenate_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, dimension: int
) -> tuple[Any, int]:
    operands = front(args, dims, axis.size)
    return concatenate(operands, dimension + 1), 0


@concatenate_p.def_transpose
def _concatenate_transpose(ct: Any, *operands: Any, dimension: int) -> list[Any]:
    if type(ct) is Zero:
        return zero_cotangents(operands)
    cts: list[Any] = []
    start = 0
    for operand in operands:
        limit = start + shape_of(operand)[dimension]
        linear = is_linear(operand)
        cts.append(slice_in_dim(ct, start, limit, axis=dimension) if linear else None)
        start = limit
    return cts


concatenate_p.define(jvp=linear_jvp(concatenate_p))

# ---------------------------------------------------------------- stack

stack_p = MovingPrimitive("stack").define(sharding=rules.Linear(rules.stacking))


def stack(operands: Sequence[Any], axis: int = 0) -> Any:
    """Join arrays of one dtype and shape along a new axis.

    Args:
      operands: at least one array.
      axis: the place of the new axis in the result; negative counts from its end.

    Raises:
      TypeError: dtypes or shapes differ.
      ValueError: there is no operand, or no such place.

    Linear: a cotangent is taken apart along the axis.  StableHLO ``reshape`` and
    ``concatenate``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1).tolist()
    [[1, 3], [2, 4]]
    """
    operands = sequence("stack", "operands", operands, "arrays")
    if not operands:
        raise ValueError("stack needs at least one array")
    place = canonical_axis("stack", axis, rank_of(operands[0]) + 1)
    return stack_p.bind(*operands, axis=place)


@stack_p.def_abstract_eval
def _stack_abstract_eval(*operands: ShapedArray, axis: int) -> ShapedArray:
    first = operands[0].shape
    if any(aval.shape != first for aval in operands):
        raise ShapeMismatchError("stack", [a.shape for a in operands], "all must be equal")
    dtype = same_dtype("stack", operands)
    shape = (*first[:axis], len(operands), *first[axis:])
    return ShapedArray(shape, dtype, joint_weak_type(operands))


@stack_p.def_lower
def _stack_lower(context: Any, *values: Any, axis: int) -> Any:
    aval = context.avals_in[0]
    kind = hlo.tensor_type((*aval.shape[:axis], 1, *aval.shape[axis:]), aval.dtype)
    parts = [context.value("stablehlo.reshape", kind, (value,)) for value in values]
    if len(parts) == 1:
        return parts[0]
    return context.value(
        "stablehlo.concatenate", context.out_type, parts, {"dimension": hlo.i64_attr(axis)}
    )


@stack_p.def_batch
def _stack_batch(
    batch_axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, axis: int
) -> tuple[Any, int]:
    return stack(front(args, dims, batch_axis.size), axis + 1), 0


@stack_p.def_transpose
def _stack_transpose(ct: Any, *operands: Any, axis: int) -> list[Any]:
    if type(ct) is Zero:
        return zero_cotangents(operands)
    return [
        index_in_dim(ct, position, axis, keepdims=False) if is_linear(operand) else None
        for position, operand in enumerate(operands)
    ]


stack_p.define(jvp=linear_jvp(stack_p))


# ---------------------------------------------------------------- split

split_p = MovingPrimitive("split", multiple_results=True, element_work=1).define(
    sharding=rules.Linear(rules.splitting)
)


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """Cut an array along an axis into parts of the given sizes.

    Args:
      operand: an array of any dtype.
      sizes: the parts' sizes, which add up to the axis's.
      axis: the axis; negative counts from the end.

    Raises:
      ValueError: the sizes do not add up, or there is no such axis.

    Linear: cotangents are joined.  StableHLO ``slice``.

    >>> from jxkernel import lax, numpy as jnp
    >>> [part.tolist() for part in lax.split(jnp.arange(5), (2, 3))]
    [[0, 1], [2, 3, 4]]
    """
    place = canonical_axis("split", axis, rank_of(operand))
    return split_p.bind(operand, sizes=integers("split", "sizes", sizes), axis=place)


@split_p.def_abstract_eval
def _split_abstract_eval(
    operand: ShapedArray, *, sizes: tuple[int, ...], axis: int
) -> list[ShapedArray]:
    if sum(sizes) != operand.shape[axis] or any(size < 0 for size in sizes):
        raise ValueError(
            f"split got sizes {sizes} for axis {axis} of shape {operand.shape}: they add up to "
            f"{operand.shape[axis]}, and none is negative"
        )
    before, after = operand.shape[:axis], operand.shape[axis + 1 :]
    return [operand.update(shape=(*before, size, *after)) for size in sizes]


@split_p.def_lower
def _split_lower(context: Any, x: Any, *, sizes: tuple[int, ...], axis: int) -> list[Any]:
    ndim = context.avals_in[0].ndim
    starts = [0] * ndim
    limits = list(context.avals_in[0].shape)
    parts: list[Any] = []
    for size, kind in zip(sizes, context.out_types, strict=True):
        limits[axis] = starts[axis] + size
        attributes = {
            "start_indices": hlo.dense_i64_array(tuple(starts)),
            "limit_indices": hlo.dense_i64_array(tuple(limits)),
            "strides": hlo.dense_i64_array((1,) * ndim),
        }
        parts.append(context.value("stablehlo.slice", kind, (x,), attributes))
        starts[axis] = limits[axis]
    return parts


@split_p.def_jvp
def _split_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    return split_p.bind(*primals, **params), split_p.bind(*tangents, **params)


@split_p.def_transpose
def _split_transpose(
    cts: Sequence[Any], operand: Any, *, sizes: tuple[int, ...], axis: int
) -> list[Any]:
    return [concatenate([instantiate(ct) for ct in cts], axis)]


@split_p.def_batch
def _split_batch(
    batch_axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int],
    *,
    sizes: tuple[int, ...],
    axis: int,
) -> tuple[list[Any], list[int]]:
    dim = dims[0]
    parts = split_p.bind(args[0], sizes=sizes, axis=axis + (axis >= dim))
    return parts, [dim] * len(sizes)
