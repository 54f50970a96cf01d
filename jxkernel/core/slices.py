"""Slices of a known size whose start may be data: ``ds``.

This module must not know of arrays' operations: what indexes arrays reads ``Slice``.
"""

from __future__ import annotations

from operator import index
from typing import Any, SupportsIndex, final

import numpy as np

from jxkernel import tree
from jxkernel.core.dimensions import Dimension
from jxkernel.core.filtering import filtered
from jxkernel.core.trace import Tracer

__all__ = ["Slice", "ds"]


@final
class Slice:
    """A slice of a known size; a pytree, whose leaf is the start where that is data.

    Attributes:
      start: where it starts: an int, a symbolic size, or an integer array of rank 0.
      size: how many elements it has.
      stride: how far apart they lie.
    """

    __slots__ = ("size", "start", "stride")

    def __init__(self, start: Any, size: Any, stride: int = 1) -> None:
        self.start = start
        self.size = size
        self.stride = stride

    @property
    def moving(self) -> bool:
        """Whether the start is data."""
        return not isinstance(self.start, (int, Dimension))

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the start where it is data, and the rest."""
        if self.moving:
            return (self.start,), (None, self.size, self.stride)
        return (), (self.start, self.size, self.stride)

    @classmethod
    def tree_unflatten(cls, aux: tuple[Any, ...], children: tuple[Any, ...]) -> Slice:
        """Return the slice of its parts."""
        start, size, stride = aux
        return cls(children[0] if children else start, size, stride)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Slice) or self.moving or other.moving:
            return self is other
        return self.tree_flatten() == other.tree_flatten()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Slice(start={self.start!r}, size={self.size!r}, stride={self.stride!r})"


tree.register_pytree_node(Slice, Slice.tree_flatten, Slice.tree_unflatten)


@filtered
def ds(start: object, size: object = None, stride: object = None) -> slice | Slice:
    """Return a slice by its start and its size, for the index of an array or a reference.

    Args:
      start: where it starts: an int or an integer array of rank 0, which may be traced; None and
        no ``size`` for the whole axis.  Without ``size``, how many elements from the front.
      size: how many elements it has, an int.
      stride: how far apart they lie, an int of at least 1; None for 1.

    Returns:
      what stands between brackets: ``x[ds(i, n)]``, ``x.at[ds(i, n)].set(y)``, ``ref[ds(i, n)]``,
      alone or among other indices.  Of arrays, with a start that is known, it is the slice
      ``i : i + n : stride``, as Python reads it.  With a start that is data, and of references,
      it is the ``n`` elements ``i, i + stride, ...``.

      Where a start that is data puts a part out of bounds, reads, and writes of references, move
      the start so that all lies within, and a negative one counts from the end; ``x.at[...]``
      with a ``mode`` or an update does as the mode says: without one the update is left out, and
      a negative start is out of bounds.  With a stride each element stands for itself: it is read
      at the nearest place, and not written.  Beside arrays of positions a negative start of an
      array's part is 0.

      Linear in the array, and constant in ``start``, as other indices are.

    Raises:
      TypeError: ``size`` is traced or no whole number, or larger than the axis where the start is
        data; or the start is no whole number.
      ValueError: ``stride`` is no int of at least 1; or a reference's part is out of bounds.

    >>> import jxkernel as jx
    >>> from jxkernel import numpy as jnp
    >>> x = jnp.arange(10)
    >>> jx.jit(lambda i: x[jx.ds(i, 3)])(4).tolist()
    [4, 5, 6]
    """
    if stride is not None and (not isinstance(stride, int) or stride < 1):
        raise ValueError(f"ds takes a stride that is an int of at least 1, got {stride!r:.60}")
    if size is None:
        if start is None:
            return slice(None, None, stride)
        start, size = 0, start
    return Slice(_start(0 if start is None else start), _size(size), stride or 1)


def _size(size: object) -> int | Dimension:
    if isinstance(size, Dimension):
        return size
    if isinstance(size, Tracer) or not isinstance(size, SupportsIndex):
        raise TypeError(
            "the size of a slice is a whole number that is known when the program is traced, got "
            f"{size!r:.100}: mark the argument with jit(static_argnames=...)"
        )
    return index(size)


def _start(start: Any) -> Any:
    """Return a start: a number where it is one, else an array of rank 0.

    Raises:
      TypeError: it is neither.
    """
    if isinstance(start, Dimension):
        return start
    if isinstance(start, int):
        return int(start)
    kind = getattr(getattr(start, "dtype", None), "kind", None)
    if kind not in ("i", "u") or getattr(start, "shape", None):
        raise TypeError(
            f"a slice starts at an int or at an integer array of rank 0, got {start!r:.100}"
        )
    on_host = isinstance(start, (np.ndarray, np.generic))
    place: Any = start
    return int(place) if on_host else place
