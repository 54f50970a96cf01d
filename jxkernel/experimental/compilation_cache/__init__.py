"""The disk cache of compiled programs, under the names that programs written for JAX use."""

from jxkernel.experimental.compilation_cache import compilation_cache

__all__ = ["compilation_cache"]
