"""Selection: elements from one array or another, by a condition or a choice.

What is not chosen takes no part: neither its NaN values nor its derivatives reach the result.
"""

from typing import Any

import numpy as np

from jxkernel.numpy.fusing import fused
from jxkernel.numpy.logic import truth
from jxkernel.numpy.promotion import (
    broadcast_shapes,
    broadcast_to_shape,
    check_arguments,
    promote_dtypes,
)
from jxkernel.ops.select import select as selected

__all__ = ["where"]


@fused
def _where(condition: Any, x: Any, y: Any) -> Any:
    condition = truth(condition)
    x, y = promote_dtypes("where", x, y)
    parts = (condition, x, y)
    shapes = [np.shape(part) for part in parts if np.ndim(part)]
    if len(set(shapes)) > 1:
        shape = broadcast_shapes(*shapes)
        condition, x, y = (
            broadcast_to_shape(part, shape) if np.ndim(part) else part for part in parts
        )
    return selected(condition, x, y)


def where(
    condition: Any,
    x: Any,
    y: Any,
    /,
) -> Any:
    """Return elements of ``x`` where a condition holds, else of ``y``.

    Args:
      condition: an array; anything but zero holds.
      x: an array or number.
      y: an array or number; all three broadcast.

    Raises:
      TypeError: an argument is no array (a list is not converted silently).
      ValueError: shapes do not broadcast.

    The derivative with respect to a value not chosen is exactly zero, also where it is NaN.
    """
    check_arguments("where", condition, x, y)
    return _where(condition, x, y)
