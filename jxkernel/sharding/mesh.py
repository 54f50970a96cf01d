"""Meshes: devices arranged along named axes, and the mesh that a block of code works on."""

import enum
import threading
from collections import OrderedDict
from collections.abc import Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import ContextDecorator, contextmanager
from functools import cached_property, lru_cache
from math import prod
from types import TracebackType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from jxkernel._jaxlib import Config, DeviceList
from jxkernel.records import record

__all__ = [
    "AbstractDevice",
    "AbstractMesh",
    "AxisType",
    "Mesh",
    "computing_mesh",
    "current_mesh",
    "get_abstract_mesh",
    "get_mesh",
    "in_shard_map",
    "mesh_of_types",
    "set_mesh",
    "use_abstract_mesh",
]


context_mesh: Any = Config(
    "context_mesh", None, include_in_jit_key=True, include_in_trace_context=True
)
"""The mesh that bare partition specs refer to on this thread."""


class AxisType(enum.Enum):
    """Who decides how arrays are divided over a mesh axis.

    ``Auto`` leaves it to XLA, guided by the shardings given.  ``Explicit`` makes it a part of
    types: ``f32[8@x,4]`` is divided over ``x``, each operation says how its result is divided, and
    what is open is an error that asks (see ``docs/explicit-axes.md``).  ``Manual`` is what
    ``shard_map`` makes of its axes inside its function.
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


_concrete: WeakValueDictionary[Any, Any] = WeakValueDictionary()
"""For a mesh without devices the newest living one with devices that has its axes."""


def concrete_mesh(mesh: Any) -> Any:
    """Return a mesh with devices for one without: that of ``set_mesh``, else the newest."""
    if isinstance(mesh, Mesh):
        return mesh
    current = current_mesh()
    return current if current is not None and current.abstract_mesh == mesh else _concrete.get(mesh)


@record()
class _Named:
    """What is current in a ``with mesh:`` block: specs refer to that mesh, nothing runs on it.

    Attributes:
      mesh: the mesh.
      outer: what was current before.
      manual: the axes that a ``shard_map`` handles, in whose function this is.
    """

    mesh: Any
    outer: Any
    manual: frozenset[Hashable] = frozenset()


class _Entered(threading.local):
    """What was current before the ``with mesh:`` blocks that this thread is in."""

    outer: tuple[Any, ...] = ()


_entered = _Entered()


def _names(axis_names: Any) -> tuple[Hashable, ...]:
    names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
    if len(set(names)) != len(names):
        raise ValueError(f"A mesh cannot have two axes of one name, got axis_names={names}")
    return names


def _types(axis_types: Any, count: int, default: AxisType) -> tuple[AxisType, ...]:
    if axis_types is None:
        return (default,) * count
    types = (axis_types,) * count if isinstance(axis_types, AxisType) else tuple(axis_types)
    if not all(isinstance(kind, AxisType) for kind in types):
        raise TypeError(f"A mesh needs AxisTypes as axis_types, got {types}: AxisType.Auto")
    if len(types) != count:
        raise ValueError(f"A mesh of {count} axes needs as many axis_types, got {types}")
    return types


class _Axes:
    """What meshes with and without devices share.

    Attributes:
      axis_names: the names of the axes.
      axis_sizes: their sizes.
      axis_types: who decides about each.
    """

    axis_names: tuple[Hashable, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    def __copy__(self) -> "_Axes":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "_Axes":
        return self

    @cached_property
    def shape(self) -> OrderedDict[Hashable, int]:
        """The sizes of the axes by name."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[Hashable, int], ...]:
        """The names with the sizes."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @cached_property
    def size(self) -> int:
        """The number of devices."""
        return prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        """Whether there are no axes."""
        return not self.axis_names

    def _of_type(self, kind: AxisType) -> tuple[Hashable, ...]:
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return tuple([name for name, own in pairs if own is kind])

    @cached_property
    def auto_axes(self) -> tuple[Hashable, ...]:
        """The axes about which XLA decides."""
        return self._of_type(AxisType.Auto)

    @cached_property
    def explicit_axes(self) -> tuple[Hashable, ...]:
        """The axes about which types decide."""
        return self._of_type(AxisType.Explicit)

    @cached_property
    def manual_axes(self) -> tuple[Hashable, ...]:
        """The axes that a ``shard_map`` handles."""
        return self._of_type(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        """Whether there are axes, and XLA decides about all."""
        return not self.empty and len(self.auto_axes) == len(self.axis_names)

    @property
    def are_all_axes_explicit(self) -> bool:
        """Whether there are axes, and types decide about all."""
        return not self.empty and len(self.explicit_axes) == len(self.axis_names)

    @property
    def are_all_axes_manual(self) -> bool:
        """Whether there are axes, and a ``shard_map`` handles all."""
        return not self.empty and len(self.manual_axes) == len(self.axis_names)

    @property
    def are_all_axes_explicit_or_manual(self) -> bool:
        """Whether there are axes, and XLA decides about none."""
        return not self.empty and not self.auto_axes

    def update_axis_types(self, name_to_type: Mapping[Hashable, AxisType]) -> Any:
        """Return the mesh with some axes of another type; names that it has not say nothing."""
        return _retyped(self, frozenset(name_to_type.items()))

    def _description(self) -> str:
        axes = "".join(f"{name!r}: {size}, " for name, size in self.shape_tuple)
        return f"{axes}axis_types={self.axis_types}" if axes else ""


@lru_cache(maxsize=256)
def _retyped(mesh: Any, changes: frozenset[tuple[Hashable, AxisType]]) -> Any:
    wanted = dict(changes)
    pairs = zip(mesh.axis_names, mesh.axis_types, strict=True)
    types = tuple([wanted.get(name, own) for name, own in pairs])
    return mesh if types == mesh.axis_types else mesh.update(axis_types=types)


class Mesh(_Axes, ContextDecorator):
    """Devices arranged along named axes.

    Args:
      devices: an array (or nested sequence) of distinct devices, with one axis per name.
      axis_names: the names of its axes.
      axis_types: who decides how arrays are divided over each axis; ``AxisType.Auto``.

    As a context manager (``with mesh:``) it is the mesh that bare partition specs refer to; what
    is computed on it, ``set_mesh`` says.  A mesh without axes has no devices: write
    ``Mesh(None, ())``.

    Raises:
      TypeError: what stands for a device is none, or for an axis's type.
      ValueError: the ranks differ, a name is used twice, or a device appears twice.

    >>> import jxkernel as jx
    >>> mesh = jx.sharding.Mesh(jx.devices()[:1], ("x",))
    >>> mesh.shape["x"], mesh.size
    (1, 1)
    """

    devices: np.ndarray[Any, Any]

    def __init__(
        self, devices: Any, axis_names: str | Sequence[Hashable], axis_types: Any = None
    ) -> None:
        given = devices.tolist() if isinstance(devices, np.ndarray) else devices
        shape = np.shape(np.asarray(devices, dtype=object))
        array = np.empty(shape, dtype=object)
        array[...] = given
        array.flags.writeable = False
        names = _names(axis_names)
        if array.ndim != len(names):
            raise ValueError(
                "Mesh requires the ndim of its first argument (`devices`) to equal the length of "
                f"its second argument (`axis_names`), but got devices.ndim == {array.ndim} and "
                f"len(axis_names) == {len(names)}."
            )
        self.devices = array
        self.axis_names = names
        self.axis_sizes = tuple(array.shape)
        self.axis_types = _types(axis_types, len(names), AxisType.Auto)
        if names:
            self._check_devices()
        self._hash = hash((self.axis_names, self.axis_sizes, self.axis_types, self.device_tuple))

    def _check_devices(self) -> None:
        seen: set[Any] = set()
        for device in self.device_tuple:
            if not hasattr(device, "client"):
                raise TypeError(f"A mesh needs devices, as of jxkernel.devices(), got {device!r}")
            if device in seen:
                raise ValueError(
                    f"A mesh cannot have a device twice: {device} is in {self.devices}"
                )
            seen.add(device)
        if len({device.client for device in self.device_tuple}) > 1:
            raise ValueError(
                f"A mesh needs devices of one backend, got {sorted(map(str, seen))}: devices of "
                "another platform, or from before the number of virtual devices was changed, "
                "cannot be mixed"
            )

    @cached_property
    def device_tuple(self) -> tuple[Any, ...]:
        """The devices in row-major order."""
        return () if self.empty else tuple(self.devices.flat)

    @cached_property
    def device_list(self) -> Any:
        """The devices as jaxlib's list."""
        return DeviceList(self.device_tuple)

    @property
    def _internal_device_list(self) -> Any:
        """The devices, by the name that jaxlib reads."""
        return self.device_list

    @property
    def device_ids(self) -> np.ndarray[Any, Any]:
        """The numbers of the devices, arranged as they are."""
        return np.vectorize(lambda device: device.id, otypes=[int])(self.devices)

    @property
    def is_multi_process(self) -> bool:
        """Whether some devices belong to another process."""
        return not self.device_list.is_fully_addressable

    @property
    def local_devices(self) -> list[Any]:
        """The devices of this process."""
        return list(self.device_list.addressable_device_list)

    @property
    def local_mesh(self) -> "Mesh":
        """The part of the mesh that belongs to this process."""
        if not self.is_multi_process:
            return self
        local = np.isin(self.device_ids, [device.id for device in self.local_devices])
        places = tuple(np.unique(axis) for axis in np.nonzero(local))
        return Mesh(self.devices[np.ix_(*places)], self.axis_names, self.axis_types)

    @cached_property
    def abstract_mesh(self) -> "AbstractMesh":
        """The mesh without its devices."""
        kind = None if self.empty else _kind_of(self.devices.flat[0])
        abstract = AbstractMesh(
            self.axis_sizes, self.axis_names, self.axis_types, abstract_device=kind
        )
        _concrete[abstract] = self
        return abstract

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> "Mesh":
        """Return the mesh with other devices, names or types."""
        return Mesh(
            self.devices if devices is None else devices,
            axis_names or self.axis_names,
            axis_types or self.axis_types,
        )

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Mesh):
            return NotImplemented
        return (
            self._hash == other._hash
            and self.axis_names == other.axis_names
            and self.axis_sizes == other.axis_sizes
            and self.axis_types == other.axis_types
            and self.device_tuple == other.device_tuple
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Mesh({self._description()})"

    def __enter__(self) -> "Mesh":
        outer = context_mesh.value
        _entered.outer = (*_entered.outer, outer)
        context_mesh.set_local(_Named(self, outer))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        *others, outer = _entered.outer
        _entered.outer = tuple(others)
        context_mesh.set_local(outer)


@record()
class AbstractDevice:
    """A kind of device, for meshes without devices.

    Attributes:
      device_kind: what the devices call themselves, as their ``device_kind``.
      num_cores: how many cores each has, where that is known.
      platform: their platform, such as ``cpu``.

    >>> import jxkernel as jx
    >>> jx.make_mesh((1,), ("x",)).abstract_mesh.abstract_device.platform
    'cpu'
    """

    device_kind: str
    num_cores: int | None
    platform: str


def _kind_of(device: Any) -> AbstractDevice:
    return AbstractDevice(device.device_kind, getattr(device, "num_cores", None), device.platform)


class AbstractMesh(_Axes):
    """A mesh without devices: names and sizes of axes, enough to trace for.

    Args:
      axis_sizes: the sizes of the axes.
      axis_names: their names.
      axis_types: who decides about each; ``AxisType.Explicit``.
      abstract_device: what kind the devices are of, where that matters.  A mesh that does not say
        it equals those of any kind.

    Raises:
      ValueError: the numbers of sizes, names and types differ.
    """

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: str | Sequence[Hashable],
        axis_types: Any = None,
        *,
        abstract_device: AbstractDevice | None = None,
    ) -> None:
        self.abstract_device = abstract_device
        self.axis_names = _names(axis_names)
        self.axis_sizes = tuple(axis_sizes)
        if len(self.axis_sizes) != len(self.axis_names):
            raise ValueError(
                f"AbstractMesh got {len(self.axis_sizes)} axis_sizes and {len(self.axis_names)} "
                "axis_names"
            )
        self.axis_types = _types(axis_types, len(self.axis_names), AxisType.Explicit)

    _internal_device_list = None
    """There are none, by the name that jaxlib reads."""

    @property
    def abstract_mesh(self) -> "AbstractMesh":
        """The mesh itself."""
        return self

    def update(
        self,
        axis_sizes: Any = None,
        axis_names: Any = None,
        axis_types: Any = None,
        *,
        abstract_device: AbstractDevice | None = None,
    ) -> "AbstractMesh":
        """Return the mesh with other sizes, names or types, or of another kind of devices."""
        return AbstractMesh(
            axis_sizes or self.axis_sizes,
            axis_names or self.axis_names,
            axis_types or self.axis_types,
            abstract_device=abstract_device or self.abstract_device,
        )

    def _key(self) -> tuple[Any, ...]:
        return self.axis_names, self.axis_sizes, self.axis_types

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AbstractMesh):
            return NotImplemented
        kinds = {self.abstract_device, other.abstract_device} - {None}
        return len(kinds) < 2 and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        kind = self.abstract_device
        suffix = (
            ""
            if kind is None
            else f", device_kind={kind.device_kind}, num_cores={kind.num_cores}, "
            f"platform={kind.platform}"
        )
        return f"AbstractMesh({self._description()}{suffix})"


class _SetMesh:
    """What ``set_mesh`` returns: leaving a ``with`` block undoes it."""

    def __init__(self, previous: Any) -> None:
        self._previous = previous

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        context_mesh.set_local(self._previous)


def set_mesh(mesh: Mesh | None) -> Any:
    """Make a mesh the current one, from now on or for a ``with`` block.

    Bare partition specs refer to it, and what no argument binds to devices is computed on all of
    its devices.

    Args:
      mesh: the mesh; None, or one without axes, for none.

    Raises:
      TypeError: it is no mesh.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> from jxkernel.sharding import Mesh, get_mesh
    >>> with jx.set_mesh(Mesh(jx.devices()[:1], ("rows",))):
    ...     print(get_mesh().axis_names, jnp.ones(8).sharding.spec)
    ('rows',) P()
    """
    if mesh is not None and not isinstance(mesh, Mesh):
        raise TypeError(f"set_mesh needs a Mesh or None, got {mesh!r:.100}")
    previous = context_mesh.value
    context_mesh.set_local(None if mesh is None or mesh.empty else mesh)
    return _SetMesh(previous)


def current_mesh() -> Mesh | None:
    """Return the mesh that bare partition specs refer to now, or None."""
    mesh = context_mesh.value
    mesh = mesh.mesh if type(mesh) is _Named else mesh
    return mesh if isinstance(mesh, Mesh) else None


def computing_mesh() -> Mesh | None:
    """Return the mesh of ``set_mesh``, on which programs run that no argument binds, or None."""
    mesh = context_mesh.value
    while type(mesh) is _Named:
        mesh = mesh.outer
    return mesh if isinstance(mesh, Mesh) else None


def get_mesh() -> Mesh:
    """Return the mesh that bare partition specs refer to now; one without axes for none.

    >>> import jxkernel as jx
    >>> jx.sharding.get_mesh().empty
    True
    """
    return current_mesh() or _NO_MESH


_NO_MESH = Mesh(None, ())


def use_abstract_mesh(mesh: AbstractMesh) -> Any:
    """Make a mesh without devices the current one for a ``with`` block.

    Code that asks ``get_abstract_mesh()`` for names and sizes of axes finds it.  Bare partition
    specs need devices: those of the mesh of ``set_mesh``, if that has as many.

    Args:
      mesh: the mesh; where the current mesh has these axes it stays current.

    Raises:
      TypeError: it is no abstract mesh.

    >>> from jxkernel.sharding import AbstractMesh, get_abstract_mesh, use_abstract_mesh
    >>> with use_abstract_mesh(AbstractMesh((4, 2), ("x", "y"))):
    ...     print(get_abstract_mesh().shape["y"])
    2
    """
    if not isinstance(mesh, AbstractMesh):
        raise TypeError(f"use_abstract_mesh needs an AbstractMesh, got {mesh!r:.100}")
    previous, current = context_mesh.value, current_mesh()
    if current is None or current.abstract_mesh != mesh:
        context_mesh.set_local(_arranged(current, mesh))
    return _SetMesh(previous)


def _arranged(current: Mesh | None, mesh: AbstractMesh) -> Any:
    """Return a mesh over the devices of the current one, where it has as many; else itself."""
    if current is None or current.size != mesh.size:
        return mesh
    devices = current.devices.reshape(mesh.axis_sizes)
    return Mesh(devices, mesh.axis_names, axis_types=mesh.axis_types)


def get_abstract_mesh() -> AbstractMesh:
    """Return the mesh that bare partition specs refer to now, without devices; empty for none.

    In the function of a ``shard_map`` it is that of the map, and the axes that are handled there
    are of type ``AxisType.Manual``.

    >>> import jxkernel as jx
    >>> jx.sharding.get_abstract_mesh().axis_names
    ()
    """
    mesh = context_mesh.value
    if type(mesh) is _Named:
        manual = dict.fromkeys(mesh.manual, AxisType.Manual)
        return mesh.mesh.abstract_mesh.update_axis_types(manual)
    return _NO_MESH.abstract_mesh if mesh is None else mesh.abstract_mesh


def mesh_of_types() -> AbstractMesh:
    """Return the mesh that types in the function of a ``shard_map`` speak of, without devices.

    What is handled there is explicit to types, or handled where XLA decided about it outside.
    """
    mesh = context_mesh.value
    if type(mesh) is not _Named:
        return get_abstract_mesh()
    abstract = mesh.mesh.abstract_mesh
    free = mesh.manual.intersection(abstract.auto_axes)
    return abstract.update_axis_types(dict.fromkeys(free, AxisType.Manual))


@contextmanager
def in_shard_map(mesh: Any, manual: Iterable[Hashable]) -> Generator[None]:
    """Make a mesh the current one for what a ``shard_map`` maps: bare specs refer to it there.

    Args:
      mesh: the mesh.
      manual: the axes that are handled; ``get_abstract_mesh`` says so.
    """
    outer = context_mesh.value
    around = outer.manual if type(outer) is _Named and outer.mesh == mesh else frozenset()
    context_mesh.set_local(_Named(mesh, outer, around.union(manual)))
    try:
        yield
    finally:
        context_mesh.set_local(outer)
