"""Tracing to a program, by the field's older name.

A façade: it re-exports and holds nothing of its own.
"""

from jxkernel.api.handmade_programs import close_jaxpr, convert_constvars_jaxpr
from jxkernel.api.wrapped_functions import dce_jaxpr, trace_to_jaxpr_dynamic

__all__ = ["close_jaxpr", "convert_constvars_jaxpr", "dce_jaxpr", "trace_to_jaxpr_dynamic"]
