"""Looking into programs: showing values while they run, and running them step by step.

A façade: it re-exports.
"""

from jxkernel.api.breakpoints import breakpoint
from jxkernel.api.callbacks import debug_callback as callback
from jxkernel.api.stepping import Stepper, step
from jxkernel.core.effects import DebugEffect, OrderedDebugEffect
from jxkernel.debug.printing import log, print
from jxkernel.observe.layout import (
    ShardingView,
    inspect_array_sharding,
    visualize_array_sharding,
    visualize_sharding,
)

__all__ = [
    "DebugEffect",
    "OrderedDebugEffect",
    "ShardingView",
    "Stepper",
    "breakpoint",
    "callback",
    "inspect_array_sharding",
    "log",
    "print",
    "step",
    "visualize_array_sharding",
    "visualize_sharding",
]
