"""Segment sums, and the updates of old: the public module ``jax.ops``.

They are functions of the NumPy API, found at their first use.
"""

from typing import TYPE_CHECKING

from jxkernel._lazy import lazy_names

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]

if TYPE_CHECKING:
    from jxkernel.numpy.segments import segment_max, segment_min, segment_prod, segment_sum

__getattr__, __dir__ = lazy_names(
    __name__,
    names={"jxkernel.numpy.segments": " ".join(__all__)},
    older={"jxkernel._older": "index index_add index_max index_min index_mul index_update"},
)
