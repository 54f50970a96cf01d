"""Complex numbers: their parts, conjugation and modulus.

Cotangents follow the convention that the pairing of a cotangent with a tangent is the real part
of their product, without conjugation: transposes then never conjugate, and the gradient of a real
function of z = x + iy is ∂x - i ∂y.
"""

from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import abstractify
from jxkernel.core.zeros import zero_scalar
from jxkernel.ops.arithmetic import div, mul, neg, sign
from jxkernel.ops.compare import eq
from jxkernel.ops.families import (
    COMPLEX,
    bind_binary,
    nary,
    transpose_of_terms,
    unary,
)
from jxkernel.ops.select import select

__all__ = [
    "abs",
    "abs_p",
    "complex",
    "complex_p",
    "conj",
    "conj_p",
    "imag",
    "imag_p",
    "real",
    "real_p",
]

_COMPONENTS = (np.float32, np.float64)


def _component_dtype(dtype: Any) -> Any:
    """Return the dtype of a complex number's parts; a real dtype as it is."""
    return np.dtype(f"float{4 * dtype.itemsize}") if dtype.kind == "c" else dtype


def _complex_dtype(dtype: Any) -> Any:
    """Return the complex dtype whose parts have a given dtype."""
    return np.dtype(f"complex{16 * dtype.itemsize}") if dtype.kind == "f" else dtype


# ---------------------------------------------------------------- real, imag, complex

real_p = unary(
    "real",
    COMPLEX,
    lower="stablehlo.real",
    reference=np.real,
    jvp=None,
    linear=True,
    result_dtype=_component_dtype,
    transpose=transpose_of_terms(lambda ct, x: complex(ct, zero_scalar(abstractify(ct)))),
)


def real(x: Any) -> Any:
    """Return the real part of an array of a complex dtype.  Linear.  StableHLO ``real``."""
    return real_p.bind(x)


# Re(ct · Im z) = Re(-i ct · z).
imag_p = unary(
    "imag",
    COMPLEX,
    lower="stablehlo.imag",
    reference=np.imag,
    jvp=None,
    linear=True,
    result_dtype=_component_dtype,
    transpose=transpose_of_terms(lambda ct, x: complex(zero_scalar(abstractify(ct)), neg(ct))),
)


def imag(x: Any) -> Any:
    """Return the imaginary part of an array of a complex dtype.  Linear.  StableHLO ``imag``."""
    return imag_p.bind(x)


def _with_parts(real_part: Any, imag_part: Any) -> Any:
    real_part, imag_part = np.broadcast_arrays(real_part, imag_part)
    result = np.empty(real_part.shape, _complex_dtype(real_part.dtype))
    result.real, result.imag = real_part, imag_part
    return result


# Re(ct · (x + iy)) = Re(ct) · x - Im(ct) · y.
complex_p = nary(
    "complex",
    (_COMPONENTS, _COMPONENTS),
    lower="stablehlo.complex",
    reference=_with_parts,
    jvp=(
        lambda t, x, y, z: complex(t, zero_scalar(abstractify(t))),
        lambda t, x, y, z: complex(zero_scalar(abstractify(t)), t),
    ),
    result_dtype=_complex_dtype,
    transpose=transpose_of_terms(lambda ct, x, y: real(ct), lambda ct, x, y: neg(imag(ct))),
)


def complex(x: Any, y: Any) -> Any:
    """Return x + iy of two arrays of dtype float32 or float64.  Linear.  StableHLO ``complex``."""
    return bind_binary(complex_p, x, y)


# ---------------------------------------------------------------- conj


def _conj_lower(context: Any, x: Any) -> Any:
    part = hlo.tensor_type(context.avals_in[0].shape, _component_dtype(context.avals_in[0].dtype))
    real_part = context.value("stablehlo.real", part, (x,))
    imag_part = context.value("stablehlo.imag", part, (x,))
    negated = context.value("stablehlo.negate", part, (imag_part,))
    return context.value("stablehlo.complex", context.out_type, (real_part, negated))


# Re(ct · conj z) = Re(conj ct · z).
conj_p = unary(
    "conj",
    COMPLEX,
    lower=_conj_lower,
    reference=np.conj,
    jvp=None,
    linear=True,
    transpose=transpose_of_terms(lambda ct, x: conj(ct)),
)


def conj(x: Any) -> Any:
    """Return the complex conjugate; of a real array, the array as complex numbers.

    Linear over the reals.
    """
    if dtypes.issubdtype(abstractify(x).dtype, np.complexfloating):
        return conj_p.bind(x)
    return complex(x, zero_scalar(abstractify(x)))


# ---------------------------------------------------------------- abs


def _abs_derivative(t: Any, x: Any, y: Any) -> Any:
    """Real: t · sign x.  Complex: Re(t · conj x) / |x|, and 0 at 0."""
    if not dtypes.issubdtype(abstractify(x).dtype, np.complexfloating):
        return mul(t, sign(x))
    length = select(eq(y, 0), 1, y)
    return div(real(mul(t, conj(x))), length)


abs_p = unary(
    "abs",
    (np.signedinteger, np.inexact),
    lower="stablehlo.abs",
    reference=np.abs,
    jvp=_abs_derivative,
    result_dtype=_component_dtype,
)


def abs(x: Any) -> Any:
    """Return |x|, for signed, floating and complex dtypes; the least integer gives itself.

    The derivative at 0 is 0.  StableHLO ``abs``.
    """
    return abs_p.bind(x)
