"""What has its place under this name in programs written for JAX.

A façade: it re-exports.
"""

from typing import TYPE_CHECKING

from jxkernel._lazy import lazy_names
from jxkernel.api.callbacks import io_callback

__all__ = [
    "array_serialization",
    "buffer_callback",
    "checkify",
    "colocated_python",
    "compilation_cache",
    "compute_on",
    "custom_partitioning",
    "hijax",
    "io_callback",
    "jet",
    "key_reuse",
    "layout",
    "mesh_utils",
    "multihost_utils",
    "ode",
    "overlap",
    "pallas",
    "profiler",
    "random",
    "rnn",
    "scheduling_groups",
    "serialize_executable",
    "sparse",
    "topologies",
    "transfer",
    "xla_metadata",
]

# Rarely used: imported at their first use.
if TYPE_CHECKING:
    from jxkernel.experimental import (
        array_serialization,
        buffer_callback,
        checkify,
        colocated_python,
        compilation_cache,
        compute_on,
        custom_partitioning,
        hijax,
        jet,
        key_reuse,
        layout,
        mesh_utils,
        multihost_utils,
        ode,
        overlap,
        pallas,
        profiler,
        random,
        rnn,
        scheduling_groups,
        serialize_executable,
        sparse,
        topologies,
        transfer,
        xla_metadata,
    )
__getattr__, __dir__ = lazy_names(
    __name__,
    modules=(
        "array_serialization buffer_callback checkify colocated_python compilation_cache "
        "compute_on custom_partitioning hijax jet key_reuse layout mesh_utils "
        "multihost_utils ode overlap pallas pjit profiler random rnn scheduling_groups "
        "serialize_executable shard_map sparse topologies transfer "
        "xla_metadata"
    ),
)
