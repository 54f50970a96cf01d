"""The gamma function and its kin: logarithms, beta, incomplete functions, factorials, ζ."""

from math import log as number_log
from math import pi
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.api.custom.derivatives import custom_jvp
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import (
    argument_aval,
    inexact_dtype,
    promote_inexact,
    promote_operands,
    refuse_complex,
)
from jxkernel.primitives.arguments import whole_number
from jxkernel.primitives.elementwise import incomplete
from jxkernel.primitives.elementwise import special as ops
from jxkernel.primitives.elementwise.identity import optimization_barrier, stop_gradient
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special.elementwise import computed, epsilon, strongly, unary_function

__all__ = [
    "bernoulli",
    "beta",
    "betainc",
    "betaln",
    "comb",
    "digamma",
    "factorial",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "loggamma",
    "multigammaln",
    "poch",
    "polygamma",
    "zeta",
]

_floating: dict[str, Any] = {"ready": dtypes.FLOATING, "rule": inexact_dtype}

gammaln = unary_function(
    "gammaln",
    ops.lgamma,
    """Return log |Γ(x)|.

    Args:
      x: a real array; integers become floating.

    It is inf at 0 and the negative integers, and exactly 0 at 1 and 2.  The derivative is ψ(x).

    >>> from jxkernel.scipy import special
    >>> special.gammaln(2.0)
    Array(0., dtype=float32, weak_type=True)
    """,
    **_floating,
)
digamma = unary_function(
    "digamma",
    ops.digamma,
    """Return ψ(x), the derivative of log Γ(x).

    Args:
      x: a real array; integers become floating.

    It is -inf at 0 and NaN at the negative integers.  The derivative is ``polygamma(1, x)``.

    >>> from jxkernel.scipy import special
    >>> special.digamma(1.0).round(4)
    Array(-0.5772, dtype=float32, weak_type=True)
    """,
    **_floating,
)

# ---------------------------------------------------------------- Γ

_HALF_LOG_TAU = 0.5 * number_log(2 * pi)
# B₂ₖ / (2k (2k - 1)), the coefficients of Stirling's series (DLMF 5.11.1).
_STIRLING = (
    1 / 12,
    -1 / 360,
    1 / 1260,
    -1 / 1680,
    1 / 1188,
    -691 / 360360,
    1 / 156,
    -3617 / 122400,
    43867 / 244188,
)
_SHIFT = 9


def _stirling(z: Any) -> Any:
    """Return log Γ(z) for Re z ≥ 1/2: Stirling's series at z + 9, less Σ log(z + k)."""
    away = z + _SHIFT
    inverse = 1 / away
    square = inverse * inverse
    rest = jnp.full_like(z, _STIRLING[-1])
    for coefficient in reversed(_STIRLING[:-1]):
        rest = rest * square + coefficient
    value = (away - 0.5) * jnp.log(away) - away + _HALF_LOG_TAU + rest * inverse
    for k in range(_SHIFT):
        value = value - jnp.log(z + k)
    return value


def _complex_loggamma(z: Any) -> Any:
    """Return log Γ(z), continued from the positive axis and cut along the negative one.

    For Re z < 1/2 it is log π - log sin πz - log Γ(1 - z), where, in the upper half plane,
    log sin πz = -iπ(z - 1/2) - log 2 + log(1 - exp(2πiz)); the lower one mirrors it.  Whole parts
    turn no angle and are taken off.  It is NaN at the poles.
    Sources: DLMF 5.5.3, 5.11.1; D. Hare, "Computing the principal branch of log-gamma", 1997.
    """
    left = z.real < 0.5
    direct = _stirling(jnp.where(left, 1 - z, z))
    # The point in the upper half plane of which z is the mirror image, or z itself.
    below = z.imag < 0
    upper = jnp.where(left, jnp.where(below, z.conj(), z), 0.25j)
    turned = jnp.log(-jnp.expm1(2j * pi * _less_whole(upper)))
    log_sine = -1j * pi * (upper - 0.5) - number_log(2) + turned
    log_sine = jnp.where(below, log_sine.conj(), log_sine)
    value = jnp.where(left, number_log(pi) - log_sine - direct, direct)
    return jnp.where(left & (_less_whole(z) == 0), np.nan * (1 + 1j), value)


def _less_whole(z: Any) -> Any:
    """Return a complex number less the whole one that is next to its real part."""
    return z - jnp.round(z.real)


@custom_jvp
def _smooth_loggamma(z: Any) -> Any:
    return _complex_loggamma(z)


_smooth_loggamma.defjvps(lambda t, y, z: t * _complex_digamma(z))


def _complex_digamma(z: Any) -> Any:
    """Return ψ(z): Stirling's series differentiated, and ψ(1 - z) - π cot πz on the left."""
    left = z.real < 0.5
    right = jnp.where(left, 1 - z, z)
    away = right + _SHIFT
    square = 1 / (away * away)
    rest = jnp.zeros_like(z)
    for k, coefficient in reversed(list(enumerate(_STIRLING))):
        rest = rest * square - (2 * k + 1) * coefficient
    value = jnp.log(away) - 0.5 / away + rest * square
    for k in range(_SHIFT):
        value = value - 1 / (right + k)
    angle = pi * jnp.where(left, _less_whole(z), 0.5)
    return jnp.where(left, value - pi / jnp.tan(angle), value)


@fused
def loggamma(x: ArrayLike) -> Any:
    """Return the logarithm of Γ, the principal branch; NaN for negative real x.

    Args:
      x: an array; integers become floating.  For the logarithm of |Γ| see ``gammaln``.

    For complex arguments the cut is the negative real axis.  Sources: DLMF 5.5.3, 5.11.1.

    >>> from jxkernel.scipy import special
    >>> special.loggamma(3.0).round(4)
    Array(0.6931, dtype=float32, weak_type=True)
    """
    (x,) = promote_inexact("loggamma", x)
    if argument_aval("loggamma", x).dtype in dtypes.COMPLEX:
        return _smooth_loggamma(strongly(x))
    negative = jnp.less(x, 0)
    return jnp.where(negative, np.nan, ops.lgamma(jnp.where(negative, 1, x)))


def _gammasgn(x: Any) -> Any:
    """Return the sign of Γ: +1 where the greatest integer below a negative x is even."""
    below = jnp.floor(x)
    odd = below - 2 * jnp.floor(below / 2) == 1
    sign = jnp.where((x < 0) & odd, -1.0, 1.0)
    sign = jnp.where(x == 0, jnp.copysign(jnp.ones_like(x), x), sign)
    pole = (x < 0) & (below == x)
    return jnp.where(pole | jnp.isnan(x), np.nan, sign).astype(x.dtype)


@fused
def gammasgn(x: ArrayLike) -> Any:
    """Return the sign of Γ(x).

    Args:
      x: a real array; integers become floating.

    It is that of x at ±0, and NaN at the negative integers and -inf.  The derivative is zero.

    >>> import jxkernel as jx
    >>> jx.scipy.special.gammasgn(jx.numpy.array([-0.5, 2.0]))
    Array([-1.,  1.], dtype=float32)
    """
    return computed("gammasgn", _gammasgn, x)


@custom_jvp
def _gamma(x: Any) -> Any:
    value = _gammasgn(x) * jnp.exp(ops.lgamma(x))
    # Where Γ is a factorial it is exact, as far as the table goes.
    whole = (x >= 1) & (x <= len(_FACTORIALS)) & (x == jnp.floor(x))
    place = jnp.where(whole, x - 1, 0).astype(np.int32)
    return jnp.where(whole, jnp.asarray(_FACTORIALS, x.dtype)[place], value)


_FACTORIALS = tuple(np.cumprod([1.0, *range(1, 23)]))
_gamma.defjvps(lambda t, y, x: t * y * ops.digamma(x))


@fused
def gamma(x: ArrayLike) -> Any:
    """Return Γ(x).

    Args:
      x: an array, real or complex; integers become floating.

    At ±0 it is ±inf, at the negative integers and at -inf NaN.  The derivative is Γ(x) ψ(x).

    >>> from jxkernel.scipy import special
    >>> special.gamma(5.0)
    Array(24., dtype=float32)
    """
    (x,) = promote_inexact("gamma", x)
    if argument_aval("gamma", x).dtype in dtypes.COMPLEX:
        return jnp.exp(_smooth_loggamma(strongly(x)))
    return computed("gamma", _gamma, x)


# ---------------------------------------------------------------- beta


def log_gammas(*args: Any) -> Any:
    """Return log |Γ| of several arrays of one dtype and shape, stacked: compiled once for all.

    Its formula is long, and not fused with what is around it: choices of the array that an element
    is of would keep it from being turned into vector instructions.
    """
    stacked = optimization_barrier(jnp.stack(args))
    return optimization_barrier(ops.lgamma(stacked))


@custom_jvp
def log_beta(a: Any, b: Any, logs: Any) -> Any:
    """Return log B with the remainders of Stirling's series where log Γ's would cancel.

    Args:
      a: an array.
      b: another.
      logs: log Γ's of a, b and a + b.
    """
    small, large = jnp.minimum(a, b), jnp.maximum(a, b)
    # Of a subnormal number, which the minimum takes for 0, it is finite.
    least, most = jnp.where(a < b, *logs[:2]), jnp.where(a < b, logs[1], logs[0])
    apart = (large >= 10) & (small + large >= 10) & (small != 0)
    safe = jnp.where(apart, large, 10)
    beside = jnp.where(apart, small, 1)
    total = safe + beside
    # log Γ(b) - log Γ(a + b) = -(b - 1/2) log(1 + a/b) - a log(a + b) + a + remainders.
    change = stirling_remainder(safe) - stirling_remainder(total)
    # Where a/b is nothing beside 1, the first of them is a: the quotient may be subnormal.
    apart_far = abs(beside) < safe * epsilon(safe)
    near = jnp.where(apart_far, beside, (safe - 0.5) * jnp.log1p(beside / safe))
    ratio = beside - near - beside * jnp.log(total) + change
    value = least + jnp.where(apart, ratio, most - logs[2])
    # Γ(a) is 1/a there, so that B is 1/a + 1/b where the arithmetic takes both for 0.
    value = jnp.where((small == 0) & (large == 0), jnp.logaddexp(least, most), value)
    return jnp.where((small == 0) & (large > 0) & (least == np.inf), np.inf, value)


log_beta.defjvps(
    lambda t, y, a, b, logs: t * (ops.digamma(a) - ops.digamma(a + b)),
    lambda t, y, a, b, logs: t * (ops.digamma(b) - ops.digamma(a + b)),
    None,
)


def _smooth_betaln(a: Any, b: Any) -> Any:
    return log_beta(a, b, tuple(map(ops.lgamma, (a, b, a + b))))


def stirling_remainder(a: Any) -> Any:
    """Return what Stirling's formula leaves of log Γ(a), for a ≥ 10."""
    square = 1 / (a * a)
    rest = jnp.full_like(a, _STIRLING[5])
    for coefficient in reversed(_STIRLING[:5]):
        rest = rest * square + coefficient
    return rest / a


@fused
def betaln(a: ArrayLike, b: ArrayLike) -> Any:
    """Return log |B(a, b)|, of the beta function Γ(a) Γ(b) / Γ(a + b).

    Args:
      a: a real array; integers become floating.
      b: another.

    Infinity where one is 0 and the other not negative.  Differentiable in both.  Source: DLMF
    5.11.1, 5.12.1.

    >>> from jxkernel.scipy import special
    >>> special.betaln(1.0, 1.0) == 0
    Array(True, dtype=bool)
    """
    return computed("betaln", _smooth_betaln, a, b, weakly=True)


@fused
def beta(a: ArrayLike, b: ArrayLike) -> Any:
    """Return the beta function B(a, b) = Γ(a) Γ(b) / Γ(a + b).

    Args:
      a: a real array; integers become floating.
      b: another.

    Differentiable in both.

    >>> from jxkernel.scipy import special
    >>> special.beta(2.0, 3.0).round(4)
    Array(0.08329999, dtype=float32)
    """

    def compute(a: Any, b: Any) -> Any:
        sign = _gammasgn(a) * _gammasgn(b) * _gammasgn(a + b)
        return sign * jnp.exp(_smooth_betaln(a, b))

    return computed("beta", compute, a, b)


@fused
def betainc(a: Any, b: Any, x: ArrayLike) -> Any:
    """Return the regularized incomplete beta function I(x; a, b).

    Args:
      a: the first parameter, positive.
      b: the second.
      x: the bound of integration, from 0 to 1.

    NaN for other arguments.  Differentiable in ``x`` alone.  Source: DLMF 8.17.22.

    >>> from jxkernel.scipy import special
    >>> special.betainc(1.0, 1.0, 0.25).round(4)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return incomplete.betainc(*_floats("betainc", a, b, x))


def _floats(name: str, *args: Any) -> Any:
    """Return operands in one real floating dtype and one shape."""
    operands = promote_operands(name, *args, rule=inexact_dtype)
    refuse_complex(name, argument_aval(name, operands[0]).dtype)
    return operands


@fused
def gammainc(a: ArrayLike, x: ArrayLike) -> Any:
    """Return the regularized lower incomplete gamma function P(a, x).

    Args:
      a: the parameter, not negative.
      x: the bound of integration, not negative.

    NaN for other arguments.  Differentiable in both.  Sources: DLMF 8.7.1, 8.9.2.

    >>> from jxkernel.scipy import special
    >>> special.gammainc(1.0, 1.0).round(4)
    Array(0.6321, dtype=float32, weak_type=True)
    """
    return incomplete.igamma(*_floats("gammainc", a, x))


@fused
def gammaincc(a: ArrayLike, x: ArrayLike) -> Any:
    """Return the regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x).

    Args:
      a: the parameter, not negative.
      x: the bound of integration, not negative.

    NaN for other arguments; exact also where it is small.  Differentiable in both.

    >>> from jxkernel.scipy import special
    >>> special.gammaincc(1.0, 1.0).round(4)
    Array(0.36789998, dtype=float32, weak_type=True)
    """
    return incomplete.igammac(*_floats("gammaincc", a, x))


# ---------------------------------------------------------------- factorials


@fused(static=("exact",), name="factorial")
def factorial(n: ArrayLike, exact: bool = False) -> Any:
    """Return n! = Γ(n + 1), and 0 for negative n.

    Args:
      n: a real array; integers become floating.
      exact: must be False: floating results only.

    Raises:
      NotImplementedError: ``exact`` is true.

    >>> from jxkernel.scipy import special
    >>> special.factorial(4)
    Array(24., dtype=float32, weak_type=True)
    """
    if exact:
        raise NotImplementedError("factorial(exact=True): there are no integers of any size here")
    return computed("factorial", lambda n: jnp.where(n < 0, 0, _gamma(n + 1)), n, weakly=True)


@fused(static=("repetition",), name="comb")
def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """Return the number of ways to choose k of N things, as a float.

    Args:
      N: the number of things.
      k: how many are taken; for k < 0, k > N or N < 0 the result is 0.
      repetition: whether a thing may be taken more than once.

    >>> from jxkernel.scipy import special
    >>> special.comb(5, 2).round(3)
    Array(10., dtype=float32, weak_type=True)
    """

    def compute(n: Any, k: Any) -> Any:
        valid = (n >= 0) & (k >= 0)
        if repetition:
            n = jnp.where((n == 0) & (k == 0), 0, n + k - 1)
        valid = valid & (k <= n)
        n, k = jnp.where(valid, n, 1), jnp.where(valid, k, 0)
        # In two halves: the inverse of B may be beyond the dtype where their quotient is not.
        root = jnp.exp(-0.5 * _smooth_betaln(n - k + 1, k + 1))
        value = root * (root / (n + 1))
        whole = (n == jnp.floor(n)) & (k == jnp.floor(k)) & (value < 1e6)
        # Rounded without losing the slope.
        rounded = value + stop_gradient(jnp.round(value) - value)
        return jnp.where(valid, jnp.where(whole, rounded, value), 0)

    return computed("comb", compute, N, k, weakly=True)


def _log_gamma_rise(z: Any, m: Any) -> Any:
    """Return log |Γ(z + m)| - log |Γ(z)|.

    Of large arguments, whose logarithms would cancel, it is (z - 1/2) log(1 + m/z) + m log(z + m)
    - m and the difference of the remainders of Stirling's series.
    """
    top = z + m
    large, direct = _both_large(z, m), ops.lgamma(top) - ops.lgamma(z)
    z, m, top = jnp.where(large, z, 10), jnp.where(large, m, 0), jnp.where(large, top, 10)
    value = (z - 0.5) * jnp.log1p(m / z) + m * (jnp.log(top) - 1)
    return jnp.where(large, value + stirling_remainder(top) - stirling_remainder(z), direct)


def _digamma_rise(z: Any, m: Any) -> Any:
    """Return ψ(z + m) - ψ(z), for large ones by the derivative of Stirling's series."""
    top = z + m
    large, direct = _both_large(z, m), ops.digamma(top) - ops.digamma(z)
    z, m, top = jnp.where(large, z, 10), jnp.where(large, m, 0), jnp.where(large, top, 10)
    value = jnp.log1p(m / z) + m / z / (2 * top)
    return jnp.where(large, value + _digamma_remainder(top) - _digamma_remainder(z), direct)


def _both_large(z: Any, m: Any) -> Any:
    return (z >= 10) & (z + m >= 10) & (z + m < np.inf)


def _digamma_remainder(a: Any) -> Any:
    """Return what log a - 1/(2a) leaves of ψ(a), for a ≥ 10: -Σ B₂ₖ / (2k a²ᵏ)."""
    square = 1 / (a * a)
    rest = jnp.zeros_like(a)
    for k, coefficient in reversed(list(enumerate(_STIRLING[:6]))):
        rest = (rest - (2 * k + 1) * coefficient) * square
    return rest


@custom_jvp
def _poch(z: Any, m: Any) -> Any:
    """Return Γ(z + m) / Γ(z): 0 where only the divisor has a pole, inf where it has none."""
    below = (z <= 0) & (z == jnp.floor(z))
    above = (z + m <= 0) & (z + m == jnp.floor(z + m))
    safe, rise = jnp.where(below, 1, z), jnp.where(above, 0, m)
    ratio = _gammasgn(safe) * _gammasgn(safe + rise) * jnp.exp(_log_gamma_rise(safe, rise))
    ratio = jnp.where(z == np.inf, jnp.where(m < 0, 0, z + m), ratio)
    # Both poles: (z)ₘ = (-1)ᵐ Γ(1 - z) / Γ(1 - z - m) for a natural m.
    both = below & above
    mirrored = jnp.exp(-_log_gamma_rise(jnp.where(both, 1 - z, 1), jnp.where(both, -m, 0)))
    odd = m - 2 * jnp.floor(m / 2) == 1
    mirrored = jnp.where(odd, -mirrored, mirrored)
    value = jnp.where(below, jnp.where(above, mirrored, 0), jnp.where(above, np.inf, ratio))
    return jnp.where(m == 0, 1, value)


_poch.defjvps(
    lambda t, y, z, m: t * y * _digamma_rise(z, m),
    lambda t, y, z, m: t * y * ops.digamma(z + m),
)


@fused
def poch(z: ArrayLike, m: ArrayLike) -> Any:
    """Return the rising factorial (z)ₘ = Γ(z + m) / Γ(z).

    Args:
      z: a real array; integers become floating.
      m: another.

    Differentiable in both away from the poles: infinity at those of Γ(z + m), as in SciPy.
    Sources: DLMF 5.2.5, 5.11.1.

    >>> from jxkernel.scipy import special
    >>> special.poch(2.0, 3.0).round(3)
    Array(24.000002, dtype=float32)
    """
    return computed("poch", _poch, z, m)


@fused(static=("count",), name="multigammaln")
def _multigammaln(a: Any, count: int) -> Any:
    def compute(a: Any) -> Any:
        terms = [ops.lgamma(a - j / 2) for j in range(count)]
        return sum(terms, jnp.full_like(a, count * (count - 1) / 4 * number_log(pi)))

    return computed("multigammaln", compute, a)


def multigammaln(a: ArrayLike, d: Any) -> Any:
    """Return the logarithm of the multivariate gamma function of dimension d.

    Args:
      a: a real array, greater than (d - 1) / 2.
      d: the dimension, a known integer.

    It is d (d - 1) / 4 · log π + Σ log Γ(a - j/2) over j < d.

    >>> from jxkernel.scipy import special
    >>> special.multigammaln(3.0, 1).round(4)
    Array(0.6931, dtype=float32)
    """
    try:
        count = int(d)
    except TypeError:
        raise TypeError(f"multigammaln takes a known integer d, got {d!r:.60}") from None
    return _multigammaln(a, count)


# ---------------------------------------------------------------- ψ and ζ


@fused
def polygamma(n: Any, x: ArrayLike) -> Any:
    """Return the n-th derivative of ψ at x.

    Args:
      n: the orders, integers ≥ 0; NaN results for negative ones.
      x: a real array.

    Raises:
      ValueError: ``n`` is not of an integer dtype.

    Differentiable in ``x``.

    >>> from jxkernel.scipy import special
    >>> special.polygamma(1, 1.0).round(4)
    Array(1.6449, dtype=float32, weak_type=True)
    """
    aval = argument_aval("polygamma", n)
    if aval.dtype not in dtypes.INTEGRAL:
        raise ValueError(f"polygamma takes integer orders n, got dtype {aval.dtype.name}")
    order, x = _floats("polygamma", n, x)
    order, x = jnp.broadcast_arrays(jnp.asarray(order), jnp.asarray(x))
    zeroth = ops.digamma(x)
    higher = ops.polygamma(jnp.maximum(order, 1), x)
    value = jnp.where(order == 0, zeroth, higher)
    return jnp.where(order < 0, np.nan, value)


@fused
def zeta(x: ArrayLike, q: Any = None) -> Any:
    """Return the Hurwitz zeta function Σ (k + q)⁻ˣ over k ≥ 0; Riemann's without q.

    Args:
      x: the exponent, a real array: inf at 1, NaN below.
      q: the offset, positive; 1 where not given.

    The derivative in ``x`` is -inf at 1 and NaN below.

    >>> from jxkernel.scipy import special
    >>> special.zeta(2.0).round(4)
    Array(1.6449, dtype=float32)
    """
    return ops.zeta(*_floats("zeta", x, np.float32(1) if q is None else q))


def bernoulli(n: int) -> Any:
    """Return the Bernoulli numbers B₀ to Bₙ, with B₁ = -1/2.

    Args:
      n: the last index, a known integer.

    Returns:
      an array of shape (n + 1,) of the default floating dtype.

    Raises:
      ValueError: ``n`` is negative.

    Computed in whole numbers by the tangent numbers' recurrence (R. Brent and D. Harvey, "Fast
    computation of Bernoulli, tangent and secant numbers", 2013).

    >>> from jxkernel.scipy import special
    >>> special.bernoulli(2).round(4)
    Array([ 1.        , -0.5       ,  0.16669999], dtype=float32)
    """
    n = whole_number("bernoulli", "n", n)
    if n < 0:
        raise ValueError(f"bernoulli takes an index n ≥ 0, got {n}")
    numbers = [1.0, -0.5][: n + 1] + [0.0] * (n - 1)
    for k, tangent in enumerate(_tangent_numbers(n // 2), 1):
        power = 4**k
        numbers[2 * k] = (-1) ** (k - 1) * 2 * k * tangent / (power * (power - 1))
    return jnp.asarray(numbers, dtypes.default_float_dtype())


def _tangent_numbers(count: int) -> list[int]:
    """Return the first tangent numbers: 1, 2, 16, 272, ..."""
    numbers = [1] * count
    for k in range(1, count):
        numbers[k] = k * numbers[k - 1]
    for k in range(1, count):
        for j in range(k, count):
            numbers[j] = (j - k) * numbers[j - 1] + (j - k + 2) * numbers[j]
    return numbers
