"""jxkernel: traced, differentiated, vectorized and compiled array programs, for notebooks.

This façade re-exports the public names and, once per process, connects the two ports of the
core: what evaluates a primitive when nothing is being transformed, and what operators on arrays
mean.  IPython is not imported until ``%load_ext jxkernel``.

It raises Python's recursion limit (decision 9): nested functions are traced, transformed and
lowered by recursion, and 1,000 frames end at about 80 of them.
"""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from jxkernel import (
    distributed,
    dlpack,
    errors,
    lax,
    numpy,
    random,
    sharding,
    stages,
    tree,
    tree_util,
    typing,
    version,
)
from jxkernel._alias import alias, unalias
from jxkernel._alias import install as install_import_hook
from jxkernel._lazy import lazy_names
from jxkernel._version import __version__
from jxkernel.api import (
    block_until_ready,
    checkpoint,
    checkpoint_policies,
    clear_caches,
    copy_to_host_async,
    custom_jvp,
    custom_vjp,
    device_get,
    device_put,
    eval_shape,
    grad,
    hessian,
    jacfwd,
    jacobian,
    jacrev,
    jit,
    jvp,
    linear_transpose,
    linearize,
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
    make_jaxpr,
    make_mesh,
    pmap,
    pure_callback,
    remat,
    shard_map,
    value_and_grad,
    vjp,
    vmap,
)
from jxkernel.compile import EvalTrace, ShapeDtypeStruct, watch_executions
from jxkernel.config import (
    check_tracer_leaks,
    checking_leaks,
    config,
    debug_infs,
    debug_key_reuse,
    debug_nans,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    disable_jit,
    enable_checks,
    enable_x64,
    explain_cache_misses,
    log_compiles,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    threefry_partitionable,
)
from jxkernel.core.trace import install_base_trace
from jxkernel.dtypes import float0
from jxkernel.guards import (
    array_garbage_collection_guard,
    transfer_guard,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
    transfer_guard_host_to_device,
)
from jxkernel.numpy.operators import install_operators
from jxkernel.random.keys import enable_custom_prng, legacy_prng_key
from jxkernel.runtime import (
    Array,
    Device,
    Shard,
    default_backend,
    device_count,
    devices,
    effects_barrier,
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
from jxkernel.sharding import (
    NamedSharding,
    get_abstract_mesh,
    get_mesh,
    set_mesh,
    use_abstract_mesh,
)
from jxkernel.sharding import PartitionSpec as P
from jxkernel.version import __version_info__

__all__ = [
    "Array",
    "Device",
    "NamedSharding",
    "P",
    "ShapeDtypeStruct",
    "Shard",
    "__version__",
    "__version_info__",
    "ad_checkpoint",
    "alias",
    "array_garbage_collection_guard",
    "assert_max_traces",
    "benchmark",
    "block_until_ready",
    "check_tracer_leaks",
    "checking_leaks",
    "checkpoint",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "config",
    "copy_to_host_async",
    "custom_batching",
    "custom_derivatives",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "default_backend",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "disable_jit",
    "distributed",
    "dlpack",
    "effects_barrier",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "ensure_compile_time_eval",
    "errors",
    "eval_shape",
    "experimental",
    "explain_cache_misses",
    "export",
    "extend",
    "ffi",
    "flatten_util",
    "float0",
    "fwd_and_bwd",
    "get_abstract_mesh",
    "get_mesh",
    "grad",
    "hessian",
    "host_count",
    "host_id",
    "host_ids",
    "image",
    "interpreters",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "legacy_prng_key",
    "linear_transpose",
    "linearize",
    "live_arrays",
    "local_device_count",
    "local_devices",
    "log_compiles",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "make_jaxpr",
    "make_mesh",
    "make_user_context",
    "named_call",
    "named_scope",
    "nn",
    "numpy",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "observe",
    "pmap",
    "print_environment_info",
    "process_count",
    "process_index",
    "process_indices",
    "profiler",
    "progress",
    "pure_callback",
    "quiz",
    "random",
    "remat",
    "reshard",
    "scipy",
    "set_mesh",
    "shard_map",
    "sharding",
    "smap",
    "stages",
    "test_util",
    "threefry_partitionable",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
    "tree",
    "tree_util",
    "typeof",
    "typing",
    "unalias",
    "use_abstract_mesh",
    "value_and_grad",
    "version",
    "vjp",
    "vmap",
    "widgets",
]

# Rarely used: imported at their first use.
ad_checkpoint: ModuleType
api_util: ModuleType
custom_batching: ModuleType
custom_derivatives: ModuleType
debug: ModuleType
experimental: ModuleType
export: ModuleType
extend: ModuleType
ffi: ModuleType
flatten_util: ModuleType
image: ModuleType
interpreters: ModuleType
nn: ModuleType
observe: ModuleType
profiler: ModuleType
scipy: ModuleType
test_util: ModuleType
widgets: ModuleType
_LATE = (
    *("ad_checkpoint", "custom_batching", "custom_derivatives", "debug", "experimental", "export"),
    *("api_util", "extend", "ffi", "flatten_util", "image", "interpreters", "profiler"),
    *("nn", "observe", "scipy", "test_util", "widgets"),
)
assert_max_traces: Callable[..., Any]
benchmark: Callable[..., Any]
closure_convert: Callable[..., Any]
custom_gradient: Callable[..., Any]
ensure_compile_time_eval: Callable[..., Any]
fwd_and_bwd: Callable[..., Any]
make_user_context: Callable[..., Any]
named_call: Callable[..., Any]
named_scope: Callable[..., Any]
progress: Callable[..., Any]
quiz: Callable[..., Any]
reshard: Callable[..., Any]
smap: Callable[..., Any]
typeof: Callable[..., Any]
_HOMES = {
    "assert_max_traces": "observe.limits",
    "benchmark": "observe.benchmarks",
    "closure_convert": "api.closures",
    "custom_gradient": "api.closures",
    "ensure_compile_time_eval": "api.naming",
    "fwd_and_bwd": "api.autodiff",
    "make_user_context": "config",
    "named_call": "api.naming",
    "named_scope": "api.naming",
    "progress": "observe.progress",
    "reshard": "api.resharding",
    "smap": "api.resharding",
    "quiz": "observe.quiz",
    "typeof": "api.naming",
}
_OLDER = (
    *("device_put_replicated", "device_put_sharded"),
    *("DeviceArray", "tree_all", "tree_flatten", "tree_leaves", "tree_map", "tree_multimap"),
    *("tree_reduce", "tree_structure", "tree_transpose", "tree_unflatten", "xla_computation"),
)
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **{name: f"{__name__}.{name}" for name in _LATE},
        **{name: f"{__name__}.{home}" for name, home in _HOMES.items()},
    },
    dict.fromkeys(_OLDER, f"{__name__}._older"),
)

sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))
install_base_trace(EvalTrace())
install_operators()
watch_executions()
install_import_hook()


def load_ipython_extension(ipython: object) -> None:
    """Load the notebook half into an IPython shell: what `%load_ext jxkernel` calls."""
    # The notebook half is the one thing that is imported only when asked for.
    from jxkernel.jupyter import load_ipython_extension as load  # noqa: PLC0415

    load(ipython)


def unload_ipython_extension(ipython: object) -> None:
    """Take the notebook half out of a shell: what `%unload_ext jxkernel` calls."""
    from jxkernel.jupyter import unload_ipython_extension as unload  # noqa: PLC0415

    unload(ipython)
