"""Values that outlive the devices they lie on: kept on the host, and put on devices again.

An array over a mesh is kept as this process's parts of it; devices are named by their process and
their place in it, so that a group formed anew finds those that have taken their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import random, tree
from jxkernel.api.global_arrays import make_array_from_callback
from jxkernel.api.transfer import device_put
from jxkernel.random.keys import KeyArray
from jxkernel.records import record
from jxkernel.runtime import ArrayImpl, devices
from jxkernel.sharding import Mesh, NamedSharding, PartitionSpec
from jxkernel.tree import physical

__all__ = ["Kept", "KeptMesh", "kept", "missing_parts", "restored"]

Index = tuple[tuple[int, int], ...]
"""A part of an array: where it begins and ends, for each axis."""


@record()
class KeptMesh:
    """A mesh, or a sharding over it, without devices.

    Attributes:
      places: the process of each device and its place in that process, in order.
      shape: the sizes of the axes.
      names: their names.
      types: who decides how arrays are divided over each.
      spec: the sharding's; None for the mesh itself.
    """

    places: tuple[tuple[int, int], ...]
    shape: tuple[int, ...]
    names: tuple[Any, ...]
    types: tuple[Any, ...]
    spec: Any = None


@record(eq=False)
class Kept:
    """An array on the host.

    Attributes:
      shape: the shape of the whole.
      over: how it is divided, or None where it lies on a device of this process alone.
      parts: what this process holds of it, each part once.
      impl: the generator's name, where it is of random keys.
    """

    shape: tuple[int, ...]
    over: KeptMesh | None
    parts: tuple[tuple[Index, np.ndarray], ...]
    impl: str | None = None


def _places() -> dict[Any, tuple[int, int]]:
    """Return the place of each device: its process, and its number there."""
    counts: dict[int, int] = {}
    found = {}
    for device in devices():
        number = counts.get(device.process_index, 0)
        counts[device.process_index] = number + 1
        found[device] = (device.process_index, number)
    return found


def kept(value: Any) -> Any:
    """Return a tree of values with its arrays, keys, meshes and shardings as what can be kept.

    Raises:
      ValueError: an array is not computed yet or is deleted, or lies on devices that are gone.
    """
    places = _places()
    return tree.map(lambda x: _kept(x, places), value)


def _kept(x: Any, places: dict[Any, tuple[int, int]]) -> Any:
    if isinstance(x, KeyArray):
        data = _kept(random.key_data(x), places)
        return Kept(data.shape, data.over, data.parts, str(random.key_impl(x)))
    if isinstance(x, Mesh):
        return _kept_mesh(x, None, places)
    if isinstance(x, NamedSharding) and isinstance(x.mesh, Mesh):
        return _kept_mesh(x.mesh, x.spec, places)
    if not isinstance(x, ArrayImpl):
        return x
    if x.is_deleted() or not x.is_ready():
        raise ValueError("it is deleted" if x.is_deleted() else "it is not computed yet")
    sharding = x.sharding
    over = None
    if isinstance(sharding, NamedSharding):
        over = _kept_mesh(sharding.mesh, sharding.spec, places)
    parts = {_bounds(shard.index, x.shape): shard for shard in x.addressable_shards}
    return Kept(
        x.shape, over, tuple((index, np.asarray(shard.data)) for index, shard in parts.items())
    )


def _kept_mesh(mesh: Any, spec: Any, places: dict[Any, tuple[int, int]]) -> KeptMesh:
    flat = list(mesh.devices.flat)
    if any(device not in places for device in flat):
        raise ValueError("it lies on devices that are given up")
    there = tuple(places[device] for device in flat)
    return KeptMesh(there, mesh.devices.shape, mesh.axis_names, mesh.axis_types, spec)


def _bounds(index: Sequence[slice], shape: Sequence[int]) -> Index:
    return tuple(
        (one.start or 0, size if one.stop is None else one.stop)
        for one, size in zip(index, shape, strict=True)
    )


def missing_parts(value: Any, ranks: Sequence[int]) -> bool:
    """Whether a kept tree has arrays whose parts lay with ranks that are gone.

    Args:
      value: what ``kept`` gave.
      ranks: the ranks that are gone.
    """
    return any(
        isinstance(x, Kept)
        and x.over is not None
        and any(process in ranks for process, _ in x.over.places)
        and not _is_whole(x)
        for x in physical.leaves(value)
    )


def _is_whole(x: Kept) -> bool:
    return any(part.shape == x.shape for _, part in x.parts)


def restored(value: Any) -> Any:
    """Return a kept tree with its arrays on devices again, divided as they were."""
    there = {place: device for device, place in _places().items()}
    return physical.map(lambda x: _restored(x, there), value)


def _restored(x: Any, there: dict[tuple[int, int], Any]) -> Any:
    if isinstance(x, KeptMesh):
        return _restored_sharding(x, there)
    if not isinstance(x, Kept):
        return x
    if x.over is None:
        array = device_put(x.parts[0][1])
    else:
        sharding = _restored_sharding(x.over, there)
        array = make_array_from_callback(
            x.shape, sharding, lambda index: _part(x, _bounds(index, x.shape))
        )
    return array if x.impl is None else random.wrap_key_data(array, impl=x.impl)


def _restored_sharding(x: KeptMesh, there: dict[tuple[int, int], Any]) -> Any:
    found = np.empty(len(x.places), object)
    found[:] = [there[place] for place in x.places]
    mesh = Mesh(found.reshape(x.shape), x.names, axis_types=x.types)
    return mesh if x.spec is None else NamedSharding(mesh, PartitionSpec(*x.spec))


def _part(x: Kept, wanted: Index) -> np.ndarray:
    """Return a part from the one that holds all of it, or put together from several."""
    shape = [end - start for start, end in wanted]
    result = np.empty(shape, x.parts[0][1].dtype)
    for index, part in x.parts:
        overlap = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(index, wanted, strict=True)]
        if all(start < end for start, end in overlap):
            source = tuple(
                slice(s - a, e - a) for (s, e), (a, _) in zip(overlap, index, strict=True)
            )
            target = tuple(
                slice(s - a, e - a) for (s, e), (a, _) in zip(overlap, wanted, strict=True)
            )
            result[target] = part[source]
    return result
