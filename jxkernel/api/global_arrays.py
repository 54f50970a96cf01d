"""Meshes of the devices at hand, and arrays made of pieces on many devices."""

from collections.abc import Callable, Hashable, Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np

from jxkernel import runtime
from jxkernel.api.shardings import GivenShardings
from jxkernel.api.traced import check_callable
from jxkernel.core.key_data import ExtendedArray
from jxkernel.dtypes.kinds import dtype_argument
from jxkernel.primitives.arguments import integers, operand_aval, sequence
from jxkernel.sharding import AxisType, Mesh, Sharding
from jxkernel.tree import physical

__all__ = [
    "create_device_mesh",
    "create_hybrid_device_mesh",
    "device_kind_handler_dict",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "make_mesh",
]


device_kind_handler_dict: dict[Any, Callable[..., Any]] = {}
"""By ``device_kind``: a function that arranges devices of that kind for a mesh.

It is called as ``(mesh_shape, devices, contiguous_submeshes=...)`` and returns the devices in an
array of that shape, or None to leave them in their order.
"""


def make_mesh(
    axis_sizes: Sequence[int],
    axis_names: str | Sequence[Hashable],
    axis_types: Any = None,
    *,
    devices: Sequence[Any] | None = None,
) -> Mesh:
    """Return a mesh of the first devices at hand, in their order.

    For devices of a kind in ``mesh_utils.device_kind_handler_dict`` the function there arranges
    them.

    Args:
      axis_sizes: the sizes of the axes.
      axis_names: their names.
      axis_types: who decides about each; ``AxisType.Explicit``, which types show.
      devices: the devices to take; those of the default platform, all processes' included.

    Raises:
      TypeError: a size is no whole number.
      ValueError: there are fewer devices than the mesh has places, or a size is not positive.

    >>> import jxkernel as jx
    >>> jx.make_mesh((1, 1), ("data", "model"))
    Mesh('data': 1, 'model': 1, axis_types=(Explicit, Explicit))
    """
    available = list(runtime.devices() if devices is None else devices)
    sizes = tuple([index(size) for size in axis_sizes])
    if any(size < 1 for size in sizes):
        raise ValueError(f"make_mesh needs sizes of at least 1, got {sizes} for axes {axis_names}")
    count = prod(sizes)
    if count > len(available):
        raise ValueError(
            f"Number of devices {len(available)} must be >= the product of mesh_shape "
            f"{sizes}: on the CPU, ask for more with "
            f"jxkernel.config.update('jax_num_cpu_devices', {count})"
        )
    arranged = _arranged(sizes, available[:count])
    kinds = AxisType.Explicit if axis_types is None else axis_types
    return Mesh(arranged, axis_names, kinds)


def _arranged(sizes: tuple[int, ...], devices: list[Any], contiguous: bool = False) -> Any:
    """Return devices arranged in an array of some sizes, as many as it has places."""
    kind = getattr(devices[-1], "device_kind", None) if devices else None
    handler = device_kind_handler_dict.get(kind)
    if handler is not None:
        arranged = handler(sizes, devices, contiguous_submeshes=contiguous)
        if arranged is not None:
            return arranged
    whole = np.empty(len(devices), dtype=object)
    whole[:] = devices
    return whole.reshape(sizes)


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> Any:
    """Return devices arranged in an array, to make a ``Mesh`` of.

    Args:
      mesh_shape: the sizes of the axes; their product is the number of devices.
      devices: the devices; all of the default platform.
      contiguous_submeshes: given to what ``device_kind_handler_dict`` has for such devices;
        without, they stand in their order.
      allow_split_physical_axes: accepted; nothing is split.

    Raises:
      ValueError: there are more or fewer devices than the shape has places.

    >>> from jxkernel.experimental import mesh_utils
    >>> mesh_utils.create_device_mesh((1,), jx.devices()[:1]).shape
    (1,)
    """
    given = list(runtime.devices() if devices is None else devices)
    if prod(mesh_shape) != len(given):
        raise ValueError(
            f"create_device_mesh: a mesh of shape {tuple(mesh_shape)} takes {prod(mesh_shape)} "
            f"devices, got {len(given)}"
        )
    return _arranged(tuple(mesh_shape), given, contiguous_submeshes)


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    process_is_granule: bool = True,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> Any:
    """Return devices arranged in an array whose axes vary fastest within one process.

    Args:
      mesh_shape: the sizes of the axes within a process.
      dcn_mesh_shape: the sizes of the same axes over processes; each axis of the result is the
        product of the two.
      devices: the devices; all of the default platform.
      process_is_granule: accepted; processes are what is joined by a slower network.
      should_sort_granules_by_key: whether processes stand in the order of their numbers.
      allow_split_physical_axes: accepted; devices stand in their order.

    Raises:
      ValueError: ranks differ, or there are other numbers of processes or of their devices.

    >>> from jxkernel.experimental import mesh_utils
    >>> mesh_utils.create_hybrid_device_mesh((1, 1), (1, 1), jx.devices()[:1]).shape
    (1, 1)
    """
    if len(mesh_shape) != len(dcn_mesh_shape):
        raise ValueError(
            f"create_hybrid_device_mesh: mesh_shape {tuple(mesh_shape)} and dcn_mesh_shape "
            f"{tuple(dcn_mesh_shape)} must have one rank"
        )
    groups: dict[int, list[Any]] = {}
    for device in runtime.devices() if devices is None else devices:
        groups.setdefault(device.process_index, []).append(device)
    numbers = sorted(groups) if should_sort_granules_by_key else list(groups)
    if len(numbers) != prod(dcn_mesh_shape):
        raise ValueError(
            f"create_hybrid_device_mesh: dcn_mesh_shape {tuple(dcn_mesh_shape)} takes "
            f"{prod(dcn_mesh_shape)} processes, got devices of {len(numbers)}"
        )
    inner = np.stack([create_device_mesh(mesh_shape, groups[number]) for number in numbers])
    whole = inner.reshape((*dcn_mesh_shape, *mesh_shape))
    rank = len(mesh_shape)
    order = [axis for pair in zip(range(rank), range(rank, 2 * rank), strict=True) for axis in pair]
    sizes = [a * b for a, b in zip(dcn_mesh_shape, mesh_shape, strict=True)]
    return whole.transpose(order).reshape(sizes)


def _check_sharding(who: str, sharding: Any) -> None:
    if not isinstance(sharding, Sharding):
        raise TypeError(f"{who} needs a sharding, got {sharding!r:.100}")


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Any, arrays: Sequence[Any], *, dtype: Any = None
) -> Any:
    """Return the array whose pieces on this process's devices are given; nothing is copied.

    Args:
      shape: the shape of the whole.
      sharding: how it is divided.
      arrays: an array on each device of this process that the sharding names; keys are taken.
      dtype: the dtype, needed only where this process has no piece.

    Raises:
      ValueError: a piece is missing, lies elsewhere, or has another shape or dtype.

    >>> import jxkernel as jx
    >>> from jxkernel import numpy as jnp
    >>> from jxkernel.sharding import SingleDeviceSharding
    >>> device = jx.devices()[0]
    >>> pieces = [jx.device_put(jnp.arange(3), device)]
    >>> jx.make_array_from_single_device_arrays((3,), SingleDeviceSharding(device), pieces).tolist()
    [0, 1, 2]
    """
    name = "make_array_from_single_device_arrays"
    _check_sharding(name, sharding)
    shape = integers(name, "shape", shape)
    arrays = sequence(name, "arrays", arrays, "arrays, one for each device")
    if arrays and all(isinstance(array, ExtendedArray) for array in arrays):
        # The pieces of their key data lie as they do, and none divides a key.
        key_data = [array.key_data for array in arrays]
        sizes = (*shape, np.shape(key_data[0])[-1])
        return arrays[0].with_key_data(runtime.array_from_pieces(sizes, sharding, key_data))
    return runtime.array_from_pieces(shape, sharding, arrays, dtype)


def make_array_from_callback(
    shape: Sequence[int], sharding: Any, data_callback: Callable[[Any], Any], dtype: Any = None
) -> Any:
    """Return an array whose pieces a function gives, called once for each distinct part.

    Args:
      shape: the shape of the whole.
      sharding: how it is divided.
      data_callback: called with the index of a part (a slice per axis); returns the part; keys
        are taken.
      dtype: the dtype; None for that of the parts.

    Raises:
      TypeError: one of them is no shape, sharding, function or dtype.
      ValueError: a part has another shape than its index says, or not all are keys of one kind.

    >>> import jxkernel as jx, numpy as np
    >>> from jxkernel.sharding import NamedSharding, PartitionSpec as P
    >>> rows = NamedSharding(jx.make_mesh((1,), ("x",)), P("x"))
    >>> jx.make_array_from_callback((3,), rows, lambda index: np.arange(3)[index])
    Array([0, 1, 2], dtype=int32)
    """
    name = "make_array_from_callback"
    _check_sharding(name, sharding)
    check_callable(name, "data_callback", data_callback)
    sizes = integers(name, "shape", shape)
    asked = None if dtype is None else dtype_argument(name, "dtype", dtype)
    return runtime.array_from_callback(sizes, sharding, data_callback, asked)


def make_array_from_process_local_data(
    sharding: Any, local_data: Any, global_shape: Any = None
) -> Any:
    """Return a tree of arrays, of each of which this process has its part in one NumPy array.

    Args:
      sharding: how the wholes are divided: a tree of shardings that is a prefix of the data's (a
        bare ``PartitionSpec`` under ``set_mesh``).
      local_data: a tree of the parts that this process's devices hold together (or the wholes);
        keys are taken.
      global_shape: the shapes of the wholes, one or a prefix of the data's tree; None to derive
        them from the sharding.

    Raises:
      TypeError: a leaf is no array, or no sharding.
      ValueError: the local data does not fit.

    >>> import numpy as np
    >>> import jxkernel as jx
    >>> from jxkernel.sharding import SingleDeviceSharding
    >>> where = SingleDeviceSharding(jx.devices()[0])
    >>> jx.make_array_from_process_local_data(where, np.array([4, 5])).tolist()
    [4, 5]
    """
    name = "make_array_from_process_local_data"
    leaves, structure = physical.flatten(
        local_data, is_leaf=lambda leaf: isinstance(leaf, ExtendedArray)
    )
    given = GivenShardings.of(sharding, name, "sharding")
    if given is None:
        raise TypeError(f"{name} needs a sharding, got {sharding!r:.100}")
    shardings = given.flat_for(structure, name, "sharding")
    shapes = [global_shape] * len(leaves)
    if not _is_shape(global_shape):
        full = physical.broadcast_prefix(global_shape, local_data, is_leaf=_is_shape)
        shapes = physical.leaves(full, is_leaf=_is_shape)
    return structure.unflatten(
        [_from_local(name, *each) for each in zip(shardings, leaves, shapes, strict=True)]
    )


def _is_shape(value: Any) -> bool:
    """Whether a value is one shape, or None for one that is derived, and no tree of them."""
    nested = isinstance(value, (tuple, list)) and not all(map(np.isscalar, value))
    return not nested and not isinstance(value, dict)


def _from_local(name: str, sharding: Any, local: Any, shape: Any) -> Any:
    _check_sharding(name, sharding)
    operand_aval(name, local)
    sizes = None if shape is None else integers(name, "global_shape", shape)
    if not isinstance(local, ExtendedArray):
        return runtime.array_from_process_data(sharding, local, sizes)
    key_data = local.key_data
    sizes = None if sizes is None else (*sizes, np.shape(key_data)[-1])
    return local.with_key_data(runtime.array_from_process_data(sharding, key_data, sizes))
