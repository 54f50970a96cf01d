"""``custom_root``: derivatives of a root from the equation it solves."""

from collections.abc import Iterator

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import config, lax
from jxkernel.test_util import check_grads
from tests.higher_order.checks import close


@pytest.fixture(autouse=True)
def _in_double_precision() -> Iterator[None]:
    with config.enable_x64(True):
        yield


def newton(f, x):
    def step(s):
        n, x = s
        return n + 1, x - jnp.linalg.solve(jnp.atleast_2d(jx.jacfwd(f)(x)), f(x).ravel()).reshape(
            x.shape
        )

    return lax.while_loop(lambda s: s[0] < 30, step, (0, x))[1]


def divide(g, y):
    return y / g(1.0)


def solve(g, y):
    return jnp.linalg.solve(jx.jacobian(g)(y), y)


def root(a):
    return lax.custom_root(lambda x: x**3 - a, 1.0, newton, divide)


def intersection(a):
    def f(x):
        return jnp.stack([x[0] ** 2 + x[1] ** 2 - a[0], x[0] - a[1] * x[1]])

    return lax.custom_root(f, jnp.ones(2), newton, solve)


def test_derivatives_of_a_root():
    close(root(8.0), 2.0)
    close(jx.grad(root)(8.0), 1 / 12)
    close(jx.jit(jx.grad(jx.jit(root)))(8.0), 1 / 12)
    close(jx.grad(jx.grad(root))(8.0), -2 / 9 * 8.0 ** (-5 / 3))
    check_grads(intersection, (jnp.array([4.0, 0.5]),), order=2)


def test_vmap():
    a = np.array([1.0, 8.0, 27.0])
    close(jx.vmap(root)(a), np.array([1.0, 2.0, 3.0]))
    close(jx.vmap(jx.grad(root))(a), 1 / 3 * a ** (-2 / 3))
    close(jx.grad(lambda a: jx.vmap(root)(a).sum())(a), 1 / 3 * a ** (-2 / 3))


def test_guess_and_solver_have_no_influence_on_derivatives():
    def f(a, guess, k):
        return lax.custom_root(
            lambda x: x**3 - a, guess, lambda f, x: newton(f, x) + 0.0 * k, divide
        )

    close(jx.grad(f, (0, 1, 2))(8.0, 1.5, 3.0), (1 / 12, 0.0, 0.0))


def test_trees_and_auxiliary_results():
    def f(a):
        return lax.custom_root(
            lambda x: {"x": x["x"] * 2.0 - a},
            {"x": 1.0},
            lambda f, x: ({"x": -f({"x": 0.0})["x"] / 2.0}, {"steps": 1}),
            lambda g, y: {"x": y["x"] / g({"x": 1.0})["x"]},
            has_aux=True,
        )

    x, aux = f(3.0)
    close(x["x"], 1.5)
    assert aux == {"steps": 1}
    close(jx.grad(lambda a: f(a)[0]["x"])(3.0), 0.5)
    close(jx.grad(jx.jit(lambda a: f(a)[0]["x"]))(3.0), 0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lax.custom_root(3, 1.0, newton, divide), "needs a callable as f, got 3"),
        (lambda: lax.custom_root(jnp.sin, 1.0, 3, divide), "needs a callable as solve, got 3"),
        (lambda: lax.custom_root(jnp.sin, 1.0, newton, 3), "needs a callable as tangent_solve"),
        (
            lambda: lax.custom_root(jnp.sum, jnp.ones(2), newton, solve),
            r"needs f \(sum\) to return a tree like the guess.*of f64\[2\], got.*of f64\[\]",
        ),
        (
            lambda: lax.custom_root(jnp.sin, 1.0, lambda f, x: (x, x), divide),
            r"needs solve \(<lambda>\) to return a tree like the guess",
        ),
        (
            lambda: lax.custom_root(jnp.sin, 1.0, lambda f, x: x, divide, has_aux=True),
            r"with has_aux=True needs solve \(<lambda>\) to return a pair",
        ),
        (
            lambda: lax.custom_root(jnp.sin, 1.0, lambda f, x: f((x, x)), divide),
            "takes a tree like the guess",
        ),
    ],
)
def test_wrong_use_says_what_to_write_instead(call, message):
    with pytest.raises(TypeError, match=message):
        call()
