"""Foreign functions: C and C++ code called from compiled programs.

A façade: it re-exports and holds nothing of its own.
"""

from jxkernel.api.foreign import build_ffi_lowering_function, ffi_call, ffi_lowering
from jxkernel.runtime.foreign import ffi_include_dir as include_dir
from jxkernel.runtime.foreign import (
    pycapsule,
    register_ffi_target,
    register_ffi_target_as_batch_partitionable,
    register_ffi_type,
    register_ffi_type_id,
)

__all__ = [
    "build_ffi_lowering_function",
    "ffi_call",
    "ffi_lowering",
    "include_dir",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_target_as_batch_partitionable",
    "register_ffi_type",
    "register_ffi_type_id",
]
