"""Derivative rules by the field's older names.

A façade: it re-exports and holds nothing of its own.
"""

from jxkernel.api.extending import (
    defbilinear,
    defjvp,
    defjvp2,
    deflinear,
    deflinear2,
    primitive_jvps,
    primitive_transposes,
)
from jxkernel.api.handmade_programs import zeros_like_aval
from jxkernel.core.zeros import UndefinedPrimal, Zero
from jxkernel.core.zeros import is_linear as is_undefined_primal
from jxkernel.primitives.shape.broadcast import add_any as add_jaxvals
from jxkernel.primitives.shape.broadcast import add_any_p as add_jaxvals_p
from jxkernel.primitives.shape.broadcast import add_tangents
from jxkernel.primitives.shape.broadcast import instantiate as instantiate_zeros
from jxkernel.transforms.jvp import JvpTrace as JVPTrace
from jxkernel.transforms.jvp import JvpTracer as JVPTracer

__all__ = [
    "JVPTrace",
    "JVPTracer",
    "UndefinedPrimal",
    "Zero",
    "add_jaxvals",
    "add_jaxvals_p",
    "add_tangents",
    "defbilinear",
    "defjvp",
    "defjvp2",
    "deflinear",
    "deflinear2",
    "instantiate_zeros",
    "is_undefined_primal",
    "primitive_jvps",
    "primitive_transposes",
    "zeros_like_aval",
]
