"""Complex numbers: their parts, conjugation, sign and modulus; the latter two of reals as well.

Cotangents follow the convention that the pairing of a cotangent with a tangent is the real part
of their product, without conjugation: transposes then never conjugate, and the gradient of a real
function of z = x + iy is ∂x - i ∂y.
"""

from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.zeros import Zero, scalar_like, zero_scalar
from jxkernel.dtypes import DType, DTypeLike
from jxkernel.primitives.elementwise.arithmetic import div, mul, neg
from jxkernel.primitives.elementwise.compare import eq
from jxkernel.primitives.elementwise.families import (
    COMPLEX,
    NUMERIC,
    bind_binary,
    nary,
    transpose_of_terms,
    unary,
)
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.reference import untyped_numpy
from jxkernel.primitives.sharding import rules
from jxkernel.runtime import ArrayLike

__all__ = [
    "abs",
    "abs_p",
    "complex",
    "complex_p",
    "component_dtype",
    "conj",
    "conj_p",
    "imag",
    "imag_p",
    "real",
    "real_p",
    "sign",
    "sign_p",
]

_COMPONENTS = (np.float32, np.float64)


def component_dtype(dtype: DTypeLike) -> Any:
    """Return the dtype of a complex number's parts; a real dtype as it is."""
    return np.dtype(f"float{4 * dtype.itemsize}") if dtype.kind == "c" else dtype


def _complex_dtype(dtype: DType) -> Any:
    """Return the complex dtype whose parts have a given dtype."""
    return np.dtype(f"complex{16 * dtype.itemsize}") if dtype.kind == "f" else dtype


# ---------------------------------------------------------------- real, imag, complex

real_p = unary(
    "real",
    COMPLEX,
    lower="stablehlo.real",
    reference=untyped_numpy.real,
    jvp=None,
    linear=True,
    result_dtype=component_dtype,
    transpose=transpose_of_terms(lambda ct, x: complex(ct, zero_scalar(abstractify(ct)))),
)


def real(x: ArrayLike) -> Any:
    """Return the real part of an array of a complex dtype.  Linear.  StableHLO ``real``.

    Args:
      x: an array of a complex dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.real(jnp.array([1 + 2j, 3 - 1j])).tolist()
    [1.0, 3.0]
    """
    return real_p.bind(x)


# Re(ct · Im z) = Re(-i ct · z).
imag_p = unary(
    "imag",
    COMPLEX,
    lower="stablehlo.imag",
    reference=untyped_numpy.imag,
    jvp=None,
    linear=True,
    result_dtype=component_dtype,
    transpose=transpose_of_terms(lambda ct, x: complex(zero_scalar(abstractify(ct)), neg(ct))),
)


def imag(x: ArrayLike) -> Any:
    """Return the imaginary part of an array of a complex dtype.  Linear.  StableHLO ``imag``.

    Args:
      x: an array of a complex dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.imag(jnp.array([1 + 2j, 3 - 1j])).tolist()
    [2.0, -1.0]
    """
    return imag_p.bind(x)


def _with_parts(real_part: Any, imag_part: Any) -> Any:
    real_part, imag_part = untyped_numpy.broadcast_arrays(real_part, imag_part)
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
    sharding=rules.Linear(rules.elementwise),
)


def complex(x: ArrayLike, y: ArrayLike) -> Any:
    """Return x + iy of two arrays of dtype float32 or float64.  Linear.  StableHLO ``complex``.

    Args:
      x: an array of dtype float32 or float64, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.complex(jnp.array([1.0, 0.0]), jnp.array([2.0, -5.0])).tolist()
    [(1+2j), -5j]
    """
    return bind_binary(complex_p, x, y)


# ---------------------------------------------------------------- conj


def lower_conjugate(context: Any, x: Any, aval: ShapedArray) -> Any:
    """Append the operations that negate the imaginary part of a value of a complex type."""
    part = hlo.tensor_type(aval.shape, component_dtype(aval.dtype))
    real_part = context.value("stablehlo.real", part, (x,))
    imag_part = context.value("stablehlo.imag", part, (x,))
    negated = context.value("stablehlo.negate", part, (imag_part,))
    kind = hlo.tensor_type(aval.shape, aval.dtype)
    return context.value("stablehlo.complex", kind, (real_part, negated))


def _conj_lower(context: Any, x: Any) -> Any:
    return lower_conjugate(context, x, context.avals_in[0])


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


def conj(x: ArrayLike) -> Any:
    """Return the complex conjugate; of a real array, the array as complex numbers.

    Args:
      x: an array of dtype float32 or float64, or of a complex dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    Linear over the reals.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.conj(jnp.array([1 + 2j, 3 - 1j])).tolist()
    [(1-2j), (3+1j)]
    """
    if _is_complex(x):
        return conj_p.bind(x)
    return complex(x, scalar_like(x, 0))


# ---------------------------------------------------------------- sign, abs


def _is_complex(x: Any) -> bool:
    return dtypes.issubdtype(abstractify(x).dtype, np.complexfloating)


def _length(x: Any) -> Any:
    """Return |x|, and 1 for x = 0, to divide by."""
    length = abs(x)
    return select(eq(length, 0), 1, length)


def _sign_lower(context: Any, x: Any) -> Any:
    aval = context.avals_out[0]
    if dtypes.issubdtype(aval.dtype, np.unsignedinteger):
        one = context.splat(1, aval.shape, aval.dtype)
        return context.value("stablehlo.minimum", context.out_type, (x, one))
    return context.value("stablehlo.sign", context.out_type, (x,))


def _sign_derivative(t: Any, x: Any, y: Any) -> Any:
    """Real: zero.  Complex: y turns with the part of t / |x| that is at right angles to y."""
    if not _is_complex(x):
        return Zero.tangent_of(y)
    turn = div(imag(mul(conj(y), t)), _length(x))
    return mul(y, complex(zero_scalar(abstractify(turn)), turn))


sign_p = unary("sign", NUMERIC, lower=_sign_lower, reference=np.sign, jvp=_sign_derivative)


def sign(x: ArrayLike) -> Any:
    """Return -1, 0 or 1 by the sign of x, and x / |x| for complex x; NaN for NaN, -0.0 of -0.0.

    Args:
      x: an array of a number dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    The derivative of real numbers is zero, and that of complex ones zero at 0.  StableHLO
    ``sign``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.sign(jnp.array([-2.5, 0.0, 7.0])).tolist()
    [-1.0, 0.0, 1.0]
    """
    return sign_p.bind(x)


def _abs_lower(context: Any, x: Any) -> Any:
    """Lower ``abs``; XLA gives NaN for a complex number of an infinite and a NaN part."""
    aval, kind = context.avals_out[0], context.out_type
    length = context.value("stablehlo.abs", kind, (x,))
    if context.avals_in[0].dtype not in dtypes.COMPLEX:
        return length
    infinity = context.splat(np.inf, aval.shape, aval.dtype)
    for part in ("stablehlo.real", "stablehlo.imag"):
        size = context.value("stablehlo.abs", kind, (context.value(part, kind, (x,)),))
        infinite = context.compare(size, infinity, "EQ", aval.shape, "FLOAT")
        length = context.value("stablehlo.select", kind, (infinite, infinity, length))
    return length


def _abs_derivative(t: Any, x: Any, y: Any) -> Any:
    """Real: t · sign x.  Complex: Re(t · conj x) / |x|, and 0 at 0."""
    if not _is_complex(x):
        return mul(t, sign(x))
    return div(real(mul(t, conj(x))), select(eq(y, 0), 1, y))


abs_p = unary(
    "abs",
    (np.signedinteger, np.inexact),
    lower=_abs_lower,
    reference=np.abs,
    jvp=_abs_derivative,
    result_dtype=component_dtype,
)


def abs(x: ArrayLike) -> Any:
    """Return |x|, for signed, floating and complex dtypes; the least integer gives itself.

    A complex number with an infinite part is infinite, whatever the other part is.

    Args:
      x: an array of a signed, floating or complex dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    The derivative at 0 is 0.  StableHLO ``abs``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.abs(jnp.array([-4, 2])).tolist()
    [4, 2]
    >>> lax.abs(3.0 - 4.0j).item()
    5.0
    """
    return abs_p.bind(x)
