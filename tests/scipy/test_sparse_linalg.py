"""Iterative solvers: solutions, trees, preconditioners, derivatives, errors."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.scipy.sparse.linalg import bicgstab, cg, gmres

_random = np.random.default_rng(0)
A = (_random.normal(size=(6, 6)) + 4 * np.eye(6)).astype(np.float32)
B = _random.normal(size=6).astype(np.float32)
SYSTEMS = [(cg, A @ A.T), (bicgstab, A), (gmres, A)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("solver", "matrix"), SYSTEMS)
def test_solutions_of_matrices_and_functions(solver: Any, matrix: Any) -> None:
    wanted = np.linalg.solve(matrix, B)
    for x, info in (
        solver(matrix, B, tol=1e-6),
        solver(lambda x: matrix @ x, B, x0=wanted + 0.1, tol=1e-6),
        solver(matrix, B, M=lambda x: x / np.diag(matrix), tol=1e-6),
        jx.jit(lambda m, b: solver(m, b, tol=1e-6))(matrix, B),
    ):
        np.testing.assert_allclose(x, wanted, atol=1e-5)
        assert info == (0 if solver is gmres else None)
    np.testing.assert_allclose(
        solver(matrix.astype("F"), 1j * B, tol=1e-6)[0], 1j * wanted, atol=1e-5
    )
    assert (np.asarray(solver(matrix, 0 * B)[0]) == 0).all()
    np.testing.assert_array_equal(solver(matrix, B, maxiter=0)[0], 0 * B)


@pytest.mark.parametrize(("solver", "matrix"), SYSTEMS)
def test_derivatives_are_those_of_the_equation(solver: Any, matrix: Any) -> None:
    def loss(solve: Any) -> Any:
        return lambda m, b: (solve(m, b) ** 2).sum()

    found = jx.grad(loss(lambda m, b: solver(m, b, tol=1e-6)[0]), (0, 1))(matrix, B)
    wanted = jx.grad(loss(jnp.linalg.solve), (0, 1))(matrix, B)
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-4)


@pytest.mark.parametrize("solver", [cg, bicgstab, gmres])
def test_trees_and_vmap(solver: Any) -> None:
    b = {"a": np.ones(2, np.float32), "b": np.ones((2, 2), np.float32)}
    x = solver(lambda t: {"a": 2 * t["a"], "b": 4 * t["b"]}, b)[0]
    np.testing.assert_allclose(x["a"], b["a"] / 2, rtol=1e-5)
    np.testing.assert_allclose(x["b"], b["b"] / 4, rtol=1e-5)
    many = jx.vmap(lambda s: solver(lambda x: s * x, B[:3])[0])(jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(many, np.stack([B[:3], B[:3] / 2]), rtol=1e-4)


def test_gmres_restarts() -> None:
    wanted = np.linalg.solve(A, B)
    found = gmres(A, B, restart=2, maxiter=200, tol=1e-6, solve_method="incremental")[0]
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_half_a_step_that_is_enough_ends_the_iteration() -> None:
    matrix = np.float32([[4, 1, 0], [1, 3, 1], [0, 1, 2]])
    found = bicgstab(matrix, np.float32([1, 2, 3]), tol=0.1)[0]
    np.testing.assert_allclose(found, [0.17349519, 0.24047044, 1.3192905], rtol=1e-5)


def test_gmres_tells_failure() -> None:
    assert gmres(A, B)[1] == 0
    assert gmres(A, B * np.nan)[1] == -1
    assert jx.jit(lambda b: gmres(A, b)[1])(B) == 0


@pytest.mark.parametrize("solver", [cg, bicgstab, gmres])
def test_bad_arguments(solver: Any) -> None:
    with pytest.raises(ValueError, match="square matrix"):
        solver(A[:2], B)
    with pytest.raises(TypeError, match="x0 is of the shape of b"):
        solver(A, B, x0=B[:2])
    with pytest.raises(ValueError, match="x0 like b"):
        solver(A, B, x0=(B, B))
    with pytest.raises(ValueError, match="solve_method='x'"):
        gmres(A, B, solve_method="x")


@pytest.mark.parametrize("solve", [cg, gmres, bicgstab])
def test_operators_are_objects_that_multiply(solve: Any) -> None:
    class Diagonal:
        shape = (3, 3)

        def __init__(self, factor: float) -> None:
            self.factor = factor

        def __matmul__(self, x: Any) -> Any:
            return self.factor * x

    b = jnp.arange(3.0)
    found, _ = solve(Diagonal(2.0), b, M=Diagonal(0.5))
    np.testing.assert_allclose(found, b / 2, rtol=1e-6)
