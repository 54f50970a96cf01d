"""What rules of lowering are written with: their context, and MLIR's.  A façade."""

from jxkernel.hlo import JaxIrContext, upstream_dialects
from jxkernel.lowering import LoweringContext as LoweringRuleContext

__all__ = ["JaxIrContext", "LoweringRuleContext", "upstream_dialects"]
