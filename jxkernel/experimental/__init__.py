"""What has its place under this name in programs written for JAX.

A façade: it re-exports.
"""

from types import ModuleType

from jxkernel._lazy import lazy_names
from jxkernel.api.callbacks import io_callback

__all__ = ["checkify", "io_callback", "mesh_utils", "ode", "xla_metadata"]

# Rarely used: imported at their first use.
checkify: ModuleType
mesh_utils: ModuleType
ode: ModuleType
xla_metadata: ModuleType
__getattr__, __dir__ = lazy_names(
    __name__, modules="checkify mesh_utils ode shard_map xla_metadata"
)
