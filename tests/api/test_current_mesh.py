"""``set_mesh``: what no argument binds to devices is computed on all devices of the mesh."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import random
from jxkernel.sharding import AxisType, Mesh, NamedSharding, SingleDeviceSharding
from jxkernel.sharding import PartitionSpec as P

PROGRAMS = {
    "ones": lambda: jnp.ones(8),
    "arange": lambda: jnp.arange(8.0),
    "array": lambda: jnp.array([1, 2, 3]),
    "asarray": lambda: jnp.asarray(2.0),
    "eager operation": lambda: jnp.sin(np.ones(8)),
    "random": lambda: random.normal(random.key(0), (8,)),
    "jit of nothing": lambda: jx.jit(lambda: jnp.zeros(3))(),
    "jit of host data": lambda: jx.jit(lambda x: x * 2)(np.ones(8)),
    "gradient": lambda: jx.grad(lambda x: (x * x).sum())(np.ones(8)),
}


@pytest.mark.parametrize("kind", [AxisType.Explicit, AxisType.Auto])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_nothing_binds_run_on_the_mesh(name, kind, eight_devices):
    mesh = jx.make_mesh((4, 2), ("x", "y"), axis_types=(kind,) * 2)
    with jx.set_mesh(mesh):
        found = PROGRAMS[name]()
    assert found.sharding == NamedSharding(mesh, P())
    assert found.committed


def test_a_mesh_of_one_device_is_where_programs_run_as_well(eight_devices):
    mesh = Mesh(eight_devices[3:4], "x", axis_types=AxisType.Explicit)
    bound = jx.device_put(np.ones(8), eight_devices[3])
    with jx.set_mesh(mesh):
        for found in (jnp.ones(8), bound * 2, jx.jit(jnp.sin)(np.ones(8))):
            assert found.sharding == NamedSharding(mesh, P())


def test_arrays_that_nothing_binds_move_to_the_mesh(mesh):
    before = jnp.ones(8)
    with jx.set_mesh(mesh):
        assert (before * 2).sharding == NamedSharding(mesh, P())
    assert type((before * 2).sharding) is SingleDeviceSharding


def test_arrays_that_are_bound_elsewhere_say_where_programs_run(mesh, eight_devices):
    other = NamedSharding(Mesh(eight_devices[:4], "z"), P("z"))
    with jx.set_mesh(mesh):
        one = jx.device_put(np.ones(8), eight_devices[2])
        assert type(jx.device_put(np.ones(8)).sharding) is SingleDeviceSharding
        assert (one * 2).sharding.device_set == {eight_devices[2]}
        assert (jx.device_put(np.ones(8), other) * 2).sharding == other


def test_a_with_block_of_a_mesh_says_what_specs_mean_and_no_more(mesh):
    rows = jx.jit(lambda x: jx.lax.with_sharding_constraint(x, P("x")))
    with mesh:
        assert type(jnp.ones(8).sharding) is SingleDeviceSharding
        assert rows(np.ones(8)).sharding.spec == P("x")
    with jx.set_mesh(mesh.update(axis_names=("a", "b"))) as _, mesh:
        assert jnp.ones(8).sharding.mesh.axis_names == ("a", "b")


def test_an_unread_argument_says_over_which_devices_a_result_is_divided(eight_devices):
    mesh = jx.make_mesh((4, 2), ("x", "y"))
    rows = NamedSharding(mesh, P("x"))
    x = jx.device_put(np.arange(8.0, dtype=np.float32), rows)
    assert jx.jit(jx.grad(jnp.sum))(x).sharding == rows
    with jx.set_mesh(mesh):
        assert jx.jit(jx.grad(jnp.sum))(x).sharding == rows
    back = Mesh(eight_devices[::-1], "x", axis_types=AxisType.Explicit)
    y = jx.device_put(x, NamedSharding(back, P("x")))
    assert jx.jit(jx.grad(jnp.sum))(y).sharding.mesh == back


def test_shardings_without_devices_are_over_the_mesh_that_is_set(mesh):
    rows = NamedSharding(mesh, P("x"))
    bare = NamedSharding(mesh.abstract_mesh, P("x"))
    with jx.set_mesh(mesh):
        assert jx.jit(lambda x: x, out_shardings=bare)(np.ones(8)).sharding == rows
        assert jx.jit(jnp.sin, in_shardings=bare)(np.ones(8)).sharding == rows
        assert jx.lax.with_sharding_constraint(jnp.ones(8), bare).sharding == rows
    with pytest.raises(ValueError, match="has no devices: its mesh is abstract"):
        jx.jit(lambda x: x, out_shardings=bare)(np.ones(8))
