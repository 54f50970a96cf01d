"""Functions of leaves, by the field's older names.  Only re-exports."""

from jxkernel.api.wrapped_functions import debug_info, flatten_fun, flatten_fun_nokwargs

__all__ = ["debug_info", "flatten_fun", "flatten_fun_nokwargs"]
