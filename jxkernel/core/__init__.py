"""The core: abstract values, primitives and their rules, traces, jaxprs and what checks them.

Everything above speaks in these terms.  It knows dtypes and shardings as data.  It must not know
of any particular primitive, of transforms, of StableHLO or of devices.

What is exported here is what code that extends the system needs; ``jxkernel.extend.core`` has the
same names.
"""

from __future__ import annotations

from jxkernel.core.avals import ShapedArray, pytype_aval_mappings
from jxkernel.core.avals import ShapedArray as AbstractValue
from jxkernel.core.checking import check_jaxpr
from jxkernel.core.jaxpr import (
    Atom,
    ClosedJaxpr,
    Eqn,
    Jaxpr,
    Literal,
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
    "Primitive",
    "ShapedArray",
    "Trace",
    "Tracer",
    "Undefined",
    "Var",
    "check_jaxpr",
    "eval_context",
    "eval_jaxpr",
    "jaxpr_as_fun",
    "pytype_aval_mappings",
]
