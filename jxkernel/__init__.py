"""jxkernel: traced, differentiated, vectorized and compiled array programs, for notebooks.

This façade re-exports the public names and, once per process, connects the two ports of the
core: what evaluates a primitive when nothing is being transformed, and what operators on arrays
mean.  IPython is not imported until ``%load_ext jxkernel``.

It raises Python's recursion limit (decision 10).
"""

import sys as _sys
from typing import TYPE_CHECKING

from jxkernel import _collector

with _collector.paused():
    from jxkernel import errors, numpy, sharding, tree
    from jxkernel._alias import alias, unalias
    from jxkernel._alias import install as install_import_hook
    from jxkernel._lazy import give_names, lazy_names
    from jxkernel._version import __version__
    from jxkernel.api.derivatives.autodiff import (
        fwd_and_bwd,
        grad,
        jvp,
        linearize,
        value_and_grad,
        vjp,
    )
    from jxkernel.api.jit import clear_caches, jit
    from jxkernel.api.vectorize import vmap
    from jxkernel.compile import EvalTrace, ShapeDtypeStruct, watch_executions
    from jxkernel.config import (
        allow_f16_reductions,
        auto_pcast,
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
        enable_custom_prng,
        enable_x64,
        explain_cache_misses,
        legacy_prng_key,
        log_compiles,
        make_user_context,
        no_execution,
        no_tracing,
        numpy_dtype_promotion,
        numpy_rank_promotion,
        remove_size_one_mesh_axis_from_type,
        softmax_custom_jvp,
        threefry_partitionable,
    )
    from jxkernel.core.depth import allow_depth
    from jxkernel.core.trace import install_base_trace
    from jxkernel.dtypes import float0
    from jxkernel.guards import (
        array_garbage_collection_guard,
        thread_guard,
        transfer_guard,
        transfer_guard_device_to_device,
        transfer_guard_device_to_host,
        transfer_guard_host_to_device,
    )
    from jxkernel.numpy.operators import install_operators
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
    "CompilerEffortLevel",
    "Device",
    "Inline",
    "NamedSharding",
    "P",
    "Ref",
    "ShapeDtypeStruct",
    "Shard",
    "__version__",
    "__version_info__",
    "ad",
    "ad_checkpoint",
    "alias",
    "allow_f16_reductions",
    "array_garbage_collection_guard",
    "assert_max_traces",
    "auto_pcast",
    "benchmark",
    "block_until_ready",
    "check_tracer_leaks",
    "checking_leaks",
    "checkpoint",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "cluster",
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
    "ds",
    "effects_barrier",
    "empty_ref",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "ensure_compile_time_eval",
    "errors",
    "eval_shape",
    "example_libraries",
    "experimental",
    "explain_cache_misses",
    "export",
    "extend",
    "ffi",
    "flatten_util",
    "float0",
    "free_ref",
    "freeze",
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
    "lib",
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
    "memory",
    "monitoring",
    "named_call",
    "named_scope",
    "new_ref",
    "nn",
    "no_execution",
    "no_tracing",
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
    "ref",
    "remat",
    "remove_size_one_mesh_axis_from_type",
    "reshard",
    "scipy",
    "set_mesh",
    "shard_map",
    "sharding",
    "smap",
    "softmax_custom_jvp",
    "stages",
    "task",
    "test_util",
    "thread_guard",
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

# Not needed by every program: imported at their first use.
if TYPE_CHECKING:
    from jxkernel import (
        ad,
        ad_checkpoint,
        cluster,
        custom_batching,
        custom_derivatives,
        debug,
        distributed,
        dlpack,
        example_libraries,
        experimental,
        export,
        extend,
        ffi,
        flatten_util,
        image,
        interpreters,
        lax,
        lib,
        memory,
        monitoring,
        nn,
        observe,
        profiler,
        random,
        ref,
        scipy,
        stages,
        test_util,
        tree_util,
        typing,
        version,
        widgets,
    )
    from jxkernel import api_util as api_util
    from jxkernel.api.callbacks import pure_callback
    from jxkernel.api.custom.closures import closure_convert, custom_gradient
    from jxkernel.api.custom.derivatives import custom_jvp, custom_vjp
    from jxkernel.api.derivatives.checkpoint import checkpoint, checkpoint_policies, remat
    from jxkernel.api.derivatives.jacobian import (
        hessian,
        jacfwd,
        jacobian,
        jacrev,
        linear_transpose,
    )
    from jxkernel.api.global_arrays import (
        make_array_from_callback,
        make_array_from_process_local_data,
        make_array_from_single_device_arrays,
        make_mesh,
    )
    from jxkernel.api.inlining import Inline
    from jxkernel.api.naming import ensure_compile_time_eval, named_call, named_scope, typeof
    from jxkernel.api.references import Ref, ds, empty_ref, free_ref, freeze, new_ref
    from jxkernel.api.resharding import reshard, smap
    from jxkernel.api.shard_map import pmap, shard_map
    from jxkernel.api.tracing import eval_shape, make_jaxpr
    from jxkernel.api.transfer import block_until_ready, copy_to_host_async, device_get, device_put
    from jxkernel.compile.effort import CompilerEffortLevel
    from jxkernel.observe.benchmarks import benchmark
    from jxkernel.observe.limits import assert_max_traces
    from jxkernel.observe.progress import progress
    from jxkernel.observe.teaching.quiz import quiz
    from jxkernel.observe.teaching.tasks import task
__getattr__, __dir__ = lazy_names(
    __name__,
    modules=(
        "ad ad_checkpoint api_util cluster custom_batching custom_derivatives debug distributed "
        "dlpack example_libraries experimental export extend ffi flatten_util image interpreters "
        "lax lib memory monitoring nn observe ops profiler random ref scipy stages test_util "
        "tree_util typing version widgets"
    ),
    names={
        "jxkernel.api.callbacks": "pure_callback",
        "jxkernel.api.derivatives.checkpoint": "checkpoint checkpoint_policies remat",
        "jxkernel.api.custom.closures": "closure_convert custom_gradient",
        "jxkernel.api.custom.derivatives": "custom_jvp custom_vjp",
        "jxkernel.api.global_arrays": (
            "make_array_from_callback make_array_from_process_local_data "
            "make_array_from_single_device_arrays make_mesh"
        ),
        "jxkernel.api.derivatives.jacobian": "hessian jacfwd jacobian jacrev linear_transpose",
        "jxkernel.api.inlining": "Inline",
        "jxkernel.api.naming": "ensure_compile_time_eval named_call named_scope typeof",
        "jxkernel.api.references": "Ref ds empty_ref free_ref freeze new_ref",
        "jxkernel.api.resharding": "reshard smap",
        "jxkernel.api.shard_map": "pmap shard_map",
        "jxkernel.api.tracing": "eval_shape make_jaxpr",
        "jxkernel.api.transfer": "block_until_ready copy_to_host_async device_get device_put",
        "jxkernel.compile.effort": "CompilerEffortLevel",
        "jxkernel.observe.benchmarks": "benchmark",
        "jxkernel.observe.limits": "assert_max_traces",
        "jxkernel.observe.progress": "progress",
        "jxkernel.observe.teaching.quiz": "quiz",
        "jxkernel.observe.teaching.tasks": "task",
    },
    older={
        "jxkernel._older": (
            "device_put_replicated device_put_sharded DeviceArray tree_all tree_flatten "
            "tree_leaves tree_map tree_multimap tree_reduce tree_structure tree_transpose "
            "tree_unflatten xla_computation"
        ),
    },
)

# Names that users look for in packages that lie below the code.
give_names("jxkernel.numpy", older={"jxkernel._older": "DeviceArray"})
give_names("jxkernel.core", {"jxkernel.api.naming": "ensure_compile_time_eval"})
give_names("jxkernel.sharding", {"jxkernel.api.resharding": "auto_axes explicit_axes reshard"})

allow_depth()
install_base_trace(EvalTrace())
install_operators()
watch_executions()
install_import_hook()


_LEAST_IPYTHON = 8, 12


def load_ipython_extension(ipython: object) -> None:
    """Load the notebook half into an IPython shell: what ``%load_ext jxkernel`` calls.

    Raises:
      ImportError: the shell is older than what the notebook half is written for.
    """
    shell = _sys.modules.get("IPython")  # who calls this has imported it; tests may not
    version = getattr(shell, "version_info", _LEAST_IPYTHON)[:2]
    if version < _LEAST_IPYTHON:
        raise ImportError(
            f"the notebook half of jxkernel needs IPython 8.12 or newer, and this is {version[0]}."
            f"{version[1]}, as on Colab: write import jxkernel and use it without magics, or "
            "install a newer IPython and restart"
        )
    # The notebook half is the one thing that is imported only when asked for.
    from jxkernel.jupyter import load_ipython_extension as load  # noqa: PLC0415

    load(ipython)


def unload_ipython_extension(ipython: object) -> None:
    """Take the notebook half out of a shell: what ``%unload_ext jxkernel`` calls."""
    from jxkernel.jupyter import unload_ipython_extension as unload  # noqa: PLC0415

    unload(ipython)
