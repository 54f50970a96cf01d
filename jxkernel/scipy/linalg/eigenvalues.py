"""Eigenvalues of Hermitian matrices: one, a pair of them, and tridiagonal ones."""

from typing import Any

import numpy as np

from jxkernel.errors import ShapeMismatchError
from jxkernel.numpy.creation import zeros
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.linalg.operands import adjoint, check_matrices, from_lists, inexact, matmul
from jxkernel.numpy.promotion import argument_aval, promote_inexact
from jxkernel.primitives.linalg import eigh as spectral
from jxkernel.primitives.linalg.cholesky import cholesky, triangular_solve
from jxkernel.primitives.linalg.matrix import is_complex
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.linalg.special_matrices import banded

__all__ = ["eigh", "eigh_tridiagonal"]


def _reduced(a: Any, b: Any, kind: int) -> tuple[Any, Any]:
    """Return the matrix of the ordinary problem, and the factor l of b = l lᴴ."""
    factor = cholesky(b)
    if kind == 1:
        half = triangular_solve(factor, a, left_side=True, lower=True)
        return adjoint(triangular_solve(factor, adjoint(half), left_side=True, lower=True)), factor
    return matmul(adjoint(factor), matmul(a, factor)), factor


@fused(static=("eigvals_only", "kind"), name="eigh")
def _eigh(a: Any, b: Any, eigvals_only: bool, kind: int) -> Any:
    a, b = from_lists(a), from_lists(b)
    check_matrices("eigh", a, square=True)
    if b is None:
        vectors, values = spectral.eigh(*promote_inexact("eigh", a))
        return values if eigvals_only else (values, vectors)
    check_matrices("eigh", b, square=True, argument="b")
    if np.shape(a) != np.shape(b):
        raise ShapeMismatchError("eigh", [np.shape(a), np.shape(b)], "a and b are alike")
    x, y = promote_inexact("eigh", a, b)
    x = (x + adjoint(x)) / 2
    problem, factor = _reduced(x, y, kind)
    vectors, values = spectral.eigh(problem)
    if eigvals_only:
        return values
    if kind == 3:
        return values, matmul(factor, vectors)
    turned: dict[str, Any] = {"transpose_a": True, "conjugate_a": is_complex(factor)}
    return values, triangular_solve(factor, vectors, left_side=True, lower=True, **turned)


def eigh(
    a: ArrayLike,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Return the eigenvalues and eigenvectors of Hermitian matrices, or of pairs of them.

    Args:
      a: Hermitian matrices of shape (..., n, n); the mean of a and aᴴ counts.
      b: positive definite matrices of the same shape, for the generalized problem.
      lower: changes nothing, since both triangles count.
      eigvals_only: whether to return the eigenvalues alone.
      overwrite_a: changes nothing.
      overwrite_b: changes nothing.
      turbo: changes nothing.
      eigvals: must be None.
      type: the generalized problem: 1: a v = λ b v; 2: a b v = λ v; 3: b a v = λ v.
      check_finite: changes nothing.

    Returns:
      real eigenvalues, ascending, and eigenvectors as columns, with vᴴ v = 1, or vᴴ b v = 1 for
      types 1 and 2, vᴴ b⁻¹ v = 1 for type 3.

    Raises:
      TypeError: an operand is no array, or of a dtype without a kernel.
      ValueError: the matrices are not square, or ``type`` is unknown.
      ShapeMismatchError: the shapes differ.
      NotImplementedError: ``eigvals`` is given.

    Derivatives are those of ``jxkernel.numpy.linalg.eigh``.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import eigh
    >>> eigh(jnp.diag(jnp.array([2.0, 1.0])), eigvals_only=True)
    Array([1., 2.], dtype=float32)
    """
    if eigvals is not None:
        raise NotImplementedError("eigh(eigvals=...): take a slice of what is returned")
    if type not in (1, 2, 3):
        raise ValueError(f"eigh got type={type!r}: it is 1, 2 or 3")
    return _eigh(a, b, eigvals_only=bool(eigvals_only), kind=int(type))


@fused(static=("eigvals_only", "subset"), name="eigh_tridiagonal")
def _tridiagonal(d: Any, e: Any, eigvals_only: bool, subset: tuple[int, int] | None) -> Any:
    main, off = inexact("eigh_tridiagonal", d, e)
    x = banded((-1, off.conj()), (0, main), (1, off))
    vectors, values = spectral.eigh(x, subset_by_index=subset)
    return values if eigvals_only else (values, vectors)


def eigh_tridiagonal(
    d: Any,
    e: Any,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> Any:
    """Return the eigenvalues and eigenvectors of a Hermitian tridiagonal matrix.

    Args:
      d: the main diagonal, a real vector of n elements.
      e: the diagonal above it, a vector of n - 1 elements.
      eigvals_only: whether to return the eigenvalues alone.
      select: which: ``"a"`` for all, ``"i"`` for those from the first to the last position of
        ``select_range``, ``"v"`` for those in the half-open interval (low, high] of it; the last
        only while nothing is traced, since their number depends on values.
      select_range: the two bounds.
      tol: changes nothing: eigenvalues are found to the precision of the dtype.
      key: changes nothing: no random vectors are needed.

    Returns:
      eigenvalues, ascending, and eigenvectors as columns.

    Raises:
      TypeError: an operand is no array, or of a dtype without a kernel.
      ValueError: ``select`` is unknown, or the range does not fit.
      ShapeMismatchError: the sizes do not fit.

    The matrix is formed whole, of n² elements.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import eigh_tridiagonal
    >>> eigh_tridiagonal(jnp.zeros(2), jnp.ones(1), eigvals_only=True)
    Array([-1.,  1.], dtype=float32)
    """
    main, off = argument_aval("eigh_tridiagonal", d), argument_aval("eigh_tridiagonal", e, 1)
    if main.ndim != 1 or off.shape != (max(main.shape[0] - 1, 0),):
        raise ShapeMismatchError(
            "eigh_tridiagonal", [main.shape, off.shape], "d has n elements and e n - 1"
        )
    if select not in ("a", "i", "v"):
        raise ValueError(f"eigh_tridiagonal got select={select!r}: it is 'a', 'i' or 'v'")
    if select != "a" and (select_range is None or select_range[1] < select_range[0]):
        raise ValueError(
            f"eigh_tridiagonal(select={select!r}) got select_range={select_range}: two bounds"
        )
    subset = None
    if select == "i" and select_range is not None:
        subset = (int(select_range[0]), int(select_range[1]) + 1)
    if not main.shape[0]:
        x = zeros((0, 0), inexact("eigh_tridiagonal", d)[0].dtype)
        values = x.real.reshape(0)
        return values if eigvals_only else (values, x)
    found = _tridiagonal(d, e, bool(eigvals_only), subset)
    if select != "v" or select_range is None:
        return found
    values = found if eigvals_only else found[0]
    chosen = (values > select_range[0]) & (values <= select_range[1])
    return values[chosen] if eigvals_only else (values[chosen], found[1][:, chosen])
