"""Python functions that write their results into arrays of a running program.

A façade: it re-exports.
"""

from jxkernel.api.buffer_callbacks import (
    Buffer,
    ExecutionContext,
    ExecutionStage,
    buffer_callback,
)

__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]
