"""Primitives, types and programs, for code that defines primitives or interprets jaxprs.

A façade: it re-exports and holds nothing of its own.
"""

from jxkernel.core.checking import check_jaxpr
from jxkernel.core.effects import Effect
from jxkernel.core.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var, jaxpr_as_fun
from jxkernel.core.jaxpr import Eqn as JaxprEqn
from jxkernel.core.primitive import Primitive
from jxkernel.errors import JaxprTypeError

__all__ = [
    "ClosedJaxpr",
    "Effect",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Primitive",
    "Var",
    "check_jaxpr",
    "jaxpr_as_fun",
]
