"""Programs over meshes without devices: lowered, and compiled once devices are named."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.sharding import AbstractMesh, AxisType, Mesh, NamedSharding
from jxkernel.sharding import PartitionSpec as P

SIZES, NAMES = (2, 4), ("x", "y")
X = np.arange(32, dtype=np.float32).reshape(8, 4)

pytestmark = pytest.mark.usefixtures("eight_devices")

KINDS = pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit], ids=lambda k: k.name)


def coming(kind, *spec):
    return NamedSharding(AbstractMesh(SIZES, NAMES, axis_types=(kind, kind)), P(*spec))


def there(kind, *spec):
    return NamedSharding(jx.make_mesh(SIZES, NAMES, axis_types=(kind, kind)), P(*spec))


def struct(sharding):
    return jx.ShapeDtypeStruct((8, 4), np.float32, sharding=sharding)


def f(x):
    return jnp.sin(x).sum(1)


def lowered(sharding, fun=f, **options):
    return jx.jit(fun, **options).trace(struct(sharding)).lower(lowering_platforms=("cpu",))


@KINDS
def test_the_module_is_that_of_a_mesh_with_devices(kind):
    assert lowered(coming(kind, "x", None)).as_text() == lowered(there(kind, "x", None)).as_text()


@KINDS
def test_a_program_for_devices_to_come_runs_once_they_are_named(kind):
    program = lowered(coming(kind, "x", None))
    devices = jx.devices()[7::-1]
    mesh = Mesh(np.array(devices, object).reshape(SIZES), NAMES, axis_types=(kind, kind))
    compiled = program.compile(device_assignment=devices)
    x = jx.device_put(X, NamedSharding(mesh, P("x", None)))
    result = compiled(x)
    np.testing.assert_allclose(result, np.sin(X).sum(1), rtol=1e-5, atol=1e-6)
    assert result.sharding == NamedSharding(mesh, P("x"))
    assert program.cost_analysis()["flops"] > 0


def test_shardings_of_results_constraints_and_mapped_functions_name_it_too():
    whole = lowered(None, out_shardings=coming(AxisType.Auto, None, "y"), fun=jnp.sin)
    assert '{sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}' in whole.as_text()

    def constrained(x):
        return jx.lax.with_sharding_constraint(x * 2, coming(AxisType.Auto, None, "y"))

    def mapped(x):
        mesh = AbstractMesh(SIZES, NAMES, axis_types=(AxisType.Auto,) * 2)
        run = jx.shard_map(
            lambda x: jx.lax.psum(x, "x"), mesh=mesh, in_specs=P("x", None), out_specs=P()
        )
        return run(x)

    devices = jx.devices()[:8]
    result = lowered(None, constrained).compile(device_assignment=devices)(X)
    np.testing.assert_array_equal(result, X * 2)
    result = lowered(None, mapped).compile(device_assignment=devices)(X)
    np.testing.assert_array_equal(result, X[:4] + X[4:])


@KINDS
def test_a_mesh_with_devices_beside_it_says_which_they_are(kind):
    sharding = there(kind, "x", None)
    x = jx.device_put(X, sharding)
    compiled = jx.jit(jnp.add).lower(struct(coming(kind, "x", None)), x).compile()
    assert compiled(x, x).sharding.mesh == sharding.mesh
    with jx.set_mesh(sharding.mesh):
        assert jx.jit(f).lower(struct(coming(kind, "x", None))).compile()(x).shape == (8,)


def test_what_names_no_devices_or_two_meshes_says_what_to_write():
    sharding = coming(AxisType.Auto, "x", None)
    with pytest.raises(ValueError, match=r"a mesh without devices: .*lower\(lowering_platforms="):
        jx.jit(f).lower(struct(sharding))
    program = lowered(sharding)
    with pytest.raises(ValueError, match="for 8 devices to come got no device_assignment"):
        program.compile()
    with pytest.raises(ValueError, match="for 8 devices to come got 2 devices"):
        program.compile(device_assignment=jx.devices()[:2])
    other = NamedSharding(AbstractMesh((4,), ("z",), axis_types=(AxisType.Auto,)), P("z"))
    traced = jx.jit(jnp.add).trace(struct(sharding), struct(other))
    with pytest.raises(ValueError, match=r"for one number of devices, .* give one mesh"):
        traced.lower(lowering_platforms=("cpu",))
    elsewhere = NamedSharding(jx.make_mesh((8,), ("z",), axis_types=(AxisType.Auto,)), P("z"))
    traced = jx.jit(jnp.add).trace(struct(sharding), struct(elsewhere))
    with pytest.raises(ValueError, match="either all there or all to come; give one mesh"):
        traced.lower(lowering_platforms=("cpu",))
