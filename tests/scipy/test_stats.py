"""Distributions and statistics of samples, against SciPy."""

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.stats as reference
from scipy.special import gammaln

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import random
from jxkernel.config import enable_x64
from jxkernel.scipy import stats
from tests.scipy.slopes import check_slopes
from tests.scipy.stats_rows import PLACES, ROWS, Row
from tests.tolerances import tolerance

CONTINUOUS = [row for row in ROWS if "pdf" in row.functions]


def calls(row: Row, name: str) -> list[tuple[tuple[Any, ...], dict[str, float]]]:
    """Return the arguments of a distribution's function, standard and moved."""
    points = PLACES if name in ("ppf", "isf") else row.points
    args = (points, *row.parameters)
    discrete = "pmf" in row.functions
    moved = {"loc": 1.0} if discrete else {"loc": 0.25, "scale": 2.0}
    return [(args, {})] + ([(args, moved)] if row.moved else [])


def expected(row: Row, name: str, args: Any, moved: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(getattr(reference, row.name), name)(*args, **moved)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_functions_are_those_of_scipy(row: Row, dtype: str) -> None:
    module = getattr(stats, row.name)
    wanted, given = [], []
    for name in row.functions.split():
        for args, moved in calls(row, name):
            held = [np.asarray(a, dtype) for a in args]
            given.append((name, held, moved))
            wanted.append(expected(row, name, [np.float64(a) for a in held], moved))
    with enable_x64(dtype == "float64"):

        def everything(operands: Any) -> Any:
            return [
                getattr(module, name)(*held, **moved)
                for (name, _, moved), held in zip(given, operands, strict=True)
            ]

        results = jx.jit(everything)([held for _, held, _ in given])
    allowed = 16 * tolerance(dtype)
    for (name, _, moved), found, value in zip(given, results, wanted, strict=True):
        assert found.dtype == np.dtype(dtype)
        text = f"{name} {moved}"
        np.testing.assert_allclose(
            np.float64(found), value, rtol=allowed, atol=allowed, err_msg=text
        )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("row", CONTINUOUS, ids=str)
def test_log_densities_have_slopes(row: Row) -> None:
    inside = {"wrapcauchy": 0.6, "beta": 0.4, "pareto": 1.8}.get(row.name, 0.7)
    step = 1e-6
    with enable_x64():
        args = (inside, *row.parameters)
        density = getattr(stats, row.name).logpdf
        slopes = jx.jit(jx.jacrev(lambda args: density(*args)))(args)
        for i, slope in enumerate(slopes):
            above, below = (
                expected(row, "logpdf", [a + s * (i == k) for k, a in enumerate(args)], {})
                for s in (step, -step)
            )
            np.testing.assert_allclose(slope, (above - below) / (2 * step), rtol=1e-6, atol=1e-7)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_batched_and_narrow_calls_follow_the_single_ones(row: Row) -> None:
    name = "logpdf" if "pdf" in row.functions else "logpmf"
    function = getattr(getattr(stats, row.name), name)
    points = jnp.asarray(row.points, "float32")
    batched = jx.jit(jx.vmap(lambda x: function(x, *row.parameters)))(points)
    np.testing.assert_allclose(batched, function(points, *row.parameters), rtol=1e-5, atol=1e-6)
    narrow = function(points.astype("bfloat16"), *row.parameters)
    assert narrow.dtype == jnp.bfloat16
    assert function(points[:0], *row.parameters).shape == (0,)


def test_tails_keep_their_digits() -> None:
    assert stats.norm.logsf(20.0) == pytest.approx(reference.norm.logsf(20), rel=1e-6)
    assert stats.norm.isf(1e-30) == pytest.approx(reference.norm.isf(1e-30), rel=1e-6)
    assert stats.cauchy.cdf(-1e6) == pytest.approx(reference.cauchy.cdf(-1e6), rel=1e-6)
    wanted = reference.truncnorm.logpdf(12.5, 12, 13)
    assert stats.truncnorm.logpdf(12.5, 12.0, 13.0) == pytest.approx(wanted, rel=1e-5)
    assert bool(jnp.isnan(stats.truncnorm.cdf(0.0, 2.0, 1.0)))
    assert bool(jnp.isnan(stats.norm.pdf(0.0, 0.0, -1.0)))


def test_bernoulli_steps() -> None:
    k = np.float32([-1, 0, 0.5, 1, 2])
    np.testing.assert_allclose(stats.bernoulli.cdf(k, 0.3), reference.bernoulli.cdf(k, 0.3), 1e-6)
    q = np.float32([0.1, 0.69, 0.71, 1.0, 2.0])
    np.testing.assert_array_equal(stats.bernoulli.ppf(q, 0.3), [0, 0, 1, 1, np.nan])


def test_poisson_entropy_at_every_rate() -> None:
    mu = np.array([0.0, 0.3, 5.0, 90.0, 150.0, 1000.0])
    wanted = [0, *reference.poisson.entropy(mu[1:])]
    with enable_x64():
        np.testing.assert_allclose(stats.poisson.entropy(mu), wanted, rtol=1e-9)
    assert bool(jnp.isnan(stats.poisson.entropy(-1.0)))


# ---------------------------------------------------------------- of several numbers


def test_multivariate_normal() -> None:
    cov = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.7]], np.float32)
    x = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    mean = np.float32([0.1, -0.2, 0.5])
    wanted = reference.multivariate_normal.logpdf(x, mean, cov)
    normal = stats.multivariate_normal
    np.testing.assert_allclose(normal.logpdf(x, mean, cov), wanted, rtol=1e-5)
    np.testing.assert_allclose(normal.pdf(x, mean, cov), np.exp(wanted), rtol=1e-4)
    batched = jx.vmap(lambda x: normal.logpdf(x, mean, cov))(x)
    np.testing.assert_allclose(batched, wanted, rtol=1e-5)
    each = normal.logpdf(x, mean, np.stack([cov] * 4))
    np.testing.assert_allclose(each, wanted, rtol=1e-5)
    slope = jx.grad(lambda m: normal.logpdf(x[0], m, cov))(mean)
    np.testing.assert_allclose(slope, np.linalg.solve(cov, x[0] - mean), rtol=1e-4)
    assert normal.logpdf(1.0, 0.0, 2.0) == pytest.approx(reference.norm.logpdf(1, 0, 2**0.5))


def test_dirichlet_and_multinomial() -> None:
    alpha, x = np.float32([0.7, 1.5, 2.0]), np.float32([0.2, 0.3, 0.5])
    wanted = reference.dirichlet.logpdf(x.astype(float) / x.astype(float).sum(), alpha)
    assert stats.dirichlet.logpdf(x, alpha) == pytest.approx(wanted, rel=1e-5)
    assert stats.dirichlet.logpdf(x[:2], alpha) == pytest.approx(wanted, rel=1e-5)
    assert stats.dirichlet.pdf(x, alpha) == pytest.approx(np.exp(wanted), rel=1e-5)
    assert stats.dirichlet.logpdf(x + 0.1, alpha) == -np.inf
    counts, p = np.array([[1, 2, 0], [3, 0, 0], [1, 1, 0]]), np.float32([0.2, 0.5, 0.3])
    wanted = reference.multinomial.pmf(counts, 3, p.astype(float) / p.astype(float).sum())
    np.testing.assert_allclose(stats.multinomial.pmf(counts, 3, p), wanted, rtol=1e-5)
    np.testing.assert_allclose(np.exp(stats.multinomial.logpmf(counts, 3, p)), wanted, rtol=1e-5)


# ---------------------------------------------------------------- samples

SAMPLE = np.random.default_rng(1).integers(0, 4, (5, 6)).astype(np.float32)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_mode_is_that_of_scipy(axis: int | None, keepdims: bool) -> None:
    ours = stats.mode(SAMPLE, axis, keepdims=keepdims)
    theirs = reference.mode(SAMPLE, axis, keepdims=keepdims)
    np.testing.assert_array_equal(ours.mode, theirs.mode)
    np.testing.assert_array_equal(ours.count, theirs.count)


def test_mode_of_nothing_of_a_number_and_of_nan() -> None:
    for keepdims in (False, True):
        ours, theirs = (s.mode(np.float32(3), keepdims=keepdims) for s in (stats, reference))
        assert (ours.mode.shape, ours.mode, ours.count) == (theirs.mode.shape, 3, 1)
    assert bool(jnp.isnan(stats.mode(np.zeros(0, np.float32)).mode))
    missing = stats.mode(np.float32([1.0, np.nan, np.nan]))
    assert bool(jnp.isnan(missing.mode))
    assert missing.count == 2


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks_are_those_of_scipy(method: str, axis: int | None) -> None:
    found = jx.jit(lambda a: stats.rankdata(a, method, axis=axis))(SAMPLE)
    np.testing.assert_array_equal(found, reference.rankdata(SAMPLE, method, axis=axis))


def test_ranks_beside_nan_are_nan() -> None:
    assert bool(jnp.isnan(stats.rankdata(np.float32([1.0, np.nan]))).all())
    assert stats.rankdata(np.zeros(0, np.float32)).shape == (0,)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_standard_error_is_that_of_scipy(axis: int | None) -> None:
    found = stats.sem(SAMPLE, axis, ddof=1)
    np.testing.assert_allclose(found, reference.sem(SAMPLE, axis, ddof=1), rtol=1e-5)
    holed = np.where(SAMPLE == 3, np.nan, SAMPLE).astype(np.float32)
    wanted = reference.sem(holed, axis, nan_policy="omit")
    np.testing.assert_allclose(stats.sem(holed, axis, nan_policy="omit"), wanted, rtol=1e-5)


@pytest.mark.parametrize("method", [None, "silverman", 0.7])
@pytest.mark.parametrize("weighted", [False, True])
def test_estimated_densities_are_those_of_scipy(method: Any, weighted: bool) -> None:
    samples = np.random.default_rng(2).normal(size=(2, 12)).astype(np.float32)
    weights = np.arange(1.0, 13, dtype=np.float32) if weighted else None
    ours = stats.gaussian_kde(samples, method, weights)
    theirs = reference.gaussian_kde(samples, method, weights)
    points = np.float32([[0.1, -1.0, 2.0], [0.3, 0.5, -2.0]])
    np.testing.assert_allclose(ours.evaluate(points), theirs.evaluate(points), rtol=2e-4)
    np.testing.assert_allclose(ours.logpdf(points), theirs.logpdf(points), rtol=2e-4)
    mean, cov = np.float32([0.2, 0.1]), np.eye(2, dtype=np.float32)
    found = ours.integrate_gaussian(mean, cov)
    np.testing.assert_allclose(found, theirs.integrate_gaussian(mean, cov), rtol=2e-4)
    np.testing.assert_allclose(ours.integrate_kde(ours), theirs.integrate_kde(theirs), rtol=2e-4)


def test_estimated_densities_pass_through_transforms() -> None:
    samples = np.float32([1.0, 2.0, 4.0])
    density = stats.gaussian_kde(samples)
    box = reference.gaussian_kde(samples).integrate_box_1d(0.0, 1.5)
    assert density.integrate_box_1d(0.0, 1.5) == pytest.approx(box, rel=1e-4)
    traced = jx.jit(lambda d, x: d.pdf(x))(density, np.float32([2.0]))
    np.testing.assert_allclose(traced, density(2.0), rtol=1e-6)
    drawn = density.resample(random.key(0), (2, 500))
    assert drawn.shape == (1, 2, 500)
    assert abs(float(drawn.mean()) - 7 / 3) < 0.3
    assert jx.grad(lambda x: density.logpdf(x)[0])(0.0) > 0


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: stats.norm.pdf(1j), TypeError, r"norm.pdf does not accept dtype complex"),
        (lambda: stats.mode(SAMPLE, nan_policy="omit"), NotImplementedError, "'propagate'"),
        (lambda: stats.sem(SAMPLE, nan_policy="skip"), ValueError, "sem got nan_policy='skip'"),
        (lambda: stats.rankdata(SAMPLE, "top"), ValueError, "rankdata got method='top'.*dense"),
        (lambda: stats.dirichlet.pdf(SAMPLE, SAMPLE), ValueError, "dirichlet takes alpha"),
        (
            lambda: stats.multivariate_normal.logpdf(SAMPLE, 0.0, 1.0, True),
            NotImplementedError,
            "allow_singular",
        ),
        (lambda: stats.gaussian_kde(np.ones(3, "complex64")), TypeError, "have no order"),
        (lambda: stats.gaussian_kde(np.float32([1.0])), ValueError, "at least two samples"),
        (lambda: stats.gaussian_kde(SAMPLE, "wide"), ValueError, "bw_method='wide'.*'scott'"),
        (
            lambda: stats.gaussian_kde(SAMPLE, weights=SAMPLE),
            ValueError,
            r"weights of shape \(6,\)",
        ),
        (
            lambda: stats.gaussian_kde(SAMPLE[:2]).integrate_box_1d(0, 1),
            ValueError,
            "one component, not 2",
        ),
        (
            lambda: stats.gaussian_kde(SAMPLE[0]).set_bandwidth(),
            NotImplementedError,
            "bw_method=",
        ),
    ],
)
def test_wrong_arguments_are_named(call: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


NAN_ROWS = {
    "bernoulli": ((0.3,), "cdf pmf logpmf"),
    "beta": ((2.0, 3.0), "pdf logpdf cdf"),
    "expon": ((), "logcdf pdf"),
    "pareto": ((2.0,), "pdf logcdf"),
    "poisson": ((2.5,), "cdf pmf"),
    "truncnorm": ((-1.0, 2.0), "cdf sf logcdf logsf"),
    "uniform": ((), "pdf logpdf"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAN_ROWS)
def test_what_is_not_a_number_has_no_probability(name: str) -> None:
    parameters, functions = NAN_ROWS[name]
    distribution = getattr(jx.scipy.stats, name)
    for function in functions.split():
        found = getattr(distribution, function)(np.float32([np.nan, 1.0]), *parameters)
        assert np.isnan(found).tolist() == [True, False], function


@pytest.mark.parametrize("name", NAN_ROWS)
def test_slopes_at_what_is_not_a_number_are_none(name: str) -> None:
    parameters, functions = NAN_ROWS[name]
    distribution = getattr(jx.scipy.stats, name)
    for function in functions.split():
        slope = jx.grad(getattr(distribution, function))(np.float32(np.nan), *parameters)
        assert np.isnan(slope), function


def test_slopes_by_parameters_that_are_not_numbers_are_none() -> None:
    def slopes(name: str, function: str) -> Any:
        parameters = NAN_ROWS[name][0]
        args = np.full((len(parameters) + 1,) * 2, 1.0, np.float32)
        args[:, 1:] = parameters
        np.fill_diagonal(args, np.nan)
        places = tuple(range(len(args)))
        return jx.vmap(jx.grad(getattr(getattr(stats, name), function), places))(*args.T)

    rows = [(name, f) for name, (_, functions) in NAN_ROWS.items() for f in functions.split()]
    rows.remove(("beta", "cdf"))  # It is differentiable in x alone.
    found = jx.jit(lambda: [slopes(*row) for row in rows])()
    for row, values in zip(rows, found, strict=True):
        assert np.isnan(values).all(), row


SLOPES: dict[str, tuple[Any, list[tuple[float, float]]]] = {
    "laplace.cdf": (stats.laplace.cdf, [(0.0, 0.5), (-np.inf, 0.0)]),
    "expon.sf at its end": (stats.expon.sf, [(0.0, -1.0), (-1.0, 0.0)]),
    "expon.logcdf": (stats.expon.logcdf, [(0.0, np.inf), (-1.0, 0.0)]),
    "slope of expon.logcdf": (jx.grad(stats.expon.logcdf), [(0.0, -np.inf), (-1.0, 0.0)]),
    "expon.cdf": (stats.expon.cdf, [(-1e10, 0.0), (0.0, 1.0), (np.inf, 0.0)]),
    "gamma.pdf near its start": (lambda x: stats.gamma.pdf(x, 20.0), [(1e-30, 0.0)]),
    "gamma.logpdf near its start": (lambda x: stats.gamma.logpdf(x, 20.0), [(1e-30, 1.9e31)]),
    "truncnorm.cdf near its end": (
        lambda x: stats.truncnorm.cdf(x, 0.0, 5.5),
        [(1e-30, 0.79788459), (0.01, 0.7978447), (0.5, 0.70413068)],
    ),
    "pareto.cdf at its end": (lambda x: stats.pareto.cdf(x, 2.0), [(1.0, 2.0), (0.5, 0.0)]),
    "vonmises.logpdf in kappa": (lambda k: stats.vonmises.logpdf(2.0, k), [(0.0, np.cos(2.0))]),
    "gamma.sf": (lambda x: stats.gamma.sf(x, 0.5), [(-1.0, 0.0), (np.inf, 0.0)]),
    "gamma.logcdf": (lambda x: stats.gamma.logcdf(x, 2.0), [(np.inf, 0.0), (-1.0, 0.0)]),
    "beta.logcdf": (lambda x: stats.beta.logcdf(x, 0.5, 0.5), [(0.0, 0.0), (-1.0, 0.0)]),
    "beta.logsf": (lambda x: stats.beta.logsf(x, 0.5, 0.5), [(1.0, 0.0), (2.0, 0.0)]),
    "t.logpdf far out, in df": (lambda n: stats.t.logpdf(1e20, n), [(2.0, -44.8982)]),
    "t.logpdf of infinite df": (lambda x: stats.t.logpdf(x, np.inf), [(1.5, -1.5)]),
    "truncnorm.logpdf in a": (
        lambda a: stats.truncnorm.logpdf(0.0, a, 0.5),
        [(-np.inf, 0.0), (-30.0, 0.0)],
    ),
    "truncnorm.sf in b": (lambda b: stats.truncnorm.sf(1.0, 0.5, b), [(np.inf, 0.0)]),
    "chi2.cdf": (lambda x: stats.chi2.cdf(x, 3.0), [(-1.0, 0.0), (np.inf, 0.0)]),
    "slope of logistic.logpdf": (jx.grad(stats.logistic.logpdf), [(0.0, -0.5), (np.inf, 0.0)]),
    "gennorm.cdf": (lambda x: stats.gennorm.cdf(x, 1.0), [(0.0, 0.5), (np.inf, 0.0)]),
    "gennorm.cdf far out": (lambda x: stats.gennorm.cdf(x, 2.0), [(1e30, 0.0), (-1e30, 0.0)]),
    "gennorm.cdf in beta": (lambda b: stats.gennorm.cdf(0.0, b), [(1.0, 0.0), (2.0, 0.0)]),
    "slope of gennorm.logpdf": (
        jx.grad(lambda x: stats.gennorm.logpdf(x, 2.0)),
        [(0.0, -2.0), (1.0, -2.0)],
    ),
    "binom.logpmf of no success": (lambda p: stats.binom.logpmf(0.0, 5.0, p), [(0.0, -5.0)]),
    "binom.pmf of success alone": (lambda p: stats.binom.pmf(5.0, 5.0, p), [(1.0, 5.0)]),
    "slope of binom.pmf": (
        lambda p: jx.jvp(lambda p: stats.binom.pmf(0.0, 5.0, p), (p,), (1.0,))[1],
        [(0.0, 20.0)],
    ),
    "cauchy.ppf": (stats.cauchy.ppf, [(0.5, np.pi), (0.25, 2 * np.pi), (0.75, 2 * np.pi)]),
    "slope of gennorm.logpdf of a cube": (
        jx.grad(lambda x: stats.gennorm.logpdf(x, 3.0)),
        [(0.0, 0.0), (1.0, -6.0)],
    ),
}


def test_a_probability_of_minus_zero_is_none() -> None:
    assert stats.cauchy.ppf(np.float32(-0.0)) == -np.inf
    assert stats.cauchy.isf(np.float32(-0.0)) == np.inf


def test_slopes_at_edges() -> None:
    check_slopes(SLOPES)


INVALID: list[tuple[str, tuple[Any, ...]]] = [
    ("bernoulli.logpmf", (0.5, [-0.1, 1.1, np.nan])),
    ("beta.logpdf", (0.5, [-1.0, 0.0, 1.0, np.nan], [1.0, 1.0, 0.0, 1.0])),
    ("beta.pdf", (2.0, 0.0, 1.0)),
    ("beta.cdf", ([-1.0, 0.5, 2.0, 0.5], [0.0, -1.0, 1.0, np.nan], [1.0, 1.0, 0.0, 1.0])),
    ("beta.logcdf", ([-1.0, 0.5, 2.0], [0.0, -1.0, 1.0], [1.0, 1.0, 0.0])),
    ("beta.sf", ([-1.0, 0.5, 2.0], [0.0, -1.0, 1.0], [1.0, 1.0, 0.0])),
    ("beta.logsf", ([-1.0, 0.5, 2.0], [0.0, -1.0, 1.0], [1.0, 1.0, 0.0])),
    ("betabinom.logpmf", (1.0, [-1, 0.5, 2, 2], [1.0, 1.0, 0.0, 1.0], [1.0, 1.0, 1.0, -1.0])),
    ("binom.logpmf", (1.0, [-1, 0.5, 2, 2], [0.5, 0.5, -0.1, 1.1])),
    ("chi2.cdf", ([0.5, 0.0, np.inf], [0.0, -1.0, np.nan])),
    ("chi2.logpdf", ([1.0, 1.0, -1.0], [0.0, -1.0, np.nan])),
    ("gamma.sf", ([0.5, 0.0, np.inf], [0.0, -1.0, np.nan])),
    ("gamma.pdf", ([1.0, 1.0, -1.0], [0.0, -1.0, np.nan])),
    ("gennorm.logpdf", ([0.0, 1.0], [0.0, -1.0])),
    ("gennorm.cdf", ([0.0, 1.0], [-1.0, 0.0])),
    ("geom.pmf", (1.0, [-0.1, 0.0, 1.1, np.nan])),
    ("nbinom.logpmf", (1.0, [0.0, -1.0, 2.0, 2.0], [0.5, 0.5, 0.0, 1.1])),
    ("pareto.sf", ([0.5, 2.0], [0.0, -1.0])),
    ("pareto.logpdf", ([0.5, 2.0, 0.5], [0.0, -1.0, np.nan])),
    ("pareto.logcdf", ([0.5, 2.0, 0.5], [0.0, -1.0, np.nan])),
    ("poisson.logpmf", ([-1.0, 0.0, 0.5], [-1.0, -1.0, np.nan])),
    ("poisson.cdf", ([-1.0, -1.0], [-1.0, np.nan])),
    ("t.logpdf", ([0.0, 1.0], [0.0, -1.0])),
    ("vonmises.logpdf", (0.5, [-1.0, np.nan])),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "args"), INVALID)
def test_parameters_outside_of_their_domain_have_no_probability(
    name: str, args: tuple[Any, ...]
) -> None:
    distribution, function = name.split(".")
    arrays = [np.float32(arg) for arg in args]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = getattr(getattr(reference, distribution), function)(*arrays)
    assert np.isnan(wanted).all()
    assert np.isnan(getattr(getattr(stats, distribution), function)(*arrays)).all()


# A density, its arguments, and those whose slopes are compared with differences.
LARGE: list[tuple[str, tuple[float, ...], tuple[int, ...]]] = [
    ("gamma.logpdf", (1e6, 1e6), (0, 1)),
    ("gamma.logpdf", (1.002e6, 1e6), (0, 1)),
    ("gamma.logpdf", (17.0, 16.0), (0, 1)),
    ("gamma.logpdf", (3e4, 2e4), (0, 1)),
    ("chi2.logpdf", (1e6, 1e6), (0, 1)),
    ("poisson.logpmf", (1e6, 1.001e6), (1,)),
    ("poisson.logpmf", (20.0, 1e-3), (1,)),
    ("binom.logpmf", (5e5, 1e6, 0.501), (2,)),
    ("binom.logpmf", (16.0, 32.0, 0.4), (2,)),
    ("binom.logpmf", (5.0, 1.2e5, 5e-5), (2,)),
    ("nbinom.logpmf", (1e6, 1e6, 0.5), (1,)),
    ("nbinom.logpmf", (843.0, 8.0, 0.0146), (1, 2)),
    ("betabinom.logpmf", (3893.0, 12511.0, 1.7e6, 3.7e6), (2, 3)),
    ("betabinom.logpmf", (3.0, 12.0, 0.4, 2e6), (2, 3)),
    ("beta.logpdf", (0.5, 1e6, 1e6), (1, 2)),
    ("beta.logpdf", (0.25, 1e5, 3e5), (0, 1, 2)),
    ("t.logpdf", (1.0, np.inf), (0,)),
    ("t.logpdf", (1e20, 2.0), (0, 1)),
    ("cauchy.logpdf", (-1e20,), (0,)),
    ("gumbel_r.logsf", (9.9,), (0,)),
    ("gumbel_r.logsf", (100.0,), (0,)),
    ("gumbel_l.logcdf", (-100.0,), (0,)),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "args", "sloped"), LARGE)
def test_large_parameters_and_far_tails_keep_their_digits(
    name: str, args: tuple[float, ...], sloped: tuple[int, ...]
) -> None:
    distribution, function = name.split(".")
    ours = getattr(getattr(stats, distribution), function)
    theirs = getattr(getattr(reference, distribution), function)
    held = [np.float32(x) for x in args]
    exact = [float(x) for x in held]
    np.testing.assert_allclose(ours(*held), theirs(*exact), rtol=3e-6)
    for place in sloped:
        step = abs(exact[place]) * 1e-5
        low, high = list(exact), list(exact)
        low[place] -= step
        high[place] += step
        slope = (theirs(*high) - theirs(*low)) / (high[place] - low[place])
        found = jx.grad(ours, place)(*held)
        np.testing.assert_allclose(found, slope, rtol=5e-3, err_msg=f"by argument {place}")


def test_large_counts_of_many_categories_keep_their_digits() -> None:
    counts, chances = np.array([300_000, 500_100, 199_900]), np.array([0.3, 0.5, 0.2], np.float32)
    ways = gammaln(1e6 + 1) - gammaln(counts + 1.0).sum()
    exact = ways + (counts * np.log(chances.astype(float))).sum()
    found = stats.multinomial.logpmf(counts, 1_000_000, chances)
    np.testing.assert_allclose(found, exact, rtol=1e-6)
    point, alpha = np.array([0.25, 0.75], np.float32), np.array([1e6, 3e6], np.float32)
    exact = reference.dirichlet.logpdf(point.astype(float), alpha.astype(float))
    np.testing.assert_allclose(stats.dirichlet.logpdf(point, alpha), exact, rtol=1e-6)
    slope = jx.grad(stats.dirichlet.logpdf, 1)(point, alpha)
    np.testing.assert_allclose(slope, [5e-7, 1.67e-7], atol=2e-6)


@pytest.mark.parametrize("a", [15.5, 16.0, 40.0, 1e3, 1e5])
def test_densities_of_large_parameters_in_double_precision(a: float) -> None:
    with enable_x64(True):
        for x in (0.5 * a, 0.9 * a, a, 1.3 * a):
            exact = reference.gamma.logpdf(x, a)
            np.testing.assert_allclose(stats.gamma.logpdf(x, a), exact, rtol=1e-9, atol=1e-9)
            k, n = np.floor(a), 2 * np.floor(a)
            exact = reference.binom.logpmf(k, n, 0.4)
            np.testing.assert_allclose(stats.binom.logpmf(k, n, 0.4), exact, rtol=1e-9)


def test_narrow_truncations_keep_their_digits() -> None:
    found = stats.truncnorm.cdf(np.float32([1e-30, 1.0009765625, 0.1]), 0, np.float32([5, 2, 0.2]))
    np.testing.assert_allclose(found, [7.9788666e-31, 0.71572766, 0.5024979], rtol=1e-5)


def test_ends_of_the_real_line_have_no_density() -> None:
    assert stats.gumbel_l.logpdf(np.inf, 0.0, 2.0) == -np.inf
    assert stats.gumbel_r.pdf(-np.inf, 1.0, 2.0) == 0
    assert stats.pareto.cdf(0.5, np.inf) == 0


STRICT: list[Any] = [
    lambda x: stats.bernoulli.cdf(x, 0.3),
    lambda x: stats.gennorm.logpdf(x, 1.5),
    lambda x: stats.gennorm.cdf(x, 1.5),
    lambda x: stats.vonmises.pdf(x, 1.5),
    lambda x: stats.wrapcauchy.pdf(x, 0.5),
    lambda x: stats.multinomial.logpmf(np.int32([1, 2]), 3, x / x.sum()),
    lambda x: jx.scipy.fft.idct(x),
    lambda x: jx.scipy.fft.dct(x),
    lambda x: jx.scipy.signal.stft(x, nperseg=2)[2],
    lambda x: jx.scipy.signal.istft(jx.scipy.signal.stft(x, nperseg=2)[2], nperseg=2)[1],
    lambda x: jx.scipy.signal.csd(x, x, nperseg=2, average="median")[1],
    lambda x: jx.scipy.linalg.lu_solve(jx.scipy.linalg.lu_factor(jnp.diag(x)), x, trans=1),
]


@pytest.mark.parametrize("function", STRICT)
def test_functions_of_scipy_need_no_implicit_promotion(function: Any) -> None:
    x = jnp.array([0.5, 0.25])
    wanted = function(x)
    with jx.numpy_dtype_promotion("strict"):
        found = function(x)
    np.testing.assert_array_equal(found, wanted)
    assert (found.dtype, found.weak_type) == (wanted.dtype, wanted.weak_type)


def test_a_missing_or_unknown_argument_is_told_by_the_functions_name():
    with pytest.raises(TypeError, match=r"gamma.pdf: missing a required argument: 'a'"):
        stats.gamma.pdf(1.0)
    with pytest.raises(TypeError, match=r"norm.cdf: got an unexpected keyword argument 'sigma'"):
        stats.norm.cdf(1.0, sigma=2.0)
    assert [*inspect.signature(stats.gamma.pdf).parameters] == ["x", "a", "loc", "scale"]


# Functions of distributions and a standardized variable, of which all slopes are in range.
SCALED: list[tuple[str, tuple[float, ...]]] = [
    ("norm.logpdf", (1.5,)),
    ("norm.logcdf", (-2.5,)),
    ("cauchy.logpdf", (4.0,)),
    ("laplace.logpdf", (-0.5,)),
    ("logistic.cdf", (0.5,)),
    ("gumbel_r.logpdf", (0.5,)),
    ("gamma.logpdf", (1.5, 2.5)),
    ("beta.cdf", (0.25, 1.7, 2.6)),
    ("t.logpdf", (4.0, 3.5)),
    ("pareto.logsf", (2.5, 1.5)),
    ("truncnorm.logpdf", (0.25, -1.0, 2.0)),
]


def test_slopes_of_densities_of_every_scale() -> None:
    scales = np.float32(2.0) ** np.float32([-120, -100, -64, -20, 0, 50, 64, 100, 110])

    def slopes(name: str, z: float, parameters: tuple[float, ...]) -> Any:
        distribution, function = name.split(".")
        formula = getattr(getattr(stats, distribution), function)
        slope = jx.grad(lambda x, loc, s: formula(x, *parameters, loc, s), (0, 1, 2))
        return jx.vmap(slope)(scales * np.float32(z), np.zeros_like(scales), scales)

    found = jx.jit(lambda: [slopes(name, z, rest) for name, (z, *rest) in SCALED])()
    for (name, _), values in zip(SCALED, found, strict=True):
        for value in values:
            # They are as large as the scale is small.
            each = np.asarray(value) * scales
            np.testing.assert_allclose(each, np.full_like(each, each[4]), rtol=2e-6, err_msg=name)


# How often a density computes log Γ: the longest part of its program, so of its compile time.
LOG_GAMMAS: dict[str, tuple[tuple[float, ...], int]] = {
    "gamma.logpdf": ((1.0, 2.0), 1),
    "gamma.pdf": ((1.0, 2.0), 1),
    "chi2.logpdf": ((1.0, 2.0), 1),
    "chi2.pdf": ((1.0, 2.0), 1),
    "beta.logpdf": ((0.5, 2.0, 3.0), 3),
    "beta.pdf": ((0.5, 2.0, 3.0), 3),
    "t.logpdf": ((1.0, 2.0), 3),
    "poisson.logpmf": ((1.0, 2.0), 1),
    "poisson.pmf": ((1.0, 2.0), 1),
    "binom.logpmf": ((1.0, 2.0, 0.5), 1),
    "binom.pmf": ((1.0, 2.0, 0.5), 1),
    "nbinom.logpmf": ((1.0, 2.0, 0.5), 1),
    "nbinom.pmf": ((1.0, 2.0, 0.5), 1),
    "betabinom.logpmf": ((1.0, 2.0, 2.0, 3.0), 1),
    "multinomial.logpmf": ((np.ones(3), 3.0, np.full(3, 1 / 3)), 2),
    "dirichlet.logpdf": ((np.full(2, 0.5), np.ones(2)), 2),
}


@pytest.mark.parametrize("name", LOG_GAMMAS)
def test_log_gamma_is_computed_as_seldom_as_possible(name: str) -> None:
    distribution, function = name.split(".")
    args, count = LOG_GAMMAS[name]
    formula = getattr(getattr(stats, distribution), function)
    assert str(jx.make_jaxpr(formula)(*args)).count("= lgamma ") == count


@pytest.mark.parametrize("name", ["gamma.logpdf", "chi2.logpdf", "beta.logpdf", "t.logpdf"])
def test_a_slope_by_the_variable_needs_no_log_gamma(name: str) -> None:
    distribution, function = name.split(".")
    formula = getattr(getattr(stats, distribution), function)
    args = np.float32(LOG_GAMMAS[name][0])
    program = jx.jit(jx.grad(formula)).lower(*args).compile().as_text()
    assert "f64" not in program, "log Γ of float32 numbers is computed in float64"
