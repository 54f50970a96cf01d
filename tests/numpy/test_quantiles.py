"""Quantiles beyond the tables: weights, no elements."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(3, 4, 2)).astype(np.float32)
EACH = RANDOM.uniform(size=(3, 4, 2)).astype(np.float32)
ALONG = np.float32([0, 2, 1, 3])
Q = np.float32([0, 0.2, 0.5, 0.9, 1])


@pytest.mark.parametrize(
    "how",
    [
        {"axis": 1, "weights": ALONG},
        {"axis": 1, "weights": ALONG[::-1], "keepdims": True},
        {"weights": EACH},
        {"axis": (0, 2), "weights": EACH},
        {"axis": (2, 0), "weights": EACH[:, 0].T},
    ],
)
def test_weights_count_elements_as_they_do_for_numpy(how):
    wanted = np.quantile(X, Q, method="inverted_cdf", **how)
    np.testing.assert_array_equal(jnp.quantile(X, Q, method="inverted_cdf", **how), wanted)
    compiled = jx.jit(lambda x, q: jnp.percentile(x, q, method="inverted_cdf", **how))
    np.testing.assert_array_equal(compiled(X, 100 * Q), wanted)


def test_weights_of_missing_elements_do_not_count():
    missing = EACH > 0.7
    x = np.where(missing, np.float32(np.nan), X)
    found = jnp.nanquantile(x, Q, axis=(1, 2), weights=EACH, method="inverted_cdf")
    for i, kept in enumerate(~missing):
        wanted = np.quantile(X[i][kept], Q, weights=EACH[i][kept], method="inverted_cdf")
        np.testing.assert_array_equal(found[:, i], wanted)
    assert jnp.isnan(jnp.quantile(x, 0.5, weights=EACH, method="inverted_cdf"))


def test_elements_without_any_weight_have_no_quantile():
    weightless = np.zeros(2, np.float32)
    assert jnp.isnan(jnp.nanquantile(X[0, 0], 0.5, weights=weightless, method="inverted_cdf"))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"weights": ALONG, "method": "inverted_cdf"}, r"weights of shape \(4,\)"),
        ({"weights": ALONG, "method": "inverted_cdf", "axis": 0}, r"weights of shape \(4,\)"),
    ],
)
def test_weights_that_do_not_fit_are_refused(how, words):
    with pytest.raises(ValueError, match=words):
        jnp.quantile(X, 0.5, **how)


@pytest.mark.parametrize(("axis", "shape"), [(None, ()), (0, (3,)), (1, (0,))])
def test_nothing_has_the_quantile_nan(axis, shape):
    nothing = np.zeros((0, 3), np.float32)
    for found in (jnp.nanmedian(nothing, axis), jnp.nanpercentile(nothing, 20, axis)):
        assert (found.shape, found.dtype) == (shape, np.float32)
        assert jnp.isnan(found).all()
    assert jnp.nanquantile(nothing, Q, axis).shape == (5, *shape)
