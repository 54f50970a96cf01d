"""Distributions made of gamma numbers: gamma, beta, Dirichlet, chi-square, F, Student's t.

They are differentiable with respect to their parameters: a gamma number moves with its shape at a
constant value of the distribution function (implicit reparameterization).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.creation import canonical_shape, placed
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_shapes,
    broadcast_to_shape,
    cast,
    refuse_complex,
)
from jxkernel.random.continuous import (
    drawing_with,
    normal_floats,
    several,
    signs,
)
from jxkernel.random.drawing import float_dtype
from jxkernel.random.keys import checked_key_data
from jxkernel.random.rejection import gamma_numbers
from jxkernel.runtime import ArrayLike

__all__ = [
    "beta",
    "chisquare",
    "dirichlet",
    "f",
    "gamma",
    "generalized_normal",
    "loggamma",
    "t",
]

Shape = tuple[int, ...]


def _gamma(key_data: Any, name: str, shape: Shape, dtype: Any, a: Any, exact: bool) -> Any:
    return gamma_numbers(key_data, name, a, exact=exact)


def _loggamma(key_data: Any, name: str, shape: Shape, dtype: Any, a: Any, exact: bool) -> Any:
    return gamma_numbers(key_data, name, a, True, exact)


def _beta(key_data: Any, name: str, shape: Shape, dtype: Any, a: Any, b: Any, exact: bool) -> Any:
    """Return X / (X + Y) of two gamma numbers, from their logarithms less the greater."""
    first, second = several(key_data, name)
    log_x = gamma_numbers(first, name, a, True, exact)
    log_y = gamma_numbers(second, name, b, True, exact)
    greater = jnp.maximum(log_x, log_y)
    x, y = jnp.exp(log_x - greater), jnp.exp(log_y - greater)
    return x / (x + y)


def _chisquare(key_data: Any, name: str, shape: Shape, dtype: Any, df: Any, exact: bool) -> Any:
    return 2 * jnp.exp(gamma_numbers(key_data, name, 0.5 * df, True, exact))


def _f(key_data: Any, name: str, shape: Shape, dtype: Any, dfnum: Any, dfden: Any) -> Any:
    first, second = several(key_data, name)
    lower = _chisquare(first, name, shape, dtype, dfden, True) / dfden
    return _chisquare(second, name, shape, dtype, dfnum, True) / dfnum / lower


def _t(key_data: Any, name: str, shape: Shape, dtype: Any, df: Any) -> Any:
    first, second = several(key_data, name)
    half = df / 2
    spread = jnp.sqrt(half / gamma_numbers(second, name, half))
    return normal_floats(first, name, shape, dtype) * spread


def _generalized_normal(key_data: Any, name: str, shape: Shape, dtype: Any, p: Any) -> Any:
    first, second = several(key_data, name)
    size = gamma_numbers(first, name, 1 / p) ** (1 / p)
    return size * signs(second, name, shape, dtype)


_draw_gamma = drawing_with("gamma", _gamma, methods=True)
_draw_loggamma = drawing_with("loggamma", _loggamma, methods=True)
_draw_beta = drawing_with("beta", _beta, methods=True)
_draw_chisquare = drawing_with("chisquare", _chisquare, methods=True)
_draw_f = drawing_with("f", _f)
_draw_t = drawing_with("t", _t)
_draw_generalized_normal = drawing_with("generalized_normal", _generalized_normal)


def gamma(
    key: Any,
    a: Any,
    shape: Any = None,
    dtype: DTypeLike = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """Return random numbers of the gamma distribution of density xᵃ⁻¹ e⁻ˣ / Γ(a).

    Args:
      key: a key.
      a: the shape parameter, positive; NaN results where it is negative.
      shape: the result's shape; that of ``a`` where not given.
      dtype: a floating dtype.
      method: ``"exact"``, or ``"approximate"``: in one step, from normal numbers.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      ValueError: the dtype is not floating, or there is no such method.

    For small ``a`` numbers underflow to 0: use ``loggamma``.  The derivative with respect to
    ``a`` is the implicit one.

    Source: G. Marsaglia and W. Tsang, ACM Transactions on Mathematical Software 26, 2000.

    >>> from jxkernel import random
    >>> random.gamma(random.key(0), 3.0, (2, 3)).shape
    (2, 3)
    """
    return placed(
        "random.gamma", _draw_gamma(key, shape, dtype, a, method=method), None, out_sharding
    )


def loggamma(
    key: Any,
    a: Any,
    shape: Any = None,
    dtype: DTypeLike = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """Return logarithms of numbers of the gamma distribution, which do not underflow.

    Args:
      key: a key.
      a: the shape parameter, positive.
      shape: the result's shape; that of ``a`` where not given.
      dtype: a floating dtype.
      method: ``"exact"``, or ``"approximate"``: in one step, from normal numbers.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      ValueError: the dtype is not floating, or there is no such method.

    >>> from jxkernel import random
    >>> bool(random.loggamma(random.key(0), 1e-4) < 0)
    True
    """
    return placed(
        "random.loggamma", _draw_loggamma(key, shape, dtype, a, method=method), None, out_sharding
    )


def beta(
    key: Any,
    a: Any,
    b: Any,
    shape: Any = None,
    dtype: DTypeLike = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """Return random numbers of the beta distribution of density ∝ xᵃ⁻¹ (1 - x)ᵇ⁻¹.

    Args:
      key: a key.
      a: the first shape parameter, positive.
      b: the second.
      shape: the result's shape; that of the parameters where not given.
      dtype: a floating dtype.
      method: ``"exact"``, or ``"approximate"``: in one step, from normal numbers.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      ValueError: the dtype is not floating, or there is no such method.

    >>> from jxkernel import random
    >>> random.beta(random.key(0), 2.0, 3.0, (4,)).shape
    (4,)
    """
    return placed(
        "random.beta", _draw_beta(key, shape, dtype, a, b, method=method), None, out_sharding
    )


def chisquare(
    key: Any,
    df: Any,
    shape: Any = None,
    dtype: DTypeLike = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """Return random numbers of the chi-square distribution.

    Args:
      key: a key.
      df: the degrees of freedom, positive.
      shape: the result's shape; that of ``df`` where not given.
      dtype: a floating dtype.
      method: ``"exact"``, or ``"approximate"``: in one step, from normal numbers.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      ValueError: the dtype is not floating, or there is no such method.

    >>> from jxkernel import random
    >>> random.chisquare(random.key(0), 3.0).shape
    ()
    """
    return placed(
        "random.chisquare",
        _draw_chisquare(key, shape, dtype, df, method=method),
        None,
        out_sharding,
    )


def f(
    key: Any,
    dfnum: Any,
    dfden: Any,
    shape: Any = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return random numbers of the F distribution, the ratio of two mean squares.

    Args:
      key: a key.
      dfnum: the numerator's degrees of freedom, positive.
      dfden: the denominator's.
      shape: the result's shape; that of the parameters where not given.
      dtype: a floating dtype.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    >>> from jxkernel import random
    >>> random.f(random.key(0), 3.0, 4.0, (2,)).shape
    (2,)
    """
    return placed("random.f", _draw_f(key, shape, dtype, dfnum, dfden), None, out_sharding)


def t(
    key: Any, df: Any, shape: Any = None, dtype: DTypeLike = None, *, out_sharding: Any = None
) -> Any:
    """Return random numbers of Student's t distribution.

    Args:
      key: a key.
      df: the degrees of freedom, positive.
      shape: the result's shape; that of ``df`` where not given.
      dtype: a floating dtype.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    >>> from jxkernel import random
    >>> random.t(random.key(0), 3.0, (2,)).shape
    (2,)
    """
    return placed("random.t", _draw_t(key, shape, dtype, df), None, out_sharding)


def generalized_normal(
    key: Any,
    p: ArrayLike,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return random numbers of the generalized normal distribution of density ∝ exp(-|x|ᵖ).

    Args:
      key: a key.
      p: the exponent, positive: 2 is normal of variance 1/2, 1 is Laplace.
      shape: the result's shape.
      dtype: a floating dtype.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    >>> from jxkernel import random
    >>> random.generalized_normal(random.key(0), 1.5, (2,)).shape
    (2,)
    """
    return placed(
        "random.generalized_normal",
        _draw_generalized_normal(key, shape, dtype, p),
        None,
        out_sharding,
    )


@fused(static=("name", "shape", "dtype"), name="dirichlet")
def _dirichlet(key_data: Any, alpha: Any, name: str, shape: Shape, dtype: Any) -> Any:
    whole = (*shape, np.shape(alpha)[-1])
    logs = gamma_numbers(
        key_data, name, broadcast_to_shape(cast(alpha, dtype), whole), log_space=True
    )
    shares = jnp.exp(logs - logs.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def dirichlet(
    key: Any, alpha: Any, shape: Any = None, dtype: DTypeLike = None, *, out_sharding: Any = None
) -> Any:
    """Return random points whose coordinates are positive and sum to 1.

    Args:
      key: a key.
      alpha: the concentrations, positive, along the last axis.
      shape: the result's shape without the last axis; that of ``alpha`` where not given.
      dtype: a floating dtype.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      ValueError: ``alpha`` has no axis, or its leading axes do not broadcast to the shape.

    >>> import jxkernel as jx
    >>> jx.random.dirichlet(jx.random.key(0), jx.numpy.ones(3), (5,)).shape
    (5, 3)
    """
    key_data, generator = checked_key_data("dirichlet", key)
    aval = argument_aval("random.dirichlet", alpha, 1)
    refuse_complex("random.dirichlet", aval.dtype)
    if not aval.ndim:
        raise ValueError(
            "random.dirichlet needs alpha of rank 1 or more, got a scalar: give one "
            "concentration per coordinate"
        )
    own = aval.shape[:-1]
    wanted = own if shape is None else canonical_shape(shape, "random.dirichlet")
    if broadcast_shapes(own, wanted) != wanted:
        raise ValueError(
            f"random.dirichlet got alpha of shape {aval.shape}, whose leading axes do not "
            f"broadcast to shape {wanted}"
        )
    return placed(
        "random.dirichlet",
        _dirichlet(key_data, alpha, generator.name, wanted, float_dtype("dirichlet", dtype)),
        None,
        out_sharding,
    )
