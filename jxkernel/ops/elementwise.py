"""Elementwise arithmetic, powers, exponentials, trigonometry, rounding and signs.

Each primitive is one section: its declaration with all its rules, then the operation.  ``t`` is
a tangent, ``ct`` a cotangent, ``y`` the result.  Operands agree in dtype and shape; a scalar may
stand beside any shape.
"""

from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.zeros import is_linear, scalar_like
from jxkernel.ops.families import (
    ANY,
    COMPLEX,
    FLOATING,
    INEXACT,
    NOT_DIFFERENTIABLE,
    NUMERIC,
    SIGNED,
    nary,
    transpose_of_terms,
    unary,
)

_PYTHON_SCALARS = (int, float, complex)


def _binary(primitive: Any, x: Any, y: Any) -> Any:
    """Bind two operands; a Python number takes the dtype of the other operand."""
    if type(y) in _PYTHON_SCALARS:
        y = scalar_like(x, y)
    elif type(x) in _PYTHON_SCALARS:
        x = scalar_like(y, x)
    return primitive.bind(x, y)


# ---------------------------------------------------------------- neg

neg_p = unary(
    "neg",
    NUMERIC,
    lower="stablehlo.negate",
    reference=np.negative,
    jvp=None,
    linear=True,
    transpose=transpose_of_terms(lambda ct, x: neg(ct)),
)


def neg(x: Any) -> Any:
    """Return -x for any numeric dtype; integers wrap.  Linear.  StableHLO ``negate``."""
    return neg_p.bind(x)


# ---------------------------------------------------------------- add, sub, mul, div

add_p = nary(
    "add",
    (ANY, ANY),
    lower="stablehlo.add",
    reference=np.add,
    jvp=(lambda t, x, y, z: t, lambda t, x, y, z: t),
    transpose=transpose_of_terms(lambda ct, x, y: ct, lambda ct, x, y: ct),
)


def add(x: Any, y: Any) -> Any:
    """Return x + y; integers wrap, booleans are or-ed.  Linear.  StableHLO ``add``."""
    return _binary(add_p, x, y)


sub_p = nary(
    "sub",
    (NUMERIC, NUMERIC),
    lower="stablehlo.subtract",
    reference=np.subtract,
    jvp=(lambda t, x, y, z: t, lambda t, x, y, z: neg(t)),
    transpose=transpose_of_terms(lambda ct, x, y: ct, lambda ct, x, y: neg(ct)),
)


def sub(x: Any, y: Any) -> Any:
    """Return x - y; integers wrap.  Linear.  StableHLO ``subtract``."""
    return _binary(sub_p, x, y)


mul_p = nary(
    "mul",
    (ANY, ANY),
    lower="stablehlo.multiply",
    reference=np.multiply,
    jvp=(lambda t, x, y, z: mul(t, y), lambda t, x, y, z: mul(x, t)),
    transpose=transpose_of_terms(lambda ct, x, y: mul(ct, y), lambda ct, x, y: mul(x, ct)),
)


def mul(x: Any, y: Any) -> Any:
    """Return x · y; integers wrap, booleans are and-ed.  Bilinear.  StableHLO ``multiply``."""
    return _binary(mul_p, x, y)


# ---------------------------------------------------------------- sin, cos

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
