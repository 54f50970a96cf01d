"""Keys divided over devices: their pieces are keys, and their indices count keys, not words."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import random
from jxkernel.sharding import Mesh
from tests.many_devices import over


@pytest.fixture
def keys(mesh: Mesh) -> Any:
    return jx.device_put(random.split(random.key(0), 8), over(mesh, "x"))


def test_pieces_of_keys_are_keys(keys: Any) -> None:
    shards, words = keys.addressable_shards, np.asarray(random.key_data(keys))
    assert len(shards) == 8
    for shard in shards:
        assert shard.data.dtype == keys.dtype
        assert shard.index == (slice(shard.index[0].start, shard.index[0].start + 2),)
        np.testing.assert_array_equal(random.key_data(shard.data), words[shard.index])
    assert [shard.index for shard in keys.global_shards] == [shard.index for shard in shards]
    np.testing.assert_array_equal(random.key_data(keys.addressable_data(0)), words[:2])


def test_keys_are_made_of_pieces(keys: Any) -> None:
    pieces = [shard.data for shard in keys.addressable_shards]
    again = jx.make_array_from_single_device_arrays((8,), keys.sharding, pieces)
    assert again.dtype == keys.dtype
    assert again.sharding == keys.sharding
    assert bool((again == keys).all())


@pytest.mark.parametrize("axes", [("x",), ()])
def test_keys_are_made_by_a_callback_and_of_local_data(keys: Any, mesh: Mesh, axes: Any) -> None:
    sharding = over(mesh, *axes)
    for made in (
        jx.make_array_from_callback((8,), sharding, lambda index: keys[index]),
        jx.make_array_from_callback((8,), sharding, lambda index: keys[index], dtype=keys.dtype),
        jx.make_array_from_process_local_data(sharding, keys),
        jx.make_array_from_process_local_data(sharding, keys, (8,)),
    ):
        assert (made.dtype, made.shape, made.sharding) == (keys.dtype, (8,), sharding)
        assert bool((made == keys).all())


OTHERS = random.split(random.key(0, impl="rbg"), 2)


@pytest.mark.parametrize(
    ("part", "dtype", "message"),
    [
        (lambda index: OTHERS[:1], None, r"the callback gave shape \(1,\)"),
        (lambda index: OTHERS, "float32", "parts of dtype key<rbg> for dtype=float32"),
        (lambda index: np.ones(2), OTHERS.dtype, "parts of dtype float64 for dtype=key<rbg>"),
        (
            lambda index: OTHERS if index[0].start else np.ones(2),
            None,
            "float64 and key<rbg> .* keys of one kind only",
        ),
    ],
)
def test_keys_do_not_lie_beside_numbers(mesh: Mesh, part: Any, dtype: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        jx.make_array_from_callback((8,), over(mesh, "x"), part, dtype=dtype)


def test_one_key_is_a_piece_on_each_device(mesh: Mesh) -> None:
    everywhere = jx.device_put(random.key(1), over(mesh))
    shards = everywhere.addressable_shards
    assert {(shard.index, shard.data.shape) for shard in shards} == {((), ())}
    assert [shard.replica_id for shard in shards] == list(range(8))


def test_keys_move_to_a_device_and_to_the_host(keys: Any) -> None:
    device = jx.devices()[1]
    assert random.key(3).to_device(device).device == device
    keys.copy_to_host_async()
    assert repr(jx.device_get(keys)).startswith("Array((8,), dtype=key<fry>) overlaying")
    np.testing.assert_array_equal(random.key_data(jx.device_get(keys)), random.key_data(keys))


def test_a_key_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="a key has no truth value"):
        bool(random.key(0))
