"""The clients of platforms, for packages that extend the system.

A façade: it re-exports.
"""

from jxkernel.runtime import backend as get_backend
from jxkernel.runtime import backends, clear_backends
from jxkernel.runtime import default_device as get_default_device

__all__ = ["backends", "clear_backends", "get_backend", "get_default_device"]
