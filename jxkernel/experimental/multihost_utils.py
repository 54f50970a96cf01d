"""Values that the processes of one program tell each other.

With one process each function gives what it would give with several: there is nobody to wait for.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from jxkernel import tree
from jxkernel.api.global_arrays import make_array_from_process_local_data
from jxkernel.api.jit import jit
from jxkernel.cluster.exchange import one_of_each
from jxkernel.runtime import ArrayImpl, joined, process_count, process_index
from jxkernel.sharding import NamedSharding, PartitionSpec

__all__ = [
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "live_devices",
    "process_allgather",
    "reached_preemption_sync_point",
    "sync_global_devices",
]


def _same(x: Any) -> Any:
    return x


def _rows(local: Any) -> Any:
    """Return what each process has, one row for each, as a NumPy array."""
    if process_count() == 1:
        return local[None]
    mesh = one_of_each()
    divided = NamedSharding(mesh, PartitionSpec("processes"))
    whole = NamedSharding(mesh, PartitionSpec())
    rows = make_array_from_process_local_data(divided, local[None])
    return np.asarray(jit(_same, out_shardings=whole)(rows))


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """Return what every process has, on every process, as NumPy arrays.

    Args:
      in_tree: a tree of arrays of the same shapes in all processes, or of arrays over devices of
        all of them, which are read whole.
      tiled: whether to join the arrays along their first axis; else they get a new one.

    >>> from jxkernel.experimental import multihost_utils
    >>> multihost_utils.process_allgather({"x": 3.0})
    {'x': array([3.])}
    """

    def gather(x: Any) -> Any:
        if isinstance(x, ArrayImpl) and not x.is_fully_addressable:
            whole = NamedSharding(x.sharding.mesh, PartitionSpec())
            return np.asarray(jit(_same, out_shardings=whole)(x))
        rows = _rows(np.asarray(x))
        if not tiled:
            return rows
        return np.concatenate(rows) if rows.ndim > 1 else np.asarray(rows[0])

    return tree.map(gather, in_tree)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """Return what one process has, on every process, as NumPy arrays.

    Args:
      in_tree: a tree of arrays, of the same shapes in all processes.
      is_source: whether this process is the one; process 0 is where not given.
    """
    source = process_index() == 0 if is_source is None else is_source
    if process_count() == 1:
        return tree.map(np.asarray, in_tree)
    marks = _rows(np.asarray(source))

    def pick(x: Any) -> Any:
        return _rows(np.asarray(x))[int(np.argmax(marks))]

    return tree.map(pick, in_tree)


def sync_global_devices(name: str) -> None:
    """Wait until every process has come here.

    Args:
      name: the place, the same in all processes.

    Raises:
      AssertionError: the processes are at different places.
    """
    own = np.frombuffer(name.encode()[:64].ljust(64), np.uint8)
    first = broadcast_one_to_all(own)
    if not np.array_equal(own, first):
        there = first.tobytes().decode(errors="replace").rstrip()
        raise AssertionError(f"Process {process_index()} is at {name!r}, process 0 at {there!r}.")


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Check that all processes have the same arrays.

    Args:
      in_tree: a tree of arrays, of the same shapes in all processes.
      fail_message: what the error says.

    Raises:
      AssertionError: they differ.
    """
    expected = broadcast_one_to_all(in_tree)
    same = tree.map(lambda x, y: np.array_equal(np.asarray(x), np.asarray(y)), in_tree, expected)
    if not tree.all(same):
        what = f"{fail_message.rstrip('. ')}. " if fail_message else ""
        raise AssertionError(
            f"{what}Process {process_index()} has {in_tree!r:.200}, process 0 has {expected!r:.200}"
        )


def _with_specs(convert: Any, arrays: Any, pspecs: Any) -> Any:
    specs = tree.broadcast(pspecs, arrays, is_leaf=lambda x: x is None or _is_spec(x))
    leaves, structure = tree.flatten(arrays)
    flat = tree.leaves(specs, is_leaf=lambda x: x is None or _is_spec(x))
    pairs = zip(leaves, flat, strict=True)
    return structure.unflatten([convert(x, spec or PartitionSpec()) for x, spec in pairs])


def _is_spec(x: Any) -> bool:
    return isinstance(x, PartitionSpec)


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Return arrays over a mesh of what this process's devices are to hold of them.

    Args:
      local_inputs: a tree of arrays.
      global_mesh: the mesh.
      pspecs: how each array is divided over it, a tree that is a prefix of the arrays'.
    """

    def convert(x: Any, spec: Any) -> Any:
        local = np.asarray(x)
        return make_array_from_process_local_data(NamedSharding(global_mesh, spec), local)

    return _with_specs(convert, local_inputs, pspecs)


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Return what this process's devices hold of arrays over a mesh, as arrays of its own.

    Args:
      global_inputs: a tree of arrays.
      global_mesh: the mesh.
      pspecs: how each array is divided over it, a tree that is a prefix of the arrays'.
    """

    def convert(x: Any, spec: Any) -> Any:
        mesh = global_mesh.local_mesh
        return make_array_from_process_local_data(NamedSharding(mesh, spec), _local_part(x))

    return _with_specs(convert, global_inputs, pspecs)


def _local_part(x: Any) -> Any:
    """Return the part of an array that lies on this process's devices."""
    if not isinstance(x, ArrayImpl) or x.is_fully_addressable:
        return np.asarray(x)
    shards = x.addressable_shards
    starts = [min(s.index[axis].start or 0 for s in shards) for axis in range(x.ndim)]
    ends = [
        max(n if s.index[axis].stop is None else s.index[axis].stop for s in shards)
        for axis, n in enumerate(x.shape)
    ]
    part = np.empty([end - start for start, end in zip(starts, ends, strict=True)], x.dtype)
    for shard in shards:
        place = tuple(
            slice((one.start or 0) - start, (n if one.stop is None else one.stop) - start)
            for one, start, n in zip(shard.index, starts, x.shape, strict=True)
        )
        part[place] = shard.data
    return part


def reached_preemption_sync_point(step_id: int) -> bool:
    """Return False: no process is told here that it is about to be stopped.

    Args:
      step_id: the number of the step.
    """
    return False


@contextmanager
def live_devices(devices: Any) -> Generator[Any]:
    """Give a block the devices of those that are left of the processes.

    Args:
      devices: devices.

    Raises:
      RuntimeError: this process works alone.
    """
    group = joined()
    if group is None:
        raise RuntimeError("live_devices is for processes joined by distributed.initialize")
    alive = set(group.client.get_live_nodes(sorted({d.process_index for d in devices})))
    yield [device for device in devices if device.process_index in alive]
