"""Sorting along an axis: by one or several keys, with or without values; the k greatest.

Keys are ordered as NumPy orders them: NaN last, -0 equal to 0, complex numbers by real, then
imaginary parts.  Derivatives move tangents as the elements moved.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._jaxlib import approx_top_k_size
from jxkernel.core.avals import ShapedArray, rank_of, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import Zero, is_linear
from jxkernel.errors import ShapeMismatchError
from jxkernel.primitives.arguments import canonical_axis, operand_aval, whole_number, whole_numbers
from jxkernel.primitives.creation import broadcasted_iota
from jxkernel.primitives.indexing.gather import take_along
from jxkernel.primitives.reduction.sort_lowering import lower_sort, lower_top_k
from jxkernel.primitives.reference import untyped_numpy
from jxkernel.primitives.shape.structural import front, weak_as_operands, zero_cotangents
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.primitives.sharding import rules
from jxkernel.runtime import ArrayLike

__all__ = [
    "sort",
    "sort_key_val",
    "sort_p",
    "top_k",
    "top_k_p",
]

_SEQUENCE: Any = (tuple, list)

# ---------------------------------------------------------------- sort

sort_p = Primitive("sort", multiple_results=True).define(
    sharding=rules.along("dimension", "it sorts along")
)


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sort an array along an axis, or several arrays by the first of them.

    Args:
      operand: an array, or a sequence of arrays of one shape.
      dimension: the axis; negative counts from the end.
      is_stable: whether elements with equal keys keep their order.
      num_keys: how many of the arrays are keys, the first the most significant.

    Returns:
      the sorted array; for a sequence, a tuple of arrays, all permuted alike.

    Raises:
      ValueError: there is no such axis, no array, or no such number of keys.
      ShapeMismatchError: the arrays' shapes differ.

    Tangents are permuted as their elements are.  StableHLO ``sort``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.sort(jnp.array([[3, 1, 2], [9, 7, 8]])).tolist()
    [[1, 2, 3], [7, 8, 9]]
    >>> [x.tolist() for x in lax.sort((jnp.array([2, 1, 2]), jnp.array([5, 6, 4])), num_keys=2)]
    [[1, 2, 2], [6, 4, 5]]
    """
    several = isinstance(operand, _SEQUENCE)
    operands = list(operand) if several else [operand]
    if not operands:
        raise ValueError("sort needs at least one array")
    place = canonical_axis("sort", dimension, rank_of(operands[0]), "dimension")
    out = sort_p.bind(
        *operands,
        dimension=place,
        is_stable=bool(is_stable),
        num_keys=whole_number("sort", "num_keys", num_keys),
    )
    return tuple(out) if several else out[0]


def sort_key_val(
    keys: Any, values: Any, dimension: int = -1, is_stable: bool = True
) -> tuple[Any, Any]:
    """Sort keys along an axis and permute values alike; see ``sort``.

    >>> from jxkernel import lax, numpy as jnp
    >>> keys, values = lax.sort_key_val(jnp.array([3, 1, 2]), jnp.array([30, 10, 20]))
    >>> keys.tolist(), values.tolist()
    ([1, 2, 3], [10, 20, 30])
    """
    ordered, moved = sort((keys, values), dimension, is_stable, 1)
    return ordered, moved


@sort_p.def_abstract_eval
def _sort_abstract_eval(
    *operands: ShapedArray, dimension: int, is_stable: bool, num_keys: int
) -> list[ShapedArray]:
    shape = operands[0].shape
    if any(aval.shape != shape for aval in operands):
        raise ShapeMismatchError("sort", [a.shape for a in operands], "all must be equal")
    if not 1 <= num_keys <= len(operands):
        raise ValueError(
            f"sort got num_keys={num_keys} for {len(operands)} arrays: at least one is a key, and "
            "all of them at most"
        )
    return list(operands)


@sort_p.def_lower
def _sort_lower(
    context: Any, *values: Any, dimension: int, is_stable: bool, num_keys: int
) -> list[Any]:
    return lower_sort(context, values, dimension, is_stable, num_keys)


def _reference(*operands: Any, dimension: int, is_stable: bool, num_keys: int) -> list[Any]:
    keys = [np.moveaxis(np.asarray(x), dimension, -1) for x in operands[:num_keys]]
    order = np.moveaxis(untyped_numpy.lexsort(keys[::-1], axis=-1), -1, dimension)
    return [np.take_along_axis(np.asarray(x), order, dimension) for x in operands]


sort_p.reference = _reference


def _sorted_with_places(operands: Sequence[Any], params: dict[str, Any]) -> tuple[list[Any], Any]:
    """Return sorted arrays, and for each position of them where its element came from."""
    shape = shape_of(operands[0])
    places = broadcasted_iota(np.int32, shape, params["dimension"])
    *ordered, moved = sort_p.bind(*operands, places, **params)
    return ordered, moved


@sort_p.def_jvp
def _sort_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    ordered, places = _sorted_with_places(primals, params)
    moved = [t if type(t) is Zero else take_along(t, places, params["dimension"]) for t in tangents]
    return ordered, moved


@sort_p.def_transpose
def _sort_transpose(cts: Sequence[Any], *operands: Any, num_keys: int, **params: Any) -> list[Any]:
    """Send the cotangents of values back to where their elements came from."""
    keys = operands[:num_keys]
    assert not any(is_linear(key) for key in keys), "sort is linear in its values only"
    _, places = _sorted_with_places(keys, {"num_keys": num_keys, **params})
    _, back = _sorted_with_places([places], {"num_keys": 1, **params})
    dimension: int = params["dimension"]
    pulled = zero_cotangents(operands)
    for position, ct in enumerate(cts):
        if is_linear(operands[position]) and type(ct) is not Zero:
            pulled[position] = take_along(ct, back, dimension)
    return pulled


@sort_p.def_batch
def _sort_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    dimension: int,
    **params: Any,
) -> tuple[list[Any], list[int]]:
    first = dims[0]
    if first is not None and all(dim == first for dim in dims):
        moved = dimension + (dimension >= first)
        return sort_p.bind(*args, dimension=moved, **params), [first] * len(args)
    out = sort_p.bind(*front(args, dims, axis.size), dimension=dimension + 1, **params)
    return out, [0] * len(args)


# ---------------------------------------------------------------- top_k

top_k_p = Primitive("top_k", multiple_results=True).define(
    sharding=rules.leading(1, "it chooses along")
)


def top_k(operand: ArrayLike, k: int, *, axis: int = -1, is_stable: bool = True) -> tuple[Any, Any]:
    """Return the ``k`` greatest elements along an axis, in descending order, and their positions.

    Args:
      operand: an array of a real dtype.
      k: how many.
      axis: the axis; negative counts from the end.
      is_stable: whether, of equal elements, the first comes first; it always does.

    Returns:
      the elements, and their positions as int32.

    Raises:
      ValueError: there is no such axis, it has fewer than ``k`` elements, or ``k`` is negative.
      TypeError: the dtype has no order, or ``k`` is no whole number.

    NaN counts as the greatest, and 0 as greater than -0.  Tangents are those of the elements
    chosen.  CHLO ``top_k``.

    >>> from jxkernel import lax, numpy as jnp
    >>> values, positions = lax.top_k(jnp.array([4, 8, 8, 1]), 3)
    >>> values.tolist(), positions.tolist()
    ([8, 8, 4], [1, 2, 0])
    """
    (k,) = whole_numbers("top_k", "k", (k,))
    place = _chosen_axis("top_k", operand, k, axis, "axis")
    return _extremes(operand, k, place, least=False)


def _chosen_axis(name: str, operand: Any, k: int, axis: int, argument: str) -> int:
    """Return the axis to choose along, having checked that there are ``k`` to choose."""
    aval = operand_aval(name, operand)
    if dtypes.issubdtype(aval.dtype, np.complexfloating):
        raise TypeError(f"{name} does not accept dtype {aval.dtype.name}: it has no order")
    place = canonical_axis(name, axis, aval.ndim, argument)
    (k,) = whole_numbers(name, "k", (k,))
    if not 0 <= k <= aval.shape[place]:
        raise ValueError(
            f"{name} got k={k} for an array of shape {aval.shape}: it chooses from 0 to all "
            f"elements of axis {place}"
        )
    return place


def _extremes(operand: Any, k: int, axis: int, least: bool) -> tuple[Any, Any]:
    last = rank_of(operand) - 1
    values, places = top_k_p.bind(move_axis(operand, axis, last), k=k, least=least)
    return move_axis(values, last, axis), move_axis(places, last, axis)


@top_k_p.def_abstract_eval
@weak_as_operands
def _top_k_abstract_eval(operand: ShapedArray, *, k: int, least: bool) -> list[ShapedArray]:
    shape = (*operand.shape[:-1], k)
    return [operand.update(shape=shape), ShapedArray(shape, np.dtype(np.int32))]


@top_k_p.def_lower
def _top_k_lower(context: Any, x: Any, *, k: int, least: bool) -> list[Any]:
    return lower_top_k(context, x, k, least)


def _top_k_reference(x: Any, *, k: int, least: bool) -> list[Any]:
    key = np.asarray(x, np.float64)
    order = untyped_numpy.argsort(key if least else -key, axis=-1, kind="stable")[..., :k]
    return [np.take_along_axis(np.asarray(x), order, -1), order.astype(np.int32)]


top_k_p.reference = _top_k_reference


@top_k_p.def_jvp
def _top_k_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    values, places = top_k_p.bind(*primals, **params)
    moved = take_along(tangents[0], places, rank_of(places) - 1)
    return [values, places], [moved, Zero.tangent_of(places)]


@top_k_p.def_batch
def _top_k_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], **params: Any
) -> tuple[list[Any], list[int]]:
    return top_k_p.bind(move_axis(args[0], dims[0], 0), **params), [0, 0]


top_k_p.define(transpose=Undefined("it is not linear in its operand"))


def approximate_top_k(
    operand: Any,
    *,
    is_max_k: bool,
    k: int,
    reduction_dimension: int,
    recall_target: Any,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
) -> tuple[Any, Any]:
    """Return what ``lax.approx_max_k``, or ``approx_min_k``, does; see there."""
    name = "approx_max_k" if is_max_k else "approx_min_k"
    aval = operand_aval(name, operand)
    if not dtypes.issubdtype(aval.dtype, np.floating):
        raise TypeError(f"{name} got {aval.short()}: it takes floating dtypes; top_k takes others")
    if not isinstance(recall_target, (int, float)) or not 0 < recall_target <= 1:
        raise ValueError(
            f"{name} got recall_target={recall_target!r:.100}, which is not a share in (0, 1]"
        )
    place = _chosen_axis(name, operand, k, reduction_dimension, "reduction_dimension")
    count = whole_number(name, "k", k)
    if not aggregate_to_topk and count:
        override = whole_number(
            name, "reduction_input_size_override", reduction_input_size_override
        )
        size = aval.shape[place]
        count = approx_top_k_size(size, aval.ndim, count, float(recall_target), False, override)[0]
    return _extremes(operand, count, place, not is_max_k)
