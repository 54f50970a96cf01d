"""Elements of given ranks: those that would stand at given places if an axis were sorted."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray, rank_of, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.dimensions import is_symbolic
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import Zero
from jxkernel.primitives.creation import broadcasted_iota
from jxkernel.primitives.elementwise.arithmetic import add, min
from jxkernel.primitives.indexing.gather import take_along
from jxkernel.primitives.reduction.kernel_loops import (
    SCALAR,
    counted,
    integer,
    read,
    stored,
    written,
)
from jxkernel.primitives.reduction.ordered_keys import Keys
from jxkernel.primitives.reduction.selection import Selection
from jxkernel.primitives.reduction.sort import sort_p
from jxkernel.primitives.reduction.sort_lowering import fetched, lower_sort
from jxkernel.primitives.reference import untyped_numpy
from jxkernel.primitives.shape.structural import front
from jxkernel.primitives.sharding import rules
from jxkernel.runtime import ArrayLike

__all__ = ["ranked", "ranked_p"]

_INDEX = np.dtype(np.int32)
_LEAST_LENGTH, _LEAST_SIZE, _MOST_SIZE, _MOST_RANKS = 512, 1 << 14, 1 << 31, 4
"""From so many elements of a row, and of an array, and up to so many ranks, a search is faster."""

_LANES = 4
"""How many elements a turn of a search takes."""

ranked_p = Primitive("ranked", multiple_results=True).define(
    sharding=rules.leading(1, "it chooses along")
)


def ranked(operand: ArrayLike, ranks: Any) -> tuple[Any, Any]:
    """Return the elements of given ranks along the last axis, and those of the ranks after them.

    Args:
      operand: an array of a real dtype, of shape (..., n), n > 0.
      ranks: int32 from 0 to n - 1, of shape (..., m); 0 is the rank of the least element.

    Returns:
      two arrays of shape (..., m); after the last rank comes the last again.

    The order is that of ``sort``: NaN last.  Tangents are those of the elements chosen; of equal
    elements the first has the least rank.

    >>> from jxkernel import numpy as jnp
    >>> from jxkernel.primitives.reduction.ranked import ranked
    >>> [x.tolist() for x in ranked(jnp.array([7, 1, 5, 3]), jnp.array([0, 3]))]
    [[1, 7], [3, 7]]
    """
    values, following = ranked_p.bind(operand, ranks)
    return values, following


@ranked_p.def_abstract_eval
def _ranked_abstract_eval(operand: ShapedArray, ranks: ShapedArray) -> list[ShapedArray]:
    if dtypes.issubdtype(operand.dtype, np.complexfloating) or ranks.dtype != _INDEX:
        raise TypeError(
            f"ranked got {operand.short()} and {ranks.short()}: it takes real numbers, and ranks "
            "of dtype int32"
        )
    if operand.shape[:-1] != ranks.shape[:-1] or not operand.shape[-1]:
        raise ValueError(
            f"ranked got shapes {operand.shape} and {ranks.shape}: all axes but the last are "
            "equal, and there is an element to choose"
        )
    return [operand.update(shape=ranks.shape)] * 2


def _reference(x: Any, ranks: Any) -> list[Any]:
    ordered, last = untyped_numpy.sort(x, -1), x.shape[-1] - 1
    return [np.take_along_axis(ordered, np.minimum(ranks + n, last), -1) for n in (0, 1)]


ranked_p.reference = _reference


@ranked_p.def_jvp
def _ranked_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    x, ranks = primals
    shape, last = shape_of(x), rank_of(x) - 1
    params = {"dimension": last, "is_stable": True, "num_keys": 1}
    ordered, places = sort_p.bind(x, broadcasted_iota(np.int32, shape, last), **params)
    both = [ranks, min(add(ranks, np.int32(1)), np.int32(shape[last] - 1))]
    values = [take_along(ordered, at, last) for at in both]
    if type(tangents[0]) is Zero:
        return values, [Zero.tangent_of(y) for y in values]
    return values, [take_along(tangents[0], take_along(places, at, last), last) for at in both]


@ranked_p.def_batch
def _ranked_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[list[Any], list[int]]:
    return ranked_p.bind(*front(args, dims, axis.size)), [0, 0]


ranked_p.define(transpose=Undefined("it is not linear in its operand"))


@ranked_p.def_lower
def _ranked_lower(context: Any, x: Any, ranks: Any) -> list[Any]:
    operand, places = context.avals_in
    sizes = (*operand.shape, places.shape[-1])
    if not prod(places.shape):
        return [context.splat(0, places.shape, operand.dtype)] * 2
    gains = (
        context.makes_one_kernel
        and not any(map(is_symbolic, sizes))
        and operand.shape[-1] >= _LEAST_LENGTH
        and _LEAST_SIZE <= operand.size < _MOST_SIZE
        and places.shape[-1] <= _MOST_RANKS
    )
    lower = _by_digits if gains else _by_sorting
    return lower(context, x, ranks, operand, places)


def _by_sorting(
    context: Any, x: Any, ranks: Any, operand: ShapedArray, places: ShapedArray
) -> list[Any]:
    last, count = operand.ndim - 1, places.shape[-1]
    context.avals_in = [operand]
    (ordered,) = lower_sort(context, [x], last, False, 1)
    keys = Keys(context, places.shape)
    following = keys.op("add", _INDEX, ranks, keys.splat(1, _INDEX))
    end = keys.splat(operand.shape[-1] - 1, _INDEX)
    following = keys.op("minimum", _INDEX, following, end)
    return [fetched(context, ordered, at, operand, last, count) for at in (ranks, following)]


def _by_digits(
    context: Any, x: Any, ranks: Any, operand: ShapedArray, places: ShapedArray
) -> list[Any]:
    """Search each row for the keys of its ranks, digit by digit, in a kernel of its own."""
    key, dtype = Keys(context, operand.shape).ordered(x, operand.dtype, "apart", "apart")
    length, each, count = operand.shape[-1], places.shape[-1], places.size
    selection = Selection(dtype, length, range(dtype.itemsize * 8), _LANES)

    def body(builder: hlo.Builder, key: Any, ranks: Any) -> Sequence[Any]:
        keys, at = (
            builder.value("stablehlo.reshape", hlo.tensor_type((many,), kind), (value,))
            for many, kind, value in ((operand.size, dtype, key), (count, _INDEX, ranks))
        )
        keys = stored(builder, keys)

        def turn(inner: hlo.Builder, number: Any, *found: Any) -> Sequence[Any]:
            start = integer(inner, "multiply", integer(inner, "divide", number, each), length)
            rank = inner.value("stablehlo.reshape", SCALAR, (read(inner, at, number),))
            both = selection.found(inner, keys, start, rank)
            return [written(inner, y, one, number) for y, one in zip(found, both, strict=True)]

        none = builder.splat(0, (count,), dtype)
        kind = hlo.tensor_type(places.shape, dtype)
        found = counted(builder, count, (none, none), turn)
        return [builder.value("stablehlo.reshape", kind, (y,)) for y in found]

    types = [hlo.tensor_type(places.shape, dtype)] * 2
    found = context.one_kernel("rank_by_digits", (key, ranks), types, body)
    return [Keys(context, places.shape).restored(y, operand.dtype) for y in found]
