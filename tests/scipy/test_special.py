"""Special functions: every row of the table, against SciPy."""

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.special as reference

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.config import enable_x64
from jxkernel.errors import ConcretizationTypeError
from jxkernel.scipy import special
from tests.primitives.checking import quickly
from tests.scipy.slopes import check_slopes
from tests.scipy.special_rows import ROWS, Row
from tests.tolerances import tolerance


def in_dtype(args: Any, dtype: str) -> list[Any]:
    return [arg if arg.dtype.kind == "i" else arg.astype(dtype) for arg in args]


def expected(name: str, args: Any) -> Any:
    """Return what SciPy gives in float64 for the very same numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wide = [a if np.asarray(a).dtype.kind == "i" else np.float64(a) for a in args]
        found = getattr(reference, name)(*wide)
    return np.stack(found) if isinstance(found, tuple) else found


def joined(found: Any) -> Any:
    return jnp.stack(found) if isinstance(found, tuple) else found


def assert_near(found: Any, wanted: Any, dtype: str, factor: float) -> None:
    allowed = factor * tolerance(dtype)
    np.testing.assert_allclose(np.float64(found), wanted, rtol=allowed, atol=allowed)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_compiled_and_batched_values_are_those_of_scipy(row: Row, dtype: str) -> None:
    with enable_x64(dtype == "float64"):
        function = getattr(special, row.name)
        function = jx.jit(function if dtype == "float64" else jx.vmap(function))
        for args in filter(None, (row.args, row.edges)):
            operands = in_dtype(args, dtype)
            found = joined(function(*operands))
            assert found.dtype == np.dtype(dtype)
            assert_near(found, expected(row.name, operands), dtype, row.factor)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_eager_calls_take_any_shape_and_narrow_dtypes(row: Row) -> None:
    function = getattr(special, row.name)
    narrow = [jnp.asarray(a, a.dtype if a.dtype.kind == "i" else "bfloat16") for a in row.args]
    # bfloat16 holds other numbers than the row's; what it holds is what SciPy is given.
    held = [np.asarray(a, None if a.dtype.kind == "i" else np.float64) for a in narrow]
    found = joined(function(*narrow))
    assert found.dtype == jnp.bfloat16
    wanted = expected(row.name, held)
    finite = abs(wanted) < 1e38
    np.testing.assert_allclose(np.float64(found)[finite], wanted[finite], rtol=2**-8, atol=1e-6)
    assert joined(function(*[a[:0] for a in narrow])).size == 0
    assert joined(function(*[a[0] for a in narrow])).shape == wanted.shape[:-1]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("row", [row for row in ROWS if row.name != "gammasgn"], ids=str)
def test_slopes_are_those_of_differences(row: Row) -> None:
    step = 1e-5
    with enable_x64():
        operands = in_dtype(row.args, "float64")

        def moved(shifts: Any) -> Any:
            args = list(operands)
            for i, place in enumerate(row.slopes):
                args[place] = args[place] + shifts[i]
            return joined(getattr(special, row.name)(*args))

        found = jx.jit(jx.jacfwd(moved))(jnp.zeros(len(row.slopes)))
        for i, place in enumerate(row.slopes):
            above, below = (
                expected(row.name, [a + s * (k == place) for k, a in enumerate(operands)])
                for s in (step, -step)
            )
            wanted = (above - below) / (2 * step)
            np.testing.assert_allclose(found[..., i], wanted, rtol=3e-5, atol=2e-6)
        if not row.name.startswith("hyp"):
            pulled = jx.jit(jx.grad(lambda shifts: moved(shifts).sum()))(jnp.zeros(len(row.slopes)))
            total = found.sum(tuple(range(found.ndim - 1)))
            np.testing.assert_allclose(pulled, total, rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------- complex

PLANE = np.array([0.3 + 0.2j, -2.5 + 1j, -2.5 - 1j, 4 - 3j, -0.5 + 5j, 6 + 0.1j, -5.5 - 0.3j])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["gamma", "loggamma", "wofz", "erfcx", "expit", "logit"])
def test_complex_values_are_those_of_scipy(name: str, dtype: str) -> None:
    z = PLANE.astype(dtype)
    with enable_x64(dtype == "complex128"):
        found = getattr(special, name)(z)
    assert found.dtype == np.dtype(dtype)
    if name in ("expit", "logit"):
        wanted = 1 / (1 + np.exp(-z)) if name == "expit" else np.log(z / (1 - z))
    else:
        wanted = getattr(reference, name)(z.astype(complex))
    allowed = 16 * tolerance(dtype)
    np.testing.assert_allclose(found, wanted, rtol=allowed, atol=allowed)


@pytest.mark.parametrize("name", ["gamma", "loggamma", "wofz", "erfcx"])
def test_complex_slopes_are_those_of_differences(name: str) -> None:
    step = 1e-6
    with enable_x64():
        function = getattr(special, name)
        slope = jx.vmap(jx.grad(function, holomorphic=True))(jnp.asarray(PLANE))
        above, below = (getattr(reference, name)(PLANE + s) for s in (step, -step))
        np.testing.assert_allclose(slope, (above - below) / (2 * step), rtol=1e-7, atol=1e-7)


# ---------------------------------------------------------------- with arguments of their own


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bessel_functions_of_all_orders(dtype: str) -> None:
    z = np.array([0.0, 1e-5, -0.7, 1.0, 5.5, -20.0, 35.0], dtype)
    with enable_x64(dtype == "float64"):
        found = special.bessel_jn(z, v=4, n_iter=80)
        wanted = np.stack([reference.jv(k, z.astype(float)) for k in range(5)])
        assert_near(found, wanted, dtype, 8)
        slopes = jx.jacfwd(lambda s: special.bessel_jn(z[2:] + s, v=4, n_iter=80))(0.0)
    derivatives = np.stack([reference.jvp(k, z[2:].astype(float)) for k in range(5)])
    np.testing.assert_allclose(slopes, derivatives, atol=2e-4)


def test_spherical_harmonics_of_all_orders() -> None:
    n, m = np.array([(n, m) for n in range(5) for m in range(-n, n + 1)]).T
    theta, phi = np.float32(0.7), np.float32(2.1)
    wanted = reference.sph_harm_y(n, m, theta, phi)
    np.testing.assert_allclose(special.sph_harm_y(n, m, theta, phi), wanted, atol=2e-6)
    traced = jx.jit(lambda n, m, t: special.sph_harm_y(n, m, t, phi, n_max=4))(n, m, theta)
    np.testing.assert_allclose(traced, wanted, atol=2e-6)
    assert special.sph_harm_y(1, 2, theta, phi) == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_legendre_functions_of_all_orders_and_degrees(dtype: str) -> None:
    z = np.array([-0.95, -0.3, 0.0, 0.4, 0.8], dtype)
    degrees, orders = np.arange(6), np.arange(6)[:, None]
    with enable_x64(dtype == "float64"):
        values = special.lpmn_values(5, 5, jnp.array(z), False)
        normalized = special.lpmn_values(5, 5, jnp.array(z), True)
        again, slopes = special.lpmn(5, 5, jnp.array(z))
    exact = z.astype(np.float64)
    plain = reference.lpmv(orders[..., None], degrees[:, None], exact)
    assert_near(values, plain, dtype, 40)
    assert_near(again, plain, dtype, 40)
    harmonics = reference.sph_harm_y(degrees[:, None], orders[..., None], np.arccos(exact), 0.0)
    assert_near(normalized, harmonics.real, dtype, 40)
    _, derivatives = reference.assoc_legendre_p_all(5, 5, exact, diff_n=1)
    assert_near(slopes, np.moveaxis(derivatives[:, :6], 0, 1), dtype, 400)


def test_legendre_functions_say_what_they_take() -> None:
    z = jnp.array([0.3])
    with pytest.raises(NotImplementedError, match="write m = n = 3"):
        special.lpmn_values(2, 3, z, False)
    with pytest.raises(TypeError, match="got dtype int32"):
        special.lpmn(2, 2, jnp.array([0]))
    with pytest.raises(ValueError, match=r"one axis, got shape \(\)"):
        special.lpmn(2, 2, jnp.float32(0.3))


def test_bernoulli_numbers() -> None:
    np.testing.assert_allclose(special.bernoulli(24), reference.bernoulli(24), rtol=1e-6)
    assert special.bernoulli(0).tolist() == [1]


@pytest.mark.parametrize("d", [1, 2, 5])
def test_multigammaln(d: int) -> None:
    a = np.float32([2.6, 4.0, 9.0])
    np.testing.assert_allclose(special.multigammaln(a, d), reference.multigammaln(a, d), rtol=1e-5)


def test_combinations_with_repetition() -> None:
    n, k = np.float32([5, 3, 0, 0]), np.float32([2, 0, 0, 2])
    wanted = [reference.comb(a, b, repetition=True, exact=False) for a, b in zip(n, k, strict=True)]
    np.testing.assert_allclose(special.comb(n, k, repetition=True), wanted, rtol=1e-6)


def test_whole_factorials_are_exact() -> None:
    n = np.arange(1.0, 12, dtype=np.float32)
    assert (np.asarray(special.gamma(n)) == reference.gamma(n)).all()
    assert special.comb(52, 5).tolist() == pytest.approx(2598960, rel=1e-6)


def test_zeta_without_offset_is_riemanns() -> None:
    np.testing.assert_allclose(special.zeta(np.float32([2, 3])), reference.zeta([2, 3]), rtol=1e-6)


def test_softmax_sums_over_all_axes_unless_told() -> None:
    x = np.float32([[0.5, 1.0], [2.0, -3.0]])
    for name in ("softmax", "log_softmax"):
        ours, theirs = getattr(special, name), getattr(reference, name)
        np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-6)
        np.testing.assert_allclose(ours(x, axis=0), theirs(x, axis=0), rtol=1e-6)


def test_entropy_terms_have_slopes_at_zero_weight() -> None:
    by_x, by_y = jx.grad(special.xlogy, (0, 1))(0.0, 2.0)
    assert (by_x, by_y) == (pytest.approx(np.log(2), rel=1e-6), 0)
    assert jx.grad(special.spence)(1.0) == -1
    assert jx.grad(special.entr)(0.0) == np.inf
    # At k = N the slope is that of Γ(N + 1) / Γ(N - k + 1), not that of a rounded number.
    assert jx.grad(special.comb)(1.0, 1.0) == pytest.approx(1)
    assert jx.grad(lambda x: special.boxcox(3.0, x))(0.0) == pytest.approx(np.log(3) ** 2 / 2)
    assert jx.grad(special.boxcox)(1e-30, 0.5) == pytest.approx(1e15, rel=1e-5)


def test_kummers_slope_in_x_has_those_of_its_parameters() -> None:
    # That of a/b ₁F₁(a + 1; b + 1; x) in a: at 0 it is ₁F₁(1; b + 1; x)/b, else by differences.
    wanted = [reference.hyp1f1(1.0, 1.5, 0.3) / 0.5, 2.954352372]
    slopes = quickly(jx.vmap(jx.grad(jx.grad(special.hyp1f1, 2)), (0, None, None)))
    np.testing.assert_allclose(slopes(np.float32([0.0, 0.5]), 0.5, 0.3), wanted, rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: special.dawsn([1.0]), TypeError, "dawsn takes arrays and numbers.*asarray"),
        (lambda: special.exp1(1j), TypeError, "exp1 does not accept dtype complex"),
        (lambda: special.polygamma(0.5, 1.0), ValueError, "polygamma takes integer orders"),
        (lambda: special.bernoulli(-1), ValueError, "bernoulli takes an index n ≥ 0, got -1"),
        (lambda: special.bessel_jn(1.0, v=-1), ValueError, "order v ≥ 0, got -1"),
        (lambda: special.bessel_jn(1.0, v=60), ValueError, "n_iter=50 with v=60"),
        (lambda: special.factorial(3, exact=True), NotImplementedError, "exact=True"),
        (lambda: special.log_ndtr(1.0, 1.5), TypeError, "integer series_order, got 1.5"),
        (lambda: special.log_ndtr(1.0, 31), ValueError, "from 0 to 30, got 31"),
        (lambda: special.multigammaln(3.0, None), TypeError, "known integer d, got None"),
        (lambda: special.sph_harm_y(1, 0, 0.1, 0.2, diff_n=1), NotImplementedError, "diff_n"),
        (
            lambda: special.beta(np.ones(2, np.float32), np.ones(3, np.float32)),
            TypeError,
            "beta.*matched from the last",
        ),
        (
            lambda: jx.jit(lambda n: special.sph_harm_y(n, 0, 0.1, 0.2))(1),
            ConcretizationTypeError,
            "greatest degree n of sph_harm_y",
        ),
    ],
)
def test_wrong_arguments_are_named(call: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=f"(?s){message}"):
        call()


WEAKLY = ["i0", "i1", "logit", "xlogy", "xlog1py", "entr", "rel_entr", "kl_div", "boxcox"]


@pytest.mark.parametrize("name", [*WEAKLY, "boxcox1p", "betaln", "factorial", "comb"])
def test_formulas_of_python_numbers_stay_weakly_typed(name: str) -> None:
    function = getattr(special, name)
    count = 1 if name in ("i0", "i1", "logit", "entr", "factorial") else 2
    assert function(*[0.5] * count).weak_type
    assert not function(*[jnp.array([0.5])] * count).weak_type


@pytest.mark.parametrize("x", [1e-45, 1e-40, 1e-38, 2e-38, 0.0])
def test_spence_of_subnormal_numbers_is_that_of_zero(x: float) -> None:
    for given in (x, np.full(9, x, "float32")):
        np.testing.assert_allclose(special.spence(given), np.pi**2 / 6, 1e-6)


@pytest.mark.parametrize("x", [0j, -3 + 0j, -20 + 0j])
def test_complex_gamma_has_no_value_at_its_poles(x: complex) -> None:
    for function in (special.gamma, special.loggamma, jx.grad(special.gamma, holomorphic=True)):
        assert np.isnan(function(jnp.complex64(x)))


@pytest.mark.parametrize("x", [-3 + 1e-10j, -3 - 1e-5j, -2.9999 + 1e-6j, -1e-10 + 1e-10j])
def test_complex_gamma_beside_its_poles_is_scipys(x: complex) -> None:
    x = np.complex64(x)
    np.testing.assert_allclose(special.loggamma(x), reference.loggamma(x), 1e-5)
    wanted = reference.gamma(x)
    assert abs(special.gamma(x) - wanted) < 1e-4 * abs(wanted)
    slope = wanted * reference.digamma(x)
    assert abs(jx.grad(special.gamma, holomorphic=True)(x) - slope) < 2e-4 * abs(slope)


def test_loggamma_of_negative_reals_is_nan_and_gammaln_is_not() -> None:
    x = jnp.array([-1.25, 0.0, 3.0])
    np.testing.assert_allclose(special.loggamma(x), [np.nan, np.inf, np.log(2)], 1e-6)
    np.testing.assert_allclose(special.gammaln(x), [1.3664317, np.inf, np.log(2)], 1e-6)


@pytest.mark.parametrize(("a", "b"), [(0.0, 0.0), (0.0, 3.0), (20.0, 0.0), (0.0, 1e-40)])
def test_beta_of_zero_is_infinite(a: float, b: float) -> None:
    assert special.betaln(a, b) == special.beta(a, b) == np.inf
    assert np.isnan(special.betaln(a, np.nan))


@pytest.mark.parametrize(
    ("a", "b", "x", "wanted"),
    [(0, 0, 2, 1), (0, -1, 2, 1), (-1, -1, 1, np.e), (-2, -1, 1, np.inf), (-1, 3, 1, 2 / 3)],
)
def test_hyp1f1_at_whole_parameters(a: float, b: float, x: float, wanted: float) -> None:
    np.testing.assert_allclose(special.hyp1f1(a, b, x), wanted, 1e-6)
    slope = jx.grad(special.hyp1f1, 2)(float(a), float(b), float(x))
    assert np.isfinite(slope) or not np.isfinite(wanted)


SLOPES: dict[str, tuple[Any, list[tuple[Any, float]]]] = {
    "entr": (special.entr, [(-2.0, 0.0), (0.0, np.inf), (1.0, -1.0)]),
    "kl_div in p": (lambda p: special.kl_div(p, 2.0), [(0.0, 0.0), (2.0, 0.0)]),
    "xlogy in y": (lambda y: special.xlogy(0.0, y), [(0.0, 0.0), (2.0, 0.0)]),
    "xlog1py in y": (lambda y: special.xlog1py(0.0, y), [(-1.0, 0.0), (2.0, 0.0)]),
    "slope of xlogy in y": (lambda x: jx.grad(special.xlogy, 1)(x, 2.0), [(0.0, 0.5)]),
    "sici": (lambda x: sum(special.sici(x)), [(np.inf, 0.0), (-np.inf, 0.0)]),
    "expn of order 0": (lambda x: special.expn(0, x), [(np.inf, 0.0), (1.0, -2 / np.e)]),
    "slope of log_ndtr": (
        jx.grad(special.log_ndtr),
        [(0.0, -2 / np.pi), (np.inf, 0.0), (-30.0, -0.99889867)],
    ),
    "log_ndtr far below": (special.log_ndtr, [(-51.0, 51.0195928), (-3e38, 3e38)]),
    "slope of log_ndtr above and far below": (
        jx.grad(special.log_ndtr),
        [(0.5, -0.513824564), (10.0, -7.69459863e-22), (-51.0, -0.999616417), (-1e30, -1.0)],
    ),
    "erfcx": (special.erfcx, [(10.0, -0.00555931222), (20.0, -0.00140521745)]),
    "slope of erfcx": (jx.grad(special.erfcx), [(10.0, 0.00109574111), (40.0, 1.75979438e-5)]),
    "dawsn": (special.dawsn, [(5.0, -0.0213407442), (-40.0, -0.000312793428)]),
    "slope of dawsn": (jx.grad(special.dawsn), [(20.0, 0.000125946393), (3e38, 0.0)]),
    "expi": (special.expi, [(89.0, 5.04450879e36), (np.inf, np.inf), (-np.inf, 0.0)]),
    "slope of expi": (
        jx.grad(special.expi),
        [(1.0, 0.0), (89.0, 4.98782891e36), (200.0, np.inf)],
    ),
    "slope of logit": (jx.grad(special.logit), [(1e-20, -np.inf), (0.5, 0.0), (0.25, -14.2222222)]),
    "slope of ndtr": (jx.grad(special.ndtr), [(0.0, 0.0), (-np.inf, 0.0)]),
    "boxcox": (lambda x: special.boxcox(x, 1.0), [(0.0, 1.0), (2.0, 1.0)]),
    "boxcox of a root": (lambda x: special.boxcox(x, 0.5), [(0.0, np.inf), (4.0, 0.5)]),
    "boxcox1p": (lambda x: special.boxcox1p(x, 2.0), [(-1.0, 0.0), (2.0, 3.0)]),
    "boxcox in lmbda": (lambda y: special.boxcox(0.0, y), [(0.5, 4.0), (2.0, 0.25)]),
    "kl_div of large p": (lambda p: special.kl_div(p, 1.0), [(3e38, 88.596847), (2.0, np.log(2))]),
    "kl_div in q": (lambda q: special.kl_div(2.0, q), [(2.0, 0.0), (4.0, 0.5), (0.0, 0.0)]),
    "owens_t in a": (lambda a: special.owens_t(0.0, a), [(np.inf, 0.0), (1.0, 0.25 / np.pi)]),
    "owens_t of infinity": (lambda h: special.owens_t(h, np.inf), [(0.0, 0.0)]),
    "gammainc in small a": (
        lambda a: special.gammainc(a, 1.0),
        [(6e-8, -0.21938422), (1e-5, -0.21938898), (0.5, -0.38983729)],
    ),
    "gammainc of subnormal x": (lambda a: special.gammainc(a, 1e-45), [(0.5, 0.0), (1.0, 0.0)]),
    "exp1": (special.exp1, [(0.0, -np.inf), (-0.0, -np.inf), (1.0, -1 / np.e), (-1.0, np.nan)]),
    "i0": (special.i0, [(0.5, 0.25789431), (100.0, np.inf), (-np.inf, -np.inf)]),
    "i1": (special.i1, [(0.5, 0.54769473), (-2.0, 1.48426688), (-100.0, np.inf)]),
    "slope of i1": (
        jx.grad(special.i1),
        [(0.0, 0.0), (1e-30, 0.0), (2.0, 1.24616263), (100.0, np.inf), (-100.0, -np.inf)],
    ),
    "slope of kl_div in q": (
        lambda q: jx.grad(special.kl_div, 1)(1e-30, q),
        [(1e-30, 1e30), (0.5, 4e-30), (1e-37, np.inf)],
    ),
    "rel_entr in p": (lambda p: special.rel_entr(p, 2.0), [(0.0, 0.0), (2.0, 1.0), (np.inf,) * 2]),
    "rel_entr in q": (lambda q: special.rel_entr(2.0, q), [(np.inf, 0.0), (2.0, -1.0)]),
}


def test_slopes_at_edges() -> None:
    check_slopes(SLOPES)


# By differences of SciPy's functions in 64 bits.
BY_PARAMETER = [
    (special.hyp1f1, (-2.0, -0.5, 1.0), (3.010805104, 8.0, -4.0)),
    (special.hyp1f1, (-0.5, -0.5, -2.0), (3.566700777, -3.566700777, 0.135335283)),
    (special.hyp1f1, (2.5, 0.5, -2.0), (0.315403413, -0.074807354, -0.406005850)),
    (special.hyp2f1, (-1.0, 0.3, 0.5, 0.5), (0.221674823, -1.0, 0.6, -0.6)),
    (special.hyp2f1, (-1.0, 0.0, 0.5, -1.0), (0.0, 2.0, 0.0, 0.0)),
    (special.hyp2f1, (-1.0, 0.5, 0.5, -1.0), (-1.386294361, 2.0, -2.0, -1.0)),
    (special.hyp2f1, (0.5, 2.0, 2.0, 0.95), (13.397318, 6.164981, -6.164981, 44.721360)),
]


def test_hypergeometric_slopes_where_the_series_ends() -> None:
    found = jx.jit(lambda: [jx.grad(f, tuple(range(len(at))))(*at) for f, at, _ in BY_PARAMETER])()
    for slopes, (_, _, wanted) in zip(found, BY_PARAMETER, strict=True):
        np.testing.assert_allclose(slopes, wanted, rtol=1e-5, atol=1e-6)


def test_spherical_harmonics_beyond_the_polar_range_are_scipys() -> None:
    theta = np.array([-0.5, 0.5, 4.0, 4.0, -4.0])
    n, m = np.array([2, 2, 3, 3, 3]), np.array([1, 1, -1, -2, 1])
    found = special.sph_harm_y(n, m, theta, 0.3)
    np.testing.assert_allclose(found, reference.sph_harm_y(n, m, theta, 0.3), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "x"),
    [
        ("erfcx", [1e29, 1e31, 1e100, 1e300, np.inf, -np.inf, np.nan]),
        ("erfcinv", [2.3e-308, 3e-308, 1e-300, 1e-9, 0.199, 0.2, 0.201, 1.9, 0.0, 2.0, -1.0]),
        ("expi", [1e300, 1.7e308, np.inf, 700.0, 720.0, 6.0, -0.0]),
        ("ndtri", [1e-300, 1e-9, 0.1, 0.5, 0.9, 0.0, 1.0, 2.0]),
    ],
)
def test_doubles_at_the_ends_of_their_range_are_those_of_scipy(name: str, x: list[float]) -> None:
    with jx.enable_x64(True):
        found = getattr(special, name)(np.array(x))
    np.testing.assert_allclose(found, getattr(reference, name)(np.array(x)), rtol=1e-11)


def test_quantiles_in_single_precision_are_right_in_the_middle_and_both_tails() -> None:
    p = np.float32([1e-37, 3e-12, 1e-5, 0.07, 0.0749, 0.0751, 0.3, 0.4999, 0.5, 0.9, 0.99999])
    wanted = reference.ndtri(p.astype(np.float64))
    np.testing.assert_allclose(special.ndtri(p), wanted, rtol=6e-7)
    ends = special.ndtri(np.float32([0, 1, -0.1, 1.1, np.nan]))
    np.testing.assert_array_equal(ends, [-np.inf, np.inf, np.nan, np.nan, np.nan])
    slopes = jx.vmap(jx.grad(special.ndtri))(p[3:])
    np.testing.assert_allclose(slopes, np.sqrt(2 * np.pi) * np.exp(wanted[3:] ** 2 / 2), rtol=1e-5)


def test_large_scaled_complements_in_single_precision() -> None:
    x = np.float32([1e20, 1e31, 1e37])
    np.testing.assert_allclose(special.erfcx(x), reference.erfcx(x), rtol=1e-5)


@pytest.mark.parametrize("name", ["kl_div", "rel_entr"])
@pytest.mark.parametrize("where", [0, 1])
def test_entropies_of_nan_have_slopes_of_nan(name: str, where: int) -> None:
    args = [2.0, 3.0]
    args[where] = np.nan
    assert np.isnan(jx.grad(getattr(special, name), (0, 1))(*args)).all()
    assert np.isfinite(jx.grad(getattr(special, name), (0, 1))(2.0, 3.0)).all()


def test_values_in_range_whose_factors_are_beyond_it() -> None:
    np.testing.assert_allclose(special.comb(np.float32([1e30, 3e38]), 1), [1e30, 3e38], 1e-5)
    np.testing.assert_allclose(special.betaln(np.float32(3e38), 2), -177.193692, 1e-6)
    x = np.float32([-91, 91, np.inf])
    np.testing.assert_allclose(special.i0(x), [1.38927143e38, 1.38927143e38, np.inf], 1e-6)
    np.testing.assert_allclose(special.i1(x), [-1.38161694e38, 1.38161694e38, np.inf], 1e-6)


def test_slopes_of_wofz_far_out() -> None:
    z = np.complex64([1e3, 1e5j, 60 - 0.01j, np.inf])
    wanted = [-5.6419043e-7j, 5.6418958e-11j, 5.22833507e-8 - 1.56784661e-4j, 0]
    found = jx.vmap(jx.grad(special.wofz, holomorphic=True))(z)
    np.testing.assert_allclose(found.real, np.real(wanted), 1e-5)
    np.testing.assert_allclose(found.imag, np.imag(wanted), 1e-5)


def test_erfcinv_of_small_negative_numbers_is_not_a_number() -> None:
    assert np.isnan(special.erfcinv(np.float32([-1e-9, -1e-30]))).all()
    assert np.isnan(special.erfcinv(np.float16(-6e-8)))


def test_relative_entropies_of_numbers_that_are_nearly_equal() -> None:
    p, q = np.float32([254, 1, 1, 3]), np.float32([255, 1.0009765625, 1.3, 1])
    for function in ("kl_div", "rel_entr"):
        wanted = getattr(reference, function)(p.astype(float), q.astype(float))
        np.testing.assert_allclose(getattr(special, function)(p, q), wanted, 3e-6, 0)


def test_values_whose_steps_are_beyond_the_range_or_subnormal() -> None:
    a, b = np.float32([[1e-40, 1e-40, 0.0, 0.0], [30.0, 1e-40, 1e-40, 0.0]])
    np.testing.assert_allclose(special.betaln(a, b), [92.10341, 92.79655, np.inf, np.inf], 1e-6)
    assert special.kl_div(np.float32(3e38), np.float32(3e38)) == 0
    least = np.float32(np.finfo(np.float32).tiny)
    assert special.kl_div(least, least) == 0
    assert jnp.logaddexp2(np.float32(-np.inf), least) == least
    large = np.float32(1e12)
    assert jx.grad(jnp.logaddexp2)(large, large) == 0.5


def test_logit_keeps_its_digits_near_one_half():
    x = (0.5 + np.linspace(-0.3, 0.3, 1001)).astype("float32")
    np.testing.assert_allclose(special.logit(x), reference.logit(np.float64(x)), rtol=4e-7)
