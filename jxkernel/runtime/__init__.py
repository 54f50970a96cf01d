"""Clients, devices, arrays and transfers: the PJRT runtime as the rest of jxkernel sees it.

It knows avals (the type of an array) and nothing of primitives, tracing or compilation.
"""

from __future__ import annotations

from jxkernel._jaxlib import Device
from jxkernel.runtime.arrays import (
    Array,
    ArrayImpl,
    array_from_host,
    as_device_array,
    block_until_ready,
    device_put_single,
    moved_to,
    note_narrowing,
    own_array,
    value_of,
    wait_for,
)
from jxkernel.runtime.clients import (
    Backend,
    backend,
    backends,
    clear_backends,
    default_device,
    default_platform,
    drop_stale_cpu,
    is_current,
    platform_of,
    plugin_states,
)
from jxkernel.runtime.failures import exception_behind, surfacing, unseen_failures
from jxkernel.runtime.host_calls import HostCall, HostFunction, Inspection, call_on_host
from jxkernel.runtime.lapack import prepare_lapack
from jxkernel.runtime.multiprocess import forget, join, joined, leave, serve
from jxkernel.runtime.ordering import (
    effects_barrier,
    effects_under_way,
    issue_token,
    previous_token,
    wait_for_effects,
    wait_for_order,
)
from jxkernel.runtime.placement import (
    array_from_callback,
    array_from_pieces,
    array_from_process_data,
    has_sharding,
    place,
    shard_argument,
)
from jxkernel.runtime.shards import Shard
from jxkernel.runtime.topology import (
    default_backend,
    device_count,
    devices,
    host_count,
    host_id,
    host_ids,
    live_arrays,
    local_device_count,
    local_devices,
    print_environment_info,
    process_count,
    process_index,
    process_indices,
)
from jxkernel.runtime.waiting import arrays_in, settle, under_way, wait

__all__ = [
    "Array",
    "ArrayImpl",
    "Backend",
    "Device",
    "HostCall",
    "HostFunction",
    "Inspection",
    "Shard",
    "array_from_callback",
    "array_from_host",
    "array_from_pieces",
    "array_from_process_data",
    "arrays_in",
    "as_device_array",
    "backend",
    "backends",
    "block_until_ready",
    "call_on_host",
    "clear_backends",
    "default_backend",
    "default_device",
    "default_platform",
    "device_count",
    "device_put_single",
    "devices",
    "drop_stale_cpu",
    "effects_barrier",
    "effects_under_way",
    "exception_behind",
    "forget",
    "has_sharding",
    "host_count",
    "host_id",
    "host_ids",
    "is_current",
    "issue_token",
    "join",
    "joined",
    "leave",
    "live_arrays",
    "local_device_count",
    "local_devices",
    "moved_to",
    "note_narrowing",
    "own_array",
    "place",
    "platform_of",
    "plugin_states",
    "prepare_lapack",
    "previous_token",
    "print_environment_info",
    "process_count",
    "process_index",
    "process_indices",
    "serve",
    "settle",
    "shard_argument",
    "surfacing",
    "under_way",
    "unseen_failures",
    "value_of",
    "wait",
    "wait_for",
    "wait_for_effects",
    "wait_for_order",
]
