"""What SciPy has for sparse matrices: iterative solvers, which need products only.

Place in the pipeline: a part of ``scipy``; imported at its first use.
"""

from typing import TYPE_CHECKING

from jxkernel._lazy import lazy_names

__all__ = ["linalg"]

if TYPE_CHECKING:
    from jxkernel.scipy.sparse import (
        linalg,
    )
__getattr__, __dir__ = lazy_names(__name__, modules="linalg")
