"""The clients of platforms, for packages that extend the system."""

from typing import Any

from jxkernel.api.jit import clear_caches as clear_in_memory_compilation_cache
from jxkernel.compile.placement import free_compile_options as get_compile_options
from jxkernel.runtime import backend as get_backend
from jxkernel.runtime import (
    backends,
    clear_backends,
    register_backend_cache,
    register_backend_factory,
)
from jxkernel.runtime import default_device as get_default_device

__all__ = [
    "backend_xla_version",
    "backends",
    "clear_backends",
    "clear_in_memory_compilation_cache",
    "get_backend",
    "get_compile_options",
    "get_default_device",
    "register_backend_cache",
    "register_backend_factory",
]


def backend_xla_version(platform: str | None = None) -> int | None:
    """Return the version of XLA that a platform's plugin says it has; None where it says none.

    Args:
      platform: its name; the default one where not given.
    """
    found: Any = getattr(get_backend(platform), "xla_version", None)
    return found
