"""Sharing memory with other array libraries through DLPack.  A façade."""

from jxkernel.runtime.dlpack import from_dlpack, is_supported_dtype

__all__ = ["from_dlpack", "is_supported_dtype"]
