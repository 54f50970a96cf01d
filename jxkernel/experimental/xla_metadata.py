"""What the compiler is told of operations: ``set_xla_metadata`` and others.  Only re-exports."""

from jxkernel.api.marking import fuse_limit, must_fuse_call, set_xla_metadata, xla_metadata_call

__all__ = ["fuse_limit", "must_fuse_call", "set_xla_metadata", "xla_metadata_call"]
