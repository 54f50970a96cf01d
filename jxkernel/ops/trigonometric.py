"""Trigonometric and hyperbolic functions and their inverses, elementwise; angles in radians.

Derivatives of inverse functions are written as products of simple factors, 1 - x² as
(1 - x)(1 + x), which keeps them accurate where they grow.
"""

from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.avals import abstractify
from jxkernel.ops.arithmetic import add, div, mul, neg, square, sub
from jxkernel.ops.exponential import rsqrt
from jxkernel.ops.families import FLOATING, INEXACT, bind_binary, nary, unary

__all__ = [
    "acos",
    "acos_p",
    "acosh",
    "acosh_p",
    "asin",
    "asin_p",
    "asinh",
    "asinh_p",
    "atan",
    "atan2",
    "atan2_p",
    "atan_p",
    "atanh",
    "atanh_p",
    "cos",
    "cos_p",
    "cosh",
    "cosh_p",
    "sin",
    "sin_p",
    "sinh",
    "sinh_p",
    "tan",
    "tan_p",
    "tanh",
    "tanh_p",
]


def _one_minus_square(x: Any) -> Any:
    return mul(sub(1, x), add(x, 1))


# ---------------------------------------------------------------- sin, cos, tan

sin_p = unary(
    "sin",
    INEXACT,
    lower="stablehlo.sine",
    reference=np.sin,
    jvp=lambda t, x, y: mul(t, cos(x)),
)


def sin(x: Any) -> Any:
    """Return the sine of x in radians, for floating and complex dtypes.  StableHLO ``sine``."""
    return sin_p.bind(x)


cos_p = unary(
    "cos",
    INEXACT,
    lower="stablehlo.cosine",
    reference=np.cos,
    jvp=lambda t, x, y: neg(mul(t, sin(x))),
)


def cos(x: Any) -> Any:
    """Return the cosine of x in radians, for floating and complex dtypes.  StableHLO ``cosine``."""
    return cos_p.bind(x)


tan_p = unary(
    "tan",
    INEXACT,
    lower="stablehlo.tan",
    reference=np.tan,
    jvp=lambda t, x, y: mul(t, add(square(y), 1)),
)


def tan(x: Any) -> Any:
    """Return the tangent of x in radians, for floating and complex dtypes.  StableHLO ``tan``."""
    return tan_p.bind(x)


# ---------------------------------------------------------------- asin, acos, atan, atan2

asin_p = unary(
    "asin",
    INEXACT,
    lower="chlo.asin",
    reference=np.arcsin,
    jvp=lambda t, x, y: mul(t, rsqrt(_one_minus_square(x))),
)


def asin(x: Any) -> Any:
    """Return the inverse sine: NaN for real x outside [-1, 1], where its slope is infinite.

    CHLO ``asin``.
    """
    return asin_p.bind(x)


acos_p = unary(
    "acos",
    INEXACT,
    lower="chlo.acos",
    reference=np.arccos,
    jvp=lambda t, x, y: neg(mul(t, rsqrt(_one_minus_square(x)))),
)


def acos(x: Any) -> Any:
    """Return the inverse cosine: NaN for real x outside [-1, 1], where its slope is infinite.

    CHLO ``acos``.
    """
    return acos_p.bind(x)


atan_p = unary(
    "atan",
    INEXACT,
    lower="chlo.atan",
    reference=np.arctan,
    jvp=lambda t, x, y: div(t, add(square(x), 1)),
)


def atan(x: Any) -> Any:
    """Return the inverse tangent, for floating and complex dtypes.  CHLO ``atan``."""
    return atan_p.bind(x)


atan2_p = nary(
    "atan2",
    (FLOATING, FLOATING),
    lower="stablehlo.atan2",
    reference=np.arctan2,
    jvp=(
        lambda t, x, y, z: mul(t, div(y, add(square(x), square(y)))),
        lambda t, x, y, z: mul(t, div(neg(x), add(square(x), square(y)))),
    ),
)


def atan2(x: Any, y: Any) -> Any:
    """Return the angle of the point (y, x), in [-π, π], for floating dtypes.

    The derivative at the origin is NaN.  StableHLO ``atan2``.
    """
    return bind_binary(atan2_p, x, y)


# ---------------------------------------------------------------- sinh, cosh, tanh

sinh_p = unary(
    "sinh",
    INEXACT,
    lower="chlo.sinh",
    reference=np.sinh,
    jvp=lambda t, x, y: mul(t, cosh(x)),
)


def sinh(x: Any) -> Any:
    """Return the hyperbolic sine, for floating and complex dtypes.  CHLO ``sinh``."""
    return sinh_p.bind(x)


cosh_p = unary(
    "cosh",
    INEXACT,
    lower="chlo.cosh",
    reference=np.cosh,
    jvp=lambda t, x, y: mul(t, sinh(x)),
)


def cosh(x: Any) -> Any:
    """Return the hyperbolic cosine, for floating and complex dtypes.  CHLO ``cosh``."""
    return cosh_p.bind(x)


tanh_p = unary(
    "tanh",
    INEXACT,
    lower="stablehlo.tanh",
    reference=np.tanh,
    jvp=lambda t, x, y: mul(t, _one_minus_square(y)),
)


def tanh(x: Any) -> Any:
    """Return the hyperbolic tangent, for floating and complex dtypes.  StableHLO ``tanh``."""
    return tanh_p.bind(x)


# ---------------------------------------------------------------- asinh, acosh, atanh

asinh_p = unary(
    "asinh",
    INEXACT,
    lower="chlo.asinh",
    reference=np.arcsinh,
    jvp=lambda t, x, y: mul(t, rsqrt(add(square(x), 1))),
)


def asinh(x: Any) -> Any:
    """Return the inverse hyperbolic sine, for floating and complex dtypes.  CHLO ``asinh``."""
    return asinh_p.bind(x)


def _acosh_slope(x: Any) -> Any:
    """Return 1 / (√(x - 1) √(x + 1)); one root of the product would cross its branch cut."""
    if dtypes.issubdtype(abstractify(x).dtype, np.complexfloating):
        return mul(rsqrt(sub(x, 1)), rsqrt(add(x, 1)))
    return rsqrt(mul(sub(x, 1), add(x, 1)))


acosh_p = unary(
    "acosh",
    INEXACT,
    lower="chlo.acosh",
    reference=np.arccosh,
    jvp=lambda t, x, y: mul(t, _acosh_slope(x)),
)


def acosh(x: Any) -> Any:
    """Return the inverse hyperbolic cosine: NaN for real x < 1; its slope at 1 is infinite.

    CHLO ``acosh``.
    """
    return acosh_p.bind(x)


atanh_p = unary(
    "atanh",
    INEXACT,
    lower="chlo.atanh",
    reference=np.arctanh,
    jvp=lambda t, x, y: div(t, _one_minus_square(x)),
)


def atanh(x: Any) -> Any:
    """Return the inverse hyperbolic tangent: ±inf at ±1, NaN for real x beyond.  CHLO ``atanh``."""
    return atanh_p.bind(x)
