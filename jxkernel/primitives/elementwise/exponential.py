"""Exponentials, logarithms, roots, powers and the logistic function, elementwise.

Functions that take an ``accuracy`` (a ``Tolerance`` or an ``AccuracyMode``) hand it to XLA, which
chooses an implementation by it.  ``t`` is a tangent and the last argument of a derivative rule
the result, which many of these derivatives are simplest in.
"""

from functools import reduce
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.primitives.elementwise.accuracy import Accuracy, accuracy_attributes, bind_accurate
from jxkernel.primitives.elementwise.arithmetic import add, div, integer_pow, mul, sub
from jxkernel.primitives.elementwise.base_two import logarithm_to_base_two, power_of_two
from jxkernel.primitives.elementwise.compare import eq, ge
from jxkernel.primitives.elementwise.complex import abs, component_dtype
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.elementwise.families import (
    FLOATING,
    INEXACT,
    bind_binary,
    broadcast_values,
    elementwise_batch,
    joint_shape,
    jvp_of_terms,
    lower_by_name,
    unary,
)
from jxkernel.primitives.elementwise.formula import evaluate
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.elementwise.vectorized import (
    binary_exponential,
    cube_root,
    exponential_less_one,
    gains,
    logarithm_of_one_plus,
    power,
    vectorized,
)
from jxkernel.primitives.sharding import rules
from jxkernel.runtime import ArrayLike

__all__ = [
    "cbrt",
    "cbrt_p",
    "exp",
    "exp2",
    "exp2_p",
    "exp_p",
    "expm1",
    "expm1_p",
    "log",
    "log1p",
    "log1p_p",
    "log2",
    "log2_p",
    "log_p",
    "logistic",
    "logistic_p",
    "pow",
    "pow_p",
    "rsqrt",
    "rsqrt_p",
    "sqrt",
    "sqrt_p",
]

_LN_2 = float(np.log(2.0))

# ---------------------------------------------------------------- exponentials

exp_p = unary(
    "exp",
    INEXACT,
    lower="stablehlo.exponential",
    reference=np.exp,
    jvp=lambda t, x, y: mul(t, y),
)


def exp(x: ArrayLike, *, accuracy: Accuracy = None) -> Any:
    """Return eˣ, for floating and complex dtypes.  StableHLO ``exponential``.

    Args:
      x: an array of a floating or complex dtype, or a number.
      accuracy: how exact the result must be: a ``Tolerance`` or an ``AccuracyMode``.

    Raises:
      TypeError: the operand has another dtype.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.exp(jnp.array([0.0, 2.0]))).round(3)
    array([1.   , 7.389], dtype=float32)
    """
    return bind_accurate(exp_p, x, accuracy)


def _scale(context: Any, x: Any, operation: str, factor: float) -> Any:
    """Append x times (or over) a real factor; the parts of complex x apart, so none meets inf·0."""
    aval, kind = context.avals_out[0], context.out_type
    if not dtypes.issubdtype(aval.dtype, np.complexfloating):
        return context.value(operation, kind, (x, context.splat(factor, aval.shape, aval.dtype)))
    dtype = component_dtype(aval.dtype)
    part, scale = hlo.tensor_type(aval.shape, dtype), context.splat(factor, aval.shape, dtype)
    parts = [
        context.value(operation, part, (context.value(name, part, (x,)), scale))
        for name in ("stablehlo.real", "stablehlo.imag")
    ]
    return context.value("stablehlo.complex", kind, parts)


def _is_plain(context: Any, accuracy: Accuracy) -> bool:
    """Return whether an operation is of real numbers, and no accuracy is asked for."""
    return accuracy is None and context.avals_out[0].dtype not in dtypes.COMPLEX


def _exp2_lower(context: Any, x: Any, *, accuracy: Accuracy = None) -> Any:
    if _is_plain(context, accuracy):
        return evaluate(context, power_of_two, [x])
    scaled = _scale(context, x, "stablehlo.multiply", _LN_2)
    attributes = accuracy_attributes(accuracy)
    return context.value("stablehlo.exponential", context.out_type, (scaled,), attributes)


def _log2_lower(context: Any, x: Any, *, accuracy: Accuracy = None) -> Any:
    if _is_plain(context, accuracy):
        return evaluate(context, logarithm_to_base_two, [x])
    attributes = accuracy_attributes(accuracy)
    value = context.value("stablehlo.log", context.out_type, (x,), attributes)
    return _scale(context, value, "stablehlo.divide", _LN_2)


exp2_p = unary(
    "exp2",
    INEXACT,
    lower=vectorized(binary_exponential, _exp2_lower, always=True),
    reference=np.exp2,
    jvp=lambda t, x, y: mul(t, mul(y, _LN_2)),
)


def exp2(x: ArrayLike, *, accuracy: Accuracy = None) -> Any:
    """Return 2ˣ, for floating and complex dtypes: a power of 2 where x is a whole real number.

    With an accuracy it is XLA's exp(x ln 2), whose exp has that accuracy.

    Args:
      x: an array of a floating or complex dtype, or a number.
      accuracy: how exact the result must be: a ``Tolerance`` or an ``AccuracyMode``.

    Raises:
      TypeError: the operand has another dtype.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.exp2(jnp.array([0.0, 3.0]))).round(3)
    array([1., 8.], dtype=float32)
    """
    return bind_accurate(exp2_p, x, accuracy)


expm1_p = unary(
    "expm1",
    INEXACT,
    lower=vectorized(exponential_less_one, lower_by_name("stablehlo.exponential_minus_one")),
    reference=np.expm1,
    # Not y + 1, which has no digits left where y is nearly -1.
    jvp=lambda t, x, y: mul(t, exp(x)),
)


def expm1(x: ArrayLike, *, accuracy: Accuracy = None) -> Any:
    """Return eˣ - 1, accurate near 0.  StableHLO ``exponential_minus_one``.

    Args:
      x: an array of a floating or complex dtype, or a number.
      accuracy: how exact the result must be: a ``Tolerance`` or an ``AccuracyMode``.

    Raises:
      TypeError: the operand has another dtype.

    The derivative is eˣ.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.expm1(jnp.array([0.0, 1.0]))).round(3)
    array([0.   , 1.718], dtype=float32)
    """
    return bind_accurate(expm1_p, x, accuracy)


# ---------------------------------------------------------------- logarithms

log_p = unary(
    "log", INEXACT, lower="stablehlo.log", reference=np.log, jvp=lambda t, x, y: div(t, x)
)


def log(x: ArrayLike, *, accuracy: Accuracy = None) -> Any:
    """Return the natural logarithm: -inf at 0, NaN for negative reals.  StableHLO ``log``.

    Args:
      x: an array of a floating or complex dtype, or a number.
      accuracy: how exact the result must be: a ``Tolerance`` or an ``AccuracyMode``.

    Raises:
      TypeError: the operand has another dtype.

    The derivative at 0 is infinite.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.log(jnp.array([0.0, 1.0, 10.0]))).round(3)
    array([ -inf, 0.   , 2.303], dtype=float32)
    """
    return bind_accurate(log_p, x, accuracy)


log2_p = unary(
    "log2",
    INEXACT,
    lower=_log2_lower,
    reference=np.log2,
    jvp=lambda t, x, y: div(t, mul(x, _LN_2)),
)


def log2(x: ArrayLike, *, accuracy: Accuracy = None) -> Any:
    """Return the logarithm to base 2: a whole number where x is a power of 2.

    With an accuracy it is XLA's log(x) / ln 2, whose log has that accuracy.

    Args:
      x: an array of a floating or complex dtype, or a number.
      accuracy: how exact the result must be: a ``Tolerance`` or an ``AccuracyMode``.

    Raises:
      TypeError: the operand has another dtype.

    The derivative at 0 is infinite.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.log2(jnp.array([0.5, 32.0]))).round(3)
    array([-1.,  5.], dtype=float32)
    """
    return bind_accurate(log2_p, x, accuracy)


log1p_p = unary(
    "log1p",
    INEXACT,
    lower=vectorized(logarithm_of_one_plus, lower_by_name("stablehlo.log_plus_one"), always=True),
    reference=np.log1p,
    jvp=lambda t, x, y: div(t, add(x, 1)),
)


def log1p(x: ArrayLike, *, accuracy: Accuracy = None) -> Any:
    """Return log(1 + x), accurate near 0: -inf at -1.  StableHLO ``log_plus_one``.

    Args:
      x: an array of a floating or complex dtype, or a number.
      accuracy: how exact the result must be: a ``Tolerance`` or an ``AccuracyMode``.

    Raises:
      TypeError: the operand has another dtype.

    The derivative at -1 is infinite.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.log1p(jnp.array([-1.0, 0.0, 3.0]))).round(3)
    array([ -inf, 0.   , 1.386], dtype=float32)
    """
    return bind_accurate(log1p_p, x, accuracy)


# ---------------------------------------------------------------- roots

sqrt_p = unary(
    "sqrt",
    INEXACT,
    lower="stablehlo.sqrt",
    reference=np.sqrt,
    jvp=lambda t, x, y: mul(t, div(0.5, y)),
)


def sqrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Any:
    """Return the principal square root: NaN for negative reals.

    Args:
      x: an array of a floating or complex dtype, or a number.
      accuracy: how exact the result must be: a ``Tolerance`` or an ``AccuracyMode``.

    Raises:
      TypeError: the operand has another dtype.

    The derivative at 0 is infinite.  StableHLO ``sqrt``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.sqrt(jnp.array([0.0, 6.25])).tolist()
    [0.0, 2.5]
    """
    return bind_accurate(sqrt_p, x, accuracy)


def _rsqrt_reference(x: Any) -> Any:
    return np.reciprocal(np.sqrt(x))


rsqrt_p = unary(
    "rsqrt",
    INEXACT,
    lower="stablehlo.rsqrt",
    reference=_rsqrt_reference,
    jvp=lambda t, x, y: mul(t, mul(div(y, x), -0.5)),
)


def rsqrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Any:
    """Return 1 / √x: inf at 0, NaN for negative reals.  StableHLO ``rsqrt``.

    Args:
      x: an array of a floating or complex dtype, or a number.
      accuracy: how exact the result must be: a ``Tolerance`` or an ``AccuracyMode``.

    Raises:
      TypeError: the operand has another dtype.

    The derivative at 0 is -inf.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.rsqrt(jnp.array([0.0, 0.25, 16.0]))).round(3)
    array([ inf, 2.  , 0.25], dtype=float32)
    """
    return bind_accurate(rsqrt_p, x, accuracy)


cbrt_p = unary(
    "cbrt",
    FLOATING,
    # XLA's gives denormal numbers the wrong size and sign.
    lower=vectorized(cube_root, lower_by_name("stablehlo.cbrt"), always=True),
    reference=np.cbrt,
    jvp=lambda t, x, y: mul(t, mul(integer_pow(y, -2), 1 / 3)),
)


def cbrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Any:
    """Return the real cube root, of either sign; for floating dtypes.

    Args:
      x: an array of a floating dtype, or a number.
      accuracy: how exact the result must be: a ``Tolerance`` or an ``AccuracyMode``.

    Raises:
      TypeError: the operand has another dtype.

    The derivative at 0 is infinite.  StableHLO ``cbrt``.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.cbrt(jnp.array([-8.0, 125.0]))).round(3)
    array([-2.,  5.], dtype=float32)
    """
    return bind_accurate(cbrt_p, x, accuracy)


# ---------------------------------------------------------------- pow


def _without_zero(x: Any) -> Any:
    return select(eq(x, 0), 1, x)


def _pow_jvp_base(t: Any, x: Any, y: Any, z: Any) -> Any:
    """Return t · y · xʸ⁻¹, which is 0 where y = 0 even at x = 0.

    For y = 0 it is y / x, which is 0 but has the derivative 1 / x in y.
    """
    dtype = abstractify(y).dtype
    if dtypes.issubdtype(dtype, np.inexact):
        exponent = _without_zero(y)
        slope = mul(exponent, pow(x, sub(exponent, 1)))
        invertible = ge(abs(x), float(dtypes.finfo(dtype).tiny))
        inverse = select(invertible, div(1, select(invertible, x, 1)), 0)
        return mul(t, select(eq(y, 0), mul(y, inverse), slope))
    exponent = convert_element_type(y, abstractify(x).dtype)
    slope = mul(exponent, pow(x, select(eq(y, 0), 1, sub(y, 1))))
    return mul(t, select(eq(y, 0), 0, slope))


def _pow_jvp_exponent(t: Any, x: Any, y: Any, z: Any) -> Any:
    """Return t · xʸ · log x, which is taken as 0 at x = 0."""
    return mul(t, mul(log(_without_zero(x)), z))


pow_p = Primitive("pow", element_work=1).define(sharding=rules.elementwise)
pow_p.reference = np.power


@pow_p.def_abstract_eval
def _pow_abstract_eval(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    if x.dtype not in dtypes.INEXACT:
        raise TypeError(
            f"pow does not accept dtype {x.dtype.name} as base: it takes floating or complex "
            "dtypes; integer_pow raises integers to a fixed power"
        )
    if y.dtype != x.dtype and y.dtype not in dtypes.INTEGRAL:
        raise TypeError(
            f"pow needs an exponent of dtype {x.dtype.name} or of an integer dtype, got "
            f"{y.dtype.name}: convert with y.astype(...)"
        )
    shape = joint_shape("pow", (x.shape, y.shape))
    return ShapedArray(shape, x.dtype, x.weak_type and y.weak_type)


@pow_p.def_lower
def _pow_lower(context: Any, *values: Any) -> Any:
    x, y = broadcast_values(context, values)
    if context.avals_in[1].dtype != context.avals_in[0].dtype:
        y = context.value("stablehlo.convert", context.out_type, (y,))
    if gains(context):
        return evaluate(context, power, (x, y))
    powers = context.value("stablehlo.power", context.out_type, (x, y))
    aval = context.avals_out[0]
    if aval.dtype not in dtypes.COMPLEX:
        return powers
    # 0 to a power with a positive real part is 0; XLA multiplies the logarithm of 0 and gives NaN.
    zero = context.splat(0, aval.shape, aval.dtype)
    dtype = component_dtype(aval.dtype)
    real, flags = (hlo.tensor_type(aval.shape, kind) for kind in (dtype, np.dtype(np.bool_)))
    growth, turn = (context.value(f"stablehlo.{part}", real, (y,)) for part in ("real", "imag"))
    vanishing = (
        context.compare(x, zero, "EQ", aval.shape, "FLOAT"),
        context.compare(growth, context.splat(0, aval.shape, dtype), "GT", aval.shape, "FLOAT"),
        context.value("stablehlo.is_finite", flags, (turn,)),
    )
    vanishes = reduce(lambda a, b: context.value("stablehlo.and", flags, (a, b)), vanishing)
    return context.value("stablehlo.select", context.out_type, (vanishes, zero, powers))


pow_p.define(
    jvp=jvp_of_terms(pow_p, (_pow_jvp_base, _pow_jvp_exponent)),
    transpose=Undefined("it is linear in neither operand"),
    batch=elementwise_batch(pow_p),
)


def pow(x: ArrayLike, y: ArrayLike) -> Any:
    """Return x to the power y.

    Args:
      x: an array of a floating or complex dtype, or a number.
      y: an array of the same dtype or of an integer dtype, or a number.

    Raises:
      TypeError: an operand has another dtype.

    0⁰ is 1.  The derivative with respect to x is 0 where y = 0, even at x = 0; that with respect
    to y is 0 where x = 0, and NaN for negative real x.  StableHLO ``power``.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.pow(jnp.array([2.0, 9.0, 0.0]), jnp.array([5.0, 0.5, 0.0]))).round(3)
    array([32.,  3.,  1.], dtype=float32)
    """
    if type(y) is int or (type(x) in (float, complex) and abstractify(y).dtype in dtypes.INTEGRAL):
        return pow_p.bind(x, y)
    return bind_binary(pow_p, x, y)


# ---------------------------------------------------------------- logistic


def _logistic_reference(x: Any) -> Any:
    return np.reciprocal(1 + np.exp(-x))


logistic_p = unary(
    "logistic",
    INEXACT,
    lower="stablehlo.logistic",
    reference=_logistic_reference,
    jvp=lambda t, x, y: mul(t, mul(y, sub(1, y))),
)


def logistic(x: ArrayLike, *, accuracy: Accuracy = None) -> Any:
    """Return 1 / (1 + e⁻ˣ), which neither overflows nor loses small results.

    Args:
      x: an array of a floating or complex dtype, or a number.
      accuracy: how exact the result must be: a ``Tolerance`` or an ``AccuracyMode``.

    Raises:
      TypeError: the operand has another dtype.

    StableHLO ``logistic``.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.logistic(jnp.array([-1.0, 0.0, 1.0]))).round(3)
    array([0.269, 0.5  , 0.731], dtype=float32)
    """
    return bind_accurate(logistic_p, x, accuracy)
