"""The devices that programs are compiled for, as one thing."""

from collections.abc import Sequence
from typing import Any

from jxkernel.api.global_arrays import create_device_mesh
from jxkernel.records import record
from jxkernel.runtime import device_topology, devices
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
) -> TopologyDescription:
    """Return devices that need not be here, to make meshes of and to lower programs for.

    Args:
      topology_name: which devices, as the platform names them, ``"v5e:2x2"``.
      platform: its name; ``"tpu"`` where not given.
      **kwargs: options of the platform.

    Raises:
      NotImplementedError: the platform describes no devices but those that are here: the CPU.
      RuntimeError: its plugin is not installed, or does not load.

    A package describes those of its platform by ``register_backend_factory(make_topology=...)``.
    """
    topology = device_topology(platform or "tpu", topology_name, kwargs)
    return TopologyDescription(list(topology._make_compile_only_devices()))


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
