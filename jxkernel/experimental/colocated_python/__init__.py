"""Functions and objects that run beside devices.

A process here holds the devices that it computes on, so beside them is where it is.  Where another
process would run them, a program written for that finds the same functions.
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
