"""Functions of leaves, by the field's older names.  Only re-exports."""

from jxkernel.api.wrapped_functions import (
    argnums_partial,
    debug_info,
    flatten_axes,
    flatten_fun,
    flatten_fun_nokwargs,
    safe_map,
)

__all__ = [
    "argnums_partial",
    "debug_info",
    "flatten_axes",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "safe_map",
]
