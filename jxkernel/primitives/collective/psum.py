"""Collectives that combine: sums, means and extremes over named axes, and what an index is.

A collective speaks to all members of an axis that has a name: the examples of a ``vmap``, the
devices of a ``pmap`` or ``shard_map``.  ``vmap`` turns it into ordinary operations on the batch
dimension (the ``batch`` rules here); on devices it becomes an operation of XLA's that
communicates (``collective_lowering``).  Several names mean the product of their axes, the first
varying slowest.  ``axis_index_groups`` divides an axis into groups that do not hear each other.

This module must not know who binds a name.
"""

from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from jxkernel import dtypes
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.axes import Axis, bound_axis_size, index_giver
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import UndefinedPrimal, Zero, scalar_like, zero_jvp
from jxkernel.primitives.arguments import canonical_axes
from jxkernel.primitives.collective.leaves import map_numbers
from jxkernel.primitives.collective.lowering import (
    lower_all_reduce,
    lower_axis_index,
    lower_pbroadcast,
)
from jxkernel.primitives.collective.varying import (
    less_axes,
    manual_cast,
    psum_invariant_p,
    tracked_names,
    vary,
)
from jxkernel.primitives.creation import full_like, iota
from jxkernel.primitives.elementwise.arithmetic import add, div, mul
from jxkernel.primitives.elementwise.compare import eq
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.elementwise.select import select_n
from jxkernel.primitives.indexing.concatenate import concatenate
from jxkernel.primitives.indexing.gather import GatherDimensionNumbers, gather
from jxkernel.primitives.reduction.reduce import reduce_max, reduce_min
from jxkernel.primitives.shape.broadcast import batch_to_front, broadcast_in_dim, reduce_sum
from jxkernel.primitives.shape.transpose import inverse_permutation, move_axis
from jxkernel.primitives.sharding import rules
from jxkernel.tree import physical

__all__ = [
    "axis_index",
    "axis_index_p",
    "axis_size",
    "pbroadcast",
    "pcast",
    "pmax",
    "pmax_p",
    "pmean",
    "pmin",
    "pmin_p",
    "psum",
    "psum_p",
]

AxisNames = Hashable | Sequence[Hashable]
Groups = tuple[tuple[int, ...], ...] | None

# ---------------------------------------------------------------- names, sizes, groups


def names_of(axis_name: Any) -> tuple[Any, ...]:
    """Return one name or several as a tuple.

    Raises:
      TypeError: one cannot be hashed, so no axis has it.
    """
    several = isinstance(axis_name, (tuple, list))
    names = tuple(cast("Sequence[Any]", axis_name)) if several else (axis_name,)
    for name in names:
        if type(name).__hash__ is None:
            raise TypeError(
                f"a name of an axis is text, or another value that can be hashed, got {name!r:.99}"
                ": the array comes first, and the name after it"
            )
    return names


def size_of(names: Sequence[Any]) -> int:
    """Return the number of members of the product of named axes.

    Raises:
      NameError: a name is not bound here.
    """
    return prod(bound_axis_size(name) for name in names)


def checked_groups(name: str, groups: Any, size: int, *, equal: bool) -> Groups:
    """Return ``axis_index_groups`` as tuples.

    Raises:
      ValueError: they do not hold each index once, or differ in size where they must not.
    """
    if groups is None:
        return None
    tuples = tuple([tuple([int(i) for i in group]) for group in groups])
    if sorted(index for group in tuples for index in group) != list(range(size)):
        raise ValueError(
            f"{name}: axis_index_groups must hold each index from 0 to {size - 1} once, "
            f"got {tuples}"
        )
    if equal and len({len(group) for group in tuples}) > 1:
        raise ValueError(f"{name}: axis_index_groups must be of one size, got {tuples}")
    return tuples


def named_params(params: dict[str, Any]) -> tuple[Any, ...]:
    """Return the names that a collective uses, from its parameters."""
    return names_of(params["axes"] if "axes" in params else params["axis_name"])


def take_rows(x: Any, rows: Sequence[int]) -> Any:
    """Return the given rows (along axis 0) of an array."""
    if list(rows) == list(range(shape_of(x)[0])):
        return x
    rank = rank_of(x)
    numbers = GatherDimensionNumbers(tuple(range(1, rank)), (0,), (0,))
    indices = np.asarray(rows, np.int32)[:, None]
    sizes = (1, *shape_of(x)[1:])
    return gather(x, indices, numbers, sizes, mode="promise_in_bounds")


def ungrouped(parts: Sequence[Any], groups: tuple[tuple[int, ...], ...]) -> Any:
    """Join arrays that hold the rows of one group each and put the rows in their order."""
    order = [index for group in groups for index in group]
    return take_rows(concatenate(list(parts), 0), inverse_permutation(order))


# ---------------------------------------------------------------- psum, pmax, pmin

Reduction = Callable[[Any, Sequence[int]], Any]


def _reduction(name: str, operation: str, reduce: Reduction) -> Primitive:
    """Return a reduction over named axes, without derivative rules."""
    primitive = Primitive(name)
    primitive.axis_names = named_params

    def batch(
        axis: Axis,
        args: Sequence[Any],
        dims: Sequence[int | None],
        *,
        axes: tuple[Any, ...],
        axis_index_groups: Groups,
    ) -> tuple[Any, int | None]:
        (x,), (dim,) = args, dims
        if axis.name is None or axis.name not in axes:
            return primitive.bind(x, axes=axes, axis_index_groups=axis_index_groups), dim
        if axis_index_groups is not None:
            _check_alone(name, axes)
            return _reduce_groups(reduce, batch_to_front(x, dim, axis.size), axis_index_groups), 0
        others = tuple([other for other in axes if other != axis.name])
        y = reduce(batch_to_front(x, dim, axis.size), (0,))
        if others:
            y = primitive.bind(y, axes=others, axis_index_groups=None)
        return y, None

    return primitive.define(
        abstract_eval=_same_type,
        lower=lower_all_reduce(operation),
        batch=batch,
        sharding=rules.same,
    )


def _same_type(operand: ShapedArray, **params: Any) -> ShapedArray:
    return operand


def _check_alone(name: str, names: tuple[Any, ...]) -> None:
    if len(names) > 1:
        raise NotImplementedError(
            f"{name} with axis_index_groups takes one axis, got {names}: reduce over one at a time"
        )


def _reduce_groups(reduce: Reduction, x: Any, groups: tuple[tuple[int, ...], ...]) -> Any:
    parts: list[Any] = []
    for group in groups:
        total = reduce(take_rows(x, group), (0,))
        shape = (len(group), *shape_of(total))
        parts.append(broadcast_in_dim(total, shape, tuple(range(1, len(shape)))))
    return ungrouped(parts, groups)


def _sum(x: Any, axes: Sequence[int]) -> Any:
    return reduce_sum(x, tuple(axes))


psum_p = _reduction("psum", "stablehlo.add", _sum)
pmax_p = _reduction("pmax", "stablehlo.maximum", reduce_max)
pmin_p = _reduction("pmin", "stablehlo.minimum", reduce_min)
pmax_p.varies = pmin_p.varies = less_axes


def _bind_sum(x: Any, names: tuple[Any, ...], groups: Groups) -> Any:
    """Sum over named axes: over those along which the type says that the value varies, to one."""
    one: tuple[Hashable, ...] = () if groups is not None else tracked_names(names)
    rest = tuple([name for name in names if name not in one])
    if rest:
        x = psum_p.bind(x, axes=rest, axis_index_groups=groups)
    return psum_invariant_p.bind(x, axes=one) if one else x


@psum_p.def_jvp
def _psum_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    y = psum_p.bind(*primals, **params)
    if abstractify(y).tangent().dtype == dtypes.float0:
        return y, Zero.tangent_of(y)
    return y, psum_p.bind(*tangents, **params)


@psum_p.def_transpose
def _psum_transpose(ct: Any, operand: UndefinedPrimal, **params: Any) -> list[Any]:
    return [Zero(operand.aval) if type(ct) is Zero else psum_p.bind(ct, **params)]


def _extreme_jvp(primitive: Primitive) -> Any:
    """Return the rule by which all members that have the extreme share its tangent equally."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        y = primitive.bind(x, **params)
        if abstractify(t).dtype == dtypes.float0:
            return y, Zero.tangent_of(y)
        zero, one = full_like(t, 0), full_like(t, 1)
        holders = eq(x, y)
        names, groups = params["axes"], params["axis_index_groups"]
        count = _bind_sum(select_n(holders, zero, one), names, groups)
        return y, div(_bind_sum(select_n(holders, zero, t), names, groups), count)

    return jvp


_NO_TRANSPOSE = Undefined("an extreme is not linear in its operand")
pmax_p.define(jvp=_extreme_jvp(pmax_p), transpose=_NO_TRANSPOSE)
pmin_p.define(jvp=_extreme_jvp(pmin_p), transpose=_NO_TRANSPOSE)


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Sum over the members of named axes; every member gets the sum.

    Args:
      x: an array or a tree of them, of number or boolean dtypes (booleans are counted as int32).
        A Python number gives a Python number: ``psum(1, 'i')`` is the size of the axis.
      axis_name: a name, or a tuple of names and of positions (of axes of ``x``).
      axis_index_groups: lists of indices that are summed apart, together holding each index once.

    Raises:
      NameError: a name is not bound here.
      KeyTypeError: ``x`` holds random keys.
      ValueError: the groups do not hold each index once.

    Linear; the transpose is the sum of the cotangents.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> jx.vmap(lambda x: x / jx.lax.psum(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float32)
    """
    names, positions, groups = _parsed("psum", axis_name, axis_index_groups)

    def total(leaf: Any) -> Any:
        if not positions and type(leaf) in (int, float, complex, bool):
            return leaf * (size_of(names) if groups is None else _one_size("psum", groups))
        if abstractify(leaf).dtype == np.bool_:
            leaf = convert_element_type(leaf, np.dtype(np.int32))
        return _apply(_bind_sum, _sum, leaf, names, positions, groups)

    return map_numbers("psum", total, x)


def _one_size(name: str, groups: tuple[tuple[int, ...], ...]) -> int:
    sizes = {len(group) for group in groups}
    if len(sizes) > 1:
        raise ValueError(f"{name} of a number needs axis_index_groups of one size, got {groups}")
    return sizes.pop()


def _parsed(
    name: str, axis_name: Any, axis_index_groups: Any
) -> tuple[tuple[Any, ...], tuple[int, ...], Groups]:
    """Take axis names and positions apart and check them."""
    given = names_of(axis_name)
    positions = tuple([axis for axis in given if type(axis) is int])
    names = tuple([axis for axis in given if type(axis) is not int])
    if len(set(given)) != len(given):
        raise ValueError(f"{name} names an axis twice: {given}")
    size = size_of(names)
    if axis_index_groups is not None and (positions or len(names) != 1):
        raise ValueError(f"{name} with axis_index_groups takes one axis name, got {given}")
    return names, positions, checked_groups(name, axis_index_groups, size, equal=False)


def _bind_max(x: Any, names: tuple[Any, ...], groups: Groups) -> Any:
    return pmax_p.bind(x, axes=names, axis_index_groups=groups)


def _bind_min(x: Any, names: tuple[Any, ...], groups: Groups) -> Any:
    return pmin_p.bind(x, axes=names, axis_index_groups=groups)


def _apply(
    bind: Callable[[Any, tuple[Any, ...], Groups], Any],
    reduce: Reduction,
    x: Any,
    names: tuple[Any, ...],
    positions: tuple[int, ...],
    groups: Groups,
) -> Any:
    x = convert_element_type(x, abstractify(x).dtype)  # what members agree on is strongly typed
    if positions:
        x = reduce(x, canonical_axes("a collective", positions, rank_of(x)))
    if not names:
        return x
    shares = abstractify(x).unreduced
    return bind(vary(x, [name for name in names if name not in shares]), names, groups)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Return the mean over the members of named axes, to every member.

    Args:
      x: an array or a tree of them; integers give floating-point means.
      axis_name: a name, or a tuple of names and positions.
      axis_index_groups: lists of indices that are averaged apart.

    Raises:
      NameError: a name is not bound here.
      KeyTypeError: ``x`` holds random keys.

    Linear, as ``psum`` is.

    >>> import jxkernel as jx
    >>> from jxkernel import lax, numpy as jnp
    >>> jx.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(jnp.array([3.0, 5.0])).tolist()
    [-1.0, 1.0]
    """
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    count = _count(x, axis_name, axis_index_groups)

    def divided(leaf: Any) -> Any:
        if type(leaf) in (int, float, complex, bool):
            return leaf / count
        dtype = abstractify(leaf).dtype
        if not dtypes.issubdtype(dtype, np.inexact):
            wanted = dtypes.canonicalize_dtype(np.float64)
            leaf = convert_element_type(leaf, wanted)
        return div(leaf, scalar_like(leaf, count))

    return physical.map(divided, total)


def _count(x: Any, axis_name: Any, groups: Any) -> int:
    if groups is not None:
        return _one_size("pmean", tuple([tuple(group) for group in groups]))
    names = names_of(axis_name)
    first: Any = next(iter(physical.leaves(x)), 0.0)
    positions = [axis for axis in names if type(axis) is int]
    sizes = [shape_of(first)[axis] for axis in positions]
    return prod(sizes) * size_of([name for name in names if type(name) is not int])


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Return the greatest value over the members of named axes, to every member.

    Args:
      x: an array or a tree of them.
      axis_name: a name, or a tuple of names and positions.
      axis_index_groups: lists of indices that are compared apart.

    Raises:
      NameError: a name is not bound here.
      KeyTypeError: ``x`` holds random keys.

    Members that have the extreme share its derivative equally.

    >>> import jxkernel as jx
    >>> from jxkernel import lax, numpy as jnp
    >>> jx.vmap(lambda x: lax.pmax(x, "i"), axis_name="i")(jnp.array([3, 9, 4])).tolist()
    [9, 9, 9]
    """
    names, positions, groups = _parsed("pmax", axis_name, axis_index_groups)

    def greatest(leaf: Any) -> Any:
        return _apply(_bind_max, reduce_max, leaf, names, positions, groups)

    return map_numbers("pmax", greatest, x)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Return the least value over the members of named axes, to every member.

    Args:
      x: an array or a tree of them.
      axis_name: a name, or a tuple of names and positions.
      axis_index_groups: lists of indices that are compared apart.

    Raises:
      NameError: a name is not bound here.
      KeyTypeError: ``x`` holds random keys.

    Members that have the extreme share its derivative equally.

    >>> import jxkernel as jx
    >>> from jxkernel import lax, numpy as jnp
    >>> jx.vmap(lambda x: lax.pmin(x, "i"), axis_name="i")(jnp.array([3, 9, 4])).tolist()
    [3, 3, 3]
    """
    names, positions, groups = _parsed("pmin", axis_name, axis_index_groups)

    def least(leaf: Any) -> Any:
        return _apply(_bind_min, reduce_min, leaf, names, positions, groups)

    return map_numbers("pmin", least, x)


# ---------------------------------------------------------------- axis_index, axis_size

axis_index_p = Primitive("axis_index")
axis_index_p.axis_names = named_params
axis_index_p.exchanges = False


@axis_index_p.def_abstract_eval
def _axis_index_abstract_eval(*, axis_name: Any) -> ShapedArray:
    return ShapedArray((), np.dtype(np.int32))


@axis_index_p.def_batch
def _axis_index_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, axis_name: Any
) -> tuple[Any, int | None]:
    assert axis.name == axis_name, "without arguments only the axis's own index is batched"
    return iota(np.dtype(np.int32), axis.size), 0


axis_index_p.define(jvp=zero_jvp(axis_index_p))


axis_index_p.define(lower=lower_axis_index, transpose=Undefined("it has no argument"))


def axis_index(axis_name: Any) -> Any:
    """Return which member of a named axis this is, as an int32 scalar.

    Args:
      axis_name: a name; of a tuple of names the index in their product, the last varying fastest.

    Raises:
      NameError: a name is not bound here.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> jx.vmap(lambda x: x + jx.lax.axis_index("i"), axis_name="i")(jnp.zeros(3))
    Array([0., 1., 2.], dtype=float32)
    """
    names = names_of(axis_name)
    sizes = [bound_axis_size(name) for name in names]
    if len(names) == 1:
        return _index_along(names[0])
    index: Any = np.int32(0)
    for name, size in zip(names, sizes, strict=True):
        index = add(mul(index, np.int32(size)), _index_along(name))
    return index


def _index_along(name: Any) -> Any:
    give = index_giver(name)
    if give is not None:
        return give()
    return vary(axis_index_p.bind(axis_name=name), (name,))


def axis_size(axis_name: Any) -> int:
    """Return the number of members of a named axis (of several: of their product), as an int.

    Args:
      axis_name: a name or a tuple of names.

    Raises:
      NameError: a name is not bound here.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> jx.vmap(lambda x: x * jx.lax.axis_size("i"), axis_name="i")(jnp.ones(3))
    Array([3., 3., 3.], dtype=float32)
    """
    return size_of(names_of(axis_name))


# ---------------------------------------------------------------- pbroadcast

pbroadcast_p = Primitive("pbroadcast").define(sharding=rules.same)
pbroadcast_p.axis_names = named_params


@pbroadcast_p.def_abstract_eval
def _pbroadcast_abstract_eval(operand: ShapedArray, **params: Any) -> ShapedArray:
    return operand


@pbroadcast_p.def_jvp
def _pbroadcast_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    return pbroadcast_p.bind(*primals, **params), pbroadcast_p.bind(*tangents, **params)


@pbroadcast_p.def_transpose
def _pbroadcast_transpose(
    ct: Any, operand: UndefinedPrimal, *, axis_name: Any, source: int
) -> list[Any]:
    """All cotangents belong to the one member that was read."""
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    total = psum_p.bind(ct, axes=(axis_name,), axis_index_groups=None)
    here = eq(axis_index_p.bind(axis_name=axis_name), np.int32(source))
    return [select_n(here, full_like(total, 0), total)]


@pbroadcast_p.def_batch
def _pbroadcast_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, axis_name: Any, source: int
) -> tuple[Any, int | None]:
    (x,), (dim,) = args, dims
    if axis.name != axis_name or dim is None:
        return (
            x
            if axis.name == axis_name
            else pbroadcast_p.bind(x, axis_name=axis_name, source=source)
        ), dim
    rows = take_rows(move_axis(x, dim, 0), [source] * axis.size)
    return rows, 0


pbroadcast_p.define(lower=lower_pbroadcast)


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """Return one member's value to every member of a named axis.

    Args:
      x: an array or a tree of them.
      axis_name: the name of the axis.
      source: the index of the member whose value is sent.

    Raises:
      NameError: the name is not bound here.
      ValueError: there is no such member.

    Linear; the transpose sums all cotangents at the source.

    >>> import jxkernel as jx
    >>> from jxkernel import lax, numpy as jnp
    >>> jx.vmap(lambda x: lax.pbroadcast(x, "i", 1), axis_name="i")(jnp.array([5, 6, 7])).tolist()
    [6, 6, 6]
    """
    size = bound_axis_size(axis_name)
    if not 0 <= source < size:
        raise ValueError(
            f"pbroadcast: the source {source} is no member of axis {axis_name!r} of size {size}"
        )

    def sent(leaf: Any) -> Any:
        return pbroadcast_p.bind(vary(leaf, (axis_name,)), axis_name=axis_name, source=source)

    return physical.map(sent, x)


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """Give values the type of ones that vary over named axes; the values themselves stay.

    Inside a ``shard_map`` with ``check_vma`` a value that is the same on all devices is so taken
    as each device's own.  Its transpose is the sum over the axes.  Operations do it by themselves
    where such a value meets one that varies; elsewhere types do not know, and nothing is done.

    Args:
      x: an array or a tree of them.
      axis_name: a name or a tuple of names.
      to: ``"varying"``; ``"unreduced"``, of what varies, for the sum over the axes that is put off;
        or ``"reduced"``, of what is the same on all devices, whose cotangent then is such a sum.

    Raises:
      NameError: a name is not bound here.
      ValueError: ``to`` is none of these, or the value cannot be taken so.

    >>> import jxkernel as jx
    >>> from jxkernel import lax, numpy as jnp
    >>> f = jx.vmap(lambda x: lax.pcast(x, "i", to="varying"), axis_name="i")
    >>> f(jnp.array([5, 6])).tolist()
    [5, 6]
    """
    size_of(names_of(axis_name))
    if to not in ("varying", "unreduced", "reduced"):
        raise ValueError(
            f"pcast: there is no way to cast to {to!r}, only to 'varying', 'unreduced' and "
            "'reduced'; psum, pmax and all_gather(..., to='invarying') make values that do not vary"
        )
    names = names_of(axis_name)

    def cast(leaf: Any) -> Any:
        tracked = tracked_names(names)
        _check_cast(abstractify(leaf), tracked, to)
        return vary(leaf, names) if to == "varying" else manual_cast(leaf, tracked, to)

    return physical.map(cast, x)


def _check_cast(aval: ShapedArray, names: Sequence[Any], to: str) -> None:
    """Check that a value can be taken for a sum that is put off, or one whose cotangent is.

    Raises:
      ValueError: it cannot.
    """
    for name in names:
        put_off = name in aval.unreduced or (name in aval.reduced and to != "varying")
        if put_off or (to != "varying" and (name in aval.vma) is (to == "reduced")):
            wanted = "varies along it" if to == "unreduced" else "is the same along it"
            raise ValueError(
                f"pcast to {to!r} along {name!r} takes a value that {wanted}, got {aval.short()}: "
                "jxkernel.lax.psum makes a sum that is put off"
            )
