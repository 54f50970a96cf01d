"""Programs for devices to come: lowered over a mesh that has none, compiled once they are named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jxkernel.compile.placement import Placement, as_typed, mesh_of, preferred
from jxkernel.core.jaxpr import ClosedJaxpr, subjaxprs
from jxkernel.sharding import AbstractMesh, Mesh, NamedSharding
from jxkernel.sharding.mesh import current_mesh

__all__ = ["has_devices", "of_coming_devices", "on_devices", "with_devices"]

Shardings = Sequence[Any]
"""A sharding for each argument or result, None where none is given."""


def has_devices(target: Any) -> bool:
    """Whether a device or a placement is of devices that are there."""
    return type(target) is not Placement or isinstance(target.mesh, Mesh)


def with_devices(closed: ClosedJaxpr, *given: Shardings) -> tuple[tuple[Any, ...], ...] | None:
    """Return shardings with those over meshes without devices on a mesh that has some.

    That mesh is one of another sharding, of the program, or of ``set_mesh``.

    Args:
      closed: the program.
      *given: shardings of its arguments and results.

    Returns:
      None where there is no such mesh, and a sharding needs one.
    """
    named = [one for one in _flat(given) if isinstance(one, NamedSharding)]
    wanted = [one.mesh for one in named if isinstance(one.mesh, AbstractMesh)]
    if not wanted:
        return tuple([tuple(some) for some in given])
    there = [one.mesh for one in named if isinstance(one.mesh, Mesh)]
    meshes = [mesh for mesh in (*there, mesh_of(closed), current_mesh()) if mesh is not None]
    found = {mesh: next((m for m in meshes if m.abstract_mesh == mesh), None) for mesh in wanted}
    if None in found.values():
        return None
    return tuple([tuple([_moved(one, found) for one in some]) for some in given])


def _flat(given: Sequence[Shardings]) -> Iterator[Any]:
    for some in given:
        yield from some


def _moved(sharding: Any, found: dict[Any, Any]) -> Any:
    if not isinstance(sharding, NamedSharding) or sharding.mesh not in found:
        return sharding
    return NamedSharding(found[sharding.mesh], sharding.spec)


def of_coming_devices(
    name: str, closed: ClosedJaxpr, ins: Shardings, outs: Shardings
) -> Placement | None:
    """Return the placement of a program on devices to come; None for a program of one device.

    Args:
      name: the function, for messages.
      closed: the program.
      ins: shardings of its arguments, None where open.
      outs: the same for its results.

    Raises:
      ValueError: it speaks of different numbers of devices, or of some that are there as well.
    """
    given = [one for one in (*ins, *outs) if one is not None]
    others = [one for one in given if not isinstance(getattr(one, "mesh", None), AbstractMesh)]
    meshes = [one.mesh for one in given if one not in others]
    meshes = list(dict.fromkeys([*meshes, *_abstract_meshes(closed)]))
    sizes = sorted({mesh.size for mesh in meshes})
    if not sizes or sizes == [1]:
        return None
    if others or mesh_of(closed) is not None or len(sizes) > 1:
        beside = others or [one for one in [mesh_of(closed)] if one is not None]
        listed = ", ".join(map(repr, [*meshes, *beside]))
        raise ValueError(
            f"{name} is divided over {listed}: a program is for one number of devices, which are "
            "either all there or all to come; give one mesh"
        )
    mesh = meshes[0]
    free = preferred(closed, mesh)
    return Placement(
        mesh,
        tuple([one or other for one, other in zip(ins, free, strict=True)]),
        tuple([one or as_typed(x, mesh) for one, x in zip(outs, closed.out_avals, strict=True)]),
    )


def _abstract_meshes(closed: ClosedJaxpr) -> Iterator[AbstractMesh]:
    """Yield the meshes without devices that equations speak of."""
    for eqn in closed.eqns:
        sharding = eqn.params.get("sharding")
        mesh = sharding.mesh if isinstance(sharding, NamedSharding) else eqn.params.get("mesh")
        if isinstance(mesh, AbstractMesh):
            yield mesh
        for inner in subjaxprs(eqn.params):
            yield from _abstract_meshes(inner)


def on_devices(placement: Placement, devices: Sequence[Any] | None) -> Placement:
    """Return a placement on devices to come as one on devices.

    Raises:
      ValueError: none are named, or another number than the placement is for.
    """
    size = placement.mesh.size
    if devices is None or len(devices) != size:
        said = "no device_assignment" if devices is None else f"{len(devices)} devices"
        raise ValueError(
            f"a program for {size} devices to come got {said}: name that many, "
            "lowered.compile(device_assignment=tuple(devices))"
        )
    old = placement.mesh
    # Filled one by one: NumPy is not to look into devices.
    grid = np.empty(size, object)
    grid[:] = list(devices)
    mesh = Mesh(grid.reshape(old.axis_sizes), old.axis_names, axis_types=old.axis_types)

    def moved(shardings: Shardings) -> tuple[Any, ...]:
        return tuple([one and NamedSharding(mesh, one.spec) for one in shardings])

    return replace(
        placement,
        mesh=mesh,
        in_shardings=moved(placement.in_shardings),
        out_shardings=moved(placement.out_shardings),
    )
