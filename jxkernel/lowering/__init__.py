"""From a jaxpr to a StableHLO module: a walk over equations, each lowered by its primitive's rule.

It knows jaxprs and the ``hlo`` builder.  It must not know of transforms, devices or caches.
"""

from __future__ import annotations

from jxkernel.lowering.lower import LoweringContext, LoweringRule, lower_program
from jxkernel.lowering.partitioning import Partitioning, constant_sharding, entries_of, pin_results
from jxkernel.lowering.program import LoweredProgram

__all__ = [
    "LoweredProgram",
    "LoweringContext",
    "LoweringRule",
    "Partitioning",
    "constant_sharding",
    "entries_of",
    "lower_program",
    "pin_results",
]
