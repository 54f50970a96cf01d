"""Results that are one value for all examples of a ``vmap``: of calls, loops and branches."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.custom_batching import custom_vmap
from tests.higher_order.checks import close

X = np.array([0.5, 1.5, 2.0])
W = np.array([3.0, -1.0, 2.0])


def twice(x, y):
    return 2.0 * x, 2.0 * y


def pull_plainly(_, cts):
    return 2.0 * cts[0], 2.0 * cts[1]


RULES = {
    "plain": (lambda x, y: (twice(x, y), None), pull_plainly),
    "value mixed": (lambda x, y: ((2.0 * x, 2.0 * y + 0.0 * x), None), pull_plainly),
    "argument mixed": (
        lambda x, y: (twice(x, y), x),
        lambda x, cts: (2.0 * cts[0], 2.0 * cts[1] + x * cts[0]),
    ),
    "weighted by example": (
        lambda x, y: (twice(x, y), x),
        lambda x, cts: (2.0 * cts[0], x * cts[1]),
    ),
    "sent to the example": (
        lambda x, y: (twice(x, y), None),
        lambda _, cts: (2.0 * cts[0] + 5.0 * cts[1], 2.0 * cts[1]),
    ),
    "needs values": (
        lambda x, y: (twice(x, y), y),
        lambda y, cts: (2.0 * cts[0], (2.0 if float(y) > 0 else 3.0) * cts[1]),
    ),
}


def ruled(name):
    fun = jx.custom_vjp(twice)
    fun.defvjp(*RULES[name])
    return fun


def moving(rule):
    fun = jx.custom_jvp(twice)
    fun.defjvp(rule)
    return fun


plain_jvp = moving(lambda p, t: (twice(*p), twice(*t)))
weighted_jvp = moving(lambda p, t: (twice(*p), (2.0 * t[0], p[0] * t[1])))


@custom_vmap
def mapped(x, y):
    return twice(x, y)


@mapped.def_vmap
def mapped_rule(size, in_batched, x, y):
    return twice(x, y), tuple(in_batched)


CALLS = {
    "jit": jx.jit(twice),
    "checkpoint": jx.checkpoint(twice),
    "custom_jvp": plain_jvp,
    "custom_vjp": ruled("plain"),
    "custom_vmap": mapped,
    "cond": lambda x, y: lax.cond(y > 0, twice, lambda x, y: (x, y), x, y),
    "switch": lambda x, y: lax.switch(1, [lambda x, y: (x, y), twice], x, y),
    "scan": lambda x, y: lax.scan(
        lambda c, _: ((c[0] + x, c[1] + y), None), (x, y), None, length=1
    )[0],
    "while_loop": lambda x, y: lax.while_loop(
        lambda c: c[2] < 1, lambda c: (*twice(c[0], c[1]), c[2] + 1), (x, y, 0)
    )[:2],
    "while_loop that ends apart": lambda x, y: lax.while_loop(
        lambda c: c[2] < 2.0 * x, lambda c: (c[0] + x, c[1], c[2] + x), (x, 2.0 * y, x)
    )[:2],
    "custom_linear_solve": lambda x, y: lax.custom_linear_solve(
        lambda v: (v[0] / 2.0, v[1] / 2.0), (x, y), lambda _, b: twice(*b), symmetric=True
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_out_axes_may_be_none_for_them(name):
    f = jx.vmap(CALLS[name], (0, None), (0, None))
    for g in (f, jx.jit(f)):
        close(g(X, 4.0), (2.0 * X, 8.0))
    twofold = np.stack([X, 3.0 * X])
    both = jx.vmap(f, (0, None), (0, None))
    close(both(twofold, 4.0), (2.0 * twofold, 8.0))
    with pytest.raises(ValueError, match="None for a result that differs between examples"):
        jx.vmap(CALLS[name], (0, None), None)(X, 4.0)


@pytest.mark.parametrize("name", ["custom_jvp", "custom_vjp", "custom_linear_solve", "custom_vmap"])
def test_their_derivatives_count_them_once(name):
    f = jx.vmap(CALLS[name], (0, None), (0, None))

    def total(x, y):
        many, one = f(x, y)
        return (W * many).sum() + 3.0 * one

    for g in (jx.grad(total, (0, 1)), jx.jit(jx.grad(total, (0, 1)))):
        close(g(X, 4.0), (2.0 * W, 6.0))


def one_by_one(fun, x, y):
    """Return what ``vmap`` stands for."""
    firsts, seconds = zip(*[fun(each, y) for each in x], strict=True)
    return jnp.stack(firsts), jnp.stack(seconds)


@pytest.mark.parametrize("around", [lambda f: f, jx.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", RULES)
def test_gradients_are_those_of_examples_one_by_one(name, around):
    if name == "needs values" and around is jx.jit:
        return
    fun = ruled(name)

    def total(pair):
        return (W * pair[0]).sum() + (X * pair[1]).sum()

    def written_out(x, y):
        return total(one_by_one(fun, x, y))

    def vectorized(x, y):
        return total(around(jx.vmap(fun, (0, None)))(x, y))

    wanted = jx.grad(written_out, (0, 1))(X, 4.0)
    close(jx.grad(vectorized, (0, 1))(X, 4.0), wanted)
    if name != "needs values":
        close(jx.jit(jx.grad(vectorized, (0, 1)))(X, 4.0), wanted)


@pytest.mark.parametrize("fun", [plain_jvp, weighted_jvp], ids=["plain", "weighted"])
@pytest.mark.parametrize("around", [lambda f: f, jx.jit], ids=["eager", "jit"])
def test_tangents_are_those_of_examples_one_by_one(fun, around):
    def written_out(x, y):
        return one_by_one(fun, x, y)

    vectorized = around(jx.vmap(fun, (0, None)))
    point, direction = (X, 4.0), (W, 1.0)
    close(jx.jvp(vectorized, point, direction), jx.jvp(written_out, point, direction))


def test_a_rule_that_fails_is_asked_for_nothing_where_nothing_is_differentiated():
    fun = jx.custom_vjp(twice)
    fun.defvjp(lambda x, y: 1 / 0, lambda r, ct: ct)
    close(jx.jit(jx.vmap(fun, (0, None), (0, None)))(X, 4.0), (2.0 * X, 8.0))


def test_a_shared_result_of_no_examples_keeps_its_gradient():
    f = jx.vmap(ruled("plain"), (0, None), (0, None))
    assert jx.grad(lambda y: f(np.zeros(0), y)[1])(4.0).item() == 2.0
