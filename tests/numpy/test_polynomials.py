"""Fits and roots of polynomials beyond the tables: what is returned with them, and derivatives."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.errors import ConcretizationTypeError

X, Y = np.random.default_rng(2).normal(size=(2, 6)).astype(np.float32)


def test_full_fit_tells_how_it_was_found():
    found = jnp.polyfit(X, Y, 2, full=True)
    wanted = np.polyfit(X, Y, 2, full=True)
    assert len(found) == 5
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_a_fit_can_be_differentiated_with_respect_to_values():
    # The slope is linear in the values, so its gradient is the weights of a straight line.
    centred = X - X.mean()
    gradient = jx.grad(lambda y: jnp.polyfit(X, y, 1)[0])(Y)
    np.testing.assert_allclose(gradient, centred / (centred**2).sum(), rtol=1e-4)


def test_roots_are_differentiable_where_they_are_distinct():
    # x² - 3x + 2: the derivative of a root by the constant is -1 / p'(root).
    def greatest(p):
        return jnp.roots(p, strip_zeros=False).real.max()

    gradient = jx.grad(greatest)(np.float32([1, -3, 2]))
    np.testing.assert_allclose(gradient, -np.float32([4, 2, 1]), rtol=1e-5)


def test_leading_zeros_take_roots_away():
    p = np.float32([0, 0, 1, -3, 2, 0])
    for run in (lambda f: f, jx.jit):
        found = run(lambda p: jnp.roots(p, strip_zeros=False))(p)
        np.testing.assert_allclose(found, [1, 2, 0, np.nan, np.nan], rtol=1e-5)
    assert jnp.isnan(jnp.roots(0 * p, strip_zeros=False)).all()


def test_no_roots_are_those_of_the_polynomial_1():
    one = jnp.poly(np.zeros(0, np.float32))
    assert (one.shape, one.dtype, float(one)) == ((), np.float32, 1.0)


def test_a_number_is_a_polynomial_without_roots():
    assert jnp.roots(1.0).shape == jnp.roots(2, strip_zeros=False).shape == (0,)
    assert jnp.roots(jnp.float32(0)).dtype == np.complex64
    assert jx.jit(jnp.roots)(2.0).shape == (0,)


def test_roots_of_no_polynomial():
    assert jnp.roots(np.zeros(3, np.float32)).shape == (0,)


def test_stripping_zeros_needs_values():
    with pytest.raises(ConcretizationTypeError, match="strip_zeros=False"):
        jx.jit(jnp.roots)(X)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: jnp.polyfit(X, Y, -1), ValueError, "deg=-1"),
        (lambda: jnp.polyfit(X, Y[:2], 1), TypeError, "6 places x for 2 values y"),
        (lambda: jnp.polyfit(X[None], Y, 1), TypeError, r"shapes \(1, 6\) and \(6,\)"),
        (lambda: jnp.polyfit(X, Y, 1, w=Y[:2]), TypeError, r"weights of shape \(2,\)"),
        (lambda: jnp.polyfit(X[:2], Y[:2], 1, cov=True), ValueError, "more than 2 points"),
        (lambda: jnp.roots(X[None]), ValueError, r"vector of coefficients, got shape \(1, 6\)"),
        (lambda: jnp.poly(np.zeros((2, 3))), ValueError, r"square matrix, got shape \(2, 3\)"),
    ],
)
def test_wrong_calls_say_what_is_wrong(call, error, words):
    with pytest.raises(error, match=words):
        call()
