"""Activation functions: elementwise, smooth or with a kink whose derivative is said.

Integers and booleans become floating, weakly typed where a function has floating constants, as if
it were written out with Python numbers; complex numbers are ordered as NumPy orders them, by their
real parts first.  All are fused: one dispatch when run eagerly.

>>> import jxkernel as jx
>>> jx.nn.relu(jx.numpy.array([-2.0, 3.0]))
Array([0., 3.], dtype=float32)
"""

from collections.abc import Sequence
from functools import partial
from math import log as log_of
from math import pi, sqrt
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.higher_order.custom_jvp import JvpRule, bind_custom_jvp
from jxkernel.numpy import ufuncs
from jxkernel.numpy.arithmetic import clip
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.logic import greater, greater_equal, less, less_equal
from jxkernel.numpy.mathematics import logaddexp, tanh
from jxkernel.numpy.promotion import (
    argument_aval,
    cast,
    dtype_of,
    inexact_dtype,
    numeric_dtype,
    promote_operands,
)
from jxkernel.numpy.ufuncs import inexact
from jxkernel.primitives.arguments import canonical_axis
from jxkernel.primitives.elementwise import arithmetic as ops
from jxkernel.primitives.elementwise.bits import bitwise_and, bitwise_or
from jxkernel.primitives.elementwise.complex import abs as modulus
from jxkernel.primitives.elementwise.exponential import exp, expm1, log, log1p, logistic, logistic_p
from jxkernel.primitives.elementwise.exponential import sqrt as root
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.elementwise.special import erfc
from jxkernel.primitives.elementwise.trigonometric import tanh as hyperbolic_tangent
from jxkernel.primitives.indexing.slicing import slice_in_dim
from jxkernel.runtime import ArrayLike

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "swish",
    "tanh",
]


def _floating(name: str, x: Any) -> Any:
    """Return an array in its floating dtype, strongly typed."""
    return cast(x, inexact_dtype(argument_aval(name, x).dtype))


_between_floats: dict[str, Any] = {**inexact, "beside": 1.0}
"""The keywords of functions whose constants are floating: weakly typed results of integers."""
_between_integers: dict[str, Any] = {**inexact, "beside": 0}
"""The keywords of functions with whole constants: weakly typed results of booleans."""
_NUMBERS = dtypes.ALL - dtypes.BOOLEAN


# ---------------------------------------------------------------- with kinks

unary_function = partial(ufuncs.unary_function, module="jxkernel.nn", by_name=True)


def _cut_off(x: Any, parts: Sequence[Any]) -> list[Any]:
    """Return parts where x is positive or NaN, else 0."""
    hidden = less_equal(x, 0)
    return [select(hidden, 0, part) for part in parts]


def _relu_jvp(
    primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Sequence[Any], Sequence[Any]]:
    y, t = _cut_off(primals[0], [*primals, *tangents])
    return [y], [t]


_RELU_RULE = JvpRule(_relu_jvp, "relu")


def _relu(x: Any) -> Any:
    """Stand in programs as one call, which readers of programs look for."""
    [y] = bind_custom_jvp(lambda x: _cut_off(x, [x]), _RELU_RULE, (), (x,), captures=False)
    return y


relu = unary_function(
    "relu",
    _relu,
    "Return x where it is positive, else 0: max(x, 0).  NaN stays; integers stay integers.\n\n"
    "The derivative at 0 is 0.",
    example=("jx.nn.relu(jnp.array([-2.0, 0.0, 3.0])).tolist()", "[0.0, 0.0, 3.0]"),
    ready=_NUMBERS,
    rule=numeric_dtype,
    beside=0,
)
relu6 = unary_function(
    "relu6",
    lambda x: select(less_equal(x, 0), 0, select(greater_equal(x, 6), 6, x)),
    "Return min(max(x, 0), 6).  The derivative at 0 and at 6 is 0.",
    example=("jx.nn.relu6(jnp.array([-2.0, 4.5, 9.0])).tolist()", "[0.0, 4.5, 6.0]"),
    **_between_floats,
)


def _hard_tanh(x: Any) -> Any:
    if dtype_of(x) not in dtypes.UNSIGNED:
        x = select(less(x, -1), -1, x)
    return select(greater(x, 1), 1, x)


hard_tanh = unary_function(
    "hard_tanh",
    _hard_tanh,
    "Return x bounded by -1 and 1; integers stay integers.  The derivative at the bounds is 1.",
    example=("jx.nn.hard_tanh(jnp.array([-3.0, 0.5, 2.0])).tolist()", "[-1.0, 0.5, 1.0]"),
    ready=_NUMBERS,
    rule=numeric_dtype,
    beside=0,
)


def _hard_sigmoid(x: Any) -> Any:
    shifted = ops.add(x, 3)
    bounded = select(less_equal(shifted, 0), 0, select(greater_equal(shifted, 6), 6, shifted))
    return ops.div(bounded, 6)


hard_sigmoid = unary_function(
    "hard_sigmoid",
    _hard_sigmoid,
    "Return relu6(x + 3) / 6, the sigmoid in three pieces.",
    example=("jx.nn.hard_sigmoid(jnp.array([-4.0, 0.0, 5.0])).tolist()", "[0.0, 0.5, 1.0]"),
    **_between_floats,
)
hard_silu = unary_function(
    "hard_silu",
    lambda x: ops.mul(x, _hard_sigmoid(x)),
    "Return x · hard_sigmoid(x), the SiLU in three pieces.",
    example=("jx.nn.hard_silu(jnp.array([-1.5, 0.0, 5.0])).tolist()", "[-0.375, 0.0, 5.0]"),
    **_between_floats,
)
hard_swish = hard_silu


def _sparse_plus(x: Any) -> Any:
    curve = ops.div(ops.square(ops.add(x, 1)), 4)
    return select(less_equal(x, -1), 0, select(greater_equal(x, 1), x, curve))


sparse_plus = unary_function(
    "sparse_plus",
    _sparse_plus,
    "Return 0 for x ≤ -1, x for x ≥ 1, and (x + 1)² / 4 between.",
    example=("jx.nn.sparse_plus(jnp.array([-2.0, 0.0, 3.0])).tolist()", "[0.0, 0.25, 3.0]"),
    **_between_floats,
)
sparse_sigmoid = unary_function(
    "sparse_sigmoid",
    lambda x: ops.add(ops.mul(clip(x, -1, 1), 0.5), 0.5),
    "Return (x + 1) / 2 bounded by 0 and 1, the derivative of ``sparse_plus``.\n\n"
    "The derivative at the bounds is half the one inside.",
    example=("jx.nn.sparse_sigmoid(jnp.array([-2.0, 0.5, 3.0])).tolist()", "[0.0, 0.75, 1.0]"),
    **_between_floats,
)

# ---------------------------------------------------------------- smooth

sigmoid = unary_function(
    "sigmoid",
    logistic_p.bind,
    "Return 1 / (1 + exp(-x)), which does not overflow.",
    example=('f"{jx.nn.sigmoid(0.5):.3f}"', "'0.622'"),
    **inexact,
)
silu = unary_function(
    "silu",
    lambda x: ops.mul(x, logistic(x)),
    "Return x · sigmoid(x), also called swish.",
    example=('f"{jx.nn.silu(1.0):.3f}"', "'0.731'"),
    **inexact,
)
swish = silu


def _softplus(x: Any) -> Any:
    """Return max(x, 0) + log1p(exp(-|x|)), which is infinite where x is."""
    if dtype_of(x) in dtypes.COMPLEX:
        return logaddexp(x, 0)
    # Chosen by select, not by max and abs: both pieces are smooth at 0, to every order.
    positive = greater(x, 0)
    return ops.add(select(positive, x, 0), log1p(exp(select(positive, ops.neg(x), x))))


softplus = unary_function(
    "softplus",
    _softplus,
    "Return log(1 + exp(x)), which does not overflow.",
    example=('f"{jx.nn.softplus(0.0):.3f}"', "'0.693'"),
    **_between_integers,
)
log_sigmoid = unary_function(
    "log_sigmoid",
    lambda x: ops.neg(_softplus(ops.neg(x))),
    "Return log(sigmoid(x)), which does not underflow.",
    example=('f"{jx.nn.log_sigmoid(-2.0):.3f}"', "'-2.127'"),
    **inexact,
)
soft_sign = unary_function(
    "soft_sign",
    lambda x: ops.div(x, cast(ops.add(modulus(x), 1), dtype_of(x), argument_aval("", x).weak_type)),
    "Return x / (1 + |x|).",
    example=("jx.nn.soft_sign(jnp.array([-3.0, 1.0])).tolist()", "[-0.75, 0.5]"),
    **_between_integers,
)
mish = unary_function(
    "mish",
    lambda x: ops.mul(x, hyperbolic_tangent(_softplus(x))),
    "Return x · tanh(softplus(x)).\n\n"
    'Source: D. Misra, "Mish: a self regularized non-monotonic activation function", 2019.',
    example=('f"{jx.nn.mish(1.0):.3f}"', "'0.865'"),
    **_between_integers,
)
identity = unary_function(
    "identity",
    lambda x: x,
    "Return x.",
    example=("jx.nn.identity(jnp.array([1.0, -4.0])).tolist()", "[1.0, -4.0]"),
)


def _log1mexp(x: Any) -> Any:
    """Use log(-expm1(-x)) near 0 and log1p(-exp(-x)) farther off, each where it is exact."""
    near = less_equal(x, log_of(2.0))
    first = log(ops.neg(expm1(ops.neg(select(near, x, 1)))))
    return select(near, first, log1p(ops.neg(exp(ops.neg(select(near, 1, x))))))


log1mexp = unary_function(
    "log1mexp",
    _log1mexp,
    "Return log(1 - exp(-x)) for x > 0, exact near 0 and far from it; -inf at 0.\n\n"
    'Source: M. Mächler, "Accurately computing log(1 - exp(-|a|))", 2012.',
    example=('f"{jx.nn.log1mexp(1.0):.3f}"', "'-0.459'"),
    **inexact,
)


@fused
def elu(x: ArrayLike, alpha: Any = 1.0) -> Any:
    """Return x where it is positive, else alpha · (exp(x) - 1).

    Args:
      x: an array.
      alpha: the limit for x to -inf, negated.

    The derivative at 0 is ``alpha``.

    Source: D. Clevert, T. Unterthiner, S. Hochreiter, "Fast and accurate deep network learning by
    exponential linear units", 2016.

    >>> import numpy as np
    >>> from jxkernel import nn, numpy as jnp
    >>> np.asarray(nn.elu(jnp.array([-1.0, 0.0, 2.0]))).round(3)
    array([-0.632,  0.   ,  2.   ], dtype=float32)
    """
    x, alpha, _ = promote_operands("elu", x, alpha, 1.0)
    return _elu(x, alpha)


def _elu(x: Any, alpha: Any) -> Any:
    """Keep the exponential from overflowing where it is not chosen."""
    positive = greater(x, 0)
    return select(positive, x, ops.mul(alpha, expm1(select(positive, 0, x))))


_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946

selu = unary_function(
    "selu",
    lambda x: ops.mul(_SELU_SCALE, _elu(x, _SELU_ALPHA)),
    "Return scale · elu(x, alpha) with the constants that keep mean 0 and variance 1.\n\n"
    'Source: G. Klambauer et al., "Self-normalizing neural networks", 2017.',
    example=('f"{jx.nn.selu(-1.0):.3f}"', "'-1.111'"),
    **_between_floats,
)


@fused
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """Return max(x, 0) + alpha · (exp(min(x, 0) / alpha) - 1), smooth for every alpha.

    Integers are computed as floats.  The derivative at 0 is 1.

    Source: J. Barron, "Continuously differentiable exponential linear units", 2017.

    >>> import numpy as np
    >>> from jxkernel import nn, numpy as jnp
    >>> np.asarray(nn.celu(jnp.array([-1.0, 0.0, 2.0]), 2.0)).round(3)
    array([-0.787,  0.   ,  2.   ], dtype=float32)
    """
    x, alpha, _ = promote_operands("celu", x, alpha, 1.0)
    positive = greater(x, 0)
    curve = ops.mul(alpha, expm1(ops.div(select(positive, 0, x), alpha)))
    return select(positive, x, curve)


@fused
def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Any:
    """Return x where it is not negative, else negative_slope · x.  The derivative at 0 is 1.

    The dtype is the arguments' common one: a whole ``negative_slope`` keeps integers.

    >>> from jxkernel import nn, numpy as jnp
    >>> nn.leaky_relu(jnp.array([-4.0, 3.0]), 0.25).tolist()
    [-1.0, 3.0]
    """
    x, slope = promote_operands("leaky_relu", x, negative_slope)
    if dtype_of(x) in dtypes.BOOLEAN:  # none is negative; the slope's shape counts
        return bitwise_or(x, bitwise_and(x, slope))
    return select(greater_equal(x, 0), x, ops.mul(slope, x))


@fused
def squareplus(x: Any, b: Any = 4) -> Any:
    """Return (x + √(x² + b)) / 2, a smooth ``relu`` whose roundness is ``b``.

    The derivative at 0 is 1/2, and NaN for ``b`` = 0, where the function has a kink.

    Source: J. Barron, "Squareplus: A Softplus-Like Algebraic Rectifier", 2021.

    >>> from jxkernel import nn, numpy as jnp
    >>> nn.squareplus(jnp.array([0.0, 1.5])).tolist()
    [1.0, 2.0]
    """
    if argument_aval("squareplus", x).dtype in dtypes.BOOLEAN:
        x = cast(x, np.dtype(np.int32))
    x, b = promote_operands("squareplus", x, b, rule=inexact_dtype)
    return ops.div(ops.add(x, root(ops.add(ops.square(x), b))), 2)


def gelu(x: ArrayLike, approximate: bool = True) -> Any:
    """Return x · Φ(x), where Φ is the normal distribution function.

    Args:
      x: an array.
      approximate: whether to use the approximation by ``tanh``; it is known when traced.

    The slope of large numbers is 1, that of small ones 0.

    Source: D. Hendrycks, K. Gimpel, "Gaussian error linear units", 2016.

    >>> import numpy as np
    >>> from jxkernel import nn, numpy as jnp
    >>> np.asarray(nn.gelu(jnp.array([-1.0, 0.0, 2.0]))).round(3)
    array([-0.159,  0.   ,  1.955], dtype=float32)
    """
    return _gelu(x, bool(approximate))


@fused(static=("approximate",), name="gelu")
def _gelu(x: Any, approximate: bool) -> Any:
    x = _floating("gelu", x)
    if not approximate:
        return ops.mul(ops.mul(x, 0.5), erfc(ops.mul(x, -1 / sqrt(2))))
    # Beyond 30 tanh is ±1 in every dtype, and the slope of the cube may overflow.
    within = x if dtype_of(x) in dtypes.COMPLEX else ops.clamp(-30.0, x, 30.0)
    inner = ops.add(within, ops.mul(ops.integer_pow(within, 3), 0.044715))
    place = ops.mul(ops.add(hyperbolic_tangent(ops.mul(inner, sqrt(2 / pi))), 1), 0.5)
    return ops.mul(x, place)


@fused(static=("axis",), normalized=True)
def glu(x: Any, axis: int = -1) -> Any:
    """Return the first half of an array along an axis times the sigmoid of the second.

    Raises:
      ValueError: the axis does not exist, or its size is odd.

    >>> from jxkernel import nn, numpy as jnp
    >>> nn.glu(jnp.array([3.0, -8.0, 0.0, 0.0])).tolist()
    [1.5, -4.0]
    """
    if argument_aval("glu", x).dtype not in dtypes.INEXACT:
        x = _floating("glu", x)
    axis = canonical_axis("glu", axis, np.ndim(x))
    size = np.shape(x)[axis]
    if size % 2:
        raise ValueError(f"glu needs an axis of even size, got {size}")
    first = slice_in_dim(x, 0, size // 2, axis=axis)
    second = slice_in_dim(x, size // 2, size, axis=axis)
    return ops.mul(first, logistic(second))
