"""What an array holds, in a few figures and a small picture, read shard by shard.

Nothing is compiled and nothing is gathered: each shard is looked at where the host can read it. Of
large arrays a part stands for the whole, and the figures say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

import numpy as np

from jxkernel import dtypes

__all__ = ["ArrayFigures", "figures_of"]

_WHOLE = 1 << 24
"""Up to so many elements are all looked at: about 20 ms."""

_SAMPLE = 1 << 18
"""So many are looked at of larger arrays, and counted for the bars."""

_MOVED = 1 << 26
"""Up to so many bytes are copied from a device whose memory the host cannot read."""

_BARS = 24
_ROWS, _COLUMNS, _PER_CELL = 24, 48, 4

_ALL_BLOCKS = 1 << 22
"""Blocks of matrices of up to so many elements are means of all of theirs: a sample of a few rows
may have a pattern that the matrix has not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayFigures:
    """What an array holds. Figures are of its finite elements; of complex ones, of magnitudes.

    Attributes:
      looked: how many elements were looked at.
      size: how many this process can look at.
      least: the least, or None where none is finite.
      mean: their mean, or None.
      greatest: the greatest, or None.
      nans: how many are NaN.
      infinities: how many are infinite.
      bars: how many lie in each of the equal ranges from the least to the greatest.
      cells: of a matrix, the means of its blocks, row by row; NaN where none is finite.
    """

    looked: int
    size: int
    least: float | None = None
    mean: float | None = None
    greatest: float | None = None
    nans: int = 0
    infinities: int = 0
    bars: tuple[int, ...] = ()
    cells: tuple[tuple[float, ...], ...] = ()


def figures_of(array: Any) -> ArrayFigures | None:
    """Return what an array holds; waits until it is there.

    Args:
      array: an array of any shape, dtype and sharding.

    Returns:
      The figures, or None for what has none: random keys, ``float0``, deleted arrays, arrays
      without elements, and large ones whose memory the host cannot read.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> figures = jx.observe.figures_of(jnp.array([1.0, 3.0, jnp.nan]))
    >>> figures.least, figures.mean, figures.greatest, figures.nans
    (1.0, 2.0, 3.0, 1)
    """
    if not _is_numeric(array.dtype) or array.is_deleted():
        return None
    shards = _distinct_shards(array)
    size = sum(prod(shard.data.shape) for shard in shards)
    if not size or not _is_readable(array, size):
        return None
    array.block_until_ready()
    parts = [_numbers(np.asarray(shard.data)).reshape(-1) for shard in shards]
    if size > _WHOLE:
        parts = [part[:: ceil(size / _SAMPLE)] for part in parts]
    return _figures(parts, size, _blocks(array, shards))


def _is_numeric(dtype: Any) -> bool:
    return dtypes.issubdtype(dtype, np.number) or dtype == np.bool_


def _is_readable(array: Any, size: int) -> bool:
    on_host = all(device.platform == "cpu" for device in array.sharding.addressable_devices)
    return on_host or size * array.dtype.itemsize <= _MOVED


def _distinct_shards(array: Any) -> list[Any]:
    """The parts that this process holds, one of each that is there more than once."""
    found: dict[Any, Any] = {}
    for shard in array.addressable_shards:
        place = tuple((one.start, one.stop) for one in shard.index)
        found.setdefault(place, shard)
    return list(found.values())


def _numbers(host: np.ndarray) -> np.ndarray:
    """A host array in a dtype that NumPy computes with itself."""
    if host.dtype.kind == "c":
        return np.abs(host)
    return host if host.dtype.kind in "biuf" else host.astype(np.float32)


def _figures(parts: Sequence[np.ndarray], size: int, cells: np.ndarray | None) -> ArrayFigures:
    looked = sum(part.size for part in parts)
    nans = sum(int(np.isnan(part).sum()) for part in parts)
    finite = [part[kept] if not (kept := np.isfinite(part)).all() else part for part in parts]
    finite = [part for part in finite if part.size]
    count = sum(part.size for part in finite)
    held = () if cells is None else tuple(tuple(map(float, row)) for row in cells)
    missing = ArrayFigures(
        looked=looked, size=size, nans=nans, infinities=looked - nans - count, cells=held
    )
    if not count:
        return missing
    least, greatest = min(float(one.min()) for one in finite), max(float(o.max()) for o in finite)
    return ArrayFigures(
        looked=looked,
        size=size,
        least=least,
        mean=float(sum(one.sum(dtype=np.float64) for one in finite) / count),
        greatest=greatest,
        nans=nans,
        infinities=missing.infinities,
        bars=_counts(finite, least, greatest),
        cells=held,
    )


def _counts(finite: Sequence[np.ndarray], least: float, greatest: float) -> tuple[int, ...]:
    """How many elements lie in each range, of a sample where there are many."""
    width = greatest - least
    if not 0 < width < float("inf"):
        return ()
    step = ceil(sum(one.size for one in finite) / _SAMPLE)
    total = np.zeros(_BARS, int)
    for one in finite:
        places = (one[::step].astype(np.float64) - least) * (_BARS / width)
        total += np.bincount(places.astype(int).clip(0, _BARS - 1), minlength=_BARS)
    return tuple(map(int, total))


def _blocks(array: Any, shards: Sequence[Any]) -> np.ndarray | None:
    """The means of a matrix's blocks, of large ones from a sample of rows and columns.

    Returns:
      a float for each block, NaN where none of its elements is finite; None for no matrix.
    """
    if array.ndim != 2 or min(array.shape) < 2:
        return None
    is_whole = array.size <= _ALL_BLOCKS
    axes = [
        _positions(size, cells, size if is_whole else cells * _PER_CELL)
        for size, cells in zip(array.shape, (_ROWS, _COLUMNS), strict=True)
    ]
    sums = np.zeros([min(size, n) for size, n in zip(array.shape, (_ROWS, _COLUMNS), strict=True)])
    counts = np.zeros_like(sums)
    for shard in shards:
        inside = [
            _inside(*axis, *place.indices(size)[:2])
            for axis, place, size in zip(axes, shard.index, array.shape, strict=True)
        ]
        here, blocks, starts = zip(*inside, strict=True)
        if not all(map(len, here)):
            continue
        part = np.asarray(shard.data)
        part = _numbers(part if is_whole else part[np.ix_(*here)])
        known = np.isfinite(part)
        counts[np.ix_(*blocks)] += _summed(known, starts)
        sums[np.ix_(*blocks)] += _summed(part if known.all() else np.where(known, part, 0), starts)
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


def _positions(size: int, cells: int, looked: int) -> tuple[np.ndarray, np.ndarray]:
    """The places along an axis that are looked at, in order, and the block of each."""
    places = np.linspace(0, size - 1, min(size, looked)).astype(int)
    cells = min(size, cells)
    ends = np.arange(cells + 1) * len(places) // cells
    return places, np.repeat(np.arange(cells), np.diff(ends))


def _inside(
    places: np.ndarray, blocks: np.ndarray, start: int, stop: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where in a range places lie, of which blocks they are, and where each block begins."""
    chosen = (places >= start) & (places < stop)
    numbers, starts = np.unique(blocks[chosen], return_index=True)
    return places[chosen] - start, numbers, starts


def _summed(values: np.ndarray, starts: Sequence[np.ndarray]) -> np.ndarray:
    for begins in starts:  # the first axis, then the second: parts are quicker than reduceat
        parts = np.split(values, begins[1:])
        values = np.stack([part.sum(axis=0, dtype=np.float64) for part in parts], axis=-1)
    return values
