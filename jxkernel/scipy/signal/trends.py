"""Trends of signals, and their removal."""

from itertools import pairwise
from typing import Any

import jxkernel.numpy as jnp
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.linalg.operands import from_lists
from jxkernel.numpy.promotion import argument_aval, cast, promote_inexact
from jxkernel.primitives.arguments import canonical_axis, whole_numbers

__all__ = ["detrend"]


@fused(static=("axis", "kind", "breaks"), name="detrend")
def _detrended(data: Any, axis: int, kind: str, breaks: tuple[int, ...]) -> Any:
    data = jnp.asarray(promote_inexact("detrend", data)[0])
    if kind == "constant":
        return data - data.mean(axis, keepdims=True)
    moved = jnp.moveaxis(data, axis, -1)
    pieces = [_without_line(moved[..., start:stop]) for start, stop in pairwise(breaks)]
    return jnp.moveaxis(jnp.concatenate(pieces, -1), -1, axis)


def _without_line(piece: Any) -> Any:
    """Take away the line of least squares along the last axis."""
    size = piece.shape[-1]
    place = jnp.arange(size, dtype=piece.dtype) - (size - 1) / 2
    centered = piece - piece.mean(-1, keepdims=True)
    squares = size * (size * size - 1) / 12 if size > 1 else 1.0
    slope = (centered * place).sum(-1, keepdims=True) / squares
    return centered - slope * place


def detrend(
    data: Any,
    axis: int = -1,
    type: str = "linear",
    bp: Any = 0,
    overwrite_data: None = None,
) -> Any:
    """Return a signal without its trend.

    Args:
      data: the signal, an array or a list; integers become floating.
      axis: the axis of time.
      type: ``"linear"`` to take away lines of least squares, ``"constant"`` the mean.
      bp: where the lines break: places between which each piece has its own.
      overwrite_data: must be None.

    Raises:
      NotImplementedError: ``overwrite_data`` is given.
      ValueError: there is no such type, or a break lies outside.

    The result has the shape of ``data``.  Linear in ``data``.

    >>> import jxkernel as jx
    >>> jx.scipy.signal.detrend(jx.numpy.array([1.0, 2.0, 6.0]), type="constant")
    Array([-2., -1.,  3.], dtype=float32)
    """
    if overwrite_data is not None:
        raise NotImplementedError("detrend(overwrite_data=...): arrays cannot be written to")
    if type not in ("linear", "constant"):
        raise ValueError(f"detrend got type={type!r}: there are 'linear' and 'constant'")
    data = from_lists(data)
    aval = argument_aval("detrend", data)
    size = aval.shape[canonical_axis("detrend", axis, aval.ndim)]
    breaks = sorted({0, size, *whole_numbers("detrend", "bp", bp)})
    if breaks[0] < 0 or breaks[-1] > size:
        raise ValueError(f"detrend got breaks {bp} outside a signal of {size} samples")
    found = _detrended(data, axis, type, tuple(breaks))
    return cast(found, found.dtype, aval.weak_type and type == "linear")
