"""``shard_map`` and ``pmap``: values, collectives on devices, derivatives, nesting, bad input."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.sharding import AbstractMesh, AxisType, Mesh
from jxkernel.sharding import PartitionSpec as P
from tests.many_devices import over
from tests.primitives.test_collectives import EXTREME, LINEAR, ROWS, SIZE

DATA = np.arange(64.0, dtype=np.float32).reshape(8, 8) / 64


@pytest.fixture(scope="module")
def line(eight_devices):
    """Return a mesh of one axis, i."""
    return Mesh(eight_devices[:SIZE], "i")


def test_collectives_on_devices_equal_those_of_examples(line):
    """One program holds them all: each device has one example."""
    functions = {**LINEAR, **EXTREME}

    def every(x: Any) -> Any:
        return {name: fun(x[0])[None] for name, (fun, _) in functions.items()}

    out = jx.shard_map(every, mesh=line, in_specs=P("i"), out_specs=P("i"))(ROWS)
    for name, (_, expected) in functions.items():
        np.testing.assert_allclose(out[name], expected, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, "bfloat16"])
def test_extremes_over_devices_keep_nan(line, dtype):
    x = np.array([[-1.0, 2, -np.inf, 0]] * SIZE).astype(jnp.dtype(dtype))
    x[:, 1] = range(SIZE)
    extremes = jx.shard_map(
        lambda y: (lax.pmax(y, "i"), lax.pmin(y, "i")), mesh=line, in_specs=P("i"), out_specs=P()
    )
    for place in range(SIZE):
        y = x.copy()
        y[place, 0] = np.nan
        with jx.enable_x64(True):
            high, low = extremes(y)
        np.testing.assert_array_equal(np.asarray(high).astype(float)[0], y.max(0).astype(float))
        np.testing.assert_array_equal(np.asarray(low).astype(float)[0], y.min(0).astype(float))


def test_collectives_of_one_device_are_identities(eight_devices):
    def every(x: Any) -> Any:
        index = lax.axis_index("i")
        moved = lax.all_to_all(lax.all_gather(x, "i"), "i", 0, 0)
        scattered = lax.psum_scatter(moved, "i")
        out = lax.ppermute(lax.pbroadcast(scattered, "i", 0), "i", [(0, 0)])
        return lax.pmax(lax.psum(out, "i"), "i") + index

    mapped = jx.shard_map(every, mesh=Mesh(eight_devices[:1], "i"), in_specs=P(), out_specs=P())
    np.testing.assert_allclose(mapped(DATA), DATA)
    np.testing.assert_allclose(jx.grad(lambda x: mapped(x).sum())(DATA), np.ones_like(DATA))


def test_linear_collectives_on_devices_transpose_as_those_of_examples(line):
    names = ["psum", "psum-groups", "all_gather-tiled", "psum_scatter", "all_to_all", "ppermute"]

    def every(x: Any) -> Any:
        return [LINEAR[name][0](x) for name in names]

    generator = np.random.default_rng(0)
    cts = [generator.normal(size=LINEAR[name][1].shape).astype(np.float32) for name in names]
    mapped = jx.pmap(every, axis_name="i", devices=line.device_tuple)
    for index, name in enumerate(names):
        ct = [c if i == index else 0 * c for i, c in enumerate(cts)]
        wanted = np.vdot(LINEAR[name][1], cts[index])
        (back,) = jx.vjp(mapped, jnp.asarray(ROWS))[1](ct)
        np.testing.assert_allclose(np.vdot(ROWS, back), wanted, rtol=1e-4, err_msg=name)


def test_pieces_are_cut_and_joined_as_the_specs_say(mesh):
    def fun(x: Any, w: Any) -> Any:
        assert x.shape == (2, 4)
        return lax.psum(x, "x"), x * w["a"], lax.axis_index(("x", "y"))[None, None]

    specs = (P("x", "y"), {"a": P()})
    mapped = jx.shard_map(
        fun, mesh=mesh, in_specs=specs, out_specs=(P(None, "y"), P("x", "y"), P("x", "y"))
    )
    for call in (mapped, jx.jit(mapped)):
        total, scaled, index = call(DATA, {"a": 2.0})
        np.testing.assert_allclose(total, DATA.reshape(4, 2, 8).sum(0), rtol=1e-6)
        np.testing.assert_allclose(scaled, 2 * DATA)
        np.testing.assert_array_equal(index, np.arange(8).reshape(4, 2))
        assert scaled.sharding == over(mesh, "x", "y")


def _network(mesh: Any, check_vma: bool) -> Any:
    def local(x: Any, w: Any) -> Any:
        hidden = jnp.tanh(x @ lax.all_gather(w, "y", axis=1, tiled=True, to="invarying"))
        return lax.pmean(jnp.mean(hidden**2), "x"), hidden

    specs = (P("x"), P(None, "y"))
    return jx.shard_map(
        local, mesh=mesh, in_specs=specs, out_specs=(P(), P("x")), check_vma=check_vma
    )


def _plain_network(x: Any, w: Any) -> Any:
    hidden = jnp.tanh(x @ w)
    return jnp.mean(hidden**2), hidden


@pytest.mark.parametrize("check_vma", [True, False])
def test_derivatives_are_those_of_the_whole(mesh, check_vma):
    weights = np.random.default_rng(1).normal(size=(8, 8)).astype(np.float32)

    def loss(network: Any) -> Any:
        def value(x: Any, w: Any) -> Any:
            mean, hidden = network(x, w)
            return mean + jnp.sum(hidden**3)

        return value

    ours, plain = loss(_network(mesh, check_vma)), loss(_plain_network)
    wanted = jx.grad(plain, (0, 1))(DATA, weights)
    for grad in (jx.grad(ours, (0, 1)), jx.jit(jx.grad(ours, (0, 1)))):
        for found, expected in zip(grad(DATA, weights), wanted, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
    tangents = (np.ones_like(DATA), np.ones_like(weights))
    _, found = jx.jvp(ours, (DATA, weights), tangents)
    _, expected = jx.jvp(plain, (DATA, weights), tangents)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    hvp = jx.jit(jx.grad(lambda x: jx.grad(ours)(x, weights).sum()))
    expected = jx.grad(lambda x: jx.grad(plain)(x, weights).sum())(DATA)
    np.testing.assert_allclose(hvp(DATA), expected, rtol=1e-3, atol=1e-4)


def test_programs_inside_see_the_axes(mesh):
    ring = [(i, (i + 1) % 4) for i in range(4)]

    def local(x: Any) -> Any:
        x, _ = lax.scan(lambda c, _: (c + lax.ppermute(c, "x", ring), None), x, None, length=3)
        x = lax.cond(x.sum() > 10, lambda v: v * 2, lambda v: v, x)
        x = lax.fori_loop(0, 2, lambda _, v: v + 1, x)
        return jx.jit(lambda v: v + lax.psum(v, "x"))(x)

    def whole(x: Any) -> Any:
        blocks = x.reshape(4, 2, 8)
        for _ in range(3):
            blocks = blocks + jnp.roll(blocks, 1, 0)
        large = blocks.sum((1, 2), keepdims=True) > 10
        blocks = jnp.where(large, blocks * 2, blocks) + 2
        return (blocks + blocks.sum(0)).reshape(8, 8)

    mapped = jx.shard_map(local, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    np.testing.assert_allclose(mapped(DATA), whole(DATA), rtol=1e-5)
    found = jx.grad(lambda x: (mapped(x) ** 2).sum())(DATA)
    expected = jx.grad(lambda x: (whole(x) ** 2).sum())(DATA)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    scanned = lax.scan(lambda c, _: (mapped(c) / 100, None), jnp.asarray(DATA), None, length=2)[0]
    np.testing.assert_allclose(scanned, whole(whole(DATA) / 100) / 100, rtol=1e-5)


def test_batches_pass_over_a_divided_function(mesh):
    mapped = jx.shard_map(lambda x: lax.psum(x, "x"), mesh=mesh, in_specs=P("x"), out_specs=P(None))
    stack = np.stack([DATA, DATA + 1, DATA * 2, DATA])
    wanted = stack.reshape(4, 4, 2, 8).sum(1)
    np.testing.assert_allclose(jx.vmap(mapped)(stack), wanted, rtol=1e-6)
    np.testing.assert_allclose(jx.vmap(mapped, spmd_axis_name="y")(stack), wanted, rtol=1e-6)
    named = jx.shard_map(
        lambda x: lax.psum(x, ("b", "x")), mesh=mesh, in_specs=P("x"), out_specs=P(None)
    )
    found = jx.vmap(named, axis_name="b")(stack)
    np.testing.assert_allclose(found[0], wanted.sum(0), rtol=1e-6)


def test_some_axes_by_hand_and_the_others_by_the_compiler(mesh):
    def local(x: Any) -> Any:
        return x * 2 + lax.axis_index("x") + lax.psum(jnp.ones(()), "x")

    mapped = jx.shard_map(local, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    wanted = DATA * 2 + np.arange(4).repeat(2)[:, None] + 4
    np.testing.assert_allclose(jx.jit(mapped)(DATA), wanted)
    np.testing.assert_allclose(mapped(jx.device_put(DATA, over(mesh, "x", "y"))), wanted)


def test_mesh_of_the_context_and_abstract_meshes_serve(mesh):
    mapped = jx.shard_map(lambda x: lax.psum(x, "x"), in_specs=P("x"), out_specs=P())
    with jx.set_mesh(mesh):
        np.testing.assert_allclose(mapped(np.ones(4)), [4.0])
        abstract = jx.shard_map(
            lambda x: x + 1,
            mesh=AbstractMesh((4, 2), ("x", "y"), AxisType.Auto),
            in_specs=P("x"),
            out_specs=P("x"),
        )
        np.testing.assert_allclose(abstract(np.ones(4)), np.full(4, 2.0))
    with pytest.raises(ValueError, match="needs a mesh"):
        mapped(np.ones(4))


def test_closed_over_arrays_are_whole_on_each_device(mesh):
    scale = jnp.arange(8.0)

    def fun(w: Any) -> Any:
        mapped = jx.shard_map(lambda x: x * scale * w, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
        return mapped(DATA).sum()

    np.testing.assert_allclose(fun(2.0), (DATA * np.arange(8) * 2).sum(), rtol=1e-5)
    np.testing.assert_allclose(jx.grad(fun)(2.0), (DATA * np.arange(8)).sum(), rtol=1e-5)


# ---------------------------------------------------------------- pmap


def test_pmap_puts_an_example_on_each_device(eight_devices):
    mapped = jx.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")
    for _ in range(2):
        out = mapped(np.arange(8.0, dtype=np.float32))
        np.testing.assert_allclose(out, np.arange(8) / 28, rtol=1e-6)
        assert out.devices() == set(eight_devices)
        assert out.addressable_shards[3].data.shape == (1,)
    few = jx.pmap(lambda x: x + 1, devices=eight_devices[5:8])
    assert few(np.zeros((3, 2))).devices() == set(eight_devices[5:8])


def test_pmap_maps_the_axes_asked_for(eight_devices):
    cube = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)

    def fun(tree: Any, y: Any, *, z: Any) -> Any:
        return {"a": tree["u"] + y, "b": tree["v"], "c": z}

    axes = ({"u": 1, "v": None}, None)
    out_axes = {"a": -1, "b": None, "c": 0}
    args = ({"u": cube, "v": cube}, 2.0)
    ours = jx.pmap(fun, in_axes=axes, out_axes=out_axes)(*args, z=np.arange(3))
    plain = jx.vmap(fun, in_axes=axes, out_axes=out_axes)(*args, z=np.arange(3))
    for name, expected in plain.items():
        np.testing.assert_allclose(ours[name], expected, err_msg=name)
    sized = jx.pmap(lambda x: x * lax.psum(1, "i"), axis_name="i", in_axes=None, axis_size=4)
    np.testing.assert_allclose(sized(2.0), np.full(4, 8.0))


def test_pmap_moves_arguments_to_its_devices(eight_devices):
    first = jx.pmap(lambda x: x)(np.arange(8.0))
    number = jx.device_put(3.0, eight_devices[1])
    for devices in (eight_devices, eight_devices[::-1]):
        scaled = jx.pmap(lambda x, c: x * c, in_axes=(0, None), devices=devices)
        for _ in range(2):
            found = scaled(first, number)
            assert [shard.device for shard in found.addressable_shards] == devices
            assert found.tolist() == (3 * np.arange(8.0)).tolist()
    gradient = jx.grad(lambda x: jx.pmap(lambda x: x**2, devices=eight_devices[::-1])(x).sum())
    assert gradient(first).tolist() == (2 * np.arange(8.0)).tolist()
    few = jx.pmap(lambda x: x * 2, devices=eight_devices[4:])(first[:4])
    assert few.tolist() == [0, 2, 4, 6]


def test_pmap_takes_static_and_donated_arguments(eight_devices):
    power = jx.pmap(lambda n, x: x**n, static_broadcasted_argnums=0)
    np.testing.assert_allclose(power(3, np.arange(4.0)), np.arange(4) ** 3)
    x = jx.pmap(lambda x: x)(jnp.arange(8.0))
    np.testing.assert_allclose(jx.pmap(lambda x: x + 1, donate_argnums=0)(x), np.arange(8) + 1)
    assert x.is_deleted()


def test_pmap_composes_with_the_other_transforms(eight_devices):
    square = jx.pmap(lambda x: lax.psum(x**2, "i"), axis_name="i")
    np.testing.assert_allclose(jx.grad(lambda x: square(x).sum())(np.arange(4.0)), [0, 8, 16, 24])
    np.testing.assert_allclose(jx.vmap(square)(DATA)[:, 0], (DATA**2).sum(1), rtol=1e-6)
    both = jx.pmap(jx.vmap(lambda x: lax.psum(x, ("i", "j")), axis_name="j"), axis_name="i")
    np.testing.assert_allclose(both(DATA), np.full((8, 8), DATA.sum()), rtol=1e-6)
    nested = jx.pmap(
        jx.pmap(lambda x: (lax.psum(x, ("i", "j")), lax.axis_index("j")), axis_name="j"),
        axis_name="i",
    )
    total, index = nested(DATA)
    np.testing.assert_allclose(total, np.full((8, 8), DATA.sum()), rtol=1e-6)
    np.testing.assert_array_equal(index, np.broadcast_to(np.arange(8), (8, 8)))
    inner = jx.jit(lambda x: square(x) + 1)
    np.testing.assert_allclose(inner(np.ones(4)), np.full(4, 5.0))
    step = jx.pmap(jx.grad(lambda w, x: (w * x) ** 2), in_axes=(None, 0))
    np.testing.assert_allclose(step(2.0, np.arange(4.0)), 4 * np.arange(4.0) ** 2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f: f(np.ones((7, 8))), ValueError, r"args\[0\] of <lambda>.*7 is no multiple of 4"),
        (lambda f: f(np.ones(8)), ValueError, "2 entries and the array only 1 axis"),
        (lambda f: f("text"), TypeError, r"args\[0\]"),
        (lambda f: jx.pmap(lambda x: x)(np.ones(9)), ValueError, "size 9.*got 8"),
        (lambda f: jx.pmap(lambda x, y: x)(np.ones(2), np.ones(3)), ValueError, "inconsistent"),
        (lambda f: jx.pmap(lambda x: x, in_axes=1)(np.ones(3)), ValueError, "pmap in_axes"),
        (lambda f: jx.pmap(lambda x: x, out_axes=2)(np.ones(3)), ValueError, "pmap out_axes"),
        (lambda f: jx.pmap(lambda x: lax.psum(x, "k"))(np.ones(2)), NameError, "'k'"),
        (lambda f: jx.pmap(3), TypeError, "callable"),
    ],
)
def test_bad_calls_are_refused(call, error, message, mesh):
    fun = jx.shard_map(lambda x: x, mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y"))
    with pytest.raises(error, match=message):
        call(fun)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"in_specs": P("z")}, ValueError, "in_specs.*z of"),
        ({"out_specs": P("z")}, ValueError, "out_specs.*z of"),
        ({"in_specs": (P(), P())}, ValueError, "in_specs: The tree structures part"),
        ({"in_specs": "x"}, TypeError, "needs PartitionSpecs"),
        ({"out_specs": P(None, None, "x")}, ValueError, "3 entries and the result only 2 axes"),
        ({"axis_names": {"z"}}, ValueError, "'z' is no axis"),
        ({"axis_names": {"y"}}, ValueError, "names 'x', which is not among"),
        ({"mesh": 3}, TypeError, "needs a Mesh"),
    ],
)
def test_bad_options_are_refused(options, error, message, mesh):
    good = {"mesh": mesh, "in_specs": P("x"), "out_specs": P("x")}
    with pytest.raises(error, match=message):
        jx.shard_map(lambda x: x, **{**good, **options})(DATA)
