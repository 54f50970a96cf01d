"""Moving pytrees of arrays to devices and to the host, and waiting for them."""

from functools import lru_cache
from typing import Any

import numpy as np

from jxkernel import dtypes, runtime
from jxkernel._jaxlib import ArrayImpl, Device
from jxkernel.api.jit import jit
from jxkernel.api.shardings import GivenShardings, naming_leaf
from jxkernel.core.key_data import ExtendedArray
from jxkernel.core.trace import Tracer
from jxkernel.guards import explicit_device_get, explicit_device_put
from jxkernel.primitives.elementwise.identity import copy_p
from jxkernel.primitives.sharding.constraints import puts_off_sums, with_sums_moved
from jxkernel.primitives.sharding.device_put import device_put_p
from jxkernel.runtime.clients import sharding_on
from jxkernel.sharding.named import NamedSharding, Sharding
from jxkernel.sharding.space import Space
from jxkernel.transforms.batching import BatchTracer
from jxkernel.transforms.jvp import JvpTracer
from jxkernel.tree import physical

__all__ = ["block_until_ready", "copy_to_host_async", "device_get", "device_put", "put_leaf"]


def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None
) -> Any:
    """Return a tree of arrays on a device or divided over several, committed to them if named.

    Args:
      x: a tree of arrays and numbers; its shapes and (canonical) dtypes are kept.
      device: a device, a sharding, a format, or a tree of these that is a prefix of ``x``'s (a bare
        ``PartitionSpec`` under ``set_mesh``); a ``memory.Space``, for another kind of memory where
        the arrays lie; None for the default device, without committing.
      src: where the arrays are said to be, as for ``device``; not needed.
      donate: whether arrays that are moved may be deleted, or a tree of such booleans that is a
        prefix of ``x``'s.  An array of several processes is moved by a program, which all of them
        must call.
      may_alias: False for arrays of their own data; else those that need not be moved share it.  Or
        a tree of these that is a prefix of ``x``'s.

    Raises:
      TypeError: a leaf is no array, or one of ``donate`` or ``may_alias`` is no boolean.
      ValueError: an array cannot be divided so, both ``donate`` and ``may_alias`` are asked for, or
        one of the trees is no prefix.

    The derivative is the identity; cotangents return to where ``x`` lies.  Inside a program that
    is traced a sharding is a constraint, and a single device says nothing, nor does a kind of
    memory.  Programs give their results in the memory of their devices.

    >>> import jxkernel as jx
    >>> from jxkernel.sharding import Mesh, NamedSharding, PartitionSpec as P
    >>> mesh = Mesh(jx.devices()[:1], ("x",))
    >>> jx.device_put([1.0, 2.0], NamedSharding(mesh, P()))[0].sharding.spec
    P()
    """
    if donate is not False or may_alias is not None or src is not None:
        x = _as_asked(x, src, donate, may_alias)
    if isinstance(device, Space):
        return physical.map(lambda leaf: _in_memory(leaf, device), x)
    if device is None or isinstance(device, (Device, Sharding)):
        target = sharding_on(device) if isinstance(device, Device) else device
        try:
            with explicit_device_put():
                return physical.map(lambda leaf: put_leaf(leaf, target), x)
        except (TypeError, ValueError):
            leaves, structure = physical.flatten(x)
            with naming_leaf("device_put", leaves, [target] * len(leaves), structure):
                raise
    leaves, structure = physical.flatten(x)
    given = GivenShardings.of(device, "device_put", "device")
    targets = (
        [None] * len(leaves) if given is None else given.flat_for(structure, "device_put", "device")
    )
    with explicit_device_put(), naming_leaf("device_put", leaves, targets, structure):
        placed = [put_leaf(leaf, target) for leaf, target in zip(leaves, targets, strict=True)]
    return structure.unflatten(placed)


def _as_asked(x: Any, src: Any, donate: Any, may_alias: Any) -> Any:
    """Return a tree whose arrays have data of their own where ``may_alias`` is False."""
    leaves, structure = physical.flatten(x)
    said = GivenShardings.of(src, "device_put", "src")
    if said is not None:
        said.flat_for(structure, "device_put", "src")
    given = _flags(donate, structure, "donate")
    shared = _flags(may_alias, structure, "may_alias")
    if any(one and other for one, other in zip(given, shared, strict=True)):
        raise ValueError("device_put got donate=True and may_alias=True: data is given or shared")
    own = [flag is not None and not flag for flag in shared]
    return structure.unflatten(
        _with_own_data(leaf) if alone else leaf for leaf, alone in zip(leaves, own, strict=True)
    )


def _flags(tree: Any, structure: Any, where: str) -> list[bool | None]:
    """Return a boolean, or None, for each leaf of a tree of which the given one is a prefix."""
    whole = structure.unflatten([0] * structure.num_leaves)
    try:
        flags = physical.broadcast_prefix(tree, whole, is_leaf=lambda flag: flag is None)
    except ValueError as error:
        raise ValueError(f"device_put {where}: its structure is no prefix: {error}") from None
    for flag in flags:
        if flag is not None and flag not in (False, True):
            raise TypeError(f"device_put {where} takes booleans, got {flag!r:.100}")
    return flags


def _in_memory(leaf: Any, space: Space) -> Any:
    """Return an array, divided as it is, in a kind of memory."""
    if space is Space.Any or isinstance(leaf, Tracer):
        return leaf
    if isinstance(leaf, ExtendedArray):
        return leaf.with_key_data(_in_memory(leaf.key_data, space))
    with explicit_device_put():
        array = runtime.as_device_array(leaf)
        kind = None if space is Space.Device else space.value
        return runtime.place(array, array.sharding.with_memory_kind(kind))


def _with_own_data(leaf: Any) -> Any:
    return copy_p.bind(leaf) if type(leaf) is ArrayImpl else leaf


def put_leaf(leaf: Any, target: Any) -> Any:
    """Return one array where a sharding says; in a program the sharding is a constraint."""
    if isinstance(leaf, ExtendedArray):
        return leaf.with_key_data(put_leaf(leaf.key_data, target))
    if isinstance(leaf, Tracer):
        if target is None:
            return leaf
        target.check_compatible_aval(leaf.aval.shape)
        return device_put_p.bind(leaf, sharding=target, source=_lies(leaf))
    if getattr(leaf, "dtype", None) == dtypes.float0:
        return _checked(leaf, target)
    if target is None:
        return runtime.as_device_array(leaf)
    if puts_off_sums(target) or puts_off_sums(getattr(leaf, "sharding", None)):
        return with_sums_moved(runtime.as_device_array(leaf), target)
    if type(leaf) is ArrayImpl and not leaf.is_fully_addressable:
        if runtime.has_sharding(leaf, target):
            return leaf
        if leaf.sharding.device_set == target.device_set:
            return _redivided(target)(leaf)
    return runtime.place(leaf, target)


def _checked(leaf: Any, target: Any) -> Any:
    """Return an array of ``float0`` as it is: it has no data that could lie on devices."""
    if target is not None:
        target.check_compatible_aval(leaf.shape)
    return leaf


def _lies(value: Any) -> Any:
    """Return where a value lies, or where the one lies that a tracer stands for; else None."""
    if type(value) is ArrayImpl:
        return value.sharding
    if type(value) is JvpTracer:
        return _lies(value.primal)
    if type(value) is not BatchTracer:
        return None
    found = _lies(value.value)
    if not isinstance(found, NamedSharding):
        return found
    entries = found.spec.partitions
    rest = (*entries[: value.dim], *entries[value.dim + 1 :])
    return found.update(spec=found.spec.update(partitions=rest))


@lru_cache(maxsize=256)
def _redivided(target: Any) -> Any:
    """Return the program by which processes divide an array anew that none of them holds."""
    return jit(lambda x: x, out_shardings=target)


def device_get(x: Any) -> Any:
    """Return a tree with NumPy arrays in place of device arrays, waiting for their values.

    >>> import jxkernel as jx
    >>> from jxkernel import numpy as jnp
    >>> type(jx.device_get([jnp.ones(2)])[0]).__name__
    'ndarray'
    """
    with explicit_device_get():
        arrays = [leaf for leaf in physical.leaves(x) if isinstance(leaf, ArrayImpl)]
        for array in arrays:
            array.copy_to_host_async()
        runtime.wait_for(arrays)
        return physical.map(
            lambda leaf: np.asarray(leaf) if isinstance(leaf, ArrayImpl) else leaf, x
        )


def block_until_ready(x: Any) -> Any:
    """Wait until every array of a tree exists, and return the tree.

    Raises:
      JaxRuntimeError: the computation of one failed.

    >>> import jxkernel as jx
    >>> from jxkernel import numpy as jnp
    >>> jx.block_until_ready((jnp.ones(2) * 3,))[0].tolist()
    [3.0, 3.0]
    """
    leaves = physical.leaves(x)
    runtime.wait_for([leaf for leaf in leaves if isinstance(leaf, ArrayImpl)])
    runtime.block_until_ready(leaves)
    return x


def copy_to_host_async(x: Any) -> Any:
    """Start copying every array of a tree to the host, and return the tree.

    Reading an array later finds its value there.

    >>> import numpy as np
    >>> import jxkernel as jx
    >>> from jxkernel import numpy as jnp
    >>> x = jx.copy_to_host_async([jnp.arange(3)])
    >>> np.asarray(x[0]).tolist()
    [0, 1, 2]
    """
    for leaf in physical.leaves(x):
        if isinstance(leaf, ArrayImpl):
            leaf.copy_to_host_async()
    return x
