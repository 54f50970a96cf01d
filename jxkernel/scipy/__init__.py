"""SciPy's functions of arrays: each submodule has the names and arguments of SciPy's own.

Place in the pipeline: above ``numpy``, ``random`` and ``nn``.  Submodules are imported when they
are first used, by attribute or by ``import``; ``import jxkernel`` loads none.
"""

from typing import TYPE_CHECKING

from jxkernel._lazy import lazy_names

__all__: list[str] = [
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]

if TYPE_CHECKING:
    from jxkernel.scipy import (
        cluster,
        fft,
        integrate,
        interpolate,
        linalg,
        ndimage,
        optimize,
        signal,
        sparse,
        spatial,
        special,
        stats,
    )
__getattr__, __dir__ = lazy_names(__name__, modules=" ".join(__all__))
