"""``linear_call``: the transpose that the user gives, under every transform.

Transposes here are a hundred times the true ones, so that one sees which was taken.
"""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.custom_derivatives import linear_call
from tests.higher_order.checks import close

X = np.array([0.5, 1.5, 2.0])


def f(r, x):
    return linear_call(lambda r, x: r * x, lambda r, ct: 100.0 * r * ct, r, x)


WAYS = {
    "grad": lambda: jx.grad(lambda x: f(2.0, x).sum())(X),
    "jit of grad of jit": lambda: jx.jit(jx.grad(jx.jit(lambda x: f(2.0, x).sum())))(X),
    "vmap of grad": lambda: jx.vmap(jx.grad(lambda x: f(2.0, x)))(X),
    "vmap of grad over residuals": lambda: jx.vmap(jx.grad(f, 1))(np.full(3, 2.0), X),
    "grad of vmap": lambda: jx.grad(lambda x: jx.vmap(f, (None, 0))(2.0, x).sum())(X),
    "grad of scan": lambda: jx.grad(lambda x: jx.lax.map(lambda v: f(2.0, v), x).sum())(X),
    "linear_transpose": lambda: jx.linear_transpose(lambda x: f(2.0, x), X)(np.ones(3))[0],
    "checkpoint": lambda: jx.grad(jx.checkpoint(lambda x: f(2.0, x).sum()))(X),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_back_takes_the_transpose_given(way):
    close(WAYS[way](), np.full(3, 200.0))


def test_values_and_forward_derivatives_are_those_of_the_function():
    close(f(2.0, X), 2.0 * X)
    close(jx.jit(f)(2.0, X), 2.0 * X)
    close(jx.jvp(lambda x: f(2.0, x), (X,), (np.ones(3),)), (2.0 * X, np.full(3, 2.0)))


def test_the_transpose_of_the_transpose_is_the_function():
    back = jx.linear_transpose(lambda x: f(2.0, x), X)
    again = jx.linear_transpose(lambda ct: back(ct)[0], X)
    close(again(np.ones(3))[0], np.full(3, 2.0))


def test_trees_and_closures():
    def g(k, x):
        there = lambda r, d: {"y": k * r[0] * d["a"] + d["b"]}  # noqa: E731
        back = lambda r, ct: {"a": k * r[0] * ct["y"], "b": ct["y"]}  # noqa: E731
        return linear_call(there, back, (3.0,), {"a": x, "b": x})["y"]

    close(jx.jit(g)(2.0, 0.5), 3.5)
    close(jx.grad(g, 1)(2.0, 0.5), 7.0)
    close(jx.jit(jx.grad(jx.jit(g), 1))(2.0, 0.5), 7.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jx.grad(f)(2.0, 0.5), r"differentiated by a residual argument.*stop_gradient"),
        (lambda: linear_call(3, jnp.sin, 1.0, 1.0), "needs a callable as fun, got 3"),
        (lambda: linear_call(jnp.add, 3, 1.0, 1.0), "needs a callable as fun_transpose"),
        (lambda: f(2.0, 3), "real or complex numbers to such, and <lambda> has i64"),
        (
            lambda: linear_call(lambda r, x: x, lambda r, ct: (ct, ct), 1.0, X),
            r"needs <lambda> to return a tree like linear_args.*got \(\*, \*\) of",
        ),
    ],
)
def test_wrong_use_says_what_to_write_instead(call, message):
    with pytest.raises(TypeError, match=message):
        call()
