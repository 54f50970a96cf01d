"""Saying again how arrays lie: ``reshard``, ``auto_axes``, ``explicit_axes``, and ``smap``.

Here XLA decides about all mesh axes of whatever type, guided by the shardings that are given: types
of traced values hold none.  So a program written for explicit axes runs and gives the same
values, and where it says how something lies, that is how it lies; but it is refused nothing, where
real JAX asks for a decision.
"""

from collections.abc import Callable, Hashable
from functools import partial, update_wrapper
from typing import Any

from jxkernel import tree
from jxkernel.api.shard_map import shard_map
from jxkernel.api.shardings import GivenShardings, naming_leaf
from jxkernel.api.traced import check_callable
from jxkernel.api.transfer import put_leaf
from jxkernel.sharding import PartitionSpec

__all__ = ["auto_axes", "explicit_axes", "reshard", "smap"]


def reshard(xs: Any, out_shardings: Any) -> Any:
    """Return arrays divided over devices in another way, inside a jitted function or outside.

    Args:
      xs: a tree of arrays.
      out_shardings: a tree of shardings (a prefix of ``xs``'s): ``NamedSharding``, or a
        ``PartitionSpec`` under ``set_mesh``.

    Raises:
      ValueError: an array cannot be divided so.
      RuntimeError: a spec is given and no mesh is set.

    The derivative is the identity; the cotangent is divided in the same way.

    Example:
      >>> import jxkernel as jx, jxkernel.numpy as jnp
      >>> mesh = jx.make_mesh((1,), ("x",))
      >>> rows = jx.NamedSharding(mesh, jx.P("x"))
      >>> jx.reshard(jnp.arange(3), rows).sharding.spec
      P('x',)
    """
    return _lying("reshard", "out_shardings", xs, out_shardings)


def _lying(who: str, parameter: str, xs: Any, shardings: Any) -> Any:
    leaves, structure = tree.flatten(xs)
    given = GivenShardings.of(shardings, who, parameter)
    if given is None:
        return xs
    flat = given.flat_for(structure, who, parameter)
    with naming_leaf(who, leaves, flat, structure):
        return structure.unflatten(
            [
                leaf if sharding is None else put_leaf(leaf, sharding)
                for leaf, sharding in zip(leaves, flat, strict=True)
            ]
        )


def auto_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    out_sharding: Any = None,
) -> Any:
    """Return a function inside which XLA decides how values are divided, as it does everywhere.

    Args:
      f: the function; without it a decorator is returned.
      axes: the mesh axes that are meant; all are left to XLA.
      out_sharding: how the results lie: a tree of shardings or specs that is a prefix of the
        result.  A call may give its own as ``out_sharding=``.

    Returns:
      a function whose results lie as asked.

    Raises:
      TypeError: ``f`` is not callable.
      ValueError: a call has no ``out_sharding``, or a result cannot be divided so.

    Example:
      >>> import jxkernel as jx, jxkernel.numpy as jnp
      >>> whole = jx.NamedSharding(jx.make_mesh((1,), ("x",)), jx.P())
      >>> jx.sharding.auto_axes(lambda x: x * 2, out_sharding=whole)(jnp.arange(3)).tolist()
      [0, 2, 4]
    """
    if f is None:
        return partial(auto_axes, axes=axes, out_sharding=out_sharding)
    check_callable("auto_axes", "f", f)
    given = out_sharding

    def call(*args: Any, out_sharding: Any = None, **kwargs: Any) -> Any:
        wanted = given if out_sharding is None else out_sharding
        if wanted is None:
            raise ValueError("auto_axes needs to know how results lie: give it out_sharding=")
        return _lying("auto_axes", "out_sharding", f(*args, **kwargs), wanted)

    return update_wrapper(call, f)


def explicit_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    in_sharding: Any = None,
) -> Any:
    """Return a function whose arguments lie as asked when it begins.

    Args:
      f: the function; without it a decorator is returned.
      axes: the mesh axes that are meant; inside too XLA decides about all.
      in_sharding: how the positional arguments lie: a tree of shardings or specs that is a prefix
        of their tuple.  A call may give its own as ``in_sharding=``.

    Raises:
      TypeError: ``f`` is not callable.
      ValueError: a call has no ``in_sharding``, or an argument cannot be divided so.

    Example:
      >>> import jxkernel as jx, jxkernel.numpy as jnp
      >>> rows = jx.NamedSharding(jx.make_mesh((1,), ("x",)), jx.P("x"))
      >>> jx.sharding.explicit_axes(jnp.sum, in_sharding=rows)(jnp.arange(3)).item()
      3
    """
    if f is None:
        return partial(explicit_axes, axes=axes, in_sharding=in_sharding)
    check_callable("explicit_axes", "f", f)
    given = in_sharding

    def call(*args: Any, in_sharding: Any = None, **kwargs: Any) -> Any:
        wanted = given if in_sharding is None else in_sharding
        if wanted is None:
            raise ValueError("explicit_axes needs to know how arguments lie: give it in_sharding=")
        return f(*_lying("explicit_axes", "in_sharding", args, wanted), **kwargs)

    return update_wrapper(call, f)


def smap(
    f: Callable[..., Any] | None = None,
    /,
    *,
    in_axes: Any = 0,
    out_axes: Any,
    axis_name: Hashable,
) -> Any:
    """Run a function on every device along one axis of the mesh, by axes as ``vmap`` takes them.

    Args:
      f: a function of local pieces; it may use collectives over the axis.  Without it a decorator
        is returned.
      in_axes: for each positional argument the axis that is divided, None for none; a pytree of
        these may mirror (a prefix of) an argument.
      out_axes: the same for the results: along which axis the pieces are joined.
      axis_name: an axis of the mesh of ``set_mesh``.  XLA divides over the others.

    Returns:
      a function of whole arrays.  Unlike with ``vmap`` a piece keeps its axis.

    Raises:
      TypeError: ``f`` is not callable.
      ValueError: no mesh is set, it has no such axis, or a size does not divide.

    Example:
      >>> import jxkernel as jx, jxkernel.numpy as jnp
      >>> with jx.set_mesh(jx.make_mesh((1,), ("x",))):
      ...     jx.smap(lambda x: x.sum(keepdims=True), in_axes=0, out_axes=0, axis_name="x")(
      ...         jnp.arange(4)
      ...     )
      Array([6], dtype=int32)
    """
    if f is None:
        return partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    check_callable("smap", "f", f)
    return shard_map(
        f,
        in_specs=_specs("in_axes", in_axes, axis_name),
        out_specs=_specs("out_axes", out_axes, axis_name),
        axis_names={axis_name},
    )


def _specs(parameter: str, axes: Any, name: Hashable) -> Any:
    """Return a tree of axes as a tree of specs.

    Raises:
      TypeError: an entry is neither an axis nor None.
    """

    def spec(axis: Any) -> PartitionSpec:
        if axis is None:
            return PartitionSpec()
        if type(axis) is not int or axis < 0:
            raise TypeError(f"smap {parameter} needs axes counted from 0 or None, got {axis!r:.50}")
        return PartitionSpec(*[None] * axis, name)

    return tree.map(spec, axes, is_leaf=lambda axis: axis is None)
