"""The polar decomposition: by an iteration of QR factorisations, and by singular values.

Source: Y. Nakatsukasa, Z. Bai and F. Gygi, "Optimizing Halley's iteration for computing the
matrix polar decomposition", 2010.
"""

from functools import cache, partial
from math import sqrt as root_of
from typing import Any

import numpy as np

from jxkernel.api.custom.derivatives import custom_jvp
from jxkernel.numpy.joining import concatenate
from jxkernel.numpy.linalg.decompositions import svd
from jxkernel.numpy.linalg.operands import adjoint, check_matrices, epsilon, inexact, matmul
from jxkernel.numpy.promotion import cast
from jxkernel.numpy.reductions import all as truth_of_all
from jxkernel.numpy.reductions import max as greatest
from jxkernel.numpy.reductions import sum as total
from jxkernel.numpy.selection import where
from jxkernel.primitives.elementwise.exponential import sqrt
from jxkernel.primitives.linalg.cholesky import cholesky, triangular_solve
from jxkernel.primitives.linalg.eigh import eigh
from jxkernel.primitives.linalg.matrix import identity_like
from jxkernel.primitives.linalg.qr import qr
from jxkernel.runtime import ArrayLike

__all__ = ["polar_by_values", "qdwh"]

_LARGE_WEIGHT = 100.0
"""Above this weight c, 1 + c uᴴ u may be too badly conditioned for its Cholesky factor."""


@cache
def _weights(precision: float) -> tuple[tuple[float, float, float], ...]:
    """Return the weights (a, b, c) of each step, for singular values from ``precision`` to 1."""
    found = []
    least = precision
    while least < 1 - 10 * precision:
        square = least * least
        d = (4 * (1 - square) / square**2) ** (1 / 3)
        e = root_of(1 + d)
        a = e + root_of(8 - 4 * d + 8 * (2 - square) / (square * e)) / 2
        b = (a - 1) ** 2 / 4
        found.append((a, b, a + b - 1))
        least = min(least * (a + b * square) / (1 + (a + b - 1) * square), 1.0)
    return tuple(found)


def _step(u: Any, a: float, b: float, c: float) -> Any:
    """Return u (a + b uᴴ u) (1 + c uᴴ u)⁻¹, which moves singular values towards 1."""
    n = np.shape(u)[-1]
    eye = identity_like(u, n)
    ratio, part = u.dtype.type(b / c), u.dtype.type(a - b / c)
    if c > _LARGE_WEIGHT:
        m = np.shape(u)[-2]
        scale = u.dtype.type(root_of(c))
        q, _ = qr(concatenate([scale * u, eye], axis=-2), full_matrices=False)
        return ratio * u + part / scale * matmul(q[..., :m, :], adjoint(q[..., m:, :]))
    factor = cholesky(eye + u.dtype.type(c) * matmul(adjoint(u), u), symmetrize_input=False)
    how: dict[str, Any] = {"left_side": False, "lower": True}
    conjugate = u.dtype.kind == "c"
    half = triangular_solve(factor, u, transpose_a=True, conjugate_a=conjugate, **how)
    return ratio * u + part * triangular_solve(factor, half, **how)


def _hermitian(x: Any) -> Any:
    return (x + adjoint(x)) / 2


@partial(custom_jvp, nondiff_argnums=(1, 2))
def _decomposed(x: Any, eps: float, steps: int) -> tuple[Any, Any, Any]:
    """Return u, h and the relative change in the last step."""
    columns = greatest(total(abs(x), axis=-2), axis=-1, initial=0)
    rows = greatest(total(abs(x), axis=-1), axis=-1, initial=0)
    size = sqrt(columns) * sqrt(rows)
    u = x / cast(where(size == 0, 1, size), x.dtype)[..., None, None]
    before = u
    for weights in _weights(eps)[:steps]:
        before, u = u, _step(u, *weights)
    change = sqrt(total(abs(u - before) ** 2, axis=(-2, -1)))
    return u, _hermitian(matmul(adjoint(u), x)), change


@_decomposed.defjvp
def _decomposed_jvp(eps: float, steps: int, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """With s = uᴴ dx and skew w of h w + w h = s - sᴴ: du = u w + (dx - u s) h⁻¹, dh = s - w h."""
    u, h, change = _decomposed(*primals, eps, steps)
    dx = tangents[0]
    vectors, values = eigh(h)
    s = matmul(adjoint(u), dx)
    sums = values[..., :, None] + values[..., None, :]
    safe = cast(where(sums > 0, sums, np.inf), u.dtype)
    inner = matmul(adjoint(vectors), matmul(s - adjoint(s), vectors)) / safe
    w = matmul(vectors, matmul(inner, adjoint(vectors)))
    inverse = cast(1 / where(values > 0, values, np.inf), u.dtype)
    outside = matmul(dx - matmul(u, s), vectors) * inverse[..., None, :]
    du = matmul(u, w) + matmul(outside, adjoint(vectors))
    return (u, h, change), (du, _hermitian(s - matmul(w, h)), 0 * change)


def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[Any, Any] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Return the polar decomposition x = u h by the dynamically weighted Halley iteration.

    Args:
      x: matrices of shape (..., m, n) with m >= n.
      is_hermitian: a promise that they are; u is symmetrized then.
      max_iterations: after how many steps the iteration ends in any case.
      eps: the precision asked for; that of the dtype if not given.
      dynamic_shape: the numbers of rows and columns, which may be traced, that count: what lies
        outside counts as 0.

    Returns:
      u with orthonormal columns, h Hermitian with no negative eigenvalue, the number of steps as
      int32, and whether the last one changed nothing to speak of.

    Raises:
      TypeError: ``x`` is no array, or of a dtype without a kernel.
      ValueError: there are more columns than rows.

    Differentiable where the rank is n.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel import lax
    >>> u, h, steps, converged = lax.linalg.qdwh(jnp.array([[0.0, -2.0], [2.0, 0.0]]))
    >>> bool(converged), u.shape
    (True, (2, 2))
    """
    check_matrices("qdwh", x, argument="x")
    (y,) = inexact("qdwh", x)
    m, n = np.shape(y)[-2:]
    if m < n:
        raise ValueError(f"qdwh takes matrices with at least as many rows as columns, got {(m, n)}")
    if dynamic_shape is not None:
        rows, columns = dynamic_shape
        inside = (np.arange(m)[:, None] < rows) & (np.arange(n)[None, :] < columns)
        y = where(inside, y, 0)
    precision = epsilon(y.dtype) if eps is None else float(eps)
    planned = _weights(precision)
    steps = len(planned) if max_iterations is None else min(max_iterations, len(planned))
    u, h, change = _decomposed(y, precision, steps)
    if is_hermitian:
        u = _hermitian(u)
    converged = truth_of_all(change <= (5 * precision) ** (1 / 3) * root_of(max(n, 1)))
    return u, h, np.int32(steps), converged


def polar_by_values(x: Any, *, left: bool) -> tuple[Any, Any]:
    """Return the polar decomposition from singular values: (u, p) of x = u p, or of x = p u."""
    u, s, vh = svd(x, full_matrices=False)
    basis = u if left else adjoint(vh)
    scaled = basis * cast(s, x.dtype)[..., None, :]
    return matmul(u, vh), matmul(scaled, adjoint(basis))
