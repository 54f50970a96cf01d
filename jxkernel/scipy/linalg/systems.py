"""Linear systems by their factorisations, as SciPy names them.

``overwrite_a``, ``overwrite_b``, ``check_finite`` and ``debug`` are accepted for the sake of
SciPy's signatures and change nothing: arrays cannot be overwritten, and NaN gives NaN.
"""

from typing import Any

import numpy as np

from jxkernel.api.custom.derivatives import custom_jvp
from jxkernel.errors import ShapeMismatchError
from jxkernel.numpy import linalg
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.linalg.operands import (
    adjoint,
    broadcast_stacks,
    check_matrices,
    from_lists,
    matmul,
)
from jxkernel.numpy.promotion import argument_aval, promote_inexact
from jxkernel.numpy.selection import where
from jxkernel.primitives.linalg.cholesky import cholesky as lower_factor
from jxkernel.primitives.linalg.cholesky import triangular_solve
from jxkernel.primitives.linalg.lu import lu as factorized
from jxkernel.primitives.linalg.lu import lu_pivots_to_permutation, take_rows
from jxkernel.primitives.linalg.matrix import is_complex
from jxkernel.runtime import ArrayLike

__all__ = [
    "cho_factor",
    "cho_solve",
    "cholesky",
    "det",
    "inv",
    "lu_factor",
    "lu_solve",
    "solve",
    "solve_triangular",
]


def _sides(name: str, a: Any, b: Any) -> tuple[Any, Any, bool]:
    """Return matrices, right sides as matrices, and whether these were vectors.

    ``b`` holds vectors if it has one axis, or the shape of ``a`` without its last.
    """
    a, b = from_lists(a), from_lists(b)
    check_matrices(name, a, square=True)
    given = argument_aval(name, b, 1)
    vectors = given.ndim == 1 or given.shape == np.shape(a)[:-1]
    x, y = promote_inexact(name, a, b)
    y = y[..., None] if vectors else y
    if np.ndim(y) < 2 or np.shape(y)[-2] != np.shape(x)[-1]:
        raise ShapeMismatchError(name, [np.shape(a), given.shape], "b has as many rows as a")
    x, y = broadcast_stacks(name, (x, y), (2, 2))
    return x, y, vectors


@fused(static=("lower", "overwrite_a", "check_finite"))
def cholesky(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Return the triangular factor of Hermitian positive definite matrices.

    Args:
      a: matrices of shape (..., n, n), of which one triangle is read.
      lower: whether to read the lower triangle and return l with a = l lᴴ; otherwise the upper
        one, and u with a = uᴴ u.
      overwrite_a: changes nothing.
      check_finite: changes nothing.

    Raises:
      TypeError: ``a`` is no array, or of a dtype without a kernel.
      ValueError: the matrices are not square.

    A matrix that is not positive definite gives NaN.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import cholesky
    >>> cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 1.],
           [0., 2.]], dtype=float32)
    """
    a = from_lists(a)
    check_matrices("cholesky", a, square=True)
    (x,) = promote_inexact("cholesky", a)
    found = lower_factor(x if lower else adjoint(x), symmetrize_input=False)
    return found if lower else adjoint(found)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """Return what ``cho_solve`` takes: the factor of ``cholesky``, and which triangle it is.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import cho_factor
    >>> cho_factor(4 * jnp.eye(1), lower=True)
    (Array([[2.]], dtype=float32), True)
    """
    return cholesky(a, lower=bool(lower)), lower


@fused(static=("lower",), name="cho_solve")
def _cho_solve(c: Any, b: Any, lower: bool) -> Any:
    x, y, vectors = _sides("cho_solve", c, b)
    conjugate = is_complex(x)
    how: dict[str, Any] = {"left_side": True, "lower": lower}
    for turned in (not lower, lower):
        y = triangular_solve(x, y, transpose_a=turned, conjugate_a=turned and conjugate, **how)
    return y[..., 0] if vectors else y


def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Return the solution of a x = b, given the factor of a.

    Args:
      c_and_lower: what ``cho_factor`` returned.
      b: right sides of shape (..., n, k), or vectors (..., n).
      overwrite_b: changes nothing.
      check_finite: changes nothing.

    Raises:
      TypeError: ``b`` is no array, or of a dtype without a kernel.
      ShapeMismatchError: the sizes differ.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import cho_factor, cho_solve
    >>> cho_solve(cho_factor(4 * jnp.eye(2)), jnp.ones(2))
    Array([0.25, 0.25], dtype=float32)
    """
    c, lower = c_and_lower
    return _cho_solve(c, b, lower=bool(lower))


@fused(static=("overwrite_a", "check_finite"))
def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, Any]:
    """Return the LU factorisation of matrices in one matrix each, and the row exchanges.

    Args:
      a: matrices of shape (..., m, n).
      overwrite_a: changes nothing.
      check_finite: changes nothing.

    Returns:
      matrices with u in the upper triangle and l, without its unit diagonal, below; and int32
      numbers: step i exchanged rows i and ``pivots[i]``.

    Raises:
      TypeError: ``a`` is no array, or of a dtype without a kernel.
      ValueError: there are not two axes.

    Differentiable where the leading square part is invertible.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import lu_factor
    >>> lu_factor(jnp.array([[0.0, 2.0], [1.0, 0.0]]))[1]
    Array([1, 1], dtype=int32)
    """
    a = from_lists(a)
    check_matrices("lu_factor", a)
    factors, pivots, _ = factorized(*promote_inexact("lu_factor", a))
    return factors, pivots


@fused(static=("trans",), name="lu_solve")
def _lu_solve(factors: Any, pivots: Any, b: Any, trans: int) -> Any:
    x, y, vectors = _sides("lu_solve", factors, b)
    n = np.shape(x)[-1]
    order = lu_pivots_to_permutation(pivots, n)
    (order,) = broadcast_stacks("lu_solve", (order, x), (1, 2))[:1]
    steps: list[dict[str, Any]] = [{"lower": True, "unit_diagonal": True}, {"lower": False}]
    if not trans:
        y = take_rows(y, order)
    for how in reversed(steps) if trans else steps:
        turned = {"transpose_a": bool(trans), "conjugate_a": trans == 2}
        y = triangular_solve(x, y, left_side=True, **turned, **how)
    if trans:
        y = take_rows(y, _inverse_order(order))
    return y[..., 0] if vectors else y


def _inverse_order(order: Any) -> Any:
    n = np.shape(order)[-1]
    hits = order[..., :, None] == np.arange(n, dtype=np.int32)
    return where(hits, np.arange(n, dtype=np.int32)[:, None], 0).sum(-2, dtype=np.int32)


def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Return the solution of a x = b, given the factorisation of a.

    Args:
      lu_and_piv: what ``lu_factor`` returned.
      b: right sides of shape (..., n, k), or vectors (..., n).
      trans: 0 for a, 1 for its transpose, 2 for its conjugate transpose.
      overwrite_b: changes nothing.
      check_finite: changes nothing.

    Raises:
      TypeError: ``b`` is no array, or of a dtype without a kernel.
      ValueError: ``trans`` is unknown.
      ShapeMismatchError: the sizes differ.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import lu_factor, lu_solve
    >>> lu_solve(lu_factor(jnp.array([[0.0, 2.0], [1.0, 0.0]])), jnp.ones(2))
    Array([1. , 0.5], dtype=float32)
    """
    if trans not in (0, 1, 2):
        raise ValueError(f"lu_solve got trans={trans!r}: it is 0, 1 or 2")
    factors, pivots = lu_and_piv
    return _lu_solve(factors, pivots, b, trans=int(trans))


_TRANSPOSITIONS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


@fused(static=("trans", "lower", "unit_diagonal"), name="solve_triangular")
def _solve_triangular(a: Any, b: Any, trans: int, lower: bool, unit_diagonal: bool) -> Any:
    x, y, vectors = _sides("solve_triangular", a, b)
    found = triangular_solve(
        x,
        y,
        left_side=True,
        lower=lower,
        transpose_a=trans > 0,
        conjugate_a=trans == 2,
        unit_diagonal=unit_diagonal,
    )
    return found[..., 0] if vectors else found


def solve_triangular(
    a: ArrayLike,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Any:
    """Return the solution of a x = b for triangular matrices.

    Args:
      a: matrices of shape (..., n, n), of which one triangle is read.
      b: right sides of shape (..., n, k), or vectors (..., n).
      trans: 0 or ``"N"`` for a, 1 or ``"T"`` for its transpose, 2 or ``"C"`` for its conjugate
        transpose.
      lower: whether the lower triangle is read.
      unit_diagonal: whether the diagonal counts as ones.
      overwrite_b: changes nothing.
      debug: changes nothing.
      check_finite: changes nothing.

    Raises:
      TypeError: an operand is no array, or of a dtype without a kernel.
      ValueError: ``a`` is not square, or ``trans`` is unknown.
      ShapeMismatchError: the sizes differ.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import solve_triangular
    >>> solve_triangular(jnp.array([[1.0, 1.0], [0.0, 2.0]]), jnp.array([2.0, 2.0]))
    Array([1., 1.], dtype=float32)
    """
    if trans not in _TRANSPOSITIONS:
        raise ValueError(f"solve_triangular got trans={trans!r}: it is 0, 1, 2, 'N', 'T' or 'C'")
    how = (_TRANSPOSITIONS[trans], bool(lower), bool(unit_diagonal))
    return _solve_triangular(a, b, *how)


def solve(
    a: ArrayLike,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Any:
    """Return the solution of a x = b.

    Args:
      a: matrices of shape (..., n, n).
      b: right sides of shape (..., n, k), or one vector (n,).
      lower: which triangle is read where ``assume_a`` is ``"pos"``.
      overwrite_a: changes nothing.
      overwrite_b: changes nothing.
      debug: changes nothing.
      check_finite: changes nothing.
      assume_a: ``"gen"``, ``"sym"``, ``"her"``, or ``"pos"`` for Hermitian positive definite
        matrices, which are factorised in half the time.

    Raises:
      TypeError: an operand is no array, or of a dtype without a kernel.
      ValueError: ``a`` is not square, or ``assume_a`` is unknown.
      ShapeMismatchError: the sizes differ.

    The derivative is that of the equations: with respect to all of ``a``, of which ``"pos"`` reads
    one triangle.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import solve
    >>> solve(4 * jnp.eye(2), jnp.ones(2), assume_a="pos")
    Array([0.25, 0.25], dtype=float32)
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(f"solve got assume_a={assume_a!r}: it is 'gen', 'sym', 'her' or 'pos'")
    if assume_a != "pos":
        return linalg.solve(a, b)
    return _solve_positive(a, b, lower=bool(lower))


@fused(static=("lower",), name="solve")
def _solve_positive(a: Any, b: Any, lower: bool) -> Any:
    x, y, vectors = _sides("solve", a, b)
    factor = cholesky(x, lower=lower)
    found = _solve_factored(x, factor if lower else adjoint(factor), y)
    return found[..., 0] if vectors else found


@custom_jvp
def _solve_factored(a: Any, factor: Any, b: Any) -> Any:
    """Return x of a x = b; its derivative sees all of a, whatever triangle the factor is from."""
    return cho_solve((factor, True), b)


@_solve_factored.defjvp
def _solve_factored_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """From a x = b: a dx = db - da x."""
    x = _solve_factored(*primals)
    return x, _solve_factored(*primals[:2], tangents[2] - matmul(tangents[0], x))


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the inverses of square matrices; see ``jxkernel.numpy.linalg.inv``.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import inv
    >>> inv(4 * jnp.eye(1))
    Array([[0.25]], dtype=float32)
    """
    return linalg.inv(a)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the determinants of square matrices; see ``jxkernel.numpy.linalg.det``.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import det
    >>> det(4 * jnp.eye(2))
    Array(16., dtype=float32)
    """
    return linalg.det(a)
