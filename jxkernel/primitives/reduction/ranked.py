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
from jxkernel.dtypes import DType
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
from jxkernel.primitives.reduction.radix import lanes_for
from jxkernel.primitives.reduction.selection import Selection
from jxkernel.primitives.reduction.sort import sort_p
from jxkernel.primitives.reduction.sort_lowering import fetched, lower_sort
from jxkernel.primitives.reference import untyped_numpy
from jxkernel.primitives.shape.structural import front
from jxkernel.primitives.sharding import rules
from jxkernel.runtime import ArrayLike

__all__ = ["ranked", "ranked_p"]

_INDEX = np.dtype(np.int32)
_LEAST_SIZE, _MOST_RANKS = 1 << 14, 4
"""From so many elements, and up to so many ranks, a search is faster than sorting (on CPU)."""

_LEAST_LENGTH, _LEAST_BY_DIGITS, _MOST_BY_DIGITS = 512, 1 << 17, 1 << 31
"""From so many elements of a row, and of an array, it goes by digits, and else bit by bit."""

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
        context.module.platform == "cpu"
        and not any(map(is_symbolic, sizes))
        and operand.size >= _LEAST_SIZE
        and places.shape[-1] <= _MOST_RANKS
    )
    if not gains:
        return _by_sorting(context, x, ranks, operand, places)
    key, dtype = Keys(context, operand.shape).ordered(x, operand.dtype, "apart", "apart")
    search = _Search(context, key, operand.shape, places.shape, dtype)
    by_digits = (
        context.makes_one_kernel
        and operand.shape[-1] >= _LEAST_LENGTH
        and _LEAST_BY_DIGITS <= operand.size < _MOST_BY_DIGITS
    )
    found = search.by_digits(ranks) if by_digits else search.halve(ranks)
    following = search.following(ranks, found)
    keys = Keys(context, places.shape)
    return [keys.restored(one, operand.dtype) for one in (found, following)]


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


class _Search:
    """The search for elements of ranks (..., m) among keys (..., n).

    Digit by digit, in a kernel of its own, or bit by bit: each is the greatest number with at most
    ``rank`` keys below it, and the number of keys below a candidate is a reduction that vectorizes.
    """

    def __init__(
        self, context: Any, key: Any, shape: tuple[int, ...], found: tuple[int, ...], dtype: Any
    ) -> None:
        self.context, self.key, self.dtype = context, key, dtype
        self.shape, self.found = shape, found
        self.pairs = (*found, shape[-1])

    def by_digits(self, ranks: Any) -> Any:
        """Return for each rank its key: that at its place when keys are in order around it."""
        dtype, length, each = self.dtype, self.shape[-1], self.found[-1]
        rows, size = prod(self.found[:-1]), prod(self.shape)
        bits = range(dtype.itemsize * 8)
        selection = Selection(dtype, length, bits, lanes_for(size))

        def body(builder: hlo.Builder, key: Any, ranks: Any) -> tuple[Any]:
            keys, places = (
                builder.value("stablehlo.reshape", hlo.tensor_type((count,), kind), (x,))
                for count, kind, x in ((size, dtype, key), (rows * each, _INDEX, ranks))
            )
            # Both are written over, in each turn anew.
            result = stored(builder, builder.splat(0, (length,), dtype))
            found = builder.splat(0, (rows * each,), dtype)

            def turn(inner: hlo.Builder, number: Any, result: Any, found: Any) -> Sequence[Any]:
                row = integer(inner, "divide", number, each)
                start = integer(inner, "multiply", row, length)
                rank = inner.value("stablehlo.reshape", SCALAR, (read(inner, places, number),))
                result = selection.arranged(inner, keys, start, result, 0, rank)
                one = stored(inner, read(inner, result, rank, hlo.tensor_type((1,), dtype)))
                return result, written(inner, found, one, number)

            found = counted(builder, rows * each, (result, found), turn)[1]
            return (
                builder.value("stablehlo.reshape", hlo.tensor_type(self.found, dtype), (found,)),
            )

        types = (hlo.tensor_type(self.found, dtype),)
        return self.context.one_kernel("rank_by_digits", (self.key, ranks), types, body)[0]

    def following(self, ranks: Any, found: Any) -> Any:
        """Return the keys of the next ranks: the same, or if there are too few the least above."""
        context, dtype = self.context, self.dtype
        above = self._least_above(found)
        upto = self._count(context, self.key, found, "LE")
        keys = Keys(context, self.found)
        enough = keys.op("add", _INDEX, ranks, keys.splat(2, _INDEX))
        enough = keys.op("minimum", _INDEX, enough, keys.splat(self.shape[-1], _INDEX))
        same = context.compare(upto, enough, "GE", self.found, "SIGNED")
        return keys.op("select", dtype, same, found, above)

    def halve(self, ranks: Any) -> Any:
        """Return for each rank its key, bit by bit."""
        context, dtype, bits = self.context, self.dtype, self.dtype.itemsize * 8
        scalar = hlo.tensor_type((), dtype)
        words, places = hlo.tensor_type(self.found, dtype), hlo.tensor_type(self.found, _INDEX)
        types = (scalar, hlo.tensor_type(self.shape, dtype), places, words)
        first = context.constant(1 << (bits - 1), dtype)
        start = (first, self.key, ranks, context.splat(0, self.found, dtype))
        loop = context.op("stablehlo.while", types, start, None, 2)

        def proceeds(builder: Any, bit: Any, key: Any, ranks: Any, found: Any) -> tuple[Any]:
            return (builder.compare(bit, builder.constant(0, dtype), "NE", (), "UNSIGNED"),)

        def advance(builder: Any, bit: Any, key: Any, ranks: Any, found: Any) -> Sequence[Any]:
            spread = builder.broadcast(bit, (), self.found, dtype)
            candidate = builder.value("stablehlo.or", words, (found, spread))
            below = self._count(builder, key, candidate, "LT")
            keeps = builder.compare(below, ranks, "LE", self.found, "SIGNED")
            found = builder.value("stablehlo.select", words, (keeps, candidate, found))
            one = builder.constant(1, dtype)
            bit = builder.value("stablehlo.shift_right_logical", scalar, (bit, one))
            return bit, key, ranks, found

        context.region(loop, 0, types, proceeds)
        context.region(loop, 1, types, advance)
        return loop.results[3]

    def _count(self, builder: Any, key: Any, candidate: Any, direction: str) -> Any:
        """Return how many keys are below candidates (or equal)."""
        flags = self._compared(builder, key, candidate, direction)
        ones = builder.value("stablehlo.convert", hlo.tensor_type(self.pairs, _INDEX), (flags,))
        return self._reduced(builder, ones, "stablehlo.add", 0, _INDEX)

    def _least_above(self, found: Any) -> Any:
        """Return the least key above each; the greatest number where there is none."""
        builder, key = self.context, self.key
        greatest = np.iinfo(self.dtype).max
        kind = hlo.tensor_type(self.pairs, self.dtype)
        flags = self._compared(builder, key, found, "GT")
        none = builder.splat(greatest, self.pairs, self.dtype)
        keys = self._spread(builder, key, without=len(self.shape) - 1)
        kept = builder.value("stablehlo.select", kind, (flags, keys, none))
        return self._reduced(builder, kept, "stablehlo.minimum", greatest, self.dtype)

    def _spread(self, builder: Any, value: Any, *, without: int) -> Any:
        axes = tuple([axis for axis in range(len(self.pairs)) if axis != without])
        return builder.broadcast(value, axes, self.pairs, self.dtype)

    def _compared(self, builder: Any, key: Any, candidate: Any, direction: str) -> Any:
        last = len(self.shape) - 1
        sides = (
            self._spread(builder, key, without=last),
            self._spread(builder, candidate, without=last + 1),
        )
        return builder.compare(*sides, direction, self.pairs, "UNSIGNED")

    def _reduced(self, builder: Any, x: Any, operation: str, start: Any, dtype: DType) -> Any:
        scalar = hlo.tensor_type((), dtype)
        reduction = builder.op(
            "stablehlo.reduce",
            (hlo.tensor_type(self.found, dtype),),
            (x, builder.constant(start, dtype)),
            {"dimensions": hlo.dense_i64_array((len(self.pairs) - 1,))},
            regions=1,
        )

        def body(inner: Any, a: Any, b: Any) -> tuple[Any]:
            return (inner.value(operation, scalar, (a, b)),)

        builder.region(reduction, 0, (scalar, scalar), body)
        return reduction.result
