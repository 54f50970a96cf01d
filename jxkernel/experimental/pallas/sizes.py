"""Sizes: how many blocks make an array, and how large one is that holds whole tiles."""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

from jxkernel.core.filtering import filtered
from jxkernel.core.slices import Slice
from jxkernel.core.slices import ds as slice_of_size
from jxkernel.core.trace import Tracer

__all__ = [
    "align_to",
    "cdiv",
    "ds",
    "multiple_of",
    "next_power_of_2",
    "slices_of_any_size",
    "strides_from_shape",
]


class _Placing(threading.local):
    any_size = False


_placing = _Placing()


@contextmanager
def slices_of_any_size() -> Generator[None]:
    """Let ``ds`` make slices of a size that is data, as index maps do for ``BoundedSlice``."""
    outer = _placing.any_size
    _placing.any_size = True
    try:
        yield
    finally:
        _placing.any_size = outer


@filtered
def ds(start: Any, size: Any = None, stride: Any = None) -> Any:
    """Return a slice by its start and its size, as ``jxkernel.ds`` does; see there.

    Args:
      start: where it starts.
      size: how many elements it has; in an index map, for a ``BoundedSlice``, it may be traced.
      stride: how far apart they lie.

    >>> from jxkernel.experimental import pallas as pl
    >>> pl.ds(4, 2)
    Slice(start=4, size=2, stride=1)
    """
    if _placing.any_size and isinstance(size, Tracer):
        return Slice(start, size, 1 if stride is None else stride)
    return slice_of_size(start, size, stride)


@filtered
def cdiv(a: Any, b: Any) -> Any:
    """Return the quotient of integers, rounded up.

    Args:
      a: an int or an array of integers.
      b: the same.

    >>> from jxkernel.experimental import pallas as pl
    >>> pl.cdiv(10, 4)
    3
    """
    return (a + b - 1) // b


@filtered
def align_to(a: Any, alignment: Any) -> Any:
    """Return the least multiple of a number that is not less than another.

    Args:
      a: an int or an array of integers.
      alignment: the number.

    >>> from jxkernel.experimental import pallas as pl
    >>> pl.align_to(10, 4)
    12
    """
    return cdiv(a, alignment) * alignment


def next_power_of_2(x: int) -> int:
    """Return the least power of two that is not less than a number.

    Raises:
      ValueError: it is negative.

    >>> from jxkernel.experimental import pallas as pl
    >>> pl.next_power_of_2(5)
    8
    """
    if x < 0:
        raise ValueError(f"next_power_of_2 takes a number that is not negative, got {x}")
    return 1 << (x - 1).bit_length() if x else 1


def multiple_of(x: Any, values: Sequence[int] | int) -> Any:
    """Return an integer as it is: a promise to compilers, of which an interpreter has no need.

    Args:
      x: the integer.
      values: known numbers that it is a multiple of; nothing checks that.
    """
    return x


def strides_from_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Return how many elements lie between neighbours along each axis of a row-major array.

    >>> from jxkernel.experimental import pallas as pl
    >>> pl.strides_from_shape((2, 3, 4))
    (12, 4, 1)
    """
    return tuple([prod(shape[axis + 1 :]) for axis in range(len(shape))])
