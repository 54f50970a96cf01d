"""How a value is divided over explicit mesh axes, as a part of its type.

Over a mesh axis of type ``AxisType.Explicit`` it is not XLA that decides how a value is divided.
Its type says it (``ShapedArray.explicit_sharding``), ``f32[8@x,4]``, and each primitive has a rule,
``sharding``, that says how its result is divided where its operands are::

    rule(out, *avals, **params) -> entries

``out`` is the result's type without a sharding (a list of types where there are several results)
and ``entries`` holds for each of its axes the mesh axis, a tuple of them or None (a list of such).
A rule is asked only where an operand is divided.  Where the operands leave it open it raises
``Undecided`` with what to write, which becomes the user's ``ShardingTypeError``.

The one canonical form: a value that no explicit axis divides has no explicit sharding, whatever
mesh it lies on.  So "whole" and "of no mesh" are one type, and a value of it agrees with every
other: each device has all of it, and cutting it takes no communication.

Sums over devices may be put off: then a type names the mesh axes (``ShapedArray.unreduced``), the
value is the sum of what the devices along them hold, and only what is linear may be done with it.
A rule that says of which operands its operation is linear is a ``SummingRule``; every other
operation refuses such operands.  The cotangent of such a value is the same on all devices, and a
type that says ``reduced`` is that of a value whose cotangent is a sum that is put off.

This module must not know of primitives or traces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, Protocol, runtime_checkable

from jxkernel.config import remove_size_one_mesh_axis_from_type
from jxkernel.errors import ShardingTypeError
from jxkernel.sharding.mesh import AxisType
from jxkernel.sharding.named import NamedSharding
from jxkernel.sharding.spec import PartitionSpec, axes_of

__all__ = [
    "AS_TYPED",
    "SUM_FIRST",
    "Entries",
    "SummingRule",
    "Undecided",
    "entry_count",
    "entry_text",
    "explicit_axes_of",
    "explicit_sharding_of",
    "listed",
    "require_no_exchange",
    "require_summed",
    "sharded_results",
]

Entries = tuple[Any, ...]
"""For each axis of a value: a mesh axis, a tuple of them, or None."""


class Undecided(Exception):
    """The operands of an operation do not say how its result is divided.

    Args:
      why: what is not decided, as the end of a sentence about the operation.
      instead: what the user may write.
    """

    def __init__(self, why: str, *instead: str) -> None:
        super().__init__(why)
        self.why = why
        self.instead = instead


def AS_TYPED(out: Any, *avals: Any, **params: Any) -> Any:  # it stands for a rule
    """Stand for the rule of a primitive whose ``abstract_eval`` gives types with their shardings.

    Such are calls of programs, which are typed already, and what changes a sharding itself.
    """
    raise AssertionError("never called: results keep the types they have")


@runtime_checkable
class SummingRule(Protocol):
    """A rule of an operation that operands may be given to whose sums over devices are put off."""

    def __call__(self, out: Any, *avals: Any, **params: Any) -> Any:
        """Return the entries of the result, as every rule does."""
        ...

    def unreduced(self, avals: Sequence[Any], params: dict[str, Any]) -> frozenset[Any]:
        """Return the mesh axes over which the sum is put off that gives the result.

        Raises:
          Undecided: the operation cannot be done before sums of operands.
        """
        ...

    def reduced(self, avals: Sequence[Any]) -> frozenset[Any]:
        """Return the mesh axes over which the sum is put off that gives its cotangent."""
        ...


@lru_cache(maxsize=4096)
def explicit_axes_of(mesh: Any) -> frozenset[Any]:
    """Return the axes of a mesh that are explicit."""
    pairs = zip(mesh.axis_names, mesh.axis_types, strict=True)
    return frozenset([name for name, kind in pairs if kind is AxisType.Explicit])


def explicit_sharding_of(sharding: Any, rank: int) -> NamedSharding | None:
    """Return what a sharding says of explicit axes, in the form that types hold; None for nothing.

    Args:
      sharding: any sharding; only a ``NamedSharding`` has such axes.
      rank: the rank of the value.

    Under ``remove_size_one_mesh_axis_from_type`` axes of size 1 are left out.
    """
    return _said_of_explicit_axes(sharding, rank, remove_size_one_mesh_axis_from_type.value)


@lru_cache(maxsize=4096)
def _said_of_explicit_axes(sharding: Any, rank: int, without_ones: bool) -> NamedSharding | None:
    if not isinstance(sharding, NamedSharding):
        return None
    explicit = explicit_axes_of(sharding.mesh)
    if without_ones:
        explicit = frozenset([name for name in explicit if sharding.mesh.shape[name] > 1])
    if not explicit:
        return None
    spec = sharding.spec
    given = [
        tuple([name for name in axes_of(entry) if name in explicit]) for entry in spec.partitions
    ]
    if not any(given) and not spec.puts_off:
        return None
    typed = spec.update(partitions=(*given, *[None] * (rank - len(given))))
    return NamedSharding(sharding.mesh.abstract_mesh, typed)


def entry_count(mesh: Any, entry: Any) -> int:
    """Return into how many pieces an entry divides an axis."""
    sizes = mesh.shape
    return prod([sizes[name] for name in axes_of(entry)])


def entry_text(entry: Any) -> str:
    """Return an entry as types print it after a size: ``@x``, ``@(x,y)``, nothing for None."""
    names = axes_of(entry)
    if not names:
        return ""
    return f"@{names[0]}" if len(names) == 1 else f"@({','.join(map(str, names))})"


def sharded_results(
    name: str,
    rule: Callable[..., Any] | None,
    avals: Sequence[Any],
    out: Any,
    params: dict[str, Any],
    place: Callable[[], dict[str, Any]] = dict,
) -> Any:
    """Return result types with their shardings; some operand is divided.

    Args:
      name: the primitive's name, for messages.
      rule: its rule; None where it has none.
      avals: the operands' types.
      out: the result's type, or a list of types.
      params: the primitive's parameters.
      place: gives where in the user's code this is, for errors.

    Raises:
      ShardingTypeError: the operands do not decide it, or decide it in two ways.
    """
    if rule is AS_TYPED:
        return out
    single = hasattr(out, "explicit_sharding")
    results: list[Any] = [out] if single else [*out]
    try:
        if not results:
            require_summed(avals)
            return out
        mesh = _one_mesh(avals)
        if rule is None:
            raise Undecided(
                "and it has no rule that says how its result is divided",
                "leave it to XLA: jxkernel.sharding.auto_axes(f, out_sharding=P(...))(x)",
                "or make its operands whole: jxkernel.sharding.reshard(x, P())",
            )
        plain = [aval.update(explicit_sharding=None) for aval in results]
        sums = _sums(rule, avals, params)
        entries: Any = rule(plain[0] if single else plain, *avals, **params)
        results = [
            _with_entries(mesh, aval, each, *sums)
            for aval, each in zip(plain, [entries] if single else entries, strict=True)
        ]
    except Undecided as error:
        operands = ", ".join([aval.short() for aval in avals])
        parts = {"instead": error.instead} if error.instead else {}
        raise ShardingTypeError(name, operands, error.why, **parts, **place()) from None
    return results[0] if single else results


def _one_mesh(avals: Sequence[Any]) -> Any:
    """Return the mesh of the operands.

    Raises:
      Undecided: there are two.
    """
    mesh: Any = None
    for aval in avals:
        if aval.explicit_sharding is None:
            continue
        if mesh is None:
            mesh = aval.explicit_sharding.mesh
        elif aval.explicit_sharding.mesh != mesh:
            raise Undecided(
                f"and these are over two meshes, {mesh!r} and {aval.explicit_sharding.mesh!r}",
                "move one of them: jxkernel.device_put(x, NamedSharding(mesh, P(...)))",
            )
    return mesh


SUM_FIRST = "sum it first, by a spec without unreduced: jxkernel.sharding.reshard(x, P(...))"


def _sums(
    rule: Any, avals: Sequence[Any], params: dict[str, Any]
) -> tuple[frozenset[Any], frozenset[Any]]:
    """Return the mesh axes over which sums are put off that give the result, or its cotangent.

    Raises:
      Undecided: an operand is a sum that is put off, and the operation is not linear in it.
    """
    if isinstance(rule, SummingRule):
        return rule.unreduced(avals, params), rule.reduced(avals)
    require_summed(avals)
    return frozenset(), frozenset[Any]().union(*[aval.reduced for aval in avals])


def require_summed(avals: Iterable[Any]) -> None:
    """Refuse operands that are sums which are put off.

    Raises:
      Undecided: one is.
    """
    for aval in avals:
        if aval.unreduced:
            raise Undecided(
                f"and it is not linear in a sum over {listed(aval.unreduced)} that is put off",
                SUM_FIRST,
            )


def require_no_exchange(
    name: str,
    avals: Sequence[Any],
    outs: Sequence[Any],
    forbidden: Iterable[Any],
    place: Callable[[], dict[str, Any]],
) -> None:
    """Refuse an operation for whose result data go between devices: see ``no_collectives``.

    Args:
      name: the operation's name.
      avals: the types of its operands.
      outs: the types of its results.
      forbidden: the explicit mesh axes along which none may go.
      place: gives where in the user's code this is.

    Raises:
      ShardingTypeError: an axis divides an operand and not a result, or sums over it are made.
    """
    for axis in forbidden:
        why = _exchange(name, axis, avals, outs)
        if why:
            operands = ", ".join([aval.short() for aval in avals])
            raise ShardingTypeError(
                name,
                operands,
                f"and {why}, so data go along {axis!r}, which no_collectives forbids",
                instead=(
                    f"put a sum off: out_sharding=P(..., unreduced={{{axis!r}}})",
                    "or do it outside of the block",
                ),
                **place(),
            )


def _exchange(name: str, axis: Any, avals: Sequence[Any], outs: Sequence[Any]) -> str:
    """Return why data go along a mesh axis; nothing where they do not."""
    places = {at for aval in avals for at in _places(aval, axis)}
    summed = any(axis in aval.unreduced for aval in avals)
    for out in outs:
        stays = _places(out, axis)
        if summed and axis not in out.unreduced:
            return f"the sum over {axis!r} that was put off is made"
        if places and not stays and axis not in out.unreduced:
            return f"{axis!r} does not divide the result"
        if name == "reshard" and places and stays and places.isdisjoint(stays):
            return f"{axis!r} divides another axis of the result"
    return ""


def _places(aval: Any, axis: Any) -> list[int]:
    return [at for at, entry in enumerate(aval.entries) if axis in axes_of(entry)]


def listed(names: Iterable[Any]) -> str:
    """Return mesh axes as they stand in a sentence."""
    return ", ".join(map(repr, sorted(names, key=str)))


def _with_entries(
    mesh: Any, aval: Any, entries: Entries, unreduced: frozenset[Any], reduced: frozenset[Any]
) -> Any:
    """Return a type divided as the entries say, with sums over mesh axes put off.

    Raises:
      Undecided: a mesh axis divides two axes, or one over which a sum is put off, or a size is no
        multiple of its pieces.
    """
    assert len(entries) == aval.ndim, "one entry for each axis"
    names = [name for entry in entries for name in axes_of(entry)]
    reduced = reduced.difference(names, unreduced, aval.vma)
    if not names and not unreduced and not reduced:
        return aval
    for name in unreduced.intersection((*names, *aval.vma)):
        raise Undecided(
            f"and one is a sum over {name!r} that is put off, along which another differs",
            SUM_FIRST,
        )
    shown = ",".join(
        [f"{size}{entry_text(e)}" for size, e in zip(aval.shape, entries, strict=True)]
    )
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise Undecided(
            f"so that the mesh axis {twice!r} would divide two axes of the result, [{shown}]",
            f"divide one operand without {twice!r} first: jxkernel.sharding.reshard(x, P(...))",
            "or say what the result shall be: out_sharding=P(...)",
        )
    for size, entry in zip(aval.shape, entries, strict=True):
        count = entry_count(mesh, entry)
        if size % count:
            raise Undecided(
                f"so that an axis of size {size} of the result would be divided into {count} "
                f"pieces, [{shown}]",
                "make that axis whole first: jxkernel.sharding.reshard(x, P(...))",
            )
    spec = PartitionSpec(*entries, unreduced=unreduced, reduced=reduced)
    return aval.update(explicit_sharding=NamedSharding(mesh, spec))
