"""Names that tutorials of earlier years use: they work, and say once what to write today."""

import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from jxkernel import tree
from jxkernel.api.jit import jit
from jxkernel.api.shard_map import shard_map as over_a_mesh
from jxkernel.api.transfer import device_put
from jxkernel.numpy.creation import asarray
from jxkernel.runtime import Array
from jxkernel.sharding import Mesh, NamedSharding, PartitionSpec, get_mesh
from jxkernel.source import users_level

__all__: list[str] = []


class _Index:
    """What ``ops.index[...]`` gave: the index between the brackets."""

    def __getitem__(self, index: Any) -> Any:
        return index


def _updating(method: str) -> Callable[[Any, Any, Any], Any]:
    def update(x: Any, idx: Any, y: Any, **how: Any) -> Any:
        return getattr(asarray(x).at[idx], method)(y, **how)

    return update


class _Computation:
    """What ``xla_computation(f)(x)`` gave: a program that prints itself.

    Attributes:
      lowered: the program as ``jit(f).lower(x)`` gives it.
    """

    def __init__(self, lowered: Any) -> None:
        self.lowered = lowered

    def as_hlo_text(self) -> str:
        """Return the program as HLO text, before XLA's optimizations."""
        return self.lowered.as_text("hlo")


def _xla_computation(
    fun: Callable[..., Any], static_argnums: int | Sequence[int] = (), **unused: Any
) -> Callable[..., _Computation]:
    @wraps(fun)
    def computation(*args: Any, **kwargs: Any) -> _Computation:
        return _Computation(jit(fun, static_argnums=static_argnums).lower(*args, **kwargs))

    return computation


def _over_devices(devices: Sequence[Any]) -> NamedSharding:
    """Return the sharding of an array with a leading axis that has a place per device."""
    return NamedSharding(Mesh(list(devices), ("_device_put",)), PartitionSpec("_device_put"))


def _device_put_sharded(shards: Sequence[Any], devices: Sequence[Any]) -> Any:
    """Return arrays whose leading axis holds what is given for each device, on that device."""
    if len(shards) != len(devices):
        raise ValueError(
            f"device_put_sharded needs one shard per device, got {len(shards)} for {len(devices)}"
        )
    stacked = tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *shards)
    return device_put(stacked, _over_devices(devices))


def _device_put_replicated(x: Any, devices: Sequence[Any]) -> Any:
    """Return arrays with a leading axis that repeats what is given, a copy on each device."""
    return _device_put_sharded([x] * len(devices), devices)


def _shard_map(
    f: Callable[..., Any],
    mesh: Any,
    in_specs: Any,
    out_specs: Any,
    check_rep: bool = True,
    auto: frozenset[Any] = frozenset(),
) -> Any:
    """Map as ``shard_map`` does, over all axes but those in ``auto``."""
    names = frozenset(mesh.axis_names) - auto
    return over_a_mesh(
        f,
        mesh=mesh,
        in_specs=in_specs,
        out_specs=out_specs,
        axis_names=names,
        check_vma=check_rep,
    )


class _ThreadResources:
    """What ``pxla.thread_resources`` was: ``env.physical_mesh`` is the current mesh."""

    @property
    def env(self) -> "_ThreadResources":
        """What the current thread computes with."""
        return self

    @property
    def physical_mesh(self) -> Mesh:
        """The mesh of ``with mesh:`` or ``set_mesh``; one without axes for none."""
        return get_mesh()


_TREE = {
    "tree_all": tree.all,
    "tree_flatten": tree.flatten,
    "tree_leaves": tree.leaves,
    "tree_map": tree.map,
    "tree_multimap": tree.map,
    "tree_reduce": tree.reduce,
    "tree_structure": tree.structure,
    "tree_transpose": tree.transpose,
    "tree_unflatten": tree.unflatten,
}
_NAMES: dict[str, tuple[Any, str]] = {
    **{
        name: (now, f"jax.tree.{now.__name__.removeprefix('tree_')}") for name, now in _TREE.items()
    },
    "device_put_replicated": (
        _device_put_replicated,
        "jax.device_put(x, NamedSharding(mesh, P())), which needs no leading axis",
    ),
    "device_put_sharded": (
        _device_put_sharded,
        "jax.device_put(stacked, NamedSharding(mesh, P('x')))",
    ),
    "shard_map": (_shard_map, "jax.shard_map(f, mesh=, in_specs=, out_specs=, check_vma=)"),
    "DeviceArray": (Array, "jax.Array"),
    "ShardedDeviceArray": (Array, "jax.Array"),
    "thread_resources": (_ThreadResources(), "jax.sharding.get_mesh()"),
    "xla_computation": (_xla_computation, "jax.jit(f).lower(x).as_text('hlo')"),
    "pjit": (jit, "jax.jit(f, in_shardings=, out_shardings=)"),
    "index": (_Index(), "x.at[...]"),
    "index_add": (_updating("add"), "x.at[idx].add(y)"),
    "index_max": (_updating("max"), "x.at[idx].max(y)"),
    "index_min": (_updating("min"), "x.at[idx].min(y)"),
    "index_mul": (_updating("multiply"), "x.at[idx].multiply(y)"),
    "index_update": (_updating("set"), "x.at[idx].set(y)"),
}


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found, today = _NAMES[name]
    warnings.warn(
        f"{name} is an older name: write {today}.",
        DeprecationWarning,
        stacklevel=users_level(),
    )
    return found
