"""Cumulative operations: values against NumPy at lengths around the block, every rule, edges."""

import ml_dtypes
import numpy as np
import pytest

import jxkernel as jx
from jxkernel._jaxlib import version
from jxkernel.primitives.elementwise.arithmetic import add, mul
from jxkernel.primitives.reduction.associative_scan import scan_associatively
from jxkernel.primitives.reduction.cumulative import cumlogsumexp, cummax, cummin, cumprod, cumsum
from tests.primitives.checking import assert_close, check_all

RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((3, 5, 2))
WITH_ZEROS = np.array([[1.5, 0, 2, 0, 3], [4, 5, 0.5, 2, 1]])

OPERATIONS = {
    "cumsum": (cumsum, np.add),
    "cumprod": (cumprod, np.multiply),
    "cummax": (cummax, np.maximum),
    "cummin": (cummin, np.minimum),
    "cumlogsumexp": (cumlogsumexp, np.logaddexp),
}


def accumulated(ufunc, x, axis, reverse):
    if not reverse:
        return ufunc.accumulate(x, axis, dtype=x.dtype)
    return np.flip(accumulated(ufunc, np.flip(x, axis), axis, False), axis)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", OPERATIONS)
def test_values_and_rules(name, axis, reverse):
    function, ufunc = OPERATIONS[name]
    check_all(
        lambda x: function(x, axis, reverse),
        [A],
        reference=lambda x: accumulated(ufunc, x, axis, reverse),
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", [(999,), (1000,), (1001,), (2 * 1000 * 1000 + 7,), (2, 1500, 3)])
@pytest.mark.parametrize("name", ["cumsum", "cummax"])
def test_long_axes_are_walked_in_blocks(name, shape, reverse):
    function, ufunc = OPERATIONS[name]
    axis = 1 if len(shape) == 3 else 0
    x = RANDOM.integers(-9, 9, shape).astype(np.int32)
    assert_close(function(x, axis, reverse), accumulated(ufunc, x, axis, reverse))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        *[((1005,), 0), ((3, 2001), 1), ((40_000, 2), 1), ((20_000, 7), 1), ((9_000, 8), 1)],
        *[((1005, 3), 0), ((2, 2001, 5), 1), ((500, 7, 20), 1), ((300, 9, 40), 1)],
    ],
)
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "complex64", "int8", "uint16", "int32", "bfloat16"]
)
def test_long_and_inner_axes_are_accumulated_in_a_kernel(dtype, shape, axis, reverse):
    x = (RANDOM.integers(-9, 9, shape) % 5).astype(dtype)
    wide = np.float32 if dtype == "bfloat16" else dtype
    expected = accumulated(np.add, x.astype(wide), axis, reverse).astype(dtype)
    with jx.enable_x64(True):
        cumulate = jx.jit(lambda x: cumsum(x, axis, reverse))
        makes_one = version >= (0, 11, 2)
        assert ("@accumulation" in cumulate.lower(x).as_text()) is makes_one
        assert_close(cumulate(x), expected)


def test_long_axes_of_costly_elements_are_walked_in_blocks():
    x = RANDOM.standard_normal(2003).astype(np.float32)
    cumulate = jx.jit(cumlogsumexp)
    assert "@accumulation" not in cumulate.lower(x).as_text()
    assert_close(cumulate(x), np.logaddexp.accumulate(x))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_large_arrays_are_walked_from_the_front(axis):
    x = RANDOM.integers(-9, 9, (40, 50, 60)).astype(np.int32)
    for reverse in (False, True):
        assert_close(cumsum(x, axis, reverse), accumulated(np.add, x, axis, reverse))


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("shape", [(0,), (1,), (3, 0), (0, 3)])
def test_empty_and_single_positions(name, shape):
    x = np.ones(shape, np.float32)
    assert_close(OPERATIONS[name][0](x, len(shape) - 1), x)


def test_products_differentiate_through_zeros():
    for reverse in (False, True):
        check_all(lambda x, r=reverse: cumprod(x, 1, r), [WITH_ZEROS])


def test_narrow_floats_accumulate_in_32_bits():
    for dtype in (np.float16, ml_dtypes.bfloat16):
        x = np.ones(1000, dtype)
        expected = np.arange(1, 1001, dtype=np.float32).astype(dtype)
        assert_close(cumsum(x), expected)
        assert_close(cumsum(np.ones(3000, dtype))[-1:], np.full(1, 3000, dtype))


def test_nan_stays_once_met():
    x = np.array([1, np.nan, 3, -np.inf], np.float32)
    for function in (cummax, cummin, cumsum, cumlogsumexp):
        assert_close(function(x), np.array([1, np.nan, np.nan, np.nan], np.float32))


def test_logarithms_of_zero_and_infinity():
    x = np.array([-np.inf, -np.inf, 0, np.inf], np.float32)
    assert_close(cumlogsumexp(x), np.array([-np.inf, -np.inf, 0, np.inf], np.float32))
    gradient = jx.grad(lambda x: cumlogsumexp(x)[2])(x)
    np.testing.assert_allclose(np.asarray(gradient), [0, 0, 1, 0])


def test_large_logarithms_do_not_overflow():
    x = np.array([1000, 1000, -1000], np.float32)
    expected = np.array([1000, 1000 + np.log(2), 1000 + np.log(2)], np.float32)
    assert_close(cumlogsumexp(x), expected)


def test_the_first_of_equal_extremes_has_the_derivative():
    x = np.array([2.0, 3, 3, 1], np.float32)
    ones = np.ones(4, np.float32)
    pulled = jx.vjp(cummax, x)[1](ones)[0]
    assert_close(pulled, np.array([1, 3, 0, 0], np.float32))
    pulled = jx.vjp(lambda x: cummax(x, reverse=True), x)[1](ones)[0]
    assert_close(pulled, np.array([0, 0, 3, 1], np.float32))


@pytest.mark.parametrize("function", [cummax, cummin])
def test_the_derivative_of_a_nan_extreme_is_that_of_the_first_nan(function):
    x = np.array([1.0, np.nan, 2.0, np.nan], np.float32)
    t = np.array([5.0, 6.0, 7.0, 8.0], np.float32)
    for reverse, expected in ((False, [5, 6, 6, 6]), (True, [8, 8, 8, 8])):
        y, moved = jx.jvp(lambda x, r=reverse: function(x, reverse=r), (x,), (t,))
        assert np.isnan(y).tolist() == [reverse, True, True, True]
        assert_close(moved, np.array(expected, np.float32))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan_keeps_order(size, reverse):
    def compose(first, second):
        """Compose affine maps x -> a x + b, which do not commute."""
        (a, b), (c, d) = first, second
        return [mul(a, c), add(mul(b, c), d)]

    maps = {"a": RANDOM.standard_normal((2, size)), "b": RANDOM.standard_normal((2, size))}
    order = range(size)[::-1] if reverse else range(size)
    expected = {"a": np.zeros((2, size)), "b": np.zeros((2, size))}
    a, b = np.ones(2), np.zeros(2)
    for place in order:
        a, b = a * maps["a"][:, place], b * maps["a"][:, place] + maps["b"][:, place]
        expected["a"][:, place], expected["b"][:, place] = a, b

    def scanned(a, b):
        return scan_associatively(compose, [a, b], (1, 1), reverse)

    check_all(scanned, [maps["a"], maps["b"]], derivatives=size == 3, vmap=size == 5)
    got = scanned(maps["a"], maps["b"])
    np.testing.assert_allclose(np.asarray(got[0]), expected["a"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(np.asarray(got[1]), expected["b"], rtol=1e-5, atol=1e-5)


def test_associative_scan_of_booleans():
    x = np.array([True, False, True, True, False])
    both = scan_associatively(lambda first, second: [mul(first[0], second[0])], [x], (0,))
    assert_close(both, [np.logical_and.accumulate(x)])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("size", [5, 1500])
def test_extremes_of_complex_numbers_are_by_their_real_then_their_imaginary_parts(size, reverse):
    z = RANDOM.integers(-3, 4, (2, size)) + 1j * RANDOM.integers(-3, 4, (2, size))
    z = z.astype(np.complex64)
    for function, ufunc in ((cummax, np.maximum), (cummin, np.minimum)):
        assert_close(function(z, 1, reverse), accumulated(ufunc, z, 1, reverse))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("reverse", [False, True])
def test_logarithms_of_sums_of_complex_exponentials(reverse):
    z = np.array([1 + 4j, 3 - 1j, -np.inf, -1, 100 + 2j, 100 - 1j])
    sums = accumulated(np.add, np.exp(z), 0, reverse)
    check_all(lambda z: cumlogsumexp(z, 0, reverse), [z], reference=lambda z: np.log(sums))


BAD = {
    "dtype": (lambda: cumsum(np.array([True])), TypeError, "does not accept dtype bool"),
    "integer": (lambda: cumlogsumexp(np.arange(3)), TypeError, "takes floating dtypes"),
    "axis": (lambda: cumprod(np.ones(2), 1), ValueError, "axes are from -1 to 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told(name):
    function, error, message = BAD[name]
    with pytest.raises(error, match=message):
        function()


@pytest.mark.parametrize(
    ("shape", "moves"),
    [((40, 512), True), ((40, 500), False), ((64, 256), True), ((8, 256), False)],
)
def test_rows_that_share_cache_lines_are_moved_apart(shape, moves):
    x = (np.arange(np.prod(shape)).reshape(shape) % 7).astype(np.float32)
    cumulate = jx.jit(lambda x: cumlogsumexp(x, 1))
    assert ("stablehlo.transpose" in cumulate.lower(x).as_text()) is moves
    assert_close(cumulate(x), np.logaddexp.accumulate(x, axis=1))
