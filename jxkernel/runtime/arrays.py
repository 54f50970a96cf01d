"""Arrays: jaxlib's C++ ``ArrayImpl`` with our methods, and the ways in from the host.

An array is a future: dispatch returns it before its value exists, and reading the value waits.
The class is C++ and is made to have methods attached; wrapping it in a class of our own would
lose the C++ dispatch path, which returns ``ArrayImpl``.  Arithmetic, indexing and the NumPy
methods are attached by the numerical API (the ``install_operators`` port).
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jxkernel import dtypes, events
from jxkernel._jaxlib import (
    ArrayImpl,
    array_result_handler,
    batched_block_until_ready,
    batched_device_put,
)
from jxkernel._lazy import late_function
from jxkernel.config import wait_runner
from jxkernel.core.avals import ShapedArray, abstractify, register_abstractifier
from jxkernel.core.explicit_sharding import explicit_sharding_of
from jxkernel.core.trace import Tracer, unexpected_tracer
from jxkernel.dtypes import DType
from jxkernel.errors import DeletedArrayError
from jxkernel.runtime.clients import default_device, sharding_on
from jxkernel.runtime.failures import surfacing
from jxkernel.runtime.shards import attach_method, gather_shards, piece_of
from jxkernel.sharding.layout import Format, layout_of
from jxkernel.sharding.named import SingleDeviceSharding, is_single
from jxkernel.source import current_user_frame

__all__ = [
    "AnyArray",
    "Array",
    "ArrayImpl",
    "ArrayLike",
    "array_from_host",
    "as_device_array",
    "block_until_ready",
    "device_put_single",
    "note_narrowing",
    "own_array",
    "own_result",
    "rebuild",
    "value_of",
    "wait_for",
]


class _ArrayMeta(type):
    """Makes ``isinstance(x, Array)`` true for arrays on devices and for tracers."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        own = type.__subclasscheck__(cls, subclass)
        return own or (cls is Array and issubclass(subclass, (ArrayImpl, Tracer)))

    def __getattr__(cls, name: str) -> Any:
        """Return, for ``Array.sum`` and its like, what asks an array for its own."""
        public = not name.startswith("_") or name.startswith("__")
        found = getattr(ArrayImpl, name, None) if cls is Array and public else None
        if found is None:
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        if not callable(found):
            return property(attrgetter(name), doc=found.__doc__)

        def method(array: Any, *args: Any, **kwargs: Any) -> Any:
            return getattr(array, name)(*args, **kwargs)

        # Those of jaxlib's own have a qualified name that is no text, so ``wraps`` refuses them.
        method.__name__, method.__qualname__ = name, f"Array.{name}"
        method.__doc__ = found.__doc__
        return method

    def __dir__(cls) -> list[str]:
        return sorted({*super().__dir__(), *(dir(ArrayImpl) if cls is Array else ())})


class Array(metaclass=_ArrayMeta):
    """The type of jxkernel's arrays, for ``isinstance`` and annotations; never instantiated."""

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError("Array cannot be made directly: use jxkernel.numpy.array(...)")


AnyArray: TypeAlias = Array | np.ndarray | np.bool | np.number | bool | int | float | complex
"""What functions take where they want an array; no lists.  Each part is a class."""

if TYPE_CHECKING:
    ArrayLike: TypeAlias = AnyArray | Tracer
else:
    # So that signatures show a name in place of eight classes; Python 3.11 cannot name a type.
    _named = getattr(typing, "TypeAliasType", lambda name, type: type)
    ArrayLike = _named("ArrayLike", AnyArray)
"""The same, in annotations: a traced value stands for an array, too."""


def _aval(array: Any) -> ShapedArray:
    """Return the type of an array: where it lies says how explicit axes divide it."""
    aval, sharding = array.aval, array._sharding
    if type(sharding) is SingleDeviceSharding:
        return aval if aval.explicit_sharding is None else aval.update(explicit_sharding=None)
    explicit_sharding = explicit_sharding_of(sharding, aval.ndim)
    return (
        aval
        if aval.explicit_sharding is explicit_sharding
        else aval.update(explicit_sharding=explicit_sharding)
    )


register_abstractifier(ArrayImpl, _aval)

_ALIGNMENT = 64
"""To how many bytes memory must be aligned that a buffer of the CPU shares."""
_LARGE = 1 << 14
"""From how many bytes on it pays."""


def array_from_host(value: Any, aval: ShapedArray, device: Any = None) -> Any:
    """Return a new array with the data of a NumPy array, committed if a device is named."""
    target = device or default_device()
    if value.dtype != aval.dtype:
        value = value.astype(aval.dtype)
    if aval.dtype == dtypes.float0:
        return _float0_array(aval, target, device is not None)
    return batched_device_put(aval, sharding_on(target), [value], [target], device is not None)


def _float0_array(aval: ShapedArray, device: Any, committed: bool) -> Any:
    """Return an array of the dtype that has no data: on the device it is one of booleans."""
    sharding = sharding_on(device)
    stored = aval.update(dtype=np.dtype(np.bool_))
    data = np.zeros(aval.shape, np.bool_)
    array = batched_device_put(stored, sharding, [data], [device], committed)
    return array_result_handler(aval, sharding, committed)(array)


def as_device_array(value: Any) -> Any:
    """Return an ``ArrayImpl`` for an array, a NumPy value or a Python number.

    Raises:
      TypeError: the value is none of these.
      UnexpectedTracerError: it is a tracer whose trace has ended.
    """
    if type(value) is ArrayImpl:
        return value
    if isinstance(value, Tracer):
        raise unexpected_tracer(value)
    aval = abstractify(value)
    return array_from_host(owned(value, aval), aval)


def own_array(value: Any) -> Any:
    """Return an array of numbers of NumPy's as one of ours, which does not change.

    Anything else is returned as it is, an array of ``float0`` too: that has no numbers, and NumPy
    would read the booleans that stand for it on a device.
    """
    numbers = type(value) is np.ndarray and value.dtype.kind in "biufcV"
    return as_device_array(value) if numbers and value.dtype != dtypes.float0 else value


def own_result(value: Any) -> Any:
    """Return a result with NumPy's arrays and scalars as arrays of ours, of a canonical dtype.

    A function that a transform runs may give its argument back, or what NumPy made of constants.
    """
    return own_array(np.asarray(value) if isinstance(value, np.generic) else value)


def owned(value: Any, aval: ShapedArray) -> Any:
    """Return host data that nobody else can change: the transfer may read it later."""
    if isinstance(value, np.ndarray) and value.dtype == aval.dtype:
        return _aligned_copy(value) if value.nbytes >= _LARGE else value.copy()
    note_narrowing(value, aval.dtype)
    if hasattr(value, "dtype") and not hasattr(value, "__array__"):
        raise TypeError(
            f"{value!r:.100} describes an array and has no values: it stands for one where "
            "nothing is computed, as in eval_shape, make_jaxpr and lower"
        )
    return dtypes.host_array(value, aval.dtype)


def _aligned_copy(array: np.ndarray) -> np.ndarray:
    """Return a copy that PJRT's CPU client takes as it is, without a copy of its own."""
    memory = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    np.copyto(copy, array)
    return copy


def note_narrowing(value: Any, dtype: DType) -> None:
    """Tell those who listen that a NumPy value is about to lose half of its bits."""
    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype == dtype:
        return
    if not events.listening_to(events.Narrowed):
        return
    frame = current_user_frame()
    events.emit(
        events.Narrowed,
        dtype=value.dtype.name,
        becomes=np.dtype(dtype).name,
        shape=value.shape,
        lossy=not np.array_equal(value, np.asarray(value).astype(dtype), equal_nan=True),
        site=f"{frame.file}:{frame.line}" if frame else "",
    )


def device_put_single(value: Any, device: Any) -> Any:
    """Return the value as an array committed to one device."""
    if type(value) is ArrayImpl:
        check_alive(value)
        own = value.sharding
        if not is_single(own) and not own.is_fully_replicated:
            return array_from_host(value_of(value), value.aval, device)
        if next(iter(own.device_set)).client is not device.client:
            return array_from_host(value_of(value), value.aval, device)
        target = sharding_on(device)
        source = next(iter(value._arrays))
        return batched_device_put(value.aval, target, [source], [device], True)
    aval = abstractify(value)
    return array_from_host(owned(value, aval), aval, device)


def moved_to(array: Any, device: Any) -> Any:
    """Return an array whole on another device, committed to it if it was committed before."""
    put = device_put_single(array, device)
    if array._committed:
        return put
    return ArrayImpl(put.aval, put.sharding, list(put._arrays), False, _skip_checks=True)


def block_until_ready(leaves: Sequence[Any]) -> None:
    """Wait until the device arrays among ``leaves`` exist; errors of their computation raise."""
    arrays = [leaf for leaf in leaves if type(leaf) is ArrayImpl]
    if arrays:
        surfacing(batched_block_until_ready, arrays)


def wait_for(arrays: Sequence[Any]) -> None:
    """Wait until device arrays exist, in a way that an interrupt gets through.

    Reading an array's memory waits too, but in C++ where no signal handler runs.
    """
    pending = [array for array in arrays if not array.is_deleted() and not array.is_ready()]
    if not pending:
        return
    run = wait_runner.value
    if run is None:
        surfacing(batched_block_until_ready, pending)
    else:
        run(pending)


def value_of(array: Any) -> np.ndarray[Any, Any]:
    """Return the array's data as a read-only NumPy array, waiting for it.

    On the CPU it is the array's own memory, and a new view of it each time: the view holds the
    array, so an array that kept it would never be freed (the collector does not look into arrays).
    Copies are kept.
    """
    check_alive(array)
    found = array._npy_value
    if found is None:
        if not array.is_ready():
            wait_for([array])
        if type(array._sharding) is not SingleDeviceSharding:
            found = gather_shards(array, value_of)
        elif array.aval.dtype.isbuiltin == 1 and array.platform() == "cpu":
            found = np.asarray(surfacing(memoryview, array))
            found.flags.writeable = False
            return found
        else:
            found = surfacing(_read, array)
        found.flags.writeable = False
        array._npy_value = found
    return found


def _read(array: Any) -> np.ndarray[Any, Any]:
    """Read what the buffer protocol does not know, or what lies elsewhere.

    Others are not read so: jaxlib looks for a package ``jax`` each time, in vain and slowly.
    """
    dtype = array.aval.dtype
    found, _ = array._single_device_array_to_np_array_did_copy()
    return np.zeros(found.shape, dtypes.float0) if dtype == dtypes.float0 else found


def check_alive(array: Any) -> None:
    """Check that an array still has its data.

    Raises:
      DeletedArrayError: it was donated or deleted.
    """
    if array.is_deleted():
        raise DeletedArrayError(array.aval.short())


def _scalar(array: Any, conversion: Callable[[Any], Any], name: str, *, real: bool = False) -> Any:
    if array.aval.ndim:
        raise TypeError(
            f"{name} needs an array of rank 0, got shape {array.aval.shape}: index it, or reduce it"
        )
    if real and array.aval.dtype in dtypes.COMPLEX:
        raise TypeError(
            f"{name} needs a real number, got {array.aval.short()}: use x.real, or complex(x)"
        )
    return conversion(value_of(array)[()])


def _bool(self: Any) -> bool:
    if self.aval.size != 1:
        raise ValueError(
            f"The truth value of an array of {self.aval.size} elements is ambiguous: "
            "use .any() or .all()"
        )
    return bool(value_of(self))


def _index(self: Any) -> int:
    if not dtypes.issubdtype(self.aval.dtype, np.integer) or self.aval.ndim:
        raise TypeError(f"only integer arrays of rank 0 can be an index, got {self.aval.short()}")
    return int(value_of(self))


def _array(self: Any, dtype: DType = None, copy: bool | None = None) -> Any:
    value = value_of(self)
    if dtype is not None and value.dtype != dtype:
        if copy is False:
            raise ValueError("a conversion of dtype needs a copy, and copy=False forbids one")
        return value.astype(dtype)
    return value.copy() if copy else value


def _repr(self: Any) -> str:
    if self.is_deleted():
        return f"Array({self.aval.short()}, deleted)"
    if _is_put_off(self):
        return f"Array({_aval(self).short()}, a sum over devices that is put off)"
    prefix = "Array("
    # What nothing is printed of would not show how it is shaped.
    suffix = "" if self.aval.size else f", shape={self.aval.shape}"
    suffix += f", dtype={self.aval.dtype.name}"
    suffix += ", weak_type=True)" if self.aval.weak_type else ")"
    if not self._sharding.is_fully_addressable and not self._sharding.is_fully_replicated:
        return f"Array(shape={self.aval.shape}{suffix}"
    text = np.array2string(
        value_of(self), separator=", ", prefix=prefix, suffix=",", threshold=1000, edgeitems=3
    )
    line = len(text) - text.rfind("\n") - 1
    joint = ",\n" + " " * len(prefix) if line + len(suffix) > 80 else ", "
    return f"{prefix}{text}{joint}{suffix[2:]}"


def _str(self: Any) -> str:
    """Return the value as text; the type of an array that other processes hold parts of."""
    sharding = self._sharding
    known = sharding.is_fully_addressable or sharding.is_fully_replicated
    known = known and not _is_put_off(self)
    return str(value_of(self)) if known else _repr(self)


def _is_put_off(array: Any) -> bool:
    """Whether an array is a sum over devices that is put off."""
    sharding = array._sharding
    return type(sharding) is not SingleDeviceSharding and bool(_aval(array).unreduced)


def _format(self: Any, spec: str) -> str:
    if not spec and _is_put_off(self):
        return _repr(self)
    value = value_of(self)
    return format(value[()] if self.aval.ndim == 0 else value, spec)


def _iter(self: Any) -> Iterator[Any]:
    if not self.aval.shape:
        raise TypeError("iteration over an array of rank 0")
    return (self[index] for index in range(self.aval.shape[0]))


def _len(self: Any) -> int:
    if not self.aval.shape:
        raise TypeError("len() of unsized object: a rank-0 array has no length")
    return self.aval.shape[0]


def rebuild(value: np.ndarray[Any, Any], weak_type: bool) -> Any:
    """Return a new array with the data of a NumPy array: what pickles and copies call."""
    aval = ShapedArray(value.shape, value.dtype, weak_type)
    return array_from_host(value, aval)


def _reduce(self: Any) -> tuple[Any, ...]:
    return rebuild, (np.array(value_of(self)), self.aval.weak_type)


def _copy(self: Any) -> Any:
    if not is_single(self.sharding):
        count = len(self.sharding._internal_device_list.addressable_device_list)
        shards = [piece_of(self, number) for number in range(count)]
        pieces = [
            array_from_host(np.array(value_of(piece)), piece.aval, piece.sharding._device)
            for piece in shards
        ]
        return ArrayImpl(self.aval, self.sharding, pieces, self._committed, _skip_checks=True)
    return rebuild(np.array(value_of(self)), self.aval.weak_type)


def _devices(self: Any) -> set[Any]:
    """Return the devices the array lies on."""
    return set(self.sharding._internal_device_list)


def _item(self: Any, *index: int) -> Any:
    """Return one element as a Python number."""
    return value_of(self).item(*index)


def _tolist(self: Any) -> Any:
    """Return the elements as nested Python lists."""
    return value_of(self).tolist()


def _tobytes(self: Any, order: Any = "C") -> bytes:
    """Return the bytes of the elements."""
    return value_of(self).tobytes(order)


def _copy_to_host_async(self: Any) -> None:
    """Start copying the value to the host; reading it later finds it there."""
    check_alive(self)
    if is_single(self.sharding):
        self._copy_single_device_array_to_host_async()
        return
    for shard in self.addressable_shards:
        shard.data._copy_single_device_array_to_host_async()


@cache
def _itemsize(dtype: DType) -> int:
    return dtype.itemsize


def _attach() -> None:
    """Attach the methods that need no primitive."""
    properties: dict[str, Callable[[Any], Any]] = {
        "shape": lambda self: self.aval.shape,
        "dtype": lambda self: self.aval.dtype,
        "ndim": lambda self: self.aval.ndim,
        "size": lambda self: self.aval.size,
        "weak_type": lambda self: self.aval.weak_type,
        "itemsize": lambda self: _itemsize(self.aval.dtype),
        "nbytes": lambda self: self.aval.size * _itemsize(self.aval.dtype),
        "sharding": lambda self: self._sharding,
        "format": lambda self: Format(layout_of(self._pjrt_layout), self._sharding),
        "committed": lambda self: self._committed,
    }
    methods: dict[str, Any] = {
        "__bool__": _bool,
        "__int__": lambda self: _scalar(self, int, "int()", real=True),
        "__float__": lambda self: _scalar(self, float, "float()", real=True),
        "__complex__": lambda self: _scalar(self, complex, "complex()"),
        "__index__": _index,
        "__array__": _array,
        "__len__": _len,
        "__iter__": _iter,
        "__repr__": _repr,
        "__str__": _str,
        "__format__": _format,
        "__hash__": None,
        "__reduce__": _reduce,
        "__copy__": _copy,
        "__deepcopy__": lambda self, memo: _copy(self),
        "__array_priority__": 100,
        "__dlpack__": late_function("jxkernel.runtime.dlpack", "capsule"),
        "__dlpack_device__": late_function("jxkernel.runtime.dlpack", "own_device"),
        "devices": _devices,
        "item": _item,
        "tobytes": _tobytes,
        "tolist": _tolist,
        "copy_to_host_async": _copy_to_host_async,
    }
    for name, getter in properties.items():
        getter.__name__ = name  # by which Python's error speaks of it when it is assigned to
        setattr(ArrayImpl, name, property(getter))
    for name, method in methods.items():
        attach_method(name, method, ArrayImpl)
    ArrayImpl.__doc__ = "An array on devices, asynchronous: its value may not exist yet."


_attach()
