"""Special functions of one argument, and those of the gamma family that XLA's CHLO has.

References are SciPy's functions, which tests compare with; SciPy is not imported here.
"""

from collections.abc import Callable, Sequence
from math import factorial, pi, sqrt
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.avals import abstractify
from jxkernel.primitives.elementwise.accuracy import Accuracy, bind_accurate
from jxkernel.primitives.elementwise.arithmetic import add, clamp, div, mul, neg, square, sub
from jxkernel.primitives.elementwise.compare import ge, lt
from jxkernel.primitives.elementwise.complex import abs, sign
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.elementwise.error_functions import complementary_error, inverse_error
from jxkernel.primitives.elementwise.exponential import exp, log, rsqrt
from jxkernel.primitives.elementwise.families import (
    FLOATING,
    bind_binary,
    nary,
    unary,
    undefined_terms,
)
from jxkernel.primitives.elementwise.formula import Formula, formula_rule
from jxkernel.primitives.elementwise.gamma import LOG_GAMMA_AT_2, digamma_function, log_gamma
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.elementwise.vectorized import vectorized
from jxkernel.runtime import ArrayLike

__all__ = [
    "bessel_i0e",
    "bessel_i0e_p",
    "bessel_i1e",
    "bessel_i1e_p",
    "digamma",
    "digamma_p",
    "erf",
    "erf_inv",
    "erf_inv_p",
    "erf_p",
    "erfc",
    "erfc_p",
    "lgamma",
    "lgamma_p",
    "polygamma",
    "polygamma_p",
    "zeta",
    "zeta_p",
]

# ---------------------------------------------------------------- error functions

_ERF_SLOPE = 2 / sqrt(pi)


def _bell(x: Any) -> Any:
    """Return exp(-x²), which and whose derivatives are 0 at infinity: it is 0 from 30 on."""
    return exp(neg(square(clamp(-30.0, x, 30.0))))


erf_p = unary(
    "erf",
    FLOATING,
    lower="chlo.erf",
    reference="scipy.special.erf",
    jvp=lambda t, x, y: mul(t, mul(_bell(x), _ERF_SLOPE)),
)


def erf(x: ArrayLike) -> Any:
    """Return the error function, 2/√π ∫₀ˣ exp(-s²) ds, for floating dtypes.  CHLO ``erf``.

    Args:
      x: an array of a floating dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.erf(jnp.array([0.0, 0.5, 3.0]))).round(3)
    array([0.  , 0.52, 1.  ], dtype=float32)
    """
    return erf_p.bind(x)


def _applied(operation: str) -> Callable[[Formula], Formula]:
    """Return the formula that is one operation."""
    return lambda x: x.scope.apply(operation, (x,), x.dtype)


_erfc_rule = vectorized(complementary_error, formula_rule(_applied("chlo.erfc")), always=True)


def _erfc_lower(context: Any, x: Any, *, accuracy: Accuracy = None) -> Any:
    """There is one accuracy, whatever is asked for."""
    return _erfc_rule(context, x)


erfc_p = unary(
    "erfc",
    FLOATING,
    lower=_erfc_lower,
    reference="scipy.special.erfc",
    jvp=lambda t, x, y: mul(t, mul(_bell(x), -_ERF_SLOPE)),
)


def erfc(x: ArrayLike, *, accuracy: Accuracy = None) -> Any:
    """Return 1 - erf(x), accurate for large x.  CHLO ``erfc``, of which there is one accuracy.

    Args:
      x: an array of a floating dtype, or a number.
      accuracy: how exact the result must be: a ``Tolerance`` or an ``AccuracyMode``.

    Raises:
      TypeError: the operand has another dtype.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.erfc(jnp.array([0.0, 0.5]))).round(3)
    array([1.  , 0.48], dtype=float32)
    """
    return bind_accurate(erfc_p, x, accuracy)


def _inverse_error(x: Formula) -> Formula:
    """Return the inverse of erf; for float64 with a step of Newton's by erfc.

    Beyond ½ the operation has the error of x² in 1 - x², where 1 - |x| is exact.
    """
    value = x.scope.apply("chlo.erf_inv", (x,), x.dtype)
    if x.dtype != np.float64:
        return value
    size = x.magnitude()
    far = (size > 0.5) & (size < 1.0)
    y = far.where(value.magnitude(), 1.0, x)
    step = (y.erfc() - (1.0 - size)) * (y * y).exp() * (1 / _ERF_SLOPE)
    return value + far.where((x < 0.0).where(-step, step, x), 0.0, x)


erf_inv_p = unary(
    "erf_inv",
    FLOATING,
    lower=vectorized(inverse_error, formula_rule(_inverse_error), always=True),
    reference="scipy.special.erfinv",
    jvp=lambda t, x, y: mul(t, mul(exp(square(y)), 1 / _ERF_SLOPE)),
)


def erf_inv(x: ArrayLike) -> Any:
    """Return the inverse of erf: ±inf at ±1, NaN beyond.  CHLO ``erf_inv``.

    Args:
      x: an array of a floating dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    The derivative at ±1 is infinite.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.erf_inv(jnp.array([0.0, 0.5, 1.0]))).round(3)
    array([0.   , 0.477,   inf], dtype=float32)
    """
    return erf_inv_p.bind(x)


# ---------------------------------------------------------------- the gamma family

_LOG_2 = 0.6931471805599453


def _lgamma_formula(x: Formula) -> Formula:
    """Return CHLO's value, but near the zeros 1 and 2, where that loses its digits, a series.

    With z = x - 2 or x - 1 it gives log Γ(2 + z), and log Γ(1 + z) = log Γ(2 + z) - log(1 + z).
    """
    at_one = x < 1.5
    z = x - at_one.where(1.0, 2.0, x)
    near = z.magnitude() <= 0.5
    z = near.where(z, 0.0, x)
    coefficients = LOG_GAMMA_AT_2[:15] if x.dtype == np.float32 else LOG_GAMMA_AT_2
    series = z * z.polynomial(coefficients)
    series = at_one.where(series - z.log1p(), series, x)
    return _lgamma_near_zero(x, near.where(series, x.lgamma(), x))


def _lgamma_near_zero(x: Formula, elsewhere: Formula) -> Formula:
    """Return -log |x| of a subnormal number, which arithmetic takes for 0 and its bits tell."""
    info = np.finfo(x.dtype)
    count = (x.bits() & 2 ** (info.bits - 1) - 1).convert(x.dtype)
    value = -_LOG_2 * (info.minexp - info.nmant) - count.log()
    return (x.magnitude() < float(info.tiny)).where(value, elsewhere, x)


lgamma_p = unary(
    "lgamma",
    FLOATING,
    lower=vectorized(log_gamma, formula_rule(_lgamma_formula), always=True),
    reference="scipy.special.gammaln",
    jvp=lambda t, x, y: mul(t, digamma(x)),
)


def lgamma(x: ArrayLike) -> Any:
    """Return log |Γ(x)|: exactly 0 at 1 and 2, inf at 0 and the negative integers.

    Args:
      x: an array of a floating dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    The derivative is ``digamma``; -inf at 0, NaN at the negative integers.  CHLO ``lgamma``, and
    near 1 and 2 a series; of float32 on CPU a formula that is right near all zeros.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.lgamma(jnp.array([1.0, 5.0, 0.5]))).round(3)
    array([0.   , 3.178, 0.572], dtype=float32)
    """
    return lgamma_p.bind(x)


def _digamma_formula(x: Formula) -> Formula:
    """Return CHLO's value, and at -0 the limit from below."""
    return (x.equals(0.0) & x.is_negative()).where(np.inf, x.digamma(), x)


digamma_p = unary(
    "digamma",
    FLOATING,
    lower=vectorized(digamma_function, formula_rule(_digamma_formula), always=True),
    reference="scipy.special.digamma",
    jvp=lambda t, x, y: mul(t, polygamma(1.0, x)),
)


def digamma(x: ArrayLike) -> Any:
    """Return ψ(x), the derivative of log Γ(x): ∓inf at ±0, NaN at the negative integers.

    Args:
      x: an array of a floating dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    The derivative is ``polygamma(1.0, x)``.  CHLO ``digamma``; of float32 on CPU a formula that is
    right near zeros.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.digamma(jnp.array([1.0, 4.0]))).round(3)
    array([-0.577,  1.256], dtype=float32)
    """
    return digamma_p.bind(x)


_FAR = 1e6


def _zeta_formula(s: Formula, q: Formula) -> Formula:
    """Return CHLO's value where that is right: for 0 < q ≤ 10⁶, and at poles.

    It takes ten terms before it estimates the rest, so that it passes over a pole above q + 9; and
    of large q it loses q⁻ˢ where q¹⁻ˢ is in range.  For q > 10⁶ three terms of the formula of Euler
    and Maclaurin are enough.  For q < 0 and a whole s, the sum over all integers less that below q
    gives, with the fractional part f of q, ζ(s, f) + (-1)ˢ (ζ(s, 1 - f) - ζ(s, 1 - q)).
    """
    low = q.floor()
    between = (s > 1.0) & (s < np.inf) & s.floor().equals(s) & ~low.equals(q)
    below = (q < 0.0) & (q > -np.inf) & between
    far = (q > _FAR) & (s > 1.0) & (s < np.inf)
    place, power = far.where(q, _FAR, q), far.where(s, 2.0, q)
    tail = 1.0 / (power - 1.0) + 0.5 / place + power / (12.0 * place * place)
    tail = q.scope.apply("stablehlo.power", (place, 1.0 - power), q.dtype) * tail
    value = far.where(tail, _chlo_zeta(below.where(2.0, s, q), below.where(1.0, q, q)), q)
    odd = (s - 2.0 * (s * 0.5).floor()).equals(1.0)

    def goes_on(waiting: Formula, value: Formula) -> Formula:
        return waiting > 0.0

    def step(waiting: Formula, value: Formula) -> list[Formula]:
        order = below.where(s, 2.0, q)
        first, second, third = (
            _chlo_zeta(order, below.where(x, 1.0, q)) for x in (q - low, low + 1.0 - q, 1.0 - q)
        )
        rest = second - third
        return [waiting - 1.0, first + odd.where(-rest, rest, q)]

    # A loop of one turn, if any: those terms are rarely needed.
    return q.scope.loop(goes_on, step, [below.convert(q.dtype), value], 1)[1]


def _chlo_zeta(s: Formula, q: Formula) -> Formula:
    return s.scope.apply("chlo.zeta", (s, q), q.dtype)


def _polygamma_formula(m: Formula, x: Formula) -> Formula:
    """Return (-1)ᵐ⁺¹ m! ζ(m + 1, x), and ψ(x) for m = 0."""
    size = (m + 1.0).lgamma().exp() * _zeta_formula(m + 1.0, x)
    odd = (m - 2.0 * (m * 0.5).floor()).equals(1.0)
    value = m.equals(0.0).where(_digamma_formula(x), odd.where(size, -size, x), x)
    return ((m >= 0.0) & m.floor().equals(m)).where(value, np.nan, x)


polygamma_p = nary(
    "polygamma",
    (FLOATING, FLOATING),
    lower=formula_rule(_polygamma_formula),
    reference="scipy.special.polygamma",
    jvp=(
        *undefined_terms("polygamma", "its order m"),
        lambda t, m, x, y: mul(t, polygamma(add(m, 1), x)),
    ),
)


def polygamma(m: ArrayLike, x: ArrayLike) -> Any:
    """Return the m-th derivative of ψ at x, for floating m that holds natural numbers.

    Args:
      m: an array of a floating dtype, or a number.
      x: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    Not differentiable in m.  By CHLO's ``zeta``.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.polygamma(1.0, jnp.array([1.0, 2.0]))).round(3)
    array([1.645, 0.645], dtype=float32)
    """
    return bind_binary(polygamma_p, m, x)


_SUMMED = 8
"""How many terms of ζ's derivative are added before the rest is estimated."""

_BERNOULLI_RATIOS = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
)
"""B₂ⱼ/(2j)! for j from 1."""


def _zeta_jvp_exponent(t: Any, x: Any, q: Any, y: Any) -> Any:
    """Narrow floats are computed in float32."""
    dtype = abstractify(y).dtype
    if dtypes.itemsize_bits(dtype) < 32:
        x, q = (convert_element_type(part, np.float32) for part in (x, q))
    slope = convert_element_type(_zeta_slope(x, q), dtype)
    return mul(t, select(lt(x, 1), np.nan, slope))


def _zeta_slope(x: Any, q: Any) -> Any:
    """Return ∂ζ/∂x = -Σ log(k + q) (k + q)⁻ˣ by the formula of Euler and Maclaurin.

    The rest from a = q + 8 on is the derivative of a¹⁻ˣ/(x - 1) + a⁻ˣ/2 + Σⱼ cⱼ, where cⱼ is
    B₂ⱼ/(2j)! a⁻ˣ (x/a) ((x + 1)/a) ... ((x + 2j - 2)/a), each with log(a) as it enters.
    """
    slope: Any = 0.0
    for k in range(_SUMMED):
        logarithm = log(add(q, k))
        slope = sub(slope, mul(logarithm, exp(neg(mul(x, logarithm)))))
    a = add(q, _SUMMED)
    logarithm = log(a)
    power = exp(neg(mul(x, logarithm)))
    inverse = div(1, sub(x, 1))
    rest = add(mul(mul(a, inverse), add(logarithm, inverse)), mul(logarithm, 0.5))
    factors, reciprocals = div(x, a), div(1, x)
    for j, ratio in enumerate(_BERNOULLI_RATIOS, 1):
        rest = add(rest, mul(mul(factors, ratio), sub(logarithm, reciprocals)))
        for following in (add(x, 2 * j - 1), add(x, 2 * j)):
            factors = mul(factors, div(following, a))
            reciprocals = add(reciprocals, div(1, following))
    return sub(slope, mul(power, rest))


zeta_p = nary(
    "zeta",
    (FLOATING, FLOATING),
    lower=formula_rule(_zeta_formula),
    reference="scipy.special.zeta",
    jvp=(
        _zeta_jvp_exponent,
        lambda t, x, q, y: mul(t, mul(neg(x), zeta(add(x, 1), q))),
    ),
)


def zeta(x: ArrayLike, q: ArrayLike) -> Any:
    """Return the Hurwitz zeta function Σ (k + q)⁻ˣ over k ≥ 0.

    It is inf at x = 1, and NaN for x < 1 and where an operand is infinite.  For x > 1 and
    q = 0, -1, ... it is inf where x is even, else NaN; for other q < 0 it is NaN unless x is whole.

    Args:
      x: an array of a floating dtype, or a number.
      q: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    For q < 0 and a whole x the terms are as they are, for other x NaN.  The derivative in q is
    -x ζ(x + 1, q); that in x is -inf at 1, and NaN for x < 1 or q < 0.  DLMF 25.11; CHLO ``zeta``,
    and other formulas for negative and for large q.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.zeta(2.0, jnp.array([1.0, 2.0]))).round(3)
    array([1.645, 0.645], dtype=float32)
    """
    return bind_binary(zeta_p, x, q)


# ---------------------------------------------------------------- Bessel functions

# Chebyshev coefficients of exp(-x) I₀(x) on [0, 8], in x/4 - 1, and of √x exp(-x) I₀(x) on
# [8, ∞), in 16/x - 1; computed from the definition in 40 digits.  The intervals are those of
# Clenshaw, Mathematical Tables 5, National Physical Laboratory, 1962.
_I0E_SMALL = (
    0.67679527440947608,
    -0.3046826723431984,
    0.17162090152220878,
    -0.094901097048047644,
    0.049305284239670708,
    -0.023737414805899469,
    0.010546460394594998,
    -0.0043243099950505759,
    0.0016394756169413358,
    -0.00057637557453858237,
    0.00018850288509584166,
    -5.7541950100821037e-5,
    1.6448448070728897e-5,
    -4.4167383584587506e-6,
    1.1173875391201037e-6,
    -2.6707938539406117e-7,
    6.0469950225419189e-8,
    -1.300025009986248e-8,
    2.6598237246823867e-9,
    -5.1897956016352629e-10,
    9.6758090353732369e-11,
    -1.7268262914415557e-11,
    2.9550526631296398e-12,
    -4.8564467831119295e-13,
    7.6761854986049356e-14,
    -1.1685332877993452e-14,
    1.715391285555133e-15,
    -2.4312798465479547e-16,
    3.3307945188222381e-17,
    -4.4153416464793394e-18,
)
_I0E_LARGE = (
    0.80449041101410883,
    0.0033691164782556941,
    6.889758346916824e-5,
    2.8913705208347565e-6,
    2.0489185894690637e-7,
    2.2666689904981781e-8,
    3.3962320257083863e-9,
    4.9406023882249696e-10,
    1.1889147107846438e-11,
    -3.1499165279632414e-11,
    -1.3215811840447713e-11,
    -1.7941785315068061e-12,
    7.1801244513836662e-13,
    3.8527783827421427e-13,
    1.5400862175214098e-14,
    -4.1505693472872221e-14,
    -9.5548466988283076e-15,
    3.8116806693526224e-15,
    1.7725601330565264e-15,
    -3.4254856196772191e-16,
    -2.8276239805165835e-16,
    3.4612228676974611e-17,
    4.46562142029676e-17,
    -4.8305044859441821e-18,
    -7.233180487874754e-18,
)


def _chebyshev(u: Formula, coefficients: tuple[float, ...]) -> Formula:
    """Sum c₀/2 + Σ cₖ Tₖ(u) by Clenshaw's recurrence, as far as the dtype can tell."""
    threshold = 1e-9 if u.dtype == np.float32 else 0.0
    kept = [c for c in coefficients if (c if c > 0 else -c) > threshold]
    zero = u.scope.lift(0.0, u.dtype)
    after, current = zero, zero
    for coefficient in reversed(kept[1:]):
        after, current = current, 2.0 * u * current - after + coefficient
    return u * current - after + 0.5 * kept[0]


def _bessel_i0e_formula(x: Formula) -> Formula:
    size = x.magnitude()
    small = _chebyshev(size * 0.25 - 1.0, _I0E_SMALL)
    # Beyond 8 only: the guard keeps the unused branch finite.
    large_size = (size > 8.0).where(size, 8.0, size)
    large = _chebyshev(16.0 / large_size - 1.0, _I0E_LARGE) / large_size.sqrt()
    value = (size <= 8.0).where(small, large, x)
    return x.is_nan().where(x, value, x)


# Chebyshev coefficients of x^(3/2) exp(-x) (I₀(x) - I₁(x)) on [8, ∞), in 16/x - 1; so many that
# third derivatives keep their digits.
_GAP = (
    0.4092782898397208,
    0.005348526093538557,
    0.00019150500095126415,
    1.2032615976256656e-05,
    1.1956976470208373e-06,
    1.716841771873406e-07,
    2.8338106568544693e-08,
    3.051206849093951e-09,
    -7.434135453836242e-10,
    -5.767283909234434e-10,
    -1.5193610828268228e-10,
    5.668790622840184e-12,
    1.804470061607724e-11,
    4.253572073419977e-12,
    -1.1555903826473055e-12,
    -7.770703288312627e-13,
    1.4368043830095462e-14,
    1.0913028331644427e-13,
    1.1406069274284164e-14,
    -1.5049144790858717e-14,
    -2.8555810704808024e-15,
    2.2314974017002143e-15,
    5.272258797814568e-16,
    -3.688525888515701e-16,
    -8.53559919668251e-17,
    6.754931522628081e-17,
    1.1811455208665337e-17,
    -1.3225212330303549e-17,
    -1.0505875291963377e-18,
    2.637200706410813e-18,
    -1.1535824021967442e-19,
    -5.070077303995214e-19,
    1.0063873819425261e-19,
    8.711492681414454e-20,
    -3.682218440613054e-20,
    -1.121285077784962e-20,
    1.0256453862548386e-20,
    1.5570135220906958e-22,
    -2.3009088221707324e-21,
    5.364672575766343e-22,
)
_GAP_FROM = 8.0


def _bessel_gap(x: Any) -> Any:
    """Return exp(-|x|) (I₀(x) - I₁(|x|)) for |x| ≥ 8, where the two are nearly equal."""
    size = abs(x)
    safe = select(ge(size, _GAP_FROM), size, _GAP_FROM)
    terms = len(_GAP) if abstractify(x).dtype == np.float64 else 14
    u = sub(div(16.0, safe), 1)
    double = mul(u, 2)
    after, current = mul(u, 0), add(mul(u, 0), _GAP[terms - 1])
    for coefficient in reversed(_GAP[1 : terms - 1]):
        after, current = current, add(sub(mul(double, current), after), coefficient)
    series = add(sub(mul(u, current), after), 0.5 * _GAP[0])
    return mul(div(series, safe), rsqrt(safe))


def _bessel_i0e_slope(x: Any, y: Any) -> Any:
    """Return the derivative of exp(-|x|) I₀(x): I₁ₑ(x) - y sign x, far away from one series."""
    near = sub(bessel_i1e(x), mul(sign(x), y))
    return select(ge(abs(x), _GAP_FROM), neg(mul(sign(x), _bessel_gap(x))), near)


bessel_i0e_p = unary(
    "bessel_i0e",
    FLOATING,
    lower=formula_rule(_bessel_i0e_formula),
    reference="scipy.special.i0e",
    jvp=lambda t, x, y: mul(t, _bessel_i0e_slope(x, y)),
)


def bessel_i0e(x: ArrayLike) -> Any:
    """Return exp(-|x|) I₀(x), the scaled modified Bessel function of order 0.

    Args:
      x: an array of a floating dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    The derivative at 0 is 0.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.bessel_i0e(jnp.array([0.0, 2.0]))).round(3)
    array([1.   , 0.309], dtype=float32)
    """
    return bessel_i0e_p.bind(x)


def _sum_of_powers(x: Any, coefficients: Sequence[float]) -> Any:
    """Return Σ cₖ xᵏ, by Horner's rule."""
    total = mul(x, coefficients[-1])
    for coefficient in reversed(coefficients[1:-1]):
        total = mul(x, add(total, coefficient))
    return add(total, coefficients[0])


_I1_PARTS = [1 / (2 * 4**k * factorial(k) * factorial(k + 1)) for k in range(10)]
_I1_SLOPE = [(2 * k + 1) * part for k, part in enumerate(_I1_PARTS)]


def _bessel_i1e_slope(x: Any, y: Any) -> Any:
    """Return the derivative of exp(-|x|) I₁(x): I₀ₑ(x) - y (sign x + 1/x).

    Below 1 it is exp(-|x|) (I₁'(|x|) - I₁(|x|)) by power series (DLMF 10.25.2), of which further
    derivatives keep their digits at 0; far away it is made of I₀ₑ - I₁ₑ.
    """
    size = abs(x)
    near, far = lt(size, 1.0), ge(size, _GAP_FROM)
    safe = select(near, 1, x)
    slope = sub(bessel_i0e(safe), mul(y, add(sign(safe), div(1.0, safe))))
    little = select(near, size, 0)
    squared = square(little)
    parts = mul(little, _sum_of_powers(squared, _I1_PARTS))
    series = mul(exp(neg(little)), sub(_sum_of_powers(squared, _I1_SLOPE), parts))
    distant = sub(_bessel_gap(x), div(y, safe))
    return select(near, series, select(far, distant, slope))


bessel_i1e_p = unary(
    "bessel_i1e",
    FLOATING,
    lower=formula_rule(_applied("chlo.bessel_i1e")),
    reference="scipy.special.i1e",
    jvp=lambda t, x, y: mul(t, _bessel_i1e_slope(x, y)),
)


def bessel_i1e(x: ArrayLike) -> Any:
    """Return exp(-|x|) I₁(x), the scaled modified Bessel function of order 1.

    Args:
      x: an array of a floating dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    CHLO ``bessel_i1e``.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.bessel_i1e(jnp.array([0.0, 2.0]))).round(3)
    array([0.   , 0.215], dtype=float32)
    """
    return bessel_i1e_p.bind(x)
