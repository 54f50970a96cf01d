"""The pieces of arrays that lie on several devices: looking at them and putting them together."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._jaxlib import ArrayImpl, gather_on_host
from jxkernel.runtime.failures import surfacing
from jxkernel.sharding.named import SingleDeviceSharding, indices_of, is_single, refuse_shares

__all__ = ["Shard", "attach_method", "gather_shards", "piece_of"]


class Shard:
    """One device's piece of an array.

    Attributes:
      device: the device.
      index: which part of the whole it is, a slice per axis.
      replica_id: which copy of that part it is; 0 for the first.
      data: the piece as an array on that device; None where the device is another process's.
    """

    __slots__ = ("data", "device", "index", "replica_id")

    def __init__(self, device: Any, index: tuple[slice, ...], replica_id: int, data: Any) -> None:
        self.device = device
        self.index = index
        self.replica_id = replica_id
        self.data = data

    def __repr__(self) -> str:
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


@lru_cache(maxsize=4096)
def _copies(sharding: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return, for each device, how many devices before it hold the same part."""
    seen: dict[Any, int] = {}
    numbers: list[int] = []
    for index in indices_of(sharding, shape):
        key = tuple([(part.start, part.stop) for part in index])
        numbers.append(seen.get(key, 0))
        seen[key] = numbers[-1] + 1
    return tuple(numbers)


@lru_cache(maxsize=4096)
def _local_parts(sharding: Any, shape: tuple[int, ...]) -> tuple[tuple[Any, Any, int], ...]:
    """Return device, index and copy number of each piece of this process."""
    everything = zip(
        sharding._internal_device_list,
        indices_of(sharding, shape),
        _copies(sharding, shape),
        strict=True,
    )
    local = set(sharding._internal_device_list.addressable_device_list)
    return tuple([part for part in everything if part[0] in local])


def piece_of(array: Any, number: int) -> Any:
    """Return the piece on device ``number`` of this process as an array of its own."""
    sharding, aval = array._sharding, array.aval
    if is_single(sharding):
        return array
    device = sharding._internal_device_list.addressable_device_list[number]
    part = aval.update(shape=sharding.shard_shape(aval.shape))
    own = SingleDeviceSharding(device, memory_kind=sharding.memory_kind)
    return ArrayImpl(part, own, [array._arrays[number]], True, _skip_checks=True)


def gather_shards(array: Any, read: Callable[[Any], Any]) -> Any:
    """Return the data of an array on several devices as one NumPy array.

    Args:
      array: the array.
      read: gives the data of an array on one device.

    Raises:
      RuntimeError: pieces lie on devices of other processes.
      ValueError: they are shares of a sum that is put off.
    """
    sharding, shape = array.sharding, array.aval.shape
    refuse_shares(sharding)
    if sharding.is_fully_replicated:
        return read(piece_of(array, 0))
    if not sharding.is_fully_addressable:
        raise RuntimeError(
            f"An array of shape {shape} spans devices of other processes, so this process cannot "
            "read all of it: read .addressable_shards, or make it fully replicated"
        )
    if array.aval.dtype == dtypes.float0:
        return np.zeros(shape, dtypes.float0)
    if gather_on_host is not None:
        # The pieces as arrays of their own cost some hundred microseconds each.
        return surfacing(gather_on_host, array)[0]
    out: Any = None
    for number, (_, index, copy) in enumerate(_local_parts(sharding, shape)):
        if copy:
            continue
        value = read(piece_of(array, number))
        if out is None:
            out = np.empty(shape, value.dtype)
        out[index] = value
    return out


def _addressable_shards(self: Any) -> list[Shard]:
    """The pieces on devices of this process."""
    parts = _local_parts(self.sharding, self.aval.shape)
    return [
        Shard(device, index, copy, piece_of(self, number))
        for number, (device, index, copy) in enumerate(parts)
    ]


def _global_shards(self: Any) -> list[Shard]:
    """All pieces; those of other processes without data."""
    sharding, shape = self.sharding, self.aval.shape
    local = {shard.device: shard for shard in _addressable_shards(self)}
    everything = zip(
        sharding._internal_device_list,
        indices_of(sharding, shape),
        _copies(sharding, shape),
        strict=True,
    )
    return [
        local.get(device) or Shard(device, index, copy, None) for device, index, copy in everything
    ]


def _addressable_data(self: Any, index: int) -> Any:
    """Return the piece on the device number ``index`` of this process."""
    return piece_of(self, index)


def _device(self: Any) -> Any:
    sharding = self.sharding
    return sharding._device if is_single(sharding) else sharding


def attach_method(name: str, method: Any, *kinds: type) -> None:
    """Give classes of arrays a method, which errors then call as users do."""
    if getattr(method, "__name__", "") == f"_{name}":
        method.__name__, method.__qualname__ = name, f"Array.{name}"
    for kind in kinds:
        setattr(kind, name, method)


def _attach() -> None:
    properties: dict[str, Any] = {
        "addressable_shards": _addressable_shards,
        "global_shards": _global_shards,
        "device": _device,
        "is_fully_addressable": lambda self: self.sharding.is_fully_addressable,
        "is_fully_replicated": lambda self: self.sharding.is_fully_replicated,
    }
    for name, getter in properties.items():
        setattr(ArrayImpl, name, property(getter))
    attach_method("addressable_data", _addressable_data, ArrayImpl)


_attach()
