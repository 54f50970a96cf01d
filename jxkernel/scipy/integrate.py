"""Integration of sampled functions."""

from typing import Any

from jxkernel import numpy as jnp
from jxkernel.runtime import ArrayLike

__all__ = ["trapezoid"]


def trapezoid(y: Any, x: ArrayLike | None = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Return the integral of samples by the trapezoidal rule.

    Args:
      y: the samples; integers become floating.
      x: the places of the samples; evenly spaced where not given.
      dx: the distance of the places.
      axis: the axis to integrate along.

    Linear in ``y``.

    >>> import jxkernel as jx
    >>> jx.scipy.integrate.trapezoid(jx.numpy.array([1.0, 2.0, 3.0]))
    Array(4., dtype=float32)
    """
    return jnp.trapezoid(y, x, dx, axis)
