"""NumPy as references call it: the functions that say what the values of a primitive are.

References are what tests compare a primitive with; nothing else runs them.  They take NumPy
arrays of every dtype of ``dtypes``, ``ml_dtypes``'s among them, which NumPy's own types do not
describe, so its functions come without types here.  This module must not know of any primitive.
"""

from typing import Any

import numpy as np

__all__ = ["untyped_numpy"]

untyped_numpy: Any = np
