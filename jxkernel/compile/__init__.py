"""From a jaxpr to something that runs: stages, keys, caches, executables, eager dispatch.

It joins ``transforms`` (programs), ``lowering`` (StableHLO) and ``runtime`` (clients, arrays).
It must not know of user functions' arguments: those are ``api``'s.
"""

from __future__ import annotations

from jxkernel.compile.disk_cache import CacheSummary, clear_disk_cache, disk_cache_summary
from jxkernel.compile.eager import EvalTrace, eager_callable
from jxkernel.compile.executable import (
    Executable,
    FastpathData,
    compile_lowered,
    executable_for,
    execute,
    execute_checked,
    make_callable,
)
from jxkernel.compile.executions import latest_outputs, watch_executions
from jxkernel.compile.nonfinite import checking_results, nonfinite_error
from jxkernel.compile.placement import Placement, devices_of, program_shardings, target_device
from jxkernel.compile.shape_dtype import ShapeDtypeStruct, standing
from jxkernel.compile.stages import (
    ArgInfo,
    Compiled,
    CompilerOptions,
    Lowered,
    LowerOptions,
    Traced,
    Wrapped,
)

__all__ = [
    "ArgInfo",
    "CacheSummary",
    "Compiled",
    "CompilerOptions",
    "EvalTrace",
    "Executable",
    "FastpathData",
    "LowerOptions",
    "Lowered",
    "Placement",
    "ShapeDtypeStruct",
    "Traced",
    "Wrapped",
    "checking_results",
    "clear_disk_cache",
    "compile_lowered",
    "devices_of",
    "disk_cache_summary",
    "eager_callable",
    "executable_for",
    "execute",
    "execute_checked",
    "latest_outputs",
    "make_callable",
    "nonfinite_error",
    "program_shardings",
    "standing",
    "target_device",
    "watch_executions",
]
