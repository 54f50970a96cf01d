"""Softmax and its kin, standardization, one-hot codes: operands out of the ordinary."""

import numpy as np
import pytest
from scipy import special

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import nn

Z = np.array([1 + 2j, -0.5j, 0.25], np.complex64)


@pytest.mark.parametrize("b", [2.0, -2.0, 1j, [1.0, 0.0, -1.0]])
def test_logsumexp_of_complex_numbers_with_factors_is_the_complex_logarithm(b):
    found = nn.logsumexp(jnp.asarray(Z), b=jnp.asarray(b))
    assert found.dtype == jnp.complex64
    np.testing.assert_allclose(found, np.log(np.sum(np.asarray(b) * np.exp(Z))), 1e-5)


def test_logsumexp_of_reals_with_complex_factors_is_complex():
    found = nn.logsumexp(jnp.zeros(2), b=jnp.array([1j, 1.0]))
    np.testing.assert_allclose(found, np.log(1 + 1j), 1e-6)


def test_logsumexp_with_sign_gives_a_real_logarithm_of_complex_sums():
    size, sign = nn.logsumexp(jnp.asarray(Z), b=2.0, return_sign=True)
    assert (size.dtype, sign.dtype) == (jnp.float32, jnp.complex64)
    np.testing.assert_allclose(sign * np.exp(size), 2 * np.exp(Z).sum(), 1e-5)


def test_standardize_refuses_complex_numbers_for_its_fast_variance():
    with pytest.raises(ValueError, match=r"takes no complex numbers.*pass variance"):
        nn.standardize(jnp.asarray(Z))
    np.testing.assert_allclose(nn.standardize(jnp.asarray(Z), mean=0, variance=4.0), Z / 2, 1e-5)


def test_one_hot_takes_a_list_of_classes():
    np.testing.assert_array_equal(nn.one_hot([0, 2], 3), [[1, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize("a", [2.0, [2.0], [[1.0], [0.5]]])
@pytest.mark.parametrize("axis", [None, -1])
def test_logsumexp_sums_over_the_axes_of_operand_and_factors_together(a, axis):
    b = np.array([1.0, -1.0, 0.5, 1.0], np.float32)
    expected = special.logsumexp(a, axis, b)
    found = nn.logsumexp(a if isinstance(a, float) else jnp.asarray(a), axis, jnp.asarray(b))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("where", [None, np.array([True, False, True])])
def test_softmax_may_be_differentiated_by_a_rule_of_its_result(where):
    x = np.float32([0.5, 3.0, -1.0])

    def total(x):
        return jnp.sum(jx.nn.softmax(x, where=where) ** 2)

    slopes = (jx.grad(total), jx.jit(jx.grad(total)), jx.hessian(total), jx.jacfwd(total))
    plain = [slope(x) for slope in slopes]

    def names():
        return [str(eqn.primitive) for eqn in jx.make_jaxpr(jx.nn.softmax)(x).eqns]

    assert "custom_jvp_call" not in names()
    with jx.softmax_custom_jvp(True):
        assert names() == ["custom_jvp_call"]
        for slope, expected in zip(slopes, plain, strict=True):
            np.testing.assert_allclose(slope(x), expected, atol=1e-6)
        batched = jx.vmap(jx.grad(total))(np.stack([x, 2 * x]))
    np.testing.assert_allclose(batched[0], plain[0], atol=1e-6)


@pytest.mark.parametrize(
    "function",
    [nn.softmax, nn.log_softmax, nn.logsumexp, nn.logmeanexp, nn.standardize, jnp.mean, jnp.sum],
    ids=lambda function: function.__name__,
)
@pytest.mark.parametrize(
    ("where", "error", "message"),
    [
        (3, ValueError, "where= takes booleans, got int32"),
        (np.array([1.0, 0.0]), ValueError, "where= takes booleans, got float.*where=mask != 0"),
        ([True, False], TypeError, "jnp.asarray"),
    ],
)
def test_a_mask_is_an_array_of_booleans(function, where, error, message):
    with pytest.raises(error, match=message):
        function(jnp.ones(2), where=where)
