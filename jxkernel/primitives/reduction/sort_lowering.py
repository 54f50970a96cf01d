"""Lowering of sorts: order-preserving integer keys, and positions instead of values.

XLA's CPU sort calls a comparison per pair of elements unless it sorts one array of integers by
"less than".  So keys of other dtypes, and several keys, become unsigned integers of the same order
(NaN last, -0 beside 0), and a key of at most 32 bits is joined with its position into one 64-bit
number; everything else is then fetched by position.  Many such integers are sorted by digits,
without comparing them.  A few elements are sorted by comparison after all.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.core.dimensions import is_symbolic
from jxkernel.dtypes import DType
from jxkernel.primitives.elementwise.compare import comparison_kind
from jxkernel.primitives.reduction.ordered_keys import Keys
from jxkernel.primitives.reduction.radix import Sortable, sorted_by_digits
from jxkernel.primitives.reduction.selection import partitioned_by_digits
from jxkernel.primitives.reduction.top import row_length, top_of_rows

__all__ = ["fetched", "lower_argpartition", "lower_partition", "lower_sort", "lower_top_k"]

_INDEX = np.dtype(np.int32)
_PACKED = np.dtype(np.uint64)
_FEW = 64
"""So few elements are sorted with all arrays as operands: XLA's client runs a program of less than
1,000 operations in the calling thread, and comparisons cost less than changing threads."""
_LEAST_SIZE, _LEAST_LENGTH, _MOST_SIZE, _MOST_BITS = 1 << 14, 512, 1 << 31, 32
"""From so many elements on, and so many along the axis, and by up to so many bits, an array is
sorted by digits on CPU."""
_LEAST_PARTITIONED = 1 << 17
"""From so many elements on a partition takes less time than a sort."""


def lower_sort(
    context: Any, values: Sequence[Any], dimension: int, is_stable: bool, num_keys: int
) -> list[Any]:
    """Append a sort of several arrays by the first ``num_keys`` of them."""
    avals: Sequence[ShapedArray] = context.avals_in
    shape = avals[0].shape
    if avals[0].size == 0:
        return list(values)
    keys = Keys(context, shape)
    small = not is_symbolic(avals[0].size) and avals[0].size <= _FEW
    if len(values) == 1 and not dtypes.issubdtype(avals[0].dtype, np.complexfloating):
        kind = _Alone(avals[0].dtype)
        if _are_integers(kind.dtype) and not _goes_by_digits(context, shape, dimension, kind):
            return list(_sorted(context, values, [kind.dtype], shape, dimension, 1, False))
        if not small:
            return [_integers(context, values[0], shape, dimension, kind)]
    words: list[Any] = []
    kinds: list[Any] = []
    for value, aval in zip(values[:num_keys], avals[:num_keys], strict=True):
        for part, dtype in _parts(keys, value, aval.dtype):
            word, kind = keys.ordered(part, dtype, "equal", "equal")
            words.append(word)
            kinds.append(kind)
    if small:
        operands, types = [*words, *values], [*kinds, *[aval.dtype for aval in avals]]
        found = _sorted(context, operands, types, shape, dimension, len(words), is_stable)
        return list(found)[len(words) :]
    places = _places(keys, words, kinds, dimension, is_stable)
    return [
        keys.op("convert", aval.dtype, places)
        if _counts(value, dimension)
        else fetched(context, value, places, aval, dimension)
        for value, aval in zip(values, avals, strict=True)
    ]


def _counts(value: Any, dimension: int) -> bool:
    """Whether a value is the positions along an axis, which fetched by position are themselves."""
    owner = value.owner
    if getattr(owner, "name", None) != "stablehlo.iota":
        return False
    return owner.attributes["iota_dimension"].value == dimension


def _parts(keys: Keys, x: Any, dtype: DType) -> list[tuple[Any, Any]]:
    """Return a key as real keys: complex numbers are ordered by real, then imaginary parts."""
    if not dtypes.issubdtype(dtype, np.complexfloating):
        return [(x, dtype)]
    part = np.zeros((), dtype).real.dtype
    return [(keys.op("real", part, x), part), (keys.op("imag", part, x), part)]


def _places(keys: Keys, words: list[Any], kinds: list[Any], dimension: int, is_stable: bool) -> Any:
    """Return, for each position of the sorted arrays, the position the element came from."""
    context, shape = keys.context, keys.shape
    if len(words) == 1 and kinds[0].itemsize <= 4:
        return _integers(context, words[0], shape, dimension, _Packed(kinds[0]))
    place = context.iota(_INDEX, shape, dimension)
    operands, types = [*words, place], [*kinds, _INDEX]
    return _sorted(context, operands, types, shape, dimension, len(words), is_stable)[-1]


def _are_integers(dtype: DType) -> bool:
    """Whether elements are integers that XLA compares itself."""
    return dtypes.issubdtype(dtype, np.integer) and dtypes.itemsize_bits(dtype) >= 8


class _Alone:
    """A sort of one real array: of keys from which its elements are restored."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.kinds = (dtype, _key_dtype(dtype), dtype)
        self.bits = range(self.kinds[1].itemsize * 8)

    def encoded(self, builder: hlo.Builder, x: Any, shape: tuple[int, ...], axis: int) -> Any:
        return Keys(builder, shape).ordered(x, self.dtype, "apart", "apart")[0]

    def decoded(self, builder: hlo.Builder, key: Any, shape: tuple[int, ...]) -> Any:
        return Keys(builder, shape).restored(key, self.dtype)


class _Packed:
    """The places of sorted keys of at most 32 bits: those bits, then the place, in one number."""

    def __init__(self, dtype: Any) -> None:
        self.kinds = (dtype, _PACKED, _INDEX)
        self.bits = range(32, 32 + dtype.itemsize * 8)

    def encoded(self, builder: hlo.Builder, x: Any, shape: tuple[int, ...], axis: int) -> Any:
        keys = Keys(builder, shape)
        place = builder.iota(_PACKED, shape, axis)
        high = keys.op("convert", _PACKED, x)
        high = keys.op("shift_left", _PACKED, high, keys.splat(32, _PACKED))
        return keys.op("or", _PACKED, high, place)

    def decoded(self, builder: hlo.Builder, key: Any, shape: tuple[int, ...]) -> Any:
        return Keys(builder, shape).op("convert", _INDEX, key)


def _key_dtype(dtype: DType) -> Any:
    """Return the unsigned dtype that ``Keys.ordered`` makes of a real dtype."""
    if dtypes.issubdtype(dtype, np.floating) and dtype.itemsize < 2:
        return np.dtype(np.uint32)
    return np.dtype(f"uint{dtype.itemsize * 8}")


def _integers(context: Any, x: Any, shape: tuple[int, ...], dimension: int, kind: Sortable) -> Any:
    """Append a sort of unsigned integers that are made of an array, and what becomes of them."""
    dtype = kind.kinds[1]
    if _goes_by_digits(context, shape, dimension, kind):
        return sorted_by_digits(context, x, shape, dimension, kind)
    keys = kind.encoded(context, x, shape, dimension)
    (ordered,) = _sorted(context, [keys], [dtype], shape, dimension, 1, False)
    return kind.decoded(context, ordered, shape)


def _goes_by_digits(
    context: Any,
    shape: tuple[int, ...],
    dimension: int,
    kind: Sortable,
    least: int = _LEAST_SIZE,
) -> bool:
    """Whether many integers, at least so many, are put in order by digits."""
    return (
        context.makes_one_kernel
        and not any(map(is_symbolic, shape))
        and len(kind.bits) <= _MOST_BITS
        and shape[dimension] >= _LEAST_LENGTH
        and least <= prod(shape) < _MOST_SIZE
    )


def lower_partition(context: Any, x: hlo.Value, dimension: int, rank: int) -> Any:
    """Append an array in order around the element of a rank along an axis; few are sorted."""
    aval: ShapedArray = context.avals_in[0]
    if not dtypes.issubdtype(aval.dtype, np.complexfloating):
        kind = _Alone(aval.dtype)
        if _goes_by_digits(context, aval.shape, dimension, kind, _LEAST_PARTITIONED):
            return partitioned_by_digits(context, x, aval.shape, dimension, kind, rank)
    return lower_sort(context, [x], dimension, False, 1)[0]


def lower_argpartition(context: Any, x: hlo.Value, dimension: int, rank: int) -> Any:
    """Append from where each element comes of an array in order around that of a rank."""
    aval: ShapedArray = context.avals_in[0]
    keys = Keys(context, aval.shape)
    if not dtypes.issubdtype(aval.dtype, np.complexfloating):
        word, dtype = keys.ordered(x, aval.dtype, "equal", "equal")
        kind = _Packed(dtype)
        if _goes_by_digits(context, aval.shape, dimension, kind, _LEAST_PARTITIONED):
            return partitioned_by_digits(context, word, aval.shape, dimension, kind, rank)
    places = context.iota(_INDEX, aval.shape, dimension)
    context.avals_in = [aval, aval.update(dtype=_INDEX)]
    return lower_sort(context, [x, places], dimension, True, 1)[1]


def _sorted(
    context: Any,
    operands: Sequence[Any],
    kinds: Sequence[Any],
    shape: tuple[int, ...],
    dimension: int,
    num_keys: int,
    is_stable: bool,
) -> Sequence[Any]:
    """Append ``stablehlo.sort`` by integer keys, compared one after the other."""
    operation = context.op(
        "stablehlo.sort",
        [hlo.tensor_type(shape, kind) for kind in kinds],
        operands,
        {"dimension": hlo.i64_attr(dimension), "is_stable": hlo.bool_attr(is_stable)},
        1,
    )
    boolean = hlo.tensor_type((), np.dtype(np.bool_))
    signs = [comparison_kind(kind) for kind in kinds[:num_keys]]

    def precedes(builder: Any, *pairs: Any) -> tuple[Any]:
        """Compare the last key; each earlier one decides unless it is equal."""
        found = None
        keys = zip(pairs[::2], pairs[1::2], signs, strict=False)
        for first, second, sign in reversed(list(keys)):
            less = builder.compare(first, second, "LT", (), sign)
            if found is not None:
                level = builder.compare(first, second, "EQ", (), sign)
                later = builder.value("stablehlo.and", boolean, (level, found))
                less = builder.value("stablehlo.or", boolean, (less, later))
            found = less
        return (found,)

    scalars = [hlo.tensor_type((), kind) for kind in kinds for _ in range(2)]
    context.region(operation, 0, scalars, precedes)
    return operation.results


def fetched(
    context: Any, x: Any, places: Any, aval: ShapedArray, dimension: int, count: int | None = None
) -> Any:
    """Return the elements of ``x`` at ``count`` positions of one axis, all other axes together."""
    rank = aval.ndim
    size = aval.shape[dimension] if count is None else count
    shape = (*aval.shape[:dimension], size, *aval.shape[dimension + 1 :])
    others = [axis for axis in range(rank) if axis != dimension]
    indices = context.value("stablehlo.reshape", hlo.tensor_type((*shape, 1), _INDEX), (places,))
    numbers = (
        f"#stablehlo.gather<collapsed_slice_dims = [{dimension}], "
        f"operand_batching_dims = {others}, start_indices_batching_dims = {others}, "
        f"start_index_map = [{dimension}], index_vector_dim = {rank}>"
    )
    return context.value(
        "stablehlo.gather",
        hlo.tensor_type(shape, aval.dtype),
        (x, indices),
        {
            "dimension_numbers": hlo.parse_attribute(numbers),
            "slice_sizes": hlo.dense_i64_array((1,) * rank),
            "indices_are_sorted": hlo.bool_attr(False),
        },
    )


def lower_top_k(context: Any, x: Any, k: int, least: bool) -> list[Any]:
    """Append the search for the ``k`` greatest, or least, along the last axis.

    XLA's own search serves a few elements of float32; it (and what float32 can hold) is much
    faster than a sort only there.
    """
    aval: ShapedArray = context.avals_in[0]
    dimension = aval.ndim - 1
    places_kind = hlo.tensor_type((*aval.shape[:-1], k), _INDEX)
    symbolic = is_symbolic(k) or is_symbolic(aval.shape[-1])
    if not symbolic and not (aval.size and k):
        out = context.avals_out[0]
        return [context.splat(0, out.shape, out.dtype), context.splat(0, out.shape, _INDEX)]
    if not symbolic and _fits_float32(aval.dtype) and 8 * k <= aval.shape[-1]:
        if length := row_length(context, aval, k):
            return top_of_rows(context, x, aval, k, least, length, _top_of_float32)
        return _top_of_float32(context, x, aval, k, least, places_kind)
    keys = Keys(context, aval.shape)
    word, kind = keys.ordered(x, aval.dtype, "apart", "equal")
    word = word if least else keys.op("not", kind, word)
    everything = _places(keys, [word], [kind], dimension, True)
    places = _leading(context, everything, aval.shape, k, places_kind)
    return [fetched(context, x, places, aval, dimension, k), places]


def _fits_float32(dtype: DType) -> bool:
    if dtypes.issubdtype(dtype, np.floating):
        return dtype.itemsize <= 4
    return dtype == np.bool_ or dtypes.itemsize_bits(dtype) <= 16


def _top_of_float32(
    context: Any, x: Any, aval: ShapedArray, k: int, least: bool, places_kind: Any
) -> list[Any]:
    """Append XLA's search, for which NaN is the greatest number, and the negative NaN the least."""
    keys, found = Keys(context, aval.shape), Keys(context, (*aval.shape[:-1], k))
    wide = np.dtype(np.float32)
    if aval.dtype != wide:
        x = keys.op("convert", wide, x)
    nan = context.compare(x, x, "NE", aval.shape, "FLOAT")
    if least:
        x = keys.op("negate", wide, x)
    x = keys.op("select", wide, nan, keys.splat(-np.nan if least else np.nan, wide), x)
    count = {"k": hlo.i64_attr(k)}
    values, places = context.op("chlo.top_k", (found.kind(wide), places_kind), (x,), count).results
    if least:
        values = found.op("negate", wide, values)
    if aval.dtype != wide:
        values = found.op("convert", aval.dtype, values)
    return [values, places]


def _leading(context: Any, x: Any, shape: tuple[int, ...], k: int, kind: Any) -> Any:
    """Return the first ``k`` positions of the last axis."""
    return context.value(
        "stablehlo.slice",
        kind,
        (x,),
        {
            "start_indices": hlo.dense_i64_array((0,) * len(shape)),
            "limit_indices": hlo.dense_i64_array((*shape[:-1], k)),
            "strides": hlo.dense_i64_array((1,) * len(shape)),
        },
    )
