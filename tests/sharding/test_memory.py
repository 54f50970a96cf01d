"""Arrays in other memory than that of their devices: the host's pinned memory."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.memory import Space
from jxkernel.sharding import Mesh, NamedSharding, SingleDeviceSharding
from jxkernel.sharding import PartitionSpec as P

X = np.arange(8.0, dtype=np.float32)
HOST, DEVICE = "pinned_host", "device"


def kind(array):
    return array.sharding.memory_kind or DEVICE


def shardings(devices):
    mesh = Mesh(np.array(devices[:4]), ("x",))
    return [SingleDeviceSharding(devices[0]), NamedSharding(mesh, P("x")), NamedSharding(mesh, P())]


@pytest.mark.parametrize("number", range(3))
def test_arrays_go_to_the_hosts_memory_and_back(eight_devices, number):
    sharding = shardings(eight_devices)[number]
    x = jx.device_put(X, sharding)
    for kept in (jx.device_put(x, Space.Host), jx.device_put(x, sharding.with_memory_kind(HOST))):
        assert (kind(kept), kept.sharding.device_set) == (HOST, x.sharding.device_set)
        np.testing.assert_array_equal(kept, X)
        for back in (jx.device_put(kept, Space.Device), jx.device_put(kept, sharding)):
            assert (kind(back), back.sharding.is_equivalent_to(sharding, 1)) == (DEVICE, True)
            np.testing.assert_array_equal(back, X)


def test_values_of_the_host_are_put_there_at_once(eight_devices):
    for sharding in shardings(eight_devices):
        for value in (X, np.float32(2), 3):
            if np.ndim(value) or sharding.is_fully_replicated:
                kept = jx.device_put(value, sharding.with_memory_kind(HOST))
                assert (kind(kept), kept.tolist()) == (HOST, np.asarray(value).tolist())
    assert kind(jx.device_put(X, Space.Host)) == HOST


def test_an_array_that_is_there_stays_as_it_is():
    kept = jx.device_put(X, Space.Host)
    assert jx.device_put(kept, kept.sharding) is kept
    assert jx.device_put(kept, Space.Any) is kept
    assert jx.device_put(jnp.float32(1) * 1, Space.Host).dtype == np.float32
    assert jx.device_put(jnp.asarray(1.0), Space.Host).weak_type == jnp.asarray(1.0).weak_type


def test_programs_read_it_and_give_results_on_their_devices(eight_devices):
    for sharding in shardings(eight_devices):
        kept = jx.device_put(X, sharding.with_memory_kind(HOST))
        for result in (kept + 1, jx.jit(lambda x: x + 1)(kept)):
            assert kind(result) == DEVICE
            np.testing.assert_array_equal(result, X + 1)


def test_moves_inside_programs_change_no_value():
    def f(x):
        return jnp.sum(jx.device_put(x, Space.Host) ** 2)

    np.testing.assert_allclose(jx.jit(jx.grad(f))(X), 2 * X)
    np.testing.assert_allclose(jx.grad(f)(jnp.asarray(X)), 2 * X)


def test_keys_and_trees_are_put_there():
    key, (x, y) = jx.device_put((jx.random.key(3), (X, 2)), Space.Host)
    assert jx.random.bits(key) == jx.random.bits(jx.random.key(3))
    assert {kind(each) for each in (x, y, jx.random.key_data(key))} == {HOST}


def test_a_deleted_array_is_not_moved():
    kept = jx.device_put(X, Space.Host)
    kept.delete()
    with pytest.raises(jx.errors.DeletedArrayError):
        jx.device_put(kept, Space.Device)
