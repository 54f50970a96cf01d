"""Indexing by arrays: gather reads windows, scatter writes or adds them; transposes of each other.

Every rule is itself a gather or scatter: batching adds an axis to the dimension numbers, so
``vmap`` never loops.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.primitive import Primitive
from jxkernel.core.zeros import Zero, is_linear, typed_scalar, zero_scalar
from jxkernel.primitives.arguments import integers, operand_aval
from jxkernel.primitives.elementwise.arithmetic import neg
from jxkernel.primitives.elementwise.compare import eq
from jxkernel.primitives.elementwise.select import select_n
from jxkernel.primitives.indexing.gather_lowering import lower_gather, lower_scatter
from jxkernel.primitives.indexing.gather_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    canonical_mode,
    check_scatter,
    checked_numbers,
    gather_shape,
    scatter_slice_sizes,
)
from jxkernel.primitives.shape.broadcast import (
    batch_to_front,
    broadcast_in_dim,
    filled,
    instantiate,
)
from jxkernel.primitives.shape.structural import same_dtype, zero_cotangents
from jxkernel.primitives.shape.transpose import MovingPrimitive, move_axis
from jxkernel.primitives.sharding import rules
from jxkernel.runtime import ArrayLike

__all__ = [
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "ScatterDimensionNumbers",
    "gather",
    "gather_p",
    "scatter",
    "scatter_add",
    "scatter_add_p",
    "scatter_p",
    "scatter_sub",
    "scatter_sub_p",
]

# ---------------------------------------------------------------- gather


def _reads_sums(
    operand: ShapedArray, indices: ShapedArray, *, mode: Any, fill_value: Any, **params: Any
) -> bool:
    """Whether what is read of a sum is the sum of what is read: no number is put in for one."""
    if mode is not GatherScatterMode.FILL_OR_DROP:
        return True
    is_nan = fill_value is None and operand.dtype in dtypes.INEXACT
    return is_nan or fill_value == 0


gather_p = MovingPrimitive("gather").define(
    sharding=rules.Linear(rules.gathering, stop=1, where=_reads_sums)
)


def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
) -> Any:
    """Read windows of an array at places given by index vectors.

    Args:
      operand: an array of any dtype.
      start_indices: integers; the last axis holds the index vectors.
      dimension_numbers: what each axis means.
      slice_sizes: the window's size along each operand axis.
      unique_indices: a promise that no two windows overlap, which makes the transpose faster.
      indices_are_sorted: a promise that index vectors ascend.
      mode: what happens to windows that leave the operand; ``"clip"`` where not given.
      fill_value: what ``FILL_OR_DROP`` reads there: NaN for inexact dtypes, the least number for
        signed and the greatest for unsigned integers, True for booleans, where not given.

    Raises:
      TypeError: shapes, dtypes and dimension numbers do not fit.

    Linear in the operand: cotangents of elements read twice are added.  StableHLO ``gather``.

    >>> from jxkernel import lax, numpy as jnp
    >>> numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    >>> lax.gather(jnp.array([5, 6, 7]), jnp.array([[2], [0]]), numbers, (1,)).tolist()
    [7, 5]
    """
    if fill_value is not None:
        fill_value = _hashable_fill(fill_value)
    return gather_p.bind(
        operand,
        start_indices,
        dimension_numbers=checked_numbers("gather", GatherDimensionNumbers, dimension_numbers),
        slice_sizes=integers("gather", "slice_sizes", slice_sizes),
        unique_indices=bool(unique_indices),
        indices_are_sorted=bool(indices_are_sorted),
        mode=canonical_mode("gather", "clip" if mode is None else mode),
        fill_value=fill_value,
    )


def _hashable_fill(value: Any) -> Any:
    """Return a fill value as a Python number; NaN, which equals nothing, as the default's None."""
    if operand_aval("gather", value).shape:
        raise TypeError(f"gather got fill_value={value!r:.100}: it is a number")
    number = np.asarray(value).item()
    return number if number == number else None


@gather_p.def_abstract_eval
def _gather_abstract_eval(
    operand: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    **params: Any,
) -> ShapedArray:
    return operand.update(shape=gather_shape(operand, indices, dimension_numbers, slice_sizes))


gather_p.define(lower=lower_gather)


@gather_p.def_jvp
def _gather_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, fill_value: Any, **params: Any
) -> tuple[Any, Any]:
    y = gather_p.bind(*primals, fill_value=fill_value, **params)
    return y, gather_p.bind(tangents[0], primals[1], fill_value=0, **params)


@gather_p.def_transpose
def _gather_transpose(
    ct: Any,
    operand: Any,
    indices: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    fill_value: Any,
    **params: Any,
) -> list[Any]:
    if type(ct) is Zero:
        return zero_cotangents((operand, indices))
    zeros = filled(operand.shape, typed_scalar(operand.dtype, 0))
    numbers = ScatterDimensionNumbers(*dimension_numbers)
    return [scatter_add_p.bind(zeros, indices, ct, dimension_numbers=numbers, **params), None]


def _later(axes: Sequence[int]) -> tuple[int, ...]:
    """Return axes as they are counted once a batch axis stands before them."""
    return tuple([axis + 1 for axis in axes])


@gather_p.def_batch
def _gather_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    **params: Any,
) -> tuple[Any, int]:
    """Let the operand's batch axis be a window axis, or run together with that of the indices."""
    operand, indices = args
    offset, collapsed, addressed, operand_batching, indices_batching = dimension_numbers
    if dims[0] is not None:
        operand = move_axis(operand, dims[0], 0)
        collapsed, addressed = _later(collapsed), _later(addressed)
        operand_batching = _later(operand_batching)
    if dims[1] is not None:
        indices = move_axis(indices, dims[1], 0)
        indices_batching = _later(indices_batching)
    offset = _later(offset)
    if dims[1] is None:
        offset, slice_sizes = (0, *offset), (axis.size, *slice_sizes)
    elif dims[0] is not None:
        operand_batching, indices_batching = (0, *operand_batching), (0, *indices_batching)
        slice_sizes = (min(1, axis.size), *slice_sizes)
    numbers = GatherDimensionNumbers(
        offset, collapsed, addressed, operand_batching, indices_batching
    )
    if dims[0] is not None and dims[1] is not None:
        params["indices_are_sorted"] = False
    y = gather_p.bind(
        operand, indices, dimension_numbers=numbers, slice_sizes=slice_sizes, **params
    )
    return y, 0


# ---------------------------------------------------------------- scatters: what all share


def bind_scatter(
    primitive: Primitive,
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: str | GatherScatterMode | None,
) -> Any:
    """Bind a scatter with its parameters in canonical form."""
    return primitive.bind(
        operand,
        scatter_indices,
        updates,
        dimension_numbers=checked_numbers(
            primitive.name, ScatterDimensionNumbers, dimension_numbers
        ),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=canonical_mode(primitive.name, mode),
    )


_SCATTERS_SUMS = rules.Linear(rules.scattering, step=2)


def scatter_primitive(
    name: str, combine: str | Callable[..., Any] | None, accepted: type = np.generic
) -> Primitive:
    """Return a scatter with its type, lowering and batching rules.

    Args:
      name: the primitive's name.
      combine: what joins an element with its update: a StableHLO operation, or a function of a
        the element's type, a builder, and both; None replaces it.
      accepted: the kind of dtypes it takes.
    """
    primitive = Primitive(name) if combine else MovingPrimitive(name)

    def abstract_eval(
        operand: ShapedArray,
        indices: ShapedArray,
        updates: ShapedArray,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        **params: Any,
    ) -> ShapedArray:
        if not dtypes.issubdtype(operand.dtype, accepted):
            raise TypeError(
                f"{name} does not accept dtype {operand.dtype.name}: it takes "
                f"{accepted.__name__} dtypes"
            )
        same_dtype(name, (operand, updates))
        check_scatter(name, operand, indices, updates, dimension_numbers)
        return operand

    def lower(context: Any, x: Any, indices: Any, updates: Any, **params: Any) -> Any:
        joined = combine
        if joined is not None and not isinstance(joined, str):
            joined = partial(joined, context.avals_in[0].update(shape=()))
        return lower_scatter(context, x, indices, updates, joined, **params)

    def batch(
        axis: Axis,
        args: Sequence[Any],
        dims: Sequence[int | None],
        *,
        dimension_numbers: ScatterDimensionNumbers,
        **params: Any,
    ) -> tuple[Any, int]:
        operands, numbers = batch_scatter(axis, args, dims, dimension_numbers)
        if dims[1] is not None:
            params["indices_are_sorted"] = False
        return primitive.bind(*operands, dimension_numbers=numbers, **params), 0

    return primitive.define(
        abstract_eval=abstract_eval,
        lower=lower,
        batch=batch,
        sharding=_SCATTERS_SUMS if combine in (None, "stablehlo.add") else rules.scattering,
    )


def batch_scatter(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    numbers: ScatterDimensionNumbers,
) -> tuple[list[Any], ScatterDimensionNumbers]:
    """Give operand and updates a batch axis: a window axis, or one that runs with the indices'."""
    operand = batch_to_front(args[0], dims[0], axis.size)
    updates = batch_to_front(args[2], dims[2], axis.size)
    window, inserted, addressed, operand_batching, indices_batching = numbers
    window, inserted, addressed = _later(window), _later(inserted), _later(addressed)
    operand_batching = _later(operand_batching)
    indices = args[1]
    if dims[1] is None:
        window = (0, *window)
    else:
        indices = move_axis(indices, dims[1], 0)
        operand_batching = (0, *operand_batching)
        indices_batching = (0, *_later(indices_batching))
    moved = ScatterDimensionNumbers(window, inserted, addressed, operand_batching, indices_batching)
    return [operand, indices, updates], moved


def gather_of_scatter(
    x: Any,
    indices: Any,
    update_shape: Sequence[int],
    *,
    dimension_numbers: ScatterDimensionNumbers,
    **params: Any,
) -> Any:
    """Read the places that a scatter writes; zero where it drops updates."""
    sizes = scatter_slice_sizes(shape_of(x), update_shape, dimension_numbers)
    numbers = GatherDimensionNumbers(*dimension_numbers)
    return gather_p.bind(
        x, indices, dimension_numbers=numbers, slice_sizes=sizes, fill_value=0, **params
    )


# ---------------------------------------------------------------- scatter_add, scatter_sub

scatter_add_p = scatter_primitive("scatter_add", "stablehlo.add")
scatter_sub_p = scatter_primitive("scatter_sub", "stablehlo.subtract", np.number)


def scatter_add(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """Add windows to an array at places given by index vectors; overlapping windows all count.

    Args:
      operand: an array.
      scatter_indices: integers; the last axis holds the index vectors.
      updates: the windows, of the operand's dtype.
      dimension_numbers: what each axis means.
      indices_are_sorted: a promise that index vectors ascend.
      unique_indices: a promise that no two windows overlap.
      mode: what happens to windows that leave the operand.

    Raises:
      TypeError: shapes, dtypes and dimension numbers do not fit.

    Linear in operand and updates together.  StableHLO ``scatter`` with ``add``.

    >>> from jxkernel import lax, numpy as jnp
    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_add(jnp.ones(3), jnp.array([[2], [2]]), jnp.array([4.0, 5.0]), numbers).tolist()
    [1.0, 1.0, 10.0]
    """
    return bind_scatter(
        scatter_add_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_sub(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """Subtract windows from an array; arguments and derivative are like those of ``scatter_add``.

    Linear in operand and updates together.  StableHLO ``scatter`` with ``subtract``.

    >>> from jxkernel import lax, numpy as jnp
    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_sub(jnp.ones(3), jnp.array([[2], [0]]), jnp.array([4.0, 5.0]), numbers).tolist()
    [-4.0, 1.0, -3.0]
    """
    return bind_scatter(
        scatter_sub_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def _sum_jvp(primitive: Primitive) -> Any:
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        y = primitive.bind(*primals, **params)
        moved = primitive.bind(
            instantiate(tangents[0]), primals[1], instantiate(tangents[2]), **params
        )
        return y, moved

    return jvp


def _unchanged(ct: Any) -> Any:
    return ct


def _sum_transpose(sign: Any) -> Any:
    def transpose(ct: Any, operand: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
        if type(ct) is Zero:
            return zero_cotangents((operand, indices, updates))
        read = None
        if is_linear(updates):
            read = sign(gather_of_scatter(ct, indices, updates.shape, **params))
        return [ct if is_linear(operand) else None, None, read]

    return transpose


scatter_add_p.define(jvp=_sum_jvp(scatter_add_p), transpose=_sum_transpose(_unchanged))
scatter_sub_p.define(jvp=_sum_jvp(scatter_sub_p), transpose=_sum_transpose(neg))

# ---------------------------------------------------------------- scatter

scatter_p = scatter_primitive("scatter", None)


def scatter(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """Replace windows of an array; arguments are those of ``scatter_add``.

    Where windows overlap, one of them wins; which one is not defined, but the derivative is that
    of the winner.  Linear in operand and updates together.  StableHLO ``scatter``.

    >>> from jxkernel import lax, numpy as jnp
    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter(jnp.zeros(4), jnp.array([[3], [1]]), jnp.array([8.0, 9.0]), numbers).tolist()
    [0.0, 9.0, 0.0, 8.0]
    """
    return bind_scatter(
        scatter_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


@scatter_p.def_jvp
def _scatter_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, unique_indices: bool, **params: Any
) -> tuple[Any, Any]:
    operand, indices, updates = primals
    single = prod(shape_of(indices)[:-1]) <= 1
    if unique_indices or single or type(tangents[2]) is Zero:
        unique = unique_indices or single
        y = scatter_p.bind(operand, indices, updates, unique_indices=unique_indices, **params)
        moved = [instantiate(tangents[0]), indices, instantiate(tangents[2])]
        return y, scatter_p.bind(*moved, unique_indices=unique, **params)
    return _scatter_jvp_of_winners(primals, tangents, unique_indices=False, **params)


def _scatter_jvp_of_winners(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """Find which window won at each place by scattering the windows' numbers, from 1.

    The tangent is then a sum: the operand's where nothing was written, and the winners'.
    """
    operand, indices, updates = primals
    y = scatter_p.bind(*primals, **params)
    numbers: ScatterDimensionNumbers = params["dimension_numbers"]
    ids = _window_ids(shape_of(updates), numbers)
    none = filled(shape_of(operand), np.int32(0))
    winners = scatter_p.bind(none, indices, ids, **params)
    won = eq(gather_of_scatter(winners, indices, shape_of(updates), **params), ids)
    zero = zero_scalar(abstractify(operand).tangent())
    kept = select_n(eq(winners, none), zero, instantiate(tangents[0]))
    written = select_n(won, zero, tangents[2])
    return y, scatter_add_p.bind(kept, indices, written, **params)


def _window_ids(update_shape: tuple[int, ...], numbers: ScatterDimensionNumbers) -> Any:
    """Return, over the updates, the number of the window each element belongs to."""
    axes = tuple(a for a in range(len(update_shape)) if a not in numbers.update_window_dims)
    batch = tuple(update_shape[axis] for axis in axes)
    ids = np.arange(1, prod(batch) + 1, dtype=np.int32).reshape(batch)
    return broadcast_in_dim(ids, update_shape, axes)


@scatter_p.def_transpose
def _scatter_transpose(
    ct: Any, operand: Any, indices: Any, updates: Any, **params: Any
) -> list[Any]:
    """Windows do not overlap here, or the updates are zeros: the JVP rule sees to it."""
    if type(ct) is Zero:
        return zero_cotangents((operand, indices, updates))
    kept = read = None
    if is_linear(operand):
        zeros = filled(shape_of(updates), zero_scalar(operand.aval))
        kept = scatter_p.bind(ct, indices, zeros, **params)
    if is_linear(updates):
        read = gather_of_scatter(ct, indices, shape_of(updates), **params)
    return [kept, None, read]


# ---------------------------------------------------------------- along one axis


def take_along(x: ArrayLike, places: Any, axis: int) -> Any:
    """Return the elements of ``x`` at given places of one axis, all other axes together.

    Args:
      x: an array.
      places: integers within bounds, of the shape of ``x`` but along ``axis``.
      axis: the axis.
    """
    rank = rank_of(x)
    others = tuple([a for a in range(rank) if a != axis])
    numbers = GatherDimensionNumbers((), (axis,), (axis,), others, others)
    shape = shape_of(places)
    indices = broadcast_in_dim(places, (*shape, 1), tuple(range(rank)))
    sizes = tuple([min(1, size) for size in shape_of(x)])
    return gather(x, indices, numbers, sizes, mode="promise_in_bounds")
