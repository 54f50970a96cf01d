"""Determinants: as they are, and as sign and logarithm.

Up to three rows they are written out.  Larger ones come from the LU factorisation, and their
derivative from cofactors, which exist for singular matrices too.
"""

from typing import Any, NamedTuple

import numpy as np

from jxkernel.api.control_flow.branching import cond
from jxkernel.api.custom.derivatives import custom_jvp
from jxkernel.numpy.creation import ones, zeros
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.linalg.operands import adjoint, check_matrices, epsilon, inexact, matmul
from jxkernel.numpy.linalg.solutions import solve_matrices
from jxkernel.numpy.promotion import cast, promote_inexact
from jxkernel.numpy.reductions import any as truth_of_any
from jxkernel.numpy.reductions import max as greatest
from jxkernel.numpy.reductions import min as least
from jxkernel.numpy.reductions import prod
from jxkernel.numpy.reductions import sum as total
from jxkernel.numpy.selection import where
from jxkernel.primitives.elementwise.complex import complex as complex_number
from jxkernel.primitives.elementwise.complex import imag, real
from jxkernel.primitives.elementwise.exponential import log
from jxkernel.primitives.linalg.eigh import svd
from jxkernel.primitives.linalg.lu import lu
from jxkernel.primitives.linalg.matrix import (
    diagonal,
    identity_like,
    lower_part,
    on_diagonal,
    swapped,
)
from jxkernel.primitives.linalg.qr import geqrf
from jxkernel.runtime import ArrayLike

__all__ = ["det", "slogdet"]

_INT32 = np.dtype(np.int32)


def _written_out(x: Any) -> Any:
    n = np.shape(x)[-1]
    e = [[x[..., i, j] for j in range(n)] for i in range(n)]
    if n == 0:
        return ones(np.shape(x)[:-2], x.dtype)
    if n == 1:
        return cast(e[0][0], x.dtype)
    if n == 2:
        return e[0][0] * e[1][1] - e[0][1] * e[1][0]
    return (
        e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1])
        - e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0])
        + e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])
    )


def _exchanges(pivots: Any, dtype: Any) -> Any:
    """Return the sign of the permutation that row exchanges amount to."""
    count = total(cast(pivots != np.arange(np.shape(pivots)[-1]), _INT32), axis=-1)
    return cast(1 - 2 * (count % 2), dtype)


@custom_jvp
def _determinant(x: Any) -> Any:
    factors, pivots, _ = lu(x)
    return prod(diagonal(factors), axis=-1) * _exchanges(pivots, x.dtype)


@_determinant.defjvp
def _determinant_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (dx,) = primals, tangents
    return _determinant(x), total(swapped(_adjugate(x)) * dx, axis=(-2, -1))


def _adjugate(x: Any) -> Any:
    """Return the transposed cofactors: det(x) x⁻¹ where x has an inverse.

    Near to singular matrices, and at them, they come from the singular values; other matrices of
    a stack are replaced there by one with distinct singular values, so that second derivatives
    are finite.
    """
    n = np.shape(x)[-1]
    pivots = abs(diagonal(lu(x)[0]))
    near = least(pivots, axis=-1) <= n * epsilon(pivots.dtype) * greatest(pivots, axis=-1)
    mask = near[..., None, None]
    spread = identity_like(x, n) * np.arange(1, n + 1).astype(x.dtype)

    def regular(x: Any) -> Any:
        return solve_matrices(x, identity_like(x, n)) * _determinant(x)[..., None, None]

    def mixed(x: Any) -> Any:
        by_values = _adjugate_by_singular_values(where(mask, x, spread))
        return where(mask, by_values, regular(where(mask, spread, x)))

    return cond(truth_of_any(near), mixed, regular, x)


def _adjugate_by_singular_values(x: Any) -> Any:
    """With x = u diag(s) vᴴ: det(u) det(vᴴ) v diag(products of the other values) uᴴ."""
    u, s, vh = svd(x, full_matrices=False)
    others = where(on_diagonal(vh), 1, s[..., None, :])
    weights = cast(prod(others, axis=-1), x.dtype)
    phase = _determinant(u) * _determinant(vh)
    return matmul(adjoint(vh), weights[..., None] * adjoint(u)) * phase[..., None, None]


@fused
def det(a: ArrayLike) -> Any:
    """Return the determinants of square matrices.

    Args:
      a: matrices of shape (..., n, n).

    Returns:
      an array of shape (...); 1 where n is 0.

    Raises:
      TypeError: ``a`` is no array, or (for more than 3 rows) of a dtype without a kernel.
      ValueError: the matrices are not square.

    Differentiable everywhere, at singular matrices too; twice there, where singular values are
    distinct.  Source: Jacobi's formula, dx det(x) = tr(adj(x) dx).

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.det(jnp.array([[2.0, 1.0], [1.0, 3.0]]))
    Array(5., dtype=float32)
    """
    check_matrices("det", a, square=True)
    (x,) = promote_inexact("det", a)
    return _written_out(x) if np.shape(x)[-1] <= 3 else _determinant(x)


# ---------------------------------------------------------------- slogdet


class SlogdetResult(NamedTuple):
    """What ``slogdet`` returns."""

    sign: Any
    logabsdet: Any


def _sign_and_logarithm(factors: Any, sign: Any) -> tuple[Any, Any]:
    """Return sign (or phase) and log of a product of numbers times a sign."""
    size = abs(factors)
    phases = factors / cast(where(size == 0, 1, size), factors.dtype)
    return sign * prod(phases, axis=-1), total(log(size), axis=-1)


def _by_lu(x: Any) -> tuple[Any, Any]:
    factors, pivots, _ = lu(x)
    return _sign_and_logarithm(diagonal(factors), _exchanges(pivots, x.dtype))


def _by_qr(x: Any) -> tuple[Any, Any]:
    """The determinant of a reflection 1 - tau v vᴴ is 1 - tau vᴴ v, and v begins with 1."""
    form, taus = geqrf(x)
    squares = total(abs(lower_part(form, -1)) ** 2, axis=-2) + 1
    reflections = prod(1 - taus * cast(squares, taus.dtype), axis=-1)
    return _sign_and_logarithm(diagonal(form), reflections)


@custom_jvp
def _slogdet_by_lu(x: Any) -> tuple[Any, Any]:
    return _by_lu(x)


@custom_jvp
def _slogdet_by_qr(x: Any) -> tuple[Any, Any]:
    return _by_qr(x)


def _slogdet_rule(function: Any) -> Any:
    def rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
        """With w = tr(x⁻¹ dx): d log|det| is its real part, and the phase turns by the other."""
        sign, logabsdet = function(*primals)
        w = total(diagonal(solve_matrices(primals[0], tangents[0])), axis=-1)
        if w.dtype.kind != "c":
            return (sign, logabsdet), (zeros(np.shape(w), w.dtype), w)
        turn = imag(w)
        return (sign, logabsdet), (sign * complex_number(zeros_like(turn), turn), real(w))

    return rule


def zeros_like(x: Any) -> Any:
    """Return zeros of the shape and dtype of an array."""
    return zeros(np.shape(x), x.dtype)


_slogdet_by_lu.defjvp(_slogdet_rule(_slogdet_by_lu))
_slogdet_by_qr.defjvp(_slogdet_rule(_slogdet_by_qr))


@fused(static=("method",))
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """Return the sign and the logarithm of the absolute value of determinants.

    Args:
      a: matrices of shape (..., n, n).
      method: by which factorisation: ``"lu"`` (the default) or ``"qr"``.

    Returns:
      a named tuple: ``sign``, which is -1, 0, 1 or a complex number of modulus 1, and
      ``logabsdet``, real; 0 and -inf for a singular matrix.

    Raises:
      TypeError: ``a`` is no array, or of a dtype without a kernel.
      ValueError: the matrices are not square, or the method is unknown.

    Differentiable where the matrix is invertible; NaN elsewhere.

    >>> import jxkernel.numpy as jnp
    >>> float(jnp.linalg.slogdet(jnp.array([[0.0, 1.0], [1.0, 0.0]])).sign)
    -1.0
    """
    if method not in (None, "lu", "qr"):
        raise ValueError(f"slogdet got method={method!r}: it is 'lu' or 'qr'")
    check_matrices("slogdet", a, square=True)
    (x,) = inexact("slogdet", a)
    return SlogdetResult(*(_slogdet_by_qr(x) if method == "qr" else _slogdet_by_lu(x)))
