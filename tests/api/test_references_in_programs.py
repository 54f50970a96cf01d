"""References where programs are looked at, staged ahead of time, or differentiated forward."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.errors import RefError
from jxkernel.experimental import checkify
from jxkernel.extend import core
from jxkernel.observe import outline, passes, stages

X = np.float32([0.5, -1.0, 2.0])


def by_argument(ref, x):
    ref[0] = x[1]
    ref.addupdate(x)
    ref[x.argmax()] += 1.0
    return ref[1:]


def test_a_program_shows_what_reads_and_writes_an_argument():
    closed = jx.make_jaxpr(by_argument)(jx.new_ref(X), X)
    assert str(closed) == (
        "{ lambda ; a:Ref{f32[3]} b:f32[3]. let\n"
        "    c:f32[1] = slice[limit_indices=(2,) start_indices=(1,)] b\n"
        "    d:f32[] = squeeze[dimensions=(0,)] c\n"
        "    _ = set[index=[0]] a d\n"
        "    _ = addupdate a b\n"
        "    e:i32[] = argmax[axes=(0,) index_dtype=int32] b\n"
        "    f:f32[] = get[index=[_]] a e\n"
        "    g:f32[] = add f 1.0:f32[]\n"
        "    _ = set[index=[_]] a g e\n"
        "    h:f32[2] = get[index=[1:]] a\n"
        "  in (h,) }"
    )
    ref = closed.jaxpr.invars[0]
    assert {(effect.name, effect.variable) for effect in closed.effects} == {
        ("Read", ref),
        ("Write", ref),
        ("Accum", ref),
    }
    assert repr(closed.in_avals[0]) == "Ref{f32[3]}"


def test_a_program_shows_the_references_that_it_makes_and_those_of_outside():
    outside = jx.new_ref(X)

    def both(x):
        ref = jx.new_ref(x)
        ref[...] = ref[...] * outside[0]
        return jx.freeze(ref)

    closed = jx.make_jaxpr(both)(X)
    assert str(closed) == (
        "{ lambda a:Ref{f32[3]}; b:f32[3]. let\n"
        "    c:Ref{f32[3]} = new_ref b\n"
        "    d:f32[3] = get c\n"
        "    e:f32[] = get[index=[0]] a\n"
        "    f:f32[3] = mul d e\n"
        "    _ = set c f\n"
        "    g:f32[3] = freeze c\n"
        "  in (g,) }"
    )
    assert closed.consts == [outside]
    assert [effect.variable for effect in closed.effects] == closed.jaxpr.constvars


def test_programs_inside_take_and_give_values():
    def loops(ref, x):
        def turn(carry, element):
            ref[...] *= element
            return carry, ref[0]

        return lax.scan(turn, 0.0, x)[1]

    closed = jx.make_jaxpr(loops)(jx.new_ref(X), X)
    assert [eqn.primitive.name for eqn in closed.eqns] == ["get", "scan", "set"]


PLACES = {
    "known": lambda ref, x: ref[2],
    "whole": lambda ref, x: ref[...],
    "slice": lambda ref, x: ref[::2],
    "axes": lambda ref, x: ref[None, 1:],
    "traced": lambda ref, x: ref[x.argmin()],
    "array": lambda ref, x: ref[np.array([2, 0])],
    "mask": lambda ref, x: ref[np.array([True, False, True])],
    "known part": lambda ref, x: ref[jx.ds(1, 2)],
    "moving part": lambda ref, x: ref[jx.ds(x.argmin(), 2)],
    "part of a part": lambda ref, x: (ref.at[1:].set(x[:2]), ref.at[:2][1])[1],
    "swapped": lambda ref, x: ref.swap(x[0], 1),
    "added": lambda ref, x: (ref.addupdate(x[:2], np.array([1, 1])), ref[1])[1],
}


@pytest.mark.parametrize("use", PLACES.values(), ids=PLACES)
def test_a_program_that_is_evaluated_does_as_the_function(use):
    closed = jx.make_jaxpr(use)(jx.new_ref(X), X)
    run = core.jaxpr_as_fun(closed)
    wanted = jx.new_ref(X)
    value = use(wanted, jnp.asarray(X))
    for transform in (lambda f: f, jx.jit):
        ref = jx.new_ref(X)
        [found] = transform(run)(ref, X)
        np.testing.assert_array_equal(found, value)
        np.testing.assert_array_equal(ref[...], wanted[...])


def test_a_random_key_is_read_and_written_in_programs():
    def draw(ref):
        ref[...], key = jx.random.split(ref[...])
        return jx.random.bits(key)

    first = jx.random.key(7)
    closed = jx.make_jaxpr(lambda key: draw(jx.new_ref(key)))(first)
    assert [eqn.primitive.name for eqn in closed.eqns][:2] == ["new_ref", "get"]
    [found] = core.jaxpr_as_fun(closed)(jx.random.key_data(first))
    assert found == draw(jx.new_ref(first))


def test_to_look_leaves_references_as_they_are():
    ref, outside = jx.new_ref(X), jx.new_ref(X)

    def write(ref, x):
        outside[0] = 5.0
        return by_argument(ref, x)

    assert jx.eval_shape(write, ref, X) == jx.ShapeDtypeStruct((2,), np.float32)
    jitted = jx.jit(write)
    assert jitted.eval_shape(ref, X).shape == (2,)
    assert "get[" in str(jitted.trace(ref, X).jaxpr)
    jitted.lower(ref, X).compile()
    assert ref[...].tolist() == outside[...].tolist() == X.tolist()


def test_what_is_compiled_ahead_writes_when_it_is_called():
    outside = jx.new_ref(1.0)

    def step(state, x, scale):
        state["w"].addupdate(x * scale)
        outside[...] *= 2.0
        return {"y": state["w"][0] + outside[...]}

    state = {"w": jx.new_ref(X), "b": jnp.ones(2)}
    stage = jx.jit(step, static_argnums=2).trace(state, X, 3)
    assert (stage.out_info["y"].shape, stage.in_tree.num_leaves) == ((), 3)
    assert [str(aval) for aval in jx.tree.leaves(stage.in_avals)] == [
        "float32[2]",
        "Ref{f32[3]}",
        "float32[3]",
    ]
    compiled = stage.lower().compile()
    for turn in (1, 2):
        assert compiled(state, X)["y"].item() == 0.5 + turn * 1.5 + 2.0**turn
    assert state["w"][...].tolist() == (7 * X).tolist()
    assert jx.tree.structure(compiled.output_shardings) is not None
    with pytest.raises(TypeError, match="another structure"):
        compiled(X, X)
    with pytest.raises(RefError, match="twice: as a1 and as a0"):
        jx.jit(lambda a0, a1: a0[0] + a1[0]).lower(outside, outside)


def test_views_draw_references():
    jitted, ref = jx.jit(by_argument), jx.new_ref(X)
    stage = jitted.trace(ref, X)
    found = outline(stage, function=jitted)
    assert found.program.head == "; ref:Ref{f32[3]} x:f32[3]"
    sets = [one for _, one in found.walk() if one.primitive == "set"]
    assert [one.operands[0] for one in sets] == ["ref", "ref"]
    assert sets[0].parameters == "[index=[0]]"
    assert sets[0].line == by_argument.__code__.co_firstlineno + 1
    drawn = stages(stage, function=jitted)
    assert "addupdate ref x" in str(drawn.program)
    assert any("stablehlo.add" in line.text for line in drawn.stablehlo)
    assert passes(stage, function=jitted).steps


def by_reading_and_writing(ref, x):
    ref[0] = jnp.sin(ref[1]) * x[0]
    return ref[...] * x


def by_jit(ref, x):
    return jx.jit(by_reading_and_writing)(ref, x)


def by_scan(ref, x):
    def turn(carry, element):
        ref[...] = jnp.sin(ref[...]) * element
        return carry * ref[0], ref[1]

    return lax.scan(turn, x[0], x)


def by_reading(ref, x):
    return ref[...] * x


@pytest.mark.parametrize("use", [by_reading_and_writing, by_jit, by_scan, by_reading])
@pytest.mark.parametrize("around", [lambda f: f, jx.jit], ids=["eagerly", "jit"])
def test_forward_derivatives_go_along_with_references(use, around):
    def purely(held, x):
        ref = jx.new_ref(held)
        result = use(ref, x)
        return result, jx.freeze(ref)

    points, along = (X, X + 1.0), (2.0 * X, X - 3.0)
    (value, after), (tangent, after_tangent) = jx.jvp(purely, points, along)
    ref, slope = jx.new_ref(points[0]), jx.new_ref(along[0])
    run = around(lambda ref, slope: jx.jvp(use, (ref, points[1]), (slope, along[1])))
    found = run(ref, slope)
    jx.tree.map(np.testing.assert_allclose, found, (value, tangent))
    np.testing.assert_allclose(ref[...], after, rtol=1e-6)
    np.testing.assert_allclose(slope[...], after_tangent, rtol=1e-6)


def test_jvp_with_a_reference_and_something_beside_the_value():
    ref, slope = jx.new_ref(2.0), jx.new_ref(10.0)
    value, tangent, aux = jx.jvp(lambda r: (r[...] ** 2, "aux"), (ref,), (slope,), has_aux=True)
    assert (value.item(), tangent.item(), aux) == (4.0, 40.0, "aux")
    with pytest.raises(TypeError, match=r"as tangents\[0\]: jxkernel.new_ref\(tangent\)"):
        jx.jvp(lambda r: r[...], (ref,), (1.0,))
    with pytest.raises(TypeError, match="of one structure"):
        jx.jvp(lambda r: r[...], (ref,), ([slope],))
    with pytest.raises(RefError, match=r"twice: as tangents\[0\] and as primals\[0\]"):
        jx.jvp(lambda r: r[...], (ref,), (ref,))


@pytest.mark.parametrize("use", [by_reading_and_writing, by_jit, by_scan, by_reading])
@pytest.mark.parametrize("around", [lambda f: f, jx.jit], ids=["eagerly", "jit"])
def test_linearizations_write_tangents_to_references(use, around):
    points, along = (X, X + 1.0), (2.0 * X, X - 3.0)
    expected_ref, expected_slope = jx.new_ref(points[0]), jx.new_ref(along[0])
    expected = jx.jvp(use, (expected_ref, points[1]), (expected_slope, along[1]))
    ref, slope = jx.new_ref(points[0]), jx.new_ref(along[0])

    value, linear = around(lambda ref: jx.linearize(use, ref, points[1]))(ref)
    tangent = linear(slope, along[1])
    jx.tree.map(_assert_close, (value, tangent), expected)
    np.testing.assert_allclose(ref[...], expected_ref[...], rtol=1e-6)
    np.testing.assert_allclose(slope[...], expected_slope[...], rtol=1e-6)
    with pytest.raises(TypeError, match=r"linearization of by_\w+ needs .* as tangents\[0\]: jxk"):
        linear(along[0], along[1])
    with pytest.raises(TypeError, match="structure"):
        linear([slope], along[1])


@pytest.mark.parametrize("use", [by_reading_and_writing, by_jit, by_scan, by_reading])
@pytest.mark.parametrize("around", [lambda f: f, jx.jit], ids=["eagerly", "jit"])
def test_ways_back_take_and_leave_cotangents_in_references(use, around):
    def purely(held, x):
        ref = jx.new_ref(held)
        result = use(ref, x)
        return result, jx.freeze(ref)

    value, pullback = jx.vjp(purely, X, X + 1.0)
    after = X - 3.0
    ones = jx.tree.map(jnp.ones_like, value[0])
    ct_before, ct_x = pullback((ones, after))
    ref, gradient = jx.new_ref(X), jx.new_ref(after)

    found, back = around(lambda ref: jx.vjp(use, ref, X + 1.0))(ref)
    jx.tree.map(_assert_close, (found, ref[...]), value)
    pulled = back.with_refs(gradient, jx.ad.GradValue())(ones)
    assert pulled[0] == jx.ad.GradRef()
    np.testing.assert_allclose(pulled[1], ct_x, rtol=1e-6)
    np.testing.assert_allclose(gradient[...], ct_before, rtol=1e-6)
    # Where nobody says what follows from the array afterwards, nothing does.
    dropped, of_x = back.with_refs(jx.ad.DontWant(), jx.ad.GradValue())(ones)
    assert dropped == jx.ad.DidntWant()
    np.testing.assert_allclose(of_x, pullback((ones, jnp.zeros(3)))[1], rtol=1e-6)


def test_second_derivatives_through_a_way_back_of_references():
    def f(ref, x):
        ref[...] = ref[...] * x
        return jnp.sum(ref[...])

    def h(x):
        ref, gradient = jx.new_ref(jnp.arange(3.0) * x), jx.new_ref(jnp.zeros(3))
        _, pullback = jx.vjp(f, ref, x)
        slope = pullback.with_refs(gradient, jx.ad.GradValue())(1.0)[1]
        return slope + jnp.sum(gradient[...] ** 2)

    # 3 x from the slope and 3 x^2 from the reference.
    assert jx.grad(h)(2.0).item() == 15.0


def test_vjp_with_references_of_keys_integers_and_something_beside_the_value():
    key, count = jx.new_ref(jx.random.key(0)), jx.new_ref(jnp.arange(3))

    def f(refs, x):
        return x * jx.random.normal(refs["key"][...]) * refs["count"][1], "aux"

    value, pullback, aux = jx.vjp(f, {"key": key, "count": count}, 2.0, has_aux=True)
    unwanted = {"key": jx.ad.DontWant(), "count": jx.ad.DontWant()}
    slope = pullback.with_refs(unwanted, jx.ad.GradValue())(1.0)[1]
    assert aux == "aux"
    np.testing.assert_allclose(2.0 * slope, value, rtol=1e-6)


def test_what_a_way_back_of_references_refuses():
    _, pullback = jx.vjp(lambda p: jnp.sum(p["a"][...] * p["b"][...]), {"a": _held(), "b": _held()})
    with pytest.raises(ValueError, match=r"args\[0\]\['a'\] is a reference, whose gradient is in"):
        pullback(1.0)
    with pytest.raises(ValueError, match=r"args\[0\]\['b'\] is a reference, whose gradient is in"):
        pullback.with_refs({"a": _held(), "b": jx.ad.GradValue()})
    with pytest.raises(
        ValueError, match=r"gradients of type f32\[3\], and with_refs got one of type"
    ):
        pullback.with_refs({"a": jx.new_ref(1.0), "b": _held()})
    one = _held()
    with pytest.raises(RefError, match=r"twice: as args\[0\]\['b'\] and as args\[0\]\['a'\]"):
        pullback.with_refs({"a": one, "b": one})
    with pytest.raises(RefError, match=r"vjp of f .* twice: as args\[1\] and as args\[0\]"):
        jx.vjp(_f, one, one)
    with pytest.raises(RefError, match=r"linearize of f .* twice: as args\[1\] and as args\[0\]"):
        jx.linearize(_f, one, one)
    for derivative in (jx.grad, jx.jacrev, jx.jacfwd):
        with pytest.raises(TypeError, match="by a reference, which is in a reference itself"):
            derivative(lambda ref: ref[...])(one)


def _assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def _held():
    return jx.new_ref(X)


def test_a_checkpointed_function_takes_references():
    @jx.checkpoint(static_argnums=2)
    def f(ref, x, times):
        ref[...] += times
        return jnp.sum(jnp.sin(x) * ref[...])

    ref = jx.new_ref(X)
    assert f(ref, X, 2).shape == ()
    slope = jx.jit(jx.grad(lambda x: f(ref, x, 1)))(X)
    np.testing.assert_allclose(slope, np.cos(X) * (X + 3.0), rtol=1e-6)
    assert ref[...].tolist() == (X + 3.0).tolist()


def test_what_shares_a_reference_is_refused_where_values_go_along():
    rows = jx.new_ref(jnp.zeros((2, 3)))
    with pytest.raises(RefError, match=r"vmap of f .* twice: as args\[1\] and as args\[0\]"):
        jx.vmap(_f)(rows, rows)
    with pytest.raises(RefError, match="that all examples share was given a value that differs"):
        jx.vmap(lambda r, x: r.set(x, 0), in_axes=(None, 0))(jx.new_ref(X), X)
    run = jx.shard_map(
        _f, mesh=jx.make_mesh((1,), ("x",)), in_specs=(jx.P(), jx.P()), out_specs=jx.P()
    )
    with pytest.raises(RefError, match=r"shard_map of f .* twice: as args\[1\] and as args\[0\]"):
        run(rows, rows)


def _f(a, b):
    return a[...] + b[...]


_f.__name__ = "f"


@pytest.mark.parametrize("call", [jx.jit, jx.make_jaxpr, jx.checkpoint], ids=lambda f: f.__name__)
def test_a_reference_that_is_returned_is_told_of(call):
    with pytest.raises(TypeError, match=r"what it holds.* ref\[\.\.\.\]"):
        call(lambda x: jx.new_ref(x))(X)


def test_a_mapped_function_reads_a_reference_of_outside():
    outside = jx.new_ref(jnp.arange(3.0))
    mesh = jx.make_mesh((1,), ("x",))
    run = jx.shard_map(lambda x: x + outside[1], mesh=mesh, in_specs=jx.P("x"), out_specs=jx.P("x"))
    assert run(jnp.zeros(2)).tolist() == [1.0, 1.0]
    outside[1] = 7.0
    assert jx.jit(run)(jnp.zeros(2)).tolist() == [7.0, 7.0]


def test_checks_go_with_references():
    outside = jx.new_ref(0.0)

    def f(ref, x):
        ref[0] = x
        outside[...] += 1.0
        checkify.check(x > 0, "{} is not positive", x)
        return ref[1]

    ref = jx.new_ref(X)
    for turn, run in enumerate([checkify.checkify(f), jx.jit(checkify.checkify(f))], 1):
        error, value = run(ref, -4.0)
        assert "-4.0 is not positive" in error.get()
        assert (value.item(), ref[0].item(), outside[...].item()) == (-1.0, -4.0, turn)


def test_what_takes_references_is_not_exported():
    outside = jx.new_ref(1.0)
    with pytest.raises(ValueError, match="takes references or closes over some"):
        jx.export.export(jx.jit(lambda x: x * outside[...]))(2.0)
    inside = jx.export.export(jx.jit(lambda x: jx.freeze(jx.new_ref(x))))(2.0)
    assert inside.call(3.0).item() == 3.0


def test_random_keys_are_written_one_by_one_in_programs():
    keys = jx.random.split(jx.random.key(3), 2)

    def swap(keys):
        ref = jx.new_ref(keys)
        ref[0] = ref[1]
        return jx.random.key_data(ref[...])

    [found] = core.jaxpr_as_fun(jx.make_jaxpr(swap)(keys))(jx.random.key_data(keys))
    assert found.tolist() == [jx.random.key_data(keys)[1].tolist()] * 2
