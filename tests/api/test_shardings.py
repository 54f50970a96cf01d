"""Programs divided over devices: jit and its shardings, constraints, eager operations, the dial."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.sharding import AxisType, Mesh, NamedSharding
from jxkernel.sharding import PartitionSpec as P
from tests.many_devices import over

DATA = np.arange(64.0, dtype=np.float32).reshape(8, 8)


@pytest.fixture(scope="module")
def rows(mesh):
    return jx.device_put(DATA, over(mesh, "x"))


def test_eager_operations_keep_arrays_divided(mesh, rows):
    assert (rows + 1).sharding == over(mesh, "x")
    assert rows.T.sharding == over(mesh, None, "x")
    assert rows.sum().sharding == over(mesh)
    np.testing.assert_allclose(jnp.sin(rows) @ rows.T, np.sin(DATA) @ DATA.T, rtol=1e-4)
    np.testing.assert_allclose(rows.at[1].set(0.0)[1], np.zeros(8))
    np.testing.assert_allclose(rows[3], DATA[3])


def test_jit_on_divided_arguments_gives_divided_results(mesh, rows):
    columns = jx.device_put(DATA, over(mesh, None, "y"))

    @jx.jit
    def product(a, b):
        return a @ b, a.sum(), a.reshape(64)

    for _ in range(2):  # first Python, then the C++ path
        out, total, flat = product(rows, columns)
        assert out.sharding == over(mesh, "x", "y")
        assert total.sharding.is_fully_replicated
        np.testing.assert_allclose(out, DATA @ DATA)
        np.testing.assert_allclose(total, DATA.sum())
        np.testing.assert_allclose(flat, DATA.ravel())


@pytest.mark.parametrize("other", [2.0, np.float32(2), np.full((8,), 2.0, np.float32)])
def test_arguments_from_elsewhere_join_a_mesh(rows, other):
    times = jx.jit(lambda a, b: a * b)
    for _ in range(3):
        np.testing.assert_allclose(times(rows, other), DATA * 2)
        np.testing.assert_allclose(times(rows, jnp.asarray(other)), DATA * 2)


def test_calls_that_differ_in_sharding_do_not_answer_for_each_other(mesh, rows):
    double = jx.jit(lambda a: a * 2)
    places = [over(mesh, "x"), over(mesh, "y"), over(mesh), over(mesh, None, "x")]
    for _ in range(2):
        for place in places:
            out = double(jx.device_put(DATA, place))
            assert out.sharding.is_equivalent_to(place, 2)
            np.testing.assert_allclose(out, DATA * 2)
        assert double(DATA).sharding.num_devices == 1


def test_results_along_part_of_an_axis_come_whole(mesh, eight_devices):
    line = jx.device_put(np.arange(8.0), over(Mesh(eight_devices, "z"), "z"))
    cube = jx.jit(lambda x: x.reshape(2, 2, 2))(line)
    np.testing.assert_array_equal(cube, np.arange(8.0).reshape(2, 2, 2))
    assert isinstance(cube.sharding, NamedSharding)


def test_meshes_over_the_same_devices_may_meet(mesh, eight_devices, rows):
    flat = jx.device_put(DATA, over(Mesh(eight_devices, "z"), "z"))
    np.testing.assert_allclose(jx.jit(jnp.add)(rows, flat), 2 * DATA)


def test_the_same_devices_in_another_order_are_refused(mesh, rows):
    turned_mesh = Mesh(mesh.devices[::-1], ("x", "y"))
    turned = jx.device_put(DATA, over(turned_mesh, "x"))
    both = r"incompatible devices.*\[0, 1, 2, 3, 4, 5, 6, 7\].*\[6, 7, 4, 5, 2, 3, 0, 1\]"
    inside = jx.jit(lambda v: lax.with_sharding_constraint(v, over(mesh, "x")))
    two = jx.jit(lambda v: lax.with_sharding_constraint(inside(v), over(turned_mesh, "y")))
    doubled = jx.jit(lambda v: v * 2, out_shardings=over(mesh))
    mapped = jx.shard_map(lambda v: v, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    for call in (jnp.add, jx.jit(jnp.add), lambda a, b: jnp.concatenate([a, b])):
        with pytest.raises(ValueError, match=both):
            call(rows, turned)
    for call in (inside, mapped, jx.jit(mapped)):
        with pytest.raises(ValueError, match="incompatible devices"):
            call(turned)
    with pytest.raises(ValueError, match="incompatible devices"):
        doubled(turned)
    with pytest.raises(ValueError, match="incompatible devices"):
        two(DATA)
    moved = jx.device_put(turned, rows.sharding)
    np.testing.assert_allclose(rows + moved, 2 * DATA)


def test_an_argument_divided_as_in_shardings_say_moves_to_their_devices(mesh, eight_devices, rows):
    turned = over(Mesh(mesh.devices[::-1], ("x", "y")), "x")
    double = jx.jit(lambda v: v * 2, in_shardings=turned)
    for value in (rows, jx.device_put(DATA, turned), DATA, rows):  # and on the fast path
        for _ in range(2):
            out = double(value)
            assert out.sharding == turned
            np.testing.assert_allclose(out, 2 * DATA)
    first, second = (jx.device_put(DATA, device) for device in eight_devices[1:3])
    for _ in range(2):
        assert jx.jit(jnp.add, in_shardings=second.sharding)(first, second).devices() == {
            eight_devices[2]
        }
    whole = jx.jit(lambda v: v * 2, in_shardings=over(mesh))
    assert whole(first).sharding == over(mesh)
    compiled = jx.jit(lambda v: v * 2).lower(rows).compile()
    for _ in range(2):
        np.testing.assert_allclose(compiled(jx.device_put(DATA, turned)), 2 * DATA)
    with pytest.raises(ValueError, match="does not match the sharding on the respective arg"):
        double(first)
    with pytest.raises(ValueError, match="incompatible devices"):
        jx.jit(jnp.add, in_shardings=(turned, None))(rows, rows)


def test_an_argument_that_no_result_depends_on_has_no_say_in_the_devices(mesh, rows):
    turned = jx.device_put(DATA, over(Mesh(mesh.devices[::-1], ("x", "y")), "x"))
    first = jx.jit(lambda a, b: a * 2)
    dead = jx.jit(lambda a, b: (a * 2, b + 1)[0])
    for call in (first, dead, jx.jit(first.__wrapped__, in_shardings=(None, turned.sharding))):
        for _ in range(2):
            out = call(rows, turned)
            assert out.sharding == rows.sharding
            np.testing.assert_allclose(out, 2 * DATA)
    assert not first(jnp.asarray(DATA), turned).committed
    assert first.lower(rows, turned).compile()(rows, turned).sharding == rows.sharding
    with pytest.raises(ValueError, match="incompatible devices"):
        jx.jit(first.__wrapped__, keep_unused=True)(rows, turned)


def test_a_constant_over_devices_in_another_order_goes_to_the_arguments(mesh, rows):
    turned = jx.device_put(DATA, over(Mesh(mesh.devices[::-1], ("x", "y")), "x"))
    out = jx.jit(lambda v: v + turned)(rows)
    np.testing.assert_allclose(out, 2 * DATA)
    assert out.sharding.mesh == mesh


def test_in_and_out_shardings_place_arguments_and_results(mesh):
    rows, columns = over(mesh, "x"), over(mesh, None, "y")
    fun = jx.jit(
        lambda a, b: {"sum": a["v"] + b, "scale": b},
        in_shardings=({"v": rows}, None),
        out_shardings={"sum": columns, "scale": None},
    )
    for _ in range(2):
        out = fun({"v": DATA}, 2.0)
        assert out["sum"].sharding == columns
        np.testing.assert_allclose(out["sum"], DATA + 2)
    with jx.set_mesh(mesh):
        out = jx.jit(lambda x: x * 2, in_shardings=P("x"), out_shardings=P(None, "y"))(DATA)
    assert out.sharding == columns
    np.testing.assert_allclose(out, DATA * 2)


def test_donated_pieces_are_given_away(mesh):
    array = jx.device_put(DATA, over(mesh, "x"))
    out = jx.jit(lambda x: x + 1, donate_argnums=0)(array)
    np.testing.assert_allclose(out, DATA + 1)
    assert array.is_deleted()


def test_constants_stay_where_they_lie(mesh, rows):
    out = jx.jit(lambda x: x + rows)(DATA)
    np.testing.assert_allclose(out, 2 * DATA)
    assert out.sharding.num_devices == 8


def test_constraints_divide_values_inside_and_outside_jit(mesh, rows):
    wanted = over(mesh, "y", "x")

    def fun(x):
        return lax.with_sharding_constraint(jnp.sin(x), wanted)

    for place in (fun, jx.jit(fun)):
        for value in (rows, DATA):
            out = place(value)
            assert out.sharding == wanted
            np.testing.assert_allclose(out, np.sin(DATA), rtol=1e-5)
    slope = jx.jit(jx.grad(lambda x: fun(x).sum()))(rows)
    np.testing.assert_allclose(slope, np.cos(DATA), atol=1e-6)
    batched = jx.vmap(lambda x: lax.with_sharding_constraint(x, over(mesh, "y")))(rows)
    np.testing.assert_allclose(batched, DATA)
    open_axis = over(mesh, P.UNCONSTRAINED, "y")
    out = jx.jit(lambda x: lax.with_sharding_constraint(x * 2, open_axis))(rows)
    np.testing.assert_allclose(out, 2 * DATA)
    with jx.set_mesh(mesh):
        out = jx.jit(lambda x: lax.with_sharding_constraint(x, P("y")))(DATA)
    assert out.sharding == over(mesh, "y")
    nested = jx.jit(lambda x: jx.jit(lambda y: y * 2, out_shardings=wanted)(x))
    np.testing.assert_allclose(nested(rows), 2 * DATA)


def test_loops_derivatives_and_batches_of_divided_arrays(rows):
    total, steps = lax.scan(lambda c, x: (c + x.sum(), c), 0.0, rows)
    np.testing.assert_allclose(total, DATA.sum())
    np.testing.assert_allclose(steps, np.concatenate([[0], DATA.sum(1).cumsum()[:-1]]))
    np.testing.assert_allclose(jx.grad(lambda x: (x**2).sum())(rows), 2 * DATA)
    np.testing.assert_allclose(jx.vmap(lambda x: x.sum())(rows), DATA.sum(1))
    np.testing.assert_allclose(jx.jit(jnp.linalg.norm)(rows), np.linalg.norm(DATA), rtol=1e-6)


def test_stages_show_the_shardings(mesh):
    fun = jx.jit(lambda x: x @ x.T, in_shardings=over(mesh, "x"))
    lowered = fun.lower(DATA)
    assert 'sdy.mesh @mesh = <["x"=4, "y"=2]>' in lowered.as_text()
    compiled = lowered.compile()
    assert compiled.input_shardings == ((over(mesh, "x"),), {})
    assert compiled.output_shardings.num_devices == 8
    np.testing.assert_allclose(compiled(DATA), DATA @ DATA.T)
    described = jx.ShapeDtypeStruct((8, 8), jnp.float32, sharding=over(mesh, None, "y"))
    compiled = jx.jit(lambda x: x * 2).lower(described).compile()
    assert compiled.output_shardings == over(mesh, None, "y")


def test_a_mesh_of_one_device_is_a_mesh(eight_devices):
    mesh = Mesh(eight_devices[:1], "x")
    array = jx.device_put(DATA, over(mesh, "x"))
    assert jx.jit(lambda x: x * 2)(array).sharding.mesh == mesh
    np.testing.assert_allclose(array + 1, DATA + 1)


def test_device_put_inside_a_trace_is_a_constraint(mesh, eight_devices):
    out = jx.jit(lambda x: jx.device_put(x * 2, over(mesh, "x")))(DATA)
    assert out.sharding == over(mesh, "x")
    out = jx.jit(lambda x: jx.device_put(x * 2, eight_devices[1]))(DATA)
    np.testing.assert_allclose(out, DATA * 2)


def test_device_put_takes_a_tree_of_places(mesh, eight_devices):
    out = jx.device_put({"a": DATA, "b": DATA}, {"a": over(mesh, "x"), "b": eight_devices[2]})
    assert out["a"].sharding == over(mesh, "x")
    assert out["b"].devices() == {eight_devices[2]}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda m, x: jx.jit(lambda a: a, in_shardings=over(m, "y"))(x),
            ValueError,
            "does not match the sharding on the respective arg.* for a of <lambda>",
        ),
        (
            lambda m, x: jx.jit(lambda w: w, in_shardings=over(m, "x"))(np.ones(7)),
            ValueError,
            "Argument w of <lambda>.*axis 0 into 4",
        ),
        (
            lambda m, x: jx.jit(lambda a: a, in_shardings=P("x"))(x),
            RuntimeError,
            "non-empty mesh in context",
        ),
        (
            lambda m, x: jx.jit(lambda a: (a, a), out_shardings=(over(m),))(x),
            ValueError,
            "out_shardings: its structure is no prefix",
        ),
        (
            lambda m, x: jx.jit(lambda a: a[:3], out_shardings=over(m, "x"))(x),
            ValueError,
            "axis 0 into 4",
        ),
        (lambda m, x: jx.jit(lambda a: a, in_shardings=3), TypeError, "got 3 of type int"),
        (
            lambda m, x: lax.with_sharding_constraint(x, over(m, None, None, "x")),
            ValueError,
            "rank at least 3",
        ),
        (
            lambda m, x: jx.jit(jnp.add)(x, jx.device_put(DATA, m.devices[1, 1])),
            ValueError,
            "incompatible devices",
        ),
        (
            lambda m, x: jx.jit(jnp.add)(x, jx.device_put(DATA, over(Mesh(m.devices[0], "a")))),
            ValueError,
            "incompatible devices",
        ),
    ],
)
def test_bad_input_is_refused_with_the_argument_and_the_sizes(call, error, message, mesh, rows):
    with pytest.raises(error, match=message):
        call(mesh, rows)


def test_number_of_cpu_devices_changes_while_arrays_live(eight_devices):
    double = jx.jit(lambda x: x * 2)
    free = jnp.arange(4.0)
    bound = jx.device_put(free, eight_devices[3])
    divided = jx.device_put(free, over(Mesh(eight_devices[:4], "x"), "x"))
    np.testing.assert_allclose(double(bound), [0, 2, 4, 6])
    try:
        for count in (2, 5):
            jx.config.update("jax_num_cpu_devices", count)
            assert jx.device_count() == count
            for array in (free, bound, divided):
                np.testing.assert_allclose(double(array), [0, 2, 4, 6])
                np.testing.assert_allclose(array + 1, [1, 2, 3, 4])
            np.testing.assert_allclose(bound + jnp.ones(4), [1, 2, 3, 4])
            assert double(free).devices() == {jx.devices()[0]}
            moved = jx.device_put(divided, jx.devices()[1])
            assert moved.devices() == {jx.devices()[1]}
            with pytest.raises(ValueError, match="incompatible devices"):
                _ = bound + moved
            with pytest.raises(ValueError, match="of one backend"):
                Mesh([eight_devices[0], jx.devices()[1]], "x")
    finally:
        jx.config.update("jax_num_cpu_devices", 8)


def test_callbacks_of_a_divided_program_run_once(rows):
    seen = []

    @jx.jit
    def fun(x):
        jx.debug.callback(lambda total: seen.append(float(total)), x.sum(), ordered=True)
        kind = jx.ShapeDtypeStruct(x.shape, x.dtype)
        return jx.pure_callback(lambda v: np.asarray(v) + 1, kind, x)

    for _ in range(2):
        np.testing.assert_allclose(fun(rows), DATA + 1)
    jx.effects_barrier()
    assert seen == [DATA.sum()] * 2


def test_constraints_in_a_program_may_divide_unevenly(mesh):
    def function(x):
        return lax.with_sharding_constraint(jnp.sin(x), over(mesh, "x"))

    x = np.arange(9, dtype=np.float32)
    np.testing.assert_allclose(jx.jit(function)(x), np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(
        jx.jit(jx.grad(lambda x: function(x).sum()))(x), np.cos(x), rtol=1e-6
    )
    with pytest.raises(ValueError, match="rank at least 2"):
        jx.jit(lambda x: lax.with_sharding_constraint(x, over(mesh, "x", "y")))(x)


def test_a_program_runs_on_the_device_that_a_constraint_asks_for(mesh, eight_devices):
    device = eight_devices[2]

    def doubled(x):
        return lax.with_sharding_constraint(x, device) * 2

    here = jx.device_put(DATA, device)
    for function in (
        doubled,
        jx.vmap(doubled),
        jx.jit(doubled),
        jx.grad(lambda x: doubled(x).sum()),
    ):
        for value in (DATA, jnp.asarray(DATA), here):
            out = jx.jit(function)(value)
            assert (out.devices(), out.committed) == ({device}, True)
    elsewhere = jx.device_put(DATA, eight_devices[1])
    with pytest.raises(ValueError, match=r"x of type f32.* CPU device 1.* for CPU device 2"):
        jx.jit(doubled)(elsewhere)
    two = jx.jit(lambda x: lax.with_sharding_constraint(doubled(x), eight_devices[3]))
    several = jx.jit(lambda x: lax.with_sharding_constraint(doubled(x), over(mesh, "x")))
    for function in (two, several):
        with pytest.raises(ValueError, match="for CPU device") as caught:
            function(DATA)
        assert "instead" not in str(caught.value), "no argument is there to be moved"


@pytest.mark.parametrize("shardings", [None, ({"a": None},)])
def test_a_constraint_of_none_is_the_whole_array_and_needs_a_mesh(shardings, mesh, rows):
    tree = rows if shardings is None else ({"a": rows},)
    with pytest.raises(ValueError, match="got None in shardings, which says nothing"):
        lax.with_sharding_constraint(tree, shardings)
    with jx.set_mesh(mesh):
        for out in jx.tree.leaves(lax.with_sharding_constraint(tree, shardings)):
            assert out.sharding.is_fully_replicated


def test_a_description_takes_a_spec_of_the_mesh_that_is_set_and_nothing_but_shardings(mesh):
    with jx.set_mesh(mesh):
        described = jx.ShapeDtypeStruct((8, 8), jnp.float32, sharding=P("x"))
    assert described.sharding == over(mesh, "x")
    assert described.update(shape=(4, 4)).sharding == over(mesh, "x")
    with pytest.raises(RuntimeError, match="ShapeDtypeStruct sharding requires a non-empty mesh"):
        jx.ShapeDtypeStruct((8, 8), jnp.float32, sharding=P("x"))
    for wrong in (3, "x", mesh, jx.devices()[0]):
        with pytest.raises(TypeError, match=r"ShapeDtypeStruct got .* as sharding: give a shardi"):
            jx.ShapeDtypeStruct((8, 8), jnp.float32, sharding=wrong)


LIKE = {
    "zeros_like": jnp.zeros_like,
    "ones_like": lambda x: jnp.ones_like(x, dtype=np.int32),
    "empty_like": jnp.empty_like,
    "full_like": lambda x: jnp.full_like(x, jnp.float32(2)),
    "lax.full_like": lambda x: lax.full_like(x, 2.0, shape=x.shape),
}


@pytest.mark.parametrize("name", LIKE)
def test_what_is_made_like_a_committed_array_lies_where_it_lies(name):
    make = LIKE[name]
    mesh = jx.make_mesh((2,), ("x",), axis_types=(AxisType.Auto,), devices=jx.devices()[:2])
    there = NamedSharding(mesh, P("x"))
    for target in (jx.devices()[1], there, NamedSharding(mesh, P())):
        x = jx.device_put(jnp.ones(4), target)
        assert make(x).sharding == x.sharding
        assert make(x).committed
    assert not make(jnp.ones(4)).committed


def test_what_has_another_shape_is_not_divided_as_the_array_it_is_made_like():
    mesh = jx.make_mesh((2,), ("x",), axis_types=(AxisType.Auto,), devices=jx.devices()[:2])
    divided = jx.device_put(jnp.ones(4), NamedSharding(mesh, P("x")))
    assert not jnp.zeros_like(divided, shape=(3,)).committed
    single = jx.device_put(divided, jx.devices()[1])
    assert jnp.zeros_like(single, shape=(3,)).devices() == {jx.devices()[1]}


def test_arrays_of_float0_are_made_compared_and_divided_over_devices():
    zeros = np.zeros(2, jx.float0)
    made = (
        *(jnp.zeros(2, jx.float0), jnp.ones_like(zeros), jnp.full(2, 0, jx.float0)),
        *(lax.full((2,), 0, jx.float0), jx.jit(lambda: jnp.zeros(2, jx.float0))()),
        jx.pmap(lambda x: x)(zeros),
        jx.pmap(jx.grad(lambda x: 1.0 * x, allow_int=True))(np.arange(2)),
        jx.device_put(zeros, NamedSharding(jx.make_mesh((2,), ("x",)), P("x"))),
    )
    for x in made:
        assert x.dtype == jx.float0
        assert (x == x).tolist() == [True, True]
        assert (x != zeros).tolist() == [False, False]
        assert str(x) == str(zeros)
