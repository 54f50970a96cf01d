"""Clients, devices, arrays and transfers: the PJRT runtime as the rest of jxkernel sees it.

It knows avals (the type of an array) and nothing of primitives, tracing or compilation.
"""

from jxkernel._jaxlib import Device
from jxkernel.runtime.arrays import (
    Array,
    ArrayImpl,
    array_from_host,
    as_device_array,
    block_until_ready,
    device_put_single,
    shard_argument,
    value_of,
)
from jxkernel.runtime.clients import (
    Backend,
    backend,
    backends,
    clear_backends,
    default_device,
    devices,
    local_devices,
)
from jxkernel.runtime.dlpack import from_dlpack
from jxkernel.runtime.lapack import prepare_lapack
from jxkernel.runtime.topology import (
    default_backend,
    device_count,
    host_count,
    host_id,
    host_ids,
    live_arrays,
    local_device_count,
    print_environment_info,
    process_count,
    process_index,
    process_indices,
)

__all__ = [
    "Array",
    "ArrayImpl",
    "Backend",
    "Device",
    "array_from_host",
    "as_device_array",
    "backend",
    "backends",
    "block_until_ready",
    "clear_backends",
    "default_backend",
    "default_device",
    "device_count",
    "device_put_single",
    "devices",
    "from_dlpack",
    "host_count",
    "host_id",
    "host_ids",
    "live_arrays",
    "local_device_count",
    "local_devices",
    "prepare_lapack",
    "print_environment_info",
    "process_count",
    "process_index",
    "process_indices",
    "shard_argument",
    "value_of",
]
