"""What has its place under this name in programs written for JAX.

A façade: it re-exports.
"""

from jxkernel.api.callbacks import io_callback

__all__ = ["io_callback"]
