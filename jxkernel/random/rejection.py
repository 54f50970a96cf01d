"""Gamma, Poisson and binomial numbers: samplers that try until a draw is accepted.

All work on key data inside a fused program.  Gamma numbers are drawn element by
element, each with a key of its own, so that none depends on how often others were rejected;
Poisson and binomial numbers are tried together until all are accepted.

Parameters without meaning (NaN, a negative shape) never loop for ever: they are replaced before
the loop, and the result is NaN or -1 after it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.api.control_flow.looping import while_loop
from jxkernel.api.control_flow.scanning import map as mapped
from jxkernel.api.custom.derivatives import custom_jvp
from jxkernel.api.vectorize import vmap
from jxkernel.core.jaxpr import Value
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.promotion import cast
from jxkernel.primitives.elementwise.incomplete import random_gamma_grad
from jxkernel.primitives.elementwise.special import lgamma
from jxkernel.random.continuous import normal_floats, several, standard_exponential
from jxkernel.random.drawing import uniform_floats
from jxkernel.random.generators import GENERATORS
from jxkernel.random.keys import KeyArray, checked_key_data
from jxkernel.transforms.composed import Composed

__all__ = [
    "binomial_numbers",
    "gamma_numbers",
    "poisson_numbers",
    "random_gamma_p",
    "rounded_poisson_numbers",
]


# ---------------------------------------------------------------- gamma


def _squeezed(a: Any, key_data: Any, name: str) -> tuple[Any, Any]:
    """Return (d, v) such that d·v is a gamma number of shape a ≥ 1.

    With d = a - 1/3 and c = 1/√(9d), v = (1 + c x)³ of a normal x is accepted where
    log u < x²/2 + d (1 - v + log v) for a uniform u, or, cheaper, where u < 1 - 0.0331 x⁴.
    Source: G. Marsaglia and W. Tsang, "A simple method for generating gamma variables", ACM
    Transactions on Mathematical Software 26, 2000.
    """
    dtype = a.dtype
    d = a - 1 / 3
    c = 1 / 3 / jnp.sqrt(d)
    zero, one = dtype.type(0), dtype.type(1)

    def rejected(state: Any) -> Any:
        _, square, v, u = state
        outside = u >= 1 - 0.0331 * (square * square)
        return outside & (jnp.log(u) >= square * 0.5 + d * (1 - v + jnp.log(v)))

    def positive(key_data: Any) -> Any:
        def again(state: Any) -> Any:
            key_data, chosen = several(state[0], name)
            x = normal_floats(chosen, name, (), dtype)
            return key_data, x, 1 + x * c

        return while_loop(lambda state: state[2] <= 0, again, (key_data, zero, -one))[1:]

    def attempt(state: Any) -> Any:
        key_data, for_normal, for_uniform = several(state[0], name, 3)
        x, root = positive(for_normal)
        u = uniform_floats(for_uniform, name, (), dtype)
        return key_data, x * x, root * root * root, u

    start = (key_data, zero, one, dtype.type(2))
    return d, while_loop(rejected, attempt, start)[2]


def _one_gamma(key_data: Any, a: Any, name: str, log_space: bool) -> Any:
    """Return one gamma number of shape a, or its logarithm.

    For a < 1 a number of shape a + 1 is multiplied by u^(1/a) of a uniform u.
    """
    valid = a > 0
    safe = jnp.where(valid, a, 1)
    large = safe >= 1
    key_data, for_boost = several(key_data, name)
    d, v = _squeezed(jnp.where(large, safe, safe + 1), key_data, name)
    if log_space:
        boost = -standard_exponential(for_boost, name, (), a.dtype)
        boost = jnp.where(large | (boost == 0), 0, boost * (1 / safe))
        value, at_zero = jnp.log(d) + jnp.log(v) + boost, -np.inf
    else:
        u = 1 - uniform_floats(for_boost, name, (), a.dtype)
        value, at_zero = d * v * jnp.where(large, 1, u ** (1 / safe)), 0.0
    value = jnp.where(a == np.inf, np.inf, value)
    return jnp.where(valid, value, jnp.where(a == 0, at_zero, np.nan))


def _approximate_gammas(key_data: Any, a: Any, name: str, log_space: bool) -> Any:
    """Take the cube root of a gamma number of shape a ≥ 1 to be normal.

    Source: E. Wilson and M. Hilferty, "The distribution of chi-square", 1931.
    """
    valid = a > 0
    safe = jnp.where(valid & (a < np.inf), a, 1)
    raised = jnp.where(safe >= 1, safe, safe + 1)
    for_normal, for_boost = several(key_data, name)
    x = normal_floats(for_normal, name, a.shape, a.dtype)
    root = jnp.maximum(1 - 1 / (9 * raised) + x / (3 * jnp.sqrt(raised)), 1e-3)
    boost = -standard_exponential(for_boost, name, a.shape, a.dtype)
    value = jnp.log(raised) + 3 * jnp.log(root) + jnp.where(safe >= 1, 0, boost / safe)
    value = jnp.where(a == np.inf, np.inf, value)
    value = jnp.where(valid, value, jnp.where(a == 0, -np.inf, np.nan))
    return value if log_space else jnp.exp(value)


@partial(custom_jvp, nondiff_argnums=(2, 3, 4))
def _gammas(key_data: Any, a: Any, name: str, log_space: bool, exact: bool) -> Any:
    if not exact:
        return _approximate_gammas(key_data, a, name, log_space)
    keys = GENERATORS[name].split(key_data, (a.size,))
    one = partial(_one_gamma, name=name, log_space=log_space)
    if name == "threefry2x32":
        drawn = vmap(one)(keys, a.ravel())
    else:
        # XLA's own generators take one key at a time.
        drawn = mapped(lambda pair: one(*pair), (keys, a.ravel()))
    return drawn.reshape(a.shape)


@_gammas.defjvp
def _gammas_jvp(
    name: str, log_space: bool, exact: bool, primals: Any, tangents: Any
) -> tuple[Any, Any]:
    """Move samples with the shape at a constant value of the distribution function.

    Source: M. Figurnov, S. Mohamed and A. Mnih, "Implicit reparameterization gradients", 2018.
    A logarithm log x moves by the sample's derivative over x.
    """
    key_data, a = primals
    y = _gammas(key_data, a, name, log_space, exact)
    x = jnp.exp(y) if log_space else y
    slope = random_gamma_grad(a, x)
    if log_space:
        # Where x underflows, P = xᵃ / Γ(a + 1): at constant P, log x moves by -log x / a.
        slope = jnp.where(x == 0, -y / a, slope / jnp.where(x == 0, 1, x))
    return y, tangents[1] * slope


def _gamma_meaning(key_data: Value, a: Value, *, impl: str, log_space: bool) -> Any:
    return _gammas(key_data, a, impl, log_space, True)


class _RandomGamma(Composed):
    """The primitive of gamma numbers; in programs a key is its key data."""

    def bind(self, key: Any, a: Any, *, log_space: bool, impl: str = "") -> Any:
        """Draw numbers of the gamma distribution.

        Args:
          key: a key, or keys along the first axes of ``a``; key data where ``impl`` names their
            generator.
          a: the shapes, an array of a floating dtype.
          log_space: whether to return the logarithms.
          impl: the generator.
        """
        if impl:
            return super().bind(key, a, impl=impl, log_space=log_space)
        if isinstance(key, KeyArray):
            key_data, generator = key.key_data, key.generator
        else:
            key_data, generator = checked_key_data("gamma", key)
        draw: Any = partial(self.bind, log_space=log_space, impl=generator.name)
        for _ in range(np.ndim(key_data) - 1):
            draw = vmap(draw)
        return draw(key_data, jnp.asarray(a))


random_gamma_p = _RandomGamma("random_gamma", _gamma_meaning)


def gamma_numbers(
    key_data: Any, name: str, a: Any, log_space: bool = False, exact: bool = True
) -> Any:
    """Return numbers of the gamma distribution of shape ``a`` and scale 1.

    Args:
      key_data: the key data of one key.
      name: the generator.
      a: the shapes, an array of a floating dtype, which the result has too.
      log_space: whether to return the logarithms, which do not underflow for small ``a``.
      exact: whether to try until a draw is accepted, or to approximate in one step.

    The derivative with respect to ``a`` is the implicit one.  NaN for negative ``a``.
    """
    if not exact:
        return _gammas(key_data, a, name, log_space, False)
    return random_gamma_p.bind(key_data, a, impl=name, log_space=log_space)


# ---------------------------------------------------------------- Poisson


def _tried_together(
    key_data: Any, name: str, attempt: Callable[[Any, Any], tuple[Any, Any]], like: Any
) -> Any:
    """Repeat ``attempt(u, v)``, from two uniform numbers to a draw and whether it is accepted."""

    def goes_on(state: Any) -> Any:
        return ~state[1].all()

    def step(state: Any) -> Any:
        found, accepted, key_data = state
        key_data, first, second = several(key_data, name, 3)
        u = uniform_floats(first, name, like.shape, like.dtype) - 0.5
        v = uniform_floats(second, name, like.shape, like.dtype)
        drawn, accept = attempt(u, v)
        return jnp.where(accept, drawn, found), accepted | accept, key_data

    none = jnp.zeros(like.shape, bool)
    return while_loop(goes_on, step, (jnp.full_like(like, -1), none, key_data))[0]


def _few_events(key_data: Any, name: str, rate: Any) -> Any:
    """Count how many uniform numbers multiply to more than exp(-rate), in logarithms.

    Source: D. Knuth, The Art of Computer Programming 2, section 3.4.1.
    """

    def goes_on(state: Any) -> Any:
        return (state[2] > -rate).any()

    def step(state: Any) -> Any:
        key_data, count, total = state
        key_data, chosen = several(key_data, name)
        count = jnp.where(total > -rate, count + 1, count)
        u = uniform_floats(chosen, name, rate.shape, rate.dtype)
        return key_data, count, total + jnp.log(u)

    start = (key_data, jnp.zeros(rate.shape, np.int32), jnp.zeros_like(rate))
    return while_loop(goes_on, step, start)[1] - 1


def _many_events(key_data: Any, name: str, rate: Any) -> Any:
    """Draw by transformed rejection with a squeeze, for rates of at least 10.

    Source: W. Hörmann, "The transformed rejection method for generating Poisson random
    variables", Insurance: Mathematics and Economics 12, 1993 (algorithm PTRS).
    """
    log_rate = jnp.log(rate)
    b = 0.931 + 2.53 * jnp.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    squeeze = 0.9277 - 3.6224 / (b - 2)

    def attempt(u: Any, v: Any) -> tuple[Any, Any]:
        depth = 0.5 - abs(u)
        k = jnp.floor((2 * a / depth + b) * u + rate + 0.43)
        score = jnp.log(v * inverse_alpha / (a / (depth * depth) + b))
        level = -rate + k * log_rate - lgamma(k + 1)
        outside = (k < 0) | ((depth < 0.013) & (v > depth))
        return k, ((depth >= 0.07) & (v <= squeeze)) | (~outside & (score <= level))

    return _tried_together(key_data, name, attempt, rate)


def poisson_numbers(key_data: Any, name: str, rate: Any, dtype: DTypeLike) -> Any:
    """Return numbers of the Poisson distribution, -1 where the rate is negative or NaN.

    Args:
      key_data: the key data of one key.
      name: the generator.
      rate: the rates, an array of a floating dtype.
      dtype: the result's integer dtype; numbers past its end become its end.
    """
    valid = rate >= 0
    few = ~(rate >= 10)
    small = cast(_few_events(key_data, name, jnp.where(valid & few, rate, 0)), dtype)
    large = _many_events(key_data, name, jnp.where(few | (rate == np.inf), 1e5, rate))
    return _as_counts(rate, small, large, dtype)


def _as_counts(rate: Any, small: Any, large: Any, dtype: Any) -> Any:
    """Join the draws of rates below and above 10 as integers within a dtype."""
    most = dtype.type(dtypes.iinfo(dtype).max)
    # A float may round the end up, past the dtype.
    large = jnp.where((large >= float(most)) | (rate == np.inf), most, cast(large, dtype))
    drawn = jnp.where(rate == 0, 0, jnp.where(rate >= 10, cast(large, dtype), small))
    return cast(jnp.where(rate >= 0, drawn, -1 if int(dtypes.iinfo(dtype).min) else 0), dtype)


def rounded_poisson_numbers(key_data: Any, name: str, rate: Any, dtype: DTypeLike) -> Any:
    """Return approximate Poisson numbers without a loop; arguments are those of the exact ones.

    Rates below 10 invert the distribution function, of which 40 terms leave out less than float32
    tells; others round the second Cornish-Fisher expansion about the normal distribution.
    """
    for_uniform, for_normal = several(key_data, name)
    below = jnp.where(rate < 10, rate, 1)
    counts = jnp.arange(40, dtype=rate.dtype)
    terms = jnp.exp(counts * jnp.log(below)[..., None] - below[..., None] - lgamma(counts + 1))
    u = uniform_floats(for_uniform, name, rate.shape, rate.dtype)
    small = cast((u[..., None] > jnp.cumsum(terms, -1)).sum(-1), dtype)
    above = jnp.where((rate >= 10) & (rate < np.inf), rate, 10)
    x = normal_floats(for_normal, name, rate.shape, rate.dtype)
    large = jnp.floor(above + jnp.sqrt(above) * x + (x * x - 1) / 6 + 0.5)
    return _as_counts(rate, small, jnp.maximum(large, 0), dtype)


# ---------------------------------------------------------------- binomial


def _few_successes(key_data: Any, name: str, n: Any, p: Any) -> Any:
    """Count how many geometric waiting times fit into n trials.

    Source: V. Kachitvichyanukul and B. Schmeiser, "Binomial random variate generation",
    Communications of the ACM 31, 1988, and the waiting-time method it compares with.
    """
    scale = jnp.log1p(-p)

    def goes_on(state: Any) -> Any:
        return (state[1] <= n).any()

    def step(state: Any) -> Any:
        count, trials, key_data = state
        chosen, key_data = several(key_data, name)
        count = jnp.where(trials <= n, count + 1, count)
        u = uniform_floats(chosen, name, n.shape, n.dtype)
        return count, trials + jnp.ceil(jnp.log(u) / scale), key_data

    zero = jnp.zeros_like(n)
    return while_loop(goes_on, step, (zero, zero, key_data))[0] - 1


# log k! - (k + 1/2) log (k + 1) + (k + 1) - log √(2π) for k from 0 to 9.
_FACTORIAL_REST = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.0207906721037650,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def _factorial_rest(k: Any) -> Any:
    """Return the remainder of Stirling's formula for k!, by its series for k ≥ 10."""
    table = jnp.asarray(_FACTORIAL_REST, k.dtype)
    small = table[jnp.clip(k, 0, 9).astype(np.int32)]
    inverse = 1 / (k + 1)
    square = inverse * inverse
    return jnp.where(k <= 9, small, (1 / 12 - (1 / 360 - square / 1260) * square) * inverse)


def _many_successes(key_data: Any, name: str, n: Any, p: Any) -> Any:
    """Draw by transformed rejection with a squeeze, for n·p of at least 10 and p ≤ 1/2.

    Source: W. Hörmann, "The generation of binomial random variates", Journal of Statistical
    Computation and Simulation 46, 1993 (algorithm BTRS).
    """
    deviation = jnp.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * deviation
    squeeze = 0.92 - 4.2 / b
    odds = p / (1 - p)
    mode = jnp.floor((n + 1) * p)

    def level(k: Any) -> Any:
        first = (mode + 0.5) * jnp.log((mode + 1) / (odds * (n - mode + 1)))
        second = (n + 1) * jnp.log((n - mode + 1) / (n - k + 1))
        third = (k + 0.5) * jnp.log(odds * (n - k + 1) / (k + 1))
        rests = _factorial_rest(mode) + _factorial_rest(n - mode)
        return first + second + third + rests - _factorial_rest(k) - _factorial_rest(n - k)

    def attempt(u: Any, v: Any) -> tuple[Any, Any]:
        depth = 0.5 - abs(u)
        k = jnp.floor((2 * a / depth + b) * u + n * p + 0.5)
        inside = (k >= 0) & (k <= n)
        safe = jnp.where(inside, k, 0)
        score = jnp.log(v * alpha / (a / (depth * depth) + b))
        return k, ((depth >= 0.07) & (v <= squeeze)) | (inside & (score <= level(safe)))

    return _tried_together(key_data, name, attempt, n)


def binomial_numbers(key_data: Any, name: str, n: Any, p: Any) -> Any:
    """Return numbers of the binomial distribution, NaN where n or p has no meaning.

    Args:
      key_data: the key data of one key.
      name: the generator.
      n: the numbers of trials, an array of a floating dtype; fractions are dropped.
      p: the probabilities of success, of the same dtype and shape.
    """
    valid = (n >= 0) & (n < np.inf) & (p >= 0) & (p <= 1)
    trials = jnp.floor(jnp.where(valid, n, 0))
    less = jnp.where(p < 0.5, p, 1 - p)
    less = jnp.where(valid, less, 0)
    by_waiting = trials * less <= 10
    nothing = (less == 0) | (trials == 0)
    few = _few_successes(
        key_data,
        name,
        jnp.where(by_waiting & ~nothing, trials, 0),
        jnp.where(by_waiting & ~nothing, less, 0.5),
    )
    many = _many_successes(
        key_data, name, jnp.where(by_waiting, 1000, trials), jnp.where(by_waiting, 0.5, less)
    )
    drawn = jnp.where(nothing, 0, jnp.where(by_waiting, few, many))
    drawn = jnp.where(p < 0.5, drawn, trials - drawn)
    return jnp.where(valid, drawn, np.nan)
