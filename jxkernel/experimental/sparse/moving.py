"""Operations that move stored elements, or add some of them up, and compute nothing else."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from jxkernel import numpy as jnp
from jxkernel.core.jaxpr import Value
from jxkernel.dtypes import DTypeLike
from jxkernel.experimental.sparse.formats import BCOO, flags_of, made
from jxkernel.experimental.sparse.storing import (
    bcoo_update_layout,
    columns,
    least_stored,
    over_batches,
    over_last_batch,
)
from jxkernel.primitives.arguments import canonical_axes, canonical_axis
from jxkernel.primitives.indexing.gather import GatherScatterMode
from jxkernel.transforms.composed import Composed

__all__ = [
    "bcoo_broadcast_in_dim",
    "bcoo_concatenate",
    "bcoo_dynamic_slice",
    "bcoo_gather",
    "bcoo_reduce_sum",
    "bcoo_reshape",
    "bcoo_rev",
    "bcoo_slice",
    "bcoo_squeeze",
    "bcoo_transpose",
    "bcoo_transpose_p",
]


def _transpose(data: Value, indices: Value, *, permutation: tuple[int, ...]) -> tuple[Any, Any]:
    batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    sparse, order = batch + n_sparse, permutation
    within = [axis - batch for axis in order[batch:sparse]]
    moved = indices[..., np.array(within, int)] if within else indices
    return (
        data.transpose(*order[:batch], batch, *[a - sparse + batch + 1 for a in order[sparse:]]),
        moved.transpose(*order[:batch], batch, batch + 1),
    )


bcoo_transpose_p = Composed("bcoo_transpose", _transpose, multiple_results=True)


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """Return the sparse array with its axes in another order.

    Args:
      mat: the sparse array.
      permutation: the axes in their new order; batch axes stay first and dense axes last.

    Raises:
      NotImplementedError: axes of different kinds change places.
      ValueError: there is no such axis, or one is named twice.
    """
    order = canonical_axes("bcoo_transpose", permutation, mat.ndim)
    batch, sparse = mat.n_batch, mat.n_batch + mat.n_sparse
    ends = [(0, batch), (batch, sparse), (sparse, mat.ndim)]
    if sorted(order) != list(range(mat.ndim)) or any(
        sorted(order[low:high]) != list(range(low, high)) for low, high in ends
    ):
        raise NotImplementedError(
            f"permutation {tuple(permutation)} of {mat} mixes batch, sparse and dense axes: "
            "update_layout(n_batch=0, n_dense=0) makes all of them sparse"
        )
    within = [axis - batch for axis in order[batch:sparse]]
    data, indices = bcoo_transpose_p.bind(mat.data, mat.indices, permutation=tuple(order))
    sizes = [mat.shape[axis] for axis in order[batch:]]
    kept = mat.indices_sorted and within == sorted(within)
    return made(data, indices, tuple(sizes), kept, mat.unique_indices)


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """Return the sparse array of sums over some axes.

    Args:
      mat: the sparse array.
      axes: the axes; those that remain keep their kinds.

    Raises:
      ValueError: there is no such axis, or one is named twice.
    """
    gone = sorted(canonical_axes("bcoo_reduce_sum", axes, mat.ndim))
    batch, sparse = mat.n_batch, mat.n_batch + mat.n_sparse
    data, indices = mat.data, mat.indices
    dense = tuple(axis - mat.n_sparse + 1 for axis in gone if axis >= sparse)
    data = jnp.sum(data, dense) if dense else data
    kept = [axis for axis in range(mat.n_sparse) if axis + batch not in gone]
    if len(kept) < mat.n_sparse:
        # An element that lay beyond the end of a summed axis belongs to no place at all.
        bounds = np.asarray(mat.parts()[1], indices.dtype)
        within = jnp.all(indices < bounds, -1)
        data = jnp.where(within.reshape(*within.shape, *[1] * (data.ndim - within.ndim)), data, 0)
        indices = indices[..., np.array(kept, int)]
    for axis in reversed([axis for axis in gone if axis < batch]):
        data, indices = _merge_batch(data, axis, batch), _merge_batch(indices, axis, batch)
        batch -= 1
    sizes = [n for axis, n in enumerate(mat.shape) if axis >= mat.n_batch and axis not in gone]
    return made(data, indices, tuple(sizes))


def _merge_batch(x: Any, axis: int, position: int) -> Any:
    """Put what a batch axis holds one after the other along the axis of stored elements."""
    moved = jnp.moveaxis(x, axis, position - 1)
    shape = moved.shape
    joined = shape[position - 1] * shape[position]
    return moved.reshape(*shape[: position - 1], joined, *shape[position + 1 :])


def sparse_sum(
    mat: BCOO,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
) -> Any:
    """Return sums over axes: an array where all are summed over, else a sparse one.

    Raises:
      ValueError: there is no such axis, or one is named twice.
    """
    one = isinstance(axis, int | np.integer)
    axes = range(mat.ndim) if axis is None else (axis,) if one else axis
    gone = canonical_axes("sum", axes, mat.ndim)
    of = mat.astype(jnp.sum(jnp.zeros(0, mat.dtype), dtype=dtype).dtype)
    summed = bcoo_reduce_sum(of, axes=gone)
    sizes = tuple([1 if at in gone else size for at, size in enumerate(mat.shape)])
    if not summed.shape:
        total = jnp.sum(summed.data, dtype=of.dtype)
        return total.reshape(sizes) if keepdims else total
    return bcoo_reshape(summed, new_sizes=sizes) if keepdims else summed


def _all_sparse(mat: BCOO) -> BCOO:
    return bcoo_update_layout(mat, n_batch=0, n_dense=0)


def bcoo_reshape(
    mat: BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None
) -> BCOO:
    """Return the sparse array in another shape.

    Args:
      mat: the sparse array; its batch axes stay such where they stay at all, its dense axes
        become sparse.
      new_sizes: the new shape.
      dimensions: the order in which axes are read; their own where not given.

    Raises:
      ValueError: the sizes do not fit.
    """
    new = tuple(map(int, new_sizes))
    if dimensions is not None and list(dimensions) != list(range(mat.ndim)):
        mat = bcoo_transpose(_all_sparse(mat), permutation=dimensions)
    if int(np.prod(new)) != mat.size:
        raise ValueError(f"a sparse array of shape {mat.shape} cannot have shape {new}")
    batch = mat.n_batch
    if new[:batch] != mat.shape[:batch] or batch > len(new):
        batch = 0
    mat = bcoo_update_layout(mat, n_batch=batch, n_dense=0)
    return over_last_batch(partial(_reshaped, sizes=new[batch:]), mat)


def _reshaped(mat: BCOO, sizes: tuple[int, ...]) -> BCOO:
    old = mat.parts()[1]
    bounds = np.asarray(old, mat.indices.dtype)
    within = jnp.all(mat.indices < bounds, -1, keepdims=True)
    number = jnp.zeros(mat.nse, mat.indices.dtype)
    for size, index in zip(old, columns(mat.indices), strict=True):
        number = number * size + index
    found = []
    for size in reversed(sizes):
        found.append(number % max(size, 1))
        number = number // max(size, 1)
    indices = jnp.stack(found[::-1], -1) if found else mat.indices[:, :0]
    indices = jnp.where(within, indices, np.asarray(sizes, mat.indices.dtype))
    data = mat.data if sizes else jnp.where(within[:, 0], mat.data, 0)
    return made(data, indices.astype(mat.indices.dtype), sizes, **flags_of(mat))


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """Return the sparse array without some axes of size 1.

    Raises:
      ValueError: one of them is of another size, is not there, or is named twice.
    """
    gone = canonical_axes("bcoo_squeeze", dimensions, arr.ndim)
    if any(arr.shape[axis] != 1 for axis in gone):
        raise ValueError(f"axes {tuple(dimensions)} of shape {arr.shape} are not all of size 1")
    return bcoo_reduce_sum(arr, axes=gone)


def bcoo_broadcast_in_dim(
    mat: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int]
) -> BCOO:
    """Return the sparse array with new axes, along which it repeats.

    Args:
      mat: the sparse array; all its axes become sparse.
      shape: the new shape.
      broadcast_dimensions: which axis of the result each axis becomes.
    """
    flat = _all_sparse(mat)
    indices, data = flat.indices, flat.data
    parts: list[Any] = [None] * len(shape)
    for axis, index in zip(broadcast_dimensions, columns(indices), strict=True):
        parts[axis] = index
    for axis, size in enumerate(shape):
        source = list(broadcast_dimensions).index(axis) if axis in broadcast_dimensions else None
        old = None if source is None else mat.shape[source]
        if old == size:
            continue
        count, kept = len(data), parts[axis]
        parts = [None if part is None else jnp.repeat(part, size) for part in parts]
        data = jnp.repeat(data, size)
        number = jnp.tile(jnp.arange(size, dtype=indices.dtype), count)
        beyond = None if kept is None else jnp.repeat(kept, size) >= 1
        parts[axis] = number if beyond is None else jnp.where(beyond, size, number)
    found = jnp.stack(parts, -1) if parts else indices
    return made(data, found.astype(indices.dtype), tuple(map(int, shape)))


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Return sparse arrays joined along an axis, all of whose axes become sparse.

    Raises:
      ValueError: there are none, there is no such axis, or their shapes differ along another.
    """
    if not operands:
        raise ValueError("bcoo_concatenate needs sparse arrays to join")
    axis = canonical_axis("bcoo_concatenate", dimension, operands[0].ndim)
    others = {tuple(n for a, n in enumerate(mat.shape) if a != axis) for mat in operands}
    if len(others) > 1:
        shapes = ", ".join(str(mat.shape) for mat in operands)
        raise ValueError(f"shapes {shapes} differ along another axis than {axis}")
    dtype = jnp.result_type(*[mat.dtype for mat in operands])
    parts, start = [], 0
    total = sum(mat.shape[axis] for mat in operands)
    for mat in map(_all_sparse, operands):
        along = mat.indices[:, axis]
        moved = jnp.where(along < mat.shape[axis], along + start, total)
        parts.append((mat.data.astype(dtype), mat.indices.at[:, axis].set(moved)))
        start += mat.shape[axis]
    shape = list(operands[0].shape)
    shape[axis] = total
    data, indices = (jnp.concatenate(part) for part in zip(*parts, strict=True))
    return made(data, indices, tuple(shape))


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """Return the sparse array turned round along some axes, which become sparse.

    Raises:
      ValueError: there is no such axis, or one is named twice.
    """
    flat = _all_sparse(operand)
    indices = flat.indices
    for axis in canonical_axes("bcoo_rev", dimensions, operand.ndim):
        along, size = indices[:, axis], operand.shape[axis]
        indices = indices.at[:, axis].set(jnp.where(along < size, size - 1 - along, size))
    return made(flat.data, indices, operand.shape, False, flat.unique_indices)


def bcoo_slice(
    mat: BCOO,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> BCOO:
    """Return a part of a sparse array.

    Args:
      mat: the sparse array.
      start_indices: where the part begins along each axis.
      limit_indices: where it ends.
      strides: the steps; 1 where not given.
    """
    steps = tuple(strides or (1,) * mat.ndim)
    places = [slice(*part) for part in zip(start_indices, limit_indices, steps, strict=True)]
    batch, dense = mat.n_batch, mat.n_batch + mat.n_sparse
    data = mat.data[(*places[:batch], slice(None), *places[dense:])]
    indices = mat.indices[tuple(places[:batch])]
    sizes = tuple(len(range(size)[place]) for size, place in zip(mat.shape, places, strict=True))
    inner = slice(batch, dense)
    cut = _cut(indices, start_indices[inner], sizes[inner], steps[inner], mat.shape[inner])
    found = made(data, cut, sizes[batch:], mat.indices_sorted, mat.unique_indices)
    return least_stored(found)


def _cut(indices: Any, starts: Any, sizes: Any, steps: Any, old: Any) -> Any:
    """Return where indices lie in a part; beyond its end for those outside."""
    kind = indices.dtype
    starts, steps = jnp.asarray(starts, kind), np.asarray(steps, kind)
    bounds, old = np.asarray(sizes, kind), np.asarray(old, kind)
    moved = (indices - starts) // steps
    hit = (indices >= starts) & ((indices - starts) % steps == 0) & (moved < bounds)
    inside = jnp.all(hit & (indices < old), -1, keepdims=True)
    return jnp.where(inside, moved, bounds)


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """Return a part of a sparse array whose place may be traced.

    Args:
      mat: the sparse array; all its axes become sparse.
      start_indices: where the part begins along each axis; it stays within the array.
      slice_sizes: its shape.
    """
    flat = _all_sparse(mat)
    starts = [
        jnp.clip(jnp.where(jnp.asarray(start) < 0, start + size, start), 0, size - part)
        for start, size, part in zip(start_indices, mat.shape, slice_sizes, strict=True)
    ]
    sizes = tuple(map(int, slice_sizes))
    steps = (1,) * len(sizes)
    cut = _cut(flat.indices, jnp.stack(starts), sizes, steps, mat.shape)
    return least_stored(made(flat.data, cut, sizes, False, flat.unique_indices))


def bcoo_gather(
    operand: BCOO,
    start_indices: Any,
    dimension_numbers: Any,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> BCOO:
    """Return parts of a sparse array, as ``lax.gather`` does of an array.

    Args:
      operand: the sparse array; all its axes become sparse.
      start_indices: where each part begins, of shape (batch, axes that vary).
      dimension_numbers: a ``lax.GatherDimensionNumbers`` that puts the axes of parts last.
      slice_sizes: the shape of a part.
      unique_indices: accepted; nothing is faster for it.
      indices_are_sorted: accepted likewise.
      mode: None, ``"clip"`` or ``"promise_in_bounds"``: each part is moved so that it lies within.
      fill_value: not supported.

    Raises:
      NotImplementedError: parts outside are to be filled, batch axes are shared, or the axes of
        parts are not the last ones.
    """
    numbers, starts = dimension_numbers, jnp.asarray(start_indices)
    batch, inner = starts.ndim - 1, len(numbers.offset_dims)
    moved = None if mode is None else GatherScatterMode.from_any(mode)
    if fill_value is not None or moved is GatherScatterMode.FILL_OR_DROP:
        raise NotImplementedError(
            "bcoo_gather fills nothing in, for what is filled in is stored: mode='clip' moves "
            "parts that lie outside"
        )
    if numbers.operand_batching_dims or tuple(numbers.offset_dims) != tuple(
        range(batch, batch + inner)
    ):
        raise NotImplementedError(
            f"bcoo_gather with {numbers}: batch axes are first and those of parts last; "
            "lax.gather of sparse.todense(x) takes any order"
        )

    def part(start: Any) -> BCOO:
        places: list[Any] = [0] * operand.ndim
        for axis, place in zip(numbers.start_index_map, start, strict=True):
            places[axis] = jnp.maximum(place, 0)
        found = bcoo_dynamic_slice(operand, places, slice_sizes)
        return bcoo_squeeze(found, dimensions=numbers.collapsed_slice_dims)

    return over_batches(part, batch)(starts)


def sparse_getitem(mat: BCOO, index: Any) -> BCOO:
    """Return what an index of integers, slices, None and ``...`` chooses.

    Raises:
      NotImplementedError: it has arrays.
      IndexError: it does not fit the array's axes.
    """
    parts = _full_index(mat, index)
    starts, limits, strides, turned, gone = [], [], [], [], []
    for axis, part in enumerate([part for part in parts if part is not None]):
        size = mat.shape[axis]
        if isinstance(part, slice):
            chosen = range(size)[part]
            if chosen.step < 0:
                turned.append(axis)
                chosen = chosen[::-1]
        else:
            chosen = range(size)[int(part) : int(part) + 1 or None]
            gone.append(axis)
            if not chosen:
                raise IndexError(f"index {part} is out of range for axis {axis} of size {size}")
        starts.append(chosen.start)
        limits.append(max(chosen.start, chosen.stop))
        strides.append(chosen.step)
    found = bcoo_slice(mat, start_indices=starts, limit_indices=limits, strides=strides)
    found = bcoo_rev(found, turned) if turned else found
    found = bcoo_squeeze(found, dimensions=gone) if gone else found
    return _with_new_axes(found, parts)


def _full_index(mat: BCOO, index: Any) -> list[Any]:
    parts = list(index) if isinstance(index, tuple) else [index]
    if any(not isinstance(part, (int, np.integer, slice, type(None), type(...))) for part in parts):
        raise NotImplementedError(
            "a sparse array is indexed by integers, slices, None and ...: x.todense()[index] "
            "takes arrays"
        )
    missing = mat.ndim - sum(part is not None and part is not ... for part in parts)
    if missing < 0 or sum(part is ... for part in parts) > 1:
        raise IndexError(f"index {index!r} has too many parts for {mat}")
    at = parts.index(...) if ... in parts else len(parts)
    return [*parts[:at], *[slice(None)] * missing, *parts[at + 1 :]]


def _with_new_axes(mat: BCOO, parts: list[Any]) -> BCOO:
    left = [part for part in parts if part is None or isinstance(part, slice)]
    if None not in left:
        return mat
    sizes = iter(mat.shape)
    shape = [1 if part is None else next(sizes) for part in left]
    old = [axis for axis, part in enumerate(left) if part is not None]
    return bcoo_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=old)
