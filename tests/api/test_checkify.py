"""``checkify``: checks as values, through every transform, with the user's line in the message."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.experimental import checkify as ck


def positive(x):
    ck.check(x > 0, "{} is not positive, twice is {y}", x, y=x * 2)
    return jnp.sin(x)


def first_line(error):
    message = error.get()
    return None if message is None else message.splitlines()[0]


FAILS = "-1.0 is not positive, twice is -2.0 (`check` failed)"


def scanned(x):
    def body(c, r):
        ck.check(r < 2, "turn {}", r)
        return c + r, c

    return lax.scan(body, x, jnp.arange(4.0))[0]


def looped(x):
    return lax.fori_loop(0, 4, lambda i, c: (ck.check(i < 2, "turn {}", i), c + x)[1], x)


def counted(x):
    def condition(s):
        ck.check(s < 3, "condition {}", s)
        return s < 5

    def body(s):
        ck.check(s != 1, "body {}", s)
        return s + 1

    return lax.while_loop(condition, body, x)


def chosen(x):
    def big(x):
        ck.check(x < 2, "big {}", x)
        return x

    return lax.cond(x > 0, big, lambda x: -x, x)


def switched(i):
    return lax.switch(i, [lambda: 0.0, lambda: (ck.check(i < 0, "one"), 1.0)[1]])


CASES = [
    ("eager", positive, -1.0, FAILS),
    ("no failure", positive, 1.0, None),
    ("jit", jx.jit(positive), -1.0, FAILS),
    ("nested jit", lambda x: jx.jit(positive)(x) + jx.jit(positive)(x + 5), -1.0, FAILS),
    ("grad", jx.grad(positive), -1.0, FAILS),
    ("grad of jit", jx.grad(jx.jit(positive)), -1.0, FAILS),
    ("checkpoint", jx.checkpoint(positive), -1.0, FAILS),
    ("grad of checkpoint", jx.grad(jx.checkpoint(positive)), -1.0, FAILS),
    ("scan", scanned, 0.0, "turn 2.0 (`check` failed)"),
    ("grad of scan", jx.grad(scanned), 0.0, "turn 2.0 (`check` failed)"),
    ("fori_loop", looped, 0.0, "turn 2 (`check` failed)"),
    ("while condition", counted, 2, "condition 3 (`check` failed)"),
    ("while body", counted, 0, "body 1 (`check` failed)"),
    ("branch taken", chosen, 3.0, "big 3.0 (`check` failed)"),
    ("branch not taken", chosen, -3.0, None),
    ("switch", switched, 1, "one (`check` failed)"),
]


@pytest.mark.parametrize(
    ("function", "x", "message"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_a_check_is_found_wherever_it_stands(function, x, message):
    checked = ck.checkify(function)
    error, _ = checked(x)
    assert first_line(error) == message
    error, y = jx.jit(checked)(x)
    assert first_line(error) == message
    if message is None:
        np.testing.assert_allclose(y, jx.jit(ck.checkify(function))(x)[1])


def test_the_message_shows_the_line():
    error, _ = ck.checkify(positive)(-1.0)
    assert f"{__file__}:{positive.__code__.co_firstlineno + 1}, in positive" in error.get()
    assert 'ck.check(x > 0, "{} is not positive' in error.get()


def test_batches_say_which_example():
    x = jnp.arange(3.0) - 1.0
    outside, y = jx.vmap(ck.checkify(positive))(x)
    assert [line for line in outside.get().splitlines() if line.startswith("at mapped")] == [
        f"at mapped index 0: {FAILS}",
        "at mapped index 1: 0.0 is not positive, twice is 0.0 (`check` failed)",
    ]
    np.testing.assert_allclose(y, np.sin(x), rtol=1e-6)
    inside, _ = jx.jit(ck.checkify(jx.vmap(positive)))(x)
    assert first_line(inside) == f"{FAILS}, at mapped index 0"
    twice, _ = ck.checkify(jx.vmap(jx.vmap(positive)))(jnp.array([[1.0, 2.0], [3.0, -1.0]]))
    assert first_line(twice) == f"{FAILS}, at mapped index 1, 1"


def positive_row(x):
    ck.check(jnp.all(x > 0), "row {}", x.sum())
    return x * 2


def counted_down(x):
    def body(i, c):
        ck.check(jnp.all(c > 0), "round {}", i)
        return c - 1

    x = lax.fori_loop(0, 2, body, x)
    return lax.while_loop(lambda c: jnp.any(c > 3), lambda c: body(2, c), x)


def chosen_by_device(x):
    def shown(x):
        ck.check(jnp.all(x > 0), "device {}", lax.axis_index(("x", "y")))
        return x + 0

    return lax.cond(lax.axis_index("x") > 1, shown, lambda x: x - 0, x)


ON_DEVICES = {
    positive_row: (lambda x: x * 2, "row -1.0 (`check` failed)"),
    counted_down: (lambda x: x * 0 + 3, "round 0 (`check` failed)"),
    chosen_by_device: (lambda x: x, "device 5 (`check` failed)"),
    lambda x: 1 / (x + 1): (lambda x: 1 / (x + 1), "division by zero"),
}


@pytest.mark.parametrize("check_vma", [True, False])
@pytest.mark.parametrize("function", ON_DEVICES, ids=["row", "loops", "branch", "quotient"])
def test_devices_have_checks_of_their_own(function, check_vma, mesh):
    spec, (expected, message) = jx.P(("x", "y")), ON_DEVICES[function]
    mapped = jx.shard_map(function, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=check_vma)
    checked = ck.checkify(mapped, errors=ck.all_checks)
    x = jnp.arange(5.0, 13.0)
    for call in (checked, jx.jit(checked)):
        error, out = call(x)
        assert error.get() is None
        np.testing.assert_allclose(out, expected(np.asarray(x)), rtol=1e-6)
        error, _ = call(x.at[5].set(-1.0).at[7].set(-3.0))
        assert first_line(error) == message
    error, _ = ck.checkify(lambda x: (ck.check(x[0] > 9, "before"), mapped(x))[1])(-x)
    assert first_line(error) == "before (`check` failed)"


@pytest.mark.parametrize("check_vma", [True, False])
def test_checks_of_devices_inside_others(check_vma, mesh):
    def halves(x):
        mesh = jx.sharding.get_abstract_mesh()
        spec = jx.P("y")
        return jx.shard_map(positive_row, mesh=mesh, in_specs=spec, out_specs=spec)(x)

    spec = jx.P("x")
    mapped = jx.shard_map(
        halves, mesh=mesh, in_specs=spec, out_specs=spec, axis_names={"x"}, check_vma=check_vma
    )
    checked = jx.jit(ck.checkify(mapped))
    x = jnp.arange(1.0, 17.0)
    error, out = checked(x)
    assert error.get() is None
    np.testing.assert_array_equal(out, x * 2)
    assert first_line(checked(x.at[14].set(-20.0))[0]) == "row -4.0 (`check` failed)"


def test_checks_of_a_pmapped_function_and_of_its_gradient(eight_devices):
    x = jnp.array([1.0, 2.0, -1.0, -2.0])
    error, y = ck.checkify(jx.pmap(positive))(x)
    assert first_line(error) == FAILS
    np.testing.assert_allclose(y, np.sin(x), rtol=1e-6)
    assert ck.checkify(jx.pmap(positive))(jnp.abs(x))[0].get() is None
    error, slope = ck.checkify(jx.grad(lambda x: jx.pmap(positive)(x).sum()))(x)
    assert first_line(error) == FAILS
    np.testing.assert_allclose(slope, np.cos(x), rtol=1e-6)


def test_branches_that_examples_choose_apart():
    def body(c, row):
        return c, jx.vmap(ck.checkify(chosen))(row)

    _, (error, _) = lax.scan(body, 0, jnp.array([[1.0, -1.0], [-5.0, 1.5]]))
    assert error.get() is None
    _, (error, y) = jx.jit(lambda x: lax.scan(body, 0, x))(jnp.array([[1.0, -1.0], [-5.0, 3.0]]))
    assert first_line(error) == "at mapped index 1, 1: big 3.0 (`check` failed)"
    np.testing.assert_array_equal(y, [[1, 1], [5, 3]])
    with pytest.raises(NotImplementedError, match="a branch that has the effect check"):
        ck.checkify(jx.vmap(chosen))(jnp.array([1.0, -1.0]))


X = np.arange(3.0)
AUTOMATIC = [
    (ck.nan_checks, jnp.log, (-1.0,), "nan generated by primitive: log."),
    (
        ck.nan_checks,
        jx.jit(lambda x: jnp.log(x) * 0.0),
        (-1.0,),
        "nan generated by primitive: log",
    ),
    (ck.nan_checks, jnp.log, (0.0,), None),
    (ck.div_checks, lambda x, y: x / y, (1.0, 0.0), "division by zero"),
    (ck.div_checks, lambda x, y: x // y, (1, 0), "division by zero"),
    (ck.div_checks, lambda x, y: x % y, (1, 0), "division by zero"),
    (ck.float_checks, lambda x, y: x / y, (0.0, 0.0), "nan generated by primitive: div."),
    (
        ck.index_checks,
        lambda x, i: x[i],
        (X, 5),
        "out-of-bounds indexing for array of shape (3,): index 5 is out of bounds for axis 0 with "
        "size 3.",
    ),
    (ck.index_checks, lambda x, i: x[i], (X, -1), None),
    (ck.index_checks, lambda x, i: x[i], (X, np.array([1, 7])), "index 7 is out of"),
    (ck.index_checks, lambda x, i: x[0, i], (np.ones((2, 3)), np.array([4])), "axis 1 with size 3"),
    (ck.index_checks, lambda x, i: x.at[i].set(0.0), (X, np.array([7])), "index 7"),
    (ck.index_checks, lambda x, i: x.at[i].add(1.0), (X, np.array([2])), None),
    (
        ck.index_checks,
        lambda x, i: lax.dynamic_slice(x, (i,), (2,)),
        (X, 2),
        "index 2",
    ),
    (ck.index_checks, lambda x, i: x[i], (X, np.uint8(200)), "index 200"),
    (ck.automatic_checks, positive, (-1.0,), None),
    (ck.all_checks, positive, (-1.0,), FAILS),
    (frozenset(), positive, (-1.0,), None),
]


@pytest.mark.parametrize(("errors", "function", "args", "message"), AUTOMATIC)
def test_automatic_checks(errors, function, args, message):
    error, y = jx.jit(ck.checkify(function, errors=errors))(*args)
    found = error.get()
    assert (found is None) if message is None else (message in found)
    assert y is not None


def test_sets_of_categories_join():
    assert ck.float_checks == ck.nan_checks | ck.div_checks
    assert ck.all_checks == ck.automatic_checks | ck.user_checks
    assert ck.automatic_checks == ck.float_checks | ck.index_checks
    with pytest.raises(TypeError, match="takes a set of categories such as user_checks"):
        ck.checkify(positive, errors={"nan"})


def test_the_first_failure_counts():
    def f(x):
        ck.check(x > 1, "first")
        ck.check(x > 0, "second")

    assert first_line(ck.checkify(f)(-1.0)[0]) == "first (`check` failed)"


def test_the_derivative_of_a_checked_function_is_that_of_the_function():
    checked = ck.checkify(positive, errors=ck.all_checks)
    np.testing.assert_allclose(jx.grad(lambda x: checked(x)[1])(1.0), np.cos(1.0), rtol=1e-6)
    (gradient, error) = jx.grad(lambda x: checked(x)[::-1], has_aux=True)(-1.0)
    assert "-1.0 is not positive" in error.get()
    np.testing.assert_allclose(gradient, np.cos(1.0), rtol=1e-6)


def test_custom_rules_are_kept():
    def square(x):
        ck.check(x > 0, "{}", x)
        return x * x

    forward = jx.custom_jvp(square)
    forward.defjvp(lambda primals, t: (forward(*primals), 3.0 * primals[0] * t[0]))
    backward = jx.custom_vjp(square)
    backward.defvjp(lambda x: (backward(x), x), lambda x, ct: (5.0 * x * ct,))
    for function, slope in ((forward, 3.0), (backward, 5.0)):
        checked = ck.checkify(lambda x, f=function: f(x))
        assert first_line(checked(-1.0)[0]) == "-1.0 (`check` failed)"
        assert jx.jit(jx.grad(lambda x, f=checked: f(x)[1]))(2.0) == 2.0 * slope
        assert first_line(ck.checkify(jx.grad(function))(-1.0)[0]) == "-1.0 (`check` failed)"


def test_throw_raises_a_value_error():
    error, _ = ck.checkify(positive)(-1.0)
    with pytest.raises(ck.JaxRuntimeError, match=r"-1\.0 is not positive") as caught:
        error.throw()
    assert isinstance(caught.value, ValueError)
    assert str(error.get_exception()) == str(caught.value)
    fine, _ = ck.checkify(positive)(1.0)
    fine.throw()
    assert fine.get_exception() is None
    assert ck.init_error.get() is None
    assert repr(fine) == "Error(None)"


def test_an_error_is_handed_on_or_raised():
    def outer(x):
        error, y = ck.checkify(positive)(x)
        ck.check_error(error)
        return y

    assert "-1.0 is not positive" in ck.checkify(outer)(-1.0)[0].get()
    assert ck.checkify(outer)(1.0)[0].get() is None
    with pytest.raises(ValueError, match=r"-1\.0 is not positive"):
        outer(-1.0)
    with pytest.raises(TypeError, match="check_error takes an Error, got 3"):
        ck.check_error(3)


def test_a_check_that_nothing_looks_at():
    assert positive(1.0) is not None
    with pytest.raises(ValueError, match=r"-1\.0 is not positive"):
        positive(-1.0)
    with pytest.raises(ValueError, match=r"failed\), at mapped index 1"):
        jx.vmap(positive)(jnp.array([1.0, -1.0]))
    line = positive.__code__.co_firstlineno + 1
    with pytest.raises(ValueError, match=rf"test_checkify.py:{line}\): a compiled program cannot"):
        jx.jit(positive)(1.0)


def test_debug_checks_are_left_out_where_nothing_looks():
    def f(x):
        ck.debug_check(x > 0, "debug {}", x)
        return x

    assert f(-1.0) == jx.jit(f)(-1.0) == -1.0
    assert jx.vmap(f)(jnp.array([-1.0])) == -1.0
    assert first_line(ck.checkify(f)(-1.0)[0]) == "debug -1.0 (`check` failed)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ck.check(1, "x"), r"takes a boolean scalar, got i32\[\]"),
        (lambda: ck.check(jnp.ones(2) > 0, "x"), r"got bool\[2\]: reduce an array with .all\(\)"),
        (lambda: ck.check(True, "x", "text"), "got 'text' of type str"),
        (lambda: ck.checkify(3), "checkify needs a callable"),
    ],
)
def test_what_cannot_be_checked_is_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_a_repeated_call_traces_and_compiles_nothing():
    traced = []

    def f(x):
        traced.append(x)
        ck.check(x > 0, "x")
        return x

    checked = jx.jit(ck.checkify(f))
    checked(1.0)
    checked(-1.0)
    assert len(traced) == 1
