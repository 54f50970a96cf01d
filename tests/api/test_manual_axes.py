"""Inside of ``shard_map``: what of the mesh is left, and what names an axis that is taken."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.errors import AxisError
from jxkernel.sharding import AbstractMesh, AxisType, NamedSharding, get_abstract_mesh
from jxkernel.sharding import PartitionSpec as P

X = np.arange(32.0, dtype=np.float32).reshape(8, 4)


def _over(axes, f, mesh, **options):
    """Map a function over some axes, the rows over ``x`` where that is one of them."""
    spec = P("x" if "x" in axes else None, "y" if "y" in axes else None)
    return jx.shard_map(
        f, mesh=mesh, in_specs=spec, out_specs=spec, axis_names=set(axes), **options
    )


def test_the_mesh_inside_says_which_axes_are_handled(mesh):
    found = []

    def look(x):
        inside = get_abstract_mesh()
        found.append((inside.manual_axes, inside.auto_axes, jx.typeof(1.0).sharding.mesh == inside))
        return x

    _over("x", look, mesh)(X)
    _over("xy", look, mesh)(X)
    _over("x", lambda x: _over("y", look, None)(x), mesh)(X)
    assert found == [
        (("x",), ("y",), True),
        (("x", "y"), (), True),
        (("x", "y"), (), True),
    ]
    assert get_abstract_mesh().empty


@pytest.mark.parametrize("around", [lambda f: f, jx.jit], ids=["eagerly", "jit"])
def test_a_map_inside_of_another_handles_what_that_one_leaves(mesh, around):
    def inner(x):
        return jnp.sin(x) * (lax.axis_index("y") + 1)

    def outer(x):
        return jx.shard_map(inner, in_specs=P(None, "y"), out_specs=P(None, "y"))(x)

    both = around(_over("x", outer, mesh))
    factor = np.repeat([1.0, 2.0], 2)
    np.testing.assert_allclose(both(X), np.sin(X) * factor, rtol=1e-5)
    slope = around(jx.grad(lambda x: _over("x", outer, mesh)(x).sum()))(X)
    np.testing.assert_allclose(slope, np.cos(X) * factor, rtol=1e-5)


@pytest.mark.parametrize(
    ("outer", "inner", "words"),
    [
        ("xy", "xy", r"handles \['x', 'y'\], which that one handles already"),
        ("xy", "", r"handles \['x', 'y'\], which that one handles already.*Call the function"),
        ("x", "x", r"handles \['x'\].*Name axes that are left, \('y',\), as axis_names"),
    ],
)
def test_an_axis_is_handled_once(mesh, outer, inner, words):
    run = _over(outer, lambda x: _over(inner, lambda y: y, mesh)(x), mesh)
    for call in (run, jx.jit(run)):
        with pytest.raises(ValueError, match=words):
            call(jnp.ones((32, 32)))


@pytest.mark.parametrize("say", [lax.with_sharding_constraint, jx.reshard])
@pytest.mark.parametrize("shape", [(8, 4), (32, 32)])
def test_a_sharding_names_axes_that_are_left(mesh, say, shape):
    with jx.set_mesh(mesh):
        for axes, spec, words in [
            ("xy", P("x"), "it names 'x', which the shard_map around handles.*Divide the result"),
            ("x", P("x", "y"), r"it names 'x'.*Name axes that are left: \['y'\]"),
        ]:
            for given in (spec, NamedSharding(mesh, spec)):
                run = _over(axes, lambda x, given=given: say(x, given), mesh)
                for call in (run, jx.jit(run)):
                    with pytest.raises(AxisError, match=words):
                        call(jnp.ones(shape))


def test_a_function_that_was_traced_outside_names_axes_anew(mesh):
    with jx.set_mesh(mesh):
        divided = jx.jit(lambda x: lax.with_sharding_constraint(x, P("x")))
        divided(X)
        with pytest.raises(AxisError, match="it names 'x'"):
            _over("xy", divided, mesh, check_vma=False)(X)


@pytest.mark.parametrize("spec", ["bare", "of the mesh", "of the mesh inside"])
def test_a_sharding_divides_over_axes_that_are_left(mesh, spec):
    def divided(x):
        shardings = {
            "bare": P(None, "y"),
            "of the mesh": NamedSharding(mesh, P(None, "y")),
            "of the mesh inside": NamedSharding(get_abstract_mesh(), P(None, "y")),
        }
        return lax.with_sharding_constraint(x * 2, shardings[spec])

    found = jx.jit(_over("x", divided, mesh))(X)
    np.testing.assert_array_equal(found, X * 2)
    assert found.sharding.spec == P("x", "y")


def test_examples_are_divided_over_an_axis_of_their_own(mesh):
    constrained = lambda x: lax.with_sharding_constraint(x, NamedSharding(mesh, P("x")))  # noqa: E731
    mapped = jx.shard_map(lambda x: x, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    for function, who in ((constrained, "with_sharding_constraint"), (mapped, "shard_map")):
        for around in (lambda f: f, jx.jit, lambda f: jx.jit(jx.grad(lambda x: f(x).sum()))):
            with pytest.raises(ValueError, match=rf"spmd_axis_name='x'\).* and {who} in the func"):
                around(jx.vmap(function, spmd_axis_name="x"))(X)
        assert jx.jit(jx.vmap(function, spmd_axis_name="y"))(X).tolist() == X.tolist()


def test_a_gradient_of_examples_that_are_divided(mesh):
    def loss(w, x):
        h = lax.with_sharding_constraint(jnp.sin(x * w), NamedSharding(mesh, P("y")))
        return jnp.sum(h)

    w = np.float32(2.0)
    examples = jx.jit(jx.vmap(jx.grad(loss), in_axes=(None, 0), spmd_axis_name="x"))
    np.testing.assert_allclose(examples(w, X), np.sum(np.cos(X * w) * X, 1), rtol=1e-4, atol=1e-4)


def test_a_mesh_without_devices_names_its_axes_by_type():
    kinds = (AxisType.Explicit, AxisType.Auto, AxisType.Manual)
    mesh = AbstractMesh((4, 2, 1), ("x", "y", "z"), axis_types=kinds)
    assert (mesh.explicit_axes, mesh.auto_axes, mesh.manual_axes) == (("x",), ("y",), ("z",))
    assert mesh.update_axis_types({"x": AxisType.Auto}).auto_axes == ("x", "y")


def test_a_function_that_was_traced_for_examples_is_traced_anew_for_devices(mesh):
    inner = jx.jit(jx.pmap(lambda x: 2.0 * x))
    x = jnp.arange(24.0).reshape(2, 4, 3)
    for transform in (jx.vmap, jx.pmap):
        assert transform(inner, axis_name="i")(x).tolist() == (2.0 * x).tolist()
