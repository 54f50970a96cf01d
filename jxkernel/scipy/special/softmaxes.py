"""Softmax and its kin under SciPy's arguments; they are those of ``jxkernel.nn``."""

from collections.abc import Sequence
from typing import Any

from jxkernel import nn
from jxkernel.numpy.promotion import argument_aval
from jxkernel.runtime import ArrayLike

__all__ = ["log_softmax", "softmax"]

Axis = int | Sequence[int] | None


def _axes(name: str, x: Any, axis: Axis) -> Any:
    """Return the axes given, or all."""
    return tuple(range(argument_aval(name, x).ndim)) if axis is None else axis


def softmax(x: ArrayLike, /, *, axis: Axis = None) -> Any:
    """Return exp(x) / Σ exp(x), which neither overflows nor underflows.

    Args:
      x: an array.
      axis: the axes to sum over; all where not given.

    >>> import jxkernel as jx
    >>> jx.scipy.special.softmax(jx.numpy.zeros(2))
    Array([0.5, 0.5], dtype=float32)
    """
    return nn.softmax(x, _axes("softmax", x, axis))


def log_softmax(x: ArrayLike, /, *, axis: Axis = None) -> Any:
    """Return log(softmax(x)), exact where the shares are small.

    Args:
      x: an array.
      axis: the axes to sum over; all where not given.

    >>> import jxkernel as jx
    >>> jx.scipy.special.log_softmax(jx.numpy.zeros(1))
    Array([0.], dtype=float32)
    """
    return nn.log_softmax(x, _axes("log_softmax", x, axis))
