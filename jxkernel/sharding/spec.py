"""``PartitionSpec``: which mesh axes each axis of an array is divided over."""

from collections.abc import Hashable, Iterator
from typing import Any

__all__ = ["PartitionSpec", "axes_of"]


class _Unconstrained:
    """The entry of a spec by which XLA chooses how to divide an axis."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "_UNCONSTRAINED"


_UNCONSTRAINED = _Unconstrained()


def _entry(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        names = tuple(value)
        return None if not names else names[0] if len(names) == 1 else names
    return value


class PartitionSpec:
    """For each axis of an array, the mesh axis that it is divided over.

    An entry is a name, a tuple of names (the first varies slowest), None for an axis that is not
    divided, or ``PartitionSpec.UNCONSTRAINED`` for one that XLA may divide.  Axes without an entry
    are not divided.

    Args:
      *partitions: the entries, in the order of the axes.

    Example:
      >>> from jxkernel.sharding import PartitionSpec as P
      >>> P("x", None, ("y", "z"))
      P('x', None, ('y', 'z'))
    """

    UNCONSTRAINED = _UNCONSTRAINED

    __slots__ = ("_hash", "partitions")

    partitions: tuple[Any, ...]

    def __init__(self, *partitions: Any) -> None:
        self.partitions = tuple([_entry(value) for value in partitions])
        self._hash = hash(self.partitions)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, index: Any) -> Any:
        return self.partitions[index]

    def __add__(self, other: Any) -> "PartitionSpec":
        return PartitionSpec(*self.partitions, *other)

    def __radd__(self, other: Any) -> "PartitionSpec":
        return PartitionSpec(*other, *self.partitions)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PartitionSpec):
            return self.partitions == other.partitions
        return NotImplemented

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"P{self.partitions!r}" if self.partitions else "P()"

    def __reduce__(self) -> tuple[Any, ...]:
        return PartitionSpec, self.partitions

    def index(self, value: Any) -> int:
        """Return the first axis with the entry ``value``."""
        return self.partitions.index(value)

    def count(self, value: Any) -> int:
        """Return how many axes have the entry ``value``."""
        return self.partitions.count(value)


def axes_of(entry: Any) -> tuple[Hashable, ...]:
    """Return the names of one entry of a spec."""
    if entry is None or entry is _UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)
