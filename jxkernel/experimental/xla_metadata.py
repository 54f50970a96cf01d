"""What the compiler is told of operations: ``set_xla_metadata``.  Only re-exports."""

from jxkernel.api.marking import set_xla_metadata

__all__ = ["set_xla_metadata"]
