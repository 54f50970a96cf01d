"""Densities at the ends of their supports, at infinities, and of infinite parameters."""

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.stats as reference

import jxkernel as jx
from jxkernel.scipy import stats
from tests.scipy.stats_rows import ROWS, Row

INF = np.inf
_LINE = (-INF, -1.0, 0.0, 0.3, 1.0, 2.5, INF)
_COUNTS = (-INF, -1.0, 0.0, 1.0, 3.0, 4.0, 0.5, 30.0, 1e6, INF)
_PLACES = (-0.5, 0.0, 0.25, 1.0, 1.5)
_SHAPES = (0.5, 1.0, 2.0, 20.0, INF)

PARAMETERS: dict[str, tuple[tuple[float, ...], ...]] = {
    "gamma": (_SHAPES,),
    "chi2": (_SHAPES,),
    "beta": (_SHAPES, _SHAPES),
    "t": (_SHAPES,),
    "pareto": (_SHAPES,),
    "gennorm": (_SHAPES,),
    "truncnorm": ((-INF, -2.0, 0.0), (1.0, 2.0, INF)),
    "vonmises": ((0.0, 1.5, INF),),
    "wrapcauchy": ((0.0, 0.4, 1.0),),
    "bernoulli": ((0.0, 0.3, 1.0),),
    "binom": ((0.0, 1.0, 4.0, 100.0, INF), (0.0, 0.3, 1.0)),
    "betabinom": ((0.0, 4.0, INF), _SHAPES, (0.7, INF)),
    "geom": ((0.0, 0.3, 1.0),),
    "nbinom": ((0.5, 3.0, 20.0, INF), (0.0, 0.3, 1.0)),
    "poisson": ((0.0, 2.5, 100.0, INF),),
}

# Where the answers are others than SciPy's, which are NaN or infinite: ours, and why.
MEANT: dict[str, tuple[float, str]] = {
    "gumbel_r.pdf(-inf)": (0.0, "The density vanishes there."),
    "gumbel_r.logpdf(-inf)": (-INF, "The density vanishes there."),
    "gumbel_l.pdf(inf)": (0.0, "The density vanishes there."),
    "gumbel_l.logpdf(inf)": (-INF, "The density vanishes there."),
    "gamma.pdf(inf, 2.0)": (0.0, "The density vanishes there."),
    "gamma.pdf(inf, 20.0)": (0.0, "The density vanishes there."),
    "gamma.logpdf(inf, 2.0)": (-INF, "The density vanishes there."),
    "gamma.logpdf(inf, 20.0)": (-INF, "The density vanishes there."),
    "chi2.pdf(inf, 20.0)": (0.0, "The density vanishes there."),
    "chi2.logpdf(inf, 20.0)": (-INF, "The density vanishes there."),
    "chi2.pdf(1.0, inf)": (0.0, "What is spread without end has none at a point."),
    "chi2.logpdf(1.0, inf)": (-INF, "What is spread without end has none at a point."),
    "beta.pdf(0.0, 0.5, inf)": (np.nan, "A point has no density, here and between."),
    "beta.pdf(1.0, inf, 0.5)": (np.nan, "A point has no density, here and between."),
    "pareto.pdf(2.5, inf)": (0.0, "The limit of large exponents, as at 1."),
    "pareto.logpdf(2.5, inf)": (-INF, "The limit of large exponents, as at 1."),
    "pareto.pdf(inf, inf)": (0.0, "The limit of large exponents, as at 1."),
    "pareto.logpdf(inf, inf)": (-INF, "The limit of large exponents, as at 1."),
    "gennorm.cdf(0.0, inf)": (0.5, "Half of it lies below 0 for every exponent."),
    "poisson.pmf(inf, 2.5)": (0.0, "No count is infinite, as for other counts."),
    "poisson.pmf(inf, 100.0)": (0.0, "No count is infinite, as for other counts."),
    "poisson.pmf(inf, inf)": (0.0, "No count is infinite, as for other counts."),
    "poisson.logpmf(inf, 2.5)": (-INF, "No count is infinite, as for other counts."),
    "poisson.logpmf(inf, 100.0)": (-INF, "No count is infinite, as for other counts."),
    "poisson.logpmf(inf, inf)": (-INF, "No count is infinite, as for other counts."),
}


def _points(row: Row, name: str) -> list[Any]:
    if name in ("ppf", "isf"):
        first = _PLACES
    elif "pmf" in row.functions:
        first = _COUNTS
    else:
        first = _LINE
    axes = np.meshgrid(first, *PARAMETERS.get(row.name, ()), indexing="ij")
    return [np.float32(axis.ravel()) for axis in axes]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_values_at_edges_are_those_of_scipy_or_meant(row: Row) -> None:
    points = {name: _points(row, name) for name in row.functions.split()}
    module, theirs = getattr(stats, row.name), getattr(reference, row.name)
    found = jx.jit(lambda p: {name: getattr(module, name)(*args) for name, args in p.items()})(
        points
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = {n: np.array(getattr(theirs, n)(*map(np.float64, a))) for n, a in points.items()}
    met = set()
    for name, args in points.items():
        for i, place in enumerate(zip(*args, strict=True)):
            call = f"{row.name}.{name}({', '.join(str(round(float(x), 4)) for x in place)})"
            if call in MEANT:
                met.add(call)
                wanted[name][i] = MEANT[call][0]
            np.testing.assert_allclose(
                found[name][i], wanted[name][i], rtol=2e-5, atol=1e-6, err_msg=call
            )
    assert met == {call for call in MEANT if call.startswith(f"{row.name}.")}


def test_pareto_of_an_infinite_exponent() -> None:
    assert stats.pareto.ppf(1.0, INF) == INF
    assert stats.pareto.ppf(0.5, INF) == 1


# A function, its arguments, by which one, and the slope: its limit from within the support.
SLOPES: list[tuple[str, tuple[float, ...], int, float]] = [
    ("norm.pdf", (-INF,), 0, 0),
    ("norm.pdf", (INF,), 0, 0),
    ("norm.logpdf", (INF,), 0, -INF),
    ("cauchy.logcdf", (-INF,), 0, 0),
    ("cauchy.logsf", (INF,), 0, 0),
    ("t.pdf", (INF, 3), 0, 0),
    ("t.pdf", (-INF, 3), 1, 0),
    ("t.logpdf", (INF, 3), 0, 0),
    ("t.logpdf", (-INF, 0.5), 0, 0),
    ("expon.logsf", (INF,), 0, -1),
    ("gamma.pdf", (0, 1), 0, -1),
    ("gamma.pdf", (0, 1), 1, -INF),
    ("gamma.pdf", (0, 1.5), 0, INF),
    ("gamma.pdf", (0, 2), 0, 1),
    ("gamma.pdf", (0, 2), 1, 0),
    ("gamma.pdf", (0, 20), 0, 0),
    ("gamma.pdf", (INF, 2), 0, 0),
    ("gamma.pdf", (INF, 2), 1, 0),
    ("gamma.logpdf", (INF, 2), 0, -1),
    ("chi2.pdf", (0, 4), 0, 0.25),
    ("chi2.pdf", (0, 4), 1, 0),
    ("chi2.pdf", (INF, 3), 0, 0),
    ("beta.pdf", (0, 2, 0.5), 0, 0.75),
    ("beta.pdf", (0, 2, 0.5), 1, 0),
    ("beta.pdf", (0, 2, 0.5), 2, 0),
    ("beta.pdf", (0, 2, 3), 0, 12),
    ("beta.pdf", (1, 20, 2), 0, -420),
    ("beta.pdf", (1, 3, 2), 2, 0),
    ("beta.pdf", (0, 1, 3), 0, -6),
    ("beta.pdf", (0, 1e6, 1e6), 0, 0),
    ("pareto.cdf", (INF, 2), 1, 0),
    ("pareto.sf", (INF, 2), 1, 0),
    ("pareto.logcdf", (INF, 2), 1, 0),
    ("pareto.pdf", (INF, 2), 1, 0),
    ("gennorm.pdf", (INF, 1.5), 0, 0),
    ("gennorm.pdf", (-INF, 1.5), 1, 0),
    ("gennorm.logpdf", (INF, 0.5), 0, 0),
    ("gennorm.logpdf", (-INF, 1), 0, 1),
    ("gennorm.logpdf", (INF, 3), 0, -INF),
    ("gennorm.cdf", (INF, 2), 1, 0),
    ("truncnorm.pdf", (-INF, -INF, 1), 0, 0),
    ("truncnorm.logpdf", (INF, -2, 1), 0, 0),
    ("truncnorm.cdf", (-INF, -INF, 1), 0, 0),
    ("truncnorm.cdf", (-INF, -INF, 1), 1, 0),
    ("truncnorm.sf", (INF, -2, INF), 2, 0),
    ("gumbel_r.pdf", (-100,), 0, 0),
    ("gumbel_r.pdf", (-INF,), 0, 0),
    ("gumbel_r.pdf", (INF,), 0, 0),
    ("gumbel_r.logpdf", (-70,), 0, np.exp(70.0)),
    ("gumbel_r.logpdf", (-INF,), 0, INF),
    ("gumbel_r.cdf", (-100,), 0, 0),
    ("gumbel_r.sf", (-100,), 0, 0),
    ("gumbel_r.logsf", (-100,), 0, 0),
    ("gumbel_r.ppf", (0,), 0, INF),
    ("gumbel_r.ppf", (1,), 0, INF),
    ("gumbel_l.pdf", (100,), 0, 0),
    ("gumbel_l.logpdf", (INF,), 0, -INF),
    ("gumbel_l.cdf", (100,), 0, 0),
    ("gumbel_l.sf", (100,), 0, 0),
    ("gumbel_l.logcdf", (100,), 0, 0),
    ("gumbel_l.ppf", (0,), 0, INF),
    ("gumbel_l.ppf", (1,), 0, INF),
    ("bernoulli.pmf", (1, 0), 1, 1),
    ("bernoulli.pmf", (0, 1), 1, -1),
    ("bernoulli.logpmf", (3, 1), 1, 0),
    ("binom.pmf", (1, 100, 0), 2, 100),
    ("binom.pmf", (0, 4, 0), 2, -4),
    ("binom.pmf", (2, 4, 0), 2, 0),
    ("binom.pmf", (3, 4, 1), 2, -4),
    ("binom.pmf", (500, 1000, 0), 2, 0),
    ("geom.pmf", (1, 1), 1, 1),
    ("geom.pmf", (2, 1), 1, -1),
    ("geom.pmf", (3, 1), 1, 0),
    ("geom.pmf", (INF, 0.5), 1, 0),
    ("nbinom.pmf", (0, 3, 1), 2, 3),
    ("nbinom.pmf", (1, 3, 1), 2, -3),
    ("nbinom.pmf", (2, 3, 1), 2, 0),
    ("nbinom.pmf", (500, 500, 1), 2, 0),
    ("poisson.pmf", (0, 0), 1, -1),
    ("poisson.pmf", (1, 0), 1, 1),
    ("poisson.pmf", (2, 0), 1, 0),
    ("poisson.pmf", (INF, 2.5), 1, 0),
]
# Where a density is infinite its slopes are infinite or NaN; by or beside an infinite parameter
# they are NaN, as in other libraries.  laplace.pdf is flat at 0, and uniform.cdf half as steep
# at its ends: the kinks of abs and clip.


@pytest.mark.slow
def test_slopes_at_edges_are_limits() -> None:
    def slope(name: str, place: int) -> Any:
        distribution, function = name.split(".")
        return jx.grad(getattr(getattr(stats, distribution), function), place)

    points = [tuple(map(np.float32, args)) for _, args, _, _ in SLOPES]
    found = jx.jit(
        lambda points: [
            slope(row[0], row[2])(*args) for row, args in zip(SLOPES, points, strict=True)
        ]
    )(points)
    for (name, args, place, wanted), value in zip(SLOPES, found, strict=True):
        np.testing.assert_allclose(
            value, wanted, rtol=1e-4, atol=1e-6, err_msg=f"{name}{args} by {place}"
        )


def test_second_slopes_of_powers_at_the_start() -> None:
    second = jx.grad(jx.grad(stats.gamma.pdf))
    assert second(0.0, 2.0) == -2
    assert second(0.0, 3.0) == pytest.approx(1.0)
    curve = jx.grad(jx.grad(stats.binom.pmf, 2), 2)
    assert curve(2.0, 4.0, 0.0) == pytest.approx(12.0)
    assert curve(1.0, 4.0, 0.0) == pytest.approx(-24.0)
