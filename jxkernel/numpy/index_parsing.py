"""From ``x[...]`` to a description: which axes are sliced, taken at a position, or gathered.

``parse`` turns an index as the user wrote it into a hashable *spec* and a list of *leaves* (the
integers and arrays that are data).  Run eagerly, positions are leaves, so that ``x[3]`` and
``x[4]`` share one program; while a program is traced, positions known now are part of the spec.

======================================  =======================================================
entry of a spec                         meaning
======================================  =======================================================
``("new",)``                            an axis of size 1 of the result (``None``)
``("slice", start, count, step)``       a slice; ``step`` may be negative
``("window", count)``                   a slice of step 1 that starts at a leaf, within bounds
``("run", count, step)``                 elements from a leaf on, perhaps out of bounds
``("fixed", position)``                 one position, within bounds
``("place",)``                          one position given by a leaf, within bounds
``("scalar",)``                         one position given by a leaf, perhaps out of bounds
``("array",)``                          positions given by an array leaf
``("gap",)``                            ``...`` that stands for no axis, beside index arrays
======================================  =======================================================

It must not know of gathers or scatters.
"""

from collections.abc import Sequence
from numbers import Number
from operator import index as as_integer
from typing import Any, NamedTuple

import numpy as np

from jxkernel import dtypes
from jxkernel._reprs import with_type
from jxkernel.config import check_static_indices
from jxkernel.core.avals import array_of
from jxkernel.core.dimensions import greater, is_symbolic, lesser
from jxkernel.core.slices import Slice
from jxkernel.core.trace import Tracer, is_unknown
from jxkernel.errors import NonConcreteBooleanIndexError
from jxkernel.numpy.creation import asarray
from jxkernel.numpy.promotion import cast
from jxkernel.primitives.elementwise.compare import lt
from jxkernel.primitives.elementwise.select import select
from jxkernel.records import record
from jxkernel.runtime import ArrayImpl, value_of

__all__ = ["ParsedIndex", "parse", "unwrapped"]

Spec = tuple[tuple[Any, ...], ...]

_BEFORE = -(2**31)  # out of bounds, and still so with the size of an axis added


class ParsedIndex(NamedTuple):
    """An index, taken apart.

    Attributes:
      spec: one entry per axis of the array and per new axis, hashable.
      leaves: the data the entries refer to, in order.
      expand: positions where the array gets axes of size 1 first (for ``x[True]``).
    """

    spec: Spec
    leaves: list[Any]
    expand: tuple[int, ...]


def unwrapped(index: Any) -> Any:
    """Return an index whose negative positions lie before the array instead of at its end."""
    if isinstance(index, tuple):
        return tuple([unwrapped(_positions(item)) for item in index])
    if isinstance(index, (int, np.integer)):
        return index if index >= 0 else _BEFORE
    if isinstance(index, Slice):
        return Slice(unwrapped(index.start), index.size, index.stride) if index.moving else index
    if isinstance(index, (ArrayImpl, Tracer, np.ndarray)) and index.dtype in dtypes.SIGNED:
        positions: Any = asarray(index)
        positions = cast(positions, np.promote_types(positions.dtype, np.int32))
        return select(lt(positions, 0), _BEFORE, positions)
    return index


@record()
class _Mask:
    """A boolean mask: its shape, and the positions where it holds."""

    shape: tuple[int, ...]
    positions: tuple[np.ndarray[Any, Any], ...]


def parse(
    shape: tuple[int, ...], index: Any, *, staged: bool, clamp: bool, chosen: bool = True
) -> ParsedIndex:
    """Take an index of an array apart.

    Args:
      shape: the array's shape.
      index: what stood between the brackets.
      staged: whether positions known now become part of the spec.
      clamp: whether a known position out of bounds counts as the nearest; else it is a leaf.
      chosen: whether the user has said what happens out of bounds.

    Raises:
      IndexError: there are too many indices, or a mask or a position does not fit; an index is
        neither a number nor a sequence, as a ``dict``; or under ``check_static_indices`` a known
        position is out of bounds and nothing was chosen.
      NonConcreteBooleanIndexError: a mask is traced.
      TypeError: an index is a number that is not whole, a text or a list.
    """
    if isinstance(index, tuple):
        items = [_checked(_positions(item)) for item in index]
    else:
        items = [_checked(index)]
    items = [_mask(item) if _is_boolean(item) else item for item in items]
    items = _spread(items, len(shape))
    items, shape, expand = _without_scalar_masks(items, shape)
    strict = not chosen and check_static_indices.value
    walk = _Walk(shape, staged, clamp, strict, any(_is_array(item) for item in items))
    for item in items:
        walk.add(item)
    return ParsedIndex(tuple(walk.entries), walk.leaves, expand)


def _positions(item: Any) -> Any:
    """Return a sequence among several indices as an array; other items as they are."""
    if not isinstance(item, (list, tuple)):
        return item
    return asarray(item) if item else np.zeros(0, np.int32)


def _checked(item: Any) -> Any:
    """Return one item of an index, sequences and foreign types refused."""
    if item is None or item is Ellipsis or isinstance(item, (int, slice, np.integer)):
        return item
    if isinstance(item, Slice):
        return item if item.moving else slice(item.start, item.start + item.size, item.stride)
    item = array_of(item)
    if isinstance(item, (ArrayImpl, Tracer, np.ndarray, np.bool_)):
        kind = item.dtype
        if kind in dtypes.INTEGRAL or kind in dtypes.BOOLEAN:
            return item
        if isinstance(item, np.ndarray) and not item.size:
            return item.astype(np.int32)
        raise TypeError(f"an index is of integers or booleans, got an array of dtype {kind}")
    if isinstance(item, (list, tuple)):
        raise TypeError(
            f"a {type(item).__name__} is not an index: write x[jnp.array(...)] to take several "
            "positions, or x[tuple(...)] to index several axes"
        )
    if hasattr(type(item), "__index__"):
        return as_integer(item)
    # Of the right kind, but not whole or not alone; anything else is no index at all.
    wrong = TypeError if isinstance(item, (Sequence, Number, np.generic)) else IndexError
    raise wrong(
        f"an index is an integer, a slice, None, ... or an array of these, got {with_type(item)}"
    )


def _is_boolean(item: Any) -> bool:
    if isinstance(item, (bool, np.bool_)):
        return True
    return isinstance(item, (ArrayImpl, Tracer, np.ndarray)) and item.dtype in dtypes.BOOLEAN


def _mask(item: Any) -> _Mask:
    """Return the positions where a mask holds; its values must be known now."""
    if is_unknown(item):
        raise NonConcreteBooleanIndexError(
            f"a boolean mask ({item.aval.short()})", origin=item.owner.describe(item)
        )
    value = value_of(item) if isinstance(item, ArrayImpl) else np.asarray(item)
    if not value.ndim:
        return _Mask((), (np.arange(int(value), dtype=np.int32),))
    return _Mask(value.shape, tuple(found.astype(np.int32) for found in value.nonzero()))


def _is_array(item: Any) -> bool:
    if isinstance(item, _Mask):
        return True
    return isinstance(item, (ArrayImpl, Tracer, np.ndarray)) and item.ndim > 0


def _consumed(item: Any) -> int:
    """Return how many axes an item indexes."""
    if item is None or item is Ellipsis:
        return 0
    return len(item.shape) if isinstance(item, _Mask) else 1


def _spread(items: list[Any], rank: int) -> list[Any]:
    """Return the items with whole slices in place of ``...``, or at the end.

    An ellipsis that stands for no axis is kept: it still parts the index arrays beside it.
    """
    places = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index has at most one ellipsis (...)")
    used = sum(map(_consumed, items))
    if used > rank:
        raise IndexError(f"too many indices: the array has rank {rank}, and {used} are indexed")
    if places and used == rank:
        return items
    place = places[0] if places else len(items)
    return [*items[:place], *[slice(None)] * (rank - used), *items[place + 1 :]]


def _without_scalar_masks(
    items: list[Any], shape: tuple[int, ...]
) -> tuple[list[Any], tuple[int, ...], tuple[int, ...]]:
    """Give each mask of rank 0 an axis of size 1 to index, which it keeps or empties."""
    sizes: list[int] = list(shape)
    expand: list[int] = []
    axis = 0
    for place, item in enumerate(items):
        if isinstance(item, _Mask) and not item.shape:
            sizes.insert(axis, 1)
            expand.append(axis)
            items[place] = item.positions[0]
            axis += 1
        else:
            axis += _consumed(item)
    return items, tuple(sizes), tuple(expand)


class _Walk:
    """The entries and leaves made so far, and the axis that comes next."""

    def __init__(
        self, shape: tuple[int, ...], staged: bool, clamp: bool, strict: bool, advanced: bool
    ) -> None:
        self.shape = shape
        self.staged = staged
        self.clamp = clamp
        self.strict = strict
        self.advanced = advanced
        self.entries: list[tuple[Any, ...]] = []
        self.leaves: list[Any] = []
        self.axis = 0

    def add(self, item: Any) -> None:
        """Add the entries of one item."""
        if item is None:
            self.entries.append(("new",))
        elif item is Ellipsis:
            if self.advanced:
                self.entries.append(("gap",))
        elif isinstance(item, _Mask):
            self._add_mask(item)
        else:
            size = self.shape[self.axis]
            if isinstance(item, slice):
                self._add_slice(item, size)
            elif isinstance(item, Slice):
                self._add_run(item, size)
            elif isinstance(item, (int, np.integer)):
                self._add_known(int(item), size)
            else:
                self._add_array(item, size)
            self.axis += 1

    def _add(self, kind: str, leaf: Any) -> None:
        self.entries.append((kind,))
        self.leaves.append(leaf)

    def _add_mask(self, mask: _Mask) -> None:
        own = self.shape[self.axis : self.axis + len(mask.shape)]
        if not all(size in (0, whole) for size, whole in zip(mask.shape, own, strict=True)):
            raise IndexError(
                f"a boolean index of shape {mask.shape} does not fit axes of sizes {own}: a mask "
                "has the shape of the axes it indexes, or size 0"
            )
        for positions in mask.positions:
            self._add("array", positions)
        self.axis += len(mask.shape)

    def _add_slice(self, item: slice, size: int) -> None:
        start, stop, step = _bounds(item, size)
        if is_symbolic(size):
            count = _symbolic_count(start, stop, step)
        else:
            count = len(range(start, stop, step))
        if step == 1 and not self.staged and not self.advanced and count < size:
            self.entries.append(("window", count))
            self.leaves.append(start)
        else:
            self.entries.append(("slice", start, count, step))

    def _add_run(self, item: Slice, size: int) -> None:
        if item.size < 0 or (item.stride == 1 and item.size > size):
            raise TypeError(
                f"a slice of {item.size} elements from a traced position on does not fit axis "
                f"{self.axis} of size {size}: its size is 0 to {size}"
            )
        self.entries.append(("run", item.size, item.stride))
        self.leaves.append(item.start)

    def _add_known(self, position: int, size: int) -> None:
        if size == 0:
            raise IndexError(
                f"index {position} is out of bounds for axis {self.axis}, which has size 0"
            )
        if self.strict and not -size <= position < size:
            raise IndexError(
                f"index {position} is out of bounds for axis {self.axis} with size {size}: its "
                f"positions are {-size} to {size - 1}. Without this check the nearest element "
                "is read; to want that, write x.at[i].get(mode='clip')"
            )
        if -size <= position < size or self.clamp:
            position = min(max(position + size if position < 0 else position, 0), size - 1)
            if self.advanced:
                self._add("array", np.int32(position))
            elif self.staged:
                self.entries.append(("fixed", position))
            else:
                self._add("place", position)
        else:
            far = min(max(position, -(2**31)), 2**31 - 1)
            self._add("array" if self.advanced else "scalar", np.int32(far))

    def _add_array(self, item: Any, size: int) -> None:
        if not item.ndim and not isinstance(item, Tracer):
            self._add_known(int(item), size)
        elif not item.ndim and not self.advanced:
            self._add("scalar", item)
        else:
            self._add("array", _narrowed(item, size))


def _bounds(item: slice, size: int) -> tuple[int, int, int]:
    """Return start, stop and step of a slice; they are known now.

    Raises:
      IndexError: one is traced.
    """
    for part in (item.start, item.stop, item.step):
        if isinstance(part, Tracer):
            raise IndexError(
                f"the bounds of a slice are known when the program is traced, got {part!r}: the "
                "result's shape would depend on its value. Write lax.dynamic_slice(x, starts, "
                "sizes) for a slice of fixed size at a traced position"
            )
    return _symbolic_bounds(item, size) if is_symbolic(size) else item.indices(size)


def _symbolic_bounds(item: slice, size: Any) -> tuple[Any, Any, int]:
    """Return start, stop and step of a slice along an axis of symbolic size.

    As ``slice.indices`` does: what is given is counted from the front and kept within the axis.
    """
    step = 1 if item.step is None else as_integer(item.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low, high = (0, size) if step > 0 else (-1, size - 1)

    def placed(given: Any, default: Any) -> Any:
        if given is None:
            return default
        return lesser(greater(given + size if given < 0 else given, low), high)

    first, last = (low, high) if step > 0 else (high, low)
    return placed(item.start, first), placed(item.stop, last), step


def _symbolic_count(start: Any, stop: Any, step: int) -> Any:
    """Return how many elements a slice of symbolic bounds has."""
    toward = 1 if step > 0 else -1
    return greater((stop - start + step - toward) // step, 0)


def _narrowed(item: Any, size: int) -> Any:
    """Return positions in a NumPy array as int32, where that holds all positions of the axis.

    Positions beyond int32 are moved to its bounds, which are out of bounds of the axis too.
    """
    if not isinstance(item, np.ndarray) or size >= 2**31:
        return item
    if item.dtype.itemsize >= 4:
        item = np.clip(item, 0 if item.dtype in dtypes.UNSIGNED else -(2**31), 2**31 - 1)
    return item.astype(np.int32)
