"""Clients, devices, arrays and transfers: the PJRT runtime as the rest of jxkernel sees it.

It knows avals (the type of an array) and nothing of primitives, tracing or compilation.
"""

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
from jxkernel.runtime.lapack import prepare_lapack

__all__ = [
    "Array",
    "ArrayImpl",
    "Backend",
    "array_from_host",
    "as_device_array",
    "backend",
    "backends",
    "block_until_ready",
    "clear_backends",
    "default_device",
    "device_put_single",
    "devices",
    "local_devices",
    "prepare_lapack",
    "shard_argument",
    "value_of",
]
