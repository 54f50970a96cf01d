"""Values that one rank gives all others, over XLA, and what tells the values of ranks apart."""

from __future__ import annotations

import hashlib
import pickle
from typing import Any, TypeGuard

import numpy as np

from jxkernel.api.global_arrays import make_array_from_process_local_data
from jxkernel.api.jit import jit
from jxkernel.api.transfer import device_put
from jxkernel.records import record
from jxkernel.runtime import ArrayImpl, devices
from jxkernel.sharding import Mesh, NamedSharding, PartitionSpec
from jxkernel.tree import physical

__all__ = [
    "broadcast",
    "digest",
    "dtype_name",
    "gathered",
    "is_divided",
    "is_plain_array",
    "one_of_each",
    "packed",
    "unpacked",
]


def is_plain_array(x: Any) -> TypeGuard[np.ndarray]:
    """Whether a value is a NumPy array whose bytes are its values."""
    return isinstance(x, np.ndarray) and x.dtype.fields is None and not x.dtype.hasobject


def dtype_name(dtype: Any) -> str:
    """Return a text of which ``np.dtype`` makes the dtype again."""
    return dtype.name if dtype.kind == "V" else dtype.str


def one_of_each() -> Mesh:
    """Return a mesh of one device of each process."""
    first = {device.process_index: device for device in reversed(devices())}
    return Mesh(np.array([first[rank] for rank in sorted(first)]), ("processes",))


def _row(x: Any, source: int) -> Any:
    return x[source]


def broadcast(array: np.ndarray, source: int) -> np.ndarray:
    """Return a rank's array on all ranks.

    Args:
      array: the array; on ranks other than the source one of the same shape and dtype.
      source: the rank whose array it is.
    """
    mesh = one_of_each()
    divided = NamedSharding(mesh, PartitionSpec("processes"))
    whole = NamedSharding(mesh, PartitionSpec())
    # As bytes: a sum over ranks, which XLA may make of it, would lose the sign of a zero.
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    rows = make_array_from_process_local_data(divided, flat[None])
    sent = jit(_row, static_argnums=1, out_shardings=whole)(rows, source)
    return np.array(sent).view(array.dtype).reshape(array.shape)


def is_divided(x: Any) -> bool:
    """Whether a value is an array of which this rank holds a part only."""
    return isinstance(x, ArrayImpl) and not (x.is_fully_addressable or x.is_fully_replicated)


def _same(x: Any) -> Any:
    return x


def gathered(value: Any) -> Any:
    """Return a tree of values with its arrays on the host, divided ones whole.

    Where there are divided ones every rank must call it.
    """

    def gather(x: Any) -> Any:
        if is_divided(x):
            x = jit(_same, out_shardings=NamedSharding(x.sharding.mesh, PartitionSpec()))(x)
        return np.asarray(x) if isinstance(x, ArrayImpl) else x

    return physical.map(gather, value)


def digest(value: Any) -> str:
    """Return what tells a value from those of other ranks: type, shape and a hash.

    Of a divided array, whose parts differ, its type and how it is divided.
    """
    leaves, structure = physical.flatten(value)
    said = [_leaf(x) for x in leaves]
    return said[0] if len(said) == 1 and leaves[0] is value else f"{structure} {' '.join(said)}"


def _leaf(x: Any) -> str:
    if is_divided(x):
        return f"{x.aval.short()} divided as {x.sharding.spec}"
    if isinstance(x, ArrayImpl) or is_plain_array(x):
        host = np.asarray(x)
        shape = ",".join(map(str, host.shape))
        return f"{host.dtype.name}[{shape}] #{_hash(np.ascontiguousarray(host).tobytes())}"
    try:
        return f"{type(x).__name__} #{_hash(pickle.dumps(x))}"
    except Exception:  # pickling raises what the value's class likes
        return type(x).__name__


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


@record()
class _Sent:
    """The place of an array in a packed value: its number, and whether it was on a device."""

    number: int
    on_device: bool


def packed(value: Any) -> tuple[bytes, list[np.ndarray]]:
    """Return a tree of values as what pickles, and its arrays apart.

    Raises:
      PicklingError: a value that is no array cannot be pickled, or another error of its class.
    """
    arrays: list[np.ndarray] = []

    def take(x: Any) -> Any:
        if not (isinstance(x, ArrayImpl) or is_plain_array(x)):
            return x
        arrays.append(np.asarray(x))
        return _Sent(len(arrays) - 1, isinstance(x, ArrayImpl))

    return pickle.dumps(physical.map(take, value)), arrays


def unpacked(skeleton: bytes, arrays: list[np.ndarray]) -> Any:
    """Return the tree of values that ``packed`` was given."""

    def put(x: Any) -> Any:
        if not isinstance(x, _Sent):
            return x
        return device_put(arrays[x.number]) if x.on_device else arrays[x.number]

    return physical.map(put, pickle.loads(skeleton))
