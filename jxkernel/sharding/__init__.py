"""Where the pieces of arrays lie: meshes of devices, specs, shardings.  Pure data.

It knows devices as opaque objects of jaxlib, and nothing of arrays, tracing or compilation.
Three functions of the API that users look for here are given to it by the façade.
"""

from collections.abc import Callable
from typing import Any

from jxkernel._lazy import lazy_names
from jxkernel.config import no_collectives
from jxkernel.sharding.mesh import (
    AbstractDevice,
    AbstractMesh,
    AxisType,
    Mesh,
    get_abstract_mesh,
    get_mesh,
    set_mesh,
    use_abstract_mesh,
)
from jxkernel.sharding.named import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    make_single_device_sharding,
)
from jxkernel.sharding.spec import ManualAxisType, PartitionSpec, UnreducedKind

__all__ = [
    "AbstractDevice",
    "AbstractMesh",
    "AxisType",
    "ManualAxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "UnreducedKind",
    "auto_axes",
    "explicit_axes",
    "get_abstract_mesh",
    "get_mesh",
    "make_single_device_sharding",
    "no_collectives",
    "reshard",
    "set_mesh",
    "use_abstract_mesh",
]

auto_axes: Callable[..., Any]
explicit_axes: Callable[..., Any]
reshard: Callable[..., Any]
__getattr__, __dir__ = lazy_names(__name__)
