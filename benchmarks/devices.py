"""Programs and arrays over eight virtual CPU devices."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.library import Library
from benchmarks.metric import Metric, Work

__all__ = ["METRICS"]

COUNT = 8


def _use_eight(library: Library) -> None:
    """Give the process eight CPU devices; real jax takes the number before it makes any."""
    if library.api.config.jax_num_cpu_devices != COUNT:
        library.api.config.update("jax_num_cpu_devices", COUNT)


def _sharding(library: Library, *entries: Any) -> Any:
    _use_eight(library)
    mesh = library.sharding.Mesh(np.array(library.api.devices()[:COUNT]), ("x",))
    return library.sharding.NamedSharding(mesh, library.sharding.PartitionSpec(*entries))


def _ones(rows: int, columns: int) -> Any:
    return np.ones((rows, columns), np.float32)


def _pmap(body: Callable[[Any, Any], Any], *, from_numpy: bool = False) -> Any:
    def setup(library: Library) -> Work:
        _use_eight(library)
        lax = library.lax
        function = library.api.pmap(lambda x: body(lax, x), axis_name="i")
        given = _ones(COUNT, 16)
        x = given if from_numpy else function(given)
        return Work(lambda: function(x))

    return setup


def _doubled(lax: Any, x: Any) -> Any:
    return lax.mul(x, 2.0)


def _summed(lax: Any, x: Any) -> Any:
    return lax.psum(x, "i")


def _jit(count: int) -> Any:
    def setup(library: Library) -> Work:
        rows = _sharding(library, "x")
        xs = [library.api.device_put(_ones(COUNT, 16), rows) for _ in range(count)]
        function = library.api.jit(lambda *xs: [library.lax.mul(x, 2.0) for x in xs])
        return Work(lambda: function(*xs))

    return setup


def _jit_given(library: Library) -> Work:
    rows = _sharding(library, "x")
    x = library.api.device_put(_ones(COUNT, 16), rows)
    function = library.api.jit(
        lambda x: library.lax.mul(x, 2.0), in_shardings=rows, out_shardings=rows
    )
    return Work(lambda: function(x))


def _shard_map(library: Library) -> Work:
    rows = _sharding(library, "x")
    spec = library.sharding.PartitionSpec("x")
    x = library.api.device_put(_ones(COUNT, 16), rows)
    function = library.api.jit(
        library.api.shard_map(
            lambda x: library.lax.mul(x, 2.0), mesh=rows.mesh, in_specs=spec, out_specs=spec
        )
    )
    return Work(lambda: function(x))


def _put(size: int, *entries: Any) -> Any:
    def setup(library: Library) -> Work:
        sharding = _sharding(library, *entries)
        x = _ones(size, size)
        return Work(lambda: library.api.device_put(x, sharding))

    return setup


def _moved(size: int) -> Any:
    def setup(library: Library) -> Work:
        rows, columns = _sharding(library, "x"), _sharding(library, None, "x")
        x = library.api.device_put(_ones(size, size), rows)
        return Work(lambda: library.api.device_put(x, columns))

    return setup


def _gathered(size: int, *entries: Any) -> Any:
    def setup(library: Library) -> Work:
        sharding = _sharding(library, *entries)
        x = library.api.device_put(_ones(size, size), sharding)
        # An array keeps the value it was asked for, so each run asks a new one.
        fresh = library.api.jit(lambda x: library.lax.mul(x, 2.0))
        return Work(np.asarray, lambda: library.api.block_until_ready(fresh(x)))

    return setup


METRICS = (
    Metric("`pmap` call", 1.1, _pmap(_doubled)),
    Metric("`pmap` call, a NumPy argument", 1.1, _pmap(_doubled, from_numpy=True)),
    Metric("`pmap` call, a sum over the devices", 1.1, _pmap(_summed)),
    Metric("sharded `jit` call, 1 argument", 1.1, _jit(1)),
    Metric("sharded `jit` call, 10 arguments", 1.1, _jit(10)),
    Metric("`jit` call with given shardings", 1.1, _jit_given),
    Metric("`shard_map` call, jitted", 1.1, _shard_map),
    Metric("sharded `device_put`, 64 x 64 from NumPy", 1.1, _put(64, "x")),
    Metric("sharded `device_put`, 1,024 x 1,024 from NumPy", 1.1, _put(1024, "x")),
    Metric("`device_put` to every device, 64 x 64", 1.1, _put(64)),
    Metric("`device_put` from rows to columns, 64 x 64", 1.1, _moved(64)),
    Metric("`device_put` from rows to columns, 1,024 x 1,024", 1.1, _moved(1024)),
    Metric("gather to NumPy, 64 x 64", 1.1, _gathered(64, "x")),
    Metric("gather to NumPy, 1,024 x 1,024", 1.1, _gathered(1024, "x")),
)
