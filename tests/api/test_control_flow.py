"""Control flow as users call it: structures, types that yield, and what wrong use is told."""

import gc
import weakref

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import config, lax
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.errors import ArgumentTypeError, CarryTypeError

XS = np.arange(4, dtype=np.float32)


# ---------------------------------------------------------------- structures and types


def test_scan_carries_and_stacks_trees():
    carry, ys = lax.scan(
        lambda c, x: ({"sum": c["sum"] + x["a"]}, (x["b"], None, {"c": c["sum"]})),
        {"sum": np.float32(0)},
        {"a": XS, "b": XS[:, None]},
    )
    assert float(carry["sum"]) == 6
    assert ys[0].shape == (4, 1)
    assert ys[1] is None
    np.testing.assert_array_equal(ys[2]["c"], [0, 0, 1, 3])


def test_scan_without_arrays_needs_a_length():
    last, numbers = lax.scan(lambda c, _: (c + 1, c), 0, None, length=3)
    assert int(last) == 3
    np.testing.assert_array_equal(numbers, [0, 1, 2])


@pytest.mark.parametrize(
    ("init", "body", "dtype", "weak"),
    [
        (0, lambda c, x: c + x, np.float32, False),
        (0.0, lambda c, x: c + x, np.float32, False),
        (0, lambda c, x: c + 1, np.int32, True),
        (0, lambda c, x: c * 1.5, np.float32, False),
        (np.int8(0), lambda c, x: c + 1, np.int8, False),
        (np.float32(0), lambda c, x: 1.0, np.float32, False),
    ],
)
def test_a_weak_carry_takes_the_type_that_the_body_gives(init, body, dtype, weak):
    for last in (
        lax.scan(lambda c, x: (body(c, x), None), init, XS)[0],
        jx.jit(lambda: lax.scan(lambda c, x: (body(c, x), None), init, XS)[0])(),
    ):
        assert (last.dtype, last.weak_type) == (dtype, weak)


def test_a_weak_value_of_a_while_loop_yields_too():
    out = lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0] * XS[1], c[1] + 1), (2, 0))
    assert out[0].dtype == np.float32
    assert out[1].weak_type


@pytest.mark.parametrize("as_array", [int, np.int8, jnp.int32])
def test_fori_loop_counts(as_array):
    f = lambda n: lax.fori_loop(as_array(2), n, lambda i, c: c + i, 0)  # noqa: E731
    assert int(f(as_array(6))) == 14
    assert int(jx.jit(f)(as_array(6))) == 14
    assert int(f(as_array(1))) == 0
    assert int(jx.jit(f)(as_array(1))) == 0


@pytest.mark.parametrize("around", [lambda f: f, jx.jit])
def test_numbers_counted_from_a_python_integer_yield_to_other_dtypes(around):
    f = around(lambda n: lax.fori_loop(0, n, lambda i, c: c + i, jnp.int8(0)))
    assert f(jnp.int32(4)).dtype == np.int8


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint8, jnp.uint32])
def test_a_bound_that_is_a_python_number_takes_the_dtype_of_the_other(dtype):
    types = []

    def total(lower, upper):
        def body(i, c):
            types.append(jx.typeof(i))
            return c + i.astype(int)

        return lax.fori_loop(lower, upper, body, 0)

    for bounds in ((0, dtype(4)), (dtype(0), 4)):
        assert int(total(*bounds)) == int(jx.jit(total)(*bounds)) == 6
        assert (types[-1].dtype, types[-1].weak_type) == (dtype, False)
        assert lax.fori_loop(*bounds, lambda i, c: c + i, jnp.int8(0)).dtype == np.int8
    assert int(total(np.int8(0), 300)) == 44850
    with pytest.raises(
        TypeError, match=r"one dtype, got i8\[\] as lower and i32\[\] as upper.*astype"
    ):
        total(np.int8(0), np.int32(3))


@pytest.mark.parametrize(
    ("lower", "upper", "total"),
    [(0.0, 3.0, 3.0), (0.0, 3.5, 6.0), (0.5, 3.0, 4.5), (2.0, 1.0, 0.0), (-1.5, 0.0, -2.0)],
)
def test_fori_loop_counts_from_floats_in_steps_of_one(lower, upper, total):
    def f(lower, upper):
        return lax.fori_loop(lower, upper, lambda i, c: c + i, 0.0)

    assert f(lower, upper).item() == total
    assert f(np.float32(lower), np.float32(upper)).item() == total
    assert jx.jit(f)(lower, upper).item() == total
    assert jx.vmap(f, (None, 0))(lower, np.float32([upper, lower])).tolist() == [total, 0.0]


def test_whole_floats_that_are_known_count_as_integers_do():
    x = jnp.arange(4.0)
    assert lax.fori_loop(1.0, 3.0, lambda i, c: c + x[i], 0.0).item() == 3.0
    assert jx.grad(lambda x: lax.fori_loop(0.0, 3.0, lambda i, c: c * x, 1.0))(2.0).item() == 12.0
    with pytest.raises(OverflowError, match="do not fit int32"):
        lax.fori_loop(0.0, 1e12, lambda i, c: c, 0)


def test_fori_loop_bounds_beyond_int32():
    big = 2**31 + 5
    assert (
        int(lax.fori_loop(np.uint32(big), np.uint32(big + 1), lambda i, c: i, jnp.uint32(0))) == big
    )
    with pytest.raises(OverflowError, match=f"{big - 2} and {big}, which do not fit int32"):
        lax.fori_loop(big - 2, big, lambda i, c: c + 1, 0)
    with config.enable_x64(True):
        assert int(lax.fori_loop(big - 2, big, lambda i, c: c + 1, 0)) == 2
        assert int(jx.jit(lambda n: lax.fori_loop(n - 2, n, lambda i, c: i, n))(big)) == big - 1


def test_map_is_one_at_a_time_or_in_batches():
    calls = []

    def f(x):
        calls.append(x.shape)
        return {"y": x["a"] * 2} if isinstance(x, dict) else x * 2

    np.testing.assert_array_equal(lax.map(f, XS), XS * 2)
    for size in (1, 2, 3, 4, 9):
        np.testing.assert_array_equal(lax.map(f, XS, batch_size=size), XS * 2)
    assert set(calls) == {()}
    close = jx.grad(lambda xs: lax.map(f, xs, batch_size=3).sum())(XS)
    np.testing.assert_array_equal(close, np.full(4, 2))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan_gives_running_results(size, reverse):
    x = np.random.default_rng(size).uniform(0.5, 1.5, (2, size)).astype(np.float32)
    expected = np.cumsum(x[:, ::-1], 1)[:, ::-1] if reverse else np.cumsum(x, 1)

    def add(left, right):
        return {"x": left["x"] + right["x"]}

    out = lax.associative_scan(add, {"x": x}, reverse=reverse, axis=-1)["x"]
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_associative_scan_of_an_operation_that_does_not_commute():
    a = np.random.default_rng(0).uniform(-1, 1, (5, 2, 2)).astype(np.float32)
    running = [a[0]]
    for matrix in a[1:]:
        running.append(running[-1] @ matrix)
    for scan in (lax.associative_scan, jx.jit(lax.associative_scan, static_argnums=0)):
        np.testing.assert_allclose(scan(jnp.matmul, a), np.stack(running), rtol=1e-4, atol=1e-5)
    assert lax.associative_scan(jnp.matmul, a[:0]).shape == (0, 2, 2)


def test_switch_takes_one_operand_by_keyword_too():
    assert float(lax.switch(1, [lambda x: x, lambda x: 2 * x], operand=3.0)) == 6.0
    assert float(lax.cond(True, lambda x: x, lambda x: 2 * x, operand=3.0)) == 3.0


def test_conditions_may_be_numbers():
    assert [int(lax.cond(p, lambda: 1, lambda: 2)) for p in (3, 0, 0.5, np.int8(0))] == [1, 2, 1, 2]
    assert int(lax.cond(XS[1] > 0, lambda x: x, lambda x: -x, operand=5)) == 5


# ---------------------------------------------------------------- traces and memory


def test_remembered_traces_die_with_their_function():
    def make():
        def body(c, x):
            return c + x, None

        lax.scan(body, 0.0, XS)
        lax.while_loop(lambda x: x < 3, lambda x: x + 1, 0)
        return weakref.ref(body)

    body = make()
    gc.collect()
    assert body() is None


def test_a_function_that_lives_on_does_not_keep_those_it_was_used_with():
    def use_once():
        def fresh(x):
            return x * 2

        def pulled(x):
            return lax.cond(x > 0, fresh, jnp.cos, x)

        jx.vmap(jx.grad(pulled))(XS)
        lax.switch(1, [jnp.cos, fresh], 1.0)
        lax.fori_loop(jnp.int32(0), jnp.int32(3), lambda i, c: fresh(c), 1.0)

    def programs():
        gc.collect()
        return sum(type(thing) is ClosedJaxpr for thing in gc.get_objects())

    use_once()
    before = programs()
    for _ in range(3):
        use_once()
    assert programs() == before


def test_clear_caches_forgets_the_bodies():
    count = []

    def body(c, x):
        count.append(1)
        return c, x

    lax.scan(body, np.float32(0), XS)
    jx.clear_caches()
    lax.scan(body, np.float32(0), XS)
    assert len(count) == 2


def test_a_trace_made_under_another_setting_is_not_reused():
    def body(c, x):
        return c + x, c

    assert lax.scan(body, 0.0, np.arange(3.0))[0].dtype == np.float32
    with config.enable_x64(True):
        assert lax.scan(body, 0.0, np.arange(3.0))[0].dtype == np.float64


def test_disable_jit_runs_bodies_in_python():
    seen = []

    def body(c, x):
        seen.append(float(c))
        return c + x, c

    with config.disable_jit(True):
        last, ys = lax.scan(body, 0.0, XS, reverse=True)
        assert seen == [0.0, 3.0, 5.0, 6.0]
        np.testing.assert_array_equal(ys, [6, 5, 3, 0])
        assert float(last) == 6
        assert lax.while_loop(lambda x: bool(x < 3), lambda x: x + 1, 0) == 3
        assert lax.cond(True, lambda x: float(x), lambda x: x, 2.0) == 2.0
        assert lax.switch(9, [lambda x: 0, lambda x: float(x)], 2.0) == 2.0
        assert float(lax.fori_loop(0, 3, lambda i, x: x + float(i), 0.0)) == 3.0
    assert float(jx.grad(lambda x: lax.fori_loop(0, 2, lambda i, c: c * x, 1.0))(3.0)) == 6.0


# ---------------------------------------------------------------- wrong use

BAD_CARRIES = [
    (
        {"a": XS, "b": 0.0},
        lambda c: {"a": c["a"], "b": c["b"] > 0},
        "carry['b']",
        "f32[]",
        "bool[]",
    ),
    ((XS, (np.int8(1),)), lambda c: (c[0], (1.5,)), "carry[1][0]", "i8[]", "f32[]"),
    (XS, lambda c: c[:2], "carry", "f32[4]", "f32[2]"),
    (np.float32(0), lambda c: c + 1j, "carry", "f32[]", "c64[]"),
    ({"a": 0.0}, lambda c: {"b": c["a"]}, "carry", "['a']", "['b']"),
    ((0.0, 0.0), lambda c: [c[0], c[1]], "carry", "a tuple of length 2", "a list of length 2"),
    ((0.0, 0.0), lambda c: c[0], "carry", "a tuple of length 2", "one value"),
    ((0.0, (0.0,)), lambda c: (c[0], None), "carry[1]", "a tuple", "None"),
]


def test_a_number_takes_the_dtype_of_the_leaf_it_changes_places_with():
    swapped = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[1], c[0] + 1), (np.float16(1), 2.0))
    assert [x.dtype.name for x in swapped] == ["float16", "float16"]
    assert [x.item() for x in swapped] == [3.0, 3.0]


@pytest.mark.parametrize(("init", "body", "path", "before", "after"), BAD_CARRIES)
def test_a_carry_that_changes_is_named_with_both_types(init, body, path, before, after):
    with pytest.raises(CarryTypeError) as caught:
        lax.scan(lambda c, x: (body(c), None), init, XS)
    error = caught.value
    assert (error.loop, error.path) == ("scan", path)
    assert before in error.before
    assert after in error.after
    assert "a leaf of type" not in error.after
    with pytest.raises(CarryTypeError) as caught:
        lax.while_loop(lambda c: True, body, init)
    assert caught.value.path == path.replace("carry", "val")
    for n in (3, jnp.int32(3)):
        with pytest.raises(CarryTypeError) as caught:
            jx.jit(lambda n: lax.fori_loop(0, n, lambda i, c: body(c), init))(n)
        assert (caught.value.loop, caught.value.path) == ("fori_loop", path.replace("carry", "val"))
        assert __file__ in caught.value.where


def test_the_cast_that_mends_a_carry_is_told():
    with pytest.raises(CarryTypeError, match=r"carry\.astype\('int8'\)"):
        lax.scan(lambda c, x: (c + x, None), np.int8(0), XS)
    with pytest.raises(CarryTypeError, match=r"jnp\.broadcast_to\(carry, \(4,\)\)"):
        lax.scan(lambda c, x: (c + XS, None), 0.0, XS)


def pair(c, x):
    return c, x


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lax.scan(3, 0.0, XS), TypeError, "scan needs a callable as f, got 3"),
        (lambda: lax.scan(lambda c, x: c, 0.0, XS), TypeError, r"return a pair \(carry, y\)"),
        (lambda: lax.scan(lambda c, x: {1: c, 2: x}, 0.0, XS), TypeError, r"return a pair"),
        (lambda: lax.scan(pair, "text", XS), ArgumentTypeError, "given 'text' .* as carry"),
        (lambda: lax.scan(pair, 0.0, {"a": "text"}), ArgumentTypeError, r"as xs\['a'\]"),
        (lambda: lax.scan(pair, 0.0, (XS, XS[:2])), ValueError, r"xs\[0\] has 4, xs\[1\] has 2"),
        (lambda: lax.scan(pair, 0.0, XS, length=3), ValueError, "xs has 4, length is 3"),
        (lambda: lax.scan(pair, 0.0, {"a": 1.0}), ValueError, r"xs\['a'\] is a scalar"),
        (lambda: lax.scan(pair, 0.0), ValueError, "neither arrays to scan over nor a length"),
        (lambda: lax.scan(pair, 0.0, length=-1), ValueError, "length -1: it is not negative"),
        (lambda: lax.scan(pair, 0.0, XS, unroll=-1), ValueError, "unroll=-1: it is a number of tu"),
        (lambda: lax.scan(pair, 0.0, XS, unroll=1.5), TypeError, "an integer as unroll, got 1.5"),
        (lambda: lax.scan(pair, 0.0, length=2.0), TypeError, "an integer as length, got 2.0"),
        (lambda: lax.scan(lambda c, x: (c, "s"), 0.0, XS), TypeError, r"got 's'.*at result\[1\]"),
        (lambda: lax.map(3, XS), TypeError, "map needs a callable as f"),
        (lambda: lax.map(jnp.sin, XS, batch_size=0), ValueError, "batch_size=0"),
        (lambda: lax.while_loop(3, pair, 0), TypeError, "a callable as cond_fun"),
        (lambda: lax.while_loop(pair, 3, 0), TypeError, "a callable as body_fun"),
        (
            lambda: lax.while_loop(lambda x: x, lambda x: x, 0),
            TypeError,
            r"needs <lambda> to return a boolean scalar, got i32\[\]",
        ),
        (
            lambda: lax.while_loop(lambda x: x < 3, lambda x: x, XS),
            TypeError,
            r"got bool\[4\]: reduce it with \.all\(\) or \.any\(\)",
        ),
        (lambda: lax.while_loop(lambda x: (True,), lambda x: x, 0), TypeError, "of structure"),
        (
            lambda: lax.fori_loop(0.5, 3, pair, 0),
            TypeError,
            r"one dtype, got f32\[\] as lower and i32\[\] as upper",
        ),
        (
            lambda: lax.fori_loop(0, XS, pair, 0),
            TypeError,
            r"real scalar as upper, got f32\[4\]",
        ),
        (lambda: lax.fori_loop(0, 3, 3, 0), TypeError, "a callable as body_fun"),
        (
            lambda: jx.jit(lambda n: lax.fori_loop(0, n, pair, 0, unroll=2))(3),
            ValueError,
            "unroll only where both bounds are known",
        ),
        (
            lambda: jx.jit(lambda n: lax.fori_loop(0, n, pair, 0, unroll=0))(3),
            ValueError,
            "unroll only where both bounds are known",
        ),
        (lambda: lax.cond(XS, pair, pair), TypeError, r"scalar condition, got f32\[4\].*jnp.where"),
        (lambda: lax.cond("text", pair, pair), TypeError, "scalar condition, got 'text'"),
        (lambda: lax.cond(1j, pair, pair), TypeError, r"a real number as condition, got c\d+\[\]"),
        (lambda: lax.cond(True, 3, pair), TypeError, "a callable as true_fun, got 3"),
        (lambda: lax.cond(True, pair, 3), TypeError, "a callable as false_fun, got 3"),
        (
            lambda: lax.cond(True, lambda x: (x, x), lambda x: [x, x], 1.0),
            TypeError,
            r"results have one structure.*false_fun \(<lambda>\) has a list.*true_fun",
        ),
        (
            lambda: lax.cond(True, lambda: {"a": XS}, lambda: {"a": XS[:2]}),
            TypeError,
            r"one type at result\['a'\]: got f32\[2\] from false_fun .*f32\[4\] from true_fun",
        ),
        (lambda: lax.cond(True, lambda: np.int8(1), lambda: np.int16(1)), TypeError, "i8.*astype"),
        (lambda: lax.cond(True, pair, pair, "text", 1), ArgumentTypeError, r"as operands\[0\]"),
        (lambda: lax.switch(0, []), ValueError, "at least one branch"),
        (lambda: lax.switch(True, [pair, pair]), TypeError, r"got bool\[\]: use cond"),
        (lambda: lax.switch(0.5, [pair, pair]), TypeError, r"integer scalar as index, got f32\[\]"),
        (lambda: lax.switch(0, [pair, 3]), TypeError, r"a callable as branches\[1\], got 3"),
        (
            lambda: lax.associative_scan(jnp.add, (XS, XS[:2])),
            ValueError,
            r"sizes \[4, 2\] along axis 0",
        ),
        (lambda: lax.associative_scan(jnp.add, XS, axis=1), ValueError, "axis 1"),
    ],
)
def test_wrong_use_says_what_to_write_instead(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("around", [lambda f: f, jx.grad, jx.jit])
def test_an_exception_in_a_body_leaves_traces_and_caches_whole(around):
    fails = [True]

    def body(c, x):
        if fails.pop():
            raise RuntimeError("half-way")
        return c + x, None

    f = around(lambda c: lax.scan(body, c, XS)[0])
    with pytest.raises(RuntimeError, match="half-way"):
        f(np.float32(0))
    fails.append(False)
    assert float(f(np.float32(0))) == (1 if around is jx.grad else 6)
    assert float(jx.jit(lambda x: x + 1)(2.0)) == 3


@pytest.mark.parametrize(
    ("first", "second", "types"),
    [
        (1, 1.0, ("i32", "f32")),
        (1, jnp.float32(1), ("i32", "f32")),
        (1.0, jnp.float16(1), ("f32", "f16")),
        (1, jnp.int8(1), ("i32", "i8")),
        (1.0, 1j, ("f32", "c64")),
        (True, 1, ("bool", "i32")),
    ],
)
def test_branches_have_one_dtype(first, second, types):
    for one, other in ((first, second), (second, first)):
        with pytest.raises(TypeError, match=r"branches whose results have one type.*astype"):
            lax.cond(True, lambda: one, lambda: other)  # noqa: B023
        with pytest.raises(TypeError, match=rf"got {types[0]}\[\] from .*{types[1]}\[\] from"):
            lax.switch(0, [lambda: first, lambda: second])


def test_a_weak_branch_beside_a_strong_one_of_its_dtype_yields():
    out = lax.cond(True, lambda: 1.0, lambda: jnp.float32(1))
    assert (out.dtype, out.weak_type) == (np.float32, False)
    assert lax.switch(0, [lambda: 1.0, lambda: 2.0]).weak_type


def test_a_body_may_return_its_pair_as_a_list():
    assert [int(x) for x in lax.scan(lambda c, x: [c + 1, None], 0, XS)[:1]] == [4]


@pytest.mark.parametrize("unroll", [0, True])
def test_all_turns_may_be_written_out(unroll):
    def counted(x):
        return lax.fori_loop(0, 4, lambda i, c: jnp.sin(c), x, unroll=unroll)

    def scanned(x):
        return lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=4, unroll=unroll)

    for f in (counted, scanned):
        assert jx.jit(f).lower(1.0).as_text().count("stablehlo.sine") == 4


@pytest.mark.parametrize("unroll", [False, 1])
def test_loops_with_traced_bounds_take_single_turns(unroll):
    doubled = jx.jit(lambda n: lax.fori_loop(0, n, lambda i, x: x * 2 + i, 1, unroll=unroll))
    assert doubled(4) == 27


def test_scan_takes_the_private_argument_of_libraries():
    total, _ = lax.scan(lambda c, x: (c + x, None), 0.0, XS, _split_transpose=True)
    np.testing.assert_allclose(total, XS.sum(0), rtol=1e-6)
