"""Matrices by their diagonals: ones, triangles, diagonals, traces, the positions of these."""

from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.dimensions import greater, is_symbolic, lesser
from jxkernel.core.trace import is_unknown
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.creation import asarray, canonical_shape, placed, user_dtype
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_to_shape,
    cast,
    dtype_of,
    refuse_out,
    scalar_of,
)
from jxkernel.numpy.reductions import any as any_of
from jxkernel.numpy.reductions import sum as total
from jxkernel.numpy.shapes import moveaxis, ravel, reshape
from jxkernel.numpy.taking import nonzero
from jxkernel.numpy.updating import IndexUpdater
from jxkernel.primitives.arguments import canonical_axes, whole_number
from jxkernel.primitives.creation import broadcasted_iota
from jxkernel.primitives.elementwise import arithmetic as ops
from jxkernel.primitives.elementwise.compare import eq, ge
from jxkernel.primitives.elementwise.exponential import pow as power_of
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.indexing.concatenate import concatenate as joined
from jxkernel.primitives.indexing.gather import GatherDimensionNumbers, gather
from jxkernel.primitives.indexing.slicing import pad
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.runtime import ArrayLike

__all__ = [
    "diag",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "eye",
    "fill_diagonal",
    "identity",
    "mask_indices",
    "trace",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "vander",
]

_INT32 = np.dtype(np.int32)


def _offset(name: str, argument: str, value: Any) -> Any:
    """Return which diagonal is meant: a whole number, or a traced one."""
    if not is_unknown(value):
        return whole_number(name, argument, value)
    aval = argument_aval(name, value)
    if aval.shape or aval.dtype not in dtypes.INTEGRAL:
        raise TypeError(f"{name} got {argument} of type {aval.short()}: it is a whole number")
    return cast(value, _INT32)


@fused(static=("rows", "columns", "offset", "dtype"))
def _diagonal_of_ones(rows: int, columns: int, offset: int, dtype: Any) -> Any:
    row = broadcasted_iota(np.int32, (rows, columns), 0)
    column = broadcasted_iota(np.int32, (rows, columns), 1)
    return cast(eq(ops.add(row, cast(offset, _INT32)), column), dtype)


def eye(
    N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = None, *, device: Any = None
) -> Any:
    """Return a matrix with ones on one diagonal and zeros elsewhere.

    Args:
      N: the number of rows.
      M: the number of columns; ``N`` where not given.
      k: which diagonal: positive ones lie above the main one; it may be traced.
      dtype: the default float dtype where not given.
      device: a device or a sharding to commit the result to.

    >>> jnp.eye(2, 3, k=1)
    Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    found = dtypes.default_float_dtype() if dtype is None else user_dtype(dtype, "eye")
    rows, columns = canonical_shape((N, N if M is None else M), "eye", "N")
    offset = _offset("eye", "k", k)
    make = _diagonal_of_ones.__wrapped__ if is_unknown(offset) else _diagonal_of_ones
    return placed("eye", make(rows, columns, offset, found), device)


def identity(n: int, dtype: DTypeLike = None) -> Any:
    """Return the identity matrix of ``n`` rows; the default float dtype where none is given.

    Args:
      n: the number of rows and columns.
      dtype: the dtype.

    >>> jnp.identity(2, jnp.int32)
    Array([[1, 0],
           [0, 1]], dtype=int32)
    """
    return eye(whole_number("identity", "n", n), dtype=dtype)


def _distance(rows: int, columns: int) -> Any:
    """Return, for each place of a matrix, how far right of the main diagonal it lies."""
    row = broadcasted_iota(_INT32, (rows, columns), 0)
    return ops.sub(broadcasted_iota(_INT32, (rows, columns), 1), row)


@fused(static=("rows", "columns", "k", "dtype"), name="tri")
def _tri(rows: int, columns: int, k: int, dtype: Any) -> Any:
    return cast(ge(cast(k, _INT32), _distance(rows, columns)), dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = None) -> Any:
    """Return a matrix with ones on and below a diagonal, zeros above.

    Args:
      N: the number of rows.
      M: the number of columns; ``N`` where not given.
      k: which diagonal: positive ones lie above the main one; it may be traced.
      dtype: the default float dtype where not given.

    >>> jnp.tri(2, 3, dtype=int)
    Array([[1, 0, 0],
           [1, 1, 0]], dtype=int32)
    """
    rows, columns = canonical_shape((N, N if M is None else M), "tri", "N")
    found = user_dtype(dtype, "tri") or dtypes.default_float_dtype()
    k = _offset("tri", "k", k)
    return (_tri.__wrapped__ if is_unknown(k) else _tri)(rows, columns, k, found)


@fused(static=("k", "lower"), name="tril")
def _triangle(m: Any, k: int, lower: bool) -> Any:
    aval = argument_aval("tril" if lower else "triu", m)
    shape = aval.shape
    if len(shape) < 2:
        raise ValueError(f"a triangle is of matrices, got shape {shape}")
    distance = _distance(*shape[-2:])
    keep = ge(np.int32(k), distance) if lower else ge(distance, np.int32(k))
    zero = 0 if aval.weak_type else scalar_of(aval.dtype, 0)
    return select(broadcast_to_shape(keep, shape), cast(m, aval.dtype, aval.weak_type), zero)


def tril(m: ArrayLike, k: int = 0) -> Any:
    """Return matrices with what lies above a diagonal set to 0.

    Args:
      m: an array of rank 2 or more; the last two axes are those of matrices.
      k: which diagonal: positive ones lie above the main one.

    Raises:
      ValueError: the rank is below 2.

    >>> jnp.tril(jnp.array([[1, 2], [3, 4]]))
    Array([[1, 0],
           [3, 4]], dtype=int32)
    """
    argument_aval("tril", m)
    return _triangle(m, whole_number("tril", "k", k), True)


def triu(m: Any, k: int = 0) -> Any:
    """Return matrices with what lies below a diagonal set to 0; see ``tril``.

    >>> jnp.triu(jnp.array([[1, 2], [3, 4]]))
    Array([[1, 2],
           [0, 4]], dtype=int32)
    """
    argument_aval("triu", m)
    return _triangle(m, whole_number("triu", "k", k), False)


# ---------------------------------------------------------------- diagonals


@fused(static=("offset", "axis1", "axis2"), name="diagonal")
def _diagonal(a: Any, offset: int, axis1: int, axis2: int) -> Any:
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    lead, (rows, columns) = np.shape(a)[:-2], np.shape(a)[-2:]
    first, second = max(-offset, 0), max(offset, 0)
    count: Any = greater(lesser(rows - first, columns - second), 0)
    if is_symbolic(count):
        place = broadcasted_iota(np.int32, (count, 1), 0)
        vectors = joined([ops.add(place, np.int32(first)), ops.add(place, np.int32(second))], 1)
    else:
        place = np.arange(count, dtype=np.int32)
        vectors = np.stack([place + first, place + second], -1)
    rank = len(lead)
    numbers = GatherDimensionNumbers(tuple(range(rank)), (rank, rank + 1), (rank, rank + 1))
    if count == 0:
        return broadcast_in_dim(scalar_of(dtype_of(a), 0), (*lead, 0), ())
    found = gather(a, vectors, numbers, (*lead, 1, 1), mode="promise_in_bounds")
    # Weak off the main diagonal alone, as in the table of weak results.
    return cast(found, dtype_of(a), argument_aval("diagonal", a).weak_type and offset != 0)


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return the diagonals of matrices, along a last axis.

    Args:
      a: an array of rank 2 or more.
      offset: which diagonal: positive ones lie above the main one.
      axis1: the axis of the rows.
      axis2: the axis of the columns.

    Raises:
      ValueError: the axes are the same or do not exist.

    >>> jnp.diagonal(jnp.array([[1, 2, 3], [4, 5, 6]]), offset=1)
    Array([2, 6], dtype=int32)
    """
    first, second = canonical_axes("diagonal", (axis1, axis2), argument_aval("diagonal", a).ndim)
    return _diagonal(a, whole_number("diagonal", "offset", offset), first, second)


@fused(static=("k",), name="diag")
def _matrix_of(v: Any, k: int) -> Any:
    """Spread a vector over the rows of a matrix, and keep what lies on the diagonal."""
    aval = argument_aval("diag", v)
    whole = aval.shape[0] + abs(k)
    zero = cast(scalar_of(aval.dtype, 0), aval.dtype, aval.weak_type)
    padded = pad(v, zero, ((max(-k, 0), max(k, 0), 0),))
    rows, columns = (broadcasted_iota(np.int32, (whole, whole), axis) for axis in (0, 1))
    spread = broadcast_in_dim(padded, (whole, whole), (0,))
    return select(eq(ops.add(rows, np.int32(k)), columns), spread, zero)


def diag(v: ArrayLike, k: int = 0) -> Any:
    """Return the matrix with a vector on a diagonal, or the diagonal of a matrix.

    Args:
      v: an array of rank 1 or 2.
      k: which diagonal: positive ones lie above the main one.

    Raises:
      ValueError: the rank is neither.

    >>> jnp.diag(jnp.array([1, 2]))
    Array([[1, 0],
           [0, 2]], dtype=int32)
    >>> jnp.diag(jnp.array([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int32)
    """
    aval = argument_aval("diag", v)
    if aval.ndim == 1:
        return _matrix_of(v, whole_number("diag", "k", k))
    if aval.ndim == 2:
        return diagonal(v, k)
    raise ValueError(f"diag takes a vector or a matrix, got shape {aval.shape}")


def diagflat(v: ArrayLike, k: int = 0) -> Any:
    """Return the matrix with the elements of an array on a diagonal.

    Args:
      v: an array, flattened.
      k: which diagonal: positive ones lie above the main one.

    >>> jnp.diagflat(jnp.array([7]), 1)
    Array([[0, 7],
           [0, 0]], dtype=int32)
    """
    argument_aval("diagflat", v)
    found = _matrix_of(ravel(v), whole_number("diagflat", "k", k))
    return cast(found, dtype_of(found))


def trace(
    a: ArrayLike,
    offset: Any = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike = None,
    out: None = None,
) -> Any:
    """Return the sum of the diagonal of matrices.

    Args:
      a: an array of rank 2 or more.
      offset: which diagonal: positive ones lie above the main one; it may be traced.
      axis1: the axis of the rows.
      axis2: the axis of the columns.
      dtype: the dtype to sum in; see ``sum``.  The sum of booleans is whether any is true.
      out: must be None.

    >>> jnp.trace(jnp.array([[1, 2], [3, 4]]))
    Array(5, dtype=int32)
    """
    if out is not None:
        refuse_out("trace", out)
    if dtype is not None:
        dtype = user_dtype(dtype, "trace", a)
    offset = _offset("trace", "offset", offset)
    return (_trace.__wrapped__ if is_unknown(offset) else _trace)(a, offset, axis1, axis2, dtype)


@fused(static=("offset", "axis1", "axis2", "dtype"), name="trace")
def _trace(a: Any, offset: int, axis1: int, axis2: int, dtype: Any) -> Any:
    rank = argument_aval("trace", a).ndim
    if rank < 2:
        raise ValueError(f"trace needs an array of rank 2 or more, got shape {np.shape(a)}")
    axes = canonical_axes("trace", (axis1, axis2), rank)
    if is_unknown(offset):
        elements = _on_diagonal(moveaxis(a, axes, (-2, -1)), offset)
    else:
        elements = diagonal(a, offset, *axes)
    if dtype in dtypes.BOOLEAN:
        return any_of(elements, -1)
    return total(elements if dtype is None else cast(elements, dtype), -1, dtype)


def _on_diagonal(a: Any, offset: Any) -> Any:
    """Return matrices as vectors, with 0 for what does not lie on a traced diagonal."""
    shape = np.shape(a)
    chosen = broadcast_to_shape(eq(_distance(*shape[-2:]), offset), shape)
    kept = select(chosen, a, scalar_of(dtype_of(a), 0))
    return reshape(kept, (*shape[:-2], shape[-2] * shape[-1]))


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """Return a copy of an array with its diagonal set.

    Args:
      a: an array of rank 2, or of higher rank with equal sizes.
      val: a number, or values that are repeated along the diagonal.
      wrap: whether the diagonal of a tall matrix begins again below the square.
      inplace: must be False: arrays do not change.

    Raises:
      ValueError: ``inplace`` is True, or the sizes differ.

    >>> jnp.fill_diagonal(jnp.zeros((2, 2), int), 5, inplace=False)
    Array([[5, 0],
           [0, 5]], dtype=int32)
    """
    if inplace:
        raise ValueError("arrays do not change: fill_diagonal(..., inplace=False) returns a copy")
    a = asarray(a)
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) > 1):
        raise ValueError(f"fill_diagonal needs rank 2, or equal sizes, got shape {a.shape}")
    # NumPy says which places the diagonal has.
    mask = np.zeros(a.shape, bool)
    np.fill_diagonal(mask, True, wrap=wrap)
    places = np.nonzero(mask)
    count = len(places[0])
    values = ravel(asarray(val, a.dtype))
    if values.size > 1:
        values = values[np.arange(count) % values.size]
    return IndexUpdater(a)[places].set(values)


# ---------------------------------------------------------------- positions


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """Return the positions of the main diagonal of an array with ``ndim`` axes of size ``n``.

    Raises:
      TypeError: ``n`` or ``ndim`` is no whole number.
      ValueError: ``n`` is negative, or ``ndim`` less than 1.

    >>> [part.tolist() for part in jnp.diag_indices(3)]
    [[0, 1, 2], [0, 1, 2]]
    """
    ndim = whole_number("diag_indices", "ndim", ndim)
    if ndim < 1:
        raise ValueError(f"diag_indices needs at least one axis, got ndim={ndim}")
    size = whole_number("diag_indices", "n", n)
    if size < 0:
        raise ValueError(f"diag_indices got n={size}: a size is not negative")
    return (asarray(np.arange(size)),) * ndim


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """Return the positions of the main diagonal of an array with equal sizes.

    Raises:
      ValueError: the rank is below 2, or sizes differ.

    >>> [part.tolist() for part in jnp.diag_indices_from(jnp.ones((2, 2)))]
    [[0, 1], [0, 1]]
    """
    sizes = np.shape(arr)
    if len(sizes) < 2 or len(set(sizes)) > 1:
        raise ValueError(f"diag_indices_from needs rank 2 and equal sizes, got shape {sizes}")
    return diag_indices(sizes[0], len(sizes))


def _indexed_sizes(name: str, n: Any, k: Any, m: Any) -> tuple[int, int, int]:
    rows = whole_number(name, "n", n)
    return rows, whole_number(name, "k", k), rows if m is None else whole_number(name, "m", m)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """Return the positions on and below diagonal ``k`` of a matrix of ``n`` rows, ``m`` columns.

    >>> [part.tolist() for part in jnp.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    rows, columns = np.tril_indices(*_indexed_sizes("tril_indices", n, k, m))
    return asarray(rows), asarray(columns)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """Return the positions on and above diagonal ``k`` of a matrix of ``n`` rows, ``m`` columns.

    >>> [part.tolist() for part in jnp.triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    rows, columns = np.triu_indices(*_indexed_sizes("triu_indices", n, k, m))
    return asarray(rows), asarray(columns)


def _matrix_shape(name: str, arr: Any) -> tuple[int, int]:
    sizes = np.shape(arr)
    if len(sizes) != 2:
        raise ValueError(f"{name} takes a matrix, got shape {sizes}")
    return sizes


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """Return the positions on and below diagonal ``k`` of a matrix.

    Raises:
      ValueError: the rank is not 2.

    >>> [part.tolist() for part in jnp.tril_indices_from(jnp.ones((2, 3)), k=-1)]
    [[1], [0]]
    """
    rows, columns = _matrix_shape("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """Return the positions on and above diagonal ``k`` of a matrix.

    Raises:
      ValueError: the rank is not 2.

    >>> [part.tolist() for part in jnp.triu_indices_from(jnp.ones((2, 3)), k=1)]
    [[0, 0, 1], [1, 2, 2]]
    """
    rows, columns = _matrix_shape("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def mask_indices(n: int, mask_func: Any, k: int = 0, *, size: int | None = None) -> tuple[Any, Any]:
    """Return the positions where a function of a matrix of ones is nonzero.

    Args:
      n: the number of rows and columns.
      mask_func: a function of a matrix and ``k``, such as ``triu``.
      k: what it is given.
      size: how many positions to return; needed while traced.

    >>> [part.tolist() for part in jnp.mask_indices(2, jnp.triu)]
    [[0, 0, 1], [0, 1, 1]]
    """
    n = whole_number("mask_indices", "n", n)
    rows, columns = nonzero(mask_func(_tri(n, n, n, _INT32), k), size=size)
    return rows, columns


@fused(static=("count", "increasing"), name="vander")
def _powers(x: Any, count: int, increasing: bool) -> Any:
    aval = argument_aval("vander", x)
    exponents = np.arange(count) if increasing else np.arange(count)[::-1]
    shape = (aval.shape[0], count)
    base = broadcast_in_dim(cast(x, aval.dtype), shape, (0,))
    if aval.dtype in dtypes.INEXACT:
        return power_of(base, broadcast_to_shape(exponents.astype(np.int32), shape))
    return base ** broadcast_to_shape(exponents.astype(aval.dtype), shape)


def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Any:
    """Return the matrix of powers of a vector's elements, a row for each.

    Args:
      x: a vector.
      N: the number of columns; that of the rows where not given.
      increasing: whether the power 0 comes first instead of last.

    Raises:
      ValueError: ``x`` is not of rank 1, or ``N`` is negative.

    >>> jnp.vander(jnp.array([2, 3]), 3)
    Array([[4, 2, 1],
           [9, 3, 1]], dtype=int32)
    """
    aval = argument_aval("vander", x)
    if aval.ndim != 1:
        raise ValueError(f"vander takes a vector, got shape {aval.shape}")
    count = aval.shape[0] if N is None else whole_number("vander", "N", N)
    if count < 0:
        raise ValueError(f"vander got N={count}: it is not negative")
    return _powers(x, count, increasing)
