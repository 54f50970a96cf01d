"""Distributions: their shapes and dtypes, and that they follow their distribution function."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as stats

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import random
from jxkernel.errors import ComplexOrderError

SHAPE = (4000,)

CONTINUOUS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "uniform": (lambda k: random.uniform(k, SHAPE, minval=-1, maxval=3), stats.uniform(-1, 4).cdf),
    "normal": (lambda k: random.normal(k, SHAPE), stats.norm.cdf),
    "truncated_normal": (
        lambda k: random.truncated_normal(k, -1.0, 2.0, SHAPE),
        stats.truncnorm(-1, 2).cdf,
    ),
    "exponential": (lambda k: random.exponential(k, SHAPE), stats.expon.cdf),
    "gumbel": (lambda k: random.gumbel(k, SHAPE), stats.gumbel_r.cdf),
    "laplace": (lambda k: random.laplace(k, SHAPE), stats.laplace.cdf),
    "logistic": (lambda k: random.logistic(k, SHAPE), stats.logistic.cdf),
    "cauchy": (lambda k: random.cauchy(k, SHAPE), stats.cauchy.cdf),
    "rayleigh": (lambda k: random.rayleigh(k, 2.0, SHAPE), stats.rayleigh(scale=2).cdf),
    "pareto": (lambda k: random.pareto(k, 1.5, SHAPE), stats.pareto(1.5).cdf),
    "weibull_min": (
        lambda k: random.weibull_min(k, 2.0, 1.5, SHAPE),
        stats.weibull_min(1.5, scale=2).cdf,
    ),
    "lognormal": (lambda k: random.lognormal(k, 0.5, SHAPE), stats.lognorm(0.5).cdf),
    "maxwell": (lambda k: random.maxwell(k, SHAPE), stats.maxwell.cdf),
    "wald": (lambda k: random.wald(k, 1.5, SHAPE), stats.invgauss(1.5).cdf),
    "triangular": (
        lambda k: random.triangular(k, -1.0, 0.5, 2.0, SHAPE),
        stats.triang(0.5, -1, 3).cdf,
    ),
    "double_sided_maxwell": (
        lambda k: abs(random.double_sided_maxwell(k, 0.0, 2.0, SHAPE)),
        stats.maxwell(scale=2).cdf,
    ),
    "gumbel high": (lambda k: random.gumbel(k, SHAPE, mode="high"), stats.gumbel_r.cdf),
    "gamma": (lambda k: random.gamma(k, 2.5, SHAPE), stats.gamma(2.5).cdf),
    "gamma below 1": (lambda k: random.gamma(k, 0.4, SHAPE), stats.gamma(0.4).cdf),
    "gamma approximate": (
        lambda k: random.gamma(k, 2.5, SHAPE, method="approximate"),
        stats.gamma(2.5).cdf,
    ),
    "loggamma": (lambda k: random.loggamma(k, 0.4, SHAPE), stats.loggamma(0.4).cdf),
    "beta": (lambda k: random.beta(k, 0.5, 3.0, SHAPE), stats.beta(0.5, 3).cdf),
    "chisquare": (lambda k: random.chisquare(k, 3.0, SHAPE), stats.chi2(3).cdf),
    "f": (lambda k: random.f(k, 3.0, 5.0, SHAPE), stats.f(3, 5).cdf),
    "t": (lambda k: random.t(k, 3.0, SHAPE), stats.t(3).cdf),
    "generalized_normal": (
        lambda k: random.generalized_normal(k, 1.5, SHAPE),
        stats.gennorm(1.5).cdf,
    ),
    "dirichlet": (
        lambda k: random.dirichlet(k, jnp.array([0.5, 1.0, 2.0]), SHAPE)[:, 0],
        stats.beta(0.5, 3).cdf,
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_numbers_follow_their_distribution(name: str) -> None:
    draw, distribution = CONTINUOUS[name]
    numbers = draw(random.key(20260101))
    assert (numbers.shape, numbers.dtype) == (SHAPE, np.float32)
    assert stats.kstest(np.asarray(numbers, np.float64), distribution).pvalue > 1e-3


def _within(distribution: Any, low: int, high: int) -> list[float]:
    """Return the probabilities of the numbers from ``low`` to ``high``, tails in the ends."""
    inside = distribution.pmf(np.arange(low, high + 1))
    inside[0], inside[-1] = distribution.cdf(low), distribution.sf(high - 1)
    return list(inside)


DISCRETE: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "bernoulli": (lambda k: random.bernoulli(k, 0.3, SHAPE), [0.7, 0.3]),
    "randint": (lambda k: random.randint(k, SHAPE, 0, 5), [0.2] * 5),
    "rademacher": (lambda k: (random.rademacher(k, SHAPE) + 1) // 2, [0.5, 0.5]),
    "categorical": (
        lambda k: random.categorical(k, jnp.log(jnp.array([0.1, 0.2, 0.7])), shape=SHAPE),
        [0.1, 0.2, 0.7],
    ),
    "geometric": (
        lambda k: random.geometric(k, 0.5, SHAPE).clip(1, 4) - 1,
        [0.5, 0.25, 0.125, 0.125],
    ),
    "bernoulli high": (lambda k: random.bernoulli(k, 0.3, SHAPE, mode="high"), [0.7, 0.3]),
    "categorical without replacement": (
        lambda k: random.categorical(
            k, jnp.log(jnp.tile(jnp.array([0.1, 0.2, 0.7]), (*SHAPE, 1))), replace=False
        ),
        [0.1, 0.2, 0.7],
    ),
    "choice": (
        lambda k: random.choice(k, 3, SHAPE, p=jnp.array([0.1, 0.2, 0.7])),
        [0.1, 0.2, 0.7],
    ),
    "poisson": (
        lambda k: random.poisson(k, 3.0, SHAPE).clip(0, 6),
        _within(stats.poisson(3), 0, 6),
    ),
    "poisson of a large rate": (
        lambda k: random.poisson(k, 20.0, SHAPE).clip(14, 26) - 14,
        _within(stats.poisson(20), 14, 26),
    ),
    "poisson approximate": (
        lambda k: random.poisson(k, 20.0, SHAPE, method="approximate").clip(14, 26) - 14,
        _within(stats.poisson(20), 14, 26),
    ),
    "binomial": (
        lambda k: random.binomial(k, 10, 0.3, SHAPE).clip(0, 6),
        _within(stats.binom(10, 0.3), 0, 6),
    ),
    "binomial of many trials": (
        lambda k: random.binomial(k, 100, 0.7, SHAPE).clip(62, 78) - 62,
        _within(stats.binom(100, 0.7), 62, 78),
    ),
    "multinomial": (
        lambda k: random.multinomial(k, 10, jnp.array([0.3, 0.2, 0.5]), shape=SHAPE)[:, 0].clip(
            0, 6
        ),
        _within(stats.binom(10, 0.3), 0, 6),
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", DISCRETE)
def test_frequencies_are_the_probabilities(name: str) -> None:
    draw, probabilities = DISCRETE[name]
    drawn = np.asarray(draw(random.key(20260101))).astype(int)
    counts = np.bincount(drawn, minlength=len(probabilities))
    assert len(counts) == len(probabilities)
    expected = np.array(probabilities) * drawn.size
    assert stats.chisquare(counts, expected).pvalue > 1e-3


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_uniform_numbers_stay_below_the_bound(dtype: str) -> None:
    numbers = random.uniform(random.key(3), (20000,), dtype)
    assert numbers.dtype == jnp.dtype(dtype)
    assert float(numbers.min()) >= 0
    assert float(numbers.max()) < 1


def test_truncated_normal_numbers_lie_strictly_inside() -> None:
    numbers = random.truncated_normal(random.key(0), 1.0, 1.001, (1000,))
    assert bool(((numbers > 1.0) & (numbers < 1.001)).all())


def test_normal_complex_numbers_have_unit_variance() -> None:
    numbers = np.asarray(random.normal(random.key(0), SHAPE, complex))
    assert abs(np.mean(np.abs(numbers) ** 2) - 1) < 0.1
    assert stats.kstest(numbers.real * np.sqrt(2), stats.norm.cdf).pvalue > 1e-3


def test_shape_is_that_of_the_parameters_where_not_given() -> None:
    key = random.key(0)
    assert random.bernoulli(key, jnp.full((2, 3), 0.5)).shape == (2, 3)
    assert random.truncated_normal(key, -jnp.ones((2, 1)), jnp.ones(3)).shape == (2, 3)
    assert random.rayleigh(key, 1.0).shape == ()
    assert random.categorical(key, jnp.zeros((4, 3)), axis=0).shape == (3,)


@pytest.mark.parametrize(
    "draw",
    [
        random.gamma,
        random.dirichlet,
        random.poisson,
        random.rayleigh,
        lambda key, c: random.beta(key, 1.0, c),
        lambda key, c: random.weibull_min(key, c, 1.0),
        lambda key, c: random.uniform(key, (3,), minval=c),
    ],
)
def test_complex_parameters_are_refused(draw: Any) -> None:
    with pytest.raises(ComplexOrderError, match="does not accept dtype complex64"):
        draw(random.key(0), jnp.ones(3, np.complex64))


@pytest.mark.parametrize("draw", [random.weibull_min, random.double_sided_maxwell])
def test_two_parameters_broadcast_to_the_shape_of_the_result(draw: Any) -> None:
    key, column, row = random.key(0), jnp.array([[1.0], [2.0], [3.0]]), jnp.array([1.0, 2.0])
    wanted = draw(key, jnp.tile(column, (1, 2)), jnp.tile(row, (3, 1)), (3, 2))
    np.testing.assert_array_equal(draw(key, column, row), wanted)
    np.testing.assert_array_equal(draw(key, column, row, (3, 2)), wanted)
    assert draw(key, 1.0, 2.0).shape == ()


def test_randint_bounds_may_lie_past_the_dtype() -> None:
    drawn = random.randint(random.key(0), (2000,), -1000, 1000, np.int8)
    assert (int(drawn.min()), int(drawn.max())) == (-128, 127)
    grid = random.randint(random.key(0), (2, 3), np.zeros(3, int), np.array([[5], [7]]), np.uint8)
    assert grid.shape == (2, 3)
    equal = random.randint(random.key(0), (3,), 5, 5)
    assert equal.tolist() == [5, 5, 5]


def test_samples_differentiate_in_their_parameters() -> None:
    key = random.key(0)
    slope = jx.grad(lambda s: random.rayleigh(key, s, (10,)).sum())(2.0)
    np.testing.assert_allclose(slope, random.rayleigh(key, 1.0, (10,)).sum(), rtol=1e-5)
    low, high = jx.grad(lambda a, b: random.uniform(key, (), minval=a, maxval=b), (0, 1))(0.0, 1.0)
    place = float(random.uniform(key))
    np.testing.assert_allclose([low, high], [1 - place, place], rtol=1e-5)


def test_bounds_of_randint_lose_their_fractions() -> None:
    key = random.key(0)
    wanted = random.randint(key, (6,), 0, 3).tolist()
    assert random.randint(key, (6,), -0.5, 3).tolist() == wanted
    assert random.randint(key, (6,), np.float32(0.7), 3.9).tolist() == wanted


def test_seeds_beyond_64_bits_and_parameters_that_do_not_fit_are_refused() -> None:
    with pytest.raises(OverflowError, match="64 bits"):
        random.key(2**70)
    for error in (TypeError, ValueError):
        with pytest.raises(error, match="do not broadcast to shape"):
            random.uniform(random.key(0), (2, 3), minval=np.zeros(2, np.float32))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_signs_of_two_sided_numbers_are_those_of_rademacher_in_every_dtype(dtype):
    key = random.key(3)
    signs = random.rademacher(random.split(key)[1], (50,), jnp.float32)
    for x in (
        random.generalized_normal(key, 2.0, (50,), dtype),
        random.double_sided_maxwell(key, 0.0, 1.0, (50,), dtype),
    ):
        np.testing.assert_array_equal(jnp.sign(x).astype(jnp.float32), signs)


def test_signs_are_no_booleans():
    with pytest.raises(TypeError, match="-1 and 1, which bool does not have: use bernoulli"):
        random.rademacher(random.key(0), (3,), bool)


def test_categories_without_replacement_are_of_32_bits():
    with jx.enable_x64(True):
        drawn = random.categorical(random.key(0), jnp.zeros(5), shape=(3,), replace=False)
    assert drawn.dtype == np.int32


def test_one_number_between_bounds_with_axes_has_their_axes():
    low, high = jnp.array([[2.0]]), jnp.array([3.0])
    drawn = random.uniform(random.key(0), minval=low, maxval=high)
    assert drawn.shape == (1, 1)
    assert drawn.item() == pytest.approx(2.0 + random.uniform(random.key(0)).item())
