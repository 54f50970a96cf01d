"""Which mesh axes an array is divided over, by axis of it, and which a value differs along."""

from collections.abc import Hashable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from jxkernel.records import record

__all__ = ["ManualAxisType", "PartitionSpec", "axes_of"]


@record()
class ManualAxisType:
    """How a value inside ``shard_map`` lies along the axes that are mapped.

    Attributes:
      varying: the mesh axes along which it may differ between devices.

    >>> import jxkernel as jx
    >>> jx.typeof(1.0).manual_axis_type
    ManualAxisType(varying=frozenset())
    """

    varying: frozenset[Hashable] = frozenset()

    unreduced = reduced = frozenset[Hashable]()  # sums that are put off, which nothing has


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


def _refuse_partial_sums(given: dict[str, Any], partitions: tuple[Any, ...]) -> None:
    """Refuse ``unreduced`` and ``reduced``, with the reason that comes first.

    Raises:
      TypeError: one is no set.
      ValueError: one holds None or a mesh axis that is named elsewhere.
      NotImplementedError: they are as they should be.
    """
    seen = {name: "an entry" for entry in partitions for name in axes_of(entry)}
    for parameter, names in given.items():
        if not isinstance(names, (set, frozenset)):
            raise TypeError(f"PartitionSpec needs a set of mesh axes as {parameter}, got {names!r}")
        if None in names:
            raise ValueError(f"PartitionSpec got None in {parameter}: name mesh axes")
        for name in names:
            if name in seen:
                raise ValueError(
                    f"PartitionSpec got {name!r} both in {parameter} and in {seen[name]}"
                )
            seen[name] = parameter
    found = {parameter: set(names) for parameter, names in given.items() if names}
    if found:
        written = ", ".join([f"{parameter}={names}" for parameter, names in found.items()])
        raise NotImplementedError(
            f"PartitionSpec got {written}: values whose sums over devices are put off are not "
            "supported. Leave it out, and devices sum where the result is made: "
            "out_sharding=P('x'). To say yourself where they do, write the stretch as a "
            "jxkernel.shard_map, in which jxkernel.lax.psum or psum_scatter sums"
        )


class PartitionSpec:
    """For each axis of an array, the mesh axis that it is divided over.

    An entry is a name, a tuple of names (the first varies slowest), None for an axis that is not
    divided, or ``PartitionSpec.UNCONSTRAINED`` for one that XLA may divide.  Axes without an entry
    are not divided.

    Args:
      *partitions: the entries, in the order of the axes.
      unreduced: an empty set: axes over which sums are put off are not supported.
      reduced: an empty set; likewise.

    Raises:
      TypeError: ``unreduced`` or ``reduced`` is no set.
      ValueError: it holds None or an axis that is named elsewhere.
      NotImplementedError: it holds anything else.

    Example:
      >>> from jxkernel.sharding import PartitionSpec as P
      >>> P("x", None, ("y", "z"))
      P('x', None, ('y', 'z'))
    """

    UNCONSTRAINED = _UNCONSTRAINED

    __slots__ = ("_hash", "partitions")

    partitions: tuple[Any, ...]

    unreduced: frozenset[Hashable] = frozenset()
    reduced: frozenset[Hashable] = frozenset()

    def __init__(
        self,
        *partitions: Any,
        unreduced: AbstractSet[Hashable] = frozenset(),
        reduced: AbstractSet[Hashable] = frozenset(),
    ) -> None:
        self.partitions = tuple([_entry(value) for value in partitions])
        if unreduced or reduced:
            _refuse_partial_sums({"unreduced": unreduced, "reduced": reduced}, self.partitions)
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

    def update(self, **parts: Any) -> "PartitionSpec":
        """Return the spec with other ``partitions``, ``unreduced`` or ``reduced``."""
        return PartitionSpec(*parts.pop("partitions", self.partitions), **parts)

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
