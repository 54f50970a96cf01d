"""Batching rules by the field's older names.

A façade: it re-exports and holds nothing of its own.
"""

from jxkernel.api.extending import defbroadcasting, defvectorized, primitive_batchers
from jxkernel.ops.broadcast import batch_to_front as bdim_at_front

__all__ = ["bdim_at_front", "defbroadcasting", "defvectorized", "primitive_batchers"]
