"""How an exported program is divided over devices, apart from any devices.

A program is exported for a number of devices, which are counted as a mesh lists them.  Its
shardings are over meshes without devices; where it is called, the first of those devices is the
first of the caller's mesh, whatever that mesh's axes are.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from jxkernel._reprs import counted
from jxkernel.compile.placement import respelled
from jxkernel.compile.stages import Traced
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.explicit_sharding import Entries, explicit_sharding_of
from jxkernel.core.jaxpr import ClosedJaxpr, subjaxprs
from jxkernel.primitives.sharding.constraints import constrain
from jxkernel.records import record
from jxkernel.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec
from jxkernel.sharding.mesh import current_mesh
from jxkernel.sharding.named import positions_of
from jxkernel.sharding.spec import axes_of

__all__ = [
    "ProgramShardings",
    "entries_over",
    "on_current_mesh",
    "over_mesh",
    "read_sharding",
    "shardings_of",
    "tiled",
    "written_sharding",
]

Shardings = tuple[NamedSharding | None, ...]
"""A sharding for each argument or result, None where none is given."""


@record()
class ProgramShardings:
    """How a program is divided: shardings over meshes without devices.

    Attributes:
      nr_devices: how many devices it is for.
      ins: the shardings of its flat arguments.
      outs: the shardings of its flat results.
    """

    nr_devices: int
    ins: Shardings
    outs: Shardings


def shardings_of(traced: Traced) -> tuple[Mesh | AbstractMesh | None, ProgramShardings]:
    """Return the mesh that a program is for, None for one device, and its shardings.

    Shardings of arguments and results are those that are given, those of ``ShapeDtypeStruct`` and
    of arrays that lie on a mesh, and what types say of explicit axes.

    Raises:
      ValueError: they are over different numbers or orders of devices, or name a kind of memory.
    """
    closed, options = traced.program, traced.options
    results = options.results or (None,) * len(closed.out_avals)
    ins = [_given(*pair) for pair in zip(options.shardings, closed.in_avals, strict=True)]
    outs = [_given(*pair) for pair in zip(results, closed.out_avals, strict=True)]
    outer = [sharding.mesh for sharding in (*ins, *outs) if sharding is not None]
    meshes = list(dict.fromkeys((*outer, *_meshes_in(closed))))
    sizes = list(dict.fromkeys([mesh.size for mesh in meshes]))
    if len(sizes) > 1:
        raise ValueError(
            f"{traced.fun_name} cannot be exported: it is divided over meshes of "
            f"{' and of '.join(map(str, sizes))} devices, {meshes}; a program is for one number "
            "of devices"
        )
    orders = {mesh.device_tuple: mesh for mesh in meshes if isinstance(mesh, Mesh)}
    if len(orders) > 1:
        listed = " and ".join([str([device.id for device in order]) for order in orders])
        raise ValueError(
            f"{traced.fun_name} cannot be exported: it is divided over the devices {listed}, and "
            "a program is for devices in one order: use one mesh, or meshes that list the same "
            "devices in the same order"
        )
    main = next(iter(orders.values()), next(iter(meshes), None))
    count = 1 if main is None else main.size
    found = ProgramShardings(count, _without_devices(ins), _without_devices(outs))
    return main if count > 1 else None, found


def _given(sharding: Any, aval: ShapedArray) -> NamedSharding | None:
    """Return the sharding of an argument or result: what is given, else what its type says."""
    if not isinstance(sharding, NamedSharding):
        return aval.explicit_sharding
    if sharding.memory_kind not in (None, "device"):
        raise ValueError(
            f"{sharding} cannot be exported: a program that leaves its process says nothing of "
            "kinds of memory; move its results where it is called"
        )
    return sharding


def _meshes_in(closed: ClosedJaxpr) -> Iterator[Any]:
    """Yield the meshes that a program speaks of; where its constants lie says nothing."""
    for eqn in closed.eqns:
        sharding = eqn.params.get("sharding")
        mesh = sharding.mesh if isinstance(sharding, NamedSharding) else eqn.params.get("mesh")
        if isinstance(mesh, Mesh | AbstractMesh):
            yield mesh
        for inner in subjaxprs(eqn.params):
            yield from _meshes_in(inner)


def _without_devices(shardings: Sequence[NamedSharding | None]) -> Shardings:
    """Return shardings over the same meshes without their devices."""
    return tuple(
        [
            None if given is None else NamedSharding(given.mesh.abstract_mesh, given.spec)
            for given in shardings
        ]
    )


def _is_open(sharding: NamedSharding) -> bool:
    """Whether XLA decides about an axis."""
    return PartitionSpec.UNCONSTRAINED in sharding.spec.partitions


def tiled(shardings: Shardings, avals: Sequence[ShapedArray]) -> tuple[Any, ...]:
    """Return shardings as XLA's; None where none is given, or XLA decides about an axis."""
    return tuple(
        [
            None if given is None or _is_open(given) else given._to_xla_hlo_sharding(aval.ndim)
            for given, aval in zip(shardings, avals, strict=True)
        ]
    )


def over_mesh(
    shardings: Shardings, avals: Sequence[ShapedArray], mesh: Mesh | AbstractMesh, name: str
) -> Shardings:
    """Return shardings that put the same pieces on the devices of a mesh, counted in its order.

    Args:
      shardings: the shardings.
      avals: the types of what they divide.
      mesh: the mesh.
      name: the program's name, for messages.

    Raises:
      ValueError: the mesh has another number of devices, or its axes cannot say it.
    """
    found: list[NamedSharding | None] = []
    for given, aval in zip(shardings, avals, strict=True):
        if given is not None and given.mesh.size != mesh.size:
            raise ValueError(
                f"{name} was exported for {counted(given.mesh.size, 'device')}, and {mesh!r} has "
                f"{mesh.size}: "
                "give a mesh of as many devices"
            )
        moved = None if given is None else _moved(given, aval.ndim, mesh)
        if given is not None and moved is None:
            raise ValueError(
                f"{name} was exported with {given.spec} over {given.mesh!r}, which axes of "
                f"{mesh!r} cannot say: give a mesh of the same shape"
            )
        found.append(moved)
    return tuple(found)


def _moved(sharding: NamedSharding, rank: int, mesh: Mesh | AbstractMesh) -> NamedSharding | None:
    if sharding.mesh.axis_sizes == mesh.axis_sizes:
        names = dict(zip(sharding.mesh.axis_names, mesh.axis_names, strict=True))
        return NamedSharding(mesh, PartitionSpec(*[_renamed(e, names) for e in sharding.spec]))
    if _is_open(sharding):
        return None
    return respelled(positions_of(sharding, rank), sharding.counts(rank), mesh)


def _renamed(entry: Any, names: dict[Any, Any]) -> Any:
    if isinstance(entry, tuple):
        return tuple([names[name] for name in entry])
    return names.get(entry, entry)


def entries_over(sharding: NamedSharding | None, rank: int, mesh: Any) -> Entries:
    """Return the entries by which explicit axes of a mesh say a sharding; none where they cannot.

    Args:
      sharding: the sharding.
      rank: the rank of what it divides.
      mesh: the mesh that types speak of.
    """
    fits = sharding is not None and sharding.mesh.size == mesh.size
    moved = _moved(sharding, rank, mesh) if fits else None
    explicit_sharding = explicit_sharding_of(moved, rank)
    return (None,) * rank if explicit_sharding is None else explicit_sharding.spec.partitions


def on_current_mesh(leaves: Sequence[Any], count: int) -> list[Any]:
    """Return arguments of a program for several devices, on the mesh of ``set_mesh`` if free.

    Args:
      leaves: the arguments; one that lies on devices already, or whose type is divided, stays.
      count: how many devices the program is for.
    """
    mesh = current_mesh()
    if count == 1 or mesh is None or mesh.size != count:
        return list(leaves)
    mesh = mesh.update_axis_types(dict.fromkeys(mesh.axis_names, AxisType.Auto))

    def placed(leaf: Any) -> Any:
        if getattr(leaf, "committed", False) or abstractify(leaf).explicit_sharding is not None:
            return leaf
        spec = PartitionSpec(*[PartitionSpec.UNCONSTRAINED] * abstractify(leaf).ndim)
        return constrain(leaf, NamedSharding(mesh, spec))

    return [placed(leaf) for leaf in leaves]


def written_sharding(sharding: NamedSharding | None) -> Any:
    """Return a sharding over a mesh without devices as lists, texts and numbers.

    Raises:
      ValueError: the name of a mesh axis is no text or integer.
    """
    if sharding is None:
        return None
    mesh = sharding.mesh
    for name in mesh.axis_names:
        if not isinstance(name, (str, int)):
            raise ValueError(f"the mesh axis {name!r} cannot be written: name it by text")
    types = [kind.name for kind in mesh.axis_types]
    entries = [
        None if entry is PartitionSpec.UNCONSTRAINED else axes_of(entry) for entry in sharding.spec
    ]
    return [mesh.axis_sizes, mesh.axis_names, types, entries]


def read_sharding(written: Any) -> NamedSharding | None:
    """Return the sharding that ``written_sharding`` wrote."""
    if written is None:
        return None
    sizes, names, types, entries = written
    mesh = AbstractMesh(sizes, tuple(names), tuple([AxisType[kind] for kind in types]))
    return NamedSharding(mesh, PartitionSpec(*[_read_entry(entry) for entry in entries]))


def _read_entry(entry: list[Any] | None) -> Any:
    if entry is None:
        return PartitionSpec.UNCONSTRAINED
    return entry[0] if len(entry) == 1 else tuple(entry) or None
