"""``while_loop``: forward derivatives, examples that end apart, and the error of the way back."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.errors import ReverseModeError
from tests.higher_order.checks import close, count, names, pruned


def powers(x):
    """Multiply 1 by x until it exceeds 100; return that and the number of turns."""
    return lax.while_loop(
        lambda c: c[0] < 100.0, lambda c: (c[0] * x, c[1] + 1), (jnp.ones_like(x), 0)
    )


def reference(x):
    y, n = 1.0, 0
    while y < 100.0:
        y, n = y * x, n + 1
    return y, n


@pytest.mark.parametrize("x", [2.0, 3.5, 200.0])
def test_values_and_forward_derivatives(x):
    y, n = reference(x)
    close(powers(x), (y, n))
    close(jx.jit(powers)(x), (y, n))
    derivative = n * x ** (n - 1)
    close(jx.jvp(lambda x: powers(x)[0], (x,), (1.0,))[1], derivative)
    close(jx.jacfwd(lambda x: powers(x)[0])(x), derivative)
    close(jx.jit(lambda x: jx.linearize(lambda x: powers(x)[0], x)[1](1.0))(x), derivative)
    close(jx.jacfwd(jx.jacfwd(lambda x: powers(x)[0]))(x), n * (n - 1) * x ** (n - 2))


def test_a_loop_that_never_turns():
    close(lax.while_loop(lambda x: x < 0, lambda x: x * 2.0, 3.0), 3.0)
    close(jx.jvp(lambda x: lax.while_loop(lambda x: x < 0, jnp.sin, x), (3.0,), (2.0,))[1], 2.0)


def test_examples_of_a_batch_end_apart():
    x = np.array([2.0, 3.5, 200.0])
    expected = [reference(v) for v in x]
    values, counts = jx.vmap(powers)(x)
    close(values, np.array([y for y, _ in expected]))
    close(counts, np.array([n for _, n in expected]))
    tangents = jx.jvp(lambda x: jx.vmap(powers)(x)[0], (x,), (np.ones(3),))[1]
    close(tangents, np.array([n * v ** (n - 1) for v, (_, n) in zip(x, expected, strict=True)]))


def test_examples_that_have_ended_stay_as_they_were():
    # The body would give NaN for those that have ended.
    def f(x):
        return lax.while_loop(lambda y: y > 1.0, lambda y: jnp.sqrt(y - 1.0), x)

    x = np.array([0.5, 1.5, 30.0])
    close(jx.vmap(f)(x), np.stack([f(v) for v in x]))
    assert np.isfinite(jx.jvp(jx.vmap(f), (x,), (np.ones(3),))[1]).all()


def test_an_unbatched_condition_stays_one_loop():
    def f(n, x):
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * x), (0, 1.0))[1]

    x = np.array([2.0, 3.0])
    assert "reduce_or" not in str(jx.make_jaxpr(jx.vmap(f, (None, 0)))(3, x))
    close(jx.vmap(f, (None, 0))(3, x), x**3)
    close(jx.vmap(f, (0, None))(np.array([0, 3]), 2.0), np.array([1.0, 8.0]))
    close(jx.vmap(f)(np.array([1, 2]), x), np.array([2.0, 9.0]))


def test_a_condition_that_closes_over_a_batched_value():
    def f(limit):
        return lax.while_loop(lambda n: n < limit, lambda n: n + 1, 0)

    close(jx.vmap(f)(np.array([3, 0, 5])), np.array([3, 0, 5]))
    close(jx.vmap(jx.vmap(f))(np.array([[3, 0], [5, 1]])), np.array([[3, 0], [5, 1]]))


# ---------------------------------------------------------------- pitfalls of reverse mode


def test_reverse_mode_is_an_error_on_the_users_line():
    def f(x):
        return lax.while_loop(lambda y: y < 100.0, lambda y: y * x, 1.0)  # here

    for gradient in (jx.grad(f), jx.jit(jx.grad(f)), jx.grad(jx.jit(f)), jx.jacrev(f)):
        with pytest.raises(ReverseModeError) as caught:
            gradient(3.0)
        line = f.__code__.co_firstlineno + 1
        assert caught.value.where.startswith(f"{__file__}:{line}")
        assert "lax.scan" in str(caught.value)


def test_a_loop_that_nothing_is_differentiated_through_is_no_obstacle():
    def f(x):
        n = lax.while_loop(lambda n: n < 5, lambda n: n + 1, 0)
        return x * n

    close(jx.grad(f)(2.0), 5.0)


def test_fori_loop_with_static_bounds_has_both_derivatives():
    def f(x):
        return lax.fori_loop(1, 4, lambda i, y: jnp.sin(y) * x + i, x)

    def unrolled(x):
        y = x
        for i in range(1, 4):
            y = jnp.sin(y) * x + i
        return y

    close(jx.grad(f)(0.5), jx.grad(unrolled)(0.5))
    close(jx.jit(jx.grad(f))(0.5), jx.grad(unrolled)(0.5))
    close(
        jx.grad(lambda x: lax.fori_loop(np.int32(0), jnp.int32(3), lambda i, y: y * x, 1.0))(2.0),
        12.0,
    )
    with pytest.raises(ReverseModeError, match="fori_loop with traced bounds"):
        jx.jit(jx.grad(lambda x, n: lax.fori_loop(0, n, lambda i, y: y * x, 1.0)))(2.0, 3)


def test_custom_jvp_around_a_loop_gives_it_a_gradient():
    @jx.custom_jvp
    def root(a):
        return lax.while_loop(
            lambda y: abs(y * y - a) > 1e-12, lambda y: (y + a / y) / 2.0, jnp.ones_like(a)
        )

    @root.defjvp
    def root_jvp(primals, tangents):
        (a,), (t,) = primals, tangents
        y = root(a)
        return y, t / (2.0 * y)

    close(jx.grad(root)(4.0), 0.25)
    close(jx.jit(jx.grad(root))(4.0), 0.25)
    close(jx.vmap(jx.grad(root))(np.array([1.0, 4.0])), np.array([0.5, 0.25]))
    close(jx.grad(lambda a: jx.vmap(root)(a).sum())(np.array([1.0, 4.0])), np.array([0.5, 0.25]))
    close(jx.grad(jx.grad(root))(4.0), -1.0 / 32)


# ---------------------------------------------------------------- programs


def test_known_parts_of_the_carry_are_known_when_linearized():
    def f(x):
        return lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0] * x, c[1] + 1), (x, 0))

    (value, count), linear = jx.linearize(f, 2.0)
    close((value, count), (16.0, 3))
    close(linear(1.0)[0], 32.0)


def test_a_known_loop_is_not_run_again_on_the_way_back():
    def f(x):
        n, _ = lax.while_loop(lambda c: c[1] < 3, lambda c: (jnp.sin(c[0]), c[1] + 1), (0.5, 0))
        return x * x * n

    assert count(jx.grad(f), "while", 2.0) == 1
    close(jx.grad(f)(2.0), 4.0 * np.sin(np.sin(np.sin(0.5))))


def test_parts_of_the_carry_that_nothing_needs_are_pruned():
    def f(x, y):
        return lax.while_loop(
            lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x, jnp.sin(c[2])), (0, x, y)
        )

    eqn = pruned(f, [False, True, False], 2.0, 3.0)
    assert "sin" not in str(eqn)
    assert len(eqn.outvars) == 2


def test_functions_are_traced_once():
    count = []

    def going(x):
        count.append("condition")
        return x < 10

    def body(x):
        count.append("body")
        return x + 1

    for _ in range(3):
        lax.while_loop(going, body, 0)
    assert sorted(count) == ["body", "condition"]
    assert names(lambda x: lax.while_loop(going, body, x), 0) == ["while"]
