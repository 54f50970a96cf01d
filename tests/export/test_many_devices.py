"""Exported programs over meshes: how they are divided, where they run, and what they refuse."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import export, lax
from jxkernel.export import format as file_format
from jxkernel.sharding import AbstractMesh, AxisType, Mesh, NamedSharding
from jxkernel.sharding import PartitionSpec as P
from tests.many_devices import over

X = np.arange(32, dtype=np.float32).reshape(8, 4)
W = np.ones((4, 4), np.float32) / 4


def layer(x: Any, w: Any) -> tuple[Any, Any]:
    return jnp.sin(x @ w), x * 2


@pytest.fixture(scope="module")
def line(eight_devices):
    return Mesh(eight_devices[:4], "a")


@pytest.fixture(scope="module")
def square(eight_devices):
    return Mesh(np.array(eight_devices[2:6]).reshape(2, 2), ("b", "c"))


@pytest.fixture(scope="module")
def exported(line):
    shardings = {"in_shardings": (over(line, "a"), None), "out_shardings": (over(line, "a"), None)}
    return export.export(jx.jit(layer, **shardings))(X, W)


@pytest.fixture(scope="module")
def read(exported):
    return export.deserialize(exported.serialize(vjp_order=1))


def check(found: Any) -> None:
    for one, want in zip(found, (np.sin(X @ W), X * 2), strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-5)


def rows(array: Any) -> list[tuple[int, int]]:
    """Return for each piece its device and its first row."""
    return [(shard.device.id, shard.index[0].start or 0) for shard in array.addressable_shards]


def test_it_tells_how_it_is_divided(exported, read, line, square, eight_devices):
    tiles = over(line, "a")._to_xla_hlo_sharding(2)
    other = Mesh(eight_devices[4:], "z")
    for one in (exported, read):
        assert one.nr_devices == 4
        assert repr(one).endswith("nr_devices=4)")
        assert "sdy.mesh" in one.mlir_module()
        assert one.in_shardings_hlo == one.out_shardings_hlo == (tiles, None)
        assert one.in_shardings_jax(line) == one.out_shardings_jax(line) == (over(line, "a"), None)
        assert one.in_shardings_jax(other) == (over(other, "z"), None)
        assert one.in_shardings_jax(square) == (over(square, ("b", "c")), None)


def test_a_mesh_that_cannot_say_it_is_refused(exported, mesh, square, line):
    with pytest.raises(ValueError, match=r"exported for 4 devices, and Mesh.* has 8"):
        exported.in_shardings_jax(mesh)
    halves = export.export(jx.jit(jnp.sin, in_shardings=over(square, "b")))(X)
    with pytest.raises(ValueError, match=r"P\('b',\) over .*cannot say: give a mesh of the same"):
        halves.in_shardings_jax(line)


def test_a_program_of_one_device_has_no_shardings(line):
    one = export.export(jx.jit(layer))(X, W)
    assert (one.nr_devices, one.in_shardings_hlo, one.out_shardings_hlo) == (
        1,
        (None,) * 2,
        (None,) * 2,
    )
    assert one.in_shardings_jax(line) == (None, None)


@pytest.mark.parametrize("entries", [("b", "c"), (("b", "c"),), (None, "b"), ()])
def test_arguments_on_another_mesh_are_divided_as_exported(exported, read, square, entries):
    x = jx.device_put(X, over(square, *entries))
    for one in (exported, read):
        for call in (one.call, jx.jit(one.call)):
            out = call(x, W)
            check(out)
            assert rows(out[0]) == rows(out[1]) == [(2, 0), (3, 2), (4, 4), (5, 6)]


def test_devices_are_counted_in_the_order_of_the_callers_mesh(read, eight_devices):
    backwards = Mesh(eight_devices[3::-1], "q")
    x = jx.device_put(X, read.in_shardings_jax(backwards)[0])
    out = read.call(x, W)
    check(out)
    assert rows(out[0]) == [(3, 0), (2, 2), (1, 4), (0, 6)]


def test_axes_of_sizes_that_have_no_common_factors_meet(eight_devices):
    three = Mesh(np.array(eight_devices[:6]).reshape(3, 2), ("d", "e"))
    two = Mesh(np.array(eight_devices[:6]).reshape(2, 3), ("b", "c"))
    x = np.arange(36, dtype=np.float32).reshape(6, 6)

    def place(x):
        return lax.psum(x, "d") * lax.axis_index("e")

    mapped = jx.shard_map(place, mesh=three, in_specs=P("d", "e"), out_specs=P(None, "e"))
    one = export.export(jx.jit(mapped))(x)
    assert one.nr_devices == 6
    np.testing.assert_array_equal(one.call(jx.device_put(x, over(two, "b", "c"))), mapped(x))


def test_the_mesh_that_is_set_serves_arguments_that_lie_nowhere(read, line):
    with jx.set_mesh(line):
        for out in (read.call(X, W), read.call(jnp.asarray(X), W), jx.jit(read.call)(X, W)):
            check(out)
            assert rows(out[0]) == [(0, 0), (1, 2), (2, 4), (3, 6)]


def test_another_number_of_devices_is_refused(read, mesh, line):
    with pytest.raises(
        ValueError, match=r"layer was exported for 4 devices .* a program over 1: put"
    ):
        read.call(X, W)
    with pytest.raises(ValueError, match=r"a program over 1"):
        export.export(jx.jit(read.call))(X, W)
    for call in (read.call, jx.jit(read.call)):
        with pytest.raises(ValueError, match=r"4 devices and is called in a program over 8"):
            call(jx.device_put(X, over(mesh, "x")), W)
    mapped = jx.shard_map(lambda x: read.call(x, W)[0], mesh=line, in_specs=P(), out_specs=P())
    with pytest.raises(ValueError, match=r"inside a shard_map, where each device runs by itself"):
        mapped(X)


def test_a_program_for_one_device_runs_over_many(mesh):
    one = export.export(jx.jit(layer))(X, W)
    found = one.call(jx.device_put(X, over(mesh, "x")), W)
    check(found)
    assert found[1].sharding == over(mesh, "x")


def test_a_mesh_of_one_device_divides_nothing(mesh, eight_devices):
    single = Mesh(eight_devices[:1], "s")

    def constrained(x):
        return lax.with_sharding_constraint(x * 2, over(single, "s"))

    one = export.export(jx.jit(constrained, in_shardings=over(single, "s")))(X)
    assert one.nr_devices == 1
    assert one.in_shardings_jax(single) == (over(single, "s"),)
    many = jx.device_put(X, over(mesh, "x"))
    assert one.call(many).sharding == over(mesh, "x")
    summing = jx.shard_map(lambda x: lax.psum(x, "s"), mesh=single, in_specs=P("s"), out_specs=P())
    alone = export.export(jx.jit(summing))(X)
    np.testing.assert_array_equal(alone.call(X), X)
    with pytest.raises(ValueError, match=r"for 1 device and communicates.* a program over 8"):
        alone.call(many)


def _given(line):
    return export.export(jx.jit(jnp.sin, in_shardings=over(line, "a")))(X)


def _array(line):
    return export.export(jx.jit(jnp.sin))(jx.device_put(X, over(line, "a")))


def _described(line):
    struct = jx.ShapeDtypeStruct(X.shape, X.dtype, sharding=over(line, "a"))
    return export.export(jx.jit(jnp.sin))(struct)


def _abstract(line):
    sharding = NamedSharding(AbstractMesh((4,), "a", AxisType.Auto), P("a"))
    struct = jx.ShapeDtypeStruct(X.shape, X.dtype, sharding=sharding)
    return export.export(jx.jit(jnp.sin))(struct)


@pytest.mark.parametrize("exporter", [_given, _array, _described, _abstract])
def test_shardings_of_arguments_come_from_wherever_they_are_given(exporter, line, square):
    one = exporter(line)
    assert one.nr_devices == 4
    assert one.in_shardings_jax(line) == (over(line, "a"),)
    out = one.call(jx.device_put(X, over(square)))
    assert rows(out) == [(2, 0), (3, 2), (4, 4), (5, 6)]


def test_what_the_function_speaks_of_counts_too(line, square):
    def constrained(x):
        return lax.with_sharding_constraint(x * 2, over(line, None, "a"))

    mapped = jx.shard_map(lambda x: lax.psum(x, "a"), mesh=line, in_specs=P("a"), out_specs=P())
    for function in (constrained, mapped):
        one = export.deserialize(export.export(jx.jit(function))(X).serialize())
        assert (one.nr_devices, one.in_shardings_hlo) == (4, (None,))
        found = one.call(jx.device_put(X, over(square)))
        np.testing.assert_array_equal(found, function(X))
        if function is constrained:
            assert found.sharding == over(square, None, ("b", "c"))


def test_devices_need_not_be_here():
    mesh = AbstractMesh((64,), "a")
    struct = jx.ShapeDtypeStruct((64, 4), np.float32, sharding=NamedSharding(mesh, P("a")))

    def total(x):
        return jx.shard_map(lambda x: lax.psum(x, "a"), mesh=mesh, in_specs=P("a"), out_specs=P())(
            x
        )

    one = export.deserialize(export.export(jx.jit(total))(struct).serialize(vjp_order=1))
    assert (one.nr_devices, one.vjp().nr_devices) == (64, 64)
    assert one.in_shardings_jax(mesh) == (NamedSharding(mesh, P("a")),)
    assert [aval.short() for aval in (*one.in_avals, *one.out_avals)] == ["f32[64,4]", "f32[1,4]"]
    with pytest.raises(ValueError, match="exported for 64 devices"):
        one.call(np.ones((64, 4), np.float32))


def test_explicit_axes_of_the_caller_are_in_the_types_of_results(read, eight_devices):
    mesh = jx.make_mesh((4,), ("q",), devices=eight_devices[:4])
    x = jx.device_put(X, over(mesh, "q"))
    out = jx.jit(read.call)(x, W)
    check(out)
    assert out[0].sharding == over(mesh, "q", None)
    types = jx.jit(read.call).trace(x, W).jaxpr.out_avals
    assert [aval.short() for aval in types] == ["f32[8@q,4]", "f32[8,4]"]
    one = export.export(jx.jit(lambda x: x * 2))(x)
    assert one.in_shardings_jax(mesh) == (over(mesh, "q"),)
    assert one.out_shardings_jax(mesh) == (over(mesh, "q", None),)
    assert [aval.short() for aval in one.in_avals] == ["f32[8,4]"]
    assert one.call(x).sharding == over(mesh, "q", None)


def test_the_derivative_is_divided_as_the_program(exported, read, line, square):
    want = jx.grad(lambda x: layer(x, W)[0].sum())(X)
    for one in (exported, read):
        pullback = one.vjp()
        assert pullback.nr_devices == 4
        divided = over(line, "a")
        assert pullback.in_shardings_jax(line) == (divided, None, divided, None)
        assert pullback.out_shardings_jax(line) == (divided, None)

        def loss(x: Any, one: Any = one) -> Any:
            return one.call(x, W)[0].sum()

        for differentiate in (jx.grad(loss), jx.jit(jx.grad(loss))):
            found = differentiate(jx.device_put(X, over(square)))
            np.testing.assert_allclose(found, want, rtol=1e-5)
            assert rows(found) == [(2, 0), (3, 2), (4, 4), (5, 6)]


def test_programs_of_other_meshes_are_joined_in_one(exported, read, square):
    """Two meshes of one name, a function named like them, and a program exported again."""

    def mesh(x):
        return jnp.cos(x)

    @jx.jit
    def joined(x):
        x = lax.with_sharding_constraint(jx.jit(mesh)(x), over(square, "c", "b"))
        return read.call(exported.call(x, W)[1], W)[0]

    want = np.sin(2 * np.cos(X) @ W)
    x = jx.device_put(X, over(square, "b"))
    out = joined(x)
    np.testing.assert_allclose(out, want, rtol=1e-5)
    assert rows(out) == [(2, 0), (3, 2), (4, 4), (5, 6)]
    assert joined.lower(x).as_text().count("sdy.mesh @") == 2
    again = export.deserialize(export.export(joined)(x).serialize())
    assert again.in_shardings_jax(square) == (over(square, "b"),)
    np.testing.assert_allclose(again.call(x), want, rtol=1e-5)


def test_it_runs_in_loops_and_under_vmap(read, square):
    x = jx.device_put(X, over(square, "b"))
    last, _ = jx.jit(lambda x: lax.scan(lambda c, _: (read.call(c, W)[1], None), x, length=3))(x)
    np.testing.assert_array_equal(last, X * 8)
    both = jx.vmap(read.call, in_axes=(0, None))(jnp.stack([x, 2 * x]), W)
    np.testing.assert_array_equal(both[1], np.stack([X * 2, X * 4]))


def test_symbolic_sizes_may_be_divided(line, square):
    (b,) = export.symbolic_shape("b")
    struct = jx.ShapeDtypeStruct((4 * b, 4), np.float32, sharding=over(line, "a"))

    def counted(x):
        numbers = jnp.arange(x.shape[0]) * 1.0
        return x * 2 + lax.with_sharding_constraint(numbers, over(line, "a"))[:, None]

    made = export.export(jx.jit(counted))(struct)
    one = export.deserialize(made.serialize(vjp_order=1))
    x = jx.device_put(X, over(square))
    out = one.call(x)
    np.testing.assert_array_equal(out, X * 2 + np.arange(8)[:, None])
    assert rows(out) == [(2, 0), (3, 2), (4, 4), (5, 6)]
    np.testing.assert_array_equal(jx.grad(lambda x: one.call(x).sum())(x), np.full_like(X, 2))


def test_symbolic_sizes_that_cannot_be_divided_are_refused(line):
    (b,) = export.symbolic_shape("b")
    struct = jx.ShapeDtypeStruct((b, 4), np.float32)
    with pytest.raises(ValueError, match=r"its size is b .* must be a multiple of 4"):
        export.export(jx.jit(jnp.sin, in_shardings=over(line, "a")))(struct)
    mapped = jx.shard_map(lambda x: lax.psum(x, "a"), mesh=line, in_specs=P("a"), out_specs=P())
    with pytest.raises(NotImplementedError, match=r"symbolic sizes, of \(f32\[4\*b,4\]\): export"):
        export.export(jx.jit(mapped))(jx.ShapeDtypeStruct((4 * b, 4), np.float32))


def test_what_no_one_count_of_devices_can_say_is_refused(line, mesh, eight_devices):
    def constrained(x):
        return lax.with_sharding_constraint(x, over(mesh, "x"))

    with pytest.raises(ValueError, match=r"meshes of 4 and of 8 devices"):
        export.export(jx.jit(constrained, in_shardings=over(line, "a")))(X)
    turned = Mesh([eight_devices[i] for i in (1, 0, 2, 3)], "a")
    shardings = {"in_shardings": over(line, "a"), "out_shardings": over(turned, "a")}
    with pytest.raises(ValueError, match=r"\[0, 1, 2, 3\] and \[1, 0, 2, 3\].*in one order"):
        export.export(jx.jit(jnp.sin, **shardings))(X)

    def turning(x):
        return lax.with_sharding_constraint(x, over(turned, "a"))

    with pytest.raises(ValueError, match=r"\[0, 1, 2, 3\] and \[1, 0, 2, 3\]"):
        export.export(jx.jit(turning, in_shardings=over(line, "a")))(X)
    pinned = over(line, "a").with_memory_kind("pinned_host")
    with pytest.raises(ValueError, match="says nothing of kinds of memory"):
        export.export(jx.jit(jnp.sin, in_shardings=pinned))(X)


def test_open_axes_and_names_are_kept_in_bytes(line, eight_devices):
    partly = over(line, P.UNCONSTRAINED, "a")
    one = export.deserialize(export.export(jx.jit(jnp.sin, in_shardings=partly))(X).serialize())
    assert one.in_shardings_jax(line) == (partly,)
    assert one.in_shardings_hlo == (None,)
    odd = Mesh(eight_devices[:4], ((1, 2),))
    with pytest.raises(ValueError, match=r"the mesh axis \(1, 2\) cannot be written"):
        export.export(jx.jit(jnp.sin, in_shardings=NamedSharding(odd, P())))(X).serialize()


def test_an_earlier_format_is_refused(exported, monkeypatch):
    with monkeypatch.context() as earlier:
        earlier.setattr(file_format, "maximum_supported_calling_convention_version", 1)
        blob = exported.serialize()
    with pytest.raises(
        ValueError, match=r"has format 1, .* reads formats 2 to 2: write it again with Exported"
    ):
        export.deserialize(blob)


READER = """
import sys
import numpy as np
import jxkernel as jx
jx.config.update("jax_num_cpu_devices", 4)
from jxkernel import export
from jxkernel.sharding import Mesh
one = export.deserialize(open(sys.argv[1], "rb").read())
mesh = Mesh(np.array(jx.devices()).reshape(2, 2), ("p", "q"))
x = jx.device_put(np.ones((8, 4), np.float32), one.in_shardings_jax(mesh)[0])
w = np.ones((4, 4), np.float32) / 4
print(one.nr_devices, len(one.call(x, w)[0].sharding.device_set))
slope = jx.grad(lambda x: one.call(x, w)[0].sum())(x)
print(slope.sharding.spec, float(slope.sum()))
"""


def test_another_process_runs_it_over_its_devices(exported, tmp_path):
    path = tmp_path / "layer.bin"
    path.write_bytes(exported.serialize(vjp_order=1))
    done = subprocess.run(
        [sys.executable, "-c", READER, str(path)], capture_output=True, text=True, check=True
    )
    counts, slope = done.stdout.splitlines()
    assert counts == "4 4"
    spec, total = slope.rsplit(" ", 1)
    assert spec == "P(('p', 'q'),)"
    assert float(total) == pytest.approx(32 * np.cos(1.0), rel=1e-5)
