"""What compilers read of profiles.

A façade: it re-exports and holds nothing of its own.
"""

from jxkernel.runtime.profiling import get_profiled_instructions_proto

__all__ = ["get_profiled_instructions_proto"]
