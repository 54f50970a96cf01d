"""From a jaxpr to something that runs: stages, keys, caches, executables, eager dispatch.

It joins ``transforms`` (programs), ``lowering`` (StableHLO) and ``runtime`` (clients, arrays).
It must not know of user functions' arguments: those are ``api``'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jxkernel._lazy import lazy_names
from jxkernel.compile.disk_cache import (
    CacheSummary,
    clear_disk_cache,
    disk_cache_summary,
    reset_disk_cache,
)
from jxkernel.compile.dispatch import Dispatch, cpp_callable, execute, make_callable
from jxkernel.compile.eager import EvalTrace, eager_callable
from jxkernel.compile.executable import (
    Executable,
    Executables,
    FastpathData,
    compile_lowered,
    executable_for,
)
from jxkernel.compile.executions import latest_outputs, watch_executions
from jxkernel.compile.placement import Placement, devices_of, program_shardings, target_device
from jxkernel.compile.shape_dtype import ShapeDtypeStruct, standing

__all__ = [
    "ArgInfo",
    "CacheSummary",
    "Compiled",
    "CompilerOptions",
    "Dispatch",
    "EvalTrace",
    "Executable",
    "Executables",
    "FastpathData",
    "LowerOptions",
    "Lowered",
    "Outside",
    "Placement",
    "ShapeDtypeStruct",
    "Traced",
    "Wrapped",
    "clear_disk_cache",
    "compile_lowered",
    "cpp_callable",
    "devices_of",
    "disk_cache_summary",
    "eager_callable",
    "executable_for",
    "execute",
    "latest_outputs",
    "make_callable",
    "program_shardings",
    "reset_disk_cache",
    "standing",
    "target_device",
    "watch_executions",
]

# What is compiled ahead of its calls, few programs ask for.
if TYPE_CHECKING:
    from jxkernel.compile.stages import (
        ArgInfo,
        Compiled,
        CompilerOptions,
        Lowered,
        LowerOptions,
        Outside,
        Traced,
        Wrapped,
    )
__getattr__, __dir__ = lazy_names(
    __name__,
    names={
        "jxkernel.compile.stages": (
            "ArgInfo Compiled CompilerOptions LowerOptions Lowered Outside Traced Wrapped"
        )
    },
)
