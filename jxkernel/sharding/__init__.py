"""Where the pieces of arrays lie: meshes of devices, specs, shardings.  Pure data.

It knows devices as opaque objects of jaxlib, and nothing of arrays, tracing or compilation.
"""

from jxkernel.sharding.mesh import (
    AbstractMesh,
    AxisType,
    Mesh,
    get_abstract_mesh,
    get_mesh,
    set_mesh,
)
from jxkernel.sharding.named import NamedSharding, Sharding, SingleDeviceSharding
from jxkernel.sharding.spec import PartitionSpec

__all__ = [
    "AbstractMesh",
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "get_abstract_mesh",
    "get_mesh",
    "set_mesh",
]
