"""Types for annotations: what may stand for an array, and for a dtype.  A façade."""

from typing import Any, TypeAlias

import numpy as np

from jxkernel.runtime import AnyArray

__all__ = ["ArrayLike", "DTypeLike"]

ArrayLike: TypeAlias = AnyArray
"""What functions take where they want an array; no lists.  Each part is a class, for
``isinstance``."""

DTypeLike: TypeAlias = str | type[Any] | np.dtype[Any]
"""What functions take where they want a dtype."""
