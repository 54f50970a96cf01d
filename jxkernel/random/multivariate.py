"""Random vectors and matrices: normal vectors with a covariance, points of balls, rotations."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.creation import canonical_shape, placed
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_shapes,
    broadcast_to_shape,
    cast,
    result_dtype,
)
from jxkernel.numpy.selection import where
from jxkernel.primitives.arguments import whole_number
from jxkernel.primitives.linalg.cholesky import cholesky
from jxkernel.primitives.linalg.eigh import eigh, svd
from jxkernel.primitives.linalg.matrix import diagonal, matmul, scaled_columns, swapped
from jxkernel.primitives.linalg.qr import qr
from jxkernel.random.continuous import exponential, normal
from jxkernel.random.drawing import float_dtype
from jxkernel.random.gamma_family import generalized_normal
from jxkernel.random.keys import split

__all__ = ["ball", "multivariate_normal", "orthogonal"]

_METHODS = ("cholesky", "eigh", "svd")


# ---------------------------------------------------------------- multivariate_normal


def _root(cov: Any, method: str) -> Any:
    """Return matrices whose product with their transpose is ``cov``."""
    if method == "cholesky":
        return cholesky(cov)
    if method == "eigh":
        vectors, values = eigh(cov)
        return scaled_columns(vectors, values**0.5)
    u, s, _ = svd(cov)
    return scaled_columns(u, s**0.5)


@fused(static=("method",), name="multivariate_normal")
def _transformed(z: Any, mean: Any, cov: Any, method: str) -> Any:
    dtype = z.dtype
    # Kernels take no fewer than 32 bits.
    wide = np.promote_types(dtype, np.float32)
    root = cast(_root(cast(cov, wide), method), dtype)
    shape = np.shape(z)
    root = broadcast_to_shape(root, (*shape[:-1], *np.shape(root)[-2:]))
    return cast(mean, dtype) + matmul(root, z[..., None])[..., 0]


def multivariate_normal(
    key: Any,
    mean: Any,
    cov: Any,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Any:
    """Return random vectors of normal distributions with given means and covariances.

    Args:
      key: a key.
      mean: means, of shape (..., n).
      cov: covariance matrices, of shape (..., n, n).
      shape: the shape of the result without its last axis; that of the parameters if not given.
      dtype: a floating dtype; that of the parameters if not given.
      method: how to take the root of ``cov``: ``"cholesky"``, or ``"eigh"`` or ``"svd"``, which
        take singular matrices too.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      TypeError: a parameter is no array.
      ValueError: ``method`` is unknown, the dtype is not floating, or the shapes do not fit.

    Differentiable in mean and covariance.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel import random
    >>> random.multivariate_normal(random.key(0), jnp.zeros(2), jnp.eye(2), (3,)).shape
    (3, 2)
    """
    name = "multivariate_normal"
    if method not in _METHODS:
        raise ValueError(f"random.{name} got method={method!r}: it is one of {_METHODS}")
    center, spread = argument_aval(f"random.{name}", mean), argument_aval(f"random.{name}", cov, 1)
    if center.ndim < 1 or spread.ndim < 2 or spread.shape[-2:] != center.shape[-1:] * 2:
        raise ValueError(
            f"random.{name} takes mean of shape (..., n) and cov of shape (..., n, n), got "
            f"{center.shape} and {spread.shape}"
        )
    own, _ = result_dtype(f"random.{name}", (mean, cov))
    found = float_dtype(name, dtype or dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(own)))
    joint = broadcast_shapes(center.shape[:-1], spread.shape[:-2])
    lead = joint if shape is None else canonical_shape(shape, f"random.{name}")
    if broadcast_shapes(lead, joint) != lead:
        raise ValueError(f"random.{name} got parameters of shape {joint} for shape {lead}")
    z = normal(key, (*lead, center.shape[-1]), found)
    return placed(
        "random.multivariate_normal", _transformed(z, mean, cov, method=method), None, out_sharding
    )


# ---------------------------------------------------------------- orthogonal


@fused(static=("wide",), name="orthogonal")
def _with_positive_diagonal(z: Any, wide: bool) -> Any:
    """Return q of z = q r with r's diagonal positive: z normal makes q uniform (Haar measure)."""
    # Kernels take no fewer than 32 bits.
    q, r = qr(cast(z, np.promote_types(z.dtype, np.float32)), full_matrices=False)
    d = diagonal(r)
    size = abs(d)
    phases = d / cast(where(size == 0, 1, size), d.dtype)
    q = cast(scaled_columns(q, where(size == 0, 1, phases)), z.dtype)
    return swapped(q) if wide else q


def orthogonal(
    key: Any,
    n: int,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return random orthogonal (unitary, for a complex dtype) matrices, uniformly distributed.

    Args:
      key: a key.
      n: the number of rows.
      shape: how many matrices.
      dtype: a floating or complex dtype; the default float dtype if not given.
      m: the number of columns; ``n`` if not given.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Returns:
      an array of shape (*shape, n, m), with orthonormal columns, or rows if m > n.

    Raises:
      ValueError: a size is negative, or the dtype is neither floating nor complex.

    F. Mezzadri, "How to generate random matrices from the classical compact groups", 2007.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel import random
    >>> q = random.orthogonal(random.key(0), 3)
    >>> bool(jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-5))
    True
    """
    rows = whole_number("random.orthogonal", "n", n)
    columns = rows if m is None else whole_number("random.orthogonal", "m", m)
    if min(rows, columns) < 0:
        raise ValueError(f"random.orthogonal got n={n} and m={m}: sizes are not negative")
    sizes = (max(rows, columns), min(rows, columns))
    z = normal(key, (*canonical_shape(shape, "random.orthogonal"), *sizes), dtype)
    return placed(
        "random.orthogonal", _with_positive_diagonal(z, columns > rows), None, out_sharding
    )


# ---------------------------------------------------------------- ball


@fused(name="ball")
def _inside(g: Any, e: Any, p: Any) -> Any:
    power = cast(p, g.dtype)
    sums = (abs(g) ** power).sum(-1) + e
    return g / (sums ** (1 / power))[..., None]


def ball(
    key: Any,
    d: int,
    p: Any = 2,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return random points, uniformly distributed in the unit ball of a p-norm.

    Args:
      key: a key.
      d: the dimension.
      p: which norm, a positive number.
      shape: how many points.
      dtype: a floating dtype; the default one if not given.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Returns:
      an array of shape (*shape, d).

    Raises:
      ValueError: the dtype is not floating.

    F. Barthe et al., "A probabilistic approach to the geometry of the lₚⁿ-ball", 2005.

    >>> from jxkernel import random
    >>> bool((random.ball(random.key(0), 3) ** 2).sum() <= 1)
    True
    """
    found, lead = float_dtype("ball", dtype), canonical_shape(shape, "random.ball")
    keys = split(key)
    g = generalized_normal(keys[0], p, (*lead, whole_number("random.ball", "d", d)), found)
    return placed(
        "random.ball", _inside(g, exponential(keys[1], lead, found), p), None, out_sharding
    )
