"""Powers of two and logarithms to base 2, exact where the result or the operand is a whole power.

XLA has neither: by way of e, 2¹³ was 8192.004 and log₂ 8192 was 12.999999.  Here the exponent is
read from the bits or written into them, and only what is left goes by e.
"""

from math import inf, log, nan

import numpy as np

from jxkernel import dtypes
from jxkernel.primitives.elementwise.formula import Formula
from jxkernel.primitives.elementwise.vectorized import logarithm_less_tangent

__all__ = ["logarithm_to_base_two", "power_of_two"]

_LN_2 = log(2)
_HALF_ROOT_2 = 0.5**0.5
_HIGH = 1.4375
"""The first bits of 1 / ln 2."""


def power_of_two(x: Formula) -> Formula:
    """Return 2ˣ, as 2ⁿ exp((x - n) ln 2) with n the nearest whole number."""
    info = dtypes.finfo(x.dtype)
    whole = x.round_even()
    value = ((x - whole) * _LN_2).exp().bits()
    value = (value + (whole.convert(value.dtype) << info.nmant)).bits()
    value = (x < float(info.minexp)).where(0.0, value, value)
    return (x >= float(info.maxexp)).where(inf, value, value)


def logarithm_to_base_two(x: Formula) -> Formula:
    """Return log₂ x = e + log₂ m, where x = 2ᵉ m and √½ ≤ m < √2.

    Of a denormal number, which XLA's arithmetic takes for 0, the bits are the number.
    """
    info = dtypes.finfo(x.dtype)
    bits = x.bits()
    least, end, start = [
        int(np.array(value, x.dtype).view(bits.dtype)) for value in (info.tiny, inf, _HALF_ROOT_2)
    ]
    denormal = bits < least
    normal = denormal.where(bits.convert(x.dtype).bits(), bits, bits)
    exponent = (normal - start) >> info.nmant
    fraction = (normal - (exponent << info.nmant)).bits()
    exponent = denormal.where(exponent + (info.minexp - info.nmant), exponent, exponent)
    value = exponent.convert(x.dtype) + _of_fraction(fraction)
    special = (bits << 1).equals(0).where(-inf, nan, x)
    special = bits.equals(end).where(inf, special, x)
    return ((bits > 0) & (bits < end)).where(value, special, x)


def _of_fraction(m: Formula) -> Formula:
    """Return log₂ m; of float32 with less error than the operation has, and as fast."""
    if m.dtype != np.float32:
        return m.log() * (1 / _LN_2)
    f = m - 1.0
    return f * _HIGH + (logarithm_less_tangent(f) * (1 / _LN_2) + f * (1 / _LN_2 - _HIGH))
