"""Which mesh axes an array is divided over, by axis of it, and which a value differs along."""

import enum
from collections.abc import Hashable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from jxkernel.records import record

__all__ = ["ManualAxisType", "PartitionSpec", "UnreducedKind", "axes_of"]

_NO_AXES: frozenset[Hashable] = frozenset()


@record()
class ManualAxisType:
    """How a value inside ``shard_map`` lies along the axes that are mapped.

    Attributes:
      varying: the mesh axes along which it may differ between devices.
      unreduced: those along which devices hold shares of a sum that is put off.
      reduced: those over which the sum is put off that gives its cotangent.

    >>> import jxkernel as jx
    >>> jx.typeof(1.0).manual_axis_type
    ManualAxisType(varying=frozenset(), unreduced=frozenset(), reduced=frozenset())
    """

    varying: frozenset[Hashable] = _NO_AXES
    unreduced: frozenset[Hashable] = _NO_AXES
    reduced: frozenset[Hashable] = _NO_AXES

    def __post_init__(self) -> None:
        for axes in (self.varying, self.unreduced, self.reduced):
            if not isinstance(axes, AbstractSet):
                raise TypeError(f"ManualAxisType takes a set of mesh axes, got {axes!r}")

    @property
    def unreduced_kind(self) -> "UnreducedKind | None":
        """What devices still have to do with their shares: sum them."""
        return UnreducedKind.sum if self.unreduced else None


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


class UnreducedKind(enum.Enum):
    """What devices still have to do with a value whose reduction over them is put off."""

    sum = 1
    max = 2
    min = 3


def _checked_axes(given: dict[str, Any], partitions: tuple[Any, ...]) -> list[frozenset[Hashable]]:
    """Return ``unreduced`` and ``reduced`` as frozen sets.

    Raises:
      TypeError: one is no set.
      ValueError: one holds None or a mesh axis that is named elsewhere.
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
    return [frozenset(names) for names in given.values()]


def _checked_kind(kind: Any, unreduced: AbstractSet[Hashable]) -> UnreducedKind | None:
    """Return what is put off: sums, where nothing else is said.

    Raises:
      TypeError: it is no ``UnreducedKind``.
      ValueError: it is given, and nothing is put off.
    """
    if kind is None:
        return UnreducedKind.sum if unreduced else None
    if not isinstance(kind, UnreducedKind):
        raise TypeError(
            f"PartitionSpec needs an UnreducedKind as unreduced_kind, got {kind!r:.100}: "
            "jxkernel.sharding.UnreducedKind.sum"
        )
    if not unreduced:
        raise ValueError(
            f"PartitionSpec got unreduced_kind={kind.name} and no unreduced axes: leave it out"
        )
    return kind


class PartitionSpec:
    """For each axis of an array, the mesh axis that it is divided over.

    An entry is a name, a tuple of names (the first varies slowest), None for an axis that is not
    divided, or ``PartitionSpec.UNCONSTRAINED`` for one that XLA may divide.  Axes without an entry
    are not divided.

    Args:
      *partitions: the entries, in the order of the axes.
      unreduced: mesh axes over which the sum of the devices' values is put off.  A spec may say
        so; a sharding takes one over explicit axes alone.
      reduced: mesh axes over which that of cotangents is; likewise.
      unreduced_kind: what is put off; sums, where ``unreduced`` names axes.

    Raises:
      TypeError: ``unreduced`` or ``reduced`` is no set, or ``unreduced_kind`` no ``UnreducedKind``.
      ValueError: a set holds None or an axis that is named elsewhere, or ``unreduced_kind`` is
        given for nothing.

    >>> from jxkernel.sharding import PartitionSpec as P
    >>> P("x", None, ("y", "z"))
    P('x', None, ('y', 'z'))
    """

    UNCONSTRAINED = _UNCONSTRAINED

    __slots__ = ("_hash", "partitions", "reduced", "unreduced", "unreduced_kind")

    partitions: tuple[Any, ...]
    unreduced: frozenset[Hashable]
    reduced: frozenset[Hashable]
    unreduced_kind: UnreducedKind | None

    def __init__(
        self,
        *partitions: Any,
        unreduced: AbstractSet[Hashable] = _NO_AXES,
        reduced: AbstractSet[Hashable] = _NO_AXES,
        unreduced_kind: UnreducedKind | None = None,
    ) -> None:
        self.partitions = tuple([_entry(value) for value in partitions])
        self.unreduced = self.reduced = _NO_AXES
        self.unreduced_kind = None
        self._hash = hash(self.partitions)
        if unreduced or reduced or unreduced_kind is not None:
            given = {"unreduced": unreduced, "reduced": reduced}
            self.unreduced, self.reduced = _checked_axes(given, self.partitions)
            self.unreduced_kind = _checked_kind(unreduced_kind, self.unreduced)
            self._hash = hash(self._parts())

    def _parts(self) -> tuple[Any, ...]:
        return self.partitions, self.unreduced, self.reduced, self.unreduced_kind

    @property
    def puts_off(self) -> bool:
        """Whether it names axes over which sums are put off, of values or of cotangents."""
        return bool(self.unreduced or self.reduced)

    def _entries(self) -> tuple[Any, ...]:
        """Return the entries where they say everything.

        Raises:
          ValueError: they do not.
        """
        if self.puts_off:
            raise ValueError(
                f"{self!r} says more than its entries, which would be lost: take spec.partitions"
            )
        return self.partitions

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries())

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, index: Any) -> Any:
        return self._entries()[index]

    def __add__(self, other: Any) -> "PartitionSpec":
        if not isinstance(other, PartitionSpec):
            return PartitionSpec(*self._entries(), *other)
        if self.unreduced_kind != other.unreduced_kind:
            raise TypeError(
                f"{self!r} + {other!r}: one puts off what the other does not; add their partitions"
            )
        return PartitionSpec(
            *self.partitions,
            *other.partitions,
            unreduced=self.unreduced | other.unreduced,
            reduced=self.reduced | other.reduced,
            unreduced_kind=self.unreduced_kind,
        )

    def __radd__(self, other: Any) -> "PartitionSpec":
        return PartitionSpec(*other, *self._entries())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PartitionSpec):
            return self._hash == other._hash and self._parts() == other._parts()
        return NotImplemented

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        if not self.puts_off:
            return f"P{self.partitions!r}" if self.partitions else "P()"
        parts = [repr(entry) for entry in self.partitions]
        for name in ("unreduced", "reduced"):
            axes = sorted(map(repr, getattr(self, name)))
            parts += [f"{name}={{{', '.join(axes)}}}"] if axes else []
        if self.unreduced_kind is not None:
            parts.append(f"unreduced_kind={self.unreduced_kind.name}")
        return f"P({', '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, self._parts()

    def update(self, **parts: Any) -> "PartitionSpec":
        """Return the spec with other ``partitions``, ``unreduced``, ``reduced`` or kind."""
        own = {
            "unreduced": self.unreduced,
            "reduced": self.reduced,
            "unreduced_kind": self.unreduced_kind,
        }
        return PartitionSpec(*parts.pop("partitions", self.partitions), **{**own, **parts})

    def index(self, value: Any) -> int:
        """Return the first axis with the entry ``value``."""
        return self.partitions.index(value)

    def count(self, value: Any) -> int:
        """Return how many axes have the entry ``value``."""
        return self.partitions.count(value)


def _remade(
    partitions: tuple[Any, ...],
    unreduced: frozenset[Hashable],
    reduced: frozenset[Hashable],
    kind: UnreducedKind | None,
) -> PartitionSpec:
    """Return a spec of its parts: what unpickling calls."""
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced, unreduced_kind=kind)


def axes_of(entry: Any) -> tuple[Hashable, ...]:
    """Return the names of one entry of a spec."""
    if entry is None or entry is _UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)
