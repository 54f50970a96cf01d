"""``custom_linear_solve``: derivatives of a solution from the system it solves, not the solver."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.test_util import check_grads
from tests.higher_order.checks import close

A = np.array([[2.0, 0.5, 0.1], [0.3, 3.0, 0.2], [0.4, 0.6, 4.0]])
S = A + A.T
B = np.array([1.0, -2.0, 0.5])


def jacobi(matvec, b):
    """Return the solution by fixed-point steps, in a loop that has no reverse derivative."""
    diagonal = jnp.diag(jx.jacfwd(matvec)(b))

    def step(s):
        return s[0] + 1, s[1] + (b - matvec(s[1])) / diagonal

    return lax.while_loop(lambda s: s[0] < 60, step, (0, jnp.zeros_like(b)))[1]


def solved(a, b):
    return lax.custom_linear_solve(lambda x: a @ x, b, jacobi, jacobi)


def symmetric(a, b):
    return lax.custom_linear_solve(lambda x: a @ x, b, jacobi, symmetric=True)


def test_derivatives_of_the_solution():
    close(solved(A, B), np.linalg.solve(A, B))
    close(symmetric(S, B), np.linalg.solve(S, B))
    check_grads(solved, (A, B), order=2)
    check_grads(jx.jit(lambda b: symmetric(S, b)), (B,), order=2)


def test_every_way_gives_the_same_gradient():
    inverse = np.linalg.inv(A)
    by_b = inverse.T @ np.ones(3)
    by_a = -np.outer(by_b, inverse @ B)

    def loss(a, b):
        return solved(a, b).sum()

    for gradient in (jx.grad, lambda f, n: jx.jit(jx.grad(jx.jit(f), n))):
        close(gradient(loss, (0, 1))(A, B), (by_a, by_b))
    close(jx.jacrev(solved, 1)(A, B), inverse)
    close(jx.jacfwd(solved, 1)(A, B), inverse)


def test_vmap_over_operators_and_right_hand_sides():
    many_a, many_b = np.stack([A, A + np.eye(3)]), np.stack([B, 2 * B])
    expected = np.stack([np.linalg.solve(a, b) for a, b in zip(many_a, many_b, strict=True)])
    close(jx.vmap(solved)(many_a, many_b), expected)
    close(jx.vmap(solved, (None, 0))(A, many_b), np.linalg.solve(A, many_b.T).T)
    gradient = jx.grad(lambda a, b: solved(a, b).sum())
    rows = np.stack([gradient(a, B) for a in many_a])
    close(jx.vmap(gradient, (0, None))(many_a, B), rows)


def test_trees_and_auxiliary_results():
    def solve(matvec, b):
        scale = matvec({"x": 1.0, "y": 1.0})
        return {"x": b["x"] / scale["x"], "y": b["y"] / scale["y"]}, {"steps": 7}

    def g(k):
        operator = lambda v: {"x": k * v["x"], "y": 2.0 * k * v["y"]}  # noqa: E731
        b = {"x": 1.0, "y": k}
        return lax.custom_linear_solve(operator, b, solve, symmetric=True, has_aux=True)

    x, aux = g(4.0)
    close(x, {"x": 0.25, "y": 0.5})
    assert aux == {"steps": 7}
    close(jx.grad(lambda k: g(k)[0]["x"] + g(k)[0]["y"])(4.0), -1 / 16)
    close(jx.jacfwd(lambda k: g(k)[0])(4.0), {"x": -1 / 16, "y": 0.0})


def test_what_solvers_close_over_has_no_derivative():
    def g(k):
        return lax.custom_linear_solve(
            lambda x: 2.0 * x, 3.0, lambda mv, b: b / mv(1.0) + 0.0 * k, symmetric=True
        )

    close(jx.grad(g)(1.0), 0.0)
    close(jx.jit(jx.grad(g))(1.0), 0.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: jx.grad(lambda b: lax.custom_linear_solve(jnp.negative, b, jacobi).sum())(B),
            "no way back without a solver.*transpose_solve=.*symmetric=True",
        ),
        (lambda: lax.custom_linear_solve(3, B, jacobi), "needs a callable as matvec, got 3"),
        (lambda: lax.custom_linear_solve(jnp.sin, B, 3), "needs a callable as solve, got 3"),
        (
            lambda: lax.custom_linear_solve(jnp.sin, B, jacobi, 3),
            "needs a callable as transpose_solve, got 3",
        ),
        (
            lambda: lax.custom_linear_solve(jnp.sum, B, jacobi),
            r"needs matvec \(sum\) to return a tree like b.*of f64\[3\], got.*of f64\[\]",
        ),
        (
            lambda: lax.custom_linear_solve(jnp.negative, B, lambda mv, b: b[0]),
            r"needs solve \(<lambda>\) to return a tree like b",
        ),
        (
            lambda: lax.custom_linear_solve(jnp.negative, B, jacobi, has_aux=True),
            r"with has_aux=True needs solve \(jacobi\) to return a pair \(x, aux\)",
        ),
        (
            lambda: lax.custom_linear_solve(jnp.negative, B, lambda mv, b: mv((b, b))),
            "operator of custom_linear_solve takes a tree like b",
        ),
    ],
)
def test_wrong_use_says_what_to_write_instead(call, message):
    with pytest.raises(TypeError, match=message):
        call()
