"""Lowering of collectives to StableHLO's communicating operations.

Devices are numbered along the mesh in row-major order; a collective over some of its axes is one
operation with groups of those numbers.  The axes are those of ``context.manual_mesh``: the mesh
of the ``shard_map`` that is being lowered.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.dtypes import DType
from jxkernel.errors import UnboundAxisError
from jxkernel.primitives.reduction.ordered_keys import Keys

__all__ = [
    "lower_all_gather",
    "lower_all_reduce",
    "lower_all_to_all",
    "lower_axis_index",
    "lower_pbroadcast",
    "lower_ppermute",
    "lower_psum_scatter",
]

Groups = tuple[tuple[int, ...], ...] | None
_ONE_CHANNEL = "#stablehlo.channel_handle<handle = 1, type = 1>"


def _device_numbers(context: Any, names: Sequence[Any]) -> Any:
    """Return device numbers as a matrix: one row per set of devices that a collective joins.

    Raises:
      NameError: a name is no axis of the mesh.
    """
    mesh = context.manual_mesh
    known: tuple[Any, ...] = () if mesh is None else tuple(mesh.axis_names)
    for name in names:
        if name not in known:
            raise UnboundAxisError(name, known)
    assert mesh is not None
    sizes = tuple(mesh.shape.values())
    numbers = np.arange(int(np.prod(sizes, dtype=np.int64))).reshape(sizes)
    chosen = [known.index(name) for name in names]
    rest = [axis for axis in range(len(known)) if axis not in chosen]
    count = int(np.prod([sizes[axis] for axis in chosen], dtype=np.int64))
    return numbers.transpose([*rest, *chosen]).reshape(-1, count)


def _replica_groups(context: Any, names: Sequence[Any], groups: Groups) -> Any:
    rows = _device_numbers(context, names)
    if groups is None:
        return rows
    width = max(len(group) for group in groups)
    padded = [[*row[list(group)], *[-1] * (width - len(group))] for row in rows for group in groups]
    return np.asarray(padded)


def _attributes(groups: Any, **others: Any) -> dict[str, Any]:
    return {
        "replica_groups": hlo.dense_elements(np.asarray(groups, np.int64)),
        "channel_handle": hlo.parse_attribute(_ONE_CHANNEL),
        **others,
    }


def _global(groups: Any, **others: Any) -> dict[str, Any]:
    return _attributes(groups, use_global_device_ids=hlo.parse_attribute("unit"), **others)


def _combine(context: Any, operation: Any, combiner: str, dtype: DType) -> None:
    scalar = hlo.tensor_type((), dtype)

    def body(builder: Any, left: Any, right: Any) -> list[Any]:
        return [builder.value(combiner, scalar, (left, right))]

    context.region(operation, 0, (scalar, scalar), body)


def _all_reduce(context: Any, x: Any, aval: Any, combiner: str, groups: Any) -> Any:
    kind = hlo.tensor_type(aval.shape, aval.dtype)
    operation = context.op("stablehlo.all_reduce", (kind,), (x,), _global(groups), regions=1)
    _combine(context, operation, combiner, aval.dtype)
    return operation.result


def lower_all_reduce(combiner: str) -> Any:
    """Return the lowering rule of a reduction over named axes."""

    def lower(context: Any, x: Any, *, axes: tuple[Any, ...], axis_index_groups: Groups) -> Any:
        groups, aval = _replica_groups(context, axes, axis_index_groups), context.avals_out[0]
        is_extreme = combiner != "stablehlo.add" and dtypes.issubdtype(aval.dtype, np.floating)
        if is_extreme and context.module.platform == "cpu":
            return _extreme(context, x, aval, combiner, groups)
        return _all_reduce(context, x, aval, combiner, groups)

    return lower


def _extreme(context: Any, x: Any, aval: Any, combiner: str, groups: Any) -> Any:
    """Append the extreme of floats, by integers of their order: on a CPU floats would lose NaN."""
    wide = aval.dtype if aval.dtype.itemsize > 2 else np.dtype(np.float32)
    keys, is_least = Keys(context, aval.shape), combiner == "stablehlo.minimum"
    x = keys.op("convert", wide, x)
    x = keys.op("negate", wide, x) if is_least else x
    key, unsigned = keys.ordered(x, wide, "apart", "equal")
    key = _all_reduce(context, key, aval.update(dtype=unsigned), "stablehlo.maximum", groups)
    y = keys.restored(key, wide)
    # That of the key is a signalling one, of which NumPy warns.
    is_nan = context.compare(y, y, "NE", aval.shape, "FLOAT")
    y = keys.op("select", wide, is_nan, keys.splat(np.nan, wide), y)
    return keys.op("convert", aval.dtype, keys.op("negate", wide, y) if is_least else y)


def lower_axis_index(context: Any, *, axis_name: Any) -> Any:
    """Append the member's index along one axis, from the number of its device."""
    _device_numbers(context, (axis_name,))
    known = context.module.axis_indices.get(axis_name)
    if known is not None:
        return known
    mesh = context.manual_mesh
    if mesh.size == 1:
        return context.constant(0, np.dtype(np.int32))
    names = list(mesh.axis_names)
    sizes = list(mesh.shape.values())
    position = names.index(axis_name)
    stride = int(np.prod(sizes[position + 1 :], dtype=np.int64))
    kind = hlo.tensor_type((), np.dtype(np.uint32))
    index = context.value("stablehlo.partition_id", kind, ())
    for operation, number in (("divide", stride), ("remainder", sizes[position])):
        constant = context.constant(number, np.dtype(np.uint32))
        index = context.value(f"stablehlo.{operation}", kind, (index, constant))
    return context.value("stablehlo.convert", hlo.tensor_type((), np.dtype(np.int32)), (index,))


def lower_pbroadcast(context: Any, x: Any, *, axis_name: Any, source: int) -> Any:
    """Append the sum of what the source has and zeros of all others."""
    aval = context.avals_out[0]
    index = lower_axis_index(context, axis_name=axis_name)
    wanted = context.constant(source, np.dtype(np.int32))
    here = context.compare(index, wanted, "EQ", (), "SIGNED")
    zeros = context.splat(0, aval.shape, aval.dtype)
    kind = hlo.tensor_type(aval.shape, aval.dtype)
    own = context.value("stablehlo.select", kind, (here, x, zeros))
    combiner = "stablehlo.or" if aval.dtype == np.bool_ else "stablehlo.add"
    return _all_reduce(context, own, aval, combiner, _device_numbers(context, (axis_name,)))


def lower_all_gather(
    context: Any,
    x: Any,
    *,
    all_gather_dimension: int,
    axis_index_groups: Groups,
    axis_name: tuple[Any, ...],
    axis_size: int,
    tiled: bool,
) -> Any:
    """Append ``all_gather``, after a reshape where values are stacked."""
    (aval,), (out,) = context.avals_in, context.avals_out
    if not tiled:
        shape = list(aval.shape)
        shape.insert(all_gather_dimension, 1)
        x = context.value("stablehlo.reshape", hlo.tensor_type(tuple(shape), aval.dtype), (x,))
    return context.value(
        "stablehlo.all_gather",
        hlo.tensor_type(out.shape, out.dtype),
        (x,),
        _global(
            _replica_groups(context, axis_name, axis_index_groups),
            all_gather_dim=hlo.i64_attr(all_gather_dimension),
        ),
    )


def lower_psum_scatter(
    context: Any,
    x: Any,
    *,
    axis_index_groups: Groups,
    axis_name: tuple[Any, ...],
    axis_size: int,
    scatter_dimension: int,
    tiled: bool,
) -> Any:
    """Append ``reduce_scatter``, before a reshape where the axis is dropped."""
    (aval,), (out,) = context.avals_in, context.avals_out
    shape = list(aval.shape)
    shape[scatter_dimension] //= axis_size
    kind = hlo.tensor_type(tuple(shape), aval.dtype)
    attributes = _global(
        _replica_groups(context, axis_name, axis_index_groups),
        scatter_dimension=hlo.i64_attr(scatter_dimension),
    )
    operation = context.op("stablehlo.reduce_scatter", (kind,), (x,), attributes, regions=1)
    _combine(context, operation, "stablehlo.add", aval.dtype)
    if tiled:
        return operation.result
    final = hlo.tensor_type(out.shape, out.dtype)
    return context.value("stablehlo.reshape", final, (operation.result,))


def lower_all_to_all(
    context: Any,
    x: Any,
    *,
    axis_index_groups: Groups,
    axis_name: tuple[Any, ...],
    axis_size: int,
    concat_axis: int,
    split_axis: int,
    tiled: bool,
) -> Any:
    """Append ``all_to_all``; without ``tiled`` along the leading axis, between transpositions."""
    (aval,), (out,) = context.avals_in, context.avals_out
    groups = _replica_groups(context, axis_name, axis_index_groups)
    if tiled:
        return _exchange(context, x, out, groups, axis_size, split_axis, concat_axis)
    rank = aval.ndim
    others = [axis for axis in range(rank) if axis != split_axis]
    x, front = _transposed(context, x, aval, [split_axis, *others])
    y = _exchange(context, x, front, groups, axis_size, 0, 0)
    order = list(range(1, rank))
    order.insert(concat_axis, 0)
    return _transposed(context, y, front, order)[0]


def _transposed(context: Any, x: Any, aval: Any, order: Sequence[int]) -> tuple[Any, Any]:
    out = aval.update(shape=tuple([aval.shape[axis] for axis in order]))
    if list(order) == list(range(aval.ndim)):
        return x, out
    kind = hlo.tensor_type(out.shape, out.dtype)
    permutation = {"permutation": hlo.dense_i64_array(tuple(order))}
    return context.value("stablehlo.transpose", kind, (x,), permutation), out


def _exchange(
    context: Any, x: Any, out: Any, groups: Any, count: int, split_axis: int, concat_axis: int
) -> Any:
    attributes = _attributes(
        groups,
        split_dimension=hlo.i64_attr(split_axis),
        concat_dimension=hlo.i64_attr(concat_axis),
        split_count=hlo.i64_attr(count),
    )
    kind = hlo.tensor_type(out.shape, out.dtype)
    return context.value("stablehlo.all_to_all", kind, (x,), attributes)


def lower_ppermute(
    context: Any, x: Any, *, axis_name: tuple[Any, ...], perm: tuple[tuple[int, int], ...]
) -> Any:
    """Append ``collective_permute``, with the pairs of every set of devices."""
    rows = _device_numbers(context, axis_name)
    pairs = [[row[source], row[target]] for row in rows for source, target in perm]
    out = context.avals_out[0]
    return context.value(
        "stablehlo.collective_permute",
        hlo.tensor_type(out.shape, out.dtype),
        (x,),
        {
            "source_target_pairs": hlo.dense_elements(
                np.asarray(pairs, np.int64).reshape(len(pairs), 2)
            ),
            "channel_handle": hlo.parse_attribute(_ONE_CHANNEL),
        },
    )
