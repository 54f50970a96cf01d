"""Arrays on several devices: placing, looking at pieces, putting together, and bad input."""

import copy

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.sharding import Mesh, SingleDeviceSharding
from jxkernel.sharding import PartitionSpec as P
from tests.many_devices import over

DATA = np.arange(32.0, dtype=np.float32).reshape(8, 4)


def places(mesh):
    """Return shardings of all kinds for arrays of the shape of DATA."""
    return [
        SingleDeviceSharding(mesh.devices[1, 1]),
        over(mesh),
        over(mesh, "x"),
        over(mesh, None, "y"),
        over(mesh, "y", "x"),
        over(mesh, ("y", "x")),
        over(Mesh(mesh.devices.ravel()[::-1], "z"), "z"),
        over(Mesh(mesh.devices[:2, 0], "a"), None, "a"),
    ]


def test_array_goes_from_anywhere_to_anywhere(mesh):
    for source in [None, *places(mesh)]:
        start = DATA if source is None else jx.device_put(DATA, source)
        for target in places(mesh):
            moved = jx.device_put(start, target)
            assert moved.sharding == target
            assert moved.committed
            np.testing.assert_array_equal(moved, DATA)
            for shard in moved.addressable_shards:
                assert shard.data.devices() == {shard.device}
                np.testing.assert_array_equal(shard.data, DATA[shard.index])


def test_array_tells_its_pieces(mesh):
    array = jx.device_put(DATA, over(mesh, "x"))
    shards = array.addressable_shards
    assert [shard.device for shard in shards] == list(mesh.device_tuple)
    assert [shard.replica_id for shard in shards] == [0, 1] * 4
    assert shards[3].index == (slice(2, 4), slice(None))
    assert repr(shards[0]).startswith("Shard(device=CpuDevice(id=0), index=(slice(0, 2, None)")
    assert [shard.index for shard in array.global_shards] == [shard.index for shard in shards]
    np.testing.assert_array_equal(array.addressable_data(2), DATA[2:4])
    assert array.devices() == set(mesh.device_tuple)
    assert array.device == array.sharding
    assert array.is_fully_addressable
    assert not array.is_fully_replicated
    assert jx.device_put(DATA, over(mesh)).is_fully_replicated


def test_whole_arrays_have_one_shard():
    array = jnp.arange(3)
    (shard,) = array.addressable_shards
    assert (shard.index, shard.replica_id) == ((slice(None),), 0)
    np.testing.assert_array_equal(shard.data, [0, 1, 2])


def test_sharded_arrays_print_copy_and_pickle_like_others(mesh):
    array = jx.device_put(np.arange(4), over(mesh, "x"))
    assert repr(array) == "Array([0, 1, 2, 3], dtype=int32)"
    twin = copy.deepcopy(array)
    assert twin.sharding == array.sharding
    array.delete()
    np.testing.assert_array_equal(twin, range(4))
    assert twin.tolist() == [0, 1, 2, 3]
    twin.copy_to_host_async()
    assert twin.block_until_ready() is twin


@pytest.mark.parametrize("dtype", ["bool", "int8", "bfloat16", "complex64"])
def test_dtypes_survive_the_way_through_pieces(mesh, dtype):
    array = jnp.arange(8).astype(dtype)
    placed = jx.device_put(array, over(mesh, "x"))
    assert placed.dtype == array.dtype
    np.testing.assert_array_equal(np.asarray(placed), np.asarray(array))


def test_arrays_are_made_of_pieces(mesh):
    sharding = over(mesh, "y", "x")
    index = sharding.devices_indices_map(DATA.shape)
    pieces = [jx.device_put(DATA[part], device) for device, part in index.items()]
    array = jx.make_array_from_single_device_arrays(DATA.shape, sharding, pieces[::-1])
    np.testing.assert_array_equal(array, DATA)
    calls = []

    def part(index):
        calls.append(index)
        return DATA[index]

    array = jx.make_array_from_callback(DATA.shape, over(mesh, "x"), part)
    assert len(calls) == 4
    np.testing.assert_array_equal(array, DATA)
    array = jx.make_array_from_process_local_data(sharding, DATA)
    assert array.sharding == sharding
    np.testing.assert_array_equal(array, DATA)
    array = jx.make_array_from_process_local_data(sharding, DATA, DATA.shape)
    np.testing.assert_array_equal(array, DATA)


def test_arrays_of_local_data_are_made_by_the_tree(mesh):
    rows, whole = over(mesh, "x"), over(mesh)
    make = jx.make_array_from_process_local_data
    made = make({"a": rows, "b": whole}, {"a": DATA, "b": (DATA, None)})
    assert made["a"].sharding == rows
    assert made["b"][0].sharding == whole
    assert made["b"][1] is None
    shapes = ({"a": DATA.shape, "b": [DATA.shape]}, {"a": None, "b": [DATA.shape]}, DATA.shape)
    for shape in shapes:
        made = make(rows, {"a": DATA, "b": [DATA]}, shape)
        np.testing.assert_array_equal(made["b"][0], DATA)
    with jx.set_mesh(mesh):
        assert make(P("x"), DATA).sharding == rows
    with pytest.raises(ValueError, match="its structure is no prefix"):
        make({"a": rows}, {"b": DATA})
    with pytest.raises(TypeError, match="needs a sharding, got None"):
        make(None, DATA)


def test_data_given_to_device_put_may_change_afterwards(mesh):
    data = DATA.copy()
    array = jx.device_put(data, over(mesh, "x"))
    data[:] = 0
    np.testing.assert_array_equal(array, DATA)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: jx.device_put(np.ones(7), over(m, "x")), "axis 0 into 4 pieces.*size is 7"),
        (lambda m: jx.device_put(1.0, over(m, "x")), "rank at least 1"),
        (
            lambda m: jx.make_array_from_single_device_arrays((8,), over(m, "x"), [jnp.ones(2)]),
            "one array on each of",
        ),
        (
            lambda m: jx.make_array_from_single_device_arrays(
                (8,), over(m, "x"), [jx.device_put(np.ones(3), d) for d in m.device_tuple]
            ),
            r"pieces .*\[2\].*got f32\[3\]",
        ),
        (
            lambda m: jx.make_array_from_callback((8,), over(m, "x"), lambda i: np.ones(3)),
            r"gave shape \(3,\)",
        ),
        (
            lambda m: jx.make_array_from_process_local_data(over(m, "x"), np.ones(4), (8,)),
            "neither the whole",
        ),
        (lambda m: jx.make_mesh((16,), ("x",)), "16.*jax_num_cpu_devices"),
    ],
)
def test_bad_placements_are_refused(make, message, mesh):
    with pytest.raises(ValueError, match=message):
        make(mesh)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda m: jx.make_array_from_callback(8, over(m, "x"), np.ones),
            "make_array_from_callback got shape=8",
        ),
        (
            lambda m: jx.make_array_from_callback((8,), over(m, "x"), 3),
            "make_array_from_callback .*data_callback",
        ),
        (
            lambda m: jx.make_array_from_callback((8,), over(m, "x"), lambda i: "a"),
            "make_array_from_callback: Value 'a'",
        ),
        (
            lambda m: jx.make_array_from_callback((8,), over(m, "x"), np.ones, "no"),
            "make_array_from_callback got dtype='no'",
        ),
        (
            lambda m: jx.make_array_from_single_device_arrays((8,), over(m, "x"), None),
            "make_array_from_single_device_arrays got arrays=None",
        ),
        (
            lambda m: jx.make_array_from_process_local_data(over(m, "x"), "a"),
            "make_array_from_process_local_data: Value 'a'",
        ),
    ],
)
def test_arguments_of_another_kind_are_told_with_the_function(mesh, make, message):
    with pytest.raises(TypeError, match=message):
        make(mesh)


def test_make_mesh_takes_the_first_devices_in_order(eight_devices):
    made = jx.make_mesh((2, 3), ("a", "b"))
    assert made.device_tuple == tuple(eight_devices[:6])
    assert jx.make_mesh((1,), ("a",), devices=eight_devices[5:]).device_tuple == (eight_devices[5],)
