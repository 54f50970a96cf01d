"""Linear systems: solutions, inverses and their generalisations to any shape and rank.

Derivatives are those of the equations, not of the factorisations that solve them.
"""

from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.api.custom.derivatives import custom_jvp
from jxkernel.errors import ShapeMismatchError
from jxkernel.numpy.creation import zeros
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.linalg.decompositions import svd
from jxkernel.numpy.linalg.operands import (
    adjoint,
    broadcast_stacks,
    check_matrices,
    epsilon,
    inexact,
    matmul,
)
from jxkernel.numpy.means import squared_modulus
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_shapes,
    broadcast_to_shape,
    cast,
    promote_inexact,
)
from jxkernel.numpy.reductions import sum as total
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import moveaxis, reshape
from jxkernel.primitives.arguments import canonical_axes, whole_number
from jxkernel.primitives.linalg.lu import lu, lu_solve
from jxkernel.primitives.linalg.matrix import identity_like
from jxkernel.runtime import ArrayLike

__all__ = ["inv", "lstsq", "pinv", "solve", "solve_factored", "tensorinv", "tensorsolve"]


@custom_jvp
def solve_factored(a: Any, factors: Any, permutation: Any, b: Any) -> Any:
    """Return x of a x = b, for stacks of matrices of one stack shape and their LU factors.

    The derivative is that of x as a function of a and b; the factors count as constants.
    """
    return lu_solve(factors, permutation, b)


@solve_factored.defjvp
def _solve_factored_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """From a x = b: a dx = db - da x."""
    a, factors, permutation, _ = primals
    x = solve_factored(*primals)
    right = tangents[3] - matmul(tangents[0], x)
    return x, solve_factored(a, factors, permutation, right)


def solve_matrices(a: Any, b: Any) -> Any:
    """Return x of a x = b for stacks of matrices of one dtype and stack shape."""
    factors, _, permutation = lu(a)
    return solve_factored(a, factors, permutation, b)


@fused
def solve(a: ArrayLike, b: ArrayLike) -> Any:
    """Return the solution x of a x = b.

    Args:
      a: matrices of shape (..., n, n).
      b: an array of shape (..., n, k), or (n,) for one vector; leading axes broadcast.

    Raises:
      TypeError: an operand is no array, or of a dtype without a kernel.
      ValueError: the matrices are not square, or ``b`` is a number.
      ShapeMismatchError: the sizes differ, or leading axes do not broadcast.

    A singular matrix gives infinities or NaN.  Linear in ``b``; the derivative is a⁻¹ (db - da x).

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 2.0]))
    Array([1. , 0.5], dtype=float32)
    """
    check_matrices("solve", a, square=True)
    given = argument_aval("solve", b, 1)
    if not given.ndim:
        raise ValueError("solve takes b of shape (..., n, k) or (n,), got a number")
    vector = given.ndim == 1
    x, y = promote_inexact("solve", a, b)
    y = y[:, None] if vector else y
    if np.shape(y)[-2] != np.shape(x)[-1]:
        raise ShapeMismatchError(
            "solve",
            [np.shape(a), given.shape],
            "b has as many rows as a; stacks of vectors are written b[..., None]",
        )
    found = solve_matrices(*broadcast_stacks("solve", (x, y), (2, 2)))
    return found[..., 0] if vector else found


@fused
def inv(a: ArrayLike) -> Any:
    """Return the inverses of square matrices; to solve systems, ``solve`` is better.

    Args:
      a: matrices of shape (..., n, n).

    Raises:
      TypeError: ``a`` is no array, or of a dtype without a kernel.
      ValueError: the matrices are not square.

    A singular matrix gives infinities or NaN.  The derivative is -x⁻¹ dx x⁻¹.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    check_matrices("inv", a, square=True)
    (x,) = inexact("inv", a)
    return solve_matrices(x, identity_like(x, np.shape(x)[-1]))


# ---------------------------------------------------------------- least squares


@fused(name="lstsq")
def _least_squares(a: Any, b: Any, rcond: Any) -> tuple[Any, Any, Any, Any]:
    """Return solution, residuals, rank and singular values for matrices ``a`` and ``b``."""
    x, y = promote_inexact("lstsq", a, b)
    m, n = np.shape(x)
    s_dtype = np.zeros((), x.dtype).real.dtype
    if not m or not n:
        solution = zeros((n, np.shape(y)[1]), x.dtype)
        rank = zeros((), dtypes.default_int_dtype())
        return solution, total(squared_modulus(y), axis=0), rank, zeros((0,), s_dtype)
    u, s, vh = svd(x, full_matrices=False)
    smallest = cast(rcond, s_dtype) * s[0]
    counted = (s > smallest) & (s > 0)
    safe = where(counted, s, 1)
    scaled = where(counted[:, None], matmul(adjoint(u), y) / cast(safe, x.dtype)[:, None], 0)
    solution = matmul(adjoint(vh), scaled)
    residuals = total(squared_modulus(y - matmul(x, solution)), axis=0)
    return solution, residuals, total(counted, dtype=dtypes.default_int_dtype()), s


def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Any, Any, Any, Any]:
    """Return the x of least norm among those that make the length of a x - b least.

    Args:
      a: a matrix of shape (m, n).
      b: a vector (m,) or matrix (m, k), each column a system of its own.
      rcond: singular values below ``rcond`` times the greatest count as 0; the precision of the
        dtype times max(m, n) if not given, the precision if negative.
      numpy_resid: whether to return no residuals where NumPy does, that is where the rank is
        below n or m <= n; not while traced, since it depends on values.

    Returns:
      x of shape (n,) or (n, k), the sums of squared residuals of shape (k,) (k = 1 for a
      vector), the rank, and the singular values.

    Raises:
      TypeError: an operand is no array, or of a dtype without a kernel.
      ValueError: ``a`` is no matrix, or ``b`` neither vector nor matrix.
      ShapeMismatchError: the numbers of rows differ.

    Differentiable where the singular values that count are distinct.  By ``svd``.

    >>> import jxkernel.numpy as jnp
    >>> x, residuals, rank, s = jnp.linalg.lstsq(jnp.ones((2, 1)), jnp.array([1.0, 2.0]))
    >>> int(rank), x.shape, residuals.shape
    (1, (1,), (1,))
    """
    left, right = argument_aval("lstsq", a), argument_aval("lstsq", b, 1)
    if left.ndim != 2:
        raise ShapeMismatchError("lstsq", [left.shape], "a is one matrix; use vmap for stacks")
    if right.ndim not in (1, 2):
        raise ShapeMismatchError("lstsq", [right.shape], "b must be of shape (m,) or (m, k)")
    if left.shape[0] != right.shape[0]:
        raise ShapeMismatchError("lstsq", [left.shape, right.shape], "a and b have as many rows")
    dtype = promote_inexact("lstsq", np.zeros((), left.dtype), np.zeros((), right.dtype))[0].dtype
    if rcond is None:
        rcond = epsilon(dtype) * max(left.shape)
    elif isinstance(rcond, (int, float)) and rcond < 0:
        rcond = epsilon(dtype)
    columns = right if right.ndim == 2 else None
    x, residuals, rank, s = _least_squares(a, b if columns else reshape(b, (-1, 1)), rcond)
    if numpy_resid and (left.shape[0] <= left.shape[1] or int(rank) < left.shape[1]):
        residuals = residuals[:0]
    return x if columns else x[:, 0], residuals, rank, s


@custom_jvp
def _pseudo_inverse(a: Any, rtol: Any) -> Any:
    u, s, vh = svd(a, full_matrices=False)
    counted = s > rtol[..., None] * s[..., :1]
    inverse = where(counted, 1 / where(counted, s, 1), 0)
    return matmul(adjoint(vh), cast(inverse, a.dtype)[..., None] * adjoint(u))


@_pseudo_inverse.defjvp
def _pseudo_inverse_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """At constant rank, with p the pseudo-inverse: three terms (Golub and Pereyra 1973)."""
    a, da = primals[0], tangents[0]
    p = _pseudo_inverse(*primals)
    ph, dah = adjoint(p), adjoint(da)
    left = matmul(p, matmul(ph, dah))
    right = matmul(dah, matmul(ph, p))
    dp = -matmul(p, matmul(da, p)) + left - matmul(left, matmul(a, p))
    return p, dp + right - matmul(p, matmul(a, right))


@fused(static=("hermitian",), name="pinv")
def _pinv(a: Any, rtol: Any, hermitian: bool) -> Any:
    check_matrices("pinv", a, square=hermitian)
    (x,) = inexact("pinv", a)
    m, n = np.shape(x)[-2:]
    if not m or not n:
        return zeros((*np.shape(x)[:-2], n, m), x.dtype)
    if hermitian:
        x = (x + adjoint(x)) / 2
    part = np.zeros((), x.dtype).real.dtype
    if rtol is None:
        rtol = part.type(10 * max(m, n) * epsilon(part))
    lead = broadcast_shapes(np.shape(rtol), np.shape(x)[:-2])
    x = broadcast_to_shape(x, (*lead, m, n))
    return _pseudo_inverse(x, cast(rtol, part) + zeros((), part))


def pinv(a: ArrayLike, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Any:
    """Return the pseudo-inverses of matrices (Moore and Penrose).

    Args:
      a: matrices of shape (..., m, n).
      rtol: singular values up to ``rtol`` times the greatest count as 0: a number, or an array
        that broadcasts against the leading axes of ``a``.  10 max(m, n) times the dtype's
        precision if not given.
      hermitian: whether the matrices are Hermitian: they are symmetrized.
      rcond: the older name of ``rtol``.

    Returns:
      matrices of shape (..., n, m).

    Raises:
      TypeError: ``a`` is no array, or of a dtype without a kernel.
      ValueError: there are not two axes, or both ``rtol`` and ``rcond`` are given.

    Differentiable where the rank does not change nearby.  Source of the derivative: G. Golub and
    V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose
    variables separate", 1973.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.pinv(jnp.array([[2.0, 0.0], [0.0, 0.0]]))
    Array([[0.5, 0. ],
           [0. , 0. ]], dtype=float32)
    """
    if rtol is not None and rcond is not None:
        raise ValueError("pinv takes rtol or rcond, not both")
    return _pinv(a, rcond if rtol is None else rtol, hermitian=bool(hermitian))


# ---------------------------------------------------------------- tensors


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: tuple[int, ...] | None = None) -> Any:
    """Return the x of which ``tensordot(a, x, x.ndim)`` is b.

    Args:
      a: an array of shape (*b.shape, *x.shape), where both parts have as many elements.
      b: an array.
      axes: axes of ``a`` to move to the end first.

    Returns:
      an array of the shape of the last axes of ``a``.

    Raises:
      ValueError: an axis does not exist.
      ShapeMismatchError: the shapes do not fit.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.tensorsolve(2 * jnp.eye(4).reshape(2, 2, 4), jnp.ones((2, 2)))
    Array([0.5, 0.5, 0.5, 0.5], dtype=float32)
    """
    left, right = argument_aval("tensorsolve", a), argument_aval("tensorsolve", b, 1)
    if axes is not None:
        found = canonical_axes("tensorsolve", axes, left.ndim)
        a = moveaxis(a, found, range(left.ndim - len(found), left.ndim))
    shape = np.shape(a)
    rest = shape[right.ndim :]
    if shape[: right.ndim] != right.shape or prod(rest) != prod(right.shape):
        raise ShapeMismatchError(
            "tensorsolve",
            [shape, right.shape],
            "a begins with b's axes, and the others have as many elements",
        )
    size = prod(rest)
    return reshape(solve(reshape(a, (size, size)), reshape(b, (size,))), rest)


def tensorinv(a: ArrayLike, ind: int = 2) -> Any:
    """Return the inverse of an array for ``tensordot`` over its first axes.

    Args:
      a: an array whose first ``ind`` axes have as many elements as the others.
      ind: how many axes; at least 1.

    Returns:
      an array with the last axes of ``a`` first: ``tensordot(tensorinv(a), b, ind)`` is
      ``tensorsolve(a, b)``.

    Raises:
      ValueError: ``ind`` is not positive.
      ShapeMismatchError: the numbers of elements differ.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.tensorinv(jnp.eye(4).reshape(2, 2, 4)).shape
    (4, 2, 2)
    """
    shape = argument_aval("tensorinv", a).shape
    ind = whole_number("tensorinv", "ind", ind)
    if ind <= 0:
        raise ValueError(f"tensorinv got ind={ind}: it is positive")
    first, rest = shape[:ind], shape[ind:]
    if prod(first) != prod(rest):
        raise ShapeMismatchError(
            "tensorinv", [first, rest], f"the first {ind} axes have as many elements as the others"
        )
    size = prod(first)
    return reshape(inv(reshape(a, (size, size))), (*rest, *first))
