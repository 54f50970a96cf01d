"""Derivatives of the NumPy API where conventions decide: kinks, ties, NaN left out, zeros."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import nn

INF, NAN = np.inf, np.nan

SLOPES = {
    "where with NaN in the branch not taken": (
        lambda x: jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0),
        [(-1.0, 0.0), (0.0, 0.0), (4.0, 0.25)],
    ),
    "floor_divide by zero": (lambda x: jnp.floor_divide(1.0, x), [(0.0, 0.0), (2.0, 0.0)]),
    "hypot": (lambda x: jnp.hypot(x, 2.0), [(0.0, 0.0), (INF, 0.0), (-1.5, -0.6)]),
    "hypot of infinity": (lambda x: jnp.hypot(x, INF), [(0.0, 0.0), (2.0, 0.0)]),
    "hypot of zero": (lambda x: jnp.hypot(x, 0.0), [(0.0, 0.0), (-2.0, -1.0)]),
    "slope of hypot": (jx.grad(lambda x: jnp.hypot(x, 2.0)), [(0.0, 0.5)]),
    "slope of 2 ** y by its base": (lambda y: jx.grad(jnp.power)(2.0, y), [(0.0, 0.5)]),
    "slope of 0 ** y by its base": (lambda y: jx.grad(jnp.power)(0.0, y), [(0.0, 0.0)]),
    "where that is not guarded": (
        lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0),
        [(-1.0, NAN), (0.0, NAN), (4.0, 0.25)],
    ),
    "expm1": (jnp.expm1, [(-11.5, np.exp(-11.5)), (0.0, 1.0), (-INF, 0.0)]),
    "norm": (jnp.linalg.norm, [([0.0, 0.0], [0.0, 0.0]), ([3.0, 4.0], [0.6, 0.8])]),
    "norm of order 1": (
        lambda x: jnp.linalg.norm(x, ord=1),
        [([0.0, 0.0], [0.0, 0.0]), ([3.0, -4.0], [1.0, -1.0])],
    ),
    "norm of order infinity": (
        lambda x: jnp.linalg.norm(x, ord=INF),
        [([0.0, 0.0], [0.0, 0.0]), ([3.0, 3.0], [0.5, 0.5])],
    ),
    "norm along an axis": (
        lambda x: jnp.linalg.norm(x, axis=0, keepdims=True),
        [([0.0, 0.0], [0.0, 0.0])],
    ),
    "x ** x": (lambda x: x**x, [(1.0, 1.0)]),
    "x ** 0": (lambda x: x**0, [(0.0, 0.0), (-1.0, 0.0)]),
    "x ** 2.0": (lambda x: x**2.0, [(0.0, 0.0), (-3.0, -6.0)]),
    "x ** 3.0": (lambda x: jnp.power(x, 3.0), [(-2.0, 12.0)]),
    "x ** -1": (lambda x: x**-1, [(0.0, -INF), (2.0, -0.25)]),
    "0 ** x": (lambda x: jnp.power(0.0, x), [(1.0, 0.0), (2.0, 0.0)]),
    "a negative base": (lambda x: jnp.power(-2.0, x), [(2.0, NAN)]),
    "max": (
        jnp.max,
        [([1.0, 1.0, 0.0], [0.5, 0.5, 0.0]), ([2.0, 2.0, 2.0], [1 / 3, 1 / 3, 1 / 3])],
    ),
    "min": (jnp.min, [([1.0, 1.0, 2.0], [0.5, 0.5, 0.0])]),
    "maximum": (lambda x: jnp.maximum(x, 1.0), [(1.0, 0.5)]),
    "ptp": (jnp.ptp, [([1.0, 1.0, 0.0], [0.5, 0.5, -1.0])]),
    "element at argmax": (lambda x: x[jnp.argmax(x)], [([1.0, 1.0, 0.0], [1.0, 0.0, 0.0])]),
    "nanmax": (jnp.nanmax, [([NAN, 1.0, 1.0], [0.0, 0.5, 0.5])]),
    "nanmean": (jnp.nanmean, [([NAN, 1.0, 3.0], [0.0, 0.5, 0.5])]),
    "nansum": (jnp.nansum, [([NAN, 1.0, 3.0], [0.0, 1.0, 1.0])]),
    "nanprod": (jnp.nanprod, [([NAN, 2.0, 3.0], [0.0, 3.0, 2.0])]),
    "nanvar": (jnp.nanvar, [([NAN, 1.0, 3.0], [0.0, -1.0, 1.0])]),
    "nanstd": (jnp.nanstd, [([NAN, 1.0, 3.0], [0.0, -0.5, 0.5])]),
    "var": (jnp.var, [([1.0, 1.0], [0.0, 0.0])]),
    "elu": (nn.elu, [(0.0, 1.0), (-100.0, 0.0), (1e30, 1.0), (-1e30, 0.0)]),
    "relu": (nn.relu, [(0.0, 0.0), (1.0, 1.0)]),
    "softplus": (nn.softplus, [(0.0, 0.5), (-1e30, 0.0), (1e30, 1.0)]),
    "sinc": (
        jnp.sinc,
        [(0.0, 0.0), (1.0, -1.0), (1e-4, -(np.pi**2) / 3 * 1e-4), (INF, 0.0), (-INF, 0.0)],
    ),
    "slope of sinc": (jx.grad(jnp.sinc), [(0.0, -(np.pi**2) / 3)]),
    "sqrt": (jnp.sqrt, [(0.0, INF)]),
    "abs": (jnp.abs, [(0.0, 0.0), (-0.0, 0.0)]),
    "arctan2 at the origin": (lambda x: jnp.arctan2(x, x), [(0.0, NAN)]),
    "logsumexp": (
        nn.logsumexp,
        [([-INF, 0.0], [0.0, 1.0]), ([-INF, -INF], [0.0, 0.0]), ([1e3, 1e3], [0.5, 0.5])],
    ),
    "slope of softplus": (jx.grad(nn.softplus), [(0.0, 0.25), (-1e30, 0.0), (1e30, 0.0)]),
    "slope of log_sigmoid": (jx.grad(nn.log_sigmoid), [(0.0, -0.25)]),
    "slope of logaddexp": (
        jx.grad(lambda x: jnp.logaddexp(x, 2.0)),
        [(2.0, 0.25), (-INF, 0.0), (INF, 0.0)],
    ),
    "logaddexp": (lambda x: jnp.logaddexp(x, x), [(-INF, 1.0), (0.0, 1.0), (INF, 1.0)]),
    "softmax": (lambda x: nn.softmax(x)[0], [([-INF, 0.0], [0.0, 0.0]), ([1e3, 0.0], [0.0, 0.0])]),
    "cumprod": (jnp.cumprod, [([2.0, 0.0, 3.0], [1.0, 8.0, 0.0])]),
    "prod": (jnp.prod, [([2.0, 0.0, 3.0], [0.0, 6.0, 0.0]), ([0.0, 0.0, 3.0], [0.0, 0.0, 0.0])]),
    "sort": (
        lambda x: jnp.sort(x) * jnp.arange(3.0),
        [([1.0, 1.0, 0.0], [1.0, 2.0, 0.0])],
    ),
    "descending sort": (
        lambda x: jnp.sort(x, descending=True) * jnp.arange(3.0),
        [([1.0, 1.0, 0.0], [1.0, 0.0, 2.0])],
    ),
    "median": (jnp.median, [([1.0, 2.0], [0.5, 0.5])]),
    "piecewise": (
        lambda x: jnp.piecewise(x, [x < 0, x >= 0], [lambda v: 0 * v, jnp.sqrt]),
        [(-1.0, 0.0), (4.0, 0.25), ([4.0, -1.0], [0.25, 0.0])],
    ),
    "nextafter": (lambda x: jnp.nextafter(x, 2.0), [(1.0, 1.0), (2.0, 1.0)]),
    "nextafter by its direction": (lambda x: jnp.nextafter(1.0, x), [(2.0, 0.0)]),
    "spacing": (jnp.spacing, [(0.0, 0.0), (1.0, 0.0), (-3.0, 0.0)]),
    "weighted quantile": (
        lambda x: jnp.quantile(
            x, 0.5, weights=np.float32([1, 5, 1]), axis=0, method="inverted_cdf"
        ),
        [([3.0, 1.0, 2.0], [0.0, 1.0, 0.0])],
    ),
}


@pytest.mark.parametrize(
    ("function", "at", "slope"),
    [
        pytest.param(function, x, slope, id=f"{name} at {x}")
        for name, (function, points) in SLOPES.items()
        for x, slope in points
    ],
)
def test_slope_at_an_edge(function, at, slope):
    x = np.asarray(at, np.float32)
    gradient = jx.grad(lambda x: jnp.sum(function(x)))(x)
    np.testing.assert_allclose(gradient, np.asarray(slope, np.float32), rtol=1e-4, atol=1e-7)


KNOWN = {
    "nonzero": (lambda x: jnp.sum(x[jnp.nonzero(x)] ** 2), [0.0, 2.0, -6.0, 2.0]),
    "unique": (lambda x: jnp.sum(jnp.unique(x) ** 2), [0.0, 2.0, -6.0, 0.0]),
    "trim_zeros": (lambda x: jnp.sum(jnp.trim_zeros(x) ** 2), [0.0, 2.0, -6.0, 2.0]),
    "setdiff1d": (lambda x: jnp.sum(jnp.setdiff1d(x, x + 1) ** 2), [0.0, 0.0, -6.0, 0.0]),
    "roots": (lambda x: jnp.prod(jnp.roots(x)).real, [0.0, -1.0, 0.0, 1.0]),
    "polymul": (
        lambda x: jnp.polymul(x, x, trim_leading_zeros=True)[0],
        [0.0, 2.0, 0.0, 0.0],
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_functions_of_values_see_them_under_eager_differentiation(name):
    function, slope = KNOWN[name]
    x = np.float32([0.0, 1.0, -3.0, 1.0])
    np.testing.assert_allclose(jx.grad(function)(x), slope, rtol=1e-4, atol=1e-5)
    _, tangent = jx.jvp(function, (x,), (x,))
    np.testing.assert_allclose(tangent, x @ np.float32(slope), rtol=1e-4, atol=1e-5)


def test_logaddexp_of_nan_keeps_a_slope():
    assert jx.grad(jnp.logaddexp)(np.float32(np.nan), 1.0) != 0


def test_values_of_logaddexp_at_infinities_and_nan():
    x = np.array([INF, -INF, INF, NAN, NAN, 0.0], np.float32)
    y = np.array([INF, -INF, -INF, 0.0, INF, -INF], np.float32)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(jnp.logaddexp(x, y), np.logaddexp(x, y))
    z = np.array([complex(NAN, 0), complex(0, NAN), complex(INF, 0)], np.complex64)
    assert np.isnan(np.asarray(jnp.logaddexp(z, z))[:2]).all()
    assert np.asarray(jnp.logaddexp(z, z))[2].real == INF


def test_slopes_that_are_nearly_zero_in_narrow_dtypes():
    assert jx.grad(jnp.expm1)(jnp.float16(-9)) == np.float16(np.exp(-9))
    assert jx.grad(nn.elu)(jnp.bfloat16(-10)) > 4e-5
    assert jx.vmap(jx.grad(nn.gelu))(jnp.float16([-1e4, 800, 6e4])).tolist() == [0, 1, 1]


def test_hypot_of_small_numbers_in_half_precision():
    assert jx.grad(jnp.hypot, (0, 1))(np.float16(0), np.float16(6e-8)) == (0, 1)
    assert jx.jvp(lambda x: jnp.hypot(np.float16(0), x), (np.float16(6e-8),), (np.float16(1),)) == (
        np.float16(6e-8),
        1,
    )


def test_logaddexp_of_complex_numbers_with_many_turns():
    z = np.complex64([1e10j, 3e30j, -3e30j, 1 + 100j])
    np.testing.assert_allclose(jnp.logaddexp(z, 0), np.log1p(np.exp(z.astype(complex))), rtol=1e-5)


def test_logaddexp_of_complex_numbers_is_a_logarithm():
    x, y = np.complex64([1 + 9j, -4j, 2j]), np.complex64([0.5 - 5j, 0.3, 2j])
    found, slope = jx.jit(lambda x, y: jx.jvp(jnp.logaddexp, (x, y), (x, y)))(x, y)
    np.testing.assert_allclose(found, np.log(np.exp(x) + np.exp(y)), rtol=1e-5)
    whole = np.exp(x) + np.exp(y)
    np.testing.assert_allclose(slope, (x * np.exp(x) + y * np.exp(y)) / whole, rtol=1e-5)
    np.testing.assert_allclose(jnp.logaddexp2(x, y), np.log(2**x + 2**y) / np.log(2), rtol=1e-5)


# ---------------------------------------------------------------- integers

I8, I32, U8 = np.int8, np.int32, np.uint8

INTEGERS = {
    "addition wraps": (jnp.add, (I8(127), I8(1)), I8(-128)),
    "subtraction wraps": (jnp.subtract, (U8(3), U8(5)), U8(254)),
    "multiplication wraps": (jnp.multiply, (I8(100), I8(2)), I8(-56)),
    "negation of the least wraps": (jnp.negative, (I32(-(2**31)),), I32(-(2**31))),
    "modulus of the least wraps": (jnp.abs, (I32(-(2**31)),), I32(-(2**31))),
    "powers wrap": (jnp.power, (I32(2), I32(31)), I32(-(2**31))),
    "0 to the 0": (jnp.power, (I32(0), I32(0)), I32(1)),
    "floor division rounds down": (jnp.floor_divide, (I32(-7), I32(2)), I32(-4)),
    "floor division by a negative": (jnp.floor_divide, (I32(7), I32(-2)), I32(-4)),
    "the least by -1": (jnp.floor_divide, (I32(-(2**31)), I32(-1)), I32(-(2**31))),
    "remainder has the divisor's sign": (jnp.remainder, (I32(-7), I32(2)), I32(1)),
    "remainder by a negative": (jnp.remainder, (I32(7), I32(-2)), I32(-1)),
    "fmod has the dividend's sign": (jnp.fmod, (I32(-7), I32(2)), I32(-1)),
    "left shift": (jnp.left_shift, (I32(1), I32(31)), I32(-(2**31))),
    "left shift by too much": (jnp.left_shift, (I32(1), I32(32)), I32(0)),
    "right shift keeps the sign": (jnp.right_shift, (I32(-8), I32(1)), I32(-4)),
    "right shift of unsigned": (jnp.right_shift, (U8(200), U8(1)), U8(100)),
    "sum of int8 is of int32": (jnp.sum, (np.full(4, 100, I8),), I32(400)),
    "sum of uint8 is of uint32": (jnp.sum, (np.full(4, 100, U8),), np.uint32(400)),
    "prod of int8 is of int32": (jnp.prod, (np.full(4, 100, I8),), I32(10**8)),
    "a literal wraps like a conversion": (lambda x: x + 300, (jnp.int8(1),), I8(45)),
    "sum of bool": (jnp.sum, (np.array([True, True]),), I32(2)),
    "prod of bool": (jnp.prod, (np.array([True, True]),), I32(1)),
    "cumulative_sum of int8 is of int32": (
        jnp.cumulative_sum,
        (np.full(2, 100, I8),),
        np.array([100, 200], I32),
    ),
    "cumsum of int8": (jnp.cumsum, (np.full(2, 100, I8),), np.array([100, -56], I8)),
    "mean of integers": (jnp.mean, (np.array([1, 2], I32),), np.float32(1.5)),
}


@pytest.mark.parametrize("case", INTEGERS)
def test_integers_are_the_same_eagerly_and_compiled(case):
    function, args, expected = INTEGERS[case]
    for run in (function, jx.jit(function)):
        result = np.asarray(run(*args))
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("run", [lambda f: f, jx.jit])
def test_division_by_zero_does_not_raise(run):
    quotient, rest = run(lambda x: (x // 0, x % 0))(jnp.int32(7))
    assert (quotient.dtype, rest.dtype) == (I32, I32)
    np.testing.assert_array_equal(quotient, jx.jit(lambda x: x // 0)(jnp.int32(7)))


@pytest.mark.parametrize(
    "call",
    [
        lambda: jnp.int32(5) + 2**31,
        lambda: jnp.array(2**31),
        lambda: jnp.asarray(300, I8),
        lambda: jnp.full((2,), 2**40),
        lambda: jnp.arange(2**31, 2**31 + 2),
        lambda: jx.jit(lambda x: x + 2**31)(I32(1)),
    ],
)
def test_a_literal_out_of_range_is_an_error(call):
    with pytest.raises(OverflowError):
        call()


@pytest.mark.parametrize("run", [lambda f: f, jx.jit])
@pytest.mark.parametrize("function", [jnp.floor_divide, lambda x, y: jnp.divmod(x, y)[0]])
def test_floor_division_by_floating_zero_is_infinite(run, function):
    x, y = np.float32([1, -1, 2, 0, INF]), np.float32([0, 0, -0.0, 0, 0])
    np.testing.assert_array_equal(run(function)(x, y), [INF, -INF, -INF, NAN, INF])


@pytest.mark.parametrize("run", [lambda f: f, jx.jit])
def test_a_python_float_to_the_power_of_a_python_integer(run):
    power = run(lambda n: 0.5**-n)
    assert (power(3), power(jnp.asarray(2))) == (8.0, 4.0)
    assert run(jx.grad(lambda x, n: x * 0.5**n))(1.0, 2) == 0.25


@pytest.mark.parametrize("function", [jnp.maximum, jnp.minimum])
def test_an_operand_that_was_not_chosen_has_no_share_of_an_infinite_cotangent(function) -> None:
    x, y = jnp.array([1.0, 3.0, 2.0]), jnp.array([3.0, 1.0, 2.0])
    shares = jx.vjp(function, x, y)[1](jnp.array([jnp.inf, jnp.inf, 1.0]))
    greater = np.array(shares) if function is jnp.maximum else np.array(shares)[::-1]
    np.testing.assert_array_equal(greater, [[0.0, np.inf, 0.5], [np.inf, 0.0, 0.5]])
