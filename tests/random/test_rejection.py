"""Samplers by rejection: independence of neighbours, edges, dtypes, implicit derivatives."""

from typing import Any

import numpy as np
import pytest
import scipy.special as special
import scipy.stats as stats

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import random
from jxkernel.config import enable_x64

KEY = random.key(11)


def test_a_gamma_number_does_not_depend_on_its_neighbours() -> None:
    shapes = jnp.array([0.2, 1.0, 7.0])
    together = random.gamma(KEY, shapes)
    other = random.gamma(KEY, jnp.array([5.0, 1.0, 0.1]))
    assert together[1] == other[1]
    assert (jx.jit(random.gamma)(KEY, shapes) == together).all()


def test_keys_of_a_batch_draw_what_each_draws() -> None:
    keys = random.split(KEY, 3)
    batched = jx.vmap(lambda key: random.poisson(key, 12.0, (4,)))(keys)
    for i in range(3):
        assert (batched[i] == random.poisson(keys[i], 12.0, (4,))).all()


def test_parameters_without_meaning_end_the_loops() -> None:
    odd = jnp.array([-1.0, np.nan, 0.0, np.inf])
    np.testing.assert_array_equal(random.gamma(KEY, odd), [np.nan, np.nan, 0, np.inf])
    np.testing.assert_array_equal(random.loggamma(KEY, odd), [np.nan, np.nan, -np.inf, np.inf])
    assert random.poisson(KEY, odd).tolist() == [-1, -1, 0, 2**31 - 1]
    assert random.poisson(KEY, odd, dtype="uint32").tolist() == [0, 0, 0, 2**32 - 1]
    np.testing.assert_array_equal(
        random.binomial(KEY, jnp.array([-1.0, np.nan, 0.0, 4.0]), jnp.array([0.5, 0.5, 0.5, 2.0])),
        [np.nan, np.nan, 0, np.nan],
    )


def test_certain_trials_are_certain() -> None:
    assert random.binomial(
        KEY, jnp.array([7.0, 7.0, 1e5]), jnp.array([0.0, 1.0, 1.0])
    ).tolist() == [
        0,
        7,
        1e5,
    ]
    counts = random.multinomial(KEY, jnp.array([5.0, 50.0]), jnp.array([0.0, 0.4, 0.6, 0.0]))
    assert counts.sum(-1).tolist() == [5, 50]
    assert (counts[:, jnp.array([0, 3])] == 0).all()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_numbers_follow_their_distribution_in_every_dtype(dtype: str) -> None:
    with enable_x64(dtype == "float64"):
        drawn = random.gamma(KEY, 2.0, (1500,), dtype)
        assert drawn.dtype == jnp.dtype(dtype)
        distance = stats.kstest(np.asarray(drawn, np.float64), stats.gamma(2.0).cdf).statistic
    # bfloat16 has ties, 1/256 of the values apart.
    assert distance < 0.05


def test_counts_have_the_dtype_asked_for() -> None:
    assert random.poisson(KEY, 400.0, (3,), "uint8").tolist() == [255] * 3
    assert random.binomial(KEY, 9, 0.5, (2,), "float16").dtype == np.float16
    assert random.multinomial(KEY, 9, jnp.ones(2) / 2).dtype == np.float32


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_counts_of_narrow_parameters_have_the_default_dtype_and_add_up(dtype: str) -> None:
    p = jnp.array([0.25, 0.25, 0.5], dtype)
    counts = random.multinomial(KEY, 5001, p)
    assert (counts.dtype, int(counts.sum())) == (np.float32, 5001)
    assert random.multinomial(KEY, 5001, p, dtype="int32").sum() == 5001
    assert random.binomial(KEY, 9, p).dtype == np.float32
    with enable_x64():
        assert random.binomial(KEY, 9, p).dtype == np.float64
        assert random.multinomial(KEY, 9, p).dtype == np.float64


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int16"])
def test_the_dtype_of_counts_does_not_change_the_draw(dtype: str) -> None:
    # As real jax 0.12 draws them.
    p = jnp.array([0.2, 0.3, 0.5], np.float32)
    assert random.multinomial(random.key(42), 200, p, dtype=dtype).tolist() == [39, 64, 97]


def _quantile_slope(a: float, x: Any) -> Any:
    """Return how the sample at a constant place in the distribution moves with a."""
    step = 1e-4
    upper, lower = (
        special.gammaincinv(a + s, special.gammainc(a, np.asarray(x, np.float64)))
        for s in (step, -step)
    )
    return (upper - lower) / (2 * step)


@pytest.mark.parametrize("a", [0.3, 1.0, 4.5])
def test_a_gamma_number_moves_along_its_quantile(a: float) -> None:
    def draw(a: Any) -> Any:
        return random.gamma(KEY, a, (5,))

    slopes = jx.jacfwd(draw)(a)
    np.testing.assert_allclose(slopes, _quantile_slope(a, draw(a)), rtol=2e-3)
    np.testing.assert_allclose(jx.jacrev(draw)(a), slopes, rtol=1e-5)
    logs = jx.jacfwd(lambda a: random.loggamma(KEY, a, (5,)))(a)
    np.testing.assert_allclose(logs * draw(a), slopes, rtol=2e-3)


def test_logarithms_move_where_the_numbers_underflow() -> None:
    logs = random.loggamma(KEY, 1e-3, (4,))
    slopes = jx.jacfwd(lambda a: random.loggamma(KEY, a, (4,)))(1e-3)
    assert bool((logs < -100).any())
    np.testing.assert_allclose(slopes, -np.asarray(logs) / 1e-3, rtol=1e-2)


def test_the_mean_of_beta_samples_moves_as_the_mean() -> None:
    def mean(a: Any, b: Any) -> Any:
        return random.beta(KEY, a, b, (2000,)).mean()

    by_a, by_b = jx.grad(mean, (0, 1))(2.0, 3.0)
    np.testing.assert_allclose([by_a, by_b], [3 / 25, -2 / 25], atol=0.01)
    shares = jx.jacfwd(lambda alpha: random.dirichlet(KEY, alpha, (2000,)).mean(0))(
        jnp.array([1.0, 2.0, 3.0])
    )
    np.testing.assert_allclose(np.diag(shares), [5 / 36, 4 / 36, 3 / 36], atol=0.015)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: random.gamma(KEY, 1.0, method="fast"), r"gamma got method='fast'.*'exact'"),
        (lambda: random.gamma(KEY, 1.0, dtype=int), "gamma makes floating numbers, got dtype int"),
        (lambda: random.poisson(KEY, 1.0, dtype=float), "poisson makes integers"),
        (lambda: random.gumbel(KEY, mode="fine"), r"gumbel got mode='fine'.*'high'"),
        (lambda: random.dirichlet(KEY, 1.0), "dirichlet needs alpha of rank 1"),
        (lambda: random.dirichlet(KEY, jnp.ones((2, 3)), (5,)), "roadcast"),
        (lambda: random.multinomial(KEY, 3, 0.5), "multinomial needs p of rank 1"),
        (
            lambda: random.categorical(KEY, jnp.zeros(3), shape=(4,), replace=False),
            "cannot draw 4 of 3 categories",
        ),
    ],
)
def test_wrong_arguments_are_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_gamma_numbers_stand_in_programs_by_name():
    random, key = jx.random, jx.random.key(3)

    def drawn(key, a):
        return random.gamma(key, a)

    eqn = jx.make_jaxpr(drawn)(key, 2.0).eqns[-1]
    assert eqn.primitive is random.random_gamma_p
    assert (eqn.params["impl"], eqn.params["log_space"]) == ("threefry2x32", False)
    a = np.float32(2)
    assert random.random_gamma_p.bind(key, a, log_space=False) == drawn(key, a)
    assert random.random_gamma_p.bind(jx.random.PRNGKey(3), a, log_space=False) == drawn(key, a)
    keys, shapes = random.split(key, 2), np.float32([2, 0.5])
    several = random.random_gamma_p.bind(keys, shapes, log_space=True)
    np.testing.assert_array_equal(several, jx.vmap(random.loggamma)(keys, shapes))
    slope = jx.grad(drawn, 1)(key, a)
    assert slope == jx.jit(jx.grad(drawn, 1))(key, a)
    assert 0.5 < slope < 1.5
