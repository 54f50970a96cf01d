"""Arithmetic of sparse arrays, and what must stay dense."""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from jxkernel import numpy as jnp
from jxkernel.experimental.sparse.formats import BCOO, JAXSparse, made, with_data
from jxkernel.experimental.sparse.moving import bcoo_broadcast_in_dim
from jxkernel.experimental.sparse.storing import (
    bcoo_todense,
    bcoo_update_layout,
    over_batches,
    stored_at,
)

__all__ = ["add", "bcoo_multiply_dense", "bcoo_multiply_sparse", "divide", "multiply", "power"]


def refuse_dense(name: str) -> NoReturn:
    """Raise: the result of an operation would not be sparse."""
    raise NotImplementedError(
        f"{name} of a sparse array would give an array without zeros: sparse.todense(x) first"
    )


def bcoo_multiply_dense(sp_mat: BCOO, v: Any) -> Any:
    """Return the stored elements of a sparse array times those of an array at their places.

    Args:
      sp_mat: the sparse array.
      v: an array that broadcasts to its shape.

    Returns:
      the data of the product, whose indices are the sparse array's.
    """
    x = jnp.asarray(v)
    if not x.ndim:
        return sp_mat.data * x
    if x.ndim > sp_mat.ndim or jnp.broadcast_shapes(x.shape, sp_mat.shape) != sp_mat.shape:
        raise NotImplementedError(
            f"{sp_mat} times an array of shape {x.shape} would have another shape: "
            "sparse.todense(x) first"
        )
    full = jnp.broadcast_to(x, sp_mat.shape)
    return sp_mat.data * stored_at(sp_mat.indices, full, sp_mat.n_batch)


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """Return the product, element by element, of sparse arrays of one shape.

    Every stored element meets every other, so ``nse`` is the product of theirs.

    Raises:
      ValueError: the shapes differ.
    """
    if lhs.shape != rhs.shape:
        raise ValueError(f"shapes differ: {lhs.shape} and {rhs.shape}")
    batch, dense = min(lhs.n_batch, rhs.n_batch), min(lhs.n_dense, rhs.n_dense)
    lhs = bcoo_update_layout(lhs, n_batch=batch, n_dense=dense)
    rhs = bcoo_update_layout(rhs, n_batch=batch, n_dense=dense)
    bounds = np.asarray(lhs.parts()[1], lhs.indices.dtype)

    def pairs(x: Any, xi: Any, y: Any, yi: Any) -> tuple[Any, Any]:
        same = jnp.all((xi[:, None] == yi[None]) & (xi[:, None] < bounds), -1)
        indices = jnp.where(same[..., None], xi[:, None], bounds)
        products = x[:, None] * y[None]
        products = jnp.where(same.reshape(*same.shape, *[1] * (x.ndim - 1)), products, 0)
        count = x.shape[0] * y.shape[0]
        return products.reshape(count, *x.shape[1:]), indices.reshape(count, -1)

    data, indices = over_batches(pairs, batch)(lhs.data, lhs.indices, rhs.data, rhs.indices)
    return made(data, indices, lhs._sizes)


def multiply(x: Any, y: Any) -> BCOO:
    """Return a product of which one factor or both are sparse."""
    if isinstance(x, JAXSparse) and isinstance(y, JAXSparse):
        return bcoo_multiply_sparse(x, y)  # type: ignore[arg-type]  # a BCOO is the one that comes
    mat, other = (x, y) if isinstance(x, BCOO) else (y, x)
    # What is found for a place that is stored more than once counts for each part of it.
    return with_data(mat, bcoo_multiply_dense(mat, other))


def divide(x: Any, y: Any) -> BCOO:
    """Return a quotient whose dividend is sparse."""
    if isinstance(y, JAXSparse):
        raise NotImplementedError(
            "dividing by a sparse array divides by zero: sparse.todense(x) first"
        )
    quotients = _quotients(x, jnp.asarray(y))
    return with_data(x, quotients)


def _quotients(x: BCOO, y: Any) -> Any:
    if not y.ndim:
        return x.data / y
    full = jnp.broadcast_to(y, x.shape)
    found = stored_at(x.indices, full, x.n_batch)
    # Beyond the end there is nothing to divide by, and nothing to divide.
    return jnp.where(x.data == 0, 0, x.data / jnp.where(x.data == 0, 1, found))


def power(x: BCOO, y: Any) -> BCOO:
    """Return a power with a positive number as exponent."""
    if isinstance(y, JAXSparse) or not isinstance(y, (int, float)) or y <= 0:
        refuse_dense(f"the power {y!r}")
    return on_data(lambda data: data**y, x)


def on_data(function: Callable[[Any], Any], x: BCOO) -> BCOO:
    """Apply a function that maps 0 to 0; elements of one index are added up before."""
    unique = x if x.unique_indices else x.sum_duplicates(nse=x.nse)
    return with_data(unique, function(unique.data))


def add(x: Any, y: Any) -> Any:
    """Return a sum: a sparse array of sparse ones, an array with one that is dense."""
    if isinstance(x, BCOO) and isinstance(y, BCOO):
        return _stored_together(x, y)
    mat, other = (x, y) if isinstance(x, BCOO) else (y, x)
    whole = jnp.asarray(other)
    if whole.shape != jnp.broadcast_shapes(whole.shape, mat.shape):
        refuse_dense("a sum with a number or a smaller array")
    return bcoo_todense(mat) + whole


def _stored_together(x: BCOO, y: BCOO) -> BCOO:
    if x.shape != y.shape:
        shape = jnp.broadcast_shapes(x.shape, y.shape)
        x, y = (_broadcast(one, shape) for one in (x, y))
    batch, dense = min(x.n_batch, y.n_batch), min(x.n_dense, y.n_dense)
    x = bcoo_update_layout(x, n_batch=batch, n_dense=dense)
    y = bcoo_update_layout(y, n_batch=batch, n_dense=dense)
    dtype = jnp.result_type(x.dtype, y.dtype)
    data = jnp.concatenate([x.data.astype(dtype), y.data.astype(dtype)], batch)
    indices = jnp.concatenate([x.indices, y.indices.astype(x.indices.dtype)], batch)
    return made(data, indices, x._sizes)


def _broadcast(mat: BCOO, shape: tuple[int, ...]) -> BCOO:
    if mat.shape == shape:
        return mat
    new = len(shape) - mat.ndim
    return bcoo_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=range(new, len(shape)))


def subtract(x: Any, y: Any) -> Any:
    """Return a difference, sparse where both are."""
    return add(x, negative(y))


def negative(x: Any) -> Any:
    """Return the negative of a sparse array, or of an array."""
    return with_data(x, -x.data) if isinstance(x, BCOO) else -jnp.asarray(x)
