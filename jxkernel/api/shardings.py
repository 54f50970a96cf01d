"""Shardings as users give them: trees of shardings, specs and None, for trees of arrays."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from jxkernel import tree
from jxkernel._jaxlib import ArrayImpl, Device
from jxkernel._reprs import with_type
from jxkernel.core.avals import abstractify, shape_of
from jxkernel.errors import AxisError, NoMeshError
from jxkernel.primitives.arguments import operand_aval
from jxkernel.primitives.sharding.constraints import constrain, reshard_to
from jxkernel.records import record
from jxkernel.runtime.clients import sharding_on
from jxkernel.sharding import NamedSharding, PartitionSpec, Sharding
from jxkernel.sharding.layout import Format, sharding_of
from jxkernel.sharding.mesh import AbstractMesh, Mesh, current_mesh
from jxkernel.sharding.named import divides_alike, is_empty
from jxkernel.tree import physical

__all__ = ["UNSPECIFIED", "GivenShardings", "as_sharding", "with_sharding_constraint"]


class _Unspecified:
    """The default of ``in_shardings`` and ``out_shardings``: XLA, or the arguments, decide."""

    def __repr__(self) -> str:
        return "UNSPECIFIED"


UNSPECIFIED = _Unspecified()


def _is_leaf(value: Any) -> bool:
    kinds = (PartitionSpec, Sharding, Format, _Unspecified, Device)
    return value is None or isinstance(value, kinds)


def as_sharding(value: Any, who: str, where: str = "shardings") -> Any:
    """Return a sharding for what a user gives; None for None and for what is open.

    Args:
      value: a sharding, a device, a spec, a format; a sharding over a mesh without axes says
        nothing, as None, and one over a mesh without devices is over the mesh that is set.
      who: the function that takes it, for messages.
      where: its parameter.

    Raises:
      RuntimeError: it is a spec, and no mesh is set.
      TypeError: it is something else.
    """
    if isinstance(value, Format):
        value = sharding_of(value, f"{who} {where}")
    if value is None or isinstance(value, _Unspecified):
        return None
    if isinstance(value, PartitionSpec):
        mesh = current_mesh()
        if mesh is None:
            raise NoMeshError(f"{who} {where}", repr(value))
        return NamedSharding(mesh, value)
    if isinstance(value, Device):
        return sharding_on(value)
    if isinstance(value, Sharding):
        return None if is_empty(value) else _on_the_mesh(value)
    raise TypeError(
        f"{who} got {with_type(value)} in {where}: give shardings, PartitionSpecs or None"
    )


def _on_the_mesh(sharding: Any) -> Any:
    """Return a sharding over a mesh without devices as over the one set, if it has those axes."""
    if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, AbstractMesh):
        current = current_mesh()
        if isinstance(current, Mesh) and current.abstract_mesh == sharding.mesh:
            return sharding.update(mesh=current)
    return sharding


@record()
class GivenShardings:
    """A tree of shardings, in a form that can be part of a key.

    Attributes:
      leaves: the shardings, specs and Nones.
      structure: how they are arranged.
    """

    leaves: tuple[Any, ...]
    structure: Any

    @staticmethod
    def of(value: Any, who: str, where: str) -> "GivenShardings | None":
        """Return the tree, None where nothing is specified.

        Raises:
          TypeError: a leaf is no sharding.
        """
        leaves, structure = physical.flatten(value, is_leaf=_is_leaf)
        for leaf in leaves:
            if not _is_leaf(leaf):
                as_sharding(leaf, who, where)
        if all(leaf is None or isinstance(leaf, _Unspecified) for leaf in leaves):
            return None
        return GivenShardings(tuple(leaves), structure)

    def flat_for(self, structure: Any, who: str, where: str) -> list[Any]:
        """Return a sharding or None for each leaf of a tree of which this is a prefix.

        Raises:
          ValueError: it is no prefix.
          RuntimeError: a spec refers to no mesh.
        """
        example = structure.unflatten([0] * structure.num_leaves)
        given = self.structure.unflatten(self.leaves)
        given = tuple(given) if isinstance(given, list) and isinstance(example, tuple) else given
        try:
            full = physical.broadcast_prefix(given, example, is_leaf=_is_leaf)
        except ValueError as error:
            raise ValueError(f"{who} {where}: its structure is no prefix: {error}") from None
        return [as_sharding(leaf, who, where) for leaf in physical.leaves(full, is_leaf=_is_leaf)]


def positional_shardings(given: GivenShardings, in_tree: Any, who: str) -> list[Any]:
    """Return what ``jit`` was given for the leaves of a call's arguments, all positional.

    Args:
      given: the tree.
      in_tree: the structure of the positional and the keyword arguments.
      who: the function's name.

    Raises:
      ValueError: an argument came by keyword, or the tree is no prefix of theirs.
      RuntimeError: a spec refers to no mesh.
    """
    positional, keyword = in_tree.children()
    if keyword.num_leaves:
        by_keyword = sorted(keyword.unflatten([None] * keyword.num_leaves))
        raise ValueError(
            f"{who} has in_shardings, which are of positional arguments, and got arguments by "
            f"keyword: {by_keyword}; pass these by position"
        )
    return given.flat_for(positional, "jit", "in_shardings")


def check_arguments(args: Sequence[Any], shardings: Sequence[Any], names: Any, who: str) -> None:
    """Check arguments against the shardings that ``jit`` was given for them.

    Args:
      args: flat arguments.
      shardings: a sharding or None for each.
      names: gives their names.
      who: the function's name.

    Raises:
      ValueError: an argument cannot be divided so, or is committed and divided otherwise; one
        that lies on other devices, or on the same in another order, is moved.
    """
    for index, (arg, sharding) in enumerate(zip(args, shardings, strict=True)):
        if sharding is None:
            continue
        aval = abstractify(arg)
        try:
            sharding.check_compatible_aval(aval.shape)
        except ValueError as error:
            raise ValueError(f"Argument {names()[index]} of {who}: {error}") from None
        if type(arg) is not ArrayImpl or not arg._committed:
            continue
        if not divides_alike(sharding, arg.sharding, aval.ndim):
            raise ValueError(
                "Sharding passed to jit does not match the sharding on the respective arg. Got jit "
                f"sharding: {sharding}, arg sharding: {arg.sharding} for {names()[index]} of "
                f"{who}, {aval.short()}: move it with device_put, or leave in_shardings out"
            )


def lying(args: Sequence[Any], given: Sequence[Any] | None) -> list[Any]:
    """Return the sharding of each argument: the one given, or as it lies; None where free."""
    found: list[Any] = list(given) if given is not None else [None] * len(args)
    for index, arg in enumerate(args):
        if found[index] is None:
            bound = type(arg) is not ArrayImpl or arg._committed
            found[index] = getattr(arg, "sharding", None) if bound else None
    return found


@contextmanager
def naming_leaf(
    who: str, leaves: Sequence[Any], shardings: Sequence[Any], structure: Any, root: str = "x"
) -> Generator[None]:
    """In this block an error of a leaf that is no array, or not divisible so, says which it is.

    Args:
      who: the function that was called, for the message.
      leaves: arrays, or their types.
      shardings: a sharding or None for each.
      structure: how they are arranged.
      root: what the whole is called.

    Raises:
      TypeError: a leaf is no array.
      ValueError: a leaf cannot be divided so.
    """
    try:
        yield
    except AxisError:
        raise
    except (TypeError, ValueError):
        for index, (leaf, sharding) in enumerate(zip(leaves, shardings, strict=True)):
            path = root + tree.keystr(physical.leaf_paths(structure)[index])
            if not hasattr(leaf, "shape"):
                operand_aval(f"{who}, {path}", leaf)
            try:
                if sharding is not None:
                    sharding.check_compatible_aval(shape_of(leaf))
            except ValueError as error:
                raise ValueError(f"{who}, {path}: {error}") from None
        raise


def constrained(values: Sequence[Any], shardings: Sequence[Any] | None) -> list[Any]:
    """Return values, each with the sharding given for it."""
    if shardings is None:
        return list(values)
    return [
        value if sharding is None else reshard_to(value, sharding)
        for value, sharding in zip(values, shardings, strict=True)
    ]


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Say how arrays are divided over devices, inside a jitted function or outside.

    Args:
      x: a tree of arrays.
      shardings: a tree of shardings (a prefix of ``x``'s): ``NamedSharding``, or a
        ``PartitionSpec`` under ``set_mesh``, where None is the spec of a whole array.  Of an axis
        whose entry is ``PartitionSpec.UNCONSTRAINED`` XLA decides.

    Returns:
      the same values, lying as asked.

    Raises:
      ValueError: an array cannot be divided so, None is given and no mesh is set, or
        ``shardings`` is no prefix of ``x``.  Inside a jitted function a size need be no multiple
        of its number of parts, unless axes are explicit.
      RuntimeError: a spec is given and no mesh is set.
      TypeError: something else stands for a sharding, or a leaf of ``x`` is no array.

    The derivative is the identity, with the same constraint.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> from jxkernel.sharding import Mesh, NamedSharding, PartitionSpec as P
    >>> rows = NamedSharding(Mesh(jx.devices()[:1], ("x",)), P("x"))
    >>> jx.jit(lambda x: jx.lax.with_sharding_constraint(x * 2, rows))(jnp.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    leaves, structure = physical.flatten(x)
    shardings = physical.map(_said, shardings, is_leaf=_is_leaf)
    given = GivenShardings.of(shardings, "with_sharding_constraint", "shardings")
    if given is None:
        return x
    flat = given.flat_for(structure, "with_sharding_constraint", "shardings")
    with naming_leaf("with_sharding_constraint", leaves, flat, structure):
        return structure.unflatten(
            [
                leaf if sharding is None else constrain(leaf, sharding)
                for leaf, sharding in zip(leaves, flat, strict=True)
            ]
        )


def _said(sharding: Any) -> Any:
    """Return a sharding as it is; for None the spec of a whole array, which needs a mesh."""
    if sharding is not None:
        return sharding
    if current_mesh() is None:
        raise ValueError(
            "with_sharding_constraint got None in shardings, which says nothing: give a Sharding "
            "(P() for an array that is whole on every device), or leave that array out of the call"
        )
    return PartitionSpec()
