"""Placing arrays on several devices: from the host, from other devices, from their pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, Protocol

import numpy as np

from jxkernel import dtypes
from jxkernel._jaxlib import (
    COPIED_DURING_CALL,
    ArrayImpl,
    array_result_handler,
    batched_device_put,
)
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.key_data import ExtendedArray
from jxkernel.dtypes import DType
from jxkernel.runtime.arrays import (
    as_device_array,
    check_alive,
    device_put_single,
    owned,
    value_of,
)
from jxkernel.runtime.clients import sharding_on
from jxkernel.runtime.shards import piece_of
from jxkernel.sharding.named import indices_of, is_single

__all__ = [
    "array_from_callback",
    "array_from_pieces",
    "array_from_process_data",
    "has_sharding",
    "place",
    "shard_argument",
]


class _InMemory(Protocol):
    """A sharding, as far as it says in which memory of its devices an array lies."""

    _internal_device_list: Any

    @property
    def memory_kind(self) -> str | None:
        """The kind of memory; None for the devices' own."""
        ...


def _other_memory(own: _InMemory, wanted: _InMemory) -> bool:
    """Whether two shardings mean different kinds of memory."""
    return own.memory_kind != wanted.memory_kind and _memory_of(own) != _memory_of(wanted)


def _memory_of(sharding: _InMemory) -> str:
    return sharding.memory_kind or sharding._internal_device_list[0].default_memory().kind


def has_sharding(array: Any, sharding: Any) -> bool:
    """Whether an array lies on devices exactly as a sharding says, in the same order."""
    own = array.sharding
    return own is sharding or _alike(own, sharding, array.aval.ndim)


@lru_cache(maxsize=4096)
def _alike(own: Any, sharding: Any, rank: int) -> bool:
    if _other_memory(own, sharding):
        return False
    return own == sharding or (
        own.num_devices == sharding.num_devices and sharding.is_equivalent_to(own, rank)
    )


def place(value: Any, sharding: Any, *, committed: bool = True) -> Any:
    """Return a value as an array that lies as a sharding says.

    Args:
      value: an array, a NumPy value or a Python number.
      sharding: where it shall lie.
      committed: whether it binds later work to these devices.

    Raises:
      ValueError: the value cannot be divided so.
    """
    if type(value) is ArrayImpl and _other_memory(value.sharding, sharding):
        # The runtime does not divide anew between kinds of memory: this goes over the host.
        aval = abstractify(value)
        return _put(aval, sharding, _cut(value_of(value), aval, sharding), committed)
    if is_single(sharding):
        return _put_single(value, sharding)
    if type(value) is ArrayImpl:
        check_alive(value)
        aval = value.aval
        sharding.check_compatible_aval(aval.shape)
        if has_sharding(value, sharding):
            return ArrayImpl(aval, sharding, list(value._arrays), committed, _skip_checks=True)
        pieces = _pieces_on_devices(value, sharding)
        if pieces is not None:
            return _put(aval, sharding, pieces, committed)
        return _put(aval, sharding, _cut(value_of(value), aval, sharding), committed)
    aval = abstractify(value)
    sharding.check_compatible_aval(aval.shape)
    # Where no two devices hold the same part, jaxlib copies the data during the call.
    apart = prod(sharding.counts(aval.ndim)) == sharding.num_devices
    data = np.asarray(value, aval.dtype) if apart else owned(value, aval)
    return _put(aval, sharding, _cut(data, aval, sharding), committed, copied=apart)


def _put_single(value: Any, sharding: Any) -> Any:
    """Return a value as an array in the memory of one device that a sharding means."""
    device = sharding._device
    if _memory_of(sharding) == device.default_memory().kind:
        return device_put_single(value, device)
    if type(value) is ArrayImpl and has_sharding(value, sharding):
        return value
    aval = abstractify(value)
    return _put(aval, sharding, [owned(value, aval)], True)


_SCALARS: dict[type, ShapedArray] = {
    kind: ShapedArray((), np.dtype(kind))
    for kind in (
        *(np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32),
        *(np.float16, np.float32, np.complex64),
    )
}
"""The types of NumPy's numbers whose dtype stays theirs: they need no look at what they are."""


def shard_argument(value: Any, sharding: Any, layout: Any = None) -> Any:
    """Return an argument where a compiled call wants it.

    The C++ dispatch path calls this for arguments it cannot place itself (NumPy arrays, Python
    numbers of unusual dtypes, arrays elsewhere).
    """
    if type(value) is ArrayImpl and (value._sharding is sharding or value._sharding == sharding):
        return value
    if is_single(sharding):
        device, aval = sharding._device, _SCALARS.get(type(value))
        if aval is not None:
            return batched_device_put(aval, sharding_on(device), [value], [device], True)
        return device_put_single(value, device)
    return place(value, sharding)


@lru_cache(maxsize=4096)
def _local_indices(sharding: Any, shape: tuple[int, ...]) -> tuple[tuple[Any, Any], ...]:
    """Return device and index of each piece of this process."""
    pairs = zip(sharding._internal_device_list, indices_of(sharding, shape), strict=True)
    if sharding.is_fully_addressable:
        return tuple(pairs)
    local = sharding.addressable_devices
    return tuple([pair for pair in pairs if pair[0] in local])


def _cut(data: Any, aval: ShapedArray, sharding: Any) -> list[Any]:
    if data.dtype != aval.dtype:
        data = data.astype(aval.dtype)
    if aval.dtype == dtypes.float0:
        data = np.zeros(aval.shape, np.bool_)
    return [data[index] for _, index in _local_indices(sharding, aval.shape)]


def _put(
    aval: ShapedArray, sharding: Any, pieces: list[Any], committed: bool, *, copied: bool = False
) -> Any:
    if aval.dtype == dtypes.float0:
        stored = aval.update(dtype=np.dtype(np.bool_))
        pieces = [np.zeros(np.shape(piece), np.bool_) for piece in pieces]
        array = _put(stored, sharding, pieces, committed, copied=copied)
        return array_result_handler(aval, sharding, committed)(array)
    devices = list(sharding._internal_device_list.addressable_device_list)
    if not copied:
        return batched_device_put(aval, sharding, pieces, devices, committed)
    return batched_device_put(
        aval, sharding, pieces, devices, committed, host_buffer_semantics=COPIED_DURING_CALL
    )


def _part(index: tuple[slice, ...], shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple([part.indices(size)[:2] for part, size in zip(index, shape, strict=True)])


def _pieces_on_devices(array: Any, sharding: Any) -> list[Any] | None:
    """Return, for each device, the piece it shall hold if some device of its kind holds it."""
    sources = _sources(array.sharding, sharding, array.aval.shape)
    return None if sources is None else [piece_of(array, number) for number in sources]


@lru_cache(maxsize=4096)
def _sources(own: Any, wanted: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return, for each device that shall hold a piece, which piece it is; None for a new cut."""
    here: dict[Any, dict[Any, int]] = {}
    for number, (device, index) in enumerate(_local_indices(own, shape)):
        if device.client is not wanted._internal_device_list[0].client:
            return None
        here.setdefault(_part(index, shape), {})[device] = number
    numbers: list[int] = []
    for device, index in _local_indices(wanted, shape):
        found = here.get(_part(index, shape))
        if found is None:
            return None
        numbers.append(found[device] if device in found else next(iter(found.values())))
    return tuple(numbers)


def array_from_pieces(
    shape: Sequence[int], sharding: Any, arrays: Sequence[Any], dtype: DType = None
) -> Any:
    """Return the array whose pieces on this process's devices are given.

    Args:
      shape: the shape of the whole.
      sharding: how it is divided.
      arrays: a piece for each device of this process, each on its own device, in any order.
      dtype: the dtype; needed only where there is no piece.

    Raises:
      ValueError: a piece is missing, lies elsewhere, or has another shape or dtype.
    """
    shape = tuple(shape)
    wanted = sharding.shard_shape(shape)
    pieces = [as_device_array(array) for array in arrays]
    by_device = {piece.sharding._device: piece for piece in pieces if is_single(piece.sharding)}
    devices = list(sharding._internal_device_list.addressable_device_list)
    if len(pieces) != len(devices) or set(by_device) != set(devices):
        raise ValueError(
            f"make_array_from_single_device_arrays needs one array on each of {devices}, got "
            f"{len(pieces)} on {sorted(by_device, key=lambda d: d.id)}"
        )
    first = pieces[0].aval.dtype if pieces else dtypes.canonicalize_dtype(dtype)
    for piece in pieces:
        if piece.aval.shape != wanted or piece.aval.dtype != first:
            raise ValueError(
                f"make_array_from_single_device_arrays needs pieces {first.name}{list(wanted)} for "
                f"shape {shape} and {sharding!r}, got {piece.aval.short()} on "
                f"{piece.sharding._device}"
            )
    if is_single(sharding):
        return pieces[0]
    aval = ShapedArray(shape, first)
    ordered = [by_device[device] for device in devices]
    return ArrayImpl(aval, sharding, ordered, True, _skip_checks=True)


def array_from_callback(
    shape: Sequence[int], sharding: Any, data: Callable[[Any], Any], dtype: DType = None
) -> Any:
    """Return an array whose pieces a function gives; it is called once for each distinct part.

    Args:
      shape: the shape of the whole.
      sharding: how it is divided.
      data: called with the index of a part, a slice per axis; returns the part.
      dtype: the dtype the parts shall have; None for that of the first.

    Raises:
      ValueError: a part has another shape, or some are keys and others or ``dtype`` are not.
      TypeError: a part is no array and no number.
    """
    shape = tuple(shape)
    wanted = sharding.shard_shape(shape)
    made: dict[Any, Any] = {}
    pieces: list[Any] = []
    for _, index in _local_indices(sharding, shape):
        key = _part(index, shape)
        if key not in made:
            piece = data(index)
            made[key] = _made(piece)
            if made[key].shape != wanted:
                raise ValueError(
                    f"make_array_from_callback: the callback gave shape {made[key].shape} for "
                    f"{index}, and a part of shape {shape} under {sharding!r} has shape {wanted}"
                )
        pieces.append(made[key])
    keys = isinstance(dtype, dtypes.ExtendedDType)
    if not keys and not any(isinstance(piece, ExtendedArray) for piece in pieces):
        return _joined(pieces, shape, sharding, pieces[0].dtype if dtype is None else dtype)
    kinds = {str(piece.dtype): piece.dtype for piece in pieces}
    if len(kinds) > 1 or dtype not in (None, *kinds.values()):
        raise ValueError(
            f"make_array_from_callback got parts of dtype {' and '.join(kinds)} for dtype={dtype}: "
            "keys lie beside keys of one kind only"
        )
    # A part has the whole key data of its keys: the sharding does not divide that axis.
    key_data = [value_of(piece.key_data) for piece in pieces]
    sizes = (*shape, key_data[0].shape[-1])
    return pieces[0].with_key_data(_joined(key_data, sizes, sharding, key_data[0].dtype))


def _made(piece: Any) -> Any:
    """Return what a callback gave as an array of its own on the host, or keys as they are."""
    if isinstance(piece, ExtendedArray):
        return piece
    try:
        return owned(piece, abstractify(piece)) if np.isscalar(piece) else np.array(piece)
    except TypeError as error:
        raise TypeError(f"make_array_from_callback: {error}") from None


def _joined(pieces: list[Any], shape: tuple[int, ...], sharding: Any, dtype: DType) -> Any:
    first = dtypes.canonicalize_dtype(dtype)
    aval = ShapedArray(shape, first)
    pieces = [piece.astype(first, copy=False) for piece in pieces]
    if is_single(sharding):
        return device_put_single(pieces[0], sharding._device)
    return _put(aval, sharding, pieces, True)


def array_from_process_data(sharding: Any, local: Any, global_shape: Any = None) -> Any:
    """Return an array of which this process has all it needs in one NumPy array.

    Args:
      sharding: how the whole is divided.
      local: the part that the devices of this process hold together.
      global_shape: the shape of the whole; None where each axis that is divided over processes
        is as many times as long as there are distinct parts.

    Raises:
      ValueError: the local data does not fit.
    """
    data = np.asarray(local)
    if sharding.is_fully_addressable:
        shape = data.shape if global_shape is None else tuple(global_shape)
    else:
        shape = _whole_shape(sharding, data.shape) if global_shape is None else tuple(global_shape)
    bounds = [_part(index, shape) for _, index in _local_indices(sharding, shape)]
    low = [min(starts) for starts in zip(*[[s for s, _ in part] for part in bounds], strict=True)]
    high = [max(stops) for stops in zip(*[[e for _, e in part] for part in bounds], strict=True)]
    span = tuple([stop - start for start, stop in zip(low, high, strict=True)])
    whole = data.shape == shape
    if not whole and data.shape != span:
        raise ValueError(
            f"make_array_from_process_local_data: local data of shape {data.shape} is neither the "
            f"whole, {shape}, nor the part of this process, {span}"
        )

    def part(index: tuple[slice, ...]) -> Any:
        if whole:
            return data[index]
        parts = zip(_part(index, shape), low, strict=True)
        return data[tuple([slice(start - at, stop - at) for (start, stop), at in parts])]

    return array_from_callback(shape, sharding, part)


def _whole_shape(sharding: Any, local: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the whole from that of one process's part."""
    trial = tuple(
        [size * count for size, count in zip(local, sharding.counts(len(local)), strict=True)]
    )
    bounds = [_part(index, trial) for _, index in _local_indices(sharding, trial)]
    shape: list[int] = []
    for axis, size in enumerate(local):
        start = min(part[axis][0] for part in bounds)
        stop = max(part[axis][1] for part in bounds)
        shape.append(size * trial[axis] // (stop - start))
    return tuple(shape)
