"""The core: abstract values, primitives and their rules, traces, jaxprs and what checks them.

Everything above speaks in these terms.  It knows dtypes and shardings as data.  It must not know
of any particular primitive, of transforms, of StableHLO or of devices.

What is exported here is what code that extends the system needs; ``jxkernel.extend.core`` has the
same names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jxkernel._lazy import lazy_names
from jxkernel.core.avals import ShapedArray, pytype_aval_mappings
from jxkernel.core.avals import ShapedArray as AbstractValue
from jxkernel.core.checking import check_jaxpr
from jxkernel.core.dimensions import greater as max_dim
from jxkernel.core.dimensions import lesser as min_dim
from jxkernel.core.jaxpr import (
    Atom,
    ClosedJaxpr,
    Eqn,
    Jaxpr,
    Literal,
    ParamDict,
    Value,
    Var,
    eval_jaxpr,
    jaxpr_as_fun,
)
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.trace import Trace, Tracer, eval_context

__all__ = [
    "AbstractValue",
    "Atom",
    "ClosedJaxpr",
    "Eqn",
    "Jaxpr",
    "Literal",
    "ParamDict",
    "Primitive",
    "ShapedArray",
    "Trace",
    "Tracer",
    "Undefined",
    "Value",
    "Var",
    "check_jaxpr",
    "ensure_compile_time_eval",
    "eval_context",
    "eval_jaxpr",
    "jaxpr_as_fun",
    "max_dim",
    "min_dim",
    "pytype_aval_mappings",
]

# The façade gives it to this package.
ensure_compile_time_eval: Callable[[], Any]
__getattr__, __dir__ = lazy_names(__name__)
