"""Primitives, types and programs, for code that defines primitives or interprets jaxprs.

A façade: it re-exports and holds nothing of its own.
"""

from collections.abc import Set as Effects

from jxkernel.api.handmade_programs import array_types, gensym, new_jaxpr_eqn
from jxkernel.api.handmade_programs import axis_names as unsafe_get_axis_names_DO_NOT_USE
from jxkernel.api.handmade_programs import has_axis_names as nonempty_axis_env_DO_NOT_USE
from jxkernel.api.handmade_programs import inside_jit as unsafe_am_i_under_a_jit_DO_NOT_USE
from jxkernel.api.handmade_programs import inside_vmap as unsafe_am_i_under_a_vmap_DO_NOT_USE
from jxkernel.api.tracing_state import (
    DropVar,
    TraceTag,
    concrete_or_error,
    find_top_trace,
    get_opaque_trace_state,
    jaxprs_in_params,
    mapped_aval,
    primal_dtype_to_tangent_dtype,
    set_current_trace,
    subjaxprs,
    take_current_trace,
    unmapped_aval,
    valid_jaxtype,
)
from jxkernel.core.checking import check_jaxpr
from jxkernel.core.effects import Effect
from jxkernel.core.jaxpr import NO_EFFECTS as no_effects
from jxkernel.core.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr, Literal, Var, jaxpr_as_fun
from jxkernel.core.jaxpr import Eqn as JaxprEqn
from jxkernel.core.primitive import Primitive
from jxkernel.errors import InconclusiveDimensionOperation, JaxprTypeError
from jxkernel.extend.core import primitives

__all__ = [
    "ClosedJaxpr",
    "DebugInfo",
    "DropVar",
    "Effect",
    "Effects",
    "InconclusiveDimensionOperation",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Primitive",
    "TraceTag",
    "Var",
    "array_types",
    "check_jaxpr",
    "concrete_or_error",
    "find_top_trace",
    "gensym",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval",
    "new_jaxpr_eqn",
    "no_effects",
    "nonempty_axis_env_DO_NOT_USE",
    "primal_dtype_to_tangent_dtype",
    "primitives",
    "set_current_trace",
    "subjaxprs",
    "take_current_trace",
    "unmapped_aval",
    "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE",
    "valid_jaxtype",
]
