"""What is held on the devices and by whom, and what a call would take.

Nothing is lost by looking: what is returned is text and numbers, and holds no array.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from math import prod
from types import ModuleType
from typing import Any

from jxkernel import runtime, tree
from jxkernel.api.jit import jit, jit_state
from jxkernel.core.holders import Holders, holders_of, is_history_name
from jxkernel.core.trace import looking
from jxkernel.observe.explain import format_size
from jxkernel.observe.memory_left import memory_left
from jxkernel.runtime import ArrayImpl
from jxkernel.tree import physical

__all__ = [
    "DeviceMemory",
    "Freeing",
    "LiveArray",
    "LiveMemory",
    "MemoryEstimate",
    "device_label",
    "device_memory",
    "estimate",
    "estimate_of",
    "free",
    "freeing",
    "live",
    "ways_in",
]

_SEARCHED = 40
_HOLDERS = 8
_NAMES = 50
_NAME_LENGTH = 200
_NO_HOLDERS = Holders(())
_IS_PLAIN = re.compile("_{1,3}")
_MAIN = ", a global variable of __main__"


@dataclass(frozen=True, slots=True)
class LiveArray:
    """An array that is alive, in words.

    Attributes:
      type: its type, ``f32[8]``.
      bytes: what it takes, a copy on each device counted each time; 0 where it was deleted.
      devices: where it lies, ``cpu:0``.
      names: the variables that hold it and the ways from them, ``params['w']``.
      outputs: the numbers of the outputs that hold it, n of ``Out[n]``.
      holders: who else keeps it: closures, attributes, containers, constants of programs.
      deleted: whether its memory has been given back already.
    """

    type: str
    bytes: int
    devices: tuple[str, ...]
    names: tuple[str, ...] = ()
    outputs: tuple[int, ...] = ()
    holders: tuple[str, ...] = ()
    deleted: bool = False

    @property
    def held_by(self) -> tuple[str, ...]:
        """All that hold it: variables, then outputs, then others."""
        return (*self.names, *(f"Out[{number}]" for number in self.outputs), *self.holders)


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """What a device holds.

    Attributes:
      device: its name, ``cpu:0``.
      arrays: how many arrays have a part on it.
      array_bytes: the size of those parts.
      in_use: what the device itself says is in use, or None.
      limit: what it may use, or None.
      free: what is left: of a CPU, what the machine has available; None where unknown.
    """

    device: str
    arrays: int = 0
    array_bytes: int = 0
    in_use: int | None = None
    limit: int | None = None
    free: int | None = None


@dataclass(frozen=True, slots=True)
class LiveMemory:
    """All live arrays, the largest first, and the devices that hold them.

    Attributes:
      arrays: the arrays.
      devices: the devices.
      unsearched: of how many arrays no other holders were looked for, being small.
    """

    arrays: tuple[LiveArray, ...]
    devices: tuple[DeviceMemory, ...]
    unsearched: int = 0

    @property
    def bytes(self) -> int:
        """The size of all arrays together."""
        return sum(one.bytes for one in self.arrays)

    def __str__(self) -> str:
        lines = [f"{len(self.arrays)} arrays, {format_size(self.bytes)}"]
        for one in self.arrays:
            size = "deleted" if one.deleted else format_size(one.bytes)
            held = ", ".join(one.held_by) or "nothing that Python knows"
            lines.append(f"  {one.type}  {size}  {' '.join(one.devices)}  {held}")
        for device in self.devices:
            lines.append(f"{device.device}: {format_size(device.array_bytes)} in arrays")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Freeing:
    """What ``free`` would delete.

    Attributes:
      arrays: how many arrays.
      bytes: their size.
      also: variables and outputs besides those named that hold one of them, and would hold a
        deleted array.
    """

    arrays: int
    bytes: int
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """What a compiled call takes, in bytes, on each of its devices.

    Attributes:
      arguments: its arguments.
      results: its results.
      aliased: the part of the results that takes the memory of donated arguments.
      temporary: what it needs while it runs, at the most.
      code: the program itself.
      peak: what is held at once, at the most, as XLA planned it.
      devices: the devices that it runs on.
      free: what is left on the fullest of them now, or None.
    """

    arguments: int
    results: int
    aliased: int
    temporary: int
    code: int
    peak: int
    devices: tuple[str, ...]
    free: int | None = None

    @property
    def needed(self) -> int:
        """What the call takes on top of its arguments, if they lie on the device already."""
        return max(self.peak - self.arguments, 0)

    @property
    def fits(self) -> bool | None:
        """Whether ``needed`` is free now; None where that is not known."""
        return None if self.free is None else self.needed <= self.free

    def __str__(self) -> str:
        rows = {
            "arguments": self.arguments,
            "results": self.results,
            "in donated arguments": self.aliased,
            "temporary": self.temporary,
            "code": self.code,
            "peak": self.peak,
        }
        lines = [f"{name:20}  {format_size(size)}" for name, size in rows.items()]
        return "\n".join([*lines, self.verdict()])

    def verdict(self) -> str:
        """Say in a sentence whether it fits."""
        where = (
            self.devices[0] if len(self.devices) == 1 else f"each of {len(self.devices)} devices"
        )
        needs = f"needs {format_size(self.needed)} more than its arguments on {where}"
        if self.free is None:
            return needs
        return f"{needs}, where {format_size(self.free)} is free: it " + (
            "fits" if self.fits else "does not fit"
        )


def live(
    namespace: Mapping[str, Any] | None = None,
    outputs: Mapping[int, Any] | None = None,
    *,
    holders: bool = True,
    unnamed_only: bool = False,
) -> LiveMemory:
    """Return all live arrays, and who holds each.

    Args:
      namespace: the variables to look through, those of ``__main__`` where not given.
      outputs: the outputs by number, ``Out`` of a notebook where there is one.
      holders: whether to ask the collector who else holds the largest arrays, which takes up to a
        second in a large session.
      unnamed_only: whether to ask only about arrays that no variable and no output holds, which
        takes no time where there is none.

    >>> from jxkernel import numpy as jnp
    >>> weights = {"w": jnp.ones((1000, 1000))}
    >>> live({"weights": weights}, holders=False).arrays[0].held_by
    ("weights['w']",)
    """
    main: dict[str, Any] = vars(sys.modules["__main__"])
    namespace = main if namespace is None else namespace
    if outputs is None:
        found = namespace.get("Out")
        outputs = found if isinstance(found, Mapping) else {}
    names = _names_of(namespace)
    numbers = _outputs_of(outputs)
    # Tuples, whose types holders are not told by: a list would be told to hold the arrays.
    arrays = _all_arrays(namespace)
    asked = tuple(
        one
        for one in arrays
        if holders and not (unnamed_only and (id(one) in names or id(one) in numbers))
    )
    others = {
        id(one): found
        for one, found in zip(asked, holders_of(list(asked[:_SEARCHED]), _HOLDERS), strict=False)
    }
    unsearched = max(len(asked) - _SEARCHED, 0) if holders else len(arrays)
    del asked
    told = [
        _told(
            one, names.get(id(one), []), numbers.get(id(one), []), others.get(id(one), _NO_HOLDERS)
        )
        for one in arrays
    ]
    return LiveMemory(tuple(told), device_memory(arrays), unsearched)


def free(
    *names: str,
    namespace: MutableMapping[str, Any] | None = None,
    outputs: MutableMapping[int, Any] | None = None,
) -> int:
    """Delete the arrays that variables and outputs hold, and the names; return the bytes freed.

    All or nothing: where one name is wrong, none is touched.

    Args:
      *names: variables, or outputs as ``Out[3]``.
      namespace: the variables, those of ``__main__`` where not given.
      outputs: the outputs by number, ``Out`` of a notebook where there is one.

    Raises:
      ValueError: there is no such name, or it holds no array.

    >>> from jxkernel import numpy as jnp
    >>> variables = {"big": jnp.ones((10, 10))}
    >>> free("big", namespace=variables), variables
    (400, {})
    """
    variables, results = _spaces(namespace, outputs)
    places = _places(names, variables, results)
    freed = 0
    for mapping, key in places:
        for one in _arrays_in(mapping.pop(key, None)):
            if not one.is_deleted():
                freed += _size(one)
                one.delete()
        if mapping is results:
            variables.pop(f"_{key}", None)
    return freed


def freeing(
    *names: str,
    namespace: MutableMapping[str, Any] | None = None,
    outputs: MutableMapping[int, Any] | None = None,
) -> Freeing:
    """Return what ``free`` would delete, and who else holds it; nothing is deleted.

    Args:
      *names: as ``free`` takes them.
      namespace: likewise.
      outputs: likewise.

    Raises:
      ValueError: there is no such name, or it holds no array.

    >>> from jxkernel import numpy as jnp
    >>> big = jnp.ones((10, 10))
    >>> freeing("big", namespace={"big": big, "kept": [big]})
    Freeing(arrays=1, bytes=400, also=('kept[0]',))
    """
    variables, results = _spaces(namespace, outputs)
    places = _places(names, variables, results)
    arrays = {
        id(one): one
        for mapping, key in places
        for one in _arrays_in(mapping[key])
        if not one.is_deleted()
    }
    others = {name: value for name, value in list(variables.items()) if name not in names}
    also = [way for way, one in ways_in(others) if id(one) in arrays]
    for number, value in list(results.items()):
        if f"Out[{number}]" not in names and any(id(one) in arrays for one in _arrays_in(value)):
            also.append(f"Out[{number}]")
    return Freeing(len(arrays), sum(map(_size, arrays.values())), tuple(also))


def estimate(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> MemoryEstimate:
    """Return what a call would take, by compiling it; it is not run.

    Args:
      fun: a function of arrays, jitted or not.
      *args: its arguments, or ``ShapeDtypeStruct``s that stand for them and take no memory.
      **kwargs: its arguments by name.

    Raises:
      ValueError: the platform tells nothing of a program's memory.

    >>> import jxkernel as jx
    >>> size = jx.ShapeDtypeStruct((1000, 1000), "float32")
    >>> estimate(lambda x: x + 1.0, size).results
    4000000
    """
    jitted: Any = fun if jit_state(fun) is not None else jit(fun)
    compiled = jitted.trace(*args, **kwargs).lower().compile()
    return estimate_of(compiled)


def estimate_of(compiled: Any) -> MemoryEstimate:
    """Return what calls of a ``Compiled`` stage take.

    Raises:
      ValueError: the platform tells nothing of a program's memory.
    """
    stats = compiled.memory_analysis()
    if stats is None:
        raise ValueError("the platform does not tell what memory its programs take")
    devices = compiled.runtime_executable().local_devices()
    parts = stats.argument_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes
    # The planned peak leaves out what the caller holds on some platforms.
    peak = max(getattr(stats, "peak_memory_in_bytes", 0), parts + int(stats.temp_size_in_bytes))
    left = [one.free for one in device_memory(only=devices) if one.free is not None]
    return MemoryEstimate(
        stats.argument_size_in_bytes,
        stats.output_size_in_bytes,
        stats.alias_size_in_bytes,
        stats.temp_size_in_bytes,
        stats.generated_code_size_in_bytes,
        peak,
        tuple([device_label(device) for device in devices]),
        min(left, default=None),
    )


def device_memory(
    arrays: Sequence[Any] | None = None, only: Sequence[Any] | None = None
) -> tuple[DeviceMemory, ...]:
    """Return what each device of the running platforms holds.

    Args:
      arrays: the arrays to count; all live ones where not given.
      only: the devices to tell of.
    """
    runtime.default_device()
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for one in _living() if arrays is None else arrays:
        for device, size in _parts(one):
            counts[device] += 1
            sizes[device] += size
    if only is None:
        clients = runtime.backends().values()
        former = [one for name in runtime.backends() for one in runtime.former_clients(name)]
        only = [device for client in clients for device in client.local_devices()]
        only += [device for client in former for device in client.local_devices()]
    labels = {device_label(one): one for one in only}
    return tuple(
        [
            _of_device(device, counts[label], sizes[label])
            for label, device in labels.items()
            if runtime.is_current(device) or counts[label]
        ]
    )


def _of_device(device: Any, arrays: int, array_bytes: int) -> DeviceMemory:
    try:
        stats = device.memory_stats() or {}
    except Exception:  # a platform without memory statistics raises its own error
        stats = {}
    in_use, limit = stats.get("bytes_in_use"), stats.get("bytes_limit")
    left = memory_left() if device.platform == "cpu" else None
    if in_use is not None and limit:
        left = limit - in_use
    return DeviceMemory(device_label(device), arrays, array_bytes, in_use, limit or None, left)


def device_label(device: Any) -> str:
    """Return a device's name, ``cpu:0``; ``cpu:0 (former)``, where it is gone."""
    name = f"{device.platform}:{device.id}"
    return name if runtime.is_current(device) else f"{name} (former)"


def _living() -> list[Any]:
    found = [array for platform in runtime.backends() for array in runtime.live_arrays(platform)]
    return [one for one in found if not one.is_deleted()]


def _arrays_in(value: Any) -> list[Any]:
    return [one for _, one in _ways(value)]


def _ways(value: Any) -> Iterator[tuple[str, Any]]:
    """The arrays in a value with the ways to them; nothing of what cannot be looked into."""
    if isinstance(value, ArrayImpl):
        yield "", value
    if isinstance(value, (ArrayImpl, ModuleType, type, str, int, float)):
        return
    try:
        with looking():
            pairs, _ = physical.flatten_with_path(value)
    except Exception:  # foreign flatten functions, dict keys that cannot be sorted
        return
    for path, leaf in pairs:
        if isinstance(leaf, ArrayImpl):
            # What an object holds by numbers alone is told by the object.
            yield tree.keystr(path).partition("[<")[0], leaf


def ways_in(namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the arrays that variables hold, with the way to each: ``params['w']``."""
    outputs = namespace.get("Out")
    kept = set(map(id, outputs.values())) if isinstance(outputs, dict) else set[int]()
    for name, value in list(namespace.items()):
        is_history = is_history_name(name)
        # The user's own ``_``, as in ``_, x = f()``, is a variable as any other.
        if is_history and (id(value) in kept or not _IS_PLAIN.fullmatch(name)):
            continue
        for way, array in _ways(value):
            if not (is_history and array.is_deleted()):  # an output that was freed
                yield f"{name}{way}"[:_NAME_LENGTH], array


def _names_of(namespace: Mapping[str, Any]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for name, array in ways_in(namespace):
        found.setdefault(id(array), []).append(name)
    return found


def _outputs_of(outputs: Mapping[int, Any]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for number, value in list(outputs.items()):
        for _, array in _ways(value):
            numbers = found.setdefault(id(array), [])
            if number not in numbers:
                numbers.append(number)
    return found


def _all_arrays(namespace: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arrays, the largest first: those that platforms list, and what variables hold besides.

    No platform lists deleted ones, and those on lost devices.
    """
    arrays = {id(one): one for one in _living()}
    arrays |= {id(one): one for _, one in ways_in(namespace)}
    return tuple(sorted(arrays.values(), key=_size, reverse=True))


def _size(array: Any) -> int:
    """What an array takes on all devices together: a copy on each counts each time."""
    return sum(size for _, size in _parts(array))


def _parts(array: Any) -> list[tuple[str, int]]:
    """The devices on which an array has a part, and the part's size."""
    if array.is_deleted():
        return []
    sharding = array.sharding
    size = prod(sharding.shard_shape(array.shape)) * array.dtype.itemsize
    return [(device_label(device), size) for device in sharding.addressable_devices]


def _told(array: Any, names: list[str], outputs: list[int], others: Holders) -> LiveArray:
    variables = list(names)
    holders: list[str] = []
    for holder in others.named:
        if not holder.endswith(_MAIN):
            holders.append(holder)
        elif holder.removesuffix(_MAIN) not in variables:
            variables.append(holder.removesuffix(_MAIN))
    if not variables and not outputs and not holders:
        if others.by_traceback:
            holders.append("the traceback of an error")
        elif others.anonymous:
            holders.append(others.anonymous)
    return LiveArray(
        array.aval.short(weak=True),
        _size(array),
        tuple([device for device, _ in _parts(array)]),
        tuple(variables[:_NAMES]),
        tuple(sorted(outputs)),
        tuple(holders),
        array.is_deleted(),
    )


def _spaces(
    namespace: MutableMapping[str, Any] | None, outputs: MutableMapping[int, Any] | None
) -> tuple[MutableMapping[str, Any], MutableMapping[int, Any]]:
    """The variables and the outputs."""
    variables: MutableMapping[str, Any] = (
        vars(sys.modules["__main__"]) if namespace is None else namespace
    )
    return variables, variables.get("Out", {}) if outputs is None else outputs


def _places(
    names: Sequence[str],
    variables: MutableMapping[str, Any],
    results: MutableMapping[int, Any],
) -> list[tuple[MutableMapping[Any, Any], Any]]:
    """The mapping and the key of each name.

    Raises:
      ValueError: there is no such name, or it holds no array.
    """
    places = [_place(name, variables, results) for name in names]
    for name, (mapping, key) in zip(names, places, strict=True):
        if not _arrays_in(mapping.get(key)):
            raise ValueError(f"{name} holds no device array")
    return places


def _place(
    name: str, variables: MutableMapping[str, Any], results: MutableMapping[int, Any]
) -> tuple[MutableMapping[Any, Any], Any]:
    """Return the mapping that holds what a name means, and the key.

    Raises:
      ValueError: there is no such name.
    """
    inside = name[4:-1] if name.startswith("Out[") and name.endswith("]") else ""
    if inside.isdigit() and int(inside) in results:
        return results, int(inside)
    if name in variables:
        return variables, name
    raise ValueError(
        f"there is no variable {name}" if name.isidentifier() else f"there is no {name}"
    )
