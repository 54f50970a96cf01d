"""Functions that run beside devices of other machines: importable, and refused where used.

A process here holds the devices that it computes on, so Python runs beside them as it is.
"""

from jxkernel.experimental.colocated_python import func, serialization
from jxkernel.experimental.colocated_python.func import (
    colocated_cpu_devices,
    colocated_python,
    colocated_python_class,
)

__all__ = [
    "colocated_cpu_devices",
    "colocated_python",
    "colocated_python_class",
    "func",
    "serialization",
]
