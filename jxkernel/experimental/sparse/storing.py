"""Which elements are stored, and in which order: making sparse arrays, and dense ones of them."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from jxkernel import numpy as jnp
from jxkernel.api.vectorize import vmap
from jxkernel.core.jaxpr import Value
from jxkernel.core.trace import is_unknown
from jxkernel.experimental.sparse.formats import (
    BCOO,
    BCSR,
    SparseEfficiencyError,
    flags_of,
    made,
    made_rows,
    with_data,
)
from jxkernel.transforms.composed import Composed

__all__ = [
    "bcoo_extract",
    "bcoo_extract_p",
    "bcoo_fromdense",
    "bcoo_fromdense_p",
    "bcoo_sort_indices",
    "bcoo_sort_indices_p",
    "bcoo_sum_duplicates",
    "bcoo_sum_duplicates_p",
    "bcoo_todense",
    "bcoo_todense_p",
    "bcoo_update_layout",
    "over_batches",
    "places_of",
    "rows_of",
]


def over_batches(function: Callable[..., Any], n_batch: int) -> Callable[..., Any]:
    """Return a function of arrays as one of arrays with leading batch axes."""
    for _ in range(n_batch):
        function = vmap(function)
    return function


def columns(indices: Any) -> tuple[Any, ...]:
    """Return the indices along each sparse axis."""
    return tuple(indices[..., axis] for axis in range(indices.shape[-1]))


def within(indices: Any, sizes: Sequence[int]) -> Any:
    """Say of which elements all indices are less than the sizes of their axes.

    Each size is a number of the program: an array of all would be one more argument of it.
    """
    inside = jnp.ones(indices.shape[:-1], bool)
    for index, size in zip(columns(indices), sizes, strict=True):
        inside = inside & (index < size)
    return inside


def known_size(name: str, counts: Any) -> int:
    """Return the largest of some counts, which must be known.

    Raises:
      ValueError: they are traced.
    """
    if is_unknown(counts):
        raise ValueError(
            f"{name} must be told nse, how many elements to store, where the array is traced"
        )
    return int(np.max(np.asarray(counts), initial=0))


def _todense(data: Value, indices: Value, *, n_batch: int, sizes: tuple[int, ...]) -> Any:
    n_sparse = indices.shape[-1]

    def whole(data: Any, indices: Any) -> Any:
        if not n_sparse:
            return jnp.sum(data, 0)
        return jnp.zeros(sizes, data.dtype).at[columns(indices)].add(data, mode="drop")

    return over_batches(whole, n_batch)(data, indices)


bcoo_todense_p = Composed("bcoo_todense", _todense, linear=(0,))


def bcoo_todense(mat: BCOO) -> Any:
    """Return an array of all elements; those stored with one index are added up.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental import sparse
    >>> sparse.bcoo_todense(sparse.BCOO(([1, 2], [[0], [0]]), shape=(3,))).tolist()
    [3, 0, 0]
    """
    return bcoo_todense_p.bind(mat.data, mat.indices, n_batch=mat.n_batch, sizes=mat._sizes)


def _nonzero(x: Value, n_dense: int) -> Any:
    """Say at which places something is to be stored."""
    return jnp.any(x != 0, tuple(range(x.ndim - n_dense, x.ndim)))


def stored_count(x: Value, n_batch: int, n_dense: int) -> int:
    """Return how many elements must be stored, which must be known."""
    there = _nonzero(x, n_dense)
    return known_size("fromdense", jnp.sum(there, tuple(range(n_batch, there.ndim))))


def _fromdense(
    x: Value, *, nse: int, n_batch: int, n_dense: int, index_dtype: Any
) -> tuple[Any, Any]:
    nonzero = _nonzero(x, n_dense)
    sparse = nonzero.shape[n_batch:]

    def places(there: Any) -> Any:
        if not sparse:
            return jnp.zeros((nse, 0), index_dtype)
        found = jnp.nonzero(there, size=nse, fill_value=sparse)
        return jnp.stack(found, -1).astype(index_dtype)

    indices = over_batches(places, n_batch)(nonzero)
    return stored_once(indices, x, n_batch), indices


bcoo_fromdense_p = Composed("bcoo_fromdense", _fromdense, multiple_results=True)


def bcoo_fromdense(
    mat: Any,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: Any = np.int32,
) -> BCOO:
    """Return the sparse array that stores what is not zero.

    Args:
      mat: an array.
      nse: how many elements to store; as many as there are where not given.
      n_batch: how many leading axes are batch axes.
      n_dense: how many trailing axes are dense.
      index_dtype: the dtype of indices.

    Raises:
      ValueError: ``nse`` is not given while ``mat`` is traced, or there are not so many axes.

    Differentiable with respect to what is stored.
    """
    x = jnp.asarray(mat)
    if min(n_batch, n_dense, x.ndim - n_batch - n_dense) < 0:
        raise ValueError(
            f"an array of shape {x.shape} has not {n_batch} batch and {n_dense} dense axes"
        )
    if nse is None:
        nse = stored_count(x, n_batch, n_dense)
    data, indices = bcoo_fromdense_p.bind(
        x, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=np.dtype(index_dtype)
    )
    return made(data, indices, x.shape[n_batch:], indices_sorted=True, unique_indices=True)


def stored_at(indices: Any, array: Any, n_batch: int) -> Any:
    """Return the elements of an array at some places; 0 for those beyond the end."""

    def take(places: Any, x: Any) -> Any:
        nse, n_sparse = places.shape
        if not n_sparse:
            return jnp.broadcast_to(x, (nse, *x.shape))
        if 0 in x.shape[:n_sparse]:
            return jnp.zeros((nse, *x.shape[n_sparse:]), x.dtype)
        return x.at[columns(places)].get(mode="fill", fill_value=0)

    return over_batches(take, n_batch)(indices, array)


def stored_once(indices: Any, array: Any, n_batch: int) -> Any:
    """Return the elements of an array at places of which none is there twice.

    Without sparse axes there is one place, and no index lies beyond it: the first has the element.
    """
    found = stored_at(indices, array, n_batch)
    if indices.shape[-1]:
        return found
    first = jnp.arange(indices.shape[-2]) == 0
    return jnp.where(first.reshape(-1, *[1] * (found.ndim - n_batch - 1)), found, 0)


def _extract(indices: Value, x: Value, *, n_batch: int) -> Any:
    return stored_once(indices, x, n_batch)


bcoo_extract_p = Composed("bcoo_extract", _extract, linear=(1,))


def bcoo_extract(sparr: BCOO, arr: Any, *, assume_unique: bool | None = None) -> BCOO:
    """Return the elements of an array at the places that a sparse array stores.

    Args:
      sparr: the sparse array.
      arr: an array of its shape.
      assume_unique: whether no place is there twice; else one that is takes the element once.

    Raises:
      ValueError: the shapes differ.
    """
    x = jnp.asarray(arr)
    if x.shape != sparr.shape:
        raise ValueError(
            f"shapes differ: {sparr.shape} of the sparse array, {x.shape} of the array"
        )
    unique = sparr.unique_indices if assume_unique is None else assume_unique
    if not unique:
        sparr = bcoo_sum_duplicates(sparr, nse=sparr.nse)
    return with_data(sparr, bcoo_extract_p.bind(sparr.indices, x, n_batch=sparr.n_batch))


def _sort_indices(data: Value, indices: Value, *, n_batch: int) -> tuple[Any, Any]:
    def ordered(data: Any, indices: Any) -> Any:
        order = row_order(indices)
        return data[order], indices[order]

    return over_batches(ordered, n_batch)(data, indices)


bcoo_sort_indices_p = Composed("bcoo_sort_indices", _sort_indices, multiple_results=True)


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """Return the sparse array with its indices in order."""
    data, indices = bcoo_sort_indices_p.bind(mat.data, mat.indices, n_batch=mat.n_batch)
    return made(data, indices, mat._sizes, True, mat.unique_indices)


def row_order(indices: Any) -> Any:
    """Return the order in which rows of indices ascend."""
    if not indices.shape[-1]:
        return jnp.arange(indices.shape[0])
    return jnp.lexsort(columns(indices)[::-1])


def _grouped(indices: Value, bounds: Value) -> tuple[Any, Any, Any]:
    """Return the order of elements, the number of each one's group, and how many groups count."""
    within = jnp.all(indices < bounds, -1, keepdims=True)
    indices = jnp.where(within, indices, bounds)
    order = row_order(indices)
    rows = indices[order]
    new = jnp.any(rows[1:] != rows[:-1], -1)
    begins = jnp.concatenate([jnp.ones(min(1, len(rows)), bool), new])
    places = jnp.cumsum(begins) - 1
    return order, places, jnp.sum(begins & jnp.all(rows < bounds, -1))


def _sum_duplicates(
    data: Value, indices: Value, *, n_batch: int, sparse: tuple[int, ...], nse: int
) -> tuple[Any, Any]:
    bounds = np.asarray(sparse, indices.dtype)

    def summed(data: Any, indices: Any) -> tuple[Any, Any]:
        order, places, _ = _grouped(indices, bounds)
        rows = jnp.minimum(indices[order], bounds)
        zeros = jnp.zeros((nse, *data.shape[1:]), data.dtype)
        beyond = jnp.broadcast_to(bounds, (nse, len(bounds))).astype(indices.dtype)
        return (
            zeros.at[places].add(data[order], mode="drop"),
            beyond.at[places].set(rows, mode="drop"),
        )

    return over_batches(summed, n_batch)(data, indices)


bcoo_sum_duplicates_p = Composed("bcoo_sum_duplicates", _sum_duplicates, multiple_results=True)


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """Return the sparse array with elements of one index added up, and its indices in order.

    Args:
      mat: the sparse array.
      nse: how many elements to store; as many as there are places where not given.

    Raises:
      ValueError: ``nse`` is not given while the indices are traced.
    """
    _, sparse, _ = mat.parts()
    if nse is None:
        bounds = np.asarray(sparse, mat.indices.dtype)
        groups = over_batches(lambda indices: _grouped(indices, bounds)[2], mat.n_batch)
        nse = known_size("sum_duplicates", groups(mat.indices))
    data, indices = bcoo_sum_duplicates_p.bind(
        mat.data, mat.indices, n_batch=mat.n_batch, sparse=tuple(sparse), nse=int(nse)
    )
    return made(data, indices, mat._sizes, True, True)


# ---------------------------------------------------------------- batch, sparse and dense axes


def bcoo_update_layout(
    mat: BCOO,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> BCOO:
    """Return a sparse array with other numbers of batch and dense axes.

    Args:
      mat: the sparse array.
      n_batch: how many leading axes are to be batch axes; as many as now where not given.
      n_dense: how many trailing axes are to be dense.
      on_inefficient: ``"error"`` refuses what stores many more elements, anything else does it.

    Raises:
      SparseEfficiencyError: more axes are to be batch or dense ones, and that is refused.
      ValueError: there are not so many axes.
    """
    batch = mat.n_batch if n_batch is None else n_batch
    dense = mat.n_dense if n_dense is None else n_dense
    if min(batch, dense) < 0 or batch + dense > mat.ndim:
        raise ValueError(f"{mat} has not {batch} batch and {dense} dense axes")
    more = batch > mat.n_batch or dense > mat.n_dense
    if more and on_inefficient == "error":
        raise SparseEfficiencyError(
            f"{mat} with n_batch={batch} and n_dense={dense} stores many zeros: "
            "on_inefficient=None does it"
        )
    while mat.n_batch > batch:
        mat = _batch_to_sparse(mat)
    while mat.n_dense > dense:
        mat = over_last_batch(_dense_to_sparse, mat)
    while mat.n_dense < dense:
        mat = over_last_batch(_sparse_to_dense, mat)
    while mat.n_batch < batch:
        mat = over_last_batch(_sparse_to_batch, mat)
    return mat


def over_last_batch(change: Callable[[BCOO], BCOO], mat: BCOO) -> BCOO:
    """Apply a function of a sparse array without batch axes to one that has some."""
    return over_batches(change, mat.n_batch)(mat)


def _batch_to_sparse(mat: BCOO) -> BCOO:
    """Make the last batch axis sparse."""

    def join(one: BCOO) -> BCOO:
        size, nse, _ = one.indices.shape
        numbers = jnp.repeat(jnp.arange(size, dtype=one.indices.dtype), nse)
        indices = one.indices.reshape(size * nse, one.n_sparse)
        # An element beyond the end stays there: its other indices still say so.
        indices = jnp.concatenate([numbers[:, None], indices], 1)
        data = one.data.reshape(size * nse, *one.data.shape[2:])
        return made(data, indices, one.shape, **flags_of(one))

    return over_batches(join, mat.n_batch - 1)(mat)


def _dense_to_sparse(mat: BCOO) -> BCOO:
    """Make the first dense axis sparse."""
    nse, size = mat.data.shape[:2]
    numbers = jnp.tile(jnp.arange(size, dtype=mat.indices.dtype), nse)[:, None]
    indices = jnp.concatenate([jnp.repeat(mat.indices, size, 0), numbers], 1)
    data = mat.data.reshape(nse * size, *mat.data.shape[2:])
    return made(data, indices, mat._sizes, **flags_of(mat))


def _sparse_to_dense(mat: BCOO) -> BCOO:
    """Make the last sparse axis dense."""
    size = mat.parts()[1][-1]
    rows = jnp.arange(mat.nse)
    data = jnp.zeros((mat.nse, size, *mat.data.shape[1:]), mat.dtype)
    data = data.at[rows, mat.indices[:, -1]].set(mat.data, mode="drop")
    return made(data, mat.indices[:, :-1], mat._sizes, mat.indices_sorted, False)


def _sparse_to_batch(mat: BCOO) -> BCOO:
    """Make the first sparse axis a batch axis; elsewhere than in its batch nothing is stored."""
    size, *rest = mat.parts()[1]

    def batch(number: Any) -> BCOO:
        here = (mat.indices[:, 0] == number)[:, None]
        beyond = np.asarray(rest, mat.indices.dtype)
        indices = jnp.where(here, mat.indices[:, 1:], beyond)
        data = mat.data
        if not rest:
            data = jnp.where(here.reshape(-1, *[1] * mat.n_dense), data, 0)
        return made(data, indices, mat._sizes[1:])

    return vmap(batch)(jnp.arange(size))


# ---------------------------------------------------------------- rows


def rows_of(arr: BCOO) -> BCSR:
    """Return the sparse array, row by row, of one that keeps whole indices.

    Raises:
      ValueError: it has not two sparse axes.
    """
    if arr.n_sparse != 2:
        raise ValueError(f"a BCSR has two sparse axes, {arr} has {arr.n_sparse}")
    ordered = arr if arr.indices_sorted else bcoo_sort_indices(arr)
    rows = arr.parts()[1][0]

    def pointers(indices: Any) -> Any:
        return jnp.searchsorted(indices[:, 0], jnp.arange(rows + 1)).astype(indices.dtype)

    indptr = over_batches(pointers, arr.n_batch)(ordered.indices)
    columns_of = ordered.indices[..., 1]
    return made_rows(ordered.data, columns_of, indptr, arr._sizes, True, arr.unique_indices)


def places_of(mat: BCSR) -> BCOO:
    """Return the sparse array with whole indices of one that keeps them row by row."""
    rows, nse = mat._sizes[0], mat.nse

    def full(indices: Any, indptr: Any) -> Any:
        # An element's row is the count of rows that begin at it or before.  Elements after the last
        # row belong to none: theirs is beyond the end.
        begun = jnp.zeros(nse, indices.dtype).at[indptr].add(1, mode="drop")
        row = jnp.cumsum(begun, dtype=indices.dtype) - 1
        return jnp.stack([jnp.minimum(row, rows), indices], -1)

    indices = over_batches(full, mat.n_batch)(mat.indices, mat.indptr)
    return made(mat.data, indices, mat._sizes, mat.indices_sorted, mat.unique_indices)


def least_stored(mat: BCOO) -> BCOO:
    """Return the sparse array with no more elements stored than it has places."""
    most = prod(mat.parts()[1])
    return bcoo_sum_duplicates(mat, nse=most) if mat.nse > most else mat
