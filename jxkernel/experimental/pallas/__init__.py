"""Kernels: functions of references to blocks of arrays, run for each step of a grid.

They are interpreted: a kernel becomes a loop that XLA compiles for any platform, so one that is
meant for an accelerator can be learnt and debugged without one.  It stands above the API: kernels
are staged by ``jxkernel.api``, and what reads and writes references is that of ``higher_order``.
It must not know of any accelerator.
"""

from jxkernel._lazy import lazy_names
from jxkernel.core.slices import Slice
from jxkernel.experimental.pallas import tpu, triton
from jxkernel.experimental.pallas.bodies import (
    debug_check,
    debug_print,
    delay,
    empty_ref_like,
    enable_debug_checks,
    enable_poison_buffers,
    get_global,
    loop,
    pallas_export_experimental,
    run_scoped,
    run_state,
    select_ref,
    when,
    with_scoped,
)
from jxkernel.experimental.pallas.cores import kernel
from jxkernel.experimental.pallas.costs import CostEstimate, estimate_cost, lower_as_mlir
from jxkernel.experimental.pallas.grids import num_programs, program_id
from jxkernel.experimental.pallas.interpretation import pallas_call_p
from jxkernel.experimental.pallas.kernels import pallas_call
from jxkernel.experimental.pallas.memory import semaphore
from jxkernel.experimental.pallas.semaphores import (
    semaphore_read,
    semaphore_signal,
    semaphore_wait,
)
from jxkernel.experimental.pallas.sizes import (
    align_to,
    cdiv,
    ds,
    multiple_of,
    next_power_of_2,
    strides_from_shape,
)
from jxkernel.experimental.pallas.sizes import ds as dslice
from jxkernel.experimental.pallas.specs import (
    ANY,
    HOST,
    BlockDim,
    Blocked,
    BlockSpec,
    BoundedSlice,
    Buffered,
    CompilerParams,
    Element,
    GridSpec,
    Indirect,
    MemoryRef,
    MemorySpace,
    RevisitMode,
    Squeezed,
    no_block_spec,
    squeezed,
)
from jxkernel.numpy import broadcast_to, empty, empty_like

__all__ = [
    "ANY",
    "HOST",
    "BlockDim",
    "BlockSpec",
    "Blocked",
    "BoundedSlice",
    "Buffered",
    "CompilerParams",
    "CostEstimate",
    "Element",
    "GridSpec",
    "Indirect",
    "MemoryRef",
    "MemorySpace",
    "RevisitMode",
    "Slice",
    "Squeezed",
    "align_to",
    "broadcast_to",
    "cdiv",
    "debug_check",
    "debug_print",
    "delay",
    "ds",
    "dslice",
    "empty",
    "empty_like",
    "empty_ref_like",
    "enable_debug_checks",
    "enable_poison_buffers",
    "estimate_cost",
    "get_global",
    "kernel",
    "loop",
    "lower_as_mlir",
    "multiple_of",
    "next_power_of_2",
    "no_block_spec",
    "num_programs",
    "pallas_call",
    "pallas_call_p",
    "pallas_export_experimental",
    "program_id",
    "run_scoped",
    "run_state",
    "select_ref",
    "semaphore",
    "semaphore_read",
    "semaphore_signal",
    "semaphore_wait",
    "squeezed",
    "strides_from_shape",
    "tpu",
    "triton",
    "when",
    "with_scoped",
]

__getattr__, __dir__ = lazy_names(__name__)
