"""Bits as arrays of 0 and 1, and back, eight to a byte."""

from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.numpy.creation import asarray
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import argument_aval
from jxkernel.numpy.shapes import moveaxis, ravel, reshape
from jxkernel.primitives.arguments import canonical_axis, whole_number
from jxkernel.primitives.indexing.slicing import pad

__all__ = ["packbits", "unpackbits"]


def _order(name: str, bitorder: str) -> Any:
    """Return how far up each of eight bits stands.

    Raises:
      ValueError: the order is neither ``"big"`` nor ``"little"``.
    """
    if bitorder not in ("big", "little"):
        raise ValueError(f"{name} got bitorder {bitorder!r}: it is 'big' or 'little'")
    places = np.arange(8, dtype=np.uint8)
    return places[::-1] if bitorder == "big" else places


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """Return bytes, each of which holds eight elements along an axis as its bits.

    Args:
      a: an array of booleans or integers; anything but 0 is a 1.
      axis: the axis; None for the flattened array.
      bitorder: whether the first element is the highest (``"big"``) or the lowest bit.

    Raises:
      TypeError: ``a`` has another dtype.

    >>> jnp.packbits(jnp.array([1, 0, 0, 0, 0, 0, 1, 1]))
    Array([131], dtype=uint8)
    """
    aval = argument_aval("packbits", a)
    if aval.dtype not in dtypes.BOOLEAN | dtypes.INTEGRAL:
        raise TypeError(f"packbits takes booleans or integers, got dtype {aval.dtype.name}")
    order = tuple(_order("packbits", bitorder).tolist())
    a, axis = (ravel(a), 0) if axis is None else (asarray(a), axis)
    return _packed(a, canonical_axis("packbits", axis, a.ndim), order)


@fused(static=("axis", "order"), name="packbits")
def _packed(a: Any, axis: int, order: tuple[int, ...]) -> Any:
    bits = moveaxis(a != 0, axis, -1).astype(np.uint8)
    missing = -bits.shape[-1] % 8
    config = [(0, 0, 0)] * (bits.ndim - 1) + [(0, missing, 0)]
    bits = pad(bits, np.uint8(0), config)
    groups = reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8))
    packed = (groups << np.array(order, np.uint8)).sum(-1, dtype=np.uint8)
    return moveaxis(packed, -1, axis)


def unpackbits(
    a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Any:
    """Return the bits of bytes as elements 0 and 1 along an axis.

    Args:
      a: an array of dtype uint8.
      axis: the axis; None for the flattened array.
      count: how many bits to return; negative to cut off that many; all where not given.
      bitorder: whether the highest (``"big"``) or the lowest bit comes first.

    Raises:
      TypeError: ``a`` has another dtype.

    >>> jnp.unpackbits(jnp.array([131], jnp.uint8))
    Array([1, 0, 0, 0, 0, 0, 1, 1], dtype=uint8)
    """
    aval = argument_aval("unpackbits", a)
    if aval.dtype != np.uint8:
        raise TypeError(f"unpackbits takes bytes (uint8), got dtype {aval.dtype.name}")
    order = tuple(_order("unpackbits", bitorder).tolist())
    a, axis = (ravel(a), 0) if axis is None else (asarray(a), axis)
    limit = None if count is None else whole_number("unpackbits", "count", count)
    return _unpacked(a, canonical_axis("unpackbits", axis, a.ndim), limit, order)


@fused(static=("axis", "count", "order"), name="unpackbits")
def _unpacked(a: Any, axis: int, count: int | None, order: tuple[int, ...]) -> Any:
    a = moveaxis(a, axis, -1)
    bits = (a[..., None] >> np.array(order, np.uint8)) & 1
    flat = reshape(bits, (*a.shape[:-1], a.shape[-1] * 8))
    if count is not None and count > flat.shape[-1]:
        flat = pad(flat, np.uint8(0), [(0, 0, 0)] * (a.ndim - 1) + [(0, count - flat.shape[-1], 0)])
    return moveaxis(flat[..., :count], -1, axis)
