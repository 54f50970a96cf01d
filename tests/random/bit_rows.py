"""Which random numbers the recorded table holds: calls of a ``random`` module and ``numpy``.

Read by the test and, in another environment, by the tool that writes the table: it may import
neither jxkernel nor the reference implementation.
"""

from collections.abc import Callable
from typing import Any

Call = Callable[[Any, Any], Any]

CALLS: dict[str, Call] = {
    "PRNGKey(-1)": lambda r, jnp: r.PRNGKey(-1),
    "PRNGKey(2**33 + 5)": lambda r, jnp: r.PRNGKey(2**33 + 5),
    "PRNGKey of an array": lambda r, jnp: r.PRNGKey(jnp.int32(-3)),
    "split": lambda r, jnp: r.split(r.PRNGKey(42), 3),
    "split to a shape": lambda r, jnp: r.key_data(r.split(r.key(42), (2, 2))),
    "fold_in": lambda r, jnp: r.fold_in(r.PRNGKey(42), 7),
    "bits of 8": lambda r, jnp: r.bits(r.PRNGKey(42), (5,), "uint8"),
    "bits of 16": lambda r, jnp: r.bits(r.PRNGKey(42), (5,), "uint16"),
    "bits": lambda r, jnp: r.bits(r.PRNGKey(42), (2, 3)),
    "bits of a typed key": lambda r, jnp: r.bits(r.key(42), (2, 3)),
    "uniform": lambda r, jnp: r.uniform(r.PRNGKey(42), (4,)),
    "uniform float16": lambda r, jnp: r.uniform(r.PRNGKey(42), (4,), "float16"),
    "uniform bfloat16": lambda r, jnp: r.uniform(r.PRNGKey(42), (4,), jnp.bfloat16),
    "uniform of bounds": lambda r, jnp: r.uniform(
        r.PRNGKey(42), (4,), minval=-2, maxval=jnp.arange(4.0)
    ),
    "normal": lambda r, jnp: r.normal(r.PRNGKey(42), (4,)),
    "normal float16": lambda r, jnp: r.normal(r.PRNGKey(42), (4,), "float16"),
    "normal complex": lambda r, jnp: r.normal(r.PRNGKey(42), (2,), complex),
    "truncated_normal": lambda r, jnp: r.truncated_normal(r.PRNGKey(42), -1.0, jnp.ones(2) * 0.3),
    "gumbel": lambda r, jnp: r.gumbel(r.PRNGKey(42), (2,)),
    "exponential": lambda r, jnp: r.exponential(r.PRNGKey(42), (2,)),
    "laplace": lambda r, jnp: r.laplace(r.PRNGKey(42), (2,)),
    "logistic": lambda r, jnp: r.logistic(r.PRNGKey(42), (2,)),
    "cauchy": lambda r, jnp: r.cauchy(r.PRNGKey(42), (2,)),
    "rayleigh": lambda r, jnp: r.rayleigh(r.PRNGKey(42), 1.0, (2,)),
    "pareto": lambda r, jnp: r.pareto(r.PRNGKey(42), 1.5, (2,)),
    "weibull_min": lambda r, jnp: r.weibull_min(r.PRNGKey(42), 1.0, 2.0, (2,)),
    "maxwell": lambda r, jnp: r.maxwell(r.PRNGKey(42), (2,)),
    "double_sided_maxwell": lambda r, jnp: r.double_sided_maxwell(r.PRNGKey(42), 0.5, 2.0, (2,)),
    "wald": lambda r, jnp: r.wald(r.PRNGKey(42), 1.0, (2,)),
    "triangular": lambda r, jnp: r.triangular(r.PRNGKey(42), 0.0, 0.5, 1.0, (2,)),
    "lognormal": lambda r, jnp: r.lognormal(r.PRNGKey(42), 0.5, (2,)),
    "bernoulli": lambda r, jnp: r.bernoulli(r.PRNGKey(42), 0.3, (8,)),
    "rademacher": lambda r, jnp: r.rademacher(r.PRNGKey(42), (8,)),
    "randint": lambda r, jnp: r.randint(r.PRNGKey(42), (8,), 0, 10),
    "randint int8": lambda r, jnp: r.randint(r.PRNGKey(42), (8,), -300, 300, "int8"),
    "randint uint8": lambda r, jnp: r.randint(r.PRNGKey(42), (8,), -3, 100, "uint8"),
    "randint int16": lambda r, jnp: r.randint(r.PRNGKey(42), (8,), -5, 1000, "int16"),
    "randint of the whole range": lambda r, jnp: r.randint(
        r.PRNGKey(42), (8,), -(2**31), 2**31 - 1
    ),
    "categorical": lambda r, jnp: r.categorical(r.PRNGKey(42), jnp.zeros((4, 3))),
    "categorical along axis 0": lambda r, jnp: r.categorical(
        r.PRNGKey(42), jnp.arange(12.0).reshape(4, 3), axis=0, shape=(5, 3)
    ),
    "geometric": lambda r, jnp: r.geometric(r.PRNGKey(42), 0.3, (8,)),
    "gamma": lambda r, jnp: r.gamma(r.PRNGKey(42), jnp.array([0.3, 1.0, 5.0])),
    "gamma float16": lambda r, jnp: r.gamma(r.PRNGKey(42), 3.0, (3,), "float16"),
    "gamma of rbg": lambda r, jnp: r.gamma(r.key(1, impl="rbg"), 3.0, (3,)),
    "loggamma": lambda r, jnp: r.loggamma(r.PRNGKey(42), jnp.array([1e-5, 0.3, 5.0])),
    "beta": lambda r, jnp: r.beta(r.PRNGKey(42), 2.0, 3.0, (3,)),
    "chisquare": lambda r, jnp: r.chisquare(r.PRNGKey(42), 3.0, (3,)),
    "dirichlet": lambda r, jnp: r.dirichlet(r.PRNGKey(42), jnp.array([0.5, 1.0, 2.0])),
    "f": lambda r, jnp: r.f(r.PRNGKey(42), 3.0, 4.0, (3,)),
    "t": lambda r, jnp: r.t(r.PRNGKey(42), 3.0, (3,)),
    "generalized_normal": lambda r, jnp: r.generalized_normal(r.PRNGKey(42), 1.5, (3,)),
    "poisson": lambda r, jnp: r.poisson(r.PRNGKey(42), jnp.array([0.0, 3.0, 9.9, 30.0, 1e4, -1])),
    "poisson uint8": lambda r, jnp: r.poisson(r.PRNGKey(42), 3.0, (3,), "uint8"),
    "binomial": lambda r, jnp: r.binomial(
        r.PRNGKey(42), jnp.array([0.0, 10.0, 100.0, 100.0]), jnp.array([0.5, 0.3, 0.3, 0.8])
    ),
    "multinomial": lambda r, jnp: r.multinomial(
        r.PRNGKey(42), 100.0, jnp.array([0.2, 0.3, 0.5]), shape=(2,)
    ),
    "bernoulli high": lambda r, jnp: r.bernoulli(r.PRNGKey(42), 0.5, (8,), mode="high"),
    "categorical high": lambda r, jnp: r.categorical(r.PRNGKey(42), jnp.zeros((4, 5)), mode="high"),
    "categorical without replacement": lambda r, jnp: r.categorical(
        r.PRNGKey(42), jnp.zeros((4, 5)), shape=(3, 4), replace=False
    ),
    "choice high": lambda r, jnp: r.choice(
        r.PRNGKey(42), 5, (3,), p=jnp.ones(5) / 5, replace=False, mode="high"
    ),
    "permutation": lambda r, jnp: r.permutation(r.PRNGKey(42), 7),
    "permutation of rows": lambda r, jnp: r.permutation(
        r.PRNGKey(42), jnp.arange(12).reshape(4, 3)
    ),
    "choice": lambda r, jnp: r.choice(r.PRNGKey(42), 5, (4,)),
    "choice without replacement": lambda r, jnp: r.choice(r.PRNGKey(42), 5, (4,), replace=False),
    "rbg split": lambda r, jnp: r.key_data(r.split(r.key(3, impl="rbg"), 3)),
    "rbg fold_in": lambda r, jnp: r.key_data(r.fold_in(r.key(3, impl="rbg"), 2)),
    "rbg bits": lambda r, jnp: r.bits(r.key(3, impl="rbg"), (3,)),
    "rbg bits of 8": lambda r, jnp: r.bits(r.key(3, impl="rbg"), (3,), "uint8"),
    "unsafe_rbg split": lambda r, jnp: r.key_data(r.split(r.key(3, impl="unsafe_rbg"), 2)),
    "unsafe_rbg fold_in": lambda r, jnp: r.key_data(r.fold_in(r.key(3, impl="unsafe_rbg"), 2)),
}
"""What is drawn, by a name for it."""

PAIRED = {
    **{
        f"{width} bits of {shape}": lambda r, jnp, width=width, shape=shape: r.bits(
            r.key(3), shape, f"uint{width}"
        )
        for width in (8, 16, 32)
        for shape in ((), (5,), (2, 3))
    },
    "split": lambda r, jnp: r.split(r.PRNGKey(42), 3),
    "split into a square": lambda r, jnp: r.key_data(r.split(r.key(42), (2, 2))),
    "fold_in": lambda r, jnp: r.fold_in(r.PRNGKey(42), 7),
    "rbg split": CALLS["rbg split"],
    "uniform": lambda r, jnp: r.uniform(r.PRNGKey(42), (3,)),
    "permutation": CALLS["permutation"],
}
"""What is drawn while ``jax_threefry_partitionable`` is off: counters are mixed in pairs."""

WIDE_PAIRED = {"64 bits": lambda r, jnp: r.bits(r.PRNGKey(42), (3,), "uint64")}
"""The same with 64-bit dtypes enabled."""

WIDE = ("PRNGKey(-1)", "PRNGKey(2**33 + 5)", "split", "bits", "uniform", "normal", "randint")
"""What is drawn with 64-bit dtypes enabled too."""
