"""What packages register with the runtime: caches, makers of clients, arrangements of devices."""

from functools import lru_cache

import numpy as np
import pytest
from jaxlib import xla_client

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.experimental import mesh_utils, topologies
from jxkernel.extend import backend, xla
from jxkernel.runtime import caches, clients


@pytest.fixture
def as_before(monkeypatch):
    """Leave no platform behind."""
    monkeypatch.setattr(clients, "_factories", {})
    monkeypatch.setattr(clients, "_clients", {**clients._clients})
    monkeypatch.setattr(clients, "_asked", {**clients._asked})
    monkeypatch.setattr(caches, "_caches", [])
    clients._found_platform.cache_clear()
    yield
    clients._found_platform.cache_clear()


def two_cpus():
    return xla_client.make_cpu_client(num_devices=2)


def test_registered_caches_are_emptied_with_the_others(as_before):
    @lru_cache
    def square(n):
        return n * n

    backend.register_backend_cache(square, "squares")
    for clear in (jx.clear_caches, backend.clear_backends):
        square(3)
        clear()
        assert square.cache_info().currsize == 0
    del square  # held by nobody now
    backend.register_backend_cache(lru_cache(abs), "gone at once")
    jx.clear_caches()
    with pytest.raises(TypeError, match=r"'squares'.*cache_clear\(\)"):
        backend.register_backend_cache(lambda: 1, "squares")


def test_a_platform_is_made_by_its_factory(as_before):
    made = []
    backend.register_backend_factory("mine", lambda: made.append(1) or two_cpus())
    assert made == []
    assert jx.default_backend() == "cpu"
    assert made == []  # the CPU comes first among equals
    devices = jx.devices("mine")
    assert len(devices) == 2
    assert made == [1]
    x = jx.device_put(jnp.arange(3.0), devices[1])
    assert jnp.sin(x).devices() == {devices[1]}
    assert jx.jit(lambda x: x + 1)(x).tolist() == [1, 2, 3]
    xla.register_hlo_module_transformation(lambda module: None, name="look")
    assert xla.clear_hlo_module_transformation("look")
    with pytest.raises(RuntimeError, match="'mine' runs already"):
        backend.register_backend_factory("mine", two_cpus)


def test_the_greatest_priority_is_the_default(as_before):
    def fails():
        raise OSError("no such card")

    backend.register_backend_factory("less", two_cpus, priority=1)
    backend.register_backend_factory("broken", fails, priority=9)
    assert clients.default_platform() == "less"
    backend.register_backend_factory("loud", fails, priority=9, fail_quietly=False)
    with pytest.raises(OSError, match="no such card"):
        clients.default_platform()
    with pytest.raises(RuntimeError, match="can use cpu, less, broken, loud"):
        jx.devices("nowhere")


def test_a_platform_describes_devices_that_are_not_here(as_before, eight_devices):
    asked = []

    def describe(name, **options):
        asked.append((name, options))
        return xla_client.get_topology_for_devices(list(eight_devices[:2]))

    backend.register_backend_factory("mine", two_cpus, make_topology=describe)
    there = topologies.get_topology_desc("1x2", "mine", kind=3)
    assert asked == [("1x2", {"kind": 3})]
    mesh = topologies.make_mesh(there, (8,), ("x",))
    lies = jx.NamedSharding(mesh, jx.P("x"))
    lowered = jx.jit(jnp.sin, in_shardings=lies).lower(jx.ShapeDtypeStruct((8,), np.float32))
    assert '"x"=8' in lowered.as_text()
    with pytest.raises(NotImplementedError, match="topology not implemented for cpu"):
        topologies.get_topology_desc("1x2", "cpu")
    with pytest.raises(RuntimeError, match="Unknown backend 'tpu'"):
        topologies.get_topology_desc("v5e:2x2")


def test_devices_of_a_kind_are_arranged_by_its_handler(monkeypatch, eight_devices):
    asked = []

    def backwards(mesh_shape, devices, *, contiguous_submeshes):
        asked.append(contiguous_submeshes)
        return np.array(devices[::-1]).reshape(mesh_shape) if len(devices) > 2 else None

    kind = eight_devices[0].device_kind
    monkeypatch.setitem(mesh_utils.device_kind_handler_dict, kind, backwards)
    four = list(eight_devices[:4])
    found = mesh_utils.create_device_mesh((2, 2), four, contiguous_submeshes=True)
    assert found.tolist() == [four[:1:-1], four[1::-1]]
    assert jx.make_mesh((4,), ("x",)).devices.tolist() == four[::-1]
    assert jx.make_mesh((2,), ("x",)).devices.tolist() == four[:2]
    assert asked == [True, False, False]
