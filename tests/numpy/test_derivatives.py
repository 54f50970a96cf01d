"""Derivatives and values of the NumPy API where values are equal, missing or at an edge."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp


@pytest.mark.parametrize(
    ("function", "x", "wanted"),
    [
        (jnp.median, [1.0, 2.0, 2.0, 3.0], [0.0, 0.5, 0.5, 0.0]),
        (lambda x: jnp.quantile(x, 0.3), [1.0, 2.0, 2.0, 3.0], [0.1, 0.9, 0.0, 0.0]),
        (jnp.nanstd, [1.0, np.nan, 0.0], [0.5, 0.0, -0.5]),
        (jnp.nanvar, [1.0, np.nan, 0.0], [0.5, 0.0, -0.5]),
        (jnp.nanmean, [1.0, np.nan, 0.0], [0.5, 0.0, 0.5]),
        (jnp.nansum, [1.0, np.nan, 0.0], [1.0, 0.0, 1.0]),
        (jnp.nanmax, [1.0, np.nan, 1.0], [0.5, 0.0, 0.5]),
    ],
)
def test_equal_and_missing_elements_share_the_derivative(function, x, wanted):
    np.testing.assert_allclose(jx.grad(function)(np.float32(x)), wanted, rtol=1e-5, atol=1e-6)


def test_quantile_of_infinite_neighbours_is_themselves():
    x = np.float32([np.inf, np.inf, 1.0])
    assert float(jnp.quantile(x, 0.75)) == np.inf
    assert float(jnp.median(np.float32([-np.inf, -np.inf, 1.0]))) == -np.inf


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "nearest", "inverted_cdf"])
def test_quantile_beside_infinity_is_its_element(method):
    x = np.float32([-np.inf, 1.0, np.inf])
    assert float(jnp.quantile(x, 0.5, method=method)) == 1.0
    slope = jx.grad(lambda x: jnp.quantile(x, 0.5, method=method))(x)
    np.testing.assert_array_equal(slope, [0.0, 1.0, 0.0])
    assert float(jnp.median(x)) == 1.0


@pytest.mark.parametrize("function", [jnp.log2, jnp.log10])
def test_logarithms_of_complex_zero_have_an_angle(function):
    assert complex(function(np.complex64(0))) == complex(-np.inf, 0)


def test_division_by_zero_rounds_to_what_division_gives():
    x = np.float32([1.0, -1.0, 0.0])
    np.testing.assert_array_equal(jnp.floor_divide(x, 0.0), [np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(jnp.asarray(x) // -0.0, [-np.inf, np.inf, np.nan])


@pytest.mark.parametrize("function", [jnp.var, jnp.std, jnp.nanvar, jnp.nanstd])
def test_a_variance_is_complex_where_asked_for(function):
    x = np.float32([1.0, 5.0])
    assert function(x, dtype=np.complex64).dtype == np.complex64
    assert function(x + 1j).dtype == np.float32
    np.testing.assert_allclose(function(x, dtype=np.complex64), function(x))


@pytest.mark.parametrize("cuts", [3, [1, 4], [4, 1], [-2, 9], [0, 6], [2, 2]])
def test_derivatives_of_parts_are_joined_in_their_places(cuts):
    x = np.arange(6, dtype=np.float32)

    def total(x):
        return sum(jnp.sum((i + 1) * part**2) for i, part in enumerate(jnp.split(x, cuts)))

    weights = np.zeros(6, np.float32)
    for i, places in enumerate(np.split(np.arange(6), cuts)):
        weights[places] += i + 1
    np.testing.assert_allclose(jx.grad(total)(x), 2 * weights * x)
    np.testing.assert_allclose(jx.vmap(jx.grad(total))(np.stack([x, -x]))[1], -2 * weights * x)


def test_the_gradient_of_a_split_is_one_concatenation():
    gradient = jx.grad(lambda x: sum(jnp.sum(part**3) for part in jnp.split(x, 3)))
    text = str(jx.make_jaxpr(gradient)(np.ones(6, np.float32)))
    assert "concatenate" in text
    assert "pad[" not in text
