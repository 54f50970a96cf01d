"""log |Γ| and ψ of float32 numbers, in float64 and without branches: see ``vectorized``.

For x < ½ the reflection of x at ½ tells the function of 1 - x.  Arguments below 8.5 are raised by
eight with the recurrence, in one division or one logarithm; then the asymptotic series has as many
digits as a float64 (DLMF 5.5 and 5.11).
"""

from math import factorial, inf, log, nan, pi

import numpy as np

from jxkernel.primitives.elementwise.formula import Formula
from jxkernel.primitives.elementwise.vectorized import wide_magnitude

__all__ = ["LOG_GAMMA_AT_2", "digamma_function", "log_gamma"]

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)
_RAISED, _FAR = 8, 8.5

LOG_GAMMA_AT_2 = (
    0.42278433509846714,
    0.32246703342411322,
    -0.067352301053198095,
    0.020580808427784548,
    -0.0073855510286739853,
    0.0028905103307415233,
    -0.001192753911703261,
    0.00050966952474304242,
    -0.00022315475845357938,
    9.9457512781808534e-5,
    -4.4926236738133142e-5,
    2.0507212775670692e-5,
    -9.4394882752683959e-6,
    4.3748667899074878e-6,
    -2.0392157538013662e-6,
    9.5514121304074198e-7,
    -4.492469198764566e-7,
    2.1207184805554666e-7,
    -1.00432248239681e-7,
    4.7698101693639806e-8,
    -2.2711094608943165e-8,
    1.0838659214896954e-8,
    -5.1834750419700467e-9,
    2.4836745438024783e-9,
    -1.1921401405860912e-9,
    5.731367241678862e-10,
    -2.7595228851242331e-10,
)
"""Taylor coefficients of log Γ(2 + z) / z at 0: 1 - γ, then (-1)ᵏ (ζ(k) - 1) / k for k ≥ 2 (DLMF
5.7.3)."""

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
"""B₂, B₄, ... (DLMF 24.2)."""
_STIRLING = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(_BERNOULLI, 1)]
_OF_SLOPE = [b / (2 * k) for k, b in enumerate(_BERNOULLI, 1)]
_SINE = [(-1) ** k / factorial(2 * k + 1) for k in range(8)]
_COSINE = [(-1) ** k / factorial(2 * k) for k in range(9)]


def log_gamma(x: Formula) -> Formula:
    """Return log |Γ(x)| of float32 numbers: inf at the poles and at ±inf.

    Between ½ and 2½, where it has its zeros 1 and 2, it is the series at 2.
    """
    wide = _wide(x)
    reflected = wide < 0.5
    y = reflected.where(1.0 - wide, wide, wide)
    factors, z = _raised(y)
    part = _turn_part(wide)
    sine, _ = _sine_and_cosine_of_half_turns(part)
    factors = reflected.where(factors * (pi / sine), factors, factors)

    at_one, near = wide < 1.5, ~reflected & (wide <= 2.5)
    logarithm = _logarithm((near & at_one).where(wide, z, z))
    inverse = _inverse(z)
    series = inverse * (inverse * inverse).polynomial(_STIRLING)
    stirling = (z - 0.5) * logarithm - z + (series + 0.5 * log(2 * pi))
    rest = _logarithm(factors)
    value = reflected.where(rest - stirling, stirling - rest, z)

    shift = wide - at_one.where(1.0, 2.0, wide)
    shift = near.where(shift, 0.0, shift)
    at_zeros = shift * shift.polynomial(LOG_GAMMA_AT_2[:20])
    at_zeros = at_one.where(at_zeros - logarithm, at_zeros, z)
    value = near.where(at_zeros, value, z)
    pole = (reflected & part.equals(0.0)) | wide.magnitude().equals(inf)
    return pole.where(inf, value, value).convert(_F32)


def digamma_function(x: Formula) -> Formula:
    """Return ψ(x) of float32 numbers: NaN at the negative integers and at -inf, ∓inf at ±0."""
    wide = _wide(x)
    reflected = wide < 0.5
    y = reflected.where(1.0 - wide, wide, wide)
    near = y < _FAR
    above, below = y.scope.lift(1.0, _F64), y
    for k in range(1, _RAISED):
        term = y + float(k)
        above, below = above * term + below, below * term
    passed = near.where(above / below, 0.0, y)
    z = near.where(y + float(_RAISED), y, y)
    inverse = _inverse(z)
    square = inverse * inverse
    logarithm = z.equals(inf).where(inf, _logarithm(z), z)
    value = logarithm - 0.5 * inverse - square * square.polynomial(_OF_SLOPE) - passed

    part = _turn_part(wide)
    sine, cosine = _sine_and_cosine_of_half_turns(part)
    cotangent = pi * cosine / sine
    cotangent = (part < 0.0).where(-cotangent, cotangent, cotangent)
    value = reflected.where(value - cotangent, value, value)
    value = (reflected & part.equals(0.0)).where(nan, value, value).convert(_F32)
    zero = x.is_negative().where(inf, -inf, value)
    return wide.equals(0.0).where(zero, value, value)


def _wide(x: Formula) -> Formula:
    size = wide_magnitude(x)
    return x.is_negative().where(-size, size, size)


def _raised(y: Formula) -> tuple[Formula, Formula]:
    """Return y (y + 1) ... (y + 7) and y + 8, or 1 and y where y is large enough."""
    factors = y
    for k in range(1, _RAISED):
        factors = factors * (y + float(k))
    near = y < _FAR
    return near.where(factors, 1.0, y), near.where(y + float(_RAISED), y, y)


def _turn_part(x: Formula) -> Formula:
    """Return x less the nearest whole number: exact."""
    return x - x.round_even()


def _sine_and_cosine_of_half_turns(part: Formula) -> tuple[Formula, Formula]:
    """Return sin π|x| and cos πx for |x| <= ½, by their series up to π/4."""
    size = part.magnitude()
    steep = size > 0.25
    angle = pi * steep.where(0.5 - size, size, size)
    square = angle * angle
    sine, cosine = angle * square.polynomial(_SINE), square.polynomial(_COSINE)
    return steep.where(cosine, sine, sine), steep.where(sine, cosine, sine)


_MANTISSA, _BIAS = 52, 1023
_ONE, _HALF_ROOT_2, _WHOLE = 0x3FF0000000000000, 0x3FE6A09E667F3BCD, 0x4330000000000000
"""Bits of 1, √½ and 2^52: the low bits of the last, taken for a float64, are whole numbers."""
_LOGARITHM = [2 / (2 * k + 1) for k in range(11)]
"""Of log m = 2 artanh((m - 1) / (m + 1))."""


def _logarithm(x: Formula) -> Formula:
    """Return log x of normal numbers x > 0, from x = 2ᵉ m with √½ ≤ m < √2.

    For that of float64 numbers XLA calls the C library, one after another.
    """
    bits = x.bits()
    biased = (bits + (_ONE - _HALF_ROOT_2)) >> _MANTISSA
    m = (bits - ((biased - _BIAS) << _MANTISSA)).bits()
    e = (biased | _WHOLE).bits() - (2.0**_MANTISSA + _BIAS)
    slope = (m - 1.0) * _inverse(m + 1.0)
    return e * log(2) + slope * (slope * slope).polynomial(_LOGARITHM)


_INVERSE_START = 0x7FDE623822FC16E6
"""Less the bits of x these are those of 1 / x, to a twentieth."""


def _inverse(x: Formula) -> Formula:
    """Return 1 / x of normal numbers x > 0, by Newton's method.

    XLA stores the result of a division that is read twice, and so breaks the loop into many.
    """
    inverse = (_INVERSE_START - x.bits()).bits()
    for _ in range(4):
        inverse = inverse * (2.0 - x * inverse)
    return inverse
