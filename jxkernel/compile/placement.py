"""Where a program runs: on one device, or divided over the devices of a mesh.

A call runs on a mesh when an argument lies on one, when the program itself speaks of one
(``with_sharding_constraint``, ``shard_map``, types), when the caller gives shardings, or when
nothing binds it and a mesh is set (``set_mesh``).  A constraint to one device binds it to that.  A
``Placement`` is then what executables are made for and remembered by; for one device it is the
device itself, and nothing here costs more than looking at the arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from math import prod
from typing import Any

import numpy as np

from jxkernel._jaxlib import (
    ArrayImpl,
    CompileOptions,
    DeviceAssignment,
    DeviceList,
    HloSharding,
)
from jxkernel.core.avals import abstractify
from jxkernel.core.explicit_sharding import explicit_axes_of
from jxkernel.core.jaxpr import ClosedJaxpr, subjaxprs
from jxkernel.errors import IncompatibleDevicesError
from jxkernel.lowering import Partitioning
from jxkernel.primitives.sharding.constraints import sharding_constraint_p
from jxkernel.runtime import backends, default_device, has_sharding, place, platform_of
from jxkernel.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec
from jxkernel.sharding.mesh import computing_mesh, concrete_mesh, current_mesh
from jxkernel.sharding.named import is_single, positions_of
from jxkernel.transforms.dce import dce_jaxpr

__all__ = [
    "Placement",
    "as_typed",
    "compile_options",
    "device_list",
    "devices_of",
    "mesh_of",
    "named",
    "pinned",
    "placed_argument",
    "placement_for",
    "preferred",
    "program_shardings",
    "respelled",
    "result_shardings",
    "target_device",
    "whole_on",
]

Placement = Partitioning
"""A mesh with the shardings of a program's arguments and results."""


def target_device(
    args: Sequence[Any],
    wanted: Any = None,
    *,
    closed: ClosedJaxpr | None = None,
    shardings: Sequence[Any] | None = None,
    results: Sequence[Any] | None = None,
    keep_unused: bool = False,
) -> tuple[Any, bool]:
    """Return the device or ``Placement`` to run on, and whether the call is bound to it.

    An argument that no result depends on has no say in it.

    Args:
      args: flat arguments.
      wanted: the device that the caller asks for.
      closed: the program, which may itself speak of a mesh.
      shardings: for each argument the sharding that the caller asks for, or None.
      results: the same for the results.
      keep_unused: whether arguments that the program never reads count too.

    Raises:
      ValueError: arguments are committed to different devices, or do not fit their shardings.
    """
    if shardings is None and results is None and (closed is None or not _speaks(closed)):
        found: Any = wanted
        first: int | None = None
        for index, arg in enumerate(args):
            if type(arg) is ArrayImpl and arg._committed:
                if closed is not None and not _reads(closed, keep_unused)[index]:
                    continue
                sharding = arg._sharding
                if not is_single(sharding):
                    break
                device = sharding._device
                if found is None:
                    found, first = device, index
                elif found != device and wanted is None:
                    raise _incompatible(args, (first, [found]), (index, [device]))
        else:
            mesh = None if wanted is not None or closed is None else computing_mesh()
            if mesh is None or not _binds(mesh, found):
                return (default_device(), False) if found is None else (found, True)
    assert closed is not None, "who may run on several devices gives the program"
    return placement_for(closed, args, wanted, shardings, results, keep_unused)


def _speaks(closed: ClosedJaxpr) -> bool:
    """Whether a program, a constant of it or the type of a result speaks of a mesh or a device."""
    if mesh_of(closed) is not None or _named_devices(closed):
        return True
    return any(aval.explicit_sharding for aval in closed.out_avals)


def _binds(mesh: Mesh, device: Any) -> bool:
    """Whether a mesh that is set says where a call runs that a device (or None) binds."""
    return device is None or mesh.device_tuple == (device,)


def _reads(closed: ClosedJaxpr, keep_unused: bool) -> list[bool]:
    """Return for each argument whether results or effects depend on it, or it is to stay anyway."""
    if keep_unused:
        return [True] * len(closed.in_avals)
    return closed.remember(_read)


def _read(closed: ClosedJaxpr) -> list[bool]:
    _, used = dce_jaxpr(closed.jaxpr, [True] * len(closed.out_avals))
    return list(used[len(closed.jaxpr.constvars) :])


Side = tuple[int | None, Sequence[Any]]
"""An argument's number, or None for the call itself, and its devices."""


def _incompatible(args: Sequence[Any], one: Side, other: Side) -> IncompatibleDevicesError:
    """Return the error of arguments that lie on different devices."""

    def described(side: Side) -> tuple[int | None, str, str]:
        index, devices = side
        if index is None or index >= len(args):
            return None, "", _listed(devices)
        return index, abstractify(args[index]).short(), _listed(devices)

    return IncompatibleDevicesError(described(one), described(other))


def _listed(devices: Sequence[Any]) -> str:
    """Return devices in words: the platform, and the numbers."""
    platforms = "/".join(dict.fromkeys([device.platform.upper() for device in devices]))
    numbers = [device.id for device in devices]
    shown = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers}"
    text = f"{platforms} device{'' if len(numbers) == 1 else 's'} {shown}"
    if any(device.client is not backends().get(platform_of(device)) for device in devices):
        text += " of a client that is no longer the current one"
    return text


def placement_for(
    closed: ClosedJaxpr,
    args: Sequence[Any],
    wanted: Any = None,
    shardings: Sequence[Any] | None = None,
    results: Sequence[Any] | None = None,
    keep_unused: bool = False,
) -> tuple[Any, bool]:
    """Return the placement (or the one device) of a call that may run on several devices.

    Raises:
      ValueError: arguments or shardings are for different devices.
    """
    asked = list(shardings) if shardings is not None else [None] * len(args)
    wanted_results = tuple(results) if results is not None else (None,) * len(closed.out_avals)
    wishes = [
        given if given is not None else _committed(arg)
        for given, arg in zip(asked, args, strict=True)
    ]
    reads = _reads(closed, keep_unused)
    placed = [wish if read else None for wish, read in zip(wishes, reads, strict=True)]
    named_devices = _named_devices(closed) if wanted is None else ()
    given = (*placed, *wanted_results, *named_devices)
    involved = [sharding for sharding in given if sharding is not None]
    among = _mesh_among(involved)
    own = _named_mesh(closed) or (_constant_mesh(closed) if among is None else None)
    among = among or _mesh_of_results(closed, wishes)
    mesh = _of_types(closed, own, among) or (_current_mesh(involved) if wanted is None else None)
    if mesh is None:
        device = involved[0]._device if involved else wanted
        for sharding in involved:
            if sharding._device != device:
                raise _incompatible(args, _side(placed, [device]), _side(placed, sharding))
        return (default_device(), False) if device is None else (device, True)
    for sharding in involved:
        if tuple(sharding._device_assignment) != mesh.device_tuple:
            other = _side(placed, sharding)
            raise _incompatible(args, _side(placed, mesh.device_tuple, other[0]), other)
    ins = _of_arguments(closed, mesh, wishes)
    typed = _says_types(closed, own, args)
    outs = [
        (as_typed(aval, mesh) if typed else None)
        if sharding is None
        else _on_mesh(sharding, mesh, aval.ndim)
        for sharding, aval in zip(wanted_results, closed.out_avals, strict=True)
    ]
    return Placement(mesh, ins, tuple(outs)), True


def _current_mesh(involved: Sequence[Any]) -> Mesh | None:
    """Return the mesh of ``set_mesh``, unless shardings bind the call to other devices."""
    mesh = computing_mesh()
    if mesh is None or any(each._device_assignment != mesh.device_tuple for each in involved):
        return None
    return mesh


def _mesh_of_results(closed: ClosedJaxpr, wishes: Sequence[Any]) -> Mesh | None:
    """Return the mesh that a result is divided over, where what is read lies on none.

    It is that of an argument that is not read, else the one of ``set_mesh``, else the newest.
    """
    shardings = (aval.explicit_sharding for aval in closed.out_avals)
    wanted = next((one.mesh for one in shardings if one is not None), None)
    if wanted is None:
        return None
    meshes = [wish.mesh for wish in wishes if wish is not None and not is_single(wish)]
    return next((mesh for mesh in meshes if mesh.abstract_mesh == wanted), concrete_mesh(wanted))


def _of_arguments(
    closed: ClosedJaxpr, mesh: Mesh, wishes: Sequence[Any]
) -> tuple[NamedSharding, ...]:
    """Return how arguments are divided over a mesh: as wished, else as the program divides them.

    Raises:
      ValueError: one cannot be divided so.
    """
    avals = closed.in_avals
    free = preferred(closed, mesh) if None in wishes else wishes
    ins = [
        preference if sharding is None else _on_mesh(sharding, mesh, aval.ndim)
        for sharding, preference, aval in zip(wishes, free, avals, strict=True)
    ]
    for sharding, aval in zip(ins, avals, strict=True):
        sharding.check_compatible_aval(aval.shape)
    return tuple(ins)


def _of_types(closed: ClosedJaxpr, own: Mesh | None, among: Mesh | None) -> Mesh | None:
    """Return the mesh to run on: the program's own, else that of arguments.

    Those axes are explicit that types of arguments and results speak of; where none does, those
    that are in the mesh of the arguments.
    """
    mesh = own or among
    if mesh is None:
        return None
    if own is not None and among is not None and own.shape == among.shape:
        mesh = among if own.device_tuple == among.device_tuple else own
    for aval in (*closed.in_avals, *closed.out_avals):
        if aval.explicit_sharding is not None:
            explicit = explicit_axes_of(aval.explicit_sharding.mesh).intersection(mesh.axis_names)
            return mesh.update_axis_types(dict.fromkeys(explicit, AxisType.Explicit))
    return mesh


def _says_types(closed: ClosedJaxpr, own: Mesh | None, args: Sequence[Any]) -> bool:
    """Whether types say how results lie: not where a mesh comes from shardings asked for alone."""
    if own is not None or current_mesh() is not None:
        return True
    if any(aval.explicit_sharding is not None for aval in (*closed.in_avals, *closed.out_avals)):
        return True
    lie = [_committed(value) for value in (*args, *closed.consts)]
    return any(isinstance(given, NamedSharding) and explicit_axes_of(given.mesh) for given in lie)


def as_typed(aval: Any, mesh: Mesh | AbstractMesh) -> NamedSharding | None:
    """Return how a result lies as its type says; None where XLA decides about axes of the mesh."""
    if AxisType.Explicit not in mesh.axis_types:
        return None
    if AxisType.Auto in mesh.axis_types and not aval.unreduced and not aval.reduced:
        return None
    spec = PartitionSpec() if aval.explicit_sharding is None else aval.explicit_sharding.spec
    return NamedSharding(mesh, spec)


def _side(placed: Sequence[Any], where: Any, besides: int | None = None) -> Side:
    """Return the first argument that lies on devices (or as a sharding says), and the devices."""
    devices = tuple(getattr(where, "_device_assignment", where))
    for index, sharding in enumerate(placed):
        if sharding is None or index == besides:
            continue
        if tuple(sharding._device_assignment) == devices:
            return index, devices
    return None, devices


def _committed(arg: Any) -> Any:
    return arg._sharding if type(arg) is ArrayImpl and arg._committed else None


def _mesh_among(shardings: Sequence[Any]) -> Mesh | None:
    """Return the mesh of the shardings, rather one with explicit axes; None where none has one."""
    meshes = [sharding.mesh for sharding in shardings if not is_single(sharding)]
    return next((mesh for mesh in meshes if explicit_axes_of(mesh)), next(iter(meshes), None))


def whole_on(mesh: Mesh | AbstractMesh) -> NamedSharding:
    """Return the sharding that repeats an array on each device of a mesh."""
    return NamedSharding(mesh, PartitionSpec())


def _on_mesh(sharding: Any, mesh: Mesh, rank: int) -> NamedSharding:
    """Return a sharding in terms of a mesh; whole where it cannot be said in them."""
    if is_single(sharding):
        return whole_on(mesh)
    if sharding.mesh == mesh or PartitionSpec.UNCONSTRAINED in sharding.spec.partitions:
        return sharding
    if sharding._device_assignment != mesh.device_tuple:
        return whole_on(mesh)
    if sharding.spec.puts_off and sharding.mesh.shape_tuple == mesh.shape_tuple:
        return sharding.update(mesh=mesh)
    counts = sharding.counts(rank)
    return respelled(positions_of(sharding, rank), counts, mesh) or whole_on(mesh)


def mesh_of(closed: ClosedJaxpr) -> Mesh | None:
    """Return the mesh with devices that a program or a constant of it speaks of, or None."""
    return _named_mesh(closed) or _constant_mesh(closed)


def _named_mesh(closed: ClosedJaxpr) -> Mesh | None:
    """Return the mesh that an equation names, which binds every call of the program."""
    return closed.remember(_mesh_of_eqns)


def _constant_mesh(closed: ClosedJaxpr) -> Mesh | None:
    """Return the mesh that a constant lies on; constants go where the arguments of a call are."""
    return closed.remember(_mesh_of_constants)


def program_shardings(closed: ClosedJaxpr) -> list[NamedSharding] | None:
    """Return where a program that names a mesh takes its arguments; None for one of no mesh."""
    mesh = _named_mesh(closed)
    return None if mesh is None else preferred(closed, mesh)


def preferred(closed: ClosedJaxpr, mesh: Mesh | AbstractMesh) -> list[NamedSharding]:
    """Return where arguments had best lie that lie nowhere yet: as the program divides them."""
    return closed.remember(_preferred, mesh)


def _preferred(closed: ClosedJaxpr, mesh: Mesh | AbstractMesh) -> list[NamedSharding]:
    wishes: dict[Any, NamedSharding] = {}
    for eqn in closed.eqns:
        specs = eqn.params.get("in_specs")
        if specs is not None and eqn.params.get("mesh") == mesh:
            for atom, spec in zip(eqn.invars, specs, strict=True):
                wishes.setdefault(atom, NamedSharding(mesh, spec))
    whole = whole_on(mesh)
    return [wishes.get(var, whole) for var in closed.jaxpr.invars]


def _mesh_of_eqns(closed: ClosedJaxpr) -> Mesh | None:
    for eqn in closed.eqns:
        if not eqn.params:
            continue
        if "mesh" in eqn.params and isinstance(eqn.params["mesh"], Mesh):
            return eqn.params["mesh"]
        sharding = eqn.params.get("sharding")
        if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, Mesh):
            return sharding.mesh
        for inner in subjaxprs(eqn.params):
            found = _named_mesh(inner)
            if found is not None:
                return found
    return None


def _named_devices(closed: ClosedJaxpr) -> tuple[Any, ...]:
    """Return the shardings of one device that a program's constraints ask for, each once."""
    return closed.remember(_devices_of_constraints)


def _devices_of_constraints(closed: ClosedJaxpr) -> tuple[Any, ...]:
    found: dict[Any, None] = {}
    for eqn in closed.eqns:
        if eqn.primitive is sharding_constraint_p and is_single(eqn.params["sharding"]):
            found[eqn.params["sharding"]] = None
        for inner in subjaxprs(eqn.params) if eqn.params else ():
            found |= dict.fromkeys(_named_devices(inner))
    return tuple(found)


def _mesh_of_constants(closed: ClosedJaxpr) -> Mesh | None:
    for const in closed.consts:
        if type(const) is ArrayImpl and not is_single(const._sharding):
            return const._sharding.mesh
    inner = [
        _constant_mesh(one) for eqn in closed.eqns if eqn.params for one in subjaxprs(eqn.params)
    ]
    return next((mesh for mesh in inner if mesh is not None), None)


def devices_of(target: Any) -> tuple[Any, ...]:
    """Return the devices of a target, in the order of the program's partitions."""
    return target.mesh.device_tuple if type(target) is Placement else (target,)


def compile_options(target: Any, tokens: int = 0) -> Any:
    """Return XLA's options for a device or a placement, of a program with some tokens."""
    devices = devices_of(target)
    options = CompileOptions()
    options.num_replicas = 1
    options.num_partitions = len(devices)
    ids = np.array([[device.id for device in devices]], np.int32)
    options.device_assignment = DeviceAssignment.create(ids)
    if type(target) is Placement:
        build = options.executable_build_options
        build.num_partitions = len(devices)
        build.use_spmd_partitioning = True
        build.use_shardy_partitioner = True
        build.device_assignment = options.device_assignment
        free = [_final(sharding) is None for sharding in target.out_shardings]
        build.allow_spmd_sharding_propagation_to_output = [*free, *[False] * tokens]
    return options


def free_compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: Any = None,
    env_options_overrides: Mapping[str, Any] | None = None,
) -> Any:
    """Return XLA's options for a program that somebody else compiles.

    Args:
      num_replicas: how many copies of the program run.
      num_partitions: among how many devices one copy is divided.
      device_assignment: the numbers of the devices, of shape (num_replicas, num_partitions); XLA
        chooses where not given.
      env_options_overrides: XLA flags by name.

    Raises:
      ValueError: the assignment has another shape.
    """
    options = CompileOptions()
    options.num_replicas, options.num_partitions = num_replicas, num_partitions
    build = options.executable_build_options
    build.num_replicas, build.num_partitions = num_replicas, num_partitions
    build.use_spmd_partitioning = num_partitions > 1
    build.use_shardy_partitioner = True
    if device_assignment is not None:
        ids = np.asarray(device_assignment, np.int32).reshape(num_replicas, -1)
        if ids.shape != (num_replicas, num_partitions):
            raise ValueError(
                f"device_assignment has {ids.size} devices for {num_replicas} copies of a program "
                f"in {num_partitions} parts: it has one number for each part"
            )
        options.device_assignment = DeviceAssignment.create(ids)
        build.device_assignment = options.device_assignment
    options.env_option_overrides = list((env_options_overrides or {}).items())
    return options


def device_list(target: Any) -> Any:
    """Return a target's devices as jaxlib's list."""
    return target.mesh.device_list if type(target) is Placement else DeviceList((target,))


def placed_argument(array: Any, sharding: NamedSharding) -> Any:
    """Return an argument as the program wants it."""
    if array._sharding is sharding or has_sharding(array, sharding):
        return array
    return place(array, sharding)


# ---------------------------------------------------------------- results


def result_shardings(xla: Any, placement: Placement, ranks: Sequence[int]) -> list[Any]:
    """Return the shardings of the results that XLA chose; None for one the mesh cannot say."""
    chosen = (xla.get_output_shardings() or [None] * len(ranks))[: len(ranks)]
    return [
        given if given is not None else _parsed(proto, placement.mesh, rank)
        for given, proto, rank in zip(
            [_final(given) for given in placement.out_shardings], chosen, ranks, strict=True
        )
    ]


def _final(sharding: NamedSharding | None) -> NamedSharding | None:
    """Return a sharding that was asked for, None where it leaves something open."""
    if sharding is None or PartitionSpec.UNCONSTRAINED in sharding.spec.partitions:
        return None
    return sharding


def pinned(placement: Placement, outs: Sequence[Any]) -> Placement:
    """Return a placement with all results asked for; those that cannot be said, whole."""
    given = tuple([out or whole_on(placement.mesh) for out in outs])
    return Placement(placement.mesh, placement.in_shardings, given)


def _parsed(proto: Any, mesh: Mesh, rank: int) -> NamedSharding | None:
    if proto is None:
        return whole_on(mesh)
    return named(HloSharding.from_proto(proto), mesh, rank)


def named(sharding: Any, mesh: Mesh, rank: int) -> NamedSharding | None:
    """Return a sharding of XLA's as one over a mesh; None for one that the mesh cannot say."""
    if sharding.is_replicated() or rank == 0 or sharding.is_maximal():
        return whole_on(mesh)
    dims = sharding.tile_assignment_dimensions()
    grid = np.asarray(sharding.tile_assignment_devices()).reshape(dims)
    places = np.indices(dims).reshape(len(dims), -1)[:rank].T
    positions: list[tuple[int, ...]] = [()] * mesh.size
    for device, at in zip(grid.ravel().tolist(), places.tolist(), strict=True):
        positions[device] = tuple(at)
    return respelled(tuple(positions), tuple(dims[:rank]), mesh)


def respelled(
    positions: tuple[tuple[int, ...], ...], counts: Sequence[int], mesh: Mesh | AbstractMesh
) -> NamedSharding | None:
    """Return the sharding over a mesh that puts pieces where they are, None if there is none.

    Args:
      positions: for each device, the place of its piece in the grid of pieces.
      counts: into how many pieces each axis is divided.
      mesh: the mesh.
    """
    for entries in _spellings(list(counts), tuple(mesh.axis_names), mesh):
        while entries and entries[-1] is None:
            entries = entries[:-1]
        found = NamedSharding(mesh, PartitionSpec(*entries))
        if positions_of(found, len(counts)) == positions:
            return found
    return None


def _spellings(counts: list[int], names: tuple[Any, ...], mesh: Mesh | AbstractMesh) -> Any:
    """Yield the entries by which axes of these names divide into these numbers of pieces."""
    if not counts:
        yield ()
        return
    first, *rest = counts
    for length in range(len(names) + 1):
        for chosen in permutations(names, length):
            if any(mesh.shape[name] == 1 for name in chosen):
                continue
            if prod([mesh.shape[name] for name in chosen]) != first:
                continue
            left = tuple([name for name in names if name not in chosen])
            entry = None if not chosen else chosen[0] if len(chosen) == 1 else chosen
            for others in _spellings(rest, left, mesh):
                yield (entry, *others)
