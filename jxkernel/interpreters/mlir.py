"""Lowering rules by the field's older names.

A façade: it re-exports and holds nothing of its own.  The dialects that rules write in are
jaxlib's own: ``from jaxlib.mlir.dialects import stablehlo as hlo``.
"""

from jxkernel.api.extending import (
    aval_to_ir_type,
    dtype_to_ir_type,
    ir_constant,
    lower_fun,
    register_lowering,
)
from jxkernel.hlo import i32_attr, i64_attr, ir
from jxkernel.lowering import LoweringContext as LoweringRuleContext
from jxkernel.lowering import LoweringRule

__all__ = [
    "LoweringRule",
    "LoweringRuleContext",
    "aval_to_ir_type",
    "dtype_to_ir_type",
    "i32_attr",
    "i64_attr",
    "ir",
    "ir_constant",
    "lower_fun",
    "register_lowering",
]
