"""Functions of leaves, by the field's older names.  Only re-exports."""

from jxkernel.api.arguments import donation_vector, rebase_donate_argnums
from jxkernel.api.tracing_state import shaped_abstractify
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
    "donation_vector",
    "flatten_axes",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "rebase_donate_argnums",
    "safe_map",
    "shaped_abstractify",
]
