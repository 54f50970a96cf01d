"""erfc and the inverse of erf of float32 numbers, without branches: see ``vectorized``.

XLA's own lose digits where they matter: erfc far out, where exp(-x²) has the error of x², and the
inverse near 1, where 1 - x² has it.
"""

from math import inf, nan

from jxkernel.primitives.elementwise.formula import Formula
from jxkernel.primitives.elementwise.vectorized import logarithm

__all__ = ["complementary_error", "inverse_error"]

_HALF_THE_BITS = -(1 << 12)


def complementary_error(x: Formula) -> Formula:
    """Return erfc(x): the operation's exp(-x²), times what the rounding of x² took from it.

    With h the first half of the bits of x, x² = h² + (x + h) (x - h), where h² is exact.
    """
    value = x.erfc()
    first = (x.bits() & _HALF_THE_BITS).bits()
    lost = (first * first - x * x) + (x + first) * (x - first)
    # Below 1 the operation has no exp(-x²), and beyond 12 its result is 0.
    return ((x > 1.0) & (x < 12.0)).where(value - value * lost, value, x)


_SPLIT = 5.25
_CENTRAL = (
    1.1584153175354004,
    0.24878498911857605,
    0.003369544865563512,
    -0.0023204940371215343,
    0.0001232065842486918,
    3.4725228033494204e-05,
    -4.832083504879847e-06,
    -3.5867842029801977e-07,
    1.2442062313766655e-07,
    -8.120557559720964e-09,
)
_TAIL = (
    3.083885669708252,
    1.0052591562271118,
    0.0053711882792413235,
    -0.0037551941350102425,
    0.0024871143978089094,
    -0.0016631023027002811,
    0.0009776822989806733,
    -0.00041565022547729313,
    -3.24859211104922e-05,
    0.00012299037189222872,
)
"""Of y / x, in w - 1.125, and beyond the split in √w - 3.25, with w = -log(1 - x²)."""


def inverse_error(x: Formula) -> Formula:
    """Return the y with erf(y) = x, in float32: at most 2 ulp from it.

    1 - x² is a product of two numbers, of which 1 - |x| is exact.
    """
    size = x.magnitude()
    w = -logarithm((1.0 - size) * (1.0 + size), -(size * size))
    central = w < _SPLIT
    place = central.where(w - 1.125, w.sqrt() - 3.25, w)
    ratio = central.where(_CENTRAL[-1], _TAIL[-1], place)
    for pair in reversed([*zip(_CENTRAL, _TAIL, strict=True)][:-1]):
        ratio = ratio * place + central.where(*pair, place)
    end = size.equals(1.0).where(x * inf, nan, x)
    return (size < 1.0).where(x * ratio, end, x)
