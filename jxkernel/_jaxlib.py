"""The one door to jaxlib: start-up order, shared names, and differences between its versions.

Every other module takes jaxlib's pieces from here (or, in ``hlo``, the MLIR bindings), so a
change in a jaxlib release is absorbed in this file alone.  Supported: 0.10.2 up to, not
including, 0.13.  This module must not know of avals, primitives or tracing.

Facts it holds:

* The ``jax`` package attaches its methods to the same array class: the second to come must stop.
* C++ INFO lines reach stderr unless ``TF_CPP_MIN_LOG_LEVEL`` is set before the first import.
* jaxlib 0.10's sharding classes lack ``_to_xla_hlo_sharding``, which placing an array asks for.
* jaxlib's ``NamedSharding`` hashes and compares in C++, so dispatch of a call on many devices need
  not enter Python.  Making the first one, it looks in a module of ``jax`` for the function that
  checks a spec; it is given one of ours for that moment, and keeps it.
* ``array_result_handler`` took ``_skip_checks`` up to 0.10 and lost it later.
"""

import os
import platform
import sys
from collections.abc import Sequence

if "jax" in sys.modules:
    raise ImportError(
        "jax and jxkernel cannot share a process: both attach their methods to jaxlib's one array "
        "class. jax is loaded: restart the process (the kernel), and import jxkernel alone; "
        "jxkernel.alias('jax') then runs programs written for jax."
    )

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from types import ModuleType
from typing import Any

import jaxlib.version
from jaxlib import (
    _jax,  # pyright: ignore[reportAttributeAccessIssue]  # the wheel has no stubs for it
    xla_client,
)
from jaxlib._jax import (
    pytree,  # pyright: ignore[reportMissingImports]  # likewise; its classes serve as types
)

from jxkernel._lazy import late_module

__all__ = [
    "COPIED_DURING_CALL",
    "ArrayImpl",
    "Client",
    "CompileOptions",
    "Config",
    "Device",
    "DeviceAssignment",
    "DeviceList",
    "HloSharding",
    "JaxRuntimeError",
    "LoadedExecutable",
    "NamedShardingBase",
    "OpSharding",
    "PjitFunction",
    "PjitFunctionCache",
    "Sharding",
    "SingleDeviceSharding",
    "Traceback",
    "approx_top_k_size",
    "array_result_handler",
    "batched_block_until_ready",
    "batched_device_put",
    "c_api_topology",
    "computation_of",
    "deserialize_portable_artifact",
    "dlpack_to_buffer",
    "gather_on_host",
    "get_distributed_runtime_client",
    "get_distributed_runtime_service",
    "get_pjrt_plugin",
    "gpu_plugin_options",
    "guard_lib",
    "has_mutual_tls",
    "include_dir",
    "initialize_plugin",
    "inspection_key",
    "instruction_set",
    "jax_jit",
    "lapack_kernels",
    "load_plugin",
    "located_hlo",
    "machine_description",
    "make_c_api_client",
    "make_cpu_client",
    "make_gloo_tcp_collectives",
    "make_transfer_server",
    "module_cost",
    "pjit",
    "plugin_initialized",
    "plugin_loaded",
    "pytree",
    "refine_polymorphic_shapes",
    "register_batch_partitionable",
    "register_custom_call_handler",
    "register_custom_call_target",
    "register_custom_type",
    "register_custom_type_handler",
    "register_partitioner",
    "serialize_portable_artifact",
    "set_tracer_class",
    "to_dlpack_capsule",
    "trace_context",
    "version",
    "version_text",
    "xla_transforms",
]

version_text: str = jaxlib.version.__version__
"""The version of the installed jaxlib, as it calls itself."""

version: tuple[int, ...] = tuple(int(part) for part in version_text.split(".")[:3])
"""The version of the installed jaxlib."""

# jaxlib ships no types: everything crosses this line as ``Any``.
ArrayImpl: Any = _jax.ArrayImpl
Client: Any = _jax.Client
CompileOptions: Any = _jax.CompileOptions
Device: Any = _jax.Device
DeviceAssignment: Any = _jax.DeviceAssignment
DeviceList: Any = _jax.DeviceList
JaxRuntimeError: Any = _jax.JaxRuntimeError
LoadedExecutable: Any = _jax.LoadedExecutable
PjitFunction: Any = _jax.PjitFunction
PjitFunctionCache: Any = _jax.PjitFunctionCache
Sharding: Any = _jax.Sharding
NamedShardingBase: Any = _jax.NamedSharding
"""The C++ class of shardings over meshes; ours is a subclass."""


def _place(module: str, *classes: Any) -> None:
    """Say where users find a C++ class, for messages that name it."""
    for cls in classes:
        cls.__module__ = module
        # C++ names a class by what was assigned last, without jaxlib's own module.
        cls.__name__ = cls.__name__


_KEYS = (pytree.DictKey, pytree.FlattenedIndexKey, pytree.GetAttrKey, pytree.SequenceKey)
# Users know arrays by the name of their public class.
ArrayImpl.__name__ = ArrayImpl.__qualname__ = "Array"
_place("jxkernel", ArrayImpl, PjitFunction)
_place("jxkernel.tree_util", pytree.PyTreeDef, *_KEYS)


class _NoMesh:
    """What the first sharding is made of: what C++ reads of a mesh, and no devices."""

    size = 1
    _internal_device_list = None


def _no_check(mesh: Any, spec: Any) -> None:
    """Accept a spec: our subclass has checked it."""


def _settle_spec_check() -> None:
    """Have C++ keep our check of specs; no module of that name stays behind."""
    names = ("jax", "jax._src", "jax._src.named_sharding")
    for name in names:
        sys.modules[name] = ModuleType(name)
    setattr(sys.modules[names[-1]], "check_pspec", _no_check)  # noqa: B010  # modules are untyped
    try:
        NamedShardingBase(_NoMesh(), ())
    finally:
        for name in names:
            del sys.modules[name]


_settle_spec_check()

SingleDeviceSharding: Any = _jax.SingleDeviceSharding

approx_top_k_size: Any = _jax.approx_top_k_reduction_output_size
"""How many elements XLA's partial search for the greatest leaves, and by what power of 2 less."""

Traceback: Any = _jax.Traceback
batched_block_until_ready: Any = _jax.batched_block_until_ready
batched_device_put: Any = _jax.batched_device_put
guard_lib: Any = _jax.guard_lib
COPIED_DURING_CALL: Any = _jax.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
"""Says that host data may change once the call that places it has returned."""
jax_jit: Any = _jax.jax_jit
pjit: Any = _jax.pjit
set_tracer_class: Any = _jax.set_tracer_class
Config: Any = _jax.config.Config
trace_context: Any = _jax.config.trace_context
HloSharding: Any = xla_client.HloSharding
OpSharding: Any = xla_client.OpSharding
deserialize_portable_artifact: Any = _jax.mlir.deserialize_portable_artifact
refine_polymorphic_shapes: Any = _jax.mlir.refine_polymorphic_shapes
serialize_portable_artifact: Any = _jax.mlir.serialize_portable_artifact
XlaLayout: Any = xla_client.Layout
make_cpu_client: Any = xla_client.make_cpu_client
c_api_topology: Any = _jax.get_default_c_api_topology
make_transfer_server: Any = _jax.start_transfer_server
make_c_api_client: Any = xla_client.make_c_api_client
load_plugin: Any = xla_client.load_pjrt_plugin_dynamically
initialize_plugin: Any = xla_client.initialize_pjrt_plugin
plugin_loaded: Any = xla_client.pjrt_plugin_loaded
plugin_initialized: Any = xla_client.pjrt_plugin_initialized
gpu_plugin_options: Any = xla_client.generate_pjrt_gpu_plugin_options
"""What XLA's environment variables say about a GPU's client, as options of its plugin."""
register_custom_call_handler: Any = xla_client.register_custom_call_handler
register_custom_type_handler: Any = xla_client.register_custom_type_handler
register_custom_call_target: Any = xla_client.register_custom_call_target
register_custom_type: Any = xla_client.register_custom_type
inspection_key: Any = _jax.encode_inspect_sharding_callback
register_batch_partitionable: Any = xla_client.register_custom_call_as_batch_partitionable
register_partitioner: Any = xla_client.register_custom_call_partitioner
include_dir: str = os.path.join(os.path.dirname(xla_client.__file__), "include")
"""Where the wheel keeps the headers of XLA's foreign function interface."""

get_distributed_runtime_client: Any = _jax.get_distributed_runtime_client
get_distributed_runtime_service: Any = _jax.get_distributed_runtime_service
has_mutual_tls: bool = "mtls_cert_file" in (_jax.get_distributed_runtime_service.__doc__ or "")
make_gloo_tcp_collectives: Any = _jax.make_gloo_tcp_collectives
gather_on_host: Any = getattr(ArrayImpl, "_to_np_array_did_copy", None)
"""C++ that gives the NumPy value of an array on several devices; None where jaxlib lacks it."""

if version < (0, 11):

    def array_result_handler(aval: Any, sharding: Any, committed: bool) -> Any:
        """Return the C++ handler that wraps raw result buffers as one ``ArrayImpl``."""
        return _jax.array_result_handler(aval, sharding, committed, _skip_checks=True)
else:
    array_result_handler = _jax.array_result_handler


def computation_of(module: Any) -> Any:
    """Return a StableHLO module as jaxlib's ``XlaComputation``, not optimized."""
    text = module.operation.get_asm(binary=False)
    return _jax.mlir.mlir_module_to_xla_computation(
        mlir_module=text, use_tuple_args=False, return_tuple=False
    )


def located_hlo(module: Any) -> bytes:
    """Return a StableHLO module as a serialized HLO module, not optimized, with its locations."""
    text = module.operation.get_asm(binary=False, enable_debug_info=True)
    computation = _jax.mlir.mlir_module_to_xla_computation(
        mlir_module=text, use_tuple_args=False, return_tuple=False
    )
    return computation.as_serialized_hlo_module_proto()


def module_cost(client: Any, module: Any) -> dict[str, float]:
    """Return XLA's cost estimate of a StableHLO module, not optimized."""
    return _jax.hlo_module_cost_analysis(client, computation_of(module).as_hlo_module())


def lapack_kernels() -> Any:
    """Return jaxlib's module of LAPACK kernels, loaded at its first use: few programs need it."""
    return late_module("jaxlib.cpu._lapack")


def machine_description(devices: Sequence[Any]) -> bytes:
    """Return what XLA compiles for: the platform and, on the CPU, its features and its threads.

    Two machines (or one after its processor changed) have the same description only if each runs
    what was compiled on the other as well as if it had been compiled there: XLA divides the work of
    a program among as many threads as it may use on the CPU.
    """
    used = f" {threads()} threads".encode() if devices[0].platform == "cpu" else b""
    return instruction_set(devices) + used


def instruction_set(devices: Sequence[Any]) -> bytes:
    """Return the platform and, on the CPU, its features; where they are the same, code runs.

    jaxlib 0.10 tells no more than a fingerprint of the topology, so the operating system is asked
    for the features too.
    """
    topology = _jax.get_topology_for_devices(list(devices))
    if version >= (0, 11):
        return topology.serialize()
    return f"{topology.fingerprint()} {_processor_features()}".encode()


def threads() -> int:
    """Return how many threads XLA uses: what ``NPROC`` says, else one for each core it may use."""
    said = os.environ.get("NPROC", "")
    if said.isdecimal():
        return int(said)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor_features() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            named = ("model name", "flags", "Features", "CPU part")
            return "".join(sorted({line for line in lines if line.startswith(named)}))
    except OSError:
        return f"{platform.machine()} {platform.processor()}"


def _replicated(self: Any, ndim: int) -> Any:
    """Return the XLA sharding of an array that lies whole on one device."""
    return HloSharding.replicate()


if not hasattr(SingleDeviceSharding, "_to_xla_hlo_sharding"):
    SingleDeviceSharding._to_xla_hlo_sharding = _replicated


def to_dlpack_capsule(array: Any, stream: Any, max_version: tuple[int, int] | None) -> Any:
    """Return an array's memory as a DLPack capsule, of the newest version that both sides know."""
    # Only releases that know versions tell which one they know.
    versioned = (
        {}
        if max_version is None or not hasattr(_jax, "dlpack_version")
        else {"max_version": max_version}
    )
    return _jax.buffer_to_dlpack_managed_tensor(array, stream=stream, **versioned)


def dlpack_to_buffer(capsule: Any, device: Any) -> Any:
    """Return the memory of a DLPack capsule as an array without an aval, not copied."""
    return _jax.dlpack_managed_tensor_to_buffer(capsule, device, None, False)


def get_pjrt_plugin(platform: str) -> Any:
    """Return the C API of a platform's plugin, for ``xla_transforms``; jaxlib 0.10 has none."""
    return _jax.get_pjrt_plugin(platform)


def xla_transforms() -> Any:
    """Return jaxlib's functions for passes over what XLA compiles.

    Raises:
      NotImplementedError: this jaxlib has none.
    """
    try:
        return late_module("jaxlib._xla")
    except ModuleNotFoundError:
        raise NotImplementedError(
            f"jaxlib {version_text} takes no passes of one's own: jaxlib 0.12 does"
        ) from None
