"""What SciPy has for sparse matrices: iterative solvers, which need products only.

Place in the pipeline: a part of ``scipy``; imported at its first use.
"""

from types import ModuleType

from jxkernel._lazy import lazy_names

__all__ = ["linalg"]

linalg: ModuleType
__getattr__, __dir__ = lazy_names(__name__, modules="linalg")
