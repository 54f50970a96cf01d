"""Reductions: values against NumPy, NaN, ties, products with zeros, empty axes."""

import ml_dtypes
import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.primitives.reduction.reduce import (
    argmax,
    argmin,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_xor,
)
from tests.primitives.checking import assert_close, check_all

RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((3, 4, 2))
WITH_ZEROS = np.array([[1.5, 0, 2, 3], [0, 4, 0, 5], [1, 2, 3, 0.5]])
COMPLEX = RANDOM.standard_normal((3, 4)) + 1j * RANDOM.standard_normal((3, 4))
INTEGERS = RANDOM.integers(-9, 9, (3, 4))
BOOLEANS = INTEGERS > 0

TABLE = {
    "max": (lambda x: reduce_max(x, (0, 2)), A, lambda x: x.max((0, 2))),
    "min": (lambda x: reduce_min(x, (1,)), A, lambda x: x.min(1)),
    "max_bool": (lambda x: reduce_max(x, (1,)), BOOLEANS, lambda x: x.max(1)),
    "min_integers": (lambda x: reduce_min(x, (0, 1)), INTEGERS, lambda x: x.min()),
    "prod": (lambda x: reduce_prod(x, (0, 2)), A, lambda x: x.prod((0, 2))),
    "prod_one_axis": (lambda x: reduce_prod(x, (1,)), A, lambda x: x.prod(1)),
    "prod_zeros": (lambda x: reduce_prod(x, (1,)), WITH_ZEROS, lambda x: x.prod(1)),
    "prod_complex": (lambda x: reduce_prod(x, (0,)), COMPLEX, lambda x: x.prod(0)),
    "prod_empty": (lambda x: reduce_prod(x, (0,)), A[:0], lambda x: x.prod(0)),
    "prod_integers": (lambda x: reduce_prod(x, (1,)), INTEGERS, lambda x: x.prod(1)),
    "and": (lambda x: reduce_and(x, (1,)), INTEGERS, lambda x: np.bitwise_and.reduce(x, 1)),
    "or": (lambda x: reduce_or(x, (0,)), BOOLEANS, lambda x: x.any(0)),
    "xor": (lambda x: reduce_xor(x, (0, 1)), INTEGERS, lambda x: np.bitwise_xor.reduce(x, None)),
    "argmax": (lambda x: argmax(x, 1, np.int64), A, lambda x: x.argmax(1)),
    "argmin": (lambda x: argmin(x, -1, np.int32), A, lambda x: x.argmin(-1).astype(np.int32)),
    "argmax_bool": (lambda x: argmax(x, 1, np.int64), BOOLEANS, lambda x: x.argmax(1)),
    "argmin_integers": (lambda x: argmin(x, 0, np.int64), INTEGERS, lambda x: x.argmin(0)),
}


@pytest.mark.parametrize("name", TABLE)
def test_values_and_rules(name):
    function, arg, reference = TABLE[name]
    check_all(function, [arg], reference=reference)


NAN = np.array([[1, np.nan, 3, np.nan], [-np.inf, 2, 2, np.inf]], np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_nan_wins(dtype):
    x = NAN.astype(dtype)
    assert_close(reduce_max(x, (1,)), np.array([np.nan, np.inf], dtype))
    assert_close(reduce_min(x, (1,)), np.array([np.nan, -np.inf], dtype))
    assert np.asarray(argmax(x, 1, np.int32)).tolist() == [1, 3]
    assert np.asarray(argmin(x, 1, np.int32)).tolist() == [1, 0]


def test_the_first_of_equal_extremes_is_found():
    x = np.array([2, 7, 7, 2, 7], np.uint8)
    assert (int(argmax(x, 0, np.int32)), int(argmin(x, 0, np.int32))) == (1, 0)
    infinite = np.full((3,), np.inf, np.float32)
    assert (int(argmax(infinite, 0, np.int32)), int(argmin(infinite, 0, np.int32))) == (0, 0)


def test_complex_numbers_are_ordered_by_parts():
    x = np.array([1 + 2j, 1 + 5j, -3 + 9j, 1 - 1j], np.complex64)
    assert complex(reduce_max(x, (0,))) == 1 + 5j
    assert complex(reduce_min(x, (0,))) == -3 + 9j
    x[0] = complex(np.nan, 1)
    assert np.isnan(complex(reduce_max(x, (0,))))


def test_equal_extremes_share_the_derivative():
    x = np.array([3.0, 1, 3, 3], np.float32)
    gradient = jx.grad(lambda x: reduce_max(x, (0,)))(x)
    np.testing.assert_allclose(np.asarray(gradient), np.array([1, 0, 1, 1]) / 3, rtol=1e-6)
    gradient = jx.grad(lambda x: reduce_min(x, (0,)))(-x)
    np.testing.assert_allclose(np.asarray(gradient), np.array([1, 0, 1, 1]) / 3, rtol=1e-6)


@pytest.mark.parametrize("extreme", [jnp.max, jnp.min])
def test_the_derivative_of_a_nan_extreme_is_that_of_what_is_nan(extreme):
    x = np.array([[1.0, np.nan, 2.0], [np.nan, np.nan, 3.0], [1.0, 2.0, 3.0]], np.float32)
    t = np.array([[5.0, 6.0, 7.0], [1.0, 3.0, 9.0], [5.0, 6.0, 7.0]], np.float32)
    last = 7.0 if extreme is jnp.max else 5.0
    moved = jx.jvp(lambda x: extreme(x, axis=1), (x,), (t,))[1]
    assert moved.tolist() == [6.0, 2.0, last]
    pulled = jx.grad(lambda x: jnp.sum(extreme(x, axis=1)))(x)
    assert pulled[:2].tolist() == [[0.0, 1.0, 0.0], [0.5, 0.5, 0.0]]


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.float32, np.float16, np.bool_])
def test_extremes_of_nothing_are_neutral(dtype):
    none = np.zeros((0,), dtype)
    assert_close(reduce_max(np.ones(1, dtype), ()), np.ones(1, dtype))
    low, high = reduce_max(none, (0,)), reduce_min(none, (0,))
    one = dtype(1)
    assert max(low.item(), one) == one
    assert min(high.item(), one) == one


def test_products_of_16_bits_accumulate_in_32():
    x = np.full(64, 1.01, ml_dtypes.bfloat16)
    expected = np.prod(x.astype(np.float32)).astype(ml_dtypes.bfloat16)
    assert_close(reduce_prod(x, (0,)), expected)


BAD = {
    "axis": (lambda: reduce_max(A, (3,)), ValueError, "axes are distinct and from 0 to 2"),
    "twice": (lambda: reduce_prod(A, (1, 1)), ValueError, "axes are distinct"),
    "dtype": (lambda: reduce_and(A, (0,)), TypeError, "takes integer or bool dtypes"),
    "empty": (lambda: argmax(A[:0], 0, np.int32), ValueError, "axis 0 is empty"),
    "complex": (lambda: argmax(COMPLEX, 0, np.int32), TypeError, "no order"),
    "index": (lambda: argmin(A, 0, np.float32), TypeError, "positions as integers"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told(name):
    function, error, message = BAD[name]
    with pytest.raises(error, match=message):
        function()
