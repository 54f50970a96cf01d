"""Values and derivatives at the points where conventions decide: kinks, ties, poles, extremes."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel.lax import RoundingMethod
from jxkernel.primitives.elementwise.compare import eq_to, le_to, lt_to

INF, NAN = np.inf, np.nan

SLOPES: dict[str, tuple[Any, list[tuple[float, float]]]] = {
    "abs": (lax.abs, [(0.0, 0.0), (-0.0, 0.0), (-3.0, -1.0), (NAN, NAN)]),
    "sign": (lax.sign, [(0.0, 0.0), (2.0, 0.0)]),
    "sqrt": (lax.sqrt, [(0.0, INF), (-1.0, NAN), (4.0, 0.25)]),
    "rsqrt": (lax.rsqrt, [(4.0, -0.0625), (INF, 0.0)]),
    "cbrt": (lax.cbrt, [(0.0, INF), (-8.0, 1 / 12)]),
    "log": (lax.log, [(0.0, INF), (-1.0, -1.0)]),
    "log1p": (lax.log1p, [(-1.0, INF), (0.0, 1.0)]),
    "exp": (lax.exp, [(-INF, 0.0), (INF, INF)]),
    "logistic": (lax.logistic, [(200.0, 0.0), (-200.0, 0.0), (0.0, 0.25), (INF, 0.0)]),
    "tanh": (lax.tanh, [(50.0, 0.0), (-INF, 0.0), (0.0, 1.0)]),
    "asin": (lax.asin, [(1.0, INF), (2.0, NAN)]),
    "acos": (lax.acos, [(1.0, -INF), (0.0, -1.0)]),
    "asinh": (lax.asinh, [(1e30, 1e-30), (-1e30, 1e-30), (INF, 0.0), (0.0, 1.0)]),
    "acosh": (lax.acosh, [(1.0, INF), (0.5, NAN), (1e30, 1e-30)]),
    "atanh": (lax.atanh, [(1.0, INF), (0.0, 1.0)]),
    "floor": (lax.floor, [(1.0, 0.0), (1.5, 0.0)]),
    "erf_inv": (lax.erf_inv, [(1.0, INF), (0.0, np.sqrt(np.pi) / 2)]),
    "lgamma": (lax.lgamma, [(INF, INF), (1.0, -np.euler_gamma)]),
    "bessel_i0e": (lax.bessel_i0e, [(0.0, 0.0)]),
    "bessel_i1e": (lax.bessel_i1e, [(0.0, 0.5), (1e-30, 0.5)]),
    "slope of bessel_i1e": (jx.grad(lax.bessel_i1e), [(1e-30, -1.0), (-1e-30, 1.0)]),
    "slope of erf": (jx.grad(lax.erf), [(INF, 0.0), (0.0, 0.0)]),
    "slope of erfc": (jx.grad(lax.erfc), [(-INF, 0.0)]),
    "square": (lax.square, [(0.0, 0.0)]),
    "x to the 0.0": (lambda x: lax.pow(x, 0.0), [(0.0, 0.0), (-2.0, 0.0)]),
    "x to the 1.0": (lambda x: lax.pow(x, 1.0), [(0.0, 1.0), (-2.0, 1.0)]),
    "x to the 0.5": (lambda x: lax.pow(x, 0.5), [(0.0, INF)]),
    "x to the 2": (lambda x: lax.pow(x, 2), [(0.0, 0.0), (-3.0, -6.0)]),
    "x to the 0": (lambda x: lax.pow(x, 0), [(0.0, 0.0), (-3.0, 0.0)]),
    "x by squaring": (lambda x: lax.integer_pow(x, 3), [(0.0, 0.0), (-2.0, 12.0)]),
    "x to no power": (lambda x: lax.integer_pow(x, 0), [(0.0, 0.0), (NAN, 0.0)]),
    "0 to the x": (lambda x: lax.pow(0.0, x), [(2.0, 0.0), (0.0, 0.0)]),
    "-2 to the x": (lambda x: lax.pow(-2.0, x), [(2.0, NAN)]),
    "max with 1": (lambda x: lax.max(x, 1.0), [(0.5, 0.0), (1.0, 0.5), (2.0, 1.0)]),
    "min with 1": (lambda x: lax.min(x, 1.0), [(0.5, 1.0), (1.0, 0.5), (2.0, 0.0)]),
    "max of x and x": (lambda x: lax.max(x, x), [(3.0, 1.0)]),
    "clamp": (lambda x: lax.clamp(0.0, x, 1.0), [(0.0, 0.0), (0.5, 1.0), (1.0, 0.0)]),
    "clamp from x": (lambda x: lax.clamp(x, 0.5, 1.0), [(0.7, 1.0), (0.5, 0.0), (0.2, 0.0)]),
    "clamp to x": (lambda x: lax.clamp(0.0, 0.5, x), [(0.2, 1.0), (0.5, 0.0), (0.7, 0.0)]),
    "atan2 of x": (lambda x: lax.atan2(x, 0.0), [(0.0, NAN), (2.0, 0.0)]),
    "rem by x": (lambda x: lax.rem(7.5, x), [(2.0, -3.0), (-2.0, 3.0)]),
    "division by x": (lambda x: lax.div(1.0, x), [(0.0, -INF), (1e-30, -INF), (1e30, -0.0)]),
    "division by what has no square": (
        jx.jit(lambda x: lax.div(np.float32(1e-25), x)),
        [(1e-25, -1e25), (1e-30, -1e35)],
    ),
    "division of large numbers": (lambda x: lax.div(np.float32(3e30), x), [(1e25, -3e-20)]),
    "igamma at 0": (lambda x: lax.igamma(1.0, x), [(0.0, 1.0), (INF, 0.0)]),
    "igamma in a": (lambda a: lax.igamma(a, 0.0), [(2.0, 0.0)]),
}


@pytest.mark.parametrize(
    ("function", "at", "slope"),
    [
        pytest.param(function, x, slope, id=f"{name} at {x}")
        for name, (function, points) in SLOPES.items()
        for x, slope in points
    ],
)
def test_derivative_at_an_edge(function: Any, at: float, slope: float) -> None:
    x = np.float32(at)
    np.testing.assert_allclose(jx.grad(function)(x), np.float32(slope), rtol=2e-6)
    np.testing.assert_allclose(
        jx.jvp(function, (x,), (np.float32(1),))[1], np.float32(slope), rtol=2e-6
    )


EXTREMES = [
    (lax.div, np.int8(-128), np.int8(-1), -128),
    (lax.div, np.int8(5), np.int8(0), -1),
    (lax.div, np.uint8(5), np.uint8(0), 255),
    (lax.div, np.int32(-7), np.int32(2), -3),
    (lax.rem, np.int8(-128), np.int8(-1), 0),
    (lax.rem, np.int32(-7), np.int32(2), -1),
    (lax.rem, np.int32(7), np.int32(0), 7),
    (lax.add, np.int8(127), np.int8(1), -128),
    (lax.sub, np.uint8(0), np.uint8(1), 255),
    (lax.mul, np.int32(2**30), np.int32(4), 0),
    (lax.shift_left, np.int32(1), np.int32(31), -(2**31)),
    (lax.shift_left, np.int32(1), np.int32(32), 0),
    (lax.shift_left, np.int32(1), np.int32(-1), 0),
    (lax.shift_right_logical, np.int32(-1), np.int32(31), 1),
    (lax.shift_right_logical, np.int32(-1), np.int32(32), 0),
    (lax.shift_right_arithmetic, np.int32(-8), np.int32(1), -4),
    (lax.shift_right_arithmetic, np.int32(-8), np.int32(99), -1),
    (lax.shift_right_arithmetic, np.uint8(128), np.uint8(1), 192),
]


@pytest.mark.parametrize(("function", "x", "y", "expected"), EXTREMES)
def test_integers_at_their_extremes(function: Any, x: Any, y: Any, expected: int) -> None:
    result = function(x, y)
    assert (result.dtype, int(result)) == (x.dtype, expected)
    assert int(jx.jit(function)(x, y)) == expected


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (lax.abs, np.int8(-128), -128),
        (lax.neg, np.int8(-128), -128),
        (lax.neg, np.uint8(3), 253),
        (lax.sign, np.uint8(200), 1),
        (lax.bitwise_not, np.int8(0), -1),
        (lax.bitwise_not, np.array(True), False),
        (lax.population_count, np.int8(-1), 8),
        (lax.clz, np.uint16(0), 16),
        (lambda x: lax.integer_pow(x, 0), np.int32(0), 1),
        (lambda x: lax.integer_pow(x, 5), np.int8(3), -13),
    ],
)
def test_one_integer_at_its_extremes(function: Any, x: Any, expected: Any) -> None:
    result = function(x)
    assert (result.dtype, result.tolist()) == (x.dtype, expected)


@pytest.mark.parametrize(
    ("method", "rounded"),
    [
        (RoundingMethod.AWAY_FROM_ZERO, [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]),
        (RoundingMethod.TO_NEAREST_EVEN, [-2.0, -2.0, -0.0, 0.0, 2.0, 2.0]),
    ],
)
def test_rounding_of_halves(method: RoundingMethod, rounded: list[float]) -> None:
    halves = np.float32([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])
    np.testing.assert_array_equal(lax.round(halves, method), rounded)
    np.testing.assert_array_equal(lax.round(halves, int(method)), rounded)


def test_rounding_does_not_carry_what_is_just_below_a_half() -> None:
    below = np.nextafter(np.float32(0.5), np.float32(0))
    assert float(lax.round(below)) == 0.0


def test_total_order_tells_apart_what_comparison_does_not() -> None:
    line = np.float32([-NAN, -INF, -1.0, -0.0, 0.0, 1.0, INF, NAN])
    line[0] = np.copysign(np.float32(NAN), -1)
    for place, x in enumerate(line):
        np.testing.assert_array_equal(lt_to(line, x), np.arange(8) < place)
        np.testing.assert_array_equal(le_to(line, x), np.arange(8) <= place)
        np.testing.assert_array_equal(eq_to(line, x), np.arange(8) == place)
    assert bool(lax.eq(np.float32(0.0), np.float32(-0.0)))
    assert not bool(lax.eq(np.float32(NAN), np.float32(NAN)))


def test_extremes_of_complex_numbers_order_lexicographically() -> None:
    x, y = np.complex64([1 + 1j, 1 + 2j, 2 + 0j]), np.complex64([1 + 2j, 1 + 1j, 1 + 9j])
    np.testing.assert_array_equal(lax.max(x, y), np.maximum(x, y))
    np.testing.assert_array_equal(lax.min(x, y), np.minimum(x, y))


@pytest.mark.parametrize("function", [lax.exp2, lax.log2])
def test_scaled_functions_of_complex_infinities_are_not_nan(function: Any) -> None:
    z = np.complex64([0.0 if function is lax.log2 else complex(-INF, 0.0)])
    expected = complex(-INF, 0.0) if function is lax.log2 else 0.0
    np.testing.assert_array_equal(function(z), np.complex64([expected]))


@pytest.mark.parametrize(
    ("function", "reference"), [(lax.sin, np.sin), (lax.cos, np.cos)], ids=["sin", "cos"]
)
def test_sine_and_cosine_far_up_the_imaginary_axis(function: Any, reference: Any) -> None:
    z = np.complex64([100j, -100j, 1 + 1e-3j, 1e-4j, 1e-4, 3 - 2j])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(function(z), reference(z), rtol=1e-6)


def test_asinh_has_the_slope_of_the_side_of_its_cut() -> None:
    slope = jx.grad(lax.asinh, holomorphic=True)
    for sign in (1, -1):
        z = np.complex64(complex(0.0, 2.0 * sign))
        np.testing.assert_allclose(slope(z), -1j * sign / np.sqrt(3), rtol=1e-6)
