"""Looking into programs while they run.

A façade: it re-exports.
"""

from jxkernel.api.stepping import Stepper, step

__all__ = ["Stepper", "step"]
