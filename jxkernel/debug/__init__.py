"""Looking into programs: showing values while they run, and running them step by step.

A façade: it re-exports.
"""

from jxkernel.api.breakpoints import breakpoint
from jxkernel.api.callbacks import debug_callback as callback
from jxkernel.api.stepping import Stepper, step
from jxkernel.debug.printing import log, print

__all__ = ["Stepper", "breakpoint", "callback", "log", "print", "step"]
