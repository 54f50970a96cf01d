"""Shardings: which device holds which part, equivalence, and bad input."""

import subprocess
import sys

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.sharding import Mesh, NamedSharding, SingleDeviceSharding
from jxkernel.sharding import PartitionSpec as P
from tests.many_devices import over


def test_each_device_holds_the_part_that_the_spec_says(mesh):
    index = over(mesh, "y", "x").devices_indices_map((4, 8))
    assert index[mesh.devices[0, 0]] == (slice(0, 2), slice(0, 2))
    assert index[mesh.devices[3, 0]] == (slice(0, 2), slice(6, 8))
    assert index[mesh.devices[1, 1]] == (slice(2, 4), slice(2, 4))
    rows = over(mesh, ("y", "x")).devices_indices_map((8, 3))
    assert rows[mesh.devices[0, 1]] == (slice(4, 5), slice(None))
    assert over(mesh).addressable_devices_indices_map((2,))[mesh.devices[2, 1]] == (slice(None),)


def test_sharding_tells_its_shards_and_devices(mesh, eight_devices):
    sharding = over(mesh, None, "x")
    assert sharding.shard_shape((3, 8)) == (3, 2)
    assert sharding.device_set == set(eight_devices) == sharding.addressable_devices
    assert sharding._addressable_device_assignment == tuple(mesh.devices.flat)
    assert sharding.num_devices == 8
    assert sharding.is_fully_addressable
    assert not sharding.is_fully_replicated
    assert over(mesh, None).is_fully_replicated
    assert sharding.update(spec=P("y")).spec == P("y")
    assert sharding.with_memory_kind("device").memory_kind == "device"
    assert repr(sharding).endswith("spec=P(None, 'x'), memory_kind=device)")


def test_equivalence_is_of_what_devices_hold(mesh, eight_devices):
    flat = Mesh(eight_devices, "z")
    turned = Mesh(mesh.devices.T, ("y", "x"))
    assert over(mesh, "x") != over(mesh, "x", None)
    assert over(mesh, "x").is_equivalent_to(over(mesh, "x", None), 2)
    assert over(mesh, ("x", "y")).is_equivalent_to(over(flat, "z"), 1)
    assert not over(mesh, ("y", "x")).is_equivalent_to(over(flat, "z"), 1)
    assert not over(mesh, "x").is_equivalent_to(over(turned, "x"), 1)
    assert over(mesh).is_equivalent_to(over(flat), 2)


def test_sharding_of_one_device_answers_the_same_questions(eight_devices):
    sharding = SingleDeviceSharding(eight_devices[3])
    assert sharding.device_set == {eight_devices[3]}
    assert sharding.shard_shape((2, 3)) == (2, 3)
    assert sharding.devices_indices_map((2,)) == {eight_devices[3]: (slice(None),)}
    assert sharding.is_fully_replicated
    assert sharding.is_fully_addressable
    assert sharding.is_equivalent_to(SingleDeviceSharding(eight_devices[3]), 1)
    assert not sharding.is_equivalent_to(SingleDeviceSharding(eight_devices[2]), 1)
    assert "id=3" in repr(sharding)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda m: NamedSharding(m, P("z")), ValueError, r"axis: z of P\('z',\) is not found"),
        (lambda m: NamedSharding(m, P("x", "x")), ValueError, "duplicate entries for `x`"),
        (lambda m: NamedSharding(m, ("x",)), TypeError, "needs a PartitionSpec"),
        (lambda m: NamedSharding("m", P()), TypeError, "needs a Mesh"),
        (lambda m: over(m, "x").shard_shape((7,)), ValueError, "axis 0 into 4 pieces.*size is 7"),
        (lambda m: over(m, "x", "y").shard_shape((8,)), ValueError, "rank at least 2.*rank 1"),
        (lambda m: NamedSharding(m.abstract_mesh, P()).device_set, ValueError, "no devices"),
    ],
)
def test_bad_shardings_are_refused(make, error, message, mesh):
    with pytest.raises(error, match=message):
        make(mesh)


def test_xla_sees_the_same_division(mesh):
    for spec in (P(), P("x"), P(None, "y"), P("y", "x"), P(("y", "x")), P(None, ("x", "y"))):
        sharding = NamedSharding(mesh, spec)
        xla = sharding._to_xla_hlo_sharding(2)
        dims = xla.tile_assignment_dimensions() if not xla.is_replicated() else [1, 1]
        assert tuple(dims[:2]) == sharding.counts(2)
        if xla.is_replicated():
            continue
        grid = np.array(xla.tile_assignment_devices()).reshape(dims)
        for number, device in enumerate(mesh.device_tuple):
            row, column, *_ = np.argwhere(grid == number)[0]
            index = sharding.devices_indices_map((8, 8))[device]
            assert [part.indices(8)[0] for part in index] == [
                row * 8 // dims[0],
                column * 8 // dims[1],
            ]


def test_no_module_of_jax_is_left_behind():
    code = (
        "import sys, jxkernel; print([name for name in sys.modules if name.split('.')[0] == 'jax'])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_repeated_calls_on_a_mesh_run_no_python(eight_devices):
    rows = NamedSharding(Mesh(eight_devices, ("x",)), P("x"))
    xs = [jx.device_put(np.ones((8, 2)), rows) for _ in range(3)]
    double = jx.jit(lambda *xs: [x * 2 for x in xs])
    for _ in range(3):
        double(*xs)
    entered = []
    sys.setprofile(lambda frame, event, arg: entered.append((event, frame.f_code.co_name)))
    try:
        double(*xs)
    finally:
        sys.setprofile(None)
    assert [name for event, name in entered if event == "call"] == []


@pytest.mark.parametrize(
    ("spec", "repeated"),
    [
        (P("x"), {"y"}),
        (P(), {"x", "y"}),
        (P(("x", "y")), set()),
        (P(unreduced={"x"}), {"y"}),
        (P(reduced={"y"}), {"x"}),
    ],
)
def test_pieces_are_repeated_along_axes_that_nothing_names(spec, repeated, eight_devices):
    sharding = NamedSharding(jx.make_mesh((4, 2), ("x", "y")), spec)
    assert sharding.replicated_axes == repeated
    assert sharding.has_addressable_devices
