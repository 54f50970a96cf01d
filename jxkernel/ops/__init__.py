"""Primitives by mathematical family, each with all its rules beside it.

An operation takes arrays of one dtype and does no promotion; NumPy's manners live in
``jxkernel.numpy``.  Every primitive that is one StableHLO operation names it.  This layer must
not know of any transform: rules call operations, and operations bind primitives.

The package's name is also that of the public module of segment sums.  Those are functions of the
NumPy API; ``jxkernel.ops.segment_sum`` finds them at its first use, so nothing here imports them.
"""

from typing import Any

from jxkernel._lazy import lazy_names

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]

segment_max: Any
segment_min: Any
segment_prod: Any
segment_sum: Any

__getattr__, __dir__ = lazy_names(
    __name__,
    names={"jxkernel.numpy.segments": " ".join(__all__)},
    older={"jxkernel._older": "index index_add index_max index_min index_mul index_update"},
    refuses=False,  # the package's own modules are asked for before they are imported
)
