"""Operations of sparse arrays that are kept row by row, which give such arrays again."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import numpy as jnp
from jxkernel.core.jaxpr import Value
from jxkernel.experimental.sparse.formats import BCSR, made, made_rows
from jxkernel.experimental.sparse.storing import (
    bcoo_fromdense,
    bcoo_todense,
    over_batches,
    places_of,
    rows_of,
    stored_at,
    stored_count,
)
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.transforms.composed import Composed

__all__ = [
    "bcsr_broadcast_in_dim",
    "bcsr_concatenate",
    "bcsr_extract",
    "bcsr_extract_p",
    "bcsr_fromdense",
    "bcsr_fromdense_p",
    "bcsr_todense",
    "bcsr_todense_p",
]


def _extract(indices: Value, indptr: Value, mat: Value) -> Any:
    batch = indices.ndim - 1
    # Where elements lie does not depend on what they are.
    rows = made_rows(indices, indices, indptr, mat.shape[batch:], False, False)
    return stored_at(places_of(rows).indices, mat, batch)


bcsr_extract_p = Composed("bcsr_extract", _extract, linear=(2,))


def _todense(data: Value, indices: Value, indptr: Value, *, sizes: tuple[int, ...]) -> Any:
    return bcoo_todense(places_of(made_rows(data, indices, indptr, sizes, False, False)))


bcsr_todense_p = Composed("bcsr_todense", _todense, linear=(0,))


def bcsr_todense(mat: BCSR) -> Any:
    """Return an array of all elements; those stored twice are added up."""
    return bcsr_todense_p.bind(mat.data, mat.indices, mat.indptr, sizes=mat._sizes)


def _fromdense(x: Value, **how: Any) -> tuple[Any, Any, Any]:
    mat = rows_of(bcoo_fromdense(x, **how))
    return mat.data, mat.indices, mat.indptr


bcsr_fromdense_p = Composed("bcsr_fromdense", _fromdense, multiple_results=True)


def bcsr_fromdense(
    mat: Value,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: Any = np.int32,
) -> BCSR:
    """Return the sparse array that stores, row by row, what is not zero: see ``bcoo_fromdense``."""
    x = jnp.asarray(mat)
    if nse is None:
        nse = stored_count(x, n_batch, n_dense)
    if x.ndim - n_batch - n_dense != 2:
        raise ValueError(
            f"a BCSR has two sparse axes, and an array of shape {x.shape} has not, with {n_batch} "
            f"batch and {n_dense} dense axes"
        )
    data, indices, indptr = bcsr_fromdense_p.bind(
        x, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=np.dtype(index_dtype)
    )
    return made_rows(data, indices, indptr, x.shape[n_batch:], True, True)


def bcsr_extract(indices: Value, indptr: Value, mat: Value) -> Any:
    """Return the elements of an array at the places that rows of a ``BCSR`` store.

    Args:
      indices: the columns, of shape (batch, nse).
      indptr: where each row begins among them, and where the last ends, of shape (batch, rows + 1).
      mat: an array of shape (batch, rows, columns, dense).

    Returns:
      an array of shape (batch, nse, dense); 0 after the end of the last row.

    Differentiable with respect to ``mat``.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental import sparse
    >>> mat = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> sparse.bcsr_extract(jnp.array([1, 0]), jnp.array([0, 1, 2]), mat).tolist()
    [2.0, 3.0]
    """
    return bcsr_extract_p.bind(jnp.asarray(indices), jnp.asarray(indptr), jnp.asarray(mat))


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Return sparse arrays joined along a batch axis, their rows, or their columns.

    Args:
      operands: sparse arrays of as many batch and dense axes, whose shapes differ along the axis
        alone.
      dimension: the axis.

    Raises:
      ValueError: there are none.
      TypeError: there is no such axis, or shapes or kinds of axes differ.
      NotImplementedError: the axis is dense.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental import sparse
    >>> row = sparse.BCSR.fromdense(jnp.array([[0.0, 3.0]]))
    >>> sparse.bcsr_concatenate([row, row], dimension=1).todense().tolist()
    [[0.0, 3.0, 0.0, 3.0]]
    """
    axis = _joined_axis(operands, dimension)
    batch = operands[0].n_batch
    if axis >= batch + 2:
        raise NotImplementedError("bcsr_concatenate joins no dense axes: sparse.todense(x) first")
    if axis < batch:
        return _stacked(operands, axis)
    return over_batches(lambda *mats: _joined(mats, axis - batch), batch)(*operands)


def _joined_axis(operands: Sequence[BCSR], dimension: int) -> int:
    if not operands:
        raise ValueError("bcsr_concatenate needs sparse arrays to join")
    first = operands[0]
    axis = dimension % first.ndim if -first.ndim <= dimension < first.ndim else None
    kinds = {(mat.n_batch, mat.n_dense) for mat in operands}
    others = {tuple(n for a, n in enumerate(mat.shape) if a != axis) for mat in operands}
    if axis is None or len(kinds) > 1 or len(others) > 1:
        raise TypeError(
            f"bcsr_concatenate along axis {dimension} got {', '.join(map(str, operands))}: they "
            "need that axis, as many batch and dense axes, and one shape but for that axis"
        )
    return axis


def _stacked(operands: Sequence[BCSR], axis: int) -> BCSR:
    """Join along a batch axis; who stores less is filled up after the end of the last row."""
    nse = max(mat.nse for mat in operands)
    batch = operands[0].n_batch

    def filled(array: Any) -> Any:
        widths = [(0, 0)] * array.ndim
        widths[batch] = (0, nse - array.shape[batch])
        return jnp.pad(array, widths)

    return made_rows(
        jnp.concatenate([filled(mat.data) for mat in operands], axis),
        jnp.concatenate([filled(mat.indices) for mat in operands], axis),
        jnp.concatenate([mat.indptr for mat in operands], axis),
        operands[0]._sizes,
        all(mat.indices_sorted for mat in operands),
        all(mat.unique_indices for mat in operands),
    )


def _joined(mats: Sequence[BCSR], axis: int) -> BCSR:
    """Join rows or columns of arrays without batch axes."""
    total = sum(mat._sizes[axis] for mat in mats)
    data, indices, start = [], [], 0
    for mat in mats:
        size, places = mat._sizes[axis], places_of(mat)
        along = places.indices[:, axis]
        # What lies beyond the end stays there.
        moved = jnp.where(along < size, along + start, total)
        data.append(places.data)
        indices.append(places.indices.at[:, axis].set(moved))
        start += size
    sizes = list(mats[0]._sizes)
    sizes[axis] = total
    unique = all(mat.unique_indices for mat in mats)
    joined = (jnp.concatenate(data), jnp.concatenate(indices))
    return rows_of(made(*joined, tuple(sizes), indices_sorted=False, unique_indices=unique))


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: None = None
) -> BCSR:
    """Return the sparse array with new batch axes, along which it repeats.

    Args:
      mat: the sparse array.
      shape: the new shape.
      broadcast_dimensions: which axis of the result each axis becomes; rows, columns and dense
        axes stay the last ones, and as long as they are.
      sharding: not supported.

    Raises:
      NotImplementedError: something else than batch axes is new, or repeats.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental import sparse
    >>> row = sparse.BCSR.fromdense(jnp.array([[0.0, 3.0]]))
    >>> sparse.bcsr_broadcast_in_dim(row, shape=(2, 1, 2), broadcast_dimensions=(1, 2)).n_batch
    1
    """
    inner = mat.ndim - mat.n_batch
    kept = tuple(range(len(shape) - inner, len(shape)))
    axes = tuple(map(int, broadcast_dimensions))
    same = tuple(shape)[len(shape) - inner :] == mat.shape[mat.n_batch :]
    if axes[mat.n_batch :] != kept or not same or sharding is not None:
        raise NotImplementedError(
            f"bcsr_broadcast_in_dim of {mat} to shape {tuple(shape)} along axes {axes} is not of "
            "batch axes alone: to_bcoo() first, and bcoo_broadcast_in_dim"
        )
    batch = tuple(shape)[: len(shape) - inner]

    def repeated(array: Any) -> Any:
        rest = array.shape[mat.n_batch :]
        places = (*axes[: mat.n_batch], *range(len(batch), len(batch) + len(rest)))
        return broadcast_in_dim(array, (*batch, *rest), places)

    data, indices, indptr = (repeated(array) for array in (mat.data, mat.indices, mat.indptr))
    return made_rows(data, indices, indptr, mat._sizes, mat.indices_sorted, mat.unique_indices)
