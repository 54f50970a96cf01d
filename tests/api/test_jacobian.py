"""Jacobians and Hessians against those written by hand; the transpose of linear functions."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.api.derivatives.jacobian import linear_transpose
from jxkernel.errors import UndefinedRuleError

X = np.array([0.5, 1.5, 2.0], np.float32)


def f(x):
    return jnp.stack([x[0] * x[1], jnp.sin(x[2])])


def df(x):
    return np.array([[x[1], x[0], 0.0], [0.0, 0.0, np.cos(x[2])]], np.float32)


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("jacobian", [jx.jacfwd, jx.jacrev, jx.jacobian])
@pytest.mark.parametrize("around", [lambda g: g, jx.jit])
def test_jacobians(jacobian, around):
    close(around(jacobian(around(f)))(X), df(X))


@pytest.mark.parametrize("jacobian", [jx.jacfwd, jx.jacrev])
def test_structures_of_results_hold_structures_of_arguments(jacobian):
    def g(p, q):
        return {"o": p["a"] * q, "s": (p["b"] * q).sum()}

    result = jacobian(g, argnums=(0, 1))({"a": np.float32(2), "b": X}, X)
    by_p, by_q = result["o"]
    close(by_p["a"], X)
    close(by_p["b"], np.zeros((3, 3)))
    close(by_q, 2 * np.eye(3))
    close(result["s"][0]["a"], 0)
    close(result["s"][0]["b"], X)
    assert jx.tree.structure(jacobian(g)({"a": 2.0, "b": X}, X)["o"]) == jx.tree.structure(
        {"a": 0, "b": 0}
    )


@pytest.mark.parametrize("jacobian", [jx.jacfwd, jx.jacrev])
def test_auxiliary_results_are_returned_as_they_are(jacobian):
    result, aux = jacobian(lambda x: (f(x), {"twice": 2 * x}), has_aux=True)(X)
    close(result, df(X))
    close(aux["twice"], 2 * X)


@pytest.mark.parametrize(
    "hessian",
    [jx.hessian, lambda g: jx.jacrev(jx.jacrev(g)), lambda g: jx.jacrev(jx.jacfwd(g))],
)
def test_hessians(hessian):
    x = X
    expected = [[0, x[2], x[1]], [x[2], 0, x[0]], [x[1], x[0], 0]]
    close(hessian(lambda x: x[0] * x[1] * x[2])(X), expected)
    close(jx.jit(hessian(lambda x: x[0] * x[1] * x[2]))(X), expected)
    assert hessian(lambda p: p["a"] * p["b"] ** 2)({"a": 2.0, "b": 3.0})["b"]["a"] == 6.0


def test_hessian_with_auxiliary_results():
    value, aux = jx.hessian(lambda x: (x**3, x), has_aux=True)(2.0)
    assert (float(value), float(aux)) == (12.0, 2.0)


def test_shapes_are_those_of_result_then_argument():
    g = lambda x: jnp.ones((2, 5)) * x.sum()  # noqa: E731
    assert jx.jacfwd(g)(np.ones((3, 4), np.float32)).shape == (2, 5, 3, 4)
    assert jx.jacrev(g)(np.ones((3, 4), np.float32)).shape == (2, 5, 3, 4)
    assert jx.jacrev(g)(np.float32(1)).shape == (2, 5)
    assert jx.jacfwd(g)(np.ones((0,), np.float32)).shape == (2, 5, 0)


def test_complex_functions():
    z = np.complex64(1 + 2j)
    for jacobian in (jx.jacfwd, jx.jacrev):
        close(jacobian(lambda z: z * z, holomorphic=True)(z), 2 * z)
    # From real to complex only forwards makes sense.
    close(jx.jacfwd(lambda x: x * (1 + 2j))(np.float32(3)), 1 + 2j)


def test_integer_arguments_give_float0_where_allowed():
    by_n, by_x = jx.jacrev(lambda n, x: n * x, argnums=(0, 1), allow_int=True)(3, X)
    assert by_n.dtype == jx.dtypes.float0
    close(by_x, 3 * np.eye(3))


def test_linear_transpose_of_integers():
    transposed = linear_transpose(lambda x, y: 3 * x.sum(), np.arange(3), 5)
    x, y = transposed(2)
    np.testing.assert_array_equal(x, [6, 6, 6])
    assert (x.dtype, y.dtype, int(y)) == (np.int32, np.int32, 0)


def test_linear_transpose():
    close(linear_transpose(lambda x: 3.0 * x.sum(), X)(2.0)[0], np.full(3, 6.0))
    transposed = linear_transpose(
        lambda p: {"s": p["a"] + p["b"]}, jx.tree.map(np.float32, {"a": 0, "b": 0})
    )
    close(transposed({"s": np.float32(5)})[0]["a"], 5)
    shape = jx.ShapeDtypeStruct((3,), np.float32)
    close(jx.jit(linear_transpose(lambda x: x[::-1], shape))(X)[0], X[::-1])


def test_the_transpose_is_a_tree_of_what_the_function_closes_over():
    factor = jnp.array([2.0, 3.0, 4.0])
    transposed = linear_transpose(lambda x: factor * x, X)
    (leaf,) = jx.tree.leaves(transposed)
    close(leaf, factor)
    assert jx.tree.leaves(linear_transpose(lambda x: x, 1.0)) == []
    close(jx.jit(lambda t, ct: t(ct))(transposed, X)[0], factor * X)
    made = jx.jit(lambda c: linear_transpose(lambda x: c * x, 1.0))(5.0)
    assert made(2.0)[0] == 10
    assert "transpose of" in repr(made)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jx.jacfwd(3), TypeError, "jacfwd needs a callable as fun, got 3"),
        (lambda: jx.jacfwd(f)(np.arange(3)), TypeError, "jacfwd needs real arguments, got int32"),
        (lambda: jx.jacfwd(f)(1j), TypeError, "got complex64: for a holomorphic function"),
        (lambda: jx.jacrev(f)(np.arange(3)), TypeError, "got int32: convert with"),
        (lambda: jx.jacrev(lambda x: x * 1j)(1.0), TypeError, "real results, got complex64"),
        (lambda: jx.jacrev(lambda x: 3)(1.0), TypeError, "real results, got int32"),
        (lambda: jx.jacfwd(f, argnums=2)(X), TypeError, "argnums=2 needs at least 3"),
        (lambda: jx.jacfwd(f, holomorphic=True)(X), TypeError, "complex arguments, got float32"),
        (lambda: linear_transpose(jnp.sin, 1.0)(1.0), UndefinedRuleError, "not linear"),
        (
            lambda: linear_transpose(lambda x: 2.0 * x, 1),
            TypeError,
            r"of integers to integers.*has i32\[\] f32\[\]",
        ),
        (lambda: jx.jacfwd(jnp.abs, holomorphic=True)(1j), TypeError, "needs complex results"),
        (lambda: jx.jacrev(jnp.abs, holomorphic=True)(1j), TypeError, "needs complex results"),
        (lambda: linear_transpose(lambda x: x, X)(X[:2]), TypeError, r"f32\[3\], got .*f32\[2\]"),
    ],
)
def test_wrong_use_says_what_to_write_instead(call, error, message):
    with pytest.raises(error, match=message):
        call()
