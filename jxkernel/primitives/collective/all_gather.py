"""Gathering and scattering over named axes: each the transpose of the other.

Under ``vmap`` a collective over several names is taken apart into collectives over one.  The
helpers of all collectives that move values stand here too.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel.core.avals import ShapedArray, rank_of, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.primitive import Primitive
from jxkernel.core.zeros import UndefinedPrimal, Zero
from jxkernel.primitives.arguments import canonical_axis
from jxkernel.primitives.collective.leaves import map_elements, map_numbers
from jxkernel.primitives.collective.lowering import (
    lower_all_gather,
    lower_psum_scatter,
)
from jxkernel.primitives.collective.psum import (
    AxisNames,
    Groups,
    axis_index,
    checked_groups,
    named_params,
    names_of,
    size_of,
    take_rows,
    ungrouped,
)
from jxkernel.primitives.collective.varying import (
    linear_jvp,
    manual_cast,
    own_shares,
    tracked_names,
    vary,
)
from jxkernel.primitives.elementwise.arithmetic import mul
from jxkernel.primitives.indexing.dynamic_slicing import dynamic_index_in_dim, dynamic_slice_in_dim
from jxkernel.primitives.shape.broadcast import batch_to_front, broadcast_in_dim, reduce_sum
from jxkernel.primitives.shape.reshape import reshape
from jxkernel.primitives.shape.transpose import move_axis

__all__ = [
    "all_gather",
    "all_gather_p",
    "psum_scatter",
    "reduce_scatter_p",
]


def speaks_over(axis: Axis, names: tuple[Any, ...]) -> bool:
    """Whether a batch axis is one of those that a collective speaks over."""
    return axis.name is not None and axis.name in names


def group_rows(x: Any, groups: Groups, size: int) -> tuple[list[Any], Any]:
    """Return the rows of each group, and the groups."""
    found = groups or (tuple(range(size)),)
    return [take_rows(x, group) for group in found], found


def _repeated(x: Any, count: int) -> Any:
    shape = (count, *shape_of(x))
    return broadcast_in_dim(x, shape, tuple(range(1, len(shape))))


def merge_axes(x: Any, axis: int) -> Any:
    """Return an array with axis ``axis`` and the next joined into one."""
    shape = shape_of(x)
    return reshape(x, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


def divide_axis(x: Any, axis: int, count: int) -> Any:
    """Return an array with an axis taken apart into ``count`` and the rest."""
    shape = shape_of(x)
    return reshape(x, (*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :]))


# ---------------------------------------------------------------- all_gather

all_gather_p = Primitive("all_gather")
all_gather_p.axis_names = named_params


@all_gather_p.def_abstract_eval
def _all_gather_abstract_eval(
    operand: ShapedArray, *, all_gather_dimension: int, axis_size: int, tiled: bool, **params: Any
) -> ShapedArray:
    at, shape = all_gather_dimension, operand.shape
    if tiled:
        return operand.update((*shape[:at], shape[at] * axis_size, *shape[at + 1 :]))
    return operand.update((*shape[:at], axis_size, *shape[at:]))


@all_gather_p.def_transpose
def _all_gather_transpose(
    ct: Any,
    operand: UndefinedPrimal,
    *,
    all_gather_dimension: int,
    axis_index_groups: Groups,
    axis_name: tuple[Any, ...],
    axis_size: int,
    tiled: bool,
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    scattered = reduce_scatter_p.bind(
        ct,
        axis_index_groups=axis_index_groups,
        axis_name=axis_name,
        axis_size=axis_size,
        scatter_dimension=all_gather_dimension,
        tiled=tiled,
    )
    return [scattered]


@all_gather_p.def_batch
def _all_gather_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    all_gather_dimension: int,
    axis_index_groups: Groups,
    axis_name: tuple[Any, ...],
    axis_size: int,
    tiled: bool,
) -> tuple[Any, int | None]:
    (x,), (dim,) = args, dims
    at = all_gather_dimension
    if not speaks_over(axis, axis_name):
        assert dim is not None, "a collective of other axes came without a batch axis"
        front = move_axis(x, dim, 0)
        y = all_gather_p.bind(
            front,
            all_gather_dimension=at + 1,
            axis_index_groups=axis_index_groups,
            axis_name=axis_name,
            axis_size=axis_size,
            tiled=tiled,
        )
        return y, 0
    x = batch_to_front(x, dim, axis.size)
    if axis_index_groups is not None:
        parts, groups = group_rows(x, axis_index_groups, axis.size)
        gathered = [_repeated(move_axis(part, 0, at), part_size(part)) for part in parts]
        y = ungrouped(gathered, groups)
        return (merge_axes(y, at + 1) if tiled else y), 0
    return _gather_names(axis, x, axis_name, axis_size, at, tiled), None


def part_size(part: Any) -> int:
    """Return the number of rows of an array."""
    return shape_of(part)[0]


def _gather_names(
    axis: Axis, x: Any, names: tuple[Any, ...], total: int, at: int, tiled: bool
) -> Any:
    """Gather over the own axis (the leading one) and over the others, in the order of the names."""
    index = names.index(axis.name)
    y = move_axis(x, 0, at)
    outer, inner = names[:index], names[index + 1 :]
    rest = total // axis.size
    if outer and inner:
        raise NotImplementedError(
            f"all_gather over {names} under a vmap of {axis.name!r} in their middle: gather over "
            "one name at a time"
        )
    others = outer or inner
    if others:
        position = at if outer else at + 1
        y = _bind_gather(y, others, rest, position)
        y = merge_axes(y, at)
    return merge_axes(y, at) if tiled else y


def _bind_gather(
    x: Any,
    names: tuple[Any, ...],
    size: int,
    at: int,
    tiled: bool = False,
    groups: Groups = None,
    to: Primitive | None = None,
) -> Any:
    return (to or all_gather_p).bind(
        x,
        all_gather_dimension=at,
        axis_index_groups=groups,
        axis_name=names,
        axis_size=size,
        tiled=tiled,
    )


all_gather_p.define(lower=lower_all_gather, jvp=linear_jvp(all_gather_p))


# ---------------------------------------------------------------- all_gather, to one value

all_gather_invariant_p = Primitive("all_gather_invariant")
all_gather_invariant_p.axis_names = named_params


def _gather_varies(avals: Sequence[ShapedArray], out: ShapedArray, params: dict[str, Any]) -> Any:
    return out.update(vma=avals[0].vma.difference(params["axis_name"]))


@all_gather_invariant_p.def_transpose
def _all_gather_invariant_transpose(
    ct: Any,
    operand: UndefinedPrimal,
    *,
    all_gather_dimension: int,
    axis_name: tuple[Any, ...],
    tiled: bool,
    **params: Any,
) -> list[Any]:
    """The one value was read once: each member takes the part that it gave."""
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    index, at = axis_index(axis_name), all_gather_dimension
    varying = vary(ct, operand.aval.vma)
    if not tiled:
        return [dynamic_index_in_dim(varying, index, at, keepdims=False)]
    size = operand.aval.shape[at]
    return [dynamic_slice_in_dim(varying, mul(index, np.int32(size)), size, at)]


@all_gather_invariant_p.def_batch
def _all_gather_invariant_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    all_gather_dimension: int,
    **params: Any,
) -> tuple[Any, int | None]:
    at = all_gather_dimension + 1
    x = batch_to_front(args[0], dims[0], axis.size)
    return all_gather_invariant_p.bind(x, all_gather_dimension=at, **params), 0


all_gather_invariant_p.varies = _gather_varies
all_gather_invariant_p.define(
    abstract_eval=_all_gather_abstract_eval,
    lower=lower_all_gather,
    jvp=linear_jvp(all_gather_invariant_p),
)


def all_gather(
    x: Any,
    axis_name: AxisNames,
    *,
    axis_index_groups: Any = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """Return the values of all members of named axes, to every member.

    Args:
      x: an array or a tree of them.
      axis_name: a name or a tuple of names.
      axis_index_groups: lists of indices, all of one size, that gather apart.
      axis: where the members' values are put: a new axis, or with ``tiled`` the axis along which
        they are joined.
      tiled: whether the values are joined along ``axis`` instead of stacked.
      to: inside a ``shard_map`` with ``check_vma``, whether the type of the result says that it
        varies over the axes (``"varying"``) or that all members have the same
        (``"invarying"``, whose transpose gives each member its part of the cotangent; with
        ``"reduced"`` that is a sum which is put off).

    Raises:
      NameError: a name is not bound here.
      ValueError: the axis is out of range, or the groups do not fit.

    Linear; the transpose is ``psum_scatter``.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> f = jx.vmap(lambda x: jx.lax.all_gather(x, "i")[::-1], axis_name="i")
    >>> f(jnp.arange(2))
    Array([[1, 0],
           [1, 0]], dtype=int32)
    """
    names = names_of(axis_name)
    size = size_of(names)
    if to not in ("varying", "invarying", "reduced"):
        raise ValueError(f"all_gather: to={to!r} is none of 'varying', 'invarying' and 'reduced'")
    groups = checked_groups("all_gather", axis_index_groups, size, equal=True)
    count = len(groups[0]) if groups else size

    def gathered(leaf: Any, rank: int) -> Any:
        at = canonical_axis("all_gather", axis, rank + (not tiled))
        varying = vary(leaf, names)
        if to != "varying" and groups is None and tracked_names(names) == names:
            one = _bind_gather(varying, names, count, at, tiled, to=all_gather_invariant_p)
            return manual_cast(one, names, "reduced") if to == "reduced" else one
        return _bind_gather(varying, names, count, at, tiled, groups)

    return map_elements(gathered, x)


# ---------------------------------------------------------------- psum_scatter

reduce_scatter_p = Primitive("reduce_scatter")
reduce_scatter_p.axis_names = named_params


@reduce_scatter_p.def_abstract_eval
def _reduce_scatter_abstract_eval(
    operand: ShapedArray, *, axis_size: int, scatter_dimension: int, tiled: bool, **params: Any
) -> ShapedArray:
    at, shape = scatter_dimension, operand.shape
    if tiled:
        return operand.update((*shape[:at], shape[at] // axis_size, *shape[at + 1 :]))
    return operand.update((*shape[:at], *shape[at + 1 :]))


def check_divides(name: str, shape: tuple[int, ...], axis: int, count: int, tiled: bool) -> None:
    """Check that an axis can be divided among the members of a named one.

    Raises:
      ValueError: it cannot.
    """
    if tiled and shape[axis] % count:
        raise ValueError(
            f"{name}: axis {axis} of shape {shape} does not divide among {count} members: its "
            "size must be a multiple of the named axis's"
        )
    if not tiled and shape[axis] != count:
        raise ValueError(
            f"{name}: axis {axis} of shape {shape} must have the size of the named axis, "
            f"{count}; with tiled=True a multiple of it"
        )


@reduce_scatter_p.def_transpose
def _reduce_scatter_transpose(
    ct: Any,
    operand: UndefinedPrimal,
    *,
    axis_index_groups: Groups,
    axis_name: tuple[Any, ...],
    axis_size: int,
    scatter_dimension: int,
    tiled: bool,
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    return [_bind_gather(ct, axis_name, axis_size, scatter_dimension, tiled, axis_index_groups)]


@reduce_scatter_p.def_batch
def _reduce_scatter_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    axis_index_groups: Groups,
    axis_name: tuple[Any, ...],
    axis_size: int,
    scatter_dimension: int,
    tiled: bool,
) -> tuple[Any, int | None]:
    (x,), (dim,) = args, dims
    at = scatter_dimension
    if not speaks_over(axis, axis_name):
        assert dim is not None, "a collective of other axes came without a batch axis"
        y = _bind_scatter(
            move_axis(x, dim, 0), axis_name, axis_size, at + 1, tiled, axis_index_groups
        )
        return y, 0
    x = batch_to_front(x, dim, axis.size)
    if tiled:
        x = divide_axis(x, at + 1, axis_size)
    if axis_index_groups is not None:
        parts, groups = group_rows(x, axis_index_groups, axis.size)
        return ungrouped([move_axis(reduce_sum(p, (0,)), at, 0) for p in parts], groups), 0
    return _scatter_names(axis, reduce_sum(x, (0,)), axis_name, axis_size, at), 0


def _scatter_names(axis: Axis, x: Any, names: tuple[Any, ...], total: int, at: int) -> Any:
    """Scatter what is summed over the own axis along it and along the others."""
    if len(names) < 2:
        return move_axis(x, at, 0)
    if len(names) > 2:
        raise NotImplementedError(
            f"psum_scatter over {names} under a vmap of {axis.name!r}: scatter over two names at "
            "most at a time"
        )
    outer, inner = names
    first = outer == axis.name
    rest = total // axis.size
    x = divide_axis(x, at, axis.size if first else rest)
    x = move_axis(x, at if first else at + 1, 0)
    other = inner if first else outer
    return _bind_scatter(x, (other,), rest, at + 1)


def _bind_scatter(
    x: Any, names: tuple[Any, ...], size: int, at: int, tiled: bool = False, groups: Groups = None
) -> Any:
    return reduce_scatter_p.bind(
        x,
        axis_index_groups=groups,
        axis_name=names,
        axis_size=size,
        scatter_dimension=at,
        tiled=tiled,
    )


reduce_scatter_p.define(lower=lower_psum_scatter, jvp=linear_jvp(reduce_scatter_p))


def psum_scatter(
    x: Any,
    axis_name: AxisNames,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Sum over the members of named axes and give each member its part of the sum.

    Args:
      x: an array or a tree of them.
      axis_name: a name or a tuple of names.
      scatter_dimension: the axis that is divided among the members; it is dropped, or with
        ``tiled`` kept with what is left of its size.
      axis_index_groups: lists of indices, all of one size, that sum apart.
      tiled: whether a member gets a block of the axis instead of one place of it.

    Raises:
      NameError: a name is not bound here.
      KeyTypeError: ``x`` holds random keys.
      ValueError: sizes do not fit.

    Linear; the transpose is ``all_gather``.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> jx.vmap(lambda x: jx.lax.psum_scatter(x, "i"), axis_name="i")(jnp.ones((3, 3)))
    Array([3., 3., 3.], dtype=float32)
    """
    names = names_of(axis_name)
    size = size_of(names)
    groups = checked_groups("psum_scatter", axis_index_groups, size, equal=True)
    count = len(groups[0]) if groups else size

    def scattered(leaf: Any) -> Any:
        at = canonical_axis("psum_scatter", scatter_dimension, rank_of(leaf), "scatter_dimension")
        check_divides("psum_scatter", shape_of(leaf), at, count, tiled)
        return _bind_scatter(own_shares(leaf, names), names, count, at, tiled, groups)

    return map_numbers("psum_scatter", scattered, x)
