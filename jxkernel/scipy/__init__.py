"""SciPy's functions of arrays: each submodule has the names and arguments of SciPy's own.

Place in the pipeline: above ``numpy``, ``random`` and ``nn``.  Submodules are imported when they
are first used, by attribute or by ``import``; ``import jxkernel`` loads none.
"""

from types import ModuleType

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

cluster: ModuleType
fft: ModuleType
integrate: ModuleType
interpolate: ModuleType
linalg: ModuleType
ndimage: ModuleType
optimize: ModuleType
signal: ModuleType
sparse: ModuleType
spatial: ModuleType
special: ModuleType
stats: ModuleType
__getattr__, __dir__ = lazy_names(__name__, modules=" ".join(__all__))
