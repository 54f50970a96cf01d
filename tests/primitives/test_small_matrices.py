"""Stacks of many small matrices: the numbers of LAPACK, element by element."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import numpy as jnp
from jxkernel.lax import linalg

MANY = 1 << 13
"""From here on lowering writes the steps out."""


def _normal(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(shape[-1]).standard_normal(shape).astype(dtype)


def _definite(count: int, n: int) -> Any:
    x = _normal(count, n, n)
    return x @ x.swapaxes(1, 2) + n * np.eye(n, dtype=np.float32)


def _calls_lapack(function: Any, *arrays: Any) -> bool:
    return "lapack" in jx.jit(function).lower(*arrays).as_text()


def _by_lapack(function: Any, *arrays: Any) -> Any:
    """Return what a function gives of each half of a stack, which a kernel is called for."""
    halves = zip(*[np.array_split(x, 2) for x in arrays], strict=True)
    found = [jx.jit(function)(*half) for half in halves]
    return jx.tree.map(lambda *parts: np.concatenate(parts), *found)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_lu_has_the_pivots_and_factors_of_lapack(n):
    x = _normal(MANY, n, n)
    # Equal elements, zeros, a column of zeros, and singular matrices.
    x[1], x[2], x[3, :, 0], x[4, -1] = 1, 0, 0, x[4, 0]
    assert not _calls_lapack(linalg.lu, x)
    factors, pivots, permutation = jx.jit(linalg.lu)(x)
    wanted, wanted_pivots, wanted_permutation = _by_lapack(linalg.lu, x)
    np.testing.assert_array_equal(pivots, wanted_pivots)
    np.testing.assert_array_equal(permutation, wanted_permutation)
    scale = 1 + np.abs(wanted).max((1, 2), keepdims=True)
    np.testing.assert_allclose(factors / scale, wanted / scale, rtol=0, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_cholesky_is_that_of_lapack(n):
    x = _definite(MANY, n)
    x[1, 0, 0], x[2], x[3, -1, 0], x[4, 0, 0] = -1, 0, np.nan, np.inf
    run = partial(linalg.cholesky, symmetrize_input=False)
    assert not _calls_lapack(run, x)
    found, wanted = jx.jit(run)(x), _by_lapack(run, x)
    np.testing.assert_array_equal(np.isnan(found[:4]), np.isnan(wanted[:4]))
    np.testing.assert_allclose(found[5:], wanted[5:], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("left_side", [True, False])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("transpose_a", [True, False])
@pytest.mark.parametrize("unit_diagonal", [True, False])
def test_triangular_solve_is_that_of_lapack(left_side, lower, transpose_a, unit_diagonal):
    run = partial(
        linalg.triangular_solve,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        unit_diagonal=unit_diagonal,
    )
    a = _normal(MANY, 3, 3) + 3 * np.eye(3, dtype=np.float32)
    b = _normal(MANY, 3, 2) if left_side else _normal(MANY, 2, 3)
    assert not _calls_lapack(run, a, b)
    np.testing.assert_allclose(jx.jit(run)(a, b), _by_lapack(run, a, b), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_solutions_and_inverses_are_those_of_numpy(n):
    a, b = _normal(MANY, n, n) + 2 * np.eye(n, dtype=np.float32), _normal(MANY, n, 1)
    x = np.asarray(jx.jit(jnp.linalg.solve)(a, b), np.float64)
    scale = np.abs(a).sum((1, 2), keepdims=True) * np.abs(x).max(1, keepdims=True) + np.abs(b)
    assert (np.abs(a @ x - b) <= 1e-5 * scale).all()
    inverse = np.asarray(jx.jit(jnp.linalg.inv)(_definite(MANY, n)), np.float64)
    np.testing.assert_allclose(inverse @ _definite(MANY, n), [np.eye(n)] * MANY, atol=1e-4)


def test_a_singular_or_missing_matrix_says_nothing_of_its_neighbours():
    a, b = _definite(MANY, 3), _normal(MANY, 3, 1)
    wanted = np.asarray(jx.jit(jnp.linalg.solve)(a, b))
    a[[0, 500]], a[MANY - 1, 1, 1] = 0, np.nan
    found = np.asarray(jx.jit(jnp.linalg.solve)(a, b))
    bad = np.zeros(MANY, bool)
    bad[[0, 500, MANY - 1]] = True
    np.testing.assert_array_equal(found[~bad], wanted[~bad])
    assert not np.isfinite(found[bad]).any()


def test_derivatives_and_batches_of_small_systems():
    a, b = _definite(MANY, 2), _normal(MANY, 2, 1)

    def total(a: Any, b: Any) -> Any:
        return jnp.sum(jnp.linalg.solve(a, b) ** 2)

    gradient = jx.jit(jx.grad(total, (0, 1)))
    for found, wanted in zip(gradient(a, b), _by_lapack(gradient, a, b), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    # Under vmap the examples are the stack.
    each = jx.jit(jx.vmap(jx.grad(total)))
    assert not _calls_lapack(jx.vmap(jx.grad(total)), a, b)
    np.testing.assert_allclose(each(a, b), gradient(a, b)[0], rtol=1e-4, atol=1e-5)
    tangent = jx.jvp(jx.jit(linalg.cholesky), (a,), (np.ones_like(a),))[1]
    half = jx.jvp(jx.jit(linalg.cholesky), (a[:10],), (np.ones_like(a[:10]),))[1]
    np.testing.assert_allclose(tangent[:10], half, rtol=1e-4, atol=1e-5)


def test_float64_and_stacks_of_two_axes():
    with jx.enable_x64(True):
        a, b = _definite(MANY, 3).astype(np.float64), _normal(MANY, 3, 2, dtype=np.float64)
        shaped = jx.jit(jnp.linalg.solve)(a.reshape(64, 128, 3, 3), b.reshape(64, 128, 3, 2))
        np.testing.assert_allclose(shaped.reshape(b.shape), np.linalg.solve(a, b), rtol=1e-10)


def test_few_large_or_complex_matrices_are_left_to_lapack():
    assert _calls_lapack(linalg.lu, _normal(10, 3, 3))
    assert _calls_lapack(linalg.lu, _normal(MANY, 4, 4))
    assert _calls_lapack(linalg.lu, _normal(MANY, 3, 2))
    assert _calls_lapack(linalg.cholesky, _definite(MANY, 2).astype(np.complex64))
    wide = partial(linalg.triangular_solve, left_side=True)
    assert _calls_lapack(wide, _definite(MANY, 2), np.ones((MANY, 2, 40), np.float32))
