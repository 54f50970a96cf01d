"""Slices at places known only when the program runs; reading and writing are transposes.

Start positions are clamped so that the whole slice lies in the array.  A batch of starts turns
a slice into a gather or scatter in ``indexing``, never into a loop.
"""

from collections.abc import Sequence
from operator import index as as_index
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.dimensions import is_symbolic
from jxkernel.core.zeros import UndefinedPrimal, Zero, is_linear, typed_scalar, zero_scalar
from jxkernel.dtypes import DType
from jxkernel.errors import ShapeError, ShapeMismatchError
from jxkernel.primitives.arguments import (
    canonical_axis,
    integers,
    operand_aval,
    sequence,
    whole_number,
)
from jxkernel.primitives.elementwise.arithmetic import add, rem
from jxkernel.primitives.elementwise.arithmetic import min as lesser
from jxkernel.primitives.elementwise.compare import lt
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.elementwise.select import select_n
from jxkernel.primitives.indexing.concatenate import concatenate
from jxkernel.primitives.indexing.gather import (
    GatherDimensionNumbers,
    ScatterDimensionNumbers,
    gather,
    scatter,
)
from jxkernel.primitives.indexing.slicing import slice
from jxkernel.primitives.shape.broadcast import batch_to_front, filled, instantiate
from jxkernel.primitives.shape.reshape import expand_dims, squeeze
from jxkernel.primitives.shape.structural import same_dtype, zero_cotangents
from jxkernel.primitives.shape.transpose import MovingPrimitive, move_axis
from jxkernel.primitives.sharding import rules
from jxkernel.primitives.sharding.constraints import bind_alike
from jxkernel.runtime import ArrayLike

__all__ = [
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_slice_p",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "dynamic_update_slice_p",
    "index_take",
]

_WHOLE: Any = (int, np.integer)

# ---------------------------------------------------------------- start positions


def _starts(
    name: str, operand: Any, start_indices: Any, allow_negative: bool | Sequence[bool]
) -> list[Any]:
    """Return one scalar position per axis; negative ones are counted from the end if allowed.

    Raises:
      TypeError: there is not one whole number per axis.
    """
    shape = shape_of(operand)
    starts = _as_scalars(name, start_indices, len(shape))
    flags = [allow_negative] * len(shape) if isinstance(allow_negative, bool) else allow_negative
    return [
        _counted_from_front(start, size, flag)
        for start, size, flag in zip(starts, shape, flags, strict=True)
    ]


def _as_scalars(name: str, start_indices: Any, rank: int) -> list[Any]:
    if hasattr(start_indices, "ndim"):
        whole = start_indices
        if whole.ndim != 1:
            raise TypeError(f"{name} got start indices of rank {whole.ndim}: they form a vector")
        found = [_element(whole, position) for position in range(whole.shape[0])]
    else:
        found = sequence(name, "start_indices", start_indices, "scalar integers")
    if len(found) != rank:
        raise ShapeError(
            f"{name} got {len(found)} start indices for an array of rank {rank}: one per axis"
        )
    for start in found:
        _check_start(name, start)
    return found


def _check_start(name: str, start: Any) -> None:
    aval = operand_aval(name, start)
    if aval.shape or not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(
            f"{name} got a start index of type {aval.short()}: start indices are scalar integers"
        )


def _element(vector: Any, position: int) -> Any:
    if isinstance(vector, np.ndarray):
        return vector[position]
    return squeeze(slice(vector, (position,), (position + 1,)), (0,))


def _counted_from_front(start: Any, size: int, allow_negative: bool) -> Any:
    """Return a position counted from the front; one known now as a NumPy scalar."""
    if isinstance(start, _WHOLE):
        position = as_index(start)
        if position < 0 and allow_negative:
            position += size
        # Positions are clamped to the axis anyway: keep them within the dtype.
        bound = max(2**31 - 1, size)
        position = min(max(position, -bound), bound)
        return np.int32(position) if bound < 2**31 else np.int64(position)
    if is_symbolic(start):
        start = convert_element_type(start, np.int32)
    if not allow_negative or dtypes.issubdtype(start.dtype, np.unsignedinteger):
        return start
    if dtypes.itemsize_bits(start.dtype) < 32:
        start = convert_element_type(start, np.int32)
    return select_n(lt(start, 0), start, add(start, size))


def _check_starts(name: str, operand: ShapedArray, starts: Sequence[ShapedArray]) -> None:
    if len(starts) != operand.ndim or any(
        start.shape or not dtypes.issubdtype(start.dtype, np.integer) for start in starts
    ):
        raise TypeError(
            f"{name} got start indices {' '.join(s.short() for s in starts)} for an array of rank "
            f"{operand.ndim}: one scalar integer per axis"
        )


def _lower_starts(context: Any, starts: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
    """Return start positions in one dtype, at least 32 bits wide, that holds those of each."""
    dtype = np.dtype(np.int32)
    if any(dtypes.itemsize_bits(aval.dtype) == 64 or aval.dtype == np.uint32 for aval in avals):
        dtype = np.dtype(np.int64)
    if avals and all(aval.dtype == avals[0].dtype for aval in avals):
        dtype = avals[0].dtype if dtypes.itemsize_bits(avals[0].dtype) >= 32 else dtype
    kind = hlo.tensor_type((), dtype)
    return [
        start if aval.dtype == dtype else context.value("stablehlo.convert", kind, (start,))
        for start, aval in zip(starts, avals, strict=True)
    ]


# ---------------------------------------------------------------- dynamic_slice

dynamic_slice_p = MovingPrimitive("dynamic_slice", element_work=1).define(
    sharding=rules.Linear(rules.cutting, stop=1)
)


def dynamic_slice(
    operand: ArrayLike,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """Return a slice of static size at a traced position.

    Args:
      operand: an array of any dtype.
      start_indices: one scalar integer per axis, or a vector of them; a position is clamped so
        that the slice lies in the array.
      slice_sizes: the result's shape.
      allow_negative_indices: whether negative positions count from the end of their axis.

    Raises:
      TypeError: the sizes or positions do not fit the array.

    Linear in the operand: cotangents are written into zeros.  StableHLO ``dynamic_slice``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.dynamic_slice(jnp.arange(10), (3,), (4,)).tolist()
    [3, 4, 5, 6]
    >>> lax.dynamic_slice(jnp.arange(10), (8,), (4,)).tolist()
    [6, 7, 8, 9]
    """
    starts = _starts("dynamic_slice", operand, start_indices, allow_negative_indices)
    return dynamic_slice_p.bind(
        operand, *starts, slice_sizes=integers("dynamic_slice", "slice_sizes", slice_sizes)
    )


@dynamic_slice_p.def_abstract_eval
def _dynamic_slice_abstract_eval(
    operand: ShapedArray, *starts: ShapedArray, slice_sizes: tuple[int, ...]
) -> ShapedArray:
    _check_starts("dynamic_slice", operand, starts)
    if len(slice_sizes) != operand.ndim or not all(
        0 <= size <= whole for size, whole in zip(slice_sizes, operand.shape, strict=True)
    ):
        raise TypeError(
            f"dynamic_slice got slice_sizes {slice_sizes} for shape {operand.shape}: one size per "
            "axis, no larger than the axis"
        )
    return operand.update(shape=slice_sizes)


@dynamic_slice_p.def_lower
def _dynamic_slice_lower(context: Any, x: Any, *starts: Any, slice_sizes: tuple[int, ...]) -> Any:
    places = _lower_starts(context, starts, context.avals_in[1:])
    return context.value(
        "stablehlo.dynamic_slice",
        context.out_type,
        (x, *places),
        {"slice_sizes": hlo.dense_i64_array(slice_sizes)},
    )


@dynamic_slice_p.def_jvp
def _dynamic_slice_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    y = dynamic_slice_p.bind(*primals, **params)
    return y, dynamic_slice_p.bind(tangents[0], *primals[1:], **params)


@dynamic_slice_p.def_transpose
def _dynamic_slice_transpose(
    ct: Any, operand: UndefinedPrimal, *starts: Any, slice_sizes: tuple[int, ...]
) -> list[Any]:
    if type(ct) is Zero:
        return zero_cotangents((operand, *starts))
    zeros = filled(operand.shape, typed_scalar(operand.dtype, 0))
    pulled = bind_alike(dynamic_update_slice_p, (zeros, ct), after=starts)
    return [pulled, *(None for _ in starts)]


@dynamic_slice_p.def_batch
def _dynamic_slice_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, slice_sizes: tuple[int, ...]
) -> tuple[Any, int]:
    operand, starts, dim = args[0], args[1:], dims[0]
    if all(d is None for d in dims[1:]):
        assert dim is not None, "one operand at least is batched"
        sizes = (*slice_sizes[:dim], axis.size, *slice_sizes[dim:])
        places = [*starts[:dim], np.int32(0), *starts[dim:]]
        return dynamic_slice_p.bind(operand, *places, slice_sizes=sizes), dim
    indices = _index_vectors(starts, dims[1:], axis.size)
    batched = dim is not None
    if batched:
        operand = move_axis(operand, dim, 0)
    window = tuple(range(1, len(slice_sizes) + 1))
    addressed = window if batched else tuple(range(len(slice_sizes)))
    lead = (0,) if batched else ()
    numbers = GatherDimensionNumbers(window, (), addressed, lead, lead)
    sizes = (*([min(1, axis.size)] * batched), *slice_sizes)
    return gather(operand, indices, numbers, sizes, mode="clip"), 0


def _index_vectors(starts: Sequence[Any], dims: Sequence[int | None], size: int) -> Any:
    """Return the positions of all examples as the rows of a matrix of one dtype."""
    wide = any(dtypes.itemsize_bits(abstractify(start).dtype) == 64 for start in starts)
    dtype = np.dtype(np.int64 if wide else np.int32)
    columns = [
        expand_dims(_saturated(batch_to_front(start, dim, size), dtype), (1,))
        for start, dim in zip(starts, dims, strict=True)
    ]
    return concatenate(columns, 1)


def _saturated(start: Any, dtype: DType) -> Any:
    """Return positions in a signed dtype, those that it cannot hold as its greatest."""
    own = abstractify(start).dtype
    wider = dtypes.itemsize_bits(own) >= dtypes.itemsize_bits(dtype)
    if wider and dtypes.issubdtype(own, np.unsignedinteger):
        start = lesser(start, own.type(np.iinfo(dtype).max))
    return convert_element_type(start, dtype)


# ---------------------------------------------------------------- dynamic_update_slice

dynamic_update_slice_p = MovingPrimitive("dynamic_update_slice").define(
    sharding=rules.Linear(rules.updating, stop=2)
)


def dynamic_update_slice(
    operand: ArrayLike,
    update: Any,
    start_indices: Any,
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """Return an array with a slice at a traced position replaced.

    Args:
      operand: an array of any dtype.
      update: what to write, of the same dtype and rank, no larger along any axis.
      start_indices: one scalar integer per axis, or a vector of them; a position is clamped so
        that the slice lies in the array.
      allow_negative_indices: whether negative positions count from the end of their axis.

    Raises:
      TypeError: dtypes or positions do not fit.
      ShapeMismatchError: the update does not fit into the array.

    Linear in operand and update together.  StableHLO ``dynamic_update_slice``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.dynamic_update_slice(jnp.zeros(5), jnp.array([7.0, 8.0]), (2,)).tolist()
    [0.0, 0.0, 7.0, 8.0, 0.0]
    """
    starts = _starts("dynamic_update_slice", operand, start_indices, allow_negative_indices)
    return bind_alike(dynamic_update_slice_p, (operand, update), after=starts)


@dynamic_update_slice_p.def_abstract_eval
def _dynamic_update_slice_abstract_eval(
    operand: ShapedArray, update: ShapedArray, *starts: ShapedArray
) -> ShapedArray:
    same_dtype("dynamic_update_slice", (operand, update))
    _check_starts("dynamic_update_slice", operand, starts)
    _check_update("dynamic_update_slice", operand, update)
    return operand.strip_weak_type()


def _check_update(name: str, operand: ShapedArray, update: ShapedArray) -> None:
    if update.ndim != operand.ndim or any(
        size > whole for size, whole in zip(update.shape, operand.shape, strict=True)
    ):
        raise ShapeMismatchError(
            name,
            [operand.shape, update.shape],
            "the update has the operand's rank and is no larger along any axis",
        )


@dynamic_update_slice_p.def_lower
def _dynamic_update_slice_lower(context: Any, x: Any, update: Any, *starts: Any) -> Any:
    places = _lower_starts(context, starts, context.avals_in[2:])
    return context.value("stablehlo.dynamic_update_slice", context.out_type, (x, update, *places))


@dynamic_update_slice_p.def_jvp
def _dynamic_update_slice_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    y = dynamic_update_slice_p.bind(*primals)
    moved = [instantiate(t) for t in tangents[:2]]
    return y, dynamic_update_slice_p.bind(*moved, *primals[2:])


@dynamic_update_slice_p.def_transpose
def _dynamic_update_slice_transpose(ct: Any, operand: Any, update: Any, *starts: Any) -> list[Any]:
    if type(ct) is Zero:
        return zero_cotangents((operand, update, *starts))
    kept = read = None
    if is_linear(operand):
        zeros = filled(shape_of(update), zero_scalar(operand.aval))
        kept = bind_alike(dynamic_update_slice_p, (ct, zeros), after=starts)
    if is_linear(update):
        read = dynamic_slice_p.bind(ct, *starts, slice_sizes=update.shape)
    return [kept, read, *(None for _ in starts)]


@dynamic_update_slice_p.def_batch
def _dynamic_update_slice_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[Any, int]:
    operand = batch_to_front(args[0], dims[0], axis.size)
    update = batch_to_front(args[1], dims[1], axis.size)
    starts = args[2:]
    if all(d is None for d in dims[2:]):
        return dynamic_update_slice_p.bind(operand, update, np.int32(0), *starts), 0
    indices = _index_vectors(starts, dims[2:], axis.size)
    window = tuple(range(1, len(starts) + 1))
    numbers = ScatterDimensionNumbers(window, (), window, (0,), (0,))
    return scatter(operand, indices, update, numbers, unique_indices=True, mode="clip"), 0


# ---------------------------------------------------------------- along one axis


def _start_along(name: str, operand: Any, axis: int, start: Any) -> list[Any]:
    _check_start(name, start)
    starts: list[Any] = [0] * rank_of(operand)
    starts[axis] = start
    return starts


def _allowed_along(operand: Any, axis: int, allow: bool) -> list[bool]:
    allowed = [False] * rank_of(operand)
    allowed[axis] = allow
    return allowed


def dynamic_slice_in_dim(
    operand: Any,
    start_index: Any,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """Return ``slice_size`` positions of one axis from a traced position on; see dynamic_slice.

    Raises:
      AxisError: there is no such axis.
      ShapeError: the axis has fewer positions.
      TypeError: the start index is no scalar integer.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.dynamic_slice_in_dim(jnp.array([[1, 2, 3], [4, 5, 6]]), 1, 2, axis=1).tolist()
    [[2, 3], [5, 6]]
    """
    name = "dynamic_slice_in_dim"
    return _slice_along(name, operand, start_index, slice_size, axis, allow_negative_indices)


def _slice_along(
    name: str, operand: Any, start: Any, slice_size: int, axis: int, allow: bool
) -> Any:
    sizes = list(operand_aval(name, operand).shape)
    place = canonical_axis(name, axis, len(sizes))
    symbolic = is_symbolic(slice_size)
    size = slice_size if symbolic else whole_number(name, "slice_size", slice_size)
    if not 0 <= size <= sizes[place]:
        raise ShapeError(
            f"{name} got slice_size={size} for axis {place} of size {sizes[place]}: it is from 0 "
            "to the axis's"
        )
    sizes[place] = size
    return dynamic_slice(
        operand,
        _start_along(name, operand, place, start),
        sizes,
        allow_negative_indices=_allowed_along(operand, place, allow),
    )


def dynamic_index_in_dim(
    operand: ArrayLike,
    index: Any,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """Return the part of an array at a traced position of an axis, clamped to lie in it.

    Args:
      operand: an array.
      index: a scalar integer.
      axis: the axis.
      keepdims: whether the axis stays, with size 1.
      allow_negative_indices: whether a negative position counts from the end.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.dynamic_index_in_dim(jnp.array([[1, 2], [3, 4]]), 1, keepdims=False).tolist()
    [3, 4]
    """
    part = _slice_along("dynamic_index_in_dim", operand, index, 1, axis, allow_negative_indices)
    return part if keepdims else squeeze(part, (axis,))


def dynamic_update_slice_in_dim(
    operand: Any,
    update: Any,
    start_index: Any,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """Replace positions of one axis from a traced position on; see ``dynamic_update_slice``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.dynamic_update_slice_in_dim(jnp.zeros((2, 3)), jnp.ones((2, 1)), 2, axis=1).tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    """
    name = "dynamic_update_slice_in_dim"
    return _update_along(name, operand, update, start_index, axis, allow_negative_indices)


def _update_along(name: str, operand: Any, update: Any, start: Any, axis: int, allow: bool) -> Any:
    aval = operand_aval(name, operand)
    _check_update(name, aval, operand_aval(name, update))
    place = canonical_axis(name, axis, aval.ndim)
    return dynamic_update_slice(
        operand,
        update,
        _start_along(name, operand, place, start),
        allow_negative_indices=_allowed_along(operand, place, allow),
    )


def dynamic_update_index_in_dim(
    operand: ArrayLike,
    update: Any,
    index: Any,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """Replace the part of an array at a traced position of an axis, clamped to lie in it.

    Args:
      operand: an array.
      update: what to write there, with or without the axis.
      index: a scalar integer.
      axis: the axis.
      allow_negative_indices: whether a negative position counts from the end.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.dynamic_update_index_in_dim(jnp.zeros((2, 2)), jnp.array([5.0, 6.0]), 1, 0).tolist()
    [[0.0, 0.0], [5.0, 6.0]]
    """
    name = "dynamic_update_index_in_dim"
    place = canonical_axis(name, axis, rank_of(operand))
    if operand_aval(name, update).ndim == rank_of(operand) - 1:
        update = expand_dims(update, (place,))
    return _update_along(name, operand, update, index, place, allow_negative_indices)


def index_take(src: ArrayLike, idxs: Sequence[Any], axes: Sequence[int]) -> Any:
    """Return the parts of an array at vectors of positions along several axes together.

    Args:
      src: an array.
      idxs: one vector of integers per axis in ``axes``, all of one length.
      axes: the indexed axes; the result has the others, after the vectors' axis.

    Negative positions count from the end; positions out of bounds count on from the other end.

    >>> from jxkernel import lax, numpy as jnp
    >>> x = jnp.array([[1, 2], [3, 4], [5, 6]])
    >>> lax.index_take(x, (jnp.array([0, 2]), jnp.array([1, 0])), (0, 1)).tolist()
    [2, 5]
    """
    rank = rank_of(src)
    places = [canonical_axis("index_take", axis, rank) for axis in axes]
    shape = shape_of(src)
    columns = [
        expand_dims(_counted_from_front_each(idx, shape[axis]), (1,))
        for idx, axis in zip(idxs, places, strict=True)
    ]
    sizes = [1 if axis in places else size for axis, size in enumerate(shape)]
    numbers = GatherDimensionNumbers(
        tuple(range(1, rank - len(places) + 1)), tuple(sorted(places)), tuple(places)
    )
    return gather(src, concatenate(columns, 1), numbers, sizes, mode="clip")


def _counted_from_front_each(idx: Any, size: int) -> Any:
    if dtypes.itemsize_bits(abstractify(idx).dtype) < 32:
        idx = convert_element_type(idx, np.int32)
    left = rem(idx, size)
    return select_n(lt(left, 0), left, add(left, size))
