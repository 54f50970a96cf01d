"""Programs for many devices: meshes and shardings in modules.

A module for several devices has a mesh; its arguments (and results, where they are asked for)
say how they are divided over it, and XLA divides everything between.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jxkernel import hlo
from jxkernel.core.explicit_sharding import explicit_axes_of
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.records import record
from jxkernel.sharding.mesh import Mesh
from jxkernel.sharding.named import NamedSharding, shares_of
from jxkernel.sharding.spec import PartitionSpec, axes_of

__all__ = [
    "Meshes",
    "Partitioning",
    "constant_sharding",
    "entries_of",
    "partitioned_signature",
    "pin_results",
]

_FIRST = "mesh"
"""The symbol of the first mesh of a module."""

_ONE_DEVICE = "first_device"
"""The symbol of the mesh that is the first device alone."""


@record()
class Partitioning:
    """How a program's arguments and results are divided over devices.

    Attributes:
      mesh: the mesh; its devices in row-major order are the program's partitions.  It has none
        where a program is lowered for devices to come.
      in_shardings: one per argument.
      out_shardings: one per result; None where XLA chooses.
    """

    mesh: Any
    in_shardings: tuple[NamedSharding, ...]
    out_shardings: tuple[NamedSharding | None, ...]


def entries_of(spec: PartitionSpec, rank: int) -> list[tuple[Any, ...] | None]:
    """Return, for each axis of a value, the mesh axes that divide it; None where XLA chooses."""
    given: list[tuple[Any, ...] | None] = [
        None if entry is PartitionSpec.UNCONSTRAINED else axes_of(entry)
        for entry in spec.partitions
    ]
    return [*given, *[() for _ in range(rank - len(given))]]


class Meshes:
    """The meshes that a module declares; each gets a symbol when it is first used."""

    def __init__(self, builder: hlo.ModuleBuilder) -> None:
        self._builder = builder
        self._symbols: dict[Any, str] = {}
        self._devices: tuple[Any, ...] | None = None

    def symbol(self, mesh: Any) -> str:
        """Return the symbol of a mesh.

        Raises:
          ValueError: its devices, in their order, are not those of the module.
        """
        axes, devices = (mesh.axis_names, mesh.axis_sizes), getattr(mesh, "device_tuple", None)
        key = (axes, devices)
        found = self._symbols.get(key)
        if found is None and devices is None:
            same = [symbol for (known, _), symbol in self._symbols.items() if known == axes]
            found = next(iter(same), None)
        if found is None:
            self._check_devices(devices)
            attribute = hlo.mesh_attribute(mesh.shape_tuple)
            found = self._symbols[key] = self._builder.declare_mesh(_FIRST, attribute)
        return found

    def _check_devices(self, devices: tuple[Any, ...] | None) -> None:
        """Check that the devices of a mesh are the module's, which those of the first become."""
        if devices is None:
            return
        first = self._devices = self._devices or devices
        if devices != first:
            raise ValueError(
                "Received incompatible devices for jitted computation: a sharding is over "
                f"{[d.id for d in devices]} and the computation over "
                f"{[d.id for d in first]}"
            )

    def on_first_device(self, results: int) -> dict[str, Any]:
        """Return the attributes of an operation that one device carries out for all."""
        symbol = self._builder.declare_mesh(_ONE_DEVICE, hlo.mesh_attribute((), (0,)))
        places = hlo.sharding_per_value(symbol, [((), ())] * max(results, 1))
        return {"sdy.sharding": places}

    def sharding(self, sharding: NamedSharding, rank: int) -> Any:
        """Return the attribute that says how a value of a rank is divided."""
        symbol = self.symbol(sharding.mesh)
        return hlo.sharding_attribute(
            symbol, entries_of(sharding.spec, rank), (), shares_of(sharding)
        )

    def explicit_sharding(
        self, sharding: NamedSharding, rank: int, manual: frozenset[Any] = frozenset()
    ) -> Any:
        """Return the attribute of a sharding over explicit axes; over others XLA may divide.

        Args:
          sharding: the sharding.
          rank: the rank of the value.
          manual: the mesh axes that a ``shard_map`` around handles; of these nothing is said.
        """
        entries: Any = entries_of(sharding.spec, rank)
        symbol, explicit = self.symbol(sharding.mesh), explicit_axes_of(sharding.mesh)
        shares = [name for name in shares_of(sharding) if name not in manual]
        # Of a value that XLA may divide further its partitioner forgets that it is shares.
        if shares or (len(explicit) == len(sharding.mesh.axis_names) and not manual):
            return hlo.sharding_attribute(symbol, entries, (), shares)
        named = {*shares, *manual, *[name for names in entries for name in names or ()]}
        whole = [name for name in sharding.mesh.axis_names if name in explicit - named]
        open_entries = [(*(names or ()), ...) for names in entries]
        return hlo.sharding_attribute(symbol, open_entries, whole, shares)


def constant_sharding(const: Any, mesh: Mesh) -> NamedSharding:
    """Return how a constant lies on a mesh: as it does already, else whole on every device."""
    own = getattr(const, "sharding", None)
    if isinstance(own, NamedSharding) and own._device_assignment == mesh.device_tuple:
        return own
    return NamedSharding(mesh, PartitionSpec())


def partitioned_signature(
    meshes: Meshes,
    closed: ClosedJaxpr,
    partitioning: Partitioning,
    kept: Sequence[int],
    donated: Sequence[bool],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the attributes of the arguments and results of ``main``.

    Args:
      meshes: the module's meshes; that of the partitioning becomes the first.
      closed: the program.
      partitioning: how it is divided.
      kept: which of constants and arguments, counted together, ``main`` takes.
      donated: for each of these, whether its buffer may hold a result.
    """
    jaxpr = closed.jaxpr
    meshes.symbol(partitioning.mesh)
    constants = [constant_sharding(const, partitioning.mesh) for const in closed.consts]
    shardings = [*constants, *partitioning.in_shardings]
    variables = [*jaxpr.constvars, *jaxpr.invars]
    arguments: list[dict[str, Any]] = []
    for index, donate in zip(kept, donated, strict=True):
        rank = variables[index].aval.ndim
        donor = {"jax.buffer_donor": hlo.bool_attr(True)} if donate else {}
        arguments.append({"sdy.sharding": meshes.sharding(shardings[index], rank), **donor})
    results: list[dict[str, Any]] = [
        {} if sharding is None else {"sdy.sharding": meshes.sharding(sharding, aval.ndim)}
        for sharding, aval in zip(partitioning.out_shardings, jaxpr.out_avals, strict=True)
    ]
    return arguments, results


def pin_results(
    module: Any, partitioning: Partitioning, ranks: Sequence[int], *, tokens: int = 0
) -> None:
    """Write into a module how its results are divided, all of them given.

    Args:
      module: a module that was lowered for the mesh of the partitioning.
      partitioning: with a sharding for each result.
      ranks: the ranks of the results.
      tokens: how many further results are tokens.
    """
    attributes: list[dict[str, Any]] = [
        {"sdy.sharding": _first_attribute(sharding, rank)}
        for sharding, rank in zip(partitioning.out_shardings, ranks, strict=True)
        if sharding is not None
    ]
    hlo.set_result_attributes(module, "main", [*attributes, *[{}] * tokens])


def _first_attribute(sharding: NamedSharding, rank: int) -> Any:
    """Return the attribute of a sharding over the first mesh of a module."""
    entries = entries_of(sharding.spec, rank)
    return hlo.sharding_attribute(_FIRST, entries, (), shares_of(sharding))
