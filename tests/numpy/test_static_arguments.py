"""Axes and orders may come as lists and arrays of numbers, also where C++ compares them."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.scipy import stats

X = jnp.arange(12.0).reshape(3, 4)
M = jnp.eye(3) + 1
ARRAY = np.array

ROWS = {
    "cond": (lambda given: jnp.linalg.cond(M, p=given), 1.0, ARRAY(1.0)),
    "cross": (lambda given: jnp.cross(M, X[:, :3], axis=given), 0, ARRAY(0)),
    "diff axis": (lambda given: jnp.diff(X, axis=given), 0, ARRAY(0)),
    "diff n": (lambda given: jnp.diff(X, given), 2, ARRAY(2)),
    "expand_dims": (lambda given: jnp.expand_dims(X, given), (0, 1), [0, 1]),
    "glu": (lambda given: jx.nn.glu(X, given), 1, ARRAY(1)),
    "matrix_norm": (lambda given: jnp.linalg.matrix_norm(M, ord=given), 2, ARRAY(2.0)),
    "mode": (lambda given: stats.mode(X, given), 0, ARRAY(0)),
    "norm axes": (lambda given: jnp.linalg.norm(X, axis=given), (0, 1), [0, 1]),
    "norm of an array's axis": (lambda given: jnp.linalg.norm(X, axis=given), 0, jnp.asarray(0)),
    "norm ord": (lambda given: jnp.linalg.norm(M, given), 2, ARRAY(2.0)),
    "rankdata": (lambda given: stats.rankdata(X, axis=given), 0, ARRAY(0)),
    "round": (lambda given: jnp.round(X / 7, given), 1, ARRAY(1)),
    "sem": (lambda given: stats.sem(X, given), 1, ARRAY(1)),
    "sum": (lambda given: jnp.sum(X, given), (0, 1), [0, 1]),
    "swapaxes": (lambda given: jnp.swapaxes(X, given, 1), 0, ARRAY(0)),
    "trapezoid": (lambda given: jnp.trapezoid(X, axis=given), 0, ARRAY(0)),
    "unwrap": (lambda given: jnp.unwrap(X, axis=given), 0, ARRAY(0)),
    "vecdot": (lambda given: jnp.vecdot(X, X, axis=given), 0, ARRAY(0)),
    "vector_norm": (lambda given: jnp.linalg.vector_norm(X, axis=given), (0, 1), [0, 1]),
}


@pytest.mark.parametrize("row", ROWS)
def test_lists_and_arrays_stand_for_tuples_and_numbers(row):
    f, plain, other = ROWS[row]
    expected = jx.tree.leaves(f(plain))
    for found in (f(other), jx.jit(lambda: f(other))(), f(other)):
        for a, b in zip(jx.tree.leaves(found), expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_errors_of_the_function_itself_come_once():
    with pytest.raises(ValueError, match="norm got ord='x' for vectors") as caught:
        jnp.linalg.norm(X[0], "x")
    assert caught.value.__context__ is None
    with pytest.raises(ValueError, match="norm got axis"):
        jnp.linalg.norm(jnp.ones((1, 1, 1)), axis=[0, 1, 2])
    with pytest.raises(TypeError, match=r"norm got {1: 2} of type dict for one of ord, axis"):
        jnp.linalg.norm(X, {1: 2})


def test_the_stages_are_those_of_the_function():
    lowered = jnp.linalg.norm.lower(X, axis=1)
    np.testing.assert_allclose(lowered.compile()(X), np.linalg.norm(X, axis=1), rtol=1e-6)
