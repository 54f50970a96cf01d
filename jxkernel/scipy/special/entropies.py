"""Elementary functions with care at their edges: x log y, entropies, logits, power transforms."""

from functools import partial
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.api.custom.derivatives import custom_jvp
from jxkernel.api.derivatives.autodiff import jvp
from jxkernel.core.jaxpr import Value
from jxkernel.core.zeros import Zero
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.ufuncs import inexact
from jxkernel.primitives.elementwise.exponential import logistic
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special.elementwise import computed, polynomial, unary_function

__all__ = [
    "boxcox",
    "boxcox1p",
    "entr",
    "expit",
    "kl_div",
    "logit",
    "rel_entr",
    "xlog1py",
    "xlogy",
]

expit = unary_function(
    "expit",
    logistic,
    """Return the logistic function 1 / (1 + exp(-x)).

    Args:
      x: an array; integers become floating.

    >>> from jxkernel.scipy import special
    >>> special.expit(0.0)
    Array(0.5, dtype=float32, weak_type=True)
    """,
    **inexact,
)


@custom_jvp
def _logit(x: Any) -> Any:
    """Near ½, where the quotient is near 1, 2x - 1 is exact."""
    near = abs(x - 0.5) < 0.25
    middle = jnp.where(near, x, 0.5)
    return jnp.where(near, jnp.log1p((2 * middle - 1) / (1 - middle)), jnp.log(x / (1 - x)))


_logit.defjvps(lambda t, y, x: t * (1 / x + 1 / (1 - x)))


@fused
def logit(x: ArrayLike) -> Any:
    """Return log(x / (1 - x)), the inverse of ``expit``.

    Args:
      x: an array; integers become floating.

    -inf at 0, inf at 1, NaN outside.

    >>> from jxkernel.scipy import special
    >>> special.logit(0.5)
    Array(0., dtype=float32, weak_type=True)
    """
    return computed("logit", _logit, x, complex_too=True, weakly=(0,))


@custom_jvp
def _xlogy(x: Any, y: Any) -> Any:
    zero = x == 0
    value = jnp.where(zero, 0, x * jnp.log(jnp.where(zero, 1, y)))
    return jnp.where(jnp.isnan(y), y, value)


@partial(_xlogy.defjvp, symbolic_zeros=True)
def _xlogy_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, y = primals
    ratio = x / jnp.where((x == 0) & (y == 0), 1, y)
    return _xlogy(x, y), _moved(tangents, (jnp.log(y), ratio))


def _moved(tangents: Any, slopes: Any) -> Any:
    """Return Σ tᵢ sᵢ without the tangents that are zero, whose slopes may be infinite."""
    return sum(t * s for t, s in zip(tangents, slopes, strict=True) if type(t) is not Zero)


@fused
def xlogy(x: ArrayLike, y: ArrayLike) -> Any:
    """Return x log(y), which is 0 where x is 0, whatever y but NaN.

    Args:
      x: an array; integers become floating.
      y: another.

    The derivatives are log(y) and x/y, which is 0 where both are.

    >>> from jxkernel.scipy import special
    >>> special.xlogy(0.0, 0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return computed("xlogy", _xlogy, x, y, complex_too=True, weakly=True)


@custom_jvp
def _xlog1py(x: Any, y: Any) -> Any:
    zero = x == 0
    value = jnp.where(zero, 0, x * jnp.log1p(jnp.where(zero, 1, y)))
    return jnp.where(jnp.isnan(y), y, value)


@partial(_xlog1py.defjvp, symbolic_zeros=True)
def _xlog1py_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, y = primals
    ratio = x / jnp.where((x == 0) & (y == -1), 1, 1 + y)
    return _xlog1py(x, y), _moved(tangents, (jnp.log1p(y), ratio))


@fused
def xlog1py(x: ArrayLike, y: ArrayLike) -> Any:
    """Return x log(1 + y), which is 0 where x is 0, whatever y but NaN.

    Args:
      x: an array; integers become floating.
      y: another.

    The derivatives are log(1 + y) and x/(1 + y), which is 0 where both are.

    >>> from jxkernel.scipy import special
    >>> special.xlog1py(0.0, -1.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return computed("xlog1py", _xlog1py, x, y, complex_too=True, weakly=True)


@custom_jvp
def _entr(x: Any) -> Any:
    return jnp.where(x < 0, -np.inf, -_xlogy(x, x))


@_entr.defjvp
def _entr_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    ((x,), (t,)) = primals, tangents
    negative = x < 0
    slope = -1 - jnp.log(jnp.where(negative, 1, x))
    return _entr(x), t * jnp.where(negative, 0, slope)


@fused
def entr(x: ArrayLike) -> Any:
    """Return -x log(x): 0 at 0, -inf below.

    Args:
      x: a real array; integers become floating.

    The derivative is -1 - log(x), inf at 0 and 0 below.

    >>> from jxkernel.scipy import special
    >>> special.entr(1.0) == 0
    Array(True, dtype=bool)
    """
    return computed("entr", _entr, x, weakly=True)


@custom_jvp
def _rel_entr(p: Value, q: Value) -> Value:
    both = (p > 0) & (q > 0)
    value = p * _log_ratio(p, q)
    value = jnp.where(both, value, jnp.where((p == 0) & (q >= 0), 0, np.inf))
    return jnp.where(jnp.isnan(p) | jnp.isnan(q), np.nan, value)


def _log_ratio(p: Value, q: Value) -> Value:
    """Return log(p/q), of which logarithms that are nearly equal leave no digits; else 0."""
    both = (p > 0) & (q > 0)
    near = both & (abs(p - q) < 0.5 * q)
    apart = jnp.log(jnp.where(both, p, 1)) - jnp.log(jnp.where(both, q, 1))
    excess = jnp.where(near, p - q, 0) / jnp.where(near, q, 1)
    return jnp.where(near, jnp.log1p(excess), apart)


@partial(_rel_entr.defjvp, symbolic_zeros=True)
def _rel_entr_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    p, q = primals
    both = (p > 0) & (q > 0)
    by_p = jnp.where(both, _log_ratio(p, q) + 1, 0)
    by_q = jnp.where(both, -p / jnp.where(both, q, 1), 0)
    unknown = jnp.where(jnp.isnan(p) | jnp.isnan(q), np.nan, 0)
    return _rel_entr(p, q), _moved(tangents, (by_p + unknown, by_q + unknown))


@fused
def rel_entr(p: ArrayLike, q: ArrayLike) -> Any:
    """Return p log(p/q), a term of the relative entropy: 0 where p is 0, inf where undefined.

    Args:
      p: a real array; integers become floating.
      q: another.

    The derivatives are log(p/q) + 1 and -p/q; 0 where p or q is not positive.

    >>> from jxkernel.scipy import special
    >>> special.rel_entr(0.0, 1.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return computed("rel_entr", _rel_entr, p, q, weakly=(0,))


@fused
def kl_div(p: ArrayLike, q: ArrayLike) -> Any:
    """Return p log(p/q) - p + q, a term of the Kullback-Leibler divergence that is ≥ 0.

    Args:
      p: a real array; integers become floating.
      q: another.

    The derivative in ``p`` is log(p/q); 0 where p is 0, as that of ``rel_entr``.

    >>> from jxkernel.scipy import special
    >>> special.kl_div(0.0, 1.0)
    Array(1., dtype=float32, weak_type=True)
    """
    return computed("kl_div", _kl_div, p, q, weakly=(0,))


@custom_jvp
def _kl_div(p: Value, q: Value) -> Value:
    value = _rel_entr(p, q)
    both = jnp.where(p == 0, value, value - p) + q
    return jnp.where(value == np.inf, value, jnp.where(_near(p, q), _near_kl_div(p, q), both))


def _near(p: Value, q: Value) -> Value:
    """Return where p and q are positive and their quotient is nearly 1."""
    return (p > 0) & (q > 0) & (abs(p - q) < 0.2 * q)


def _near_kl_div(p: Value, q: Value) -> Value:
    """Return p log(p/q) - p + q by a series in r = (p - q)/(p + q), and 0 where it does not serve.

    With log(p/q) = 2 (r + r³/3 + r⁵/5 + ...) and p = (p + q)(1 + r)/2 it is, for s = p + q,
    s (r² + (1 + r) (r³/3 + r⁵/5 + ...)).
    """
    near = _near(p, q)
    # Large ones in halves: their sum may be beyond the dtype.
    scale = jnp.where(q > 1, 0.5, 1).astype(q.dtype)
    total = jnp.where(near, p * scale + q * scale, 1)
    r = jnp.where(near, (p - q) * scale, 0) / total
    square = r * r
    series = polynomial(square, [1 / (2 * n + 3) for n in range(9)])
    return total * square * (1 + (1 + r) * r * series) / scale


@partial(_kl_div.defjvp, symbolic_zeros=True)
def _kl_div_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    p, q = primals
    unknown = jnp.where(jnp.isnan(p) | jnp.isnan(q), np.nan, 0)
    both = (p > 0) & (q > 0)
    near = _near(p, q)
    # Each has the slope p/q² to all its digits where it is taken.
    close, apart = jnp.where(near, q, 1), jnp.where(both & ~near, q, 1)
    by_q = jnp.where(near, (q - p) / close, 1 - p / apart)
    by_q = jnp.where(both, by_q, jnp.where((p == 0) & (q >= 0), 1, 0))
    return _kl_div(p, q), _moved(tangents, (_log_ratio(p, q) + unknown, by_q + unknown))


def _power_of_log(log: Value, exponent: Value) -> Value:
    """Return (exp(exponent · log) - 1) / exponent, and its limit log at exponent 0."""
    small = abs(exponent * log) < 1e-3
    scaled = jnp.where(small, exponent * log, 0)
    series = log * (1 + scaled * (1 / 2 + scaled * (1 / 6 + scaled * (1 / 24 + scaled / 120))))
    safe = jnp.where(exponent == 0, 1, exponent)
    near = small | (exponent == 0)
    power = jnp.where(near, 1, safe * log)
    return jnp.where(near, series, jnp.expm1(power) / safe)


def _power_jvp(
    function: Any, logarithm: Any, base: Any, primals: Any, tangents: Any
) -> tuple[Any, Any]:
    """Return (bˡ - 1)/l and its tangent; where b is 0 or ∞ the slope in l is a limit."""
    x, exponent = primals
    log = logarithm(x)
    endless = jnp.isinf(log)
    finite, one = jnp.where(endless, 1, log), jnp.ones_like(exponent)
    slope = jvp(lambda exponent: _power_of_log(finite, exponent), (exponent,), (one,))[1]
    vanishing = endless & ((log * exponent).real < 0)
    limit = jnp.where(vanishing, 1 / jnp.where(vanishing, exponent, 1) ** 2, np.inf)
    slopes = (base(x) ** (exponent - 1), jnp.where(endless, limit, slope))
    return function(x, exponent), _moved(tangents, slopes)


@custom_jvp
def _boxcox(x: Value, exponent: Value) -> Value:
    return _power_of_log(jnp.log(x), exponent)


@custom_jvp
def _boxcox1p(x: Value, exponent: Value) -> Value:
    return _power_of_log(jnp.log1p(x), exponent)


_boxcox.defjvp(partial(_power_jvp, _boxcox, jnp.log, lambda x: x), symbolic_zeros=True)
_boxcox1p.defjvp(
    partial(_power_jvp, _boxcox1p, jnp.log1p, lambda x: 1 + x),
    symbolic_zeros=True,
)


@fused
def boxcox(x: ArrayLike, lmbda: Any) -> Any:
    """Return the Box-Cox transform (x^λ - 1)/λ, which is log(x) for λ = 0.

    Args:
      x: an array, not negative; integers become floating.
      lmbda: the exponents λ.

    The derivative in x is x^(λ - 1).

    Source: G. Box and D. Cox, "An analysis of transformations", 1964.

    >>> from jxkernel.scipy import special
    >>> special.boxcox(3.0, 1.0).round(4)
    Array(2., dtype=float32, weak_type=True)
    """
    return computed("boxcox", _boxcox, x, lmbda, complex_too=True, weakly=True)


@fused
def boxcox1p(x: ArrayLike, lmbda: Any) -> Any:
    """Return the Box-Cox transform of 1 + x: ((1 + x)^λ - 1)/λ.

    Args:
      x: an array, not below -1; integers become floating.
      lmbda: the exponents λ.

    The derivative in x is (1 + x)^(λ - 1).

    >>> from jxkernel.scipy import special
    >>> special.boxcox1p(2.0, 1.0).round(4)
    Array(2., dtype=float32, weak_type=True)
    """
    return computed("boxcox1p", _boxcox1p, x, lmbda, complex_too=True, weakly=True)
