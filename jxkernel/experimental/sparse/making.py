"""Sparse arrays from nothing: empty ones, unit matrices, and random ones."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from jxkernel import numpy as jnp
from jxkernel import random
from jxkernel.experimental.sparse.formats import BCOO, BCSR, JAXSparse
from jxkernel.experimental.sparse.older import COO, CSC, CSR

__all__ = ["empty", "eye", "random_bcoo"]

_FORMATS: dict[str, Callable[[BCOO], Any]] = {
    "bcoo": lambda mat: mat,
    "bcsr": BCSR.from_bcoo,
    "coo": COO.from_bcoo,
    "csc": CSC.from_bcoo,
    "csr": CSR.from_bcoo,
}


def _as_format(mat: BCOO, sparse_format: str) -> Any:
    if sparse_format not in _FORMATS:
        raise ValueError(f"sparse_format is one of {', '.join(_FORMATS)}, got {sparse_format!r}")
    return _FORMATS[sparse_format](mat)


def empty(
    shape: Sequence[int],
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    *,
    n_batch: int = 0,
    n_dense: int = 0,
    nse: int = 0,
) -> JAXSparse:
    """Return a sparse array of zeros.

    Args:
      shape: its shape.
      dtype: its dtype; the default float where not given.
      index_dtype: the dtype of its indices.
      sparse_format: ``"bcoo"``, ``"bcsr"``, ``"coo"``, ``"csr"`` or ``"csc"``.
      n_batch: how many axes are batch axes.
      n_dense: how many axes are dense.
      nse: how many elements there is room for.
    """
    batch = tuple(shape[:n_batch])
    sparse = tuple(shape[n_batch : len(shape) - n_dense])
    dense = tuple(shape[len(shape) - n_dense :])
    indices = jnp.broadcast_to(np.array(sparse, index_dtype), (*batch, nse, len(sparse)))
    data = jnp.zeros((*batch, nse, *dense), dtype)
    mat = BCOO((data, indices), shape=shape, indices_sorted=True, unique_indices=True)
    return _as_format(mat, sparse_format)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    *,
    n_batch: int = 0,
    n_dense: int = 0,
) -> JAXSparse:
    """Return a sparse matrix with ones on a diagonal.

    Args:
      N: how many rows it has.
      M: how many columns; as many where not given.
      k: which diagonal: positive above the main one.
      dtype: its dtype; the default float where not given.
      index_dtype: the dtype of its indices.
      sparse_format: as for ``empty``.
      n_batch: how many axes are batch axes.
      n_dense: how many axes are dense.
    """
    columns = N if M is None else M
    rows = np.arange(max(0, -k), min(N, columns - k))
    indices = np.stack([rows, rows + k], -1).astype(index_dtype)
    ones = jnp.ones(len(rows), dtype)
    mat = BCOO((ones, indices), shape=(N, columns), indices_sorted=True, unique_indices=True)
    if n_batch or n_dense:
        mat = mat.update_layout(n_batch=n_batch, n_dense=n_dense, on_inefficient=None)
    return _as_format(mat, sparse_format)


def random_bcoo(
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = np.float64,
    indices_dtype: Any = None,
    nse: int | float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Any] = random.uniform,
    **kwds: Any,
) -> BCOO:
    """Return a sparse array with random elements at random places.

    Args:
      key: a random key.
      shape: its shape.
      dtype: its dtype.
      indices_dtype: the dtype of its indices; int32 where not given.
      nse: how many elements to store in each batch, or which part of them, below 1.
      n_batch: how many axes are batch axes.
      n_dense: how many axes are dense.
      unique_indices: whether no place is taken twice.
      sorted_indices: whether the indices are in order.
      generator: ``generator(key, shape=, dtype=)`` draws the elements.
      **kwds: further arguments of it.
    """
    batch = tuple(shape[:n_batch])
    sparse = tuple(shape[n_batch : len(shape) - n_dense])
    dense = tuple(shape[len(shape) - n_dense :])
    places = prod(sparse)
    count = int(np.ceil(nse * places)) if 0 < nse < 1 else int(nse)
    first, *each = random.split(key, 1 + prod(batch))
    keys = jnp.stack(each).reshape(batch) if each else random.split(key, batch)
    draw = _drawing(places, count, unique_indices)
    numbers = jnp.vectorize(draw, signature="()->(n)")(keys) if batch else draw(keys)
    indices = (
        jnp.stack(jnp.unravel_index(numbers, sparse), -1) if sparse else numbers[..., None][..., :0]
    )
    drawn = jnp.zeros(0, dtype).dtype
    data = generator(first, shape=(*batch, count, *dense), dtype=drawn, **kwds)
    made = BCOO(
        (data, indices.astype(indices_dtype or np.int32)),
        shape=shape,
        unique_indices=unique_indices,
    )
    return made.sort_indices() if sorted_indices else made


def _drawing(places: int, count: int, unique: bool) -> Callable[[Any], Any]:
    return lambda key: random.choice(key, places, (count,), replace=not unique)
