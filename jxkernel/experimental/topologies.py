"""The devices that programs are compiled for, as one thing."""

from collections.abc import Sequence
from typing import Any, NoReturn

from jxkernel.api.global_arrays import create_device_mesh
from jxkernel.records import record
from jxkernel.runtime import devices
from jxkernel.sharding import Mesh

__all__ = ["TopologyDescription", "get_attached_topology", "get_topology_desc", "make_mesh"]


@record(eq=False)
class TopologyDescription:
    """Devices that belong together.

    Attributes:
      devices: the devices.
    """

    devices: list[Any]


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """Return the devices of a platform that are here.

    Args:
      platform: its name; the default one where not given.

    >>> from jxkernel.experimental import topologies
    >>> len(topologies.get_attached_topology().devices) >= 1
    True
    """
    return TopologyDescription(list(devices(platform)))


def get_topology_desc(
    topology_name: str = "", platform: str | None = None, **kwargs: Any
) -> NoReturn:
    """Refuse: programs are compiled for devices that are here, and lowered for others.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(
        f"get_topology_desc({topology_name!r}, {platform!r}): programs are compiled for devices "
        "that are here. For devices to come, give jit shardings over an AbstractMesh and lower for "
        'their platform, jit(f).trace(...).lower(lowering_platforms=("tpu",)), or export f'
    )


def make_mesh(
    topo: TopologyDescription,
    mesh_shape: Sequence[int],
    axis_names: Sequence[str],
    *,
    contiguous_submeshes: bool = False,
) -> Mesh:
    """Return a mesh of the devices of a topology.

    Args:
      topo: the topology.
      mesh_shape: the sizes of the axes; their product is the number of devices.
      axis_names: their names.
      contiguous_submeshes: accepted; devices stand in their order.

    Raises:
      ValueError: there are more or fewer devices than the shape has places.

    >>> from jxkernel.experimental import topologies
    >>> here = topologies.get_attached_topology()
    >>> topologies.make_mesh(here, (len(here.devices),), ("x",)).axis_names
    ('x',)
    """
    arranged = create_device_mesh(
        mesh_shape, topo.devices, contiguous_submeshes=contiguous_submeshes
    )
    return Mesh(arranged, tuple(axis_names))
