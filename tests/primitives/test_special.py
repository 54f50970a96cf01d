"""Special functions: hard ranges against SciPy in float64, limits, and samples' derivatives."""

from typing import Any

import numpy as np
import pytest
import scipy.special

import jxkernel as jx
from jxkernel import lax, random
from jxkernel.config import enable_x64
from tests.primitives.checking import quickly

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (lax.lgamma, [0.0, -1.0, -2.0, INF, NAN], [INF, INF, INF, INF, NAN]),
        (lax.digamma, [-1.0, -2.0, INF, NAN], [NAN, NAN, INF, NAN]),
        (lax.erf, [-INF, INF, 0.0], [-1.0, 1.0, 0.0]),
        (lax.erfc, [-INF, INF, 0.0], [2.0, 0.0, 1.0]),
        (lax.erf_inv, [-1.0, 1.0, 2.0, 0.0], [-INF, INF, NAN, 0.0]),
        (lax.bessel_i0e, [0.0, -INF, INF, NAN], [1.0, 0.0, 0.0, NAN]),
        (lax.bessel_i1e, [0.0, INF, NAN], [0.0, 0.0, NAN]),
    ],
)
def test_limits(function: Any, x: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(function(np.float32(x)), np.float32(expected), rtol=1e-6)


GRID = np.concatenate([-np.logspace(-8, 1.5, 40), np.logspace(-8, 2.5, 60)])


@pytest.mark.parametrize(
    ("function", "reference", "x"),
    [
        (lax.lgamma, scipy.special.gammaln, GRID),
        (lax.digamma, scipy.special.digamma, GRID),
        (lax.erfc, scipy.special.erfc, GRID[GRID < 25]),
        (lax.erf_inv, scipy.special.erfinv, np.linspace(-0.999999, 0.999999, 101)),
        (lax.bessel_i0e, scipy.special.i0e, GRID),
        (lax.bessel_i1e, scipy.special.i1e, GRID),
        (lax.log1p, np.log1p, GRID[GRID > -1]),
        (lax.expm1, np.expm1, GRID),
    ],
)
def test_relative_accuracy_over_magnitudes(function: Any, reference: Any, x: Any) -> None:
    with enable_x64(True):
        np.testing.assert_allclose(function(x), reference(x), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("zero", [1, 2])
def test_lgamma_keeps_its_digits_beside_its_zeros(zero: int) -> None:
    steps = 2.0 ** -np.arange(2, 20)
    x = np.concatenate([zero - steps, zero + steps])
    np.testing.assert_allclose(
        lax.lgamma(x.astype(np.float32)), scipy.special.gammaln(x), rtol=2e-6
    )
    with enable_x64(True):
        assert float(lax.lgamma(np.float64(zero))) == float(lax.lgamma(np.float32(zero))) == 0.0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lgamma_of_subnormal_numbers(dtype: str) -> None:
    least = float(np.finfo(dtype).smallest_subnormal)
    sizes = least * np.array([1.0, 2.0, 1e3, 2.0**20])
    x = np.concatenate([sizes, -sizes]).astype(dtype)
    with enable_x64(dtype == "float64"):
        np.testing.assert_allclose(lax.lgamma(x), -np.log(abs(np.float64(x))), rtol=1e-6)
        assert lax.lgamma(np.array(-0.0, dtype)) == np.inf


@pytest.mark.parametrize("order", [0, 1, 2, 5])
def test_polygamma_and_zeta_by_order(order: int) -> None:
    with enable_x64(True):
        x = np.linspace(0.3, 20.0, 30)
        expected = scipy.special.polygamma(order, x)
        np.testing.assert_allclose(lax.polygamma(float(order), x), expected, rtol=1e-11)
        expected = scipy.special.zeta(order + 1.5, x)
        np.testing.assert_allclose(lax.zeta(order + 1.5, x), expected, rtol=1e-11)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_polygamma_and_zeta_of_negative_and_of_large_numbers(dtype: str) -> None:
    x = np.array([-0.3, -8.4, -11.9, -170.6, -1e5 - 0.25, 1e7, 1e15, 1e20], dtype)
    rtol = 3e-6 if dtype == "float32" else 1e-11
    with enable_x64(True):
        for order in (1, 2, 3):
            expected = scipy.special.polygamma(order, np.float64(x))
            expected[abs(expected) < np.finfo(dtype).tiny] = 0
            found = lax.polygamma(np.full_like(x, order), x)
            np.testing.assert_allclose(found, expected, rtol=rtol, err_msg=f"order {order}")
        s, q = np.array([[2, 3, 2.5, 2, 4], [-11.5, -11.25, -0.5, -3, -1e3 - 0.5]], dtype)
        expected = scipy.special.zeta(np.float64(s), np.float64(q))
        np.testing.assert_allclose(lax.zeta(s, q), expected, rtol=rtol)


def test_digamma_of_zero_has_its_other_sign() -> None:
    found = lax.digamma(np.float32([0.0, -0.0, 1e-30, -1e-30]))
    np.testing.assert_allclose(found, [-np.inf, np.inf, -1e30, 1e30], rtol=1e-6)


def test_zeta_is_differentiated_in_its_exponent() -> None:
    # ζ'(x, q) = -Σ log(k + q) (k + q)⁻ˣ, whose terms fall fast for large x; near x = 1 it is
    # the slope of 1/(x - 1) + 0.577... + 0.0728... (x - 1).
    x, q = np.float64([[8, 8, 8, 20, 20, 60], [0.3, 2.5, 40, 1, 2.5, 1.5]])
    terms = q[:, None] + np.arange(2000.0)
    wanted = -(np.log(terms) * terms ** -x[:, None]).sum(-1)
    with enable_x64(True):
        slopes = quickly(jx.vmap(jx.grad(lax.zeta)))
        found = slopes(np.append(x, 1.0001), np.append(q, 1.0))
    np.testing.assert_allclose(found, np.append(wanted, 0.0728158454836767 - 1e8), rtol=1e-10)
    at_ends = jx.jvp(
        lambda x: lax.zeta(x, np.float16(1)), (np.float16([1, 0.5, 2]),), (np.ones(3, np.float16),)
    )[1]
    np.testing.assert_array_equal(at_ends, np.float16([-np.inf, np.nan, -0.9375]))


# ---------------------------------------------------------------- incomplete gamma and beta

SHAPE = np.repeat(np.logspace(-2, 4, 25), 7)
AROUND = SHAPE * np.tile(np.exp(np.linspace(-1.5, 1.5, 7) / np.sqrt(1 + SHAPE[::7].mean())), 25)
SPREAD = SHAPE * np.tile(np.exp(np.linspace(-3, 3, 7)), 25)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("x", [AROUND, SPREAD], ids=["around the mean", "spread"])
def test_incomplete_gamma_over_magnitudes(x: Any, dtype: str, tolerance: float) -> None:
    with enable_x64(True):
        a, x = SHAPE.astype(dtype), x.astype(dtype)
        wide = a.astype(np.float64), x.astype(np.float64)
        for function, reference in (
            (lax.igamma, scipy.special.gammainc),
            (lax.igammac, scipy.special.gammaincc),
        ):
            result = function(a, x)
            assert result.dtype == dtype
            np.testing.assert_allclose(
                np.asarray(result, np.float64), reference(*wide), rtol=0, atol=tolerance
            )


LARGE = (
    (1100.0, 1000.0, 0.0009626304058665572, 0.9990373695941335, -9.960315504339329e-05),
    (5000.0, 3200.0, 6.677671138674647e-190, 1.0, -2.983193246615783e-190),
    (5000.0, 7300.0, 1.0, 9.441326672612852e-180, -3.577979844090293e-180),
    (1e6, 1000100.0, 0.5399588284317236, 0.4600411715682764, -0.00039693286655145235),
    (1e8, 99970000.0, 0.0013487164491615506, 0.9986512835508384, -4.4285249615234345e-07),
    (1e8, 1e8, 0.5000132980760141, 0.49998670192398587, -3.989422807338846e-05),
)
"""a, x, P, Q and dP/da: integrals of the density, computed with 50 digits."""


@pytest.mark.parametrize(("a", "x", "lower", "upper", "slope"), LARGE)
def test_incomplete_gamma_of_large_parameters(a, x, lower, upper, slope) -> None:
    with enable_x64(True):
        np.testing.assert_allclose(lax.igamma(a, x), lower, rtol=1e-13)
        np.testing.assert_allclose(lax.igammac(a, x), upper, rtol=1e-12)
        np.testing.assert_allclose(lax.igamma_grad_a(a, x), slope, rtol=1e-12)
    narrow = np.float32(a), np.float32(x)
    tiny = np.finfo(np.float32).tiny
    np.testing.assert_allclose(lax.igamma(*narrow), lower, rtol=1e-5, atol=tiny)
    np.testing.assert_allclose(lax.igammac(*narrow), upper, rtol=1e-5, atol=tiny)
    np.testing.assert_allclose(lax.igamma_grad_a(*narrow), slope, rtol=1e-5, atol=tiny)


def test_methods_of_the_incomplete_gamma_function_meet() -> None:
    # Each of these is beside an end of the range of the expansion.
    a = np.float64([1000, 1000.1, 3000, 3000, 3000, 3000])
    x = np.float64([1030, 1030, 1799, 1801, 4199, 4201])
    with enable_x64(True):
        np.testing.assert_allclose(lax.igamma(a, x), scipy.special.gammainc(a, x), rtol=1e-11)
        np.testing.assert_allclose(lax.igammac(a, x), scipy.special.gammaincc(a, x), rtol=1e-11)


@pytest.mark.parametrize(
    ("a", "x", "lower", "upper"),
    [
        (0.0, 1.0, 1.0, 0.0),
        (0.0, 0.0, NAN, NAN),
        (2.0, 0.0, 0.0, 1.0),
        (2.0, INF, 1.0, 0.0),
        (INF, 2.0, 0.0, 1.0),
        (INF, INF, NAN, NAN),
        (-1.0, 1.0, NAN, NAN),
        (1.0, -1.0, NAN, NAN),
        (NAN, 1.0, NAN, NAN),
    ],
)
def test_incomplete_gamma_at_its_limits(a: float, x: float, lower: float, upper: float) -> None:
    given = np.float32(a), np.float32(x)
    np.testing.assert_array_equal(lax.igamma(*given), np.float32(lower))
    np.testing.assert_array_equal(lax.igammac(*given), np.float32(upper))


def test_upper_tail_keeps_its_digits() -> None:
    with enable_x64(True):
        a, x = np.array([0.5, 3.0, 1e4]), np.array([200.0, 150.0, 1.1e4])
        np.testing.assert_allclose(lax.igammac(a, x), scipy.special.gammaincc(a, x), rtol=1e-11)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
def test_incomplete_beta_over_magnitudes(dtype: str, tolerance: float) -> None:
    random = np.random.default_rng(0)
    a, b = (np.exp(random.uniform(-3, 7, 200)).astype(dtype) for _ in range(2))
    x = random.beta(a.astype(np.float64), b.astype(np.float64)).astype(dtype)
    with enable_x64(True):
        result = np.asarray(lax.betainc(a, b, x), np.float64)
    wide = (v.astype(np.float64) for v in (a, b, x))
    np.testing.assert_allclose(result, scipy.special.betainc(*wide), rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("a", "b", "x", "expected"),
    [
        (3e8, 2e8, 0.6, 0.4999975721141936),
        (3e8, 2e8, 0.59999561821954, 0.42073800598249234),
        (3e8, 2e8, 0.5999342732930993, 0.0013501137575252476),
        (2e8, 5e10, 0.003984485476173011, 0.9331890059358771),
        (1e9, 1e12, 0.0009988115465910366, 9.843516340236652e-10),
    ],
)
def test_incomplete_beta_of_large_parameters(a, b, x, expected) -> None:
    # The expected are integrals of the density, computed with 40 digits.
    with enable_x64(True):
        np.testing.assert_allclose(lax.betainc(a, b, x), expected, rtol=1e-10)
        np.testing.assert_allclose(lax.betainc(b, a, 1 - x), 1 - expected, rtol=1e-8)


def test_incomplete_beta_of_large_parameters_in_single_precision() -> None:
    random = np.random.default_rng(0)
    a, b = (np.exp(random.uniform(7, 28, 500)).astype(np.float32) for _ in range(2))
    wide = a.astype(np.float64), b.astype(np.float64)
    x = random.beta(*wide).astype(np.float32)
    result = np.asarray(lax.betainc(a, b, x), np.float64)
    # It is as near as a few roundings of x and of 1 - x let it be.
    x = x.astype(np.float64)
    ends = [x * (1 - 4e-7), x * (1 + 4e-7), 1 - (1 - x) * (1 - 4e-7), 1 - (1 - x) * (1 + 4e-7)]
    values = np.array([scipy.special.betainc(*wide, np.clip(end, 0, 1)) for end in ends])
    assert (values.min(0) - 1e-5 <= result).all()
    assert (result <= values.max(0) + 1e-5).all()


@pytest.mark.parametrize(
    ("a", "b", "x", "expected"),
    [
        (2.0, 3.0, 0.0, 0.0),
        (2.0, 3.0, 1.0, 1.0),
        (2.0, 3.0, -0.1, NAN),
        (2.0, 3.0, 1.1, NAN),
        (-1.0, 3.0, 0.5, NAN),
        (2.0, 3.0, NAN, NAN),
    ],
)
def test_incomplete_beta_at_its_limits(a: float, b: float, x: float, expected: float) -> None:
    result = lax.betainc(np.float32(a), np.float32(b), np.float32(x))
    np.testing.assert_array_equal(result, np.float32(expected))


def test_elements_do_not_depend_on_their_neighbours() -> None:
    # All elements of an array iterate together; the slow must not move the fast.
    alone = lax.igamma(np.float32([2.0]), np.float32([1.5]))
    beside = lax.igamma(np.float32([2.0, 5000.0]), np.float32([1.5, 5000.0]))
    assert float(alone[0]) == float(beside[0])


def test_gamma_samples_move_with_their_shape_at_a_constant_rank() -> None:
    with enable_x64(True):
        ranks = np.linspace(0.05, 0.95, 10)
        for shape in (0.3, 1.0, 4.0, 50.0):
            samples = scipy.special.gammaincinv(shape, ranks)
            step = 1e-5 * shape
            numeric = (
                scipy.special.gammaincinv(shape + step, ranks)
                - scipy.special.gammaincinv(shape - step, ranks)
            ) / (2 * step)
            found = lax.random_gamma_grad(np.full_like(samples, shape), samples)
            np.testing.assert_allclose(found, numeric, rtol=1e-6)


def test_slopes_in_a_of_incomplete_gamma_have_slopes_in_x() -> None:
    with enable_x64(True):
        a, x, step = np.array([0.3, 2.0, 40.0]), np.array([0.2, 3.0, 35.0]), 1e-5
        for function in (lax.igamma_grad_a, lax.random_gamma_grad):
            _, found = jx.jvp(lambda x, f=function: f(a, x), (x,), (np.ones(3),))
            numeric = (function(a, x + step) - function(a, x - step)) / (2 * step)
            np.testing.assert_allclose(found, numeric, rtol=1e-5)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", [lax.igamma_grad_a, lax.random_gamma_grad])
def test_slopes_in_a_of_incomplete_gamma_have_slopes_in_a(function: Any) -> None:
    # The series, the continued fraction, and the expansion for large parameters.
    a = np.array([1e-3, 0.3, 2.0, 40.0, 900.0, 0.3, 2.0, 40.0, 1100.0, 1e5, 1e5, 2e4])
    x = np.array([1e-4, 0.2, 1.5, 35.0, 880.0, 4.0, 3.0, 45.0, 1000.0, 1e5 + 50, 1e5 + 200, 2.5e4])
    step = 1e-4 * np.where(a > 1000, np.sqrt(a), a)
    with enable_x64(True):
        _, found = jx.jvp(lambda a: function(a, x), (a,), (np.ones_like(a),))
        near, far = ((function(a + s, x) - function(a - s, x)) / (2 * s) for s in (step / 2, step))
        numeric = (4 * near - far) / 3
        np.testing.assert_allclose(found, numeric, rtol=1e-6)
    narrow = jx.vmap(jx.grad(function))(np.float32(a), np.float32(x))
    np.testing.assert_allclose(narrow, numeric, rtol=2e-3, atol=1e-37)


def test_gamma_numbers_have_second_derivatives_at_constant_ranks() -> None:
    with enable_x64(True):

        def moved(a: Any) -> Any:
            return jx.jvp(lambda a: random.gamma(random.key(0), a, (50,)), (a,), (1.0,))

        (x, _), (_, found) = quickly(lambda a: jx.jvp(moved, (a,), (1.0,)))(2.0)
        ranks, step = scipy.special.gammainc(2.0, x), 1e-4
        above, below = (
            lax.random_gamma_grad(np.full(50, a), scipy.special.gammaincinv(a, ranks))
            for a in (2.0 + step, 2.0 - step)
        )
        np.testing.assert_allclose(found, (above - below) / (2 * step), rtol=1e-5, atol=1e-7)


def test_infinite_gamma_samples_and_shapes_have_no_slope() -> None:
    shapes, samples = np.float32([np.inf, 2, np.inf]), np.float32([1, np.inf, np.inf])
    assert np.isnan(lax.random_gamma_grad(shapes, samples)).all()


def test_gradient_of_incomplete_gamma_under_jit_and_vmap() -> None:
    slopes = jx.jit(jx.vmap(jx.grad(lax.igamma, (0, 1))))
    a, x = np.float32([0.5, 3.0]), np.float32([1.0, 2.0])
    in_a, in_x = slopes(a, x)
    density = np.exp((a - 1) * np.log(x) - x - scipy.special.gammaln(a))
    np.testing.assert_allclose(in_x, density, rtol=1e-5)
    assert (np.asarray(in_a) < 0).all()


# The first three derivatives of exp(-|x|) Iₙ(x), by mpmath with 40 digits.
SCALED_BESSEL_SLOPES = {
    "bessel_i0e": [
        (1e-3, (-0.9985012493, 1.497502186, -2.495628935)),
        (0.5, (-0.4886144673, 0.6643873282, -1.054637165)),
        (8.5, (-0.00845248796, 0.001546228262, -0.0004730438945)),
        (11.0, (-0.005672409997, 0.0007941147052, -0.0001855929941)),
        (20.0, (-0.002274089702, 0.0001728682939, -2.190996198e-05)),
        (40.0, (-0.0007960508008, 3.004587473e-5, -1.890233128e-6)),
        (1000.0, (-6.310198963e-6, 9.467668326e-9, -2.367509997e-11)),
    ],
    "bessel_i1e": [
        (1e-3, (0.4990009369, -0.9981267489, 1.871503279)),
        (0.5, (0.1757728609, -0.3902498372, 0.738586876)),
        (8.5, (-0.006906259698, 0.001073184368, -0.0002695454735)),
        (11.0, (-0.004878295291, 0.0006085217111, -0.0001247519644)),
        (20.0, (-0.002101221408, 0.0001509583319, -1.80206172e-05)),
        (40.0, (-0.0007660049261, 2.81556416e-5, -1.723733728e-6)),
        (1000.0, (-6.300731294e-6, 9.443993226e-9, -2.359221636e-11)),
    ],
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SCALED_BESSEL_SLOPES)
def test_slopes_of_scaled_bessel_functions_keep_their_digits(name, dtype):
    slope = getattr(lax, name)
    with enable_x64(True):
        x = np.array([x for x, _ in SCALED_BESSEL_SLOPES[name]], dtype)
        for order in range(3):
            slope = jx.grad(slope)
            expected = [slopes[order] for _, slopes in SCALED_BESSEL_SLOPES[name]]
            rtol = 1e-9 if dtype == "float64" else 3e-5
            np.testing.assert_allclose(jx.vmap(slope)(x), expected, rtol=rtol)
            odd = (-1) ** (order + (name == "bessel_i0e"))
            np.testing.assert_allclose(jx.vmap(slope)(-x), odd * np.array(expected), rtol=rtol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_inverses_of_error_functions_keep_their_digits_near_one(dtype):
    eps = np.finfo(dtype).eps
    gap = np.geomspace(4 * eps, 0.5, 400)
    with jx.enable_x64(dtype == "float64"):
        x = (1 - gap).astype(dtype)
        wanted = scipy.special.erfinv(np.float64(x))
        np.testing.assert_allclose(lax.erf_inv(x), wanted, rtol=4 * eps)
        np.testing.assert_array_equal(lax.erf_inv(-x), -lax.erf_inv(x))
        y = np.linspace(0.1, 0.25, 400).astype(dtype)
        wanted = scipy.special.erfcinv(np.float64(y))
        np.testing.assert_allclose(jx.scipy.special.erfcinv(y), wanted, rtol=6 * eps)


def test_erfc_keeps_its_digits_far_out():
    x = np.linspace(1, 9, 4001).astype("float32")
    np.testing.assert_allclose(lax.erfc(x), scipy.special.erfc(np.float64(x)), rtol=6e-7)
