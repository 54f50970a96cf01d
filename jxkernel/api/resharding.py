"""Saying again how arrays lie: ``reshard``, ``auto_axes``, ``explicit_axes``, and ``smap``.

Over explicit mesh axes types say how values are divided.  ``reshard`` changes that; ``auto_axes``
leaves a stretch of a program to XLA, and says at its end how the results are divided;
``explicit_axes`` is its opposite.
"""

from collections.abc import Callable, Hashable
from contextlib import nullcontext
from functools import partial
from typing import Any

from jxkernel.api.arguments import named_like
from jxkernel.api.shard_map import shard_map
from jxkernel.api.shardings import GivenShardings, as_sharding, naming_leaf
from jxkernel.api.traced import check_callable
from jxkernel.api.transfer import put_leaf
from jxkernel.core.explicit_sharding import explicit_axes_of
from jxkernel.core.trace import Tracer, evaluating
from jxkernel.primitives.sharding.constraints import (
    beside_others,
    mesh_cast,
    require_reshard_allowed,
    reshard_to,
)
from jxkernel.runtime import Array
from jxkernel.sharding import (
    AxisType,
    NamedSharding,
    PartitionSpec,
    set_mesh,
)
from jxkernel.sharding.mesh import current_mesh
from jxkernel.tree import physical

__all__ = ["auto_axes", "explicit_axes", "reshard", "smap"]


def reshard(xs: Any, out_shardings: Any) -> Any:
    """Return arrays divided over devices in another way, inside a jitted function or outside.

    Args:
      xs: a tree of arrays.
      out_shardings: a tree of shardings (a prefix of ``xs``'s): ``NamedSharding``, or a
        ``PartitionSpec`` under ``set_mesh``.

    Raises:
      ValueError: an array cannot be divided so, or nothing is said.
      RuntimeError: a spec is given and no mesh is set.

    Over explicit axes the type changes with it.  The derivative is the identity; the cotangent is
    divided as ``xs`` was.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> mesh = jx.make_mesh((1,), ("x",))
    >>> rows = jx.NamedSharding(mesh, jx.P("x"))
    >>> print(jx.typeof(jx.reshard(jnp.arange(3), rows)))
    int32[3@x]
    """
    if out_shardings is None:
        raise ValueError(
            "reshard got None in out_shardings, which says nothing: give a sharding, or under "
            "set_mesh a PartitionSpec; P() is that of an array that is whole on every device"
        )
    return _lying("reshard", "out_shardings", xs, out_shardings)


def _lying(who: str, parameter: str, xs: Any, shardings: Any) -> Any:
    leaves, structure = physical.flatten(xs)
    given = GivenShardings.of(shardings, who, parameter)
    if given is None:
        return xs
    flat = given.flat_for(structure, who, parameter)
    with naming_leaf(who, leaves, flat, structure):
        return structure.unflatten(
            [
                leaf if sharding is None else _laid(leaf, sharding)
                for leaf, sharding in zip(leaves, flat, strict=True)
            ]
        )


def _laid(leaf: Any, sharding: Any) -> Any:
    traced = isinstance(leaf, Tracer) or not evaluating()
    if traced and isinstance(sharding, NamedSharding):
        return reshard_to(leaf, sharding)
    require_reshard_allowed(leaf, sharding)
    own = getattr(leaf, "sharding", None)
    wanted = beside_others(own, sharding) if isinstance(sharding, NamedSharding) else sharding
    return put_leaf(leaf, wanted)


def auto_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    out_sharding: Any = None,
) -> Any:
    """Return a function inside which XLA decides how values are divided over explicit axes.

    Args:
      f: the function; without it a decorator is returned.
      axes: the explicit axes that are left to XLA; all where not given.
      out_sharding: how the results lie: a tree of shardings or specs that is a prefix of the
        result.  A call may give its own as ``out_sharding=``.

    Returns:
      a function whose results lie as asked.  Inside, types of values do not show these axes.

    Raises:
      TypeError: ``f`` is not callable, or a call has no ``out_sharding``.
      ValueError: a result cannot be divided so.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> whole = jx.NamedSharding(jx.make_mesh((1,), ("x",)), jx.P())
    >>> jx.sharding.auto_axes(lambda x: x * 2, out_sharding=whole)(jnp.arange(3)).tolist()
    [0, 2, 4]
    """
    if f is None:
        return partial(auto_axes, axes=axes, out_sharding=out_sharding)
    check_callable("auto_axes", "f", f)
    given, names = out_sharding, (axes,) if isinstance(axes, str) else axes

    def inside(wanted: GivenShardings, args: Any, kwargs: Any) -> Any:
        cast = physical.map(lambda x: mesh_cast(x, names), (args, kwargs))
        with _retyped(names, AxisType.Auto):
            outs = f(*cast[0], **cast[1])
        leaves, structure = physical.flatten(outs)
        flat = wanted.flat_for(structure, "auto_axes", "out_sharding")
        with naming_leaf("auto_axes", leaves, flat, structure, "result"):
            return structure.unflatten(
                [
                    leaf if sharding is None else reshard_to(leaf, sharding)
                    for leaf, sharding in zip(leaves, flat, strict=True)
                ]
            )

    def call(*args: Any, out_sharding: Any = None, **kwargs: Any) -> Any:
        said = given if out_sharding is None else out_sharding
        wanted = GivenShardings.of(said, "auto_axes", "out_sharding")
        if wanted is None:
            raise TypeError(
                "auto_axes needs to know how results are divided: give it out_sharding=P(...)"
            )
        return inside(wanted, args, kwargs)

    return named_like(call, f)


def _retyped(names: Any, kind: AxisType) -> Any:
    """Return the block in which axes of the mesh of ``set_mesh`` are of another type."""
    mesh = current_mesh()
    if mesh is None:
        return nullcontext()
    return set_mesh(
        mesh.update_axis_types(dict.fromkeys(mesh.axis_names if names is None else names, kind))
    )


def explicit_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    in_sharding: Any = None,
) -> Any:
    """Return a function inside which types say how values are divided over mesh axes.

    Args:
      f: the function; without it a decorator is returned.
      axes: the mesh axes that are explicit inside; all where not given.
      in_sharding: how the positional arguments lie: a tree of shardings or specs that is a prefix
        of their tuple.  A call may give its own as ``in_sharding=``.

    Returns:
      a function to whose results XLA's freedom is given back.

    Raises:
      TypeError: ``f`` is not callable, or a call has no ``in_sharding``.
      ValueError: an argument cannot be divided so.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> rows = jx.NamedSharding(jx.make_mesh((1,), ("x",)), jx.P("x"))
    >>> jx.sharding.explicit_axes(jnp.sum, in_sharding=rows)(jnp.arange(3)).item()
    3
    """
    if f is None:
        return partial(explicit_axes, axes=axes, in_sharding=in_sharding)
    check_callable("explicit_axes", "f", f)
    given, names = in_sharding, (axes,) if isinstance(axes, str) else axes

    def call(*args: Any, in_sharding: Any = None, **kwargs: Any) -> Any:
        wanted = given if in_sharding is None else in_sharding
        if wanted is None:
            raise TypeError(
                "explicit_axes needs to know how arguments are divided: give it in_sharding=P(...)"
            )
        shardings, given_back = _made_explicit(wanted, names)
        with _retyped(names, AxisType.Explicit):
            outs = f(*_lying("explicit_axes", "in_sharding", args, shardings), **kwargs)
        return physical.map(
            lambda out: mesh_cast(out, given_back) if isinstance(out, Array) else out, outs
        )

    return named_like(call, f)


def _made_explicit(wanted: Any, names: tuple[Any, ...] | None) -> tuple[Any, tuple[Any, ...]]:
    """Return shardings with axes explicit, and those of these axes that were not before."""
    changed: dict[Any, None] = {}

    def typed(leaf: Any) -> Any:
        sharding = as_sharding(leaf, "explicit_axes", "in_sharding")
        if not isinstance(sharding, NamedSharding):
            return sharding
        mesh = sharding.mesh
        chosen = mesh.axis_names if names is None else names
        explicit = explicit_axes_of(mesh)
        changed.update(dict.fromkeys([name for name in chosen if name not in explicit]))
        return sharding.update(
            mesh=mesh.update_axis_types(dict.fromkeys(chosen, AxisType.Explicit))
        )

    def is_leaf(leaf: Any) -> bool:
        return leaf is None or isinstance(leaf, PartitionSpec)

    shardings = physical.map(typed, wanted, is_leaf=is_leaf)
    return shardings, tuple(changed)


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

    return physical.map(spec, axes, is_leaf=lambda axis: axis is None)
