"""Kernels written in Python for accelerators: importable, and refused where they are made.

Packages import these names beside what runs everywhere.
"""

from jxkernel.experimental.pallas import triton
from jxkernel.experimental.pallas.kernels import pallas_call, program_id

__all__ = ["pallas_call", "program_id", "triton"]
