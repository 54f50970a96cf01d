"""The error function and its kin: inverses, scaled and complex ones, the normal distribution."""

from math import log as number_log
from math import pi, sqrt
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.api.custom.derivatives import custom_jvp
from jxkernel.api.derivatives.autodiff import jvp
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import argument_aval, inexact_dtype, promote_inexact
from jxkernel.primitives.elementwise import special as ops
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special.coefficients import DAWSON_LARGE, DAWSON_SMALL, ERFCX
from jxkernel.scipy.special.elementwise import (
    chebyshev,
    computed,
    polynomial,
    strongly,
    unary_function,
)

__all__ = [
    "dawsn",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "log_ndtr",
    "ndtr",
    "ndtri",
    "wofz",
]

_floating: dict[str, Any] = {"ready": dtypes.FLOATING, "rule": inexact_dtype}
_HALF_LOG_TAU = 0.5 * number_log(2 * pi)

erf = unary_function(
    "erf",
    ops.erf,
    """Return the error function, 2/√π ∫₀ˣ exp(-s²) ds.

    Args:
      x: a real array; integers become floating.

    >>> from jxkernel.scipy import special
    >>> special.erf(1.0).round(4)
    Array(0.8427, dtype=float32, weak_type=True)
    """,
    **_floating,
)
erfc = unary_function(
    "erfc",
    ops.erfc,
    """Return 1 - erf(x), accurate where it is small.

    Args:
      x: a real array; integers become floating.

    >>> from jxkernel.scipy import special
    >>> special.erfc(1.0).round(4)
    Array(0.1573, dtype=float32, weak_type=True)
    """,
    **_floating,
)
erfinv = unary_function(
    "erfinv",
    ops.erf_inv,
    """Return the inverse of erf: ±inf at ±1, NaN beyond.

    Args:
      x: a real array; integers become floating.

    >>> from jxkernel.scipy import special
    >>> special.erfinv(0.0)
    Array(0., dtype=float32, weak_type=True)
    """,
    **_floating,
)

# ---------------------------------------------------------------- scaled


def _scaled(x: Any) -> Any:
    """Return exp(x²) erfc(x): a Chebyshev sum in (x - 4)/(x + 4) for x ≥ 0, mirrored below.

    Source: M. Shepherd and J. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x²) erfc x",
    Mathematics of Computation 36, 1981.
    """
    # Not abs(x), whose derivative at 0 is 0: the sum is smooth there.
    size = jnp.where(x < 0, -x, x)
    size = jnp.where(size == np.inf, 0, size)
    tail = chebyshev((size - 4) / (size + 4), -1, 1, ERFCX) / (1 + 2 * size)
    tail = jnp.where(abs(x) == np.inf, 0, tail)
    # The exponential of large positive numbers has no slope that could be left out.
    mirrored = 2 * jnp.exp(jnp.where(x < 0, x, 0) ** 2) - tail
    return jnp.where(x < 0, mirrored, tail) + 0 * jnp.where(jnp.isnan(x), x, 0)


@custom_jvp
def _erfcx(x: Any) -> Any:
    return _scaled(x)


_erfcx.defjvps(lambda t, y, x: t * _erfcx_slope(x, y))


def _erfcx_slope(x: Any, y: Any) -> Any:
    """Return 2 x y - 2/√π, which cancels from 1 on; there that of the sum, far of the series."""
    near, far = x < 1, x > 50
    inverse = 1 / jnp.where(far, x, 50)
    series = -(1 - 1.5 * inverse**2 * (1 - 2.5 * inverse**2)) * inverse**2 / sqrt(pi)
    between = jnp.where(near | far, 1, x)
    middle = jvp(_scaled, (between,), (jnp.ones_like(x),))[1]
    slope = jnp.where(near, 2 * jnp.where(near, x, 0) * y - 2 / sqrt(pi), middle)
    return jnp.where(far, series, slope)


@fused
def erfcx(x: ArrayLike) -> Any:
    """Return exp(x²) erfc(x), which neither overflows nor underflows for large x.

    Args:
      x: an array, real or complex; integers become floating.

    Infinite below -27 or so (-9 in float32).  Source: M. Shepherd and J. Laframboise, Mathematics
    of Computation 36, 1981; for complex x, ``wofz(1j * x)``.

    >>> from jxkernel.scipy import special
    >>> special.erfcx(1.0).round(4)
    Array(0.4276, dtype=float32)
    """
    (x,) = promote_inexact("erfcx", x)
    if argument_aval("erfcx", x).dtype in dtypes.COMPLEX:
        return _wofz(1j * strongly(x))
    return computed("erfcx", _erfcx, x)


@custom_jvp
def _dawsn(x: Any) -> Any:
    square = x * x
    near = square <= 16
    small = x * chebyshev(jnp.where(near, square, 0), 0, 16, DAWSON_SMALL)
    return jnp.where(near, small, _far_dawsn(jnp.where(near, 4, x)))


def _far_dawsn(x: Any) -> Any:
    """Return Dawson's integral for |x| ≥ 4."""
    return chebyshev(1 / (x * x), 0, 1 / 16, DAWSON_LARGE) / x


_dawsn.defjvps(lambda t, y, x: t * _dawsn_slope(x, y))


def _dawsn_slope(x: Any, y: Any) -> Any:
    """Return 1 - 2 x F(x), which cancels from 4 on; there that of the sum, far of the series."""
    size = abs(x)
    near, far = size <= 4, size > 50
    inverse = (1 / jnp.where(far, x, 50)) ** 2
    series = -(1 + 1.5 * inverse * (1 + 2.5 * inverse)) * inverse / 2
    middle = jvp(_far_dawsn, (jnp.where(near | far, 4, x),), (jnp.ones_like(x),))[1]
    slope = jnp.where(near, 1 - 2 * jnp.where(near, x, 0) * y, middle)
    return jnp.where(far, series, slope)


@fused
def dawsn(x: ArrayLike) -> Any:
    """Return Dawson's integral, exp(-x²) ∫₀ˣ exp(s²) ds.

    Args:
      x: a real array; integers become floating.

    The derivative is 1 - 2 x F(x).  Source: Chebyshev sums of the definition, DLMF 7.2.5.

    >>> from jxkernel.scipy import special
    >>> special.dawsn(1.0).round(4)
    Array(0.5381, dtype=float32)
    """
    return computed("dawsn", _dawsn, x)


# ---------------------------------------------------------------- complex


def _weideman(count: int) -> tuple[float, tuple[float, ...]]:
    """Return the scale L and the coefficients of Weideman's expansion, highest power first."""
    scale = sqrt(count / sqrt(2))
    angles = np.arange(-2 * count + 1, 2 * count) * pi / (2 * count)
    t = scale * np.tan(angles / 2)
    values = np.concatenate([[0.0], np.exp(-t * t) * (scale * scale + t * t)])
    spectrum = np.real(np.fft.fft(np.fft.fftshift(values))) / (4 * count)
    return scale, tuple(spectrum[1 : count + 1][::-1].tolist())


_SCALE, _TERMS = _weideman(64)


@custom_jvp
def _wofz(z: Any) -> Any:
    """Return w(z) by a rational expansion in the upper half plane, mirrored in the lower.

    With Z = (L + iz)/(L - iz), w = 2 Σ aₙ Zⁿ / (L - iz)² + 1/(√π (L - iz)).  In the lower half
    plane w(z) = 2 exp(-z²) - w(-z).
    """
    below = z.imag < 0
    upper = jnp.where(below, -z, z)
    divisor = _SCALE - 1j * upper
    ratio = (_SCALE + 1j * upper) / divisor
    total = jnp.zeros_like(z)
    for term in _TERMS:
        total = total * ratio + term
    value = (2 * total / divisor + 1 / sqrt(pi)) / divisor
    mirrored = 2 * jnp.exp(-(jnp.where(below, z, 0) ** 2)) - value
    return jnp.where(below, mirrored, value)


def _wofz_slope(z: Any, y: Any) -> Any:
    """Return 2i/√π - 2 z y, which cancels for large z; there by the asymptotic series.

    In the lower half plane that is the series of w(-z), to which -4 z exp(-z²) is added.
    Source: DLMF 7.12.1.
    """
    far, endless = abs(z) > 50, jnp.isinf(z)
    inverse = jnp.where(endless, 0, 1 / jnp.where(far & ~endless, z, 50)) ** 2
    series = -1j / sqrt(pi) * inverse * (1 + 1.5 * inverse * (1 + 2.5 * inverse))
    below = jnp.where(far & ~endless & (z.imag < 0), z, 0)
    near = jnp.where(far, 0, z)
    return jnp.where(far, series - 4 * below * jnp.exp(-(below**2)), 2j / sqrt(pi) - 2 * near * y)


_wofz.defjvps(lambda t, y, z: t * _wofz_slope(z, y))


@fused
def wofz(z: ArrayLike) -> Any:
    """Return the Faddeeva function w(z) = exp(-z²) erfc(-iz).

    Args:
      z: an array; reals become complex.

    The derivative is 2i/√π - 2 z w(z).  Source: J. Weideman, "Computation of the complex error
    function", SIAM Journal on Numerical Analysis 31, 1994.

    >>> from jxkernel.scipy import special
    >>> special.wofz(0.0).real.round(4)
    Array(1., dtype=float32)
    """
    (z,) = promote_inexact("wofz", z)
    dtype = argument_aval("wofz", z).dtype
    if dtype not in dtypes.COMPLEX:
        wide = np.complex128 if dtype == np.float64 else np.complex64
        return _wofz(jnp.asarray(z).astype(wide))
    return _wofz(strongly(z))


# ---------------------------------------------------------------- the normal distribution


@fused
def ndtr(x: Any) -> Any:
    """Return the distribution function of the standard normal distribution.

    Args:
      x: a real array, or a list of numbers; integers become floating.

    >>> from jxkernel.scipy import special
    >>> special.ndtr(0.0)
    Array(0.5, dtype=float32)
    """
    return computed("ndtr", _ndtr, jnp.asarray(x))


@custom_jvp
def _ndtr(x: Any) -> Any:
    return ops.erfc(-x / sqrt(2)) * 0.5


_ndtr.defjvps(lambda t, y, x: t * _density(x))


def _density(x: Any) -> Any:
    """Return the normal density, which and whose derivatives are 0 at infinity."""
    inside = jnp.clip(x, -40, 40)
    return jnp.exp(-0.5 * inside * inside - _HALF_LOG_TAU)


@custom_jvp
def _log_ndtr(x: Any) -> Any:
    """Return log Φ(x): by the scaled function below -1, by the upper tail above."""
    low = x < -1
    left = jnp.where(low, x, -1)
    tail = jnp.log(0.5 * _erfcx(-left / sqrt(2))) - 0.5 * left * left
    return jnp.where(low, tail, jnp.log1p(-0.5 * ops.erfc(jnp.where(low, 0, x) / sqrt(2))))


_log_ndtr.defjvps(lambda t, y, x: t * _log_ndtr_slope(x))


def _log_ndtr_slope(x: Any) -> Any:
    """Return φ(x)/Φ(x), below 0 √(2/π) / erfcx(-x/√2), in which nothing cancels.

    Far below it is u + 1/u - 2/u³ + 10/u⁵ - 74/u⁷ + ... with u = -x: the scaled function has
    squares there that vanish.  Source: DLMF 7.12.1, inverted.
    """
    far, above = x < -50, x > 0
    inside = jnp.where(far | above, -1, x)
    slope = sqrt(2 / pi) / _scaled(-inside / sqrt(2))
    upper = jnp.where(above, x, 0)
    slope = jnp.where(above, _density(upper) / _ndtr(upper), slope)
    u = -jnp.where(far, x, -50)
    inverse = 1 / u
    square = inverse * inverse
    series = u + inverse * (1 - square * (2 - square * (10 - square * 74)))
    return jnp.where(far, series, slope)


@fused(static=("series_order",), name="log_ndtr")
def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """Return the logarithm of the standard normal distribution function, exact in both tails.

    Args:
      x: a real array, or a list of numbers; integers become floating.
      series_order: how many terms an asymptotic series would take; the scaled error function is
        used instead, so it changes nothing.

    Raises:
      TypeError: ``series_order`` is no integer.
      ValueError: it is negative or above 30.

    The derivative in the lower tail tends to -x.

    >>> from jxkernel.scipy import special
    >>> special.log_ndtr(-30.0).round(2)
    Array(-454.31998, dtype=float32)
    """
    if not isinstance(series_order, int):
        raise TypeError(f"log_ndtr takes an integer series_order, got {series_order!r:.60}")
    if not 0 <= series_order <= 30:
        raise ValueError(f"log_ndtr takes series_order from 0 to 30, got {series_order}")
    return computed("log_ndtr", _log_ndtr, jnp.asarray(x))


# Numerators and denominators of AS 241, by M. J. Wichura, Applied Statistics 37 (1988), PPND16 and
# PPND7: for the middle, of 0.425² - (p - ½)², and for the near and the far tail, of r = √(-log p),
# less 1.6 and 5.  The lowest power comes first.
_Ratio = tuple[tuple[float, ...], tuple[float, ...]]
_QUANTILES: tuple[_Ratio, _Ratio, _Ratio] = (
    (
        (
            3.387132872796366608,
            133.14166789178437745,
            1971.5909503065514427,
            13731.693765509461125,
            45921.953931549871457,
            67265.770927008700853,
            33430.575583588128105,
            2509.0809287301226727,
        ),
        (
            1.0,
            42.313330701600911252,
            687.1870074920579083,
            5394.1960214247511077,
            21213.794301586595867,
            39307.89580009271061,
            28729.085735721942674,
            5226.495278852854561,
        ),
    ),
    (
        (
            1.4234371107496835,
            4.630337846156546,
            5.769497221460691,
            3.6478483247632045,
            1.2704582524523684,
            0.2417807251774506,
            0.022723844989269184,
            0.0007745450142783414,
        ),
        (
            1.0,
            2.053191626637759,
            1.6763848301838038,
            0.6897673349851,
            0.14810397642748008,
            0.015198666563616457,
            0.0005475938084995345,
            1.0507500716444169e-09,
        ),
    ),
    (
        (
            6.657904643501103,
            5.463784911164114,
            1.7848265399172913,
            0.29656057182850487,
            0.026532189526576124,
            0.0012426609473880784,
            2.7115555687434876e-05,
            2.0103343992922881e-07,
        ),
        (
            1.0,
            0.599832206555888,
            0.1369298809227358,
            0.014875361290850615,
            0.0007868691311456133,
            1.8463183175100548e-05,
            1.421511758316446e-07,
            2.0442631033899397e-15,
        ),
    ),
)
_SHORT_QUANTILES: tuple[_Ratio, _Ratio, _Ratio] = (
    (
        (3.3871327179, 50.434271938, 159.29113202, 59.109374720),
        (1.0, 17.895169469, 78.757757664, 67.187563600),
    ),
    (
        (1.4234372777, 2.75681539, 1.3067284816, 0.17023821103),
        (1.0, 0.7370016425, 0.12021132975),
    ),
    (
        (6.657905115, 3.081226386, 0.42868294337, 0.017337203997),
        (1.0, 0.24197894225, 0.012258202635),
    ),
)
"""The same to seven digits, for 32 bits and fewer: XLA computes them in a fifth of the time."""


def _ratio(x: Any, part: int) -> tuple[Any, Any]:
    """Return the numerator and the denominator of one part, of its variable."""
    tables = _QUANTILES if x.dtype.itemsize > 4 else _SHORT_QUANTILES
    top, bottom = tables[part]
    return polynomial(x, top), polynomial(x, bottom)


def _lower_quantile(log_p: Any) -> Any:
    """Return x with Φ(x) = p for p <= 0.075, from log p."""
    root = jnp.sqrt(-log_p)
    near, far = _ratio(root - 1.6, 1), _ratio(root - 5, 2)
    top, bottom = (jnp.where(root <= 5, *both) for both in zip(near, far, strict=True))
    return -top / bottom


@custom_jvp
def _ndtri(p: Any) -> Any:
    from_middle = p - 0.5
    upper = from_middle > 0
    inside = (p > 0) & (p < 1)
    central = jnp.abs(from_middle) <= 0.425
    top, bottom = _ratio(0.180625 - from_middle * from_middle, 0)
    lower = jnp.where(upper, 1 - p, p)
    tail = _lower_quantile(jnp.log(jnp.where(inside & ~central, lower, 0.05)))
    x = jnp.where(central, from_middle * (top / bottom), jnp.where(upper, -tail, tail))
    ends = jnp.where(p == 0, -np.inf, jnp.where(p == 1, np.inf, np.nan))
    return jnp.where(inside, x, ends)


_ndtri.defjvps(lambda t, y, p: t * jnp.exp(0.5 * y * y + _HALF_LOG_TAU))


@fused
def ndtri(p: ArrayLike) -> Any:
    """Return the quantiles of the standard normal distribution, the inverse of ``ndtr``.

    Args:
      p: a real array of probabilities; integers become floating.

    ∓inf at 0 and 1, NaN outside; exact also for the smallest p.  Source: M. J. Wichura, AS 241.

    >>> from jxkernel.scipy import special
    >>> special.ndtri(0.975).round(2)
    Array(1.9599999, dtype=float32)
    """
    return computed("ndtri", _ndtri, p)


@custom_jvp
def _erfcinv(y: Any) -> Any:
    small = (y > 0) & (y < 0.15)
    # Half of the least normal number would be flushed to 0.
    tail = -_lower_quantile(jnp.log(jnp.where(small, y, 0.1)) - number_log(2)) / sqrt(2)
    # 1 - y may be rounded to 1 for y < 0.
    return jnp.where(small, tail, jnp.where(y < 0, np.nan, ops.erf_inv(1 - y)))


_erfcinv.defjvps(lambda t, x, y: -t * sqrt(pi) / 2 * jnp.exp(x * x))


@fused
def erfcinv(y: ArrayLike) -> Any:
    """Return the inverse of erfc: inf at 0, -inf at 2, NaN outside.

    Args:
      y: a real array; integers become floating.

    Exact also for the smallest y.

    >>> from jxkernel.scipy import special
    >>> special.erfcinv(1.0)
    Array(0., dtype=float32)
    """
    return computed("erfcinv", _erfcinv, y)
