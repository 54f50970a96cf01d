"""Products of sparse arrays that sum over axes: ``dot_general`` and what is made of it."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from jxkernel import numpy as jnp
from jxkernel.core.jaxpr import Value
from jxkernel.core.trace import is_unknown
from jxkernel.experimental.sparse.formats import BCOO, BCSR, made, made_rows
from jxkernel.experimental.sparse.storing import (
    bcoo_extract,
    bcoo_fromdense,
    bcoo_sum_duplicates,
    bcoo_update_layout,
    columns,
    least_stored,
    places_of,
    within,
)
from jxkernel.higher_order.references import staging
from jxkernel.primitives.conv.conv_numbers import padtype_to_pads
from jxkernel.transforms.composed import Composed

__all__ = [
    "bcoo_conv_general_dilated",
    "bcoo_dot_general",
    "bcoo_dot_general_p",
    "bcoo_dot_general_sampled",
    "bcoo_dot_general_sampled_p",
    "bcoo_spdot_general_p",
    "bcsr_dot_general",
    "bcsr_dot_general_p",
    "matmul",
]

Numbers = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]


def bcoo_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Numbers,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Return the product of two arrays, one or both sparse, summed over some axes.

    Args:
      lhs: the first factor.
      rhs: the second.
      dimension_numbers: ``((lhs_summed, rhs_summed), (lhs_batch, rhs_batch))``, as in
        ``lax.dot_general``.
      precision: accepted; elements are multiplied one by one.
      preferred_element_type: the dtype of the result; that of the product where not given.

    Returns:
      an array; a sparse one where both factors are sparse.
    """
    (lc, rc), (lb, rb) = dimension_numbers
    dtype = preferred_element_type or jnp.result_type(lhs.dtype, rhs.dtype)
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        return _sparse_sparse(lhs, rhs, _axes(lc, rc, lb, rb), dtype)
    if isinstance(lhs, BCOO):
        return _sparse_dense(lhs, jnp.asarray(rhs), _axes(lc, rc, lb, rb), dtype)
    out = _sparse_dense(rhs, jnp.asarray(lhs), _axes(rc, lc, rb, lb), dtype)
    batch, sparse = len(lb), rhs.ndim - len(rc) - len(rb)
    # The axes of the sparse factor came first.
    order = [*range(batch), *range(batch + sparse, out.ndim), *range(batch, batch + sparse)]
    return out.transpose(order)


def _free(ndim: int, *used: Sequence[int]) -> list[int]:
    taken = {int(axis) % ndim for axes in used for axis in axes}
    return [axis for axis in range(ndim) if axis not in taken]


def _axes(*groups: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    return tuple([tuple(map(int, axes)) for axes in groups])


def _sparse_dense(lhs: BCOO, rhs: Any, axes: tuple[tuple[int, ...], ...], dtype: Any) -> Any:
    return bcoo_dot_general_p.bind(
        *(lhs.data, lhs.indices, rhs),
        sizes=lhs._sizes,
        axes=axes,
        dtype=np.dtype(dtype),
        in_bounds=_known_in_bounds(lhs),
    )


def _known_in_bounds(mat: BCOO) -> bool:
    """Whether all places are known to be in bounds: those that a staged function closes over.

    Then nothing need be compared at each call.
    """
    if staging() is None or is_unknown(mat.indices) or mat.n_batch or mat.n_dense:
        return False
    places = np.asarray(mat.indices)
    return bool(np.all((places >= 0) & (places < np.array(mat.shape))))


def _met(
    data: Value,
    indices: Value,
    rhs: Value,
    *,
    sizes: tuple[int, ...],
    axes: Any,
    dtype: Any,
    in_bounds: bool = False,
) -> Any:
    """Add the product of each stored element and what it meets to the place where it belongs."""
    lc, rc, lb, rb = map(list, axes)
    lhs = bcoo_update_layout(made(data, indices, sizes), n_batch=0, n_dense=0)
    free, rhs_free = _free(lhs.ndim, lc, lb), _free(rhs.ndim, rc, rb)
    table, places = rhs.transpose(*rb, *rc, *rhs_free), columns(lhs.indices)
    if in_bounds:
        # Unsigned numbers are not compared with zero, to be counted from the end.
        places = tuple([place.astype(np.uint32) for place in places])
    # What lies beyond an axis meets zeros, or has no place among the sums: it counts for nothing.
    if lb or lc:
        meets = tuple([places[axis] for axis in lb + lc])
        met = table.at[meets].get(**(_KNOWN if in_bounds else _FILLED))
    else:
        met = jnp.broadcast_to(table, (lhs.nse, *table.shape))
    elements = lhs.data.astype(dtype)
    shape = [lhs.shape[a] for a in lb + free] + [rhs.shape[a] for a in rhs_free]
    if not lb + free:
        return jnp.tensordot(elements, met.astype(dtype), 1)
    products = elements.reshape(-1, *[1] * len(rhs_free)) * met.astype(dtype)
    kept = tuple([places[axis] for axis in lb + free])
    return jnp.zeros(shape, dtype).at[kept].add(products, **(_KNOWN if in_bounds else _DROPPED))


_KNOWN: dict[str, Any] = {"mode": "promise_in_bounds"}
_FILLED: dict[str, Any] = {"mode": "fill", "fill_value": 0}
_DROPPED: dict[str, Any] = {"mode": "drop"}

bcoo_dot_general_p = Composed("bcoo_dot_general", _met, linear=(0, 2))


def _sparse_sparse(lhs: BCOO, rhs: BCOO, axes: tuple[tuple[int, ...], ...], dtype: Any) -> BCOO:
    lhs = bcoo_update_layout(lhs, n_batch=0, n_dense=0)
    rhs = bcoo_update_layout(rhs, n_batch=0, n_dense=0)
    data, indices = bcoo_spdot_general_p.bind(
        *(lhs.data, lhs.indices, rhs.data, rhs.indices),
        shapes=(lhs.shape, rhs.shape),
        axes=axes,
        dtype=np.dtype(dtype),
    )
    lc, rc, lb, rb = axes
    free, rhs_free = _free(lhs.ndim, lc, lb), _free(rhs.ndim, rc, rb)
    shape = tuple([lhs.shape[a] for a in [*lb, *free]] + [rhs.shape[a] for a in rhs_free])
    product, most = made(data, indices, shape), prod(shape)
    return bcoo_sum_duplicates(product, nse=most) if lhs.nse * rhs.nse > most else product


def _all_met(
    x: Value, x_indices: Value, y: Value, y_indices: Value, *, shapes: Any, axes: Any, dtype: Any
) -> tuple[Any, Any]:
    """Let every stored element of one factor meet every one of the other."""
    lc, rc, lb, rb = map(list, axes)
    lhs, rhs = made(x, x_indices, shapes[0]), made(y, y_indices, shapes[1])
    free, rhs_free = _free(lhs.ndim, lc, lb), _free(rhs.ndim, rc, rb)
    xi, yi = lhs.indices[:, None], rhs.indices[None]
    same = within(xi, lhs.shape) & within(yi, rhs.shape)
    for a, b in [*zip(lb, rb, strict=True), *zip(lc, rc, strict=True)]:
        same = same & (xi[..., a] == yi[..., b])
    count = lhs.nse * rhs.nse
    shape = tuple([lhs.shape[a] for a in lb + free] + [rhs.shape[a] for a in rhs_free])
    sources = [xi[..., a] for a in lb + free] + [yi[..., a] for a in rhs_free]
    found = [jnp.broadcast_to(source, (lhs.nse, rhs.nse)).reshape(-1) for source in sources]
    hit = same.reshape(-1)
    indices = jnp.stack(found, -1) if found else jnp.zeros((count, 0), lhs.indices.dtype)
    indices = jnp.where(hit[:, None], indices, np.asarray(shape, lhs.indices.dtype))
    data = (lhs.data[:, None] * rhs.data[None]).reshape(-1).astype(dtype)
    return jnp.where(hit, data, 0), indices


bcoo_spdot_general_p = Composed("bcoo_spdot_general", _all_met, multiple_results=True)


def _rows_met(
    data: Value, indices: Value, indptr: Value, rhs: Value, *, sizes: Any, axes: Any, dtype: Any
) -> Any:
    mat = places_of(made_rows(data, indices, indptr, sizes, False, False))
    return _met(mat.data, mat.indices, rhs, sizes=sizes, axes=axes, dtype=dtype)


bcsr_dot_general_p = Composed("bcsr_dot_general", _rows_met, linear=(0, 3))


def bcsr_dot_general(lhs: Any, rhs: Any, *, dimension_numbers: Numbers, **how: Any) -> Any:
    """Return the product of arrays of which one is a ``BCSR``: see ``bcoo_dot_general``."""
    if isinstance(lhs, BCSR) and not isinstance(rhs, (BCOO, BCSR)):
        (lc, rc), (lb, rb) = dimension_numbers
        dtype = how.get("preferred_element_type") or jnp.result_type(lhs.dtype, rhs.dtype)
        return bcsr_dot_general_p.bind(
            *(lhs.data, lhs.indices, lhs.indptr, jnp.asarray(rhs)),
            sizes=lhs._sizes,
            axes=_axes(lc, rc, lb, rb),
            dtype=np.dtype(dtype),
        )
    factors = [one.to_bcoo() if isinstance(one, BCSR) else one for one in (lhs, rhs)]
    return bcoo_dot_general(*factors, dimension_numbers=dimension_numbers, **how)


def _sampled(a: Value, b: Value, indices: Value, *, axes: Any) -> Any:
    lc, rc, lb, rb = axes
    names = iter("abcdefghijklmnopqrstuvwxyz")
    left = [next(names) for _ in range(a.ndim)]
    right = [next(names) for _ in range(b.ndim)]
    for x, y in [*zip(lc, rc, strict=True), *zip(lb, rb, strict=True)]:
        right[y] = left[x]
    out = [left[x] for x in lb]
    out += [left[x] for x in _free(a.ndim, lc, lb)] + [right[y] for y in _free(b.ndim, rc, rb)]
    whole = jnp.einsum(f"{''.join(left)},{''.join(right)}->{''.join(out)}", a, b)
    places = made(jnp.zeros(indices.shape[:-1], whole.dtype), indices, whole.shape)
    return bcoo_extract(places, whole, assume_unique=True).data


bcoo_dot_general_sampled_p = Composed("bcoo_dot_general_sampled", _sampled, linear=(0, 1))


def bcoo_dot_general_sampled(A: Any, B: Any, indices: Any, *, dimension_numbers: Numbers) -> Any:
    """Return some elements of the product of two arrays.

    Args:
      A: the first factor.
      B: the second.
      indices: the places of the elements, of shape (..., nse, axes of the product).
      dimension_numbers: as in ``lax.dot_general``.
    """
    (lc, rc), (lb, rb) = dimension_numbers
    return bcoo_dot_general_sampled_p.bind(
        jnp.asarray(A), jnp.asarray(B), jnp.asarray(indices), axes=_axes(lc, rc, lb, rb)
    )


def bcoo_conv_general_dilated(
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> BCOO:
    """Return the convolution of sequences, one or both sparse: see ``lax.conv_general_dilated``.

    Every stored element of one meets every one of the other.

    Args:
      lhs: the sequence, of shape (1, 1, n).
      rhs: the kernel, of shape (1, 1, m).
      window_strides: (1,).
      padding: as for ``lax.conv_general_dilated``.
      lhs_dilation: 1.
      rhs_dilation: 1.
      dimension_numbers: not supported.
      feature_group_count: 1.
      batch_group_count: 1.
      precision: accepted; elements are multiplied one by one.
      preferred_element_type: the dtype of the result; that of the product where not given.
      out_sharding: not supported.

    Raises:
      NotImplementedError: there are more features, examples or axes, or strides or dilations.

    Differentiable with respect to stored elements.
    """
    ones = (None, 1, (1,), [1])
    plain = (window_strides, lhs_dilation, rhs_dilation, feature_group_count, batch_group_count)
    if (
        any(each not in ones for each in plain)
        or (dimension_numbers, out_sharding) != (None, None)
        or any(each.ndim != 3 or each.shape[:2] != (1, 1) for each in (lhs, rhs))
    ):
        raise NotImplementedError(
            f"bcoo_conv_general_dilated of shapes {lhs.shape} and {rhs.shape}: it convolves "
            "sequences of one feature, of shapes (1, 1, n) and (1, 1, m), by steps of 1; "
            "lax.conv_general_dilated of sparse.todense(x) does the rest"
        )
    (length,), (width,) = lhs.shape[2:], rhs.shape[2:]
    if isinstance(padding, str):
        padding = padtype_to_pads((length,), (width,), (1,), padding)
    [(low, high)] = padding
    size = max(length + low + high - width + 1, 0)
    x, y = (_sequence(each) for each in (lhs, rhs))
    at, back = x.indices[:, None, 0], y.indices[None, :, 0]
    places = at - back + low
    inside = (at < length) & (back < width) & (places >= 0) & (places < size)
    dtype = preferred_element_type or jnp.result_type(lhs.dtype, rhs.dtype)
    products = jnp.where(inside, x.data[:, None] * y.data[None], 0).astype(dtype)
    indices = jnp.where(inside, places, size).reshape(-1, 1)
    found = least_stored(made(products.reshape(-1), indices, (size,)))
    return made(found.data[None, None], found.indices[None, None], (size,))


def _sequence(x: Value) -> BCOO:
    """Return the one sequence of an array of shape (1, 1, n), all sparse."""
    if not isinstance(x, BCOO):
        x = bcoo_fromdense(jnp.asarray(x), nse=x.size)
    flat = bcoo_update_layout(x, n_batch=0, n_dense=0)
    beyond = jnp.any(flat.indices[:, :2] > 0, -1)
    places = jnp.where(beyond, x.shape[2], flat.indices[:, 2])
    return made(flat.data, places[:, None], x.shape[2:])


def matmul(x: Any, y: Any) -> Any:
    """Return ``x @ y``, where one or both are sparse.

    Raises:
      TypeError: one has no axes.
    """
    x, y = map(_factor, (x, y))
    if not x.ndim or not y.ndim:
        raise TypeError("matmul needs arrays with axes: x * y multiplies by a number")
    summed = ((x.ndim - 1,), (max(y.ndim - 2, 0),))
    if x.ndim <= 2 or y.ndim <= 2:
        out = bcsr_dot_general(x, y, dimension_numbers=(summed, ((), ())))
        return _vector_first(out, x, y)
    if x.shape[:-2] != y.shape[:-2]:
        raise NotImplementedError(
            f"leading axes of shapes {x.shape} and {y.shape} differ: sparse.todense(x) first"
        )
    batch = tuple(range(x.ndim - 2))
    return bcsr_dot_general(x, y, dimension_numbers=(summed, (batch, batch)))


def _factor(x: Any) -> Any:
    if isinstance(x, (BCOO, BCSR)):
        return x
    return x.to_bcoo() if hasattr(x, "to_bcoo") else jnp.asarray(x)


def _vector_first(out: Any, x: Any, y: Any) -> Any:
    """Put the axis of a matrix that multiplies a stack of matrices where ``matmul`` has it."""
    if x.ndim != 2 or y.ndim < 3:
        return out
    order = [*range(1, y.ndim - 1), 0, y.ndim - 1]
    return out.transpose(order)
