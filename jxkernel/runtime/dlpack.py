"""DLPack: sharing an array's memory with other libraries, both ways (the DLPack 1.0 protocol).

On the CPU nothing is copied where the other side's memory is aligned and in C order.  Shared
memory may be changed by its owner; arrays here are never written to.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._jaxlib import ArrayImpl, Device, JaxRuntimeError, dlpack_to_buffer, to_dlpack_capsule
from jxkernel._reprs import with_type
from jxkernel.core.avals import ShapedArray
from jxkernel.dtypes import DType
from jxkernel.runtime.arrays import array_from_host, device_put_single, rebuild
from jxkernel.runtime.clients import backend, sharding_on

__all__ = ["DeviceKind", "capsule", "from_dlpack", "is_supported_dtype", "own_device"]


class DeviceKind(IntEnum):
    """What DLPack calls kinds of devices."""

    CPU = 1
    CUDA = 2
    ROCM = 10


_PLATFORMS = {DeviceKind.CPU: "cpu", DeviceKind.CUDA: "cuda", DeviceKind.ROCM: "rocm"}
_KINDS = {"cpu": DeviceKind.CPU, "cuda": DeviceKind.CUDA, "gpu": DeviceKind.CUDA}
_SUPPORTED = frozenset(
    dtype
    for dtype in dtypes.ALL
    if dtypes.itemsize_bits(dtype) >= 8 and dtype not in dtypes.NARROW_FLOATING
)
_OLDEST_VERSION = (0, 5)


def is_supported_dtype(dtype: DType) -> bool:
    """Return whether arrays of a dtype can be shared: those of a byte or more that all know.

    Args:
      dtype: a dtype, or what names one.
    """
    return dtypes.as_dtype(dtype) in _SUPPORTED


def own_device(self: Any) -> tuple[DeviceKind, int]:
    """Return where the array's memory is, as DLPack names it.

    Raises:
      BufferError: on several devices, or on one that DLPack has no name for.
    """
    devices = list(self.sharding._internal_device_list)
    kind = _KINDS.get(devices[0].platform)
    if len(devices) != 1 or kind is None:
        raise BufferError(
            f"an array on {len(devices)} device(s) of {devices[0].platform!r} cannot be shared "
            "through DLPack: put it on one CPU or GPU first, with jxkernel.device_put"
        )
    return kind, 0 if kind is DeviceKind.CPU else devices[0].local_hardware_id


def capsule(
    self: Any,
    *,
    stream: int | Any | None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[Any, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Return the array's memory as a DLPack capsule, waiting for its value.

    Args:
      self: the array.
      stream: the consumer's stream, on GPUs.
      max_version: the newest version that the consumer knows.
      dl_device: the device on which the consumer wants it.
      copy: True for memory of its own, False to refuse a copy.

    Raises:
      BufferError: the dtype, the version or the device cannot be served.
    """
    if self.aval.dtype not in _SUPPORTED:
        raise BufferError(f"DLPack has no dtype for {self.aval.dtype.name}: convert the array")
    if max_version is not None and tuple(max_version) < _OLDEST_VERSION:
        raise BufferError(f"DLPack {max_version} is asked for; the oldest here is (0, 5)")
    kind, _ = own_device(self)
    if stream is not None and kind is DeviceKind.CPU:
        raise BufferError(f"stream={stream} is for GPUs, and the array is on a CPU: leave it None")
    shared = self
    if dl_device is not None and dl_device[0] != kind:
        if copy is False:
            raise BufferError("the array is on another device, and copy=False forbids to move it")
        shared = device_put_single(self, backend(_platform(dl_device[0])).local_devices()[0])
    elif copy:
        shared = rebuild(np.array(self), self.aval.weak_type)
    shared.block_until_ready()
    return to_dlpack_capsule(shared, stream, max_version)


def _platform(kind: int) -> str:
    if kind not in _PLATFORMS:
        raise BufferError(f"DLPack's kind of device {kind} is unknown here")
    return _PLATFORMS[DeviceKind(kind)]


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Any:
    """Return an array with the memory of another library's array, shared where that is possible.

    Args:
      external_array: an object with ``__dlpack__`` and ``__dlpack_device__``.
      device: a device to put the result on; where the memory is otherwise.
      copy: True to copy always, False to refuse a copy.

    Raises:
      TypeError: the object does not speak DLPack.
      BufferError: ``copy`` is False and sharing needs one (memory that is not aligned to 64
        bytes or not in C order, another device, a 64-bit dtype without 64-bit mode).

    >>> import jxkernel, numpy
    >>> jxkernel.dlpack.from_dlpack(numpy.arange(3, dtype="float32"))
    Array([0., 1., 2.], dtype=float32)
    """
    if not (hasattr(external_array, "__dlpack__") and hasattr(external_array, "__dlpack_device__")):
        raise TypeError(
            "from_dlpack takes an object with __dlpack__ and __dlpack_device__, got "
            f"{with_type(external_array)}"
        )
    target = getattr(device, "_device", device)
    if target is not None and not isinstance(target, Device):
        raise TypeError(
            f"from_dlpack got device={with_type(device)}: it takes a "
            "device, such as jxkernel.devices()[0]"
        )
    if type(external_array) is ArrayImpl and not copy:
        return external_array if target is None else device_put_single(external_array, target)
    kind, number = external_array.__dlpack_device__()
    found = None if copy else _shared(external_array, kind, number)
    if found is None:
        if copy is False:
            raise BufferError("the memory cannot be shared as it is, and copy=False forbids a copy")
        found = _copied(external_array, kind)
    return found if target is None else device_put_single(found, target)


def _shared(external: Any, kind: int, number: int) -> Any:
    """Return an array that shares the memory; None where it cannot be shared."""
    devices = backend(_platform(kind)).local_devices()
    try:
        raw = dlpack_to_buffer(external.__dlpack__(), devices[number])
    except (JaxRuntimeError, BufferError):
        return None
    if kind == DeviceKind.CPU:
        seen, _ = raw._single_device_array_to_np_array_did_copy()
        shape, dtype, ordered = seen.shape, seen.dtype, seen.flags.c_contiguous
    else:
        shape, ordered = tuple(external.shape), True
        dtype = dtypes.as_dtype(str(external.dtype).rpartition(".")[2])
    if not ordered or dtypes.canonicalize_dtype(dtype) != dtype:
        return None
    return raw._rewrap_with_aval_and_sharding(
        ShapedArray(shape, dtype), sharding_on(devices[number])
    )


def _copied(external: Any, kind: int) -> Any:
    if kind != DeviceKind.CPU:
        raise BufferError("only the CPU's memory is copied: convert the array to C order first")
    value = np.from_dlpack(external)
    return array_from_host(
        np.array(value, order="C"), ShapedArray(value.shape, dtypes.canonicalize_dtype(value.dtype))
    )
