"""Trigonometric and hyperbolic functions and their inverses, elementwise; angles in radians.

Derivatives of inverse functions are written as products of simple factors, 1 - x² as
(1 - x)(1 + x), which keeps them accurate where they grow.
"""

from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import abstractify
from jxkernel.primitives.elementwise.accuracy import Accuracy, accuracy_attributes, bind_accurate
from jxkernel.primitives.elementwise.arithmetic import (
    add,
    clamp,
    div,
    mul,
    neg,
    one_minus_square,
    reciprocal,
    square,
    sub,
)
from jxkernel.primitives.elementwise.complex import abs, component_dtype
from jxkernel.primitives.elementwise.exponential import rsqrt
from jxkernel.primitives.elementwise.families import (
    INEXACT,
    bind_binary,
    broadcast_values,
    lower_by_name,
    nary,
    unary,
)
from jxkernel.primitives.elementwise.formula import Formula, Scope
from jxkernel.primitives.elementwise.identity import stop_gradient
from jxkernel.primitives.elementwise.vectorized import (
    cosine,
    hyperbolic_cosine,
    hyperbolic_sine,
    inverse_cosine,
    inverse_sine,
    point_angle,
    sine,
    tangent,
    vectorized,
)
from jxkernel.primitives.reference import untyped_numpy
from jxkernel.runtime import ArrayLike

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


# ---------------------------------------------------------------- sin, cos, tan


def _circular_rule(name: str, by_parts: Any) -> Any:
    """Return the lowering of sin or cos: by name for reals, from real functions of the parts."""

    def lower(context: Any, z: Any, *, accuracy: Accuracy = None) -> Any:
        aval, kind = context.avals_out[0], context.out_type
        if not dtypes.issubdtype(aval.dtype, np.complexfloating):
            return context.value(name, kind, (z,), accuracy_attributes(accuracy))
        part = hlo.tensor_type(aval.shape, component_dtype(aval.dtype))

        def apply(operation: str, *operands: Any) -> Any:
            return context.value(operation, part, operands)

        x, y = apply("stablehlo.real", z), apply("stablehlo.imag", z)
        zero = context.splat(0, aval.shape, component_dtype(aval.dtype))
        on_axis = context.compare(x, zero, "EQ", aval.shape, "FLOAT")
        return context.value("stablehlo.complex", kind, by_parts(apply, x, y, on_axis))

    return lower


def _sine_of_parts(apply: Any, x: Any, y: Any, on_axis: Any) -> tuple[Any, Any]:
    """Return sin x cosh y and cos x sinh y; at x = 0 the first is x even where cosh overflows."""
    real_part = apply("stablehlo.multiply", apply("stablehlo.sine", x), apply("chlo.cosh", y))
    imag_part = apply("stablehlo.multiply", apply("stablehlo.cosine", x), apply("chlo.sinh", y))
    return apply("stablehlo.select", on_axis, x, real_part), imag_part


def _cosine_of_parts(apply: Any, x: Any, y: Any, on_axis: Any) -> tuple[Any, Any]:
    """Return cos x cosh y and -sin x sinh y; at x = 0 the second is zero of the same sign."""
    real_part = apply("stablehlo.multiply", apply("stablehlo.cosine", x), apply("chlo.cosh", y))
    sine = apply("stablehlo.negate", apply("stablehlo.sine", x))
    imag_part = apply("stablehlo.multiply", sine, apply("chlo.sinh", y))
    flat = apply("stablehlo.multiply", sine, apply("stablehlo.sign", y))
    return real_part, apply("stablehlo.select", on_axis, flat, imag_part)


sin_p = unary(
    "sin",
    INEXACT,
    work=8,
    lower=vectorized(sine, _circular_rule("stablehlo.sine", _sine_of_parts)),
    reference=np.sin,
    jvp=lambda t, x, y: mul(t, cos(x)),
)


def sin(x: ArrayLike, *, accuracy: Accuracy = None) -> Any:
    """Return the sine of x in radians, for floating and complex dtypes.  StableHLO ``sine``.

    Args:
      x: an array of a floating or complex dtype, or a number.
      accuracy: how exact the result must be: a ``Tolerance`` or an ``AccuracyMode``.

    Raises:
      TypeError: the operand has another dtype.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.sin(jnp.array([0.0, 1.0]))).round(3)
    array([0.   , 0.841], dtype=float32)
    """
    return bind_accurate(sin_p, x, accuracy)


cos_p = unary(
    "cos",
    INEXACT,
    work=8,
    lower=vectorized(cosine, _circular_rule("stablehlo.cosine", _cosine_of_parts)),
    reference=np.cos,
    jvp=lambda t, x, y: neg(mul(t, sin(x))),
)


def cos(x: ArrayLike, *, accuracy: Accuracy = None) -> Any:
    """Return the cosine of x in radians, for floating and complex dtypes.  StableHLO ``cosine``.

    Args:
      x: an array of a floating or complex dtype, or a number.
      accuracy: how exact the result must be: a ``Tolerance`` or an ``AccuracyMode``.

    Raises:
      TypeError: the operand has another dtype.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.cos(jnp.array([0.0, 2.0]))).round(3)
    array([ 1.   , -0.416], dtype=float32)
    """
    return bind_accurate(cos_p, x, accuracy)


tan_p = unary(
    "tan",
    INEXACT,
    work=8,
    lower=vectorized(tangent, lower_by_name("stablehlo.tan")),
    reference=np.tan,
    jvp=lambda t, x, y: mul(t, add(square(y), 1)),
)


def tan(x: ArrayLike, *, accuracy: Accuracy = None) -> Any:
    """Return the tangent of x in radians, for floating and complex dtypes.  StableHLO ``tan``.

    Args:
      x: an array of a floating or complex dtype, or a number.
      accuracy: how exact the result must be: a ``Tolerance`` or an ``AccuracyMode``.

    Raises:
      TypeError: the operand has another dtype.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.tan(jnp.array([0.0, 1.0]))).round(3)
    array([0.   , 1.557], dtype=float32)
    """
    return bind_accurate(tan_p, x, accuracy)


# ---------------------------------------------------------------- asin, acos, atan, atan2

asin_p = unary(
    "asin",
    INEXACT,
    lower=vectorized(inverse_sine, lower_by_name("chlo.asin")),
    reference=np.arcsin,
    jvp=lambda t, x, y: mul(t, rsqrt(one_minus_square(x))),
)


def asin(x: ArrayLike) -> Any:
    """Return the inverse sine: NaN for real x outside [-1, 1].

    Args:
      x: an array of a floating or complex dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    The derivative at ±1 is infinite.  CHLO ``asin``.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.asin(jnp.array([0.5, -1.0, 2.0]))).round(3)
    array([ 0.524, -1.571,    nan], dtype=float32)
    """
    return asin_p.bind(x)


acos_p = unary(
    "acos",
    INEXACT,
    lower=vectorized(inverse_cosine, lower_by_name("chlo.acos")),
    reference=np.arccos,
    jvp=lambda t, x, y: neg(mul(t, rsqrt(one_minus_square(x)))),
)


def acos(x: ArrayLike) -> Any:
    """Return the inverse cosine: NaN for real x outside [-1, 1].

    Args:
      x: an array of a floating or complex dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    The derivative at ±1 is infinite.  CHLO ``acos``.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.acos(jnp.array([0.5, -1.0, 2.0]))).round(3)
    array([1.047, 3.142,   nan], dtype=float32)
    """
    return acos_p.bind(x)


atan_p = unary(
    "atan",
    INEXACT,
    lower="chlo.atan",
    reference=np.arctan,
    jvp=lambda t, x, y: div(t, add(square(x), 1)),
)


def atan(x: ArrayLike) -> Any:
    """Return the inverse tangent, for floating and complex dtypes.  CHLO ``atan``.

    Args:
      x: an array of a floating or complex dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.atan(jnp.array([1.0, -jnp.inf]))).round(3)
    array([ 0.785, -1.571], dtype=float32)
    """
    return atan_p.bind(x)


def _atan2_reference(x: Any, y: Any) -> Any:
    if x.dtype not in dtypes.COMPLEX:
        return np.arctan2(x, y)
    return -1j * untyped_numpy.log((y + 1j * x) / untyped_numpy.sqrt(x * x + y * y))


def _atan2_otherwise(context: Any, *values: Any) -> Any:
    """Append XLA's operation; in float64 it loses the sign of a denormal number."""
    angle = lower_by_name("stablehlo.atan2")(context, *values)
    aval = context.avals_out[0]
    if aval.dtype != np.float64:
        return angle
    scope, (y, _) = Scope(context, aval.shape), broadcast_values(context, values)
    bits, sign = (Formula(scope, value, aval.dtype).bits() for value in (angle, y))
    whole = np.iinfo(np.int64)
    return ((bits & whole.max) | (sign & whole.min)).bits().value


atan2_p = nary(
    "atan2",
    (INEXACT, INEXACT),
    # XLA's gives NaN of two denormal numbers.
    lower=vectorized(point_angle, _atan2_otherwise, always=True),
    reference=_atan2_reference,
    jvp=(
        lambda t, x, y, z: mul(t, div(y, add(square(x), square(y)))),
        lambda t, x, y, z: mul(t, div(neg(x), add(square(x), square(y)))),
    ),
)


def atan2(x: ArrayLike, y: ArrayLike) -> Any:
    """Return the angle of the point (y, x), in [-π, π]; for complex numbers its continuation.

    Args:
      x: an array of an inexact dtype, or a number.
      y: another of the same dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: an operand has another dtype, or the two dtypes differ.
      ShapeMismatchError: the shapes differ.

    Of complex numbers the result is -i log((y + i x) / √(x² + y²)), NaN where x² + y² = 0.  The
    derivative at the origin is NaN.  StableHLO ``atan2``.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.atan2(jnp.array([1.0, -1.0]), jnp.array([0.0, -1.0]))).round(3)
    array([ 1.571, -2.356], dtype=float32)
    """
    return bind_binary(atan2_p, x, y)


# ---------------------------------------------------------------- sinh, cosh, tanh


def _sinh_lower(context: Any, x: Any) -> Any:
    """Lower ``sinh``: of complex numbers z near the imaginary axis by their parts.

    sinh(x + iy) = sinh x · cos y + i cosh x · sin y, where XLA's (eᶻ - e⁻ᶻ) / 2 cancels.
    """
    aval, kind = context.avals_out[0], context.out_type
    far = context.value("chlo.sinh", kind, (x,))
    if aval.dtype not in dtypes.COMPLEX:
        return far
    dtype = component_dtype(aval.dtype)
    real = hlo.tensor_type(aval.shape, dtype)
    part, angle = (context.value(f"stablehlo.{name}", real, (x,)) for name in ("real", "imag"))
    parts = [
        context.value(
            "stablehlo.multiply",
            real,
            (context.value(size, real, (part,)), context.value(turn, real, (angle,))),
        )
        for size, turn in (("chlo.sinh", "stablehlo.cosine"), ("chlo.cosh", "stablehlo.sine"))
    ]
    near = context.value("stablehlo.complex", kind, parts)
    length = context.value("stablehlo.abs", real, (part,))
    one = context.splat(1, aval.shape, dtype)
    is_near = context.compare(length, one, "LT", aval.shape, "FLOAT")
    return context.value("stablehlo.select", kind, (is_near, near, far))


sinh_p = unary(
    "sinh",
    INEXACT,
    lower=vectorized(hyperbolic_sine, _sinh_lower, always=True),
    reference=np.sinh,
    jvp=lambda t, x, y: mul(t, cosh(x)),
)


def sinh(x: ArrayLike) -> Any:
    """Return the hyperbolic sine, for floating and complex dtypes.  CHLO ``sinh``.

    Args:
      x: an array of a floating or complex dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.sinh(jnp.array([0.0, 1.5]))).round(3)
    array([0.   , 2.129], dtype=float32)
    """
    return sinh_p.bind(x)


cosh_p = unary(
    "cosh",
    INEXACT,
    lower=vectorized(hyperbolic_cosine, lower_by_name("chlo.cosh"), always=True),
    reference=np.cosh,
    jvp=lambda t, x, y: mul(t, sinh(x)),
)


def cosh(x: ArrayLike) -> Any:
    """Return the hyperbolic cosine, for floating and complex dtypes.  CHLO ``cosh``.

    Args:
      x: an array of a floating or complex dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.cosh(jnp.array([0.0, 1.5]))).round(3)
    array([1.   , 2.352], dtype=float32)
    """
    return cosh_p.bind(x)


tanh_p = unary(
    "tanh",
    INEXACT,
    lower="stablehlo.tanh",
    reference=np.tanh,
    jvp=lambda t, x, y: mul(t, one_minus_square(y)),
)


def tanh(x: ArrayLike, *, accuracy: Accuracy = None) -> Any:
    """Return the hyperbolic tangent, for floating and complex dtypes.  StableHLO ``tanh``.

    Args:
      x: an array of a floating or complex dtype, or a number.
      accuracy: how exact the result must be: a ``Tolerance`` or an ``AccuracyMode``.

    Raises:
      TypeError: the operand has another dtype.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.tanh(jnp.array([0.0, 1.0, 50.0]))).round(3)
    array([0.   , 0.762, 1.   ], dtype=float32)
    """
    return bind_accurate(tanh_p, x, accuracy)


# ---------------------------------------------------------------- asinh, acosh, atanh


def _asinh_slope(x: Any) -> Any:
    """Return 1 / √(x² + 1), of reals as r / √(r² + (x r)²) with r = 1 / |x| for large x.

    So x² does not overflow.  The slope does not depend on r, which is thus a constant to further
    derivatives.
    """
    dtype = abstractify(x).dtype
    if dtypes.issubdtype(dtype, np.complexfloating):
        # Less -1, not plus 1: an imaginary part of -0, which chooses the branch, stays -0.
        return rsqrt(sub(square(x), -1))
    largest = float(dtypes.finfo(dtype).max) ** 0.5
    scale = stop_gradient(reciprocal(clamp(1, abs(x), largest)))
    return mul(scale, rsqrt(add(square(scale), square(mul(x, scale)))))


asinh_p = unary(
    "asinh",
    INEXACT,
    lower="chlo.asinh",
    reference=np.arcsinh,
    jvp=lambda t, x, y: mul(t, _asinh_slope(x)),
)


def asinh(x: ArrayLike) -> Any:
    """Return the inverse hyperbolic sine, for floating and complex dtypes.  CHLO ``asinh``.

    Args:
      x: an array of a floating or complex dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.asinh(jnp.array([0.0, -3.0]))).round(3)
    array([ 0.   , -1.818], dtype=float32)
    """
    return asinh_p.bind(x)


# One root of the product would overflow, and cross the branch cut of complex x.
acosh_p = unary(
    "acosh",
    INEXACT,
    lower="chlo.acosh",
    reference=np.arccosh,
    jvp=lambda t, x, y: mul(t, mul(rsqrt(sub(x, 1)), rsqrt(add(x, 1)))),
)


def acosh(x: ArrayLike) -> Any:
    """Return the inverse hyperbolic cosine: NaN for real x < 1.

    Args:
      x: an array of a floating or complex dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    The derivative at 1 is infinite.  CHLO ``acosh``.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.acosh(jnp.array([1.0, 2.0, 0.5]))).round(3)
    array([0.   , 1.317,   nan], dtype=float32)
    """
    return acosh_p.bind(x)


atanh_p = unary(
    "atanh",
    INEXACT,
    lower="chlo.atanh",
    reference=np.arctanh,
    jvp=lambda t, x, y: div(t, one_minus_square(x)),
)


def atanh(x: ArrayLike) -> Any:
    """Return the inverse hyperbolic tangent: ±inf at ±1, NaN for real x beyond.  CHLO ``atanh``.

    Args:
      x: an array of a floating or complex dtype, or a number.

    Raises:
      TypeError: the operand has another dtype.

    The derivative at ±1 is infinite.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.atanh(jnp.array([0.5, 1.0]))).round(3)
    array([0.549,   inf], dtype=float32)
    """
    return atanh_p.bind(x)
