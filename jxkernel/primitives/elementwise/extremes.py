"""Lowering of maximum and minimum: complex numbers order by their real, then imaginary parts.

``max``, ``min`` and the scatters that take extremes share it.  It must not know of primitives.
"""

from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray

__all__ = ["lower_extreme"]


def lower_extreme(operation: str, aval: ShapedArray, context: Any, x: Any, y: Any) -> Any:
    """Return the ``"maximum"`` or ``"minimum"`` of two values of one type."""
    kind = hlo.tensor_type(aval.shape, aval.dtype)
    if not dtypes.issubdtype(aval.dtype, np.complexfloating):
        return context.value(f"stablehlo.{operation}", kind, (x, y))
    direction = {"maximum": "GT", "minimum": "LT"}[operation]
    first = _lower_lexicographic(context, aval, x, y, direction)
    return context.value("stablehlo.select", kind, (first, x, y))


def _lower_lexicographic(context: Any, aval: ShapedArray, x: Any, y: Any, direction: str) -> Any:
    """Compare complex values by their real parts, and where these are equal by the imaginary."""
    part = hlo.tensor_type(aval.shape, np.zeros((), aval.dtype).real.dtype)
    flag = hlo.tensor_type(aval.shape, np.dtype(np.bool_))
    (x_real, y_real), (x_imag, y_imag) = (
        [context.value(f"stablehlo.{name}", part, (value,)) for value in (x, y)]
        for name in ("real", "imag")
    )
    tie = context.compare(x_real, y_real, "EQ", aval.shape, "FLOAT")
    by_imag = context.compare(x_imag, y_imag, direction, aval.shape, "FLOAT")
    by_real = context.compare(x_real, y_real, direction, aval.shape, "FLOAT")
    return context.value("stablehlo.select", flag, (tie, by_imag, by_real))
