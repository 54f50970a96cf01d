"""Exchanging and permuting over named axes.

``all_to_all`` is the transpose of itself with its axes swapped, ``ppermute`` of that with the
pairs turned round.
"""

from collections.abc import Sequence
from typing import Any

from jxkernel.core.avals import ShapedArray, abstractify, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.primitive import Primitive
from jxkernel.core.zeros import UndefinedPrimal, Zero
from jxkernel.primitives.arguments import canonical_axis
from jxkernel.primitives.collective.all_gather import (
    check_divides,
    divide_axis,
    group_rows,
    merge_axes,
    speaks_over,
)
from jxkernel.primitives.collective.leaves import map_elements
from jxkernel.primitives.collective.lowering import lower_all_to_all, lower_ppermute
from jxkernel.primitives.collective.psum import (
    AxisNames,
    Groups,
    checked_groups,
    named_params,
    names_of,
    size_of,
    take_rows,
    ungrouped,
)
from jxkernel.primitives.collective.varying import linear_jvp, vary
from jxkernel.primitives.creation import full
from jxkernel.primitives.indexing.concatenate import concatenate
from jxkernel.primitives.shape.broadcast import batch_to_front
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.primitives.sharding import rules
from jxkernel.tree import physical

__all__ = [
    "all_to_all",
    "all_to_all_p",
    "ppermute",
    "ppermute_p",
    "pshuffle",
    "pswapaxes",
]

# ---------------------------------------------------------------- all_to_all

all_to_all_p = Primitive("all_to_all")
all_to_all_p.axis_names = named_params


@all_to_all_p.def_abstract_eval
def _all_to_all_abstract_eval(
    operand: ShapedArray,
    *,
    axis_size: int,
    concat_axis: int,
    split_axis: int,
    tiled: bool,
    **params: Any,
) -> ShapedArray:
    shape = list(operand.shape)
    if tiled:
        shape[split_axis] //= axis_size
        shape[concat_axis] *= axis_size
        return operand.update(tuple(shape))
    del shape[split_axis]
    shape.insert(concat_axis, axis_size)
    return operand.update(tuple(shape))


@all_to_all_p.def_transpose
def _all_to_all_transpose(
    ct: Any, operand: UndefinedPrimal, *, split_axis: int, concat_axis: int, **params: Any
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    return [all_to_all_p.bind(ct, split_axis=concat_axis, concat_axis=split_axis, **params)]


@all_to_all_p.def_batch
def _all_to_all_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    axis_index_groups: Groups,
    axis_name: tuple[Any, ...],
    axis_size: int,
    concat_axis: int,
    split_axis: int,
    tiled: bool,
) -> tuple[Any, int | None]:
    (x,), (dim,) = args, dims
    if not speaks_over(axis, axis_name):
        assert dim is not None, "a collective of other axes came without a batch axis"
        y = all_to_all_p.bind(
            move_axis(x, dim, 0),
            axis_index_groups=axis_index_groups,
            axis_name=axis_name,
            axis_size=axis_size,
            concat_axis=concat_axis + 1,
            split_axis=split_axis + 1,
            tiled=tiled,
        )
        return y, 0
    x = batch_to_front(x, dim, axis.size)
    if tiled:
        x = divide_axis(x, split_axis + 1, axis_size)
        # The pieces come before the axis that they are joined along, once theirs is gone.
        y = _exchange(axis, x, axis_index_groups, axis_name, axis_size, split_axis, concat_axis)
        return merge_axes(y, concat_axis + 1), 0
    return _exchange(axis, x, axis_index_groups, axis_name, axis_size, split_axis, concat_axis), 0


def _exchange(
    axis: Axis,
    x: Any,
    groups: Groups,
    names: tuple[Any, ...],
    total: int,
    split_axis: int,
    concat_axis: int,
) -> Any:
    """Exchange rows and the split axis; ``x`` has its rows first."""
    if len(names) > 2:
        raise NotImplementedError(
            f"all_to_all over {names} under a vmap of {axis.name!r}: exchange over two names at "
            "most at a time"
        )
    if len(names) < 2:
        parts, found = group_rows(x, groups, axis.size)
        swapped = [
            move_axis(move_axis(part, split_axis + 1, 0), 1, concat_axis + 1) for part in parts
        ]
        return ungrouped(swapped, found)
    outer, inner = names
    first = outer == axis.name
    rest = total // axis.size
    # Rows r, pieces (p0, p1): one of the two is exchanged with the rows, the other over devices.
    x = divide_axis(x, split_axis + 1, axis.size if first else rest)
    x = move_axis(move_axis(x, split_axis + 1, 1), split_axis + 2, 2)
    own, other = (1, 2) if first else (2, 1)
    x = _swap(x, 0, own)
    x = all_to_all_p.bind(
        x,
        axis_index_groups=None,
        axis_name=(inner if first else outer,),
        axis_size=rest,
        concat_axis=other,
        split_axis=other,
        tiled=False,
    )
    return move_axis(merge_axes(x, 1), 1, concat_axis + 1)


def _swap(x: Any, first: int, second: int) -> Any:
    """Return an array with two axes exchanged."""
    return move_axis(move_axis(x, second, first), first + 1, second)


all_to_all_p.define(lower=lower_all_to_all, jvp=linear_jvp(all_to_all_p))


def all_to_all(
    x: Any,
    axis_name: AxisNames,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Send each member its part of an axis, and put together what the members sent.

    Args:
      x: an array or a tree of them.
      axis_name: a name or a tuple of names.
      split_axis: the axis that is divided among the members; without ``tiled`` its size is the
        number of members, and it is dropped.
      concat_axis: where the received parts are put: a new axis of the result, or with ``tiled``
        the axis along which they are joined.
      axis_index_groups: lists of indices, all of one size, that exchange apart.
      tiled: whether axes are divided and joined instead of dropped and added.

    Raises:
      NameError: a name is not bound here.
      ValueError: sizes do not fit, or an axis is out of range.

    Linear; the transpose sends everything back.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> f = jx.vmap(lambda x: jx.lax.all_to_all(x, "i", 0, 0), axis_name="i")
    >>> f(jnp.arange(4).reshape(2, 2))
    Array([[0, 2],
           [1, 3]], dtype=int32)
    """
    names = names_of(axis_name)
    size = size_of(names)
    groups = checked_groups("all_to_all", axis_index_groups, size, equal=True)
    count = len(groups[0]) if groups else size

    def exchanged(leaf: Any, rank: int) -> Any:
        split = canonical_axis("all_to_all", split_axis, rank, "split_axis")
        joined = canonical_axis("all_to_all", concat_axis, rank, "concat_axis")
        check_divides("all_to_all", shape_of(leaf), split, count, tiled)
        return all_to_all_p.bind(
            vary(leaf, names),
            axis_index_groups=groups,
            axis_name=names,
            axis_size=count,
            concat_axis=joined,
            split_axis=split,
            tiled=tiled,
        )

    return map_elements(exchanged, x)


def pswapaxes(x: Any, axis_name: AxisNames, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Exchange a named axis with an axis of the array: ``all_to_all`` in place.

    Args:
      x: an array or a tree of them.
      axis_name: a name or a tuple of names.
      axis: the array's axis, of the size of the named one.
      axis_index_groups: lists of indices, all of one size, that exchange apart.

    Raises:
      NameError: a name is not bound here.
      ValueError: sizes do not fit.

    >>> import jxkernel as jx
    >>> from jxkernel import lax, numpy as jnp
    >>> f = jx.vmap(lambda x: lax.pswapaxes(x, "i", 0), axis_name="i")
    >>> f(jnp.array([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


# ---------------------------------------------------------------- ppermute

ppermute_p = Primitive("ppermute").define(sharding=rules.same)
ppermute_p.axis_names = named_params

Pairs = tuple[tuple[int, int], ...]


@ppermute_p.def_abstract_eval
def _ppermute_abstract_eval(operand: ShapedArray, **params: Any) -> ShapedArray:
    return operand


@ppermute_p.def_transpose
def _ppermute_transpose(
    ct: Any, operand: UndefinedPrimal, *, axis_name: tuple[Any, ...], perm: Pairs
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    back = tuple([(target, source) for source, target in perm])
    return [ppermute_p.bind(ct, axis_name=axis_name, perm=back)]


@ppermute_p.def_batch
def _ppermute_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    axis_name: tuple[Any, ...],
    perm: Pairs,
) -> tuple[Any, int | None]:
    (x,), (dim,) = args, dims
    if not speaks_over(axis, axis_name):
        return ppermute_p.bind(x, axis_name=axis_name, perm=perm), dim
    if len(axis_name) > 1:
        raise NotImplementedError(
            f"ppermute over {axis_name} under a vmap of {axis.name!r}: permute one name at a time"
        )
    x = batch_to_front(x, dim, axis.size)
    # A row of zeros, last, is what members that are sent nothing receive.
    zeros = full((1, *shape_of(x)[1:]), 0, abstractify(x).dtype)
    sources = {target: source for source, target in perm}
    rows = [sources.get(index, axis.size) for index in range(axis.size)]
    if axis.size not in rows:
        return take_rows(x, rows), 0
    return take_rows(concatenate([x, zeros], 0), rows), 0


ppermute_p.define(lower=lower_ppermute, jvp=linear_jvp(ppermute_p))


def ppermute(x: Any, axis_name: AxisNames, perm: Sequence[tuple[int, int]]) -> Any:
    """Send values between members of a named axis; who is sent nothing gets zeros.

    Args:
      x: an array or a tree of them.
      axis_name: a name or a tuple of names.
      perm: pairs (source, target) of indices; no source and no target appears twice.

    Raises:
      NameError: a name is not bound here.
      ValueError: an index is out of range or appears twice.

    Linear; the transpose sends everything back.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> shift = [(0, 1), (1, 2)]
    >>> f = jx.vmap(lambda x: jx.lax.ppermute(x, "i", shift), axis_name="i")
    >>> f(jnp.array([1, 2, 3]))
    Array([0, 1, 2], dtype=int32)
    """
    names = names_of(axis_name)
    pairs = tuple([(int(source), int(target)) for source, target in perm])
    _check_pairs(names, pairs, size_of(names))

    def permuted(leaf: Any) -> Any:
        return ppermute_p.bind(vary(leaf, names), axis_name=names, perm=pairs)

    return physical.map(permuted, x)


def _check_pairs(names: tuple[Any, ...], pairs: Pairs, size: int) -> None:
    for what, indices in (
        ("source", [source for source, _ in pairs]),
        ("target", [target for _, target in pairs]),
    ):
        if len(set(indices)) != len(indices):
            raise ValueError(f"ppermute: a {what} appears twice in perm={list(pairs)}")
        wrong = [index for index in indices if not 0 <= index < size]
        if wrong:
            raise ValueError(
                f"ppermute: the {what} {wrong[0]} is no member of {names}, which has {size}: "
                f"indices are from 0 to {size - 1}"
            )


def pshuffle(x: Any, axis_name: AxisNames, perm: Sequence[int]) -> Any:
    """Permute the members of a named axis: member ``i`` gets the value of member ``perm[i]``.

    Args:
      x: an array or a tree of them.
      axis_name: the name of the axis.
      perm: a permutation of the axis's indices.

    Raises:
      NameError: the name is not bound here.
      ValueError: ``perm`` is no permutation of the indices.

    >>> import jxkernel as jx
    >>> from jxkernel import lax, numpy as jnp
    >>> f = jx.vmap(lambda x: lax.pshuffle(x, "i", (2, 0, 1)), axis_name="i")
    >>> f(jnp.array([10, 11, 12])).tolist()
    [12, 10, 11]
    """
    size = size_of(names_of(axis_name))
    if sorted(perm) != list(range(size)):
        raise ValueError(
            f"pshuffle: perm={list(perm)} is no permutation of the {size} indices of {axis_name!r}"
        )
    return ppermute(x, axis_name, [(source, target) for target, source in enumerate(perm)])
