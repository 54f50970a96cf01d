"""Batching rules by the field's older names.

A façade: it re-exports and holds nothing of its own.
"""

from jxkernel.api.extending import (
    axis_primitive_batchers,
    defbroadcasting,
    defvectorized,
    fancy_primitive_batchers,
    primitive_batchers,
)
from jxkernel.api.mapped_axes import register_vmappable, unregister_vmappable
from jxkernel.primitives.shape.broadcast import batch_to_front as bdim_at_front

__all__ = [
    "axis_primitive_batchers",
    "bdim_at_front",
    "defbroadcasting",
    "defvectorized",
    "fancy_primitive_batchers",
    "primitive_batchers",
    "register_vmappable",
    "unregister_vmappable",
]
