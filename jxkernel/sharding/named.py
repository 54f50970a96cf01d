"""Shardings: where the pieces of an array lie.

``NamedSharding`` divides axes of an array over axes of a mesh; ``SingleDeviceSharding`` (jaxlib's
class, with our methods) puts the whole array on one device.  ``NamedSharding`` is a Python class
over jaxlib's, which hashes and compares in C++: dispatch enters Python for neither.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np

from jxkernel._jaxlib import (
    HloSharding,
    NamedShardingBase,
    OpSharding,
    Sharding,
    SingleDeviceSharding,
)
from jxkernel.sharding.mesh import AbstractMesh, AxisType, Mesh
from jxkernel.sharding.spec import PartitionSpec, UnreducedKind, axes_of

__all__ = [
    "NamedSharding",
    "Sharding",
    "SingleDeviceSharding",
    "is_empty",
    "is_single",
    "make_single_device_sharding",
]

Index = tuple[slice, ...]


class NamedSharding(NamedShardingBase):
    """The sharding that divides axes of an array over named axes of a mesh.

    Args:
      mesh: the mesh.
      spec: for each axis of the array the mesh axes that it is divided over; pieces are repeated
        along mesh axes that it does not name.
      memory_kind: the kind of the devices' memory, where not the default.

    Raises:
      TypeError: an argument is of another kind.
      ValueError: the spec names an axis that the mesh does not have, or one twice, or puts off
        sums over one that is not explicit.
      NotImplementedError: the spec puts off something other than sums.

    Where the spec puts off sums (``unreduced``) the value is the sum of what the devices hold along
    these axes, and no device holds a part of it.

    >>> import jxkernel as jx
    >>> from jxkernel.sharding import Mesh, NamedSharding, PartitionSpec as P
    >>> sharding = NamedSharding(Mesh(jx.devices()[:1], ("x",)), P("x"))
    >>> sharding.shard_shape((4, 2))
    (4, 2)
    """

    mesh: Any
    spec: PartitionSpec

    def __init__(
        self, mesh: Mesh | AbstractMesh, spec: PartitionSpec, *, memory_kind: str | None = None
    ) -> None:
        if not isinstance(mesh, (Mesh, AbstractMesh)):
            raise TypeError(f"NamedSharding needs a Mesh, got {mesh!r:.100}")
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"NamedSharding needs a PartitionSpec, got {spec!r:.100}: write P(*entries)"
            )
        check_spec(mesh, spec)
        super().__init__(mesh, spec, memory_kind)

    @property
    def memory_kind(self) -> str | None:
        """The kind of the devices' memory, where not the default."""
        return self._memory_kind

    def __repr__(self) -> str:
        return (
            f"NamedSharding(mesh={self.mesh!r}, spec={self.spec!r}, "
            f"memory_kind={self.memory_kind or 'device'})"
        )

    def __copy__(self) -> "NamedSharding":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "NamedSharding":
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            "a NamedSharding cannot be pickled: it refers to devices of this process; send the "
            "axis names, sizes and the spec instead"
        )

    @property
    def _internal_device_list(self) -> Any:
        if isinstance(self.mesh, AbstractMesh):
            raise ValueError(
                f"{self!r} has no devices: its mesh is abstract. Give a Mesh, or export the "
                "function, jxkernel.export.export(f)(...), which lowers for devices to come"
            )
        return self.mesh.device_list

    @property
    def _device_assignment(self) -> tuple[Any, ...]:
        return tuple(self._internal_device_list)

    @property
    def _addressable_device_assignment(self) -> tuple[Any, ...]:
        return _addressable(self)

    @property
    def device_set(self) -> set[Any]:
        """The devices."""
        return set(self._internal_device_list)

    @property
    def addressable_devices(self) -> set[Any]:
        """The devices of this process."""
        return set(self._internal_device_list.addressable_device_list)

    @property
    def has_addressable_devices(self) -> bool:
        """Whether a device belongs to this process."""
        return bool(self._internal_device_list.addressable_device_list)

    @property
    def replicated_axes(self) -> frozenset[Hashable]:
        """The mesh axes along which pieces are repeated: those that the spec does not name."""
        spec = self.spec
        named = [name for entry in spec.partitions for name in axes_of(entry)]
        return frozenset(self.mesh.axis_names).difference(named, spec.unreduced, spec.reduced)

    @property
    def num_devices(self) -> int:
        """The number of devices."""
        return self.mesh.size

    @cached_property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""
        return self._internal_device_list.is_fully_addressable

    @cached_property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds the whole array."""
        return not self.spec.unreduced and all(n == 1 for n in self.counts(len(self.spec)))

    def counts(self, rank: int) -> tuple[int, ...]:
        """Return into how many pieces each axis of an array is divided."""
        sizes = self.mesh.shape
        given = [prod([sizes[name] for name in axes_of(entry)]) for entry in self.spec.partitions]
        return (*given, *[1] * (rank - len(given)))

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of one piece of an array.

        Raises:
          ValueError: the array cannot be divided so.
        """
        self.check_compatible_aval(global_shape)
        counts = self.counts(len(global_shape))
        return tuple([size // count for size, count in zip(global_shape, counts, strict=True)])

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """Check that an array of a shape can be divided so.

        Raises:
          ValueError: its rank is too low, or a size is no multiple of its number of pieces.
        """
        shape = tuple(aval_shape)
        if len(self.spec) > len(shape):
            raise ValueError(
                f"Sharding {self!r} is only valid for values of rank at least {len(self.spec)}, "
                f"but was applied to a value of rank {len(shape)}: shorten the spec"
            )
        for axis, (size, count) in enumerate(zip(shape, self.counts(len(shape)), strict=True)):
            if size % count != 0:  # sizes may be symbolic, of which equality alone is never refused
                raise ValueError(
                    f"Sharding {self!r} divides axis {axis} into {count} pieces, along the mesh "
                    f"axis {self.spec.partitions[axis]!r}, but its size is {size} (full shape: "
                    f"{shape}): the size must be a multiple of {count}"
                )

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        """Return, for each device, which part of an array of a shape it holds.

        Raises:
          ValueError: the array cannot be divided so, or devices hold shares of a sum.
        """
        shape = tuple(global_shape)
        return dict(zip(self._device_assignment, indices_of(self, shape), strict=True))

    def addressable_devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        """Return the same for the devices of this process."""
        wanted = self.addressable_devices
        found = self.devices_indices_map(global_shape)
        return {device: index for device, index in found.items() if device in wanted}

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Whether an array of a rank is divided over the same devices in the same way."""
        if self == other:
            return True
        if self._device_assignment != tuple(other._device_assignment):
            return False
        return divides_alike(self, other, ndim)

    def with_memory_kind(self, kind: str | None) -> "NamedSharding":
        """Return the sharding in another kind of memory."""
        return NamedSharding(self.mesh, self.spec, memory_kind=kind)

    def update(self, **parts: Any) -> "NamedSharding":
        """Return the sharding with another mesh, spec or kind of memory."""
        return NamedSharding(
            parts.get("mesh", self.mesh),
            parts.get("spec", self.spec),
            memory_kind=parts.get("memory_kind", self.memory_kind),
        )

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
        return _hlo_sharding(self, num_dimensions)


def check_spec(mesh: Mesh | AbstractMesh, spec: PartitionSpec) -> None:
    """Check that a spec names axes of a mesh, each once.

    Raises:
      ValueError: it does not, or puts off sums over an axis that is not explicit.
      NotImplementedError: it puts off what is no sum.
    """
    if spec.puts_off:
        _check_sums_put_off(mesh, spec)
    names = [name for entry in spec.partitions for name in axes_of(entry)]
    for name in names:
        if name not in mesh.axis_names:
            raise ValueError(
                f"Resource axis: {name} of {spec} is not found in mesh: {mesh.axis_names}."
            )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            "A single NamedSharding spec can map every mesh axis to at most one positional "
            f"dimension, but {spec} has duplicate entries for `{repeated[0]}`"
        )


def _check_sums_put_off(mesh: Mesh | AbstractMesh, spec: PartitionSpec) -> None:
    """Check that what a spec puts off are sums over axes that types speak of.

    Raises:
      ValueError: it names an axis that the mesh has not, or that XLA decides about.
      NotImplementedError: it puts off what is no sum.
    """
    kinds = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    for name in sorted(spec.unreduced | spec.reduced, key=str):
        if kinds.get(name, AxisType.Auto) is AxisType.Auto:
            has = f"is of type {kinds[name]!r} in" if name in kinds else "is no axis of"
            raise ValueError(
                f"{spec} puts off sums over {name!r}, which {has} {mesh}: only types say that a "
                "sum is put off, over axes of type AxisType.Explicit"
            )
    if spec.unreduced_kind not in (None, UnreducedKind.sum):
        kind = spec.unreduced_kind.name
        raise NotImplementedError(
            f"{spec} puts off a {kind}, and only sums can be put off: leave out unreduced_kind, or "
            f"take the {kind} where the result is made: out_sharding="
            f"{PartitionSpec(*spec.partitions)}"
        )


def shares_of(sharding: NamedSharding) -> list[Hashable]:
    """Return the mesh axes along which devices hold shares of a sum, in the order of the mesh."""
    return [name for name in sharding.mesh.axis_names if name in sharding.spec.unreduced]


@lru_cache(maxsize=4096)
def _hlo_sharding(sharding: NamedSharding, rank: int) -> Any:
    unreduced = shares_of(sharding)
    if sharding.is_fully_replicated or (rank == 0 and not unreduced):
        return HloSharding.replicate()
    names = list(sharding.mesh.axis_names)
    sizes = list(sharding.mesh.axis_sizes)
    used = [name for entry in sharding.spec.partitions for name in axes_of(entry)]
    rest = [name for name in names if name not in used and name not in unreduced]
    order = [names.index(name) for name in (*used, *unreduced, *rest)]
    dims = list(sharding.counts(rank))
    shares = prod([sharding.mesh.shape[name] for name in unreduced])
    left = sharding.mesh.size // (prod(dims) * shares)
    groups: list[Any] = []
    if shares > 1:
        groups.append(OpSharding.Type.UNREDUCED)
        dims.append(shares)
    if left > 1:
        groups.append(OpSharding.Type.REPLICATED)
        dims.append(left)
    if not dims:
        return HloSharding.replicate()
    return HloSharding.iota_tile(tuple(dims), tuple(sizes), tuple(order), groups)


@lru_cache(maxsize=4096)
def positions_of(sharding: Any, rank: int) -> tuple[tuple[int, ...], ...]:
    """Return, for each device, the place of its piece in the grid of pieces.

    Raises:
      ValueError: devices hold shares of a sum.
    """
    if not isinstance(sharding, NamedSharding):
        return ((0,) * rank,) * sharding.num_devices
    refuse_shares(sharding)
    return _positions(sharding, rank)


def refuse_shares(sharding: Any) -> None:
    """Refuse a sharding under which devices hold shares of a sum, where the value is wanted.

    Raises:
      ValueError: it is one.
    """
    spec = getattr(sharding, "spec", None)
    if spec is not None and spec.unreduced:
        axes = ", ".join(map(repr, sorted(spec.unreduced, key=str)))
        raise ValueError(
            f"what devices hold under {spec} are shares of a sum over {axes}, and no parts of the "
            "value: sum them first, as by jxkernel.sharding.reshard(x, "
            f"{PartitionSpec(*spec.partitions)})"
        )


def _positions(sharding: NamedSharding, rank: int) -> tuple[tuple[int, ...], ...]:
    """Return the places of pieces, be they parts of the value or of what is still to be summed."""
    names = sharding.mesh.axis_names
    sizes = sharding.mesh.axis_sizes
    coordinates: dict[Hashable, Any] = dict(
        zip(names, np.indices(sizes).reshape(len(sizes), -1), strict=True)
    )
    columns: list[Any] = []
    partitions = sharding.spec.partitions
    for entry in (*partitions, *[None] * (rank - len(partitions))):
        place = np.zeros(sharding.mesh.size, np.int64)
        for name in axes_of(entry):
            place = place * sharding.mesh.shape[name] + coordinates[name]
        columns.append(place)
    return tuple(zip(*[column.tolist() for column in columns], strict=True)) or (
        ((),) * sharding.mesh.size
    )


def divides_alike(one: Any, other: Any, rank: int) -> bool:
    """Whether the first device of each sharding holds the same piece, the second, and so on."""
    shares = [getattr(each, "spec", PartitionSpec()).unreduced for each in (one, other)]
    if any(shares):
        same = shares[0] == shares[1] and one.mesh.shape_tuple == other.mesh.shape_tuple
        return same and _positions(one, rank) == _positions(other, rank)
    if one.is_fully_replicated and other.is_fully_replicated:
        return True
    return positions_of(one, rank) == positions_of(other, rank)


@lru_cache(maxsize=4096)
def indices_of(sharding: Any, shape: tuple[int, ...]) -> tuple[Index, ...]:
    """Return, for each device in order, which part of an array of a shape it holds.

    Raises:
      ValueError: the array cannot be divided so.
    """
    if not isinstance(sharding, NamedSharding):
        return ((slice(None),) * len(shape),) * sharding.num_devices
    pieces = sharding.shard_shape(shape)
    whole = slice(None)
    return tuple(
        [
            tuple(
                [
                    whole if piece == size else slice(at * piece, (at + 1) * piece)
                    for at, piece, size in zip(place, pieces, shape, strict=True)
                ]
            )
            for place in positions_of(sharding, len(shape))
        ]
    )


def is_empty(sharding: Any) -> bool:
    """Whether a sharding is over a mesh without axes, as that of types of no mesh is."""
    return isinstance(sharding, NamedSharding) and sharding.mesh.empty


def is_single(sharding: Any) -> bool:
    """Whether a sharding puts the whole array on one device."""
    return type(sharding) is SingleDeviceSharding


def make_single_device_sharding(device: Any, *, memory_kind: str | None = None) -> Any:
    """Return the sharding that puts the whole array on one device.

    Args:
      device: the device.
      memory_kind: the kind of its memory, where not the default.

    >>> import jxkernel as jx
    >>> jx.sharding.make_single_device_sharding(jx.devices()[0]).num_devices
    1
    """
    return SingleDeviceSharding(device, memory_kind=memory_kind)


def _addressable(self: Any) -> tuple[Any, ...]:
    """Return the devices of this process, in order; orbax reads them."""
    return tuple(self._internal_device_list.addressable_device_list)


def _attach() -> None:
    """Give jaxlib's class of one device the methods that users know."""
    properties: dict[str, Any] = {
        "device_set": lambda self: {self._device},
        "addressable_devices": lambda self: set(self._internal_device_list.addressable_device_list),
        "num_devices": lambda self: 1,
        "memory_kind": lambda self: self._memory_kind,
        "is_fully_addressable": lambda self: self._internal_device_list.is_fully_addressable,
        "is_fully_replicated": lambda self: True,
        "_device_assignment": lambda self: (self._device,),
        "_addressable_device_assignment": _addressable,
    }
    methods: dict[str, Any] = {
        "shard_shape": lambda self, global_shape: tuple(global_shape),
        "check_compatible_aval": lambda self, aval_shape: None,
        "devices_indices_map": _whole_on_device,
        "addressable_devices_indices_map": _whole_on_device,
        "is_equivalent_to": _equivalent_single,
        "with_memory_kind": lambda self, kind: SingleDeviceSharding(self._device, memory_kind=kind),
        "__eq__": _same_single,
        "__hash__": lambda self: hash((self._device, self._memory_kind)),
        "__repr__": lambda self: (
            f"SingleDeviceSharding(device={self._device!r}, "
            f"memory_kind={self._memory_kind or 'device'})"
        ),
    }
    for name, getter in properties.items():
        setattr(SingleDeviceSharding, name, property(getter))
    for name, method in methods.items():
        setattr(SingleDeviceSharding, name, method)


def _whole_on_device(self: Any, global_shape: Sequence[int]) -> dict[Any, Index]:
    return {self._device: (slice(None),) * len(global_shape)}


def _same_single(self: Any, other: object) -> bool:
    if not is_single(other):
        return NotImplemented
    single: Any = other
    return (self._device, self._memory_kind) == (single._device, single._memory_kind)


def _equivalent_single(self: Any, other: Any, ndim: int) -> bool:
    return other.num_devices == 1 and other.device_set == {self._device}


_attach()
