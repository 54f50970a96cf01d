"""Reductions: values against NumPy, NaN, ties, products with zeros, empty axes."""

import ml_dtypes
import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel._jaxlib import version
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


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", TABLE)
def test_values_and_rules(name):
    function, arg, reference = TABLE[name]
    check_all(function, [arg], reference=reference)


FEW = np.zeros((128, 256), bool)
FEW[5, 7] = True
HALF = np.arange(128 * 256).reshape(128, 256) < 5000


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)], ids=str)
def test_large_arrays_of_booleans_are_reduced_as_bytes(axes):
    some, every = (jx.jit(lambda x, f=f: f(x, axes)) for f in (reduce_or, reduce_and))
    assert "stablehlo.maximum" in some.lower(FEW).as_text()
    assert "stablehlo.or" in some.lower(FEW[:4]).as_text()
    for x in (FEW, ~FEW, HALF, ~HALF):
        assert some(x).dtype == every(x).dtype == bool
        np.testing.assert_array_equal(some(x), x.any(axes))
        np.testing.assert_array_equal(every(x), x.all(axes))


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


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("nan", [complex(np.nan, 0), complex(0, np.nan), complex(-9, np.nan)])
def test_complex_numbers_with_nan_in_either_part_win(nan, place):
    x = np.array([1 + 2j, 1 + 5j, -3 + 9j, 1 - 1j], np.complex64)
    x[place] = nan
    for extreme in (reduce_max, reduce_min):
        assert np.isnan(complex(extreme(x, (0,))))


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


LONG = (1 << 14, 1000 * 63, 99991)
"""Lengths of vectors that are cut into rows, and one, a prime, that is not."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint32, np.int64, np.float32])
@pytest.mark.parametrize("size", LONG)
def test_extremes_of_long_vectors(size, dtype):
    x = RANDOM.integers(3, 120, size).astype(dtype)
    for place in (0, size // 2, size - 1):
        y = x.copy()
        y[place], y[-1 - place] = 125, 1
        with jx.enable_x64(True):
            assert reduce_max(y, (0,)) == y.max()
            assert reduce_min(y, (0,)) == y.min()
            assert argmax(y, 0, np.int32) == y.argmax()
            assert argmin(y, 0, np.int32) == y.argmin()


@pytest.mark.parametrize("axes", [(2,), (1, 2), (0, 1, 2), (0, 2), (1,)])
def test_extremes_of_integers_along_long_axes(axes):
    x = RANDOM.integers(-(2**31), 2**31, (2, 64, 1200)).astype(np.int32)
    np.testing.assert_array_equal(reduce_max(x, axes), x.max(axes))
    np.testing.assert_array_equal(reduce_min(x, axes), x.min(axes))


@pytest.mark.parametrize("size", LONG)
def test_the_first_of_equal_extremes_and_of_nans_is_found(size):
    x = np.zeros(size, np.float32)
    assert argmax(x, 0, np.int32) == argmin(x, 0, np.int32) == 0
    for first in (1, 4095, 4096, size - 2):
        x[:] = 0
        x[[first, first + 1]] = 1
        assert argmax(x, 0, np.int32) == first
        x[[first, size - 1]] = np.nan
        assert argmax(x, 0, np.int32) == argmin(x, 0, np.int32) == first
    assert argmax(np.full(size, -np.inf, np.float32), 0, np.int32) == 0


ORDERED = ["bool", "int8", "uint8", "int16", "uint32", "int32", "int64"]
ORDERED += ["float32", "float64", "float16", "bfloat16"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", [(3, 4097), (40, 99), (2, 9, 130), (300,), (70, 3)])
@pytest.mark.parametrize("dtype", ORDERED)
def test_positions_are_those_of_numpy_along_every_axis(dtype, shape):
    with jx.enable_x64(True):
        x = np.asarray(RANDOM.integers(-9, 9, shape)).astype(dtype)
        if "float" in dtype:
            x.reshape(-1)[::37] = np.nan
            x.reshape(-1)[5::11] = -np.inf
        for axis in range(x.ndim):
            for function, name in ((argmax, "argmax"), (argmin, "argmin")):
                found = jx.jit(lambda x, f=function, a=axis: f(x, a, np.int32))(x)
                wide = x.astype(np.float32) if dtype == "bfloat16" else x
                np.testing.assert_array_equal(found, getattr(wide, name)(axis))


def test_few_elements_many_and_those_on_another_platform_have_their_own_ways():
    def text(size, platform):
        traced = jx.jit(lambda x: argmax(x, 0, np.int32)).trace(np.ones(size, np.float32))
        return traced.lower(lowering_platforms=(platform,)).as_text()

    assert text(1000, "cpu").count("stablehlo.reduce") == 1
    if version >= (0, 11, 2):
        assert "@extreme_places" in text(5000, "cpu")
    assert "@extreme_places" not in text(5000, "cuda")


WIDE = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
NEGATIVE_NAN = np.array([0xFFC00000], np.uint32).view(np.float32)[0]


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("nan", [np.nan, NEGATIVE_NAN])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_extremes_of_many_elements_keep_nan(axes, nan, dtype):
    """XLA's CPU compiler hands 4,096 elements and more to a library that passes over NaN."""
    x = RANDOM.standard_normal((64, 65)).astype(dtype)
    x[3, 0] = x[40, 64] = nan
    with jx.enable_x64(True):
        assert_close(reduce_max(x, axes), x.max(axes))
        assert_close(reduce_min(x, axes), x.min(axes))
        assert_close(reduce_max(np.full_like(x, nan), axes), np.full_like(x, nan).max(axes))
        assert_close(jx.vmap(lambda x: reduce_max(x, (0,)))(x), x.max(1))
        assert argmax(x.reshape(-1), 0, np.int32) == argmin(x.reshape(-1), 0, np.int32) == 195


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_extremes_of_infinite_and_of_vast_elements_are_no_nan(axes, dtype):
    greatest = float(ml_dtypes.finfo(dtype).max)
    for value in (np.inf, -np.inf, greatest, -greatest, 0.0):
        x = np.full((90, 80), value, dtype)
        assert_close(reduce_max(x, axes), x.max(axes))
        x[1::2] = -x[1::2]
        assert_close(reduce_max(x, axes), x.max(axes))
        assert_close(reduce_min(x, axes), x.min(axes))


FOLDED = [
    ((263_001,), (0,)),
    ((700, 403), (1,)),
    ((60, 5001), (1,)),
    ((300, 1000), (0,)),
    ((20, 130, 110), (1,)),
    ((20, 130, 110), (1, 2)),
    ((20, 130, 110), (0, 1)),
]
"""Arrays that are folded piece by piece in one kernel, and axes of theirs."""


@pytest.mark.parametrize(("shape", "axes"), FOLDED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_extremes_of_very_many_elements(shape, axes, dtype):
    x = (1000 * RANDOM.standard_normal(shape)).astype(dtype)
    with jx.enable_x64(True):
        extremes = jx.jit(lambda x: (reduce_max(x, axes), reduce_min(x, axes)))
        for places in ([0, -1], [x.size // 3, -2], [1, x.size // 2]):
            y = x.copy()
            y.flat[places] = 9_000, -9_000
            for sign in (1, -1):
                found = extremes(sign * y)
                np.testing.assert_array_equal(found[0], (sign * y).max(axes))
                np.testing.assert_array_equal(found[1], (sign * y).min(axes))
            if np.issubdtype(dtype, np.floating):
                y.flat[places[0]] = NEGATIVE_NAN
                np.testing.assert_array_equal(extremes(y)[0], y.max(axes))
                y.flat[places] = np.inf, np.nan
                np.testing.assert_array_equal(extremes(y)[1], y.min(axes))


def test_infinite_extremes_of_very_many_elements_are_no_nan():
    for value in (np.inf, -np.inf):
        x = np.full((600, 500), value, np.float32)
        for axes in ((0,), (1,), (0, 1)):
            np.testing.assert_array_equal(reduce_max(x, axes), x.max(axes))
            np.testing.assert_array_equal(reduce_min(x, axes), x.min(axes))


def test_transformations_of_extremes_of_very_many_elements():
    x = RANDOM.standard_normal((3, 270_000)).astype(np.float32)
    x[1, 7] = x[1, -1] = 9
    gradient = jx.grad(lambda x: jnp.sum(jx.vmap(jnp.max)(x)))(x)
    expected = x == x.max(1, keepdims=True)
    assert_close(gradient, (expected / expected.sum(1, keepdims=True)).astype(np.float32))
    moved = jx.jvp(lambda x: jnp.max(x, 0), (x.T,), (np.ones_like(x.T),))[1]
    assert_close(moved, np.ones(3, np.float32))
    looped = lax.fori_loop(0, 2, lambda _, x: x - jnp.max(x), x[0])
    assert_close(looped, x[0] - x[0].max())


def test_what_is_made_of_extremes_keeps_nan():
    x = np.ones(5000, np.float32)
    x[77] = np.nan
    for function in (jnp.max, jnp.ptp, jnp.amin, lambda x: jnp.linalg.norm(x, jnp.inf)):
        assert np.isnan(function(x))
        assert np.isnan(jx.jit(function)(x))
    for function in (jx.nn.softmax, jx.nn.log_softmax, jx.nn.logsumexp):
        assert np.isnan(function(x)).all()
    assert jnp.nanmax(x) == 1
    assert jx.grad(jnp.max)(x).tolist() == [float(n == 77) for n in range(5000)]
    largest = lax.reduce(x, np.float32(-np.inf), lambda a, b: lax.max(b, a), (0,))
    assert np.isnan(largest)


def test_positions_of_a_long_vector_in_few_bits():
    x = np.arange(1 << 14, dtype=np.int32)
    assert argmax(x, 0, np.int16) == (1 << 14) - 1


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
