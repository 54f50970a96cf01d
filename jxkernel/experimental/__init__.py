"""What has its place under this name in programs written for JAX.

A façade: it re-exports.
"""

from types import ModuleType

from jxkernel._lazy import lazy_names
from jxkernel.api.callbacks import io_callback

__all__ = ["checkify", "io_callback"]

# Rarely used: imported at its first use.
checkify: ModuleType
__getattr__, __dir__ = lazy_names(__name__, {"checkify": f"{__name__}.checkify"})
