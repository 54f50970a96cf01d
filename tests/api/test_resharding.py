"""``reshard``, ``auto_axes``, ``explicit_axes``, ``smap``, and abstract meshes."""

from types import SimpleNamespace

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.experimental import mesh_utils
from jxkernel.sharding import AbstractMesh, AxisType, auto_axes, explicit_axes
from jxkernel.sharding import PartitionSpec as P
from tests.many_devices import over

DATA = np.arange(64.0, dtype=np.float32).reshape(8, 8)


def test_reshard_moves_values_eagerly_and_inside_a_trace(mesh):
    rows, columns = over(mesh, "x"), over(mesh, None, "y")
    x = jx.device_put(DATA, rows)
    for found in (jx.reshard(x, columns), jx.jit(lambda v: jx.reshard(v * 1, columns))(x)):
        assert found.sharding == columns
        np.testing.assert_array_equal(found, DATA)
    tree = jx.reshard({"a": x, "b": [x, x]}, {"a": columns, "b": rows})
    assert [leaf.sharding for leaf in jx.tree.leaves(tree)] == [columns, rows, rows]
    with jx.set_mesh(mesh):
        assert jx.sharding.reshard(x, P("x", "y")).sharding == over(mesh, "x", "y")
    pulled = jx.grad(lambda v: (jx.reshard(v, columns) ** 2).sum())(x)
    np.testing.assert_array_equal(pulled, 2 * DATA)


def test_programs_for_explicit_axes_run_and_lie_where_they_say(mesh):
    explicit = mesh.update(axis_types=(AxisType.Explicit,) * 2)
    rows = over(explicit, "x")
    x = jx.device_put(DATA, rows)
    assert auto_axes(lambda v: v @ v.T, out_sharding=rows)(x).sharding.is_equivalent_to(rows, 2)
    assert auto_axes(jnp.sin)(x, out_sharding=over(explicit)).sharding.is_fully_replicated
    doubled = jx.jit(auto_axes(lambda v: 2 * v, axes="x", out_sharding=rows))(x)
    np.testing.assert_array_equal(doubled, 2 * DATA)

    @explicit_axes(in_sharding=over(explicit, None, "y"))
    def seen(v):
        return v.sharding.spec, v

    assert seen(x)[0] == P(None, "y")
    np.testing.assert_array_equal(seen(x, in_sharding=rows)[1], DATA)


def test_smap_divides_by_axes_and_leaves_other_mesh_axes_to_the_compiler(mesh):
    def local(v, w):
        assert v.shape == (8, 2)
        return lax.psum(v.sum(1), "x") * w, v.T

    with jx.set_mesh(mesh):
        fun = jx.jit(jx.smap(local, in_axes=(1, None), out_axes=(None, 0), axis_name="x"))
        total, turned = fun(DATA, 2.0)
    np.testing.assert_allclose(total, 2 * DATA.sum(1))
    np.testing.assert_array_equal(turned, DATA.T)


def test_smap_inside_smap_handles_one_axis_each(mesh):
    def inner(v):
        return lax.psum(v, "y")

    def outer(v):
        return jx.smap(inner, in_axes=1, out_axes=None, axis_name="y")(v) + lax.axis_index("x")

    with jx.set_mesh(mesh):
        found = jx.jit(jx.smap(outer, in_axes=0, out_axes=0, axis_name="x"))(DATA)
    expected = DATA[:, :4] + DATA[:, 4:] + np.repeat(np.arange(4), 2)[:, None]
    np.testing.assert_allclose(found, expected)


def test_abstract_mesh_in_use_answers_for_names_and_sizes(mesh):
    other = AbstractMesh((3,), ("z",))
    with jx.set_mesh(mesh):
        with jx.use_abstract_mesh(other):
            assert jx.get_abstract_mesh() == other
            assert jx.get_mesh().empty
        with jx.use_abstract_mesh(mesh.abstract_mesh):
            assert jx.get_mesh() is mesh
        assert jx.get_mesh() is mesh
    assert jx.get_abstract_mesh().empty


def test_a_function_arranges_the_devices_of_the_mesh_anew(mesh):
    line = AbstractMesh((8,), ("a",), axis_types=(AxisType.Explicit,))

    @jx.jit
    def fun(x):
        with jx.use_abstract_mesh(line):
            return jx.reshard(x, P("a")) * 2

    with jx.set_mesh(mesh):
        found = fun(DATA)
    assert jx.typeof(found).short() == "f32[8@a,8]"
    assert list(found.sharding.mesh.devices) == list(mesh.devices.flat)
    np.testing.assert_array_equal(found, 2 * DATA)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda mesh: jx.reshard(DATA, P("x")), RuntimeError, "set_mesh"),
        (lambda mesh: jx.reshard(DATA, "x"), TypeError, "reshard got 'x' of type str"),
        (lambda mesh: jx.reshard(DATA[:6], over(mesh, "x")), ValueError, "multiple of 4"),
        (lambda mesh: auto_axes(jnp.sin)(DATA), TypeError, "out_sharding="),
        (lambda mesh: explicit_axes(jnp.sin)(DATA), TypeError, "in_sharding="),
        (lambda mesh: auto_axes(3), TypeError, "auto_axes"),
        (lambda mesh: jx.use_abstract_mesh(mesh), TypeError, "AbstractMesh"),
        (
            lambda mesh: jx.smap(jnp.sin, in_axes=-1, out_axes=0, axis_name="x"),
            TypeError,
            "in_axes.*-1",
        ),
        (
            lambda mesh: jx.smap(jnp.sin, in_axes=0, out_axes=0, axis_name="x")(DATA),
            ValueError,
            "set_mesh",
        ),
    ],
)
def test_bad_input_is_refused(mesh, call, error, message):
    with pytest.raises(error, match=message):
        call(mesh)


def test_creation_takes_a_sharding_where_it_takes_a_device(mesh):
    rows = over(mesh, "x")
    made = [
        jnp.zeros((8, 2), device=rows),
        jnp.full((8,), 3, device=rows),
        jnp.asarray(DATA, device=rows),
        jnp.arange(8, device=rows),
        jnp.ones_like(DATA, device=rows),
        jnp.ones(8).to_device(rows),
    ]
    assert {array.sharding for array in made} == {rows}
    with jx.set_mesh(mesh):
        assert jnp.ones((8, 8), device=P("x", "y")).sharding == over(mesh, "x", "y")
    inside = jx.jit(lambda v: jnp.zeros_like(v, device=rows) + 1)(DATA)
    np.testing.assert_array_equal(inside, np.ones_like(DATA))
    with pytest.raises(TypeError, match="device"):
        jnp.zeros(8, device=3)


def test_devices_are_arranged_for_a_mesh(eight_devices):
    arranged = mesh_utils.create_device_mesh((4, 2))
    assert arranged.tolist() == np.array(eight_devices).reshape(4, 2).tolist()
    with pytest.raises(ValueError, match=r"\(3, 2\) takes 6 devices, got 8"):
        mesh_utils.create_device_mesh((3, 2))


def test_devices_of_processes_are_arranged_with_the_outer_axes_apart():
    devices = [SimpleNamespace(process_index=n // 4, id=n) for n in range(8)]
    found = mesh_utils.create_hybrid_device_mesh((2, 2), (2, 1), devices)
    assert [[device.id for device in row] for row in found] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    found = mesh_utils.create_hybrid_device_mesh((2, 2), (1, 2), devices)
    assert [[device.id for device in row] for row in found] == [[0, 1, 4, 5], [2, 3, 6, 7]]
    with pytest.raises(ValueError, match="takes 4 processes, got devices of 2"):
        mesh_utils.create_hybrid_device_mesh((2, 1), (2, 2), devices)
    with pytest.raises(ValueError, match="one rank"):
        mesh_utils.create_hybrid_device_mesh((2,), (2, 2), devices)


def test_values_in_an_eager_function_of_auto_axes_lie_somewhere(eight_devices):
    mesh = jx.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    seen = []

    def inside(v):
        seen.append((v.sharding.spec, v.devices()))
        return v * 2

    with jx.set_mesh(mesh):
        x = jx.device_put(np.arange(8.0, dtype=np.float32), P("x"))
        out = auto_axes(inside, out_sharding=P("x"))(x)
    assert seen == [(P("x"), set(eight_devices))]
    np.testing.assert_array_equal(out, np.arange(8.0) * 2)
    with pytest.raises(AttributeError, match="sharding"), jx.set_mesh(mesh):
        jx.jit(auto_axes(inside, out_sharding=P("x")))(x)
