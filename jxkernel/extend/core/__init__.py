"""Primitives, types and programs, for code that defines primitives or interprets jaxprs.

A façade: it re-exports and holds nothing of its own.
"""

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
from jxkernel.core.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var, jaxpr_as_fun
from jxkernel.core.jaxpr import Eqn as JaxprEqn
from jxkernel.core.primitive import Primitive
from jxkernel.errors import JaxprTypeError
from jxkernel.extend.core import primitives

__all__ = [
    "ClosedJaxpr",
    "DropVar",
    "Effect",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Primitive",
    "TraceTag",
    "Var",
    "check_jaxpr",
    "concrete_or_error",
    "find_top_trace",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval",
    "primal_dtype_to_tangent_dtype",
    "primitives",
    "set_current_trace",
    "subjaxprs",
    "take_current_trace",
    "unmapped_aval",
    "valid_jaxtype",
]
