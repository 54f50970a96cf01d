"""``closure_convert`` and ``custom_gradient``: closures over what is differentiated."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from tests.higher_order.checks import close

X = np.array([0.5, 1.5, 2.0], np.float32)


@jx.custom_gradient
def f(x):
    return x * x, lambda ct: 10.0 * x * ct


@jx.custom_gradient
def g(d, n):
    return {"y": d["a"] * n, "n": n}, lambda ct: ({"a": 100.0 * ct["y"]}, None)


WAYS = {
    "grad": lambda x: jnp.stack([jx.grad(f)(v) for v in x]),
    "jit of grad of jit": lambda x: jnp.stack([jx.jit(jx.grad(jx.jit(f)))(v) for v in x]),
    "vmap of grad": lambda x: jx.vmap(jx.grad(f))(x),
    "grad of vmap": lambda x: jx.grad(lambda x: jx.vmap(f)(x).sum())(x),
    "grad of map": lambda x: jx.grad(lambda x: jx.lax.map(f, x).sum())(x),
    "grad of checkpoint": lambda x: jx.vmap(jx.grad(jx.checkpoint(f)))(x),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_pullback_given_is_taken(way):
    close(WAYS[way](X), 10.0 * X, 1e-6)


def test_the_pullback_is_differentiated_in_turn():
    close(jx.grad(jx.grad(f))(3.0), 10.0)


def test_trees_integers_and_keywords():
    value, pull = jx.vjp(lambda d: g(d, n=3), {"a": 2.0})
    close(value, {"y": 6.0, "n": 3})
    assert pull({"y": 1.0, "n": np.zeros((), jx.float0)})[0]["a"] == 100.0


def test_closed_over_tracers_become_arguments():
    def outer(y, n):
        converted, values = jx.closure_convert(lambda d: d["x"] * y * n, {"x": 1.0})
        assert [v.shape for v in values] == [()]
        return converted({"x": 2.0}, *values)

    close(jx.jit(lambda y: outer(y, 5))(3.0), 30.0)
    close(jx.grad(outer)(3.0, 5), 10.0)
    close(jx.vmap(jx.grad(outer), (0, None))(X, 5), np.full(3, 10.0))


def test_a_rule_has_a_derivative_by_what_its_function_argument_closes_over():
    def solve(function, *values):
        return function(0.0, *values)

    custom = jx.custom_vjp(solve, nondiff_argnums=(0,))
    custom.defvjp(
        lambda function, *v: (function(0.0, *v), v),
        lambda function, v, ct: tuple(7.0 * ct for _ in v),
    )

    def loss(k):
        converted, values = jx.closure_convert(lambda x: x + k * k, 0.0)
        return custom(converted, *values)

    close(jx.grad(loss)(3.0), 7.0)


def test_nothing_is_converted_where_nothing_is_traced():
    converted, values = jx.closure_convert(lambda x: x * X, X)
    assert values == []
    close(converted(X), X * X)
    assert converted.__name__ == "<lambda>"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jx.custom_gradient(3), "custom_gradient needs a callable as fun, got 3"),
        (
            lambda: jx.custom_gradient(lambda x: x)(3.0),
            r"needs <lambda> to return a pair \(value, pullback\), the latter a function, got 3.0",
        ),
        (lambda: jx.closure_convert(3, 1.0), "closure_convert needs a callable as fun, got 3"),
        (
            lambda: jx.closure_convert(jnp.sin, 1.0)[0](X),
            r"of sin takes.*of f32\[\].*got.*f32\[3\]",
        ),
        (lambda: jx.closure_convert(jnp.sin, 1.0)[0](1.0, 2.0), "0 closed-over values; it got.*1"),
        (lambda: jx.closure_convert(jnp.sin, "a"), "closure_convert of sin was given 'a'"),
    ],
)
def test_wrong_use_says_what_to_write_instead(call, message):
    with pytest.raises(TypeError, match=message):
        call()
