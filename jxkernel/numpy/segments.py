"""Reductions of segments: rows that share an id are combined, as a scatter into one row for each.

Public as ``jxkernel.ops.segment_sum`` and its kin.
"""

from functools import partial
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.errors import ShapeMismatchError
from jxkernel.numpy.creation import full
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import argument_aval, broadcast_to_shape, cast, check_known, dtype_of
from jxkernel.numpy.reductions import max as greatest
from jxkernel.numpy.reductions import min as least
from jxkernel.numpy.reductions import prod, sum
from jxkernel.primitives.arguments import whole_number
from jxkernel.primitives.indexing.concatenate import concatenate
from jxkernel.primitives.indexing.gather import ScatterDimensionNumbers, scatter_add
from jxkernel.primitives.indexing.gather_numbers import canonical_mode
from jxkernel.primitives.indexing.scatter import scatter_max, scatter_min, scatter_mul
from jxkernel.primitives.shape.reshape import expand_dims
from jxkernel.primitives.sharding.constraints import asked_sharding, with_out_sharding
from jxkernel.runtime import ArrayLike

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]

_SCATTERS: dict[str, Any] = {
    "segment_sum": scatter_add,
    "segment_prod": scatter_mul,
    "segment_max": scatter_max,
    "segment_min": scatter_min,
}
_REDUCTIONS: dict[str, Any] = {
    "segment_sum": sum,
    "segment_prod": prod,
    "segment_max": greatest,
    "segment_min": least,
}


def _identity(name: str, dtype: Any) -> Any:
    """Return what an empty segment gives."""
    if name in ("segment_sum", "segment_prod"):
        return dtype.type(name == "segment_prod")
    sign = -1 if name == "segment_max" else 1
    if dtype in dtypes.INEXACT:
        return dtype.type(sign * np.inf)
    if dtype in dtypes.BOOLEAN:
        return np.bool_(sign > 0)
    limits = dtypes.iinfo(dtype)
    return dtype.type(limits.max if sign > 0 else limits.min)


@fused(static=("name", "count", "is_sorted", "unique", "bucket", "mode"), name="segment_reduction")
def _reduced(
    data: Any,
    ids: Any,
    name: str,
    count: int,
    is_sorted: bool,
    unique: bool,
    bucket: int | None,
    mode: Any,
) -> Any:
    dtype, row, rank = dtype_of(data), np.shape(data)[1:], np.ndim(ids)
    data = broadcast_to_shape(cast(data, dtype), (*np.shape(ids), *row))
    ids, rows = expand_dims(ids, (rank,)), np.shape(data)[0] if rank else 0
    lead: tuple[int, ...] = ()
    if bucket is not None and rows:
        buckets = -(-rows // bucket)
        numbers = np.arange(rows, dtype=dtype_of(ids)) // bucket
        wide = np.broadcast_to(numbers.reshape(-1, *[1] * rank), np.shape(ids))
        ids, lead = concatenate([wide, ids], rank), (buckets,)
    kept = len(lead) + 1
    places = ScatterDimensionNumbers(
        tuple(range(rank, rank + len(row))), tuple(range(kept)), tuple(range(kept))
    )
    start = full((*lead, count, *row), _identity(name, dtype), dtype)
    found = _SCATTERS[name](
        start,
        ids,
        data,
        places,
        indices_are_sorted=is_sorted,
        unique_indices=unique,
        mode=mode,
    )
    return cast(_REDUCTIONS[name](found, axis=0), dtype) if lead else found


def _segments(
    name: str,
    data: Any,
    segment_ids: Any,
    num_segments: int | None,
    indices_are_sorted: bool,
    unique_indices: bool,
    bucket_size: int | None,
    mode: Any,
) -> Any:
    rows, ids = argument_aval(name, data), argument_aval(name, segment_ids, 1)
    if ids.dtype not in dtypes.INTEGRAL:
        raise TypeError(f"{name} takes integer segment_ids, got dtype {ids.dtype.name}")
    if rows.dtype in dtypes.BOOLEAN and name in ("segment_sum", "segment_prod"):
        raise TypeError(f"{name} does not accept dtype bool: convert data to an integer dtype")
    _check_shapes(name, rows.shape, ids.shape)
    if bucket_size is not None:
        bucket_size = whole_number(name, "bucket_size", bucket_size)
        if bucket_size < 1 or not ids.ndim:
            raise ValueError(
                f"{name} got bucket_size={bucket_size}: it is at least 1, for many ids"
            )
    if num_segments is None:
        count = _number_of_segments(name, segment_ids, ids)
    else:
        count = whole_number(name, "num_segments", num_segments)
    if count < 0:
        raise ValueError(f"{name} got num_segments={count}: it is not negative")
    how = None if mode is None else canonical_mode(name, mode)
    return _reduced(
        data,
        segment_ids,
        name,
        count,
        bool(indices_are_sorted),
        bool(unique_indices),
        bucket_size,
        how,
    )


def _check_shapes(name: str, data: tuple[int, ...], ids: tuple[int, ...]) -> None:
    """Check that there is a row for each id along the last axis of the ids, or one for all."""
    if not data or (ids and data[0] in (1, ids[-1])):
        return
    advice = ""
    if len(ids) > 1 and data[: len(ids)] == ids:
        advice = (
            f": for ids of rows by several axes write {name}(data.reshape(-1, ...), ids.ravel())"
        )
    raise ShapeMismatchError(
        name, [data, ids], f"segment_ids has an id for each row of data{advice}"
    )


def _number_of_segments(name: str, segment_ids: Any, ids: Any) -> int:
    instead = f"say how many segments there are: {name}(data, segment_ids, num_segments=n)"
    check_known(f"the number of segments of {name}", segment_ids, instead)
    if not ids.size:
        raise ValueError(f"{name} cannot tell the number of segments of no ids: give num_segments")
    return max(int(np.max(np.asarray(segment_ids))) + 1, 0)


def segment_sum(
    data: ArrayLike,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return the sums of the rows that share an id.

    Args:
      data: an array of shape (n, *row), of numbers; a number, or one row, stands for equal rows.
      segment_ids: integers of shape (n,): the segment that each row belongs to.  Of shape
        (..., n) they name several segments for each row.
      num_segments: how many segments there are; while traced it must be given, else it is the
        greatest id and 1.
      indices_are_sorted: a promise that the ids ascend.
      unique_indices: a promise that no id occurs twice.
      bucket_size: add up this many rows at a time first, and then their sums: more exact for
        many rows.
      mode: what becomes of rows whose id is no segment: they are dropped where it is None,
        ``"drop"`` or ``"fill"``; ``"clip"`` moves them to the nearest; see ``.at``.
      out_sharding: how the result is divided over explicit mesh axes.

    Returns:
      an array of shape (num_segments, *row), with 0 for an empty segment.

    Raises:
      TypeError: the ids are no integers, or data is boolean.
      ShapeMismatchError: the ids are not as many as the rows.
      ConcretizationTypeError: ``num_segments`` is needed.

    Linear in ``data``.

    >>> import jxkernel as jx
    >>> import jxkernel.numpy as jnp
    >>> jx.ops.segment_sum(jnp.array([1, 2, 3]), jnp.array([0, 0, 1]), num_segments=3)
    Array([3, 3, 0], dtype=int32)
    """
    how = (num_segments, indices_are_sorted, unique_indices, bucket_size, mode)
    return _divided("segment_sum", data, segment_ids, out_sharding, how)


def segment_prod(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return the products of the rows that share an id; 1 for an empty segment.

    Arguments and errors are those of ``segment_sum``.  Differentiable where no id occurs twice,
    which ``unique_indices`` promises.

    >>> import jxkernel as jx
    >>> import jxkernel.numpy as jnp
    >>> jx.ops.segment_prod(jnp.array([2, 3, 4]), jnp.array([0, 0, 1]), num_segments=3)
    Array([6, 4, 1], dtype=int32)
    """
    how = (num_segments, indices_are_sorted, unique_indices, bucket_size, mode)
    return _divided("segment_prod", data, segment_ids, out_sharding, how)


def segment_max(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return the greatest of the rows that share an id, element by element.

    Arguments and errors are those of ``segment_sum``.  An empty segment gives the least number
    of the dtype (-inf for floats).  Rows that are both greatest share the derivative equally.

    >>> import jxkernel as jx
    >>> import jxkernel.numpy as jnp
    >>> jx.ops.segment_max(jnp.array([2.0, 3.0, 4.0]), jnp.array([0, 0, 1]), num_segments=3)
    Array([  3.,   4., -inf], dtype=float32)
    """
    how = (num_segments, indices_are_sorted, unique_indices, bucket_size, mode)
    return _divided("segment_max", data, segment_ids, out_sharding, how)


def segment_min(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return the least of the rows that share an id, element by element.

    Arguments and errors are those of ``segment_sum``.  An empty segment gives the greatest
    number of the dtype (inf for floats).  Rows that are both least share the derivative equally.

    >>> import jxkernel as jx
    >>> import jxkernel.numpy as jnp
    >>> jx.ops.segment_min(jnp.array([2.0, 3.0, 4.0]), jnp.array([0, 0, 1]), num_segments=3)
    Array([ 2.,  4., inf], dtype=float32)
    """
    how = (num_segments, indices_are_sorted, unique_indices, bucket_size, mode)
    return _divided("segment_min", data, segment_ids, out_sharding, how)


def _divided(name: str, data: Any, ids: Any, out_sharding: Any, how: tuple[Any, ...]) -> Any:
    """Return a reduction of segments, its result divided as asked, if that is."""
    if out_sharding is None:
        return _segments(name, data, ids, *how)
    sharding = asked_sharding(name, out_sharding, (data, ids))
    return with_out_sharding(partial(_segments, name), (data, ids), sharding, *how)
