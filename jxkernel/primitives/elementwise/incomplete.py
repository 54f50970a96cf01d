"""Incomplete gamma and beta functions, and the derivative of gamma samples.

XLA has none of them, so they are lowered as formulas: a power series where it converges fast, a
continued fraction elsewhere, and an asymptotic expansion for large parameters near the transition,
where both take as many terms as the root of the parameter is large.  Sources: DLMF 8.7.1 (series
of the incomplete gamma function), 8.9.2 (its continued fraction), 8.12 (its expansion), 8.17.22
(continued fraction of the incomplete beta function), 8.18.9 (its expansion); the continued
fractions are evaluated by Lentz's method as modified by Thompson and Barnett.  The factors in
front, which lose digits if written with log Γ, are written with the remainder of Stirling's series
(DLMF 5.11.1), which is small.
"""

from fractions import Fraction
from functools import cache
from math import log as number_log
from math import pi, sqrt
from typing import Any

import numpy as np

from jxkernel.primitives.elementwise.arithmetic import add, div, mul, neg, sub
from jxkernel.primitives.elementwise.compare import eq
from jxkernel.primitives.elementwise.exponential import exp, log, log1p
from jxkernel.primitives.elementwise.families import (
    FLOATING,
    bind_binary,
    nary,
    type_numbers,
    undefined_terms,
)
from jxkernel.primitives.elementwise.formula import Formula, epsilon, formula_rule
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.elementwise.special import digamma, lgamma, polygamma
from jxkernel.primitives.elementwise.taylor import Taylor
from jxkernel.runtime import ArrayLike

__all__ = [
    "betainc",
    "igamma",
    "igamma_grad_a",
    "igamma_grad_a_p",
    "igamma_p",
    "igammac",
    "igammac_p",
    "random_gamma_curvature_p",
    "random_gamma_grad",
    "random_gamma_grad_p",
    "regularized_incomplete_beta_p",
]

_LIMIT = 10_000
# A step of a continued fraction changes it by rounding alone when it changes it by less than this
# many units in the last place.
_SETTLED = 4.0
# In Lentz's method the first numerator is infinite; squares of it must be representable.
_FAR = 1e18
_HALF_LOG_TAU = 0.5 * number_log(2 * pi)
# Bernoulli numbers B₂ₖ / (2k (2k - 1)), which multiply a¹⁻²ᵏ in Stirling's series.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
# Minus Bernoulli numbers B₂ₖ / 2k, which multiply a⁻²ᵏ in the series of ψ.
_STIRLING_SLOPES = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760, -1 / 12)
_STIRLING_FROM = 10.0
# The expansion of the incomplete gamma function: the error of four rows is below 10⁻¹⁶ from this
# parameter on, and that of so many terms of each where |x/a - 1| is below this bound.
_EXPANSION_FROM = 1000.0
_EXPANSION_WITHIN = 0.4
_EXPANSION_ROWS = 4
_EXPANSION_TERMS = 22
_ARTANH = tuple(1 / (2 * k + 3) for k in range(16))

# ---------------------------------------------------------------- the factors in front


def _log_excess(ratio: Formula, excess: Formula) -> Formula:
    """Return log(ratio) - excess, where excess = ratio - 1 is given to full precision.

    Near 1 the two nearly cancel.  With r = excess / (2 + excess), log(ratio) = 2 artanh r, and
    2r - excess = -excess · r, so the difference is r (2 r² (1/3 + r²/5 + r⁴/7 + ...) - excess).
    """
    near = excess.magnitude() < 0.4
    guarded = near.where(excess, 0.0, excess)
    r = guarded / (guarded + 2.0)
    square = r * r
    series = r * (2.0 * square * square.polynomial(_ARTANH) - guarded)
    return near.where(series, near.where(1.0, ratio, excess).log() - excess, excess)


def _stirling_remainder(a: Formula) -> Formula:
    """Return log Γ(a) - ((a - 1/2) log a - a + log √(2π)), for a > 0."""
    large = (a > _STIRLING_FROM).where(a, _STIRLING_FROM, a)
    series = (1.0 / (large * large)).polynomial(_STIRLING) / large
    direct = a.lgamma() - ((a - 0.5) * a.log() - a + _HALF_LOG_TAU)
    return (a > _STIRLING_FROM).where(series, direct, a)


def _digamma_remainder(a: Formula) -> Formula:
    """Return ψ(a) - log a, for a > 0."""
    large = (a > _STIRLING_FROM).where(a, _STIRLING_FROM, a)
    inverse_square = 1.0 / (large * large)
    series = inverse_square.polynomial(_STIRLING_SLOPES) * inverse_square - 0.5 / large
    return (a > _STIRLING_FROM).where(series, a.digamma() - a.log(), a)


def _gamma_factor(a: Formula, x: Formula) -> Formula:
    """Return xᵃ e⁻ˣ / Γ(a)."""
    power = a * _log_excess(x / a, (x - a) / a)
    large = power + 0.5 * a.log() - _HALF_LOG_TAU - _stirling_remainder(a)
    small = a * x.log() - x - a.lgamma()
    return (a > _STIRLING_FROM).where(large, small, a).exp()


def _log_slope(a: Formula, x: Formula) -> Formula:
    """Return log x - ψ(a), the slope in a of the logarithm of the gamma factor."""
    excess = (x - a) / a
    near = excess.magnitude() < 0.5
    ratio = near.where(excess.log1p(), x.log() - a.log(), a)
    return ratio - _digamma_remainder(a)


def _beta_factor(a: Formula, b: Formula, x: Formula, rest: Formula) -> Formula:
    """Return xᵃ (1 - x)ᵇ / B(a, b), given rest = 1 - x.

    With u = x b - (1 - x) a, the powers are (1 + u/a)ᵃ (1 - u/b)ᵇ times those at the mode, and
    the linear terms of their logarithms cancel.
    """
    total, shift = a + b, x * b - rest * a
    power = a * _log_excess(x * (total / a), shift / a)
    power = power + b * _log_excess(rest * (total / b), -shift / b)
    remainder = _stirling_remainder(a) + _stirling_remainder(b) - _stirling_remainder(total)
    return (power + 0.5 * (a.log() + (b / total).log()) - _HALF_LOG_TAU - remainder).exp()


# ---------------------------------------------------------------- incomplete gamma


def _gamma_series(a: Formula, x: Formula) -> Formula:
    """Return S = Σ xⁿ / ((a + 1) ... (a + n)) over n ≥ 0."""
    threshold = epsilon(a.dtype)
    one, zero = a.scope.lift(1.0, a.dtype), a.scope.lift(0.0, a.dtype)

    def goes_on(n: Formula, term: Formula, total: Formula) -> Formula:
        return term > threshold * total

    def step(n: Formula, term: Formula, total: Formula) -> list[Formula]:
        term = term * (x / (a + n + 1.0))
        return [n + 1.0, term, total + term]

    return a.scope.loop(goes_on, step, [zero, one, one], _LIMIT)[-1]


def _gamma_series_slopes(a: Formula, x: Formula, order: int) -> tuple[Formula, ...]:
    """Return the Taylor series in ``a`` of the series S."""
    threshold = epsilon(a.dtype)
    one, zero = a.scope.lift(1.0, a.dtype), a.scope.lift(0.0, a.dtype)
    count = order + 1

    def goes_on(n: Formula, *state: Formula) -> Formula:
        return Taylor(*state[:count]).size() > threshold * state[count]

    def step(n: Formula, *state: Formula) -> list[Formula]:
        term, total = Taylor(*state[:count]), Taylor(*state[count:])
        term = term * x / (Taylor.variable(a, order) + (n + 1.0))
        return [n + 1.0, *term.coefficients, *(total + term).coefficients]

    start = [one, *[zero] * order]
    return tuple(a.scope.loop(goes_on, step, [zero, *start, *start], _LIMIT)[-count:])


def _gamma_fraction(a: Formula, x: Formula) -> Formula:
    """Return F with Γ(a, x) = xᵃ e⁻ˣ F, for x > 1 and x > a."""
    threshold = _SETTLED * epsilon(a.dtype)
    zero, one = a.scope.lift(0.0, a.dtype), a.scope.lift(1.0, a.dtype)
    first = x + 1.0 - a

    def goes_on(i: Formula, c: Formula, d: Formula, change: Formula, f: Formula) -> Formula:
        return (change - 1.0).magnitude() > threshold

    def step(i: Formula, c: Formula, d: Formula, change: Formula, f: Formula) -> list[Formula]:
        i = i + 1.0
        numerator, denominator = i * (a - i), first + 2.0 * i
        d = 1.0 / (numerator * d + denominator)
        c = denominator + numerator / c
        return [i, c, d, c * d, f * (c * d)]

    start = [zero, one * _FAR, 1.0 / first, zero, 1.0 / first]
    return a.scope.loop(goes_on, step, start, _LIMIT)[-1]


def _gamma_fraction_slopes(a: Formula, x: Formula, order: int) -> tuple[Formula, ...]:
    """Return the Taylor series in ``a`` of the continued fraction F."""
    threshold = _SETTLED * epsilon(a.dtype)
    zero, one = a.scope.lift(0.0, a.dtype), a.scope.lift(1.0, a.dtype)
    count = order + 1

    def goes_on(i: Formula, change: Formula, *state: Formula) -> Formula:
        return change > threshold

    def step(i: Formula, change: Formula, *state: Formula) -> list[Formula]:
        c, d, f = (Taylor(*state[k * count : (k + 1) * count]) for k in range(3))
        parameter = Taylor.variable(a, order)
        i = i + 1.0
        numerator, denominator = (parameter - i) * i, -parameter + (x + 1.0 + 2.0 * i)
        d = 1.0 / (numerator * d + denominator)
        c = denominator + numerator / c
        factor = c * d
        y = f * factor
        change = (factor.coefficients[0] - 1.0).magnitude()
        value = f.coefficients[0].magnitude()
        for old, new in zip(f.coefficients[1:], y.coefficients[1:], strict=True):
            change = change + (new - old).magnitude() / (value + new.magnitude())
        return [i, change, *c.coefficients, *d.coefficients, *y.coefficients]

    # The first convergent is 1 / (x + 1 - a).
    first = (1.0 / (-Taylor.variable(a, order) + (x + 1.0))).coefficients
    start = [zero, one, one * _FAR, *[zero] * order, *first, *first]
    return tuple(a.scope.loop(goes_on, step, start, _LIMIT)[-count:])


@cache
def _excess_row() -> tuple[Fraction, ...]:
    """Return the Taylor coefficients of µ/η, where ½η² = µ - log(1 + µ).

    With µ µ' = η (1 + µ), µ = Σ αₖ ηᵏ.
    """
    alpha = [Fraction(0), Fraction(1)]
    for k in range(2, _EXPANSION_TERMS + 2 * _EXPANSION_ROWS + 2):
        known = sum(alpha[i] * (k + 1 - i) * alpha[k + 1 - i] for i in range(2, k))
        alpha.append((alpha[k - 1] - known) / (k + 1))
    return tuple(alpha[1:])


@cache
def _expansion_rows() -> tuple[tuple[float, ...], ...]:
    """Return the Taylor coefficients of c₀(η), c₁(η), ... of DLMF 8.12.7 and 8.12.8.

    With µ = λ - 1 and µ/η = Σ αₖ₊₁ ηᵏ, 1/µ = Σ βₖ ηᵏ⁻¹.  Then c₀ = 1/µ - 1/η, and
    cₖ = (cₖ₋₁' - cₖ₋₁'(0) η/µ) / η.
    """
    alpha = _excess_row()
    beta = [Fraction(1)]
    for k in range(1, len(alpha)):
        beta.append(-sum((alpha[i] * beta[k - i] for i in range(1, k + 1)), Fraction(0)))
    rows = [beta[1:]]
    for _ in range(_EXPANSION_ROWS - 1):
        last = rows[-1]
        following = range(len(last) - 2)
        rows.append([(k + 2) * last[k + 2] - last[1] * beta[k + 1] for k in following])
    return tuple(tuple(float(c) for c in row[:_EXPANSION_TERMS]) for row in rows)


def _half_square(a: Formula, x: Formula) -> tuple[Formula, Formula, Formula]:
    """Return µ = x/a - 1, ½η² = µ - log(1 + µ), and η, which has the sign of µ."""
    excess = (x - a) / a
    half = -_log_excess(x / a, excess)
    root = (2.0 * half).sqrt()
    return excess, half, (excess < 0.0).where(-root, root, a)


def _gamma_expansion(a: Formula, x: Formula, upper: bool) -> Formula:
    """Return Q(a, x) = ½ erfc(η √(a/2)) + R, or P = 1 - Q, for large a and x near it."""
    _, half, eta = _half_square(a, x)
    root = a.sqrt()
    total = a.scope.lift(0.0, a.dtype)
    for row in reversed(_expansion_rows()):
        total = total / a + eta.polynomial(row)
    rest = (-a * half).exp() * total / (root * sqrt(2 * pi))
    z = eta * (root * sqrt(0.5))
    return 0.5 * z.erfc() + rest if upper else 0.5 * (-z).erfc() - rest


def _gamma_expansion_slopes(a: Formula, x: Formula) -> tuple[Formula, Formula]:
    """Return G with ∂P/∂a = xᵃ e⁻ˣ / Γ(a) · G, and ∂G/∂a, for large a and x near it.

    With D = exp(-½ a η²) / √(2πa) and S = Σ cₖ(η) a⁻ᵏ, the expansion is Q = ½ erfc(η √(a/2)) + D S.
    As ∂η/∂a = -µ / (a η) and log λ = µ - ½η², the derivative of Q is D times
    µ/η - η/2 + (log λ - 1/(2a)) S - µ/(a η) ∂S/∂η - Σ k cₖ a⁻ᵏ⁻¹; and the factor is a D / Γ*(a),
    where log Γ* is the remainder of Stirling's series.  Further, ∂µ/∂a = -(1 + µ)/a and
    ∂(½η²)/∂a = -µ/a.
    """
    at = Taylor.variable(a, 1)
    excess, half, eta = _half_square(a, x)
    # µ/η = 1 + η/3 + ... is 1 at 0.
    at_zero = eta.equals(0.0)
    direct = at_zero.where(1.0, excess / at_zero.where(1.0, eta, a), a)
    place = Taylor(eta, -direct / a)
    ratio = Taylor(direct, place.polynomial([float(c) for c in _excess_row()]).coefficients[1])
    zero = Taylor(a.scope.lift(0.0, a.dtype), a.scope.lift(0.0, a.dtype))
    total, slope, falling = zero, zero, zero
    for k, row in reversed(list(enumerate(_expansion_rows()))):
        value = place.polynomial(row)
        total = total / at + value
        falling = falling / at + value * float(k)
        slope = slope / at + place.polynomial([n * c for n, c in enumerate(row)][1:])
    log_ratio = Taylor(excess - half, -1.0 / a)
    in_a = (log_ratio - 0.5 / at) * total - (ratio * slope + falling) / at
    stirling = _stirling_remainder(a).exp()
    gamma = Taylor(stirling, stirling * (_digamma_remainder(a) + 0.5 / a))
    value, change = (-(ratio - place * 0.5 + in_a) * gamma / at).coefficients
    return value, change


def _gamma_regions(a: Formula, x: Formula) -> tuple[Formula, Formula, Formula]:
    """Return where the expansion serves, where the series, and where the continued fraction."""
    valid = (a > 0.0) & (x > 0.0) & (x < np.inf) & (a < np.inf)
    near = ((x - a) / a).magnitude() < _EXPANSION_WITHIN
    by_expansion = valid & (a > _EXPANSION_FROM) & near
    low = (x <= 1.0) | (x <= a)
    by_series = valid & ~by_expansion & low
    return by_expansion, by_series, valid & ~by_expansion & ~low


def _arguments(where: Formula, a: Formula, x: Formula, *harmless: float) -> tuple[Formula, Formula]:
    """Return arguments with harmless ones where a method does not serve."""
    return where.where(a, harmless[0], a), where.where(x, harmless[1], a)


_SERIES_AT = (1.0, 0.5)
_FRACTION_AT = (1.0, 2.0)
_EXPANSION_AT = (2000.0, 2000.0)


def _regularized_gamma(a: Formula, x: Formula, upper: bool) -> Formula:
    by_expansion, by_series, by_fraction = _gamma_regions(a, x)
    series = _arguments(by_series, a, x, *_SERIES_AT)
    fraction = _arguments(by_fraction, a, x, *_FRACTION_AT)
    lower_part = _gamma_factor(*series) / series[0] * _gamma_series(*series)
    upper_part = _gamma_factor(*fraction) * _gamma_fraction(*fraction)
    first, second = (upper_part, lower_part) if upper else (lower_part, upper_part)
    direct = ~by_series if upper else by_series
    rest = 1.0 - second
    # Rounding may take the difference below zero.
    value = direct.where(first, (rest > 0.0).where(rest, 0.0, a), a)
    expansion = _gamma_expansion(*_arguments(by_expansion, a, x, *_EXPANSION_AT), upper)
    value = by_expansion.where(expansion, value, a)
    none, everything = (1.0, 0.0) if upper else (0.0, 1.0)
    at_end = x.equals(0.0) | a.equals(np.inf)
    value = (x.equals(np.inf) | a.equals(0.0)).where(everything, value, a)
    both = (x.equals(np.inf) & a.equals(np.inf)) | (x.equals(0.0) & a.equals(0.0))
    value = at_end.where(none, value, a)
    wrong = (a < 0.0) | (x < 0.0) | a.is_nan() | x.is_nan() | both
    return wrong.where(np.nan, value, a)


def _gamma_log_slopes(a: Formula, x: Formula, order: int) -> tuple[Formula, ...]:
    """Return G with ∂P/∂a = xᵃ e⁻ˣ / Γ(a) · G, and for order 2 also ∂G/∂a.

    With P = factor / a · S, G = ((log x - ψ(a + 1)) S + S') / a, and with P = 1 - factor · F,
    G = -(log x - ψ(a)) F - F'.
    """
    by_expansion, by_series, by_fraction = _gamma_regions(a, x)
    series_at = _arguments(by_series, a, x, *_SERIES_AT)
    fraction_at = _arguments(by_fraction, a, x, *_FRACTION_AT)
    series, series_slope, *further = _gamma_series_slopes(*series_at, order)
    fraction, fraction_slope, *beyond = _gamma_fraction_slopes(*fraction_at, order)
    at = series_at[0]
    # Where a is small, 1/a cancels in ψ(a + 1) = ψ(a) + 1/a.
    small = at < 1.0
    beside = series_at[1].log() - (small.where(at, 1.0, a) + 1.0).digamma()
    lower_slope = small.where(beside, _log_slope(*series_at) - 1.0 / at, a)
    upper_slope = _log_slope(*fraction_at)
    lower = (lower_slope * series + series_slope) / at
    upper = upper_slope * fraction + fraction_slope
    expansion = _gamma_expansion_slopes(*_arguments(by_expansion, a, x, *_EXPANSION_AT))
    found = [by_expansion.where(expansion[0], by_series.where(lower, -upper, a), a)]
    for second, third in zip(further, beyond, strict=True):
        lower = lower_slope * series_slope - (at + 1.0).trigamma() * series + 2.0 * second - lower
        upper = upper_slope * fraction_slope - fraction_at[0].trigamma() * fraction + 2.0 * third
        value = by_series.where(lower / at, -upper, a)
        found.append(by_expansion.where(expansion[1], value, a))
    return tuple(found)


def _igamma_grad_a_formula(a: Formula, x: Formula) -> Formula:
    # Subnormal numbers have no logarithm.
    inside = (x >= float(np.finfo(x.dtype).tiny)) & (x < np.inf) & (a < np.inf)
    factor = _gamma_factor(inside.where(a, 1.0, a), inside.where(x, 1.0, a))
    value = inside.where(factor * _gamma_log_slopes(a, x, 1)[0], 0.0, a)
    wrong = ~(a > 0.0) | ~(x >= 0.0)
    return wrong.where(np.nan, value, a)


def _of_samples(a: Formula, x: Formula, value: Formula) -> Formula:
    """Return a slope of gamma numbers: that of 0 is 0, that of what is no sample NaN."""
    value = x.equals(0.0).where(0.0, value, a)
    wrong = ~(a > 0.0) | ~(x >= 0.0) | a.equals(np.inf) | x.equals(np.inf)
    return wrong.where(np.nan, value, a)


def _random_gamma_grad_formula(a: Formula, x: Formula) -> Formula:
    """Return dx/da at constant P: -(∂P/∂a) / (∂P/∂x), where ∂P/∂x = factor / x."""
    return _of_samples(a, x, -x * _gamma_log_slopes(a, x, 1)[0])


def _random_gamma_curvature_formula(a: Formula, x: Formula) -> Formula:
    return _of_samples(a, x, -x * _gamma_log_slopes(a, x, 2)[1])


def _density(a: Any, x: Any) -> Any:
    """Return xᵃ⁻¹ e⁻ˣ / Γ(a), the slope of the regularized function; 1 at x = 0 for a = 1."""
    power = select(eq(a, 1), 0, mul(sub(a, 1), log(x)))
    return exp(sub(sub(power, x), lgamma(a)))


def _density_slope_in_a(a: Any, x: Any) -> Any:
    """Return the slope of the logarithm of the density in a."""
    return sub(log(x), digamma(a))


def _density_slope_in_x(a: Any, x: Any) -> Any:
    """Return the slope of the logarithm of the density in x."""
    return sub(div(sub(a, 1), x), 1)


# The slope in a of random_gamma_grad, which is z.  With the density p, ∂z/∂x = -∂(log p)/∂a -
# z ∂(log p)/∂x, so that the slope y of z in a has ∂y/∂x = ψ'(a) - z/x - y ∂(log p)/∂x.
random_gamma_curvature_p = nary(
    "random_gamma_curvature",
    (FLOATING, FLOATING),
    lower=formula_rule(_random_gamma_curvature_formula),
    reference=None,
    jvp=(
        *undefined_terms("random_gamma_curvature", "a"),
        lambda t, a, x, y: mul(
            t,
            sub(
                sub(polygamma(1, a), div(random_gamma_grad(a, x), x)),
                mul(y, _density_slope_in_x(a, x)),
            ),
        ),
    ),
)


def _igamma_curvature(a: Any, x: Any, y: Any) -> Any:
    """Return the slope in a of y = ∂P/∂a = -z p, where z is the slope of a sample."""
    inside = mul(y, _density_slope_in_a(a, x))
    curvature = random_gamma_curvature_p.bind(a, x)
    value = sub(inside, mul(_density(a, x), curvature))
    return select(eq(x, 0), 0, value)


igamma_grad_a_p = nary(
    "igamma_grad_a",
    (FLOATING, FLOATING),
    lower=formula_rule(_igamma_grad_a_formula),
    reference=None,
    jvp=(
        lambda t, a, x, y: mul(t, _igamma_curvature(a, x, y)),
        # The order of derivatives does not matter: it is that of the density in a.
        lambda t, a, x, y: mul(t, mul(_density(a, x), _density_slope_in_a(a, x))),
    ),
)


def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Any:
    """Return ∂P(a, x)/∂a of the regularized lower incomplete gamma function, for a > 0, x ≥ 0.

    Args:
      a: an array of a floating dtype, or a number.
      x: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.igamma_grad_a(2.0, jnp.array([1.0]))).round(3)
    array([-0.276], dtype=float32)
    """
    return bind_binary(igamma_grad_a_p, a, x)


igamma_p = nary(
    "igamma",
    (FLOATING, FLOATING),
    lower=formula_rule(lambda a, x: _regularized_gamma(a, x, upper=False)),
    reference="scipy.special.gammainc",
    jvp=(
        lambda t, a, x, y: mul(t, igamma_grad_a(a, x)),
        lambda t, a, x, y: mul(t, _density(a, x)),
    ),
)


def igamma(a: ArrayLike, x: ArrayLike) -> Any:
    """Return P(a, x) = γ(a, x) / Γ(a), the regularized lower incomplete gamma function.

    Args:
      a: an array of a floating dtype, or a number.
      x: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    NaN for negative a or x.  Differentiable in both.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.igamma(2.0, jnp.array([0.0, 1.0, 5.0]))).round(3)
    array([0.   , 0.264, 0.96 ], dtype=float32)
    """
    return bind_binary(igamma_p, a, x)


igammac_p = nary(
    "igammac",
    (FLOATING, FLOATING),
    lower=formula_rule(lambda a, x: _regularized_gamma(a, x, upper=True)),
    reference="scipy.special.gammaincc",
    jvp=(
        lambda t, a, x, y: neg(mul(t, igamma_grad_a(a, x))),
        lambda t, a, x, y: neg(mul(t, _density(a, x))),
    ),
)


def igammac(a: ArrayLike, x: ArrayLike) -> Any:
    """Return Q(a, x) = 1 - P(a, x), accurate where it is small.

    Args:
      a: an array of a floating dtype, or a number.
      x: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    NaN for negative a or x.  Differentiable in both.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.igammac(2.0, jnp.array([0.0, 1.0, 5.0]))).round(3)
    array([1.   , 0.736, 0.04 ], dtype=float32)
    """
    return bind_binary(igammac_p, a, x)


random_gamma_grad_p = nary(
    "random_gamma_grad",
    (FLOATING, FLOATING),
    lower=formula_rule(_random_gamma_grad_formula),
    reference=None,
    jvp=(
        lambda t, a, x, y: mul(t, random_gamma_curvature_p.bind(a, x)),
        lambda t, a, x, y: neg(
            mul(t, add(_density_slope_in_a(a, x), mul(y, _density_slope_in_x(a, x))))
        ),
    ),
)


def random_gamma_grad(a: ArrayLike, x: ArrayLike) -> Any:
    """Return how a sample x of the gamma distribution with shape a moves with a.

    Args:
      a: an array of a floating dtype, or a number.
      x: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    It is the derivative at a constant value of the distribution function (implicit
    reparameterization: Figurnov, Mohamed and Mnih, 2018).  NaN for what is no positive shape, no
    sample, or infinite.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.random_gamma_grad(2.0, jnp.array([1.0, 3.0]))).round(3)
    array([0.751, 1.322], dtype=float32)
    """
    return bind_binary(random_gamma_grad_p, a, x)


# ---------------------------------------------------------------- incomplete beta

# From where on the expansion's error is that of rounding, by the size of a float in bytes.
_BETA_EXPANSION_FROM = {4: 1e4, 8: 1e8}
# How many deviations from the mode 1/u - 1/z loses no more digits than the result has.
_MIDDLE = 0.3


def _beta_fraction(a: Formula, b: Formula, x: Formula, rest: Formula) -> Formula:
    """Return the continued fraction F with I(x; a, b) = xᵃ (1 - x)ᵇ / B(a, b) · F.

    It is the even part of DLMF 8.17.22, in the terms of DiDonato and Morris (1992), which are
    positive and lose no digits: x, rest = 1 - x and a rest - b x are each given to full precision.
    """
    threshold = _SETTLED * epsilon(a.dtype)
    one, zero = a.scope.lift(1.0, a.dtype), a.scope.lift(0.0, a.dtype)
    lead, per_step = a * rest - b * x + 1.0, rest + 1.0
    start = (a + 1.0) / (a * lead)

    def goes_on(n: Formula, change: Formula, *state: Formula) -> Formula:
        return change > threshold

    def step(n: Formula, change: Formula, c: Formula, d: Formula, f: Formula) -> list[Formula]:
        before, n = a + n, n + 1.0
        low = before + n
        share = n * (b - n) * x
        numerator = before / low * ((before + b) / low * x) * share
        denominator = n + share / low + (a + n) / (low + 2.0) * (lead + n * per_step)
        d = 1.0 / (numerator * d + denominator)
        c = denominator + numerator / c
        return [n, (c * d - 1.0).magnitude(), c, d, f * (c * d)]

    return a.scope.loop(goes_on, step, [zero, one, one * _FAR, start, start], _LIMIT)[-1]


def _beta_expansion(a: Formula, b: Formula, x: Formula) -> Formula:
    """Return I(x; a, b) = ½ erfc(-z / √2) - R, for a and b large.

    With p = a / (a + b), q = 1 - p and σ² = p b, exp(-½ z²) is the factor in front divided by what
    it is at the mode, where z has the sign of u = x b - (1 - x) a; R is the factor in front times
    (σ/u - 1/z + 2E) / σ, up to terms that are smaller by 1/σ².  Near the mode, σ/u - 1/z is
    -(q - p)/(3σ) + (1 - p q) z/(12σ²) + E z², with E = -(q - p) (2 (q - p)²/135 + p q/15) / σ³.
    """
    rest, total = 1.0 - x, a + b
    p, q, shift = a / total, b / total, x * b - rest * a
    power = a * _log_excess(x / p, shift / a) + b * _log_excess(rest / q, -shift / b)
    root = ((power < 0.0).where(-2.0 * power, 0.0, a)).sqrt()
    z = (shift < 0.0).where(-root, root, a)
    sigma, skew, product = (p * b).sqrt(), q - p, p * q
    cubic = -skew * (skew * skew * (2 / 135) + product * (1 / 15)) / (sigma * sigma * sigma)
    middle = root < _MIDDLE
    close = -skew / (3.0 * sigma) + (1.0 - product) * z / (12.0 * sigma * sigma) + cubic * z * z
    far = sigma / middle.where(1.0, shift, a) - 1.0 / middle.where(1.0, z, a)
    tail = _beta_factor(a, b, x, rest) / sigma * (middle.where(close, far, a) + 2.0 * cubic)
    return 0.5 * (z * -sqrt(0.5)).erfc() - tail


def _betainc_formula(a: Formula, b: Formula, x: Formula) -> Formula:
    valid = (a > 0.0) & (b > 0.0) & (x > 0.0) & (x < 1.0) & (a < np.inf) & (b < np.inf)
    enough = _BETA_EXPANSION_FROM[a.dtype.itemsize]
    by_expansion = valid & (a > enough) & (b > enough)
    large = [by_expansion.where(v, other, a) for v, other in ((a, 1e9), (b, 1e9), (x, 0.5))]
    valid = valid & ~by_expansion
    a, b = valid.where(a, 1.0, a), valid.where(b, 1.0, a)
    inner = valid.where(x, 0.25, a)
    # Beyond (a + 1) / (a + b + 2), which is near the mean, the mirrored fraction converges faster.
    mirrored = inner * (b + 1.0) > (1.0 - inner) * (a + 1.0)
    first, second = mirrored.where(b, a, a), mirrored.where(a, b, a)
    place, rest = mirrored.where(1.0 - inner, inner, a), mirrored.where(inner, 1.0 - inner, a)
    factor = _beta_factor(first, second, place, rest)
    tail = factor * _beta_fraction(first, second, place, rest)
    value = mirrored.where(1.0 - tail, tail, a)
    value = by_expansion.where(_beta_expansion(*large), value, a)
    value = x.equals(0.0).where(0.0, x.equals(1.0).where(1.0, value, a), a)
    return value


def _betainc_checked(a: Formula, b: Formula, x: Formula) -> Formula:
    value = _betainc_formula(a, b, x)
    # All weight lies at 0 for a = 0 or b = inf, and at 1 for b = 0 or a = inf.
    at_zero, at_one = a.equals(0.0) | b.equals(np.inf), b.equals(0.0) | a.equals(np.inf)
    inside = (x > 0.0) & (x < 1.0)
    value = (inside & at_zero).where(1.0, (inside & at_one).where(0.0, value, a), a)
    wrong = ~(a >= 0.0) | ~(b >= 0.0) | ~(x >= 0.0) | ~(x <= 1.0)
    both = at_zero & at_one
    return (wrong | both).where(np.nan, value, a)


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    """Return xᵃ⁻¹ (1 - x)ᵇ⁻¹ / B(a, b)."""
    low = select(eq(a, 1), 0, mul(sub(a, 1), log(x)))
    high = select(eq(b, 1), 0, mul(sub(b, 1), log1p(neg(x))))
    log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    return exp(sub(add(low, high), log_beta))


regularized_incomplete_beta_p = nary(
    "regularized_incomplete_beta",
    (FLOATING, FLOATING, FLOATING),
    lower=formula_rule(_betainc_checked),
    reference="scipy.special.betainc",
    jvp=(
        *undefined_terms("regularized_incomplete_beta", "a", "b"),
        lambda t, a, b, x, y: mul(t, _beta_density(a, b, x)),
    ),
)


def betainc(a: ArrayLike, b: ArrayLike, x: Any) -> Any:
    """Return I(x; a, b), the regularized incomplete beta function, for a, b > 0 and 0 ≤ x ≤ 1.

    NaN for other arguments.  Not differentiable in a and b.

    Args:
      a: floating numbers.
      b: floating numbers of the same dtype and shape, as are those of ``x``.
      x: the upper end of the integral.

    Raises:
      TypeError: a dtype is not floating.
      ShapeMismatchError: the shapes differ.
      UndefinedRuleError: the derivative in ``a`` or ``b`` is asked for.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.betainc(2.0, 3.0, jnp.array([0.0, 0.5, 1.0]))).round(4)
    array([0.    , 0.6875, 1.    ], dtype=float32)
    """
    return regularized_incomplete_beta_p.bind(*type_numbers("betainc", (a, b, x)))
