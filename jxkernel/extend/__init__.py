"""What packages that extend the system import.

A façade: it re-exports and holds nothing of its own.
"""

from typing import TYPE_CHECKING

from jxkernel._lazy import lazy_names
from jxkernel.extend import core, linear_util, source_info_util

__all__ = [
    "backend",
    "core",
    "ifrt_programs",
    "linear_util",
    "lowering",
    "mlir",
    "random",
    "sharding",
    "source_info_util",
    "xla",
]

# Rarely used: imported at their first use.
if TYPE_CHECKING:
    from jxkernel.extend import (
        backend,
        ifrt_programs,
        lowering,
        mlir,
        random,
        sharding,
        xla,
    )
__getattr__, __dir__ = lazy_names(
    __name__, modules="backend ifrt_programs lowering mlir random sharding xla"
)
