"""Factorisations of matrices, and eigenvalues and singular values by themselves."""

from typing import Any, NamedTuple

import numpy as np

from jxkernel.numpy.fusing import fused
from jxkernel.numpy.linalg.operands import adjoint, check_matrices
from jxkernel.numpy.mathematics import conj
from jxkernel.numpy.promotion import cast, promote_inexact
from jxkernel.numpy.shapes import matrix_transpose
from jxkernel.numpy.sorting import argsort
from jxkernel.numpy.taking import take_along_axis
from jxkernel.primitives.linalg import cholesky as solving
from jxkernel.primitives.linalg import eig as general
from jxkernel.primitives.linalg import eigh as spectral
from jxkernel.primitives.linalg import qr as orthogonal
from jxkernel.runtime import ArrayLike

__all__ = ["cholesky", "eig", "eigh", "eigvals", "eigvalsh", "qr", "svd", "svdvals"]


class EigResult(NamedTuple):
    """What ``eig`` returns."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """What ``eigh`` returns."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """What ``qr`` returns."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """What ``svd`` returns."""

    U: Any
    S: Any
    Vh: Any


@fused(static=("upper", "symmetrize_input"))
def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """Return the triangular factors l of Hermitian positive definite matrices a = l lᴴ.

    Args:
      a: matrices of shape (..., n, n).
      upper: whether to return lᴴ instead.
      symmetrize_input: whether to replace ``a`` by the mean of a and aᴴ first; otherwise one
        triangle is read, that of the factor.

    Raises:
      TypeError: ``a`` is no array, or of a dtype without a kernel.
      ValueError: the matrices are not square.

    A matrix that is not positive definite gives NaN.  Differentiable elsewhere.  Source of the
    derivative: I. Murray, "Differentiation of the Cholesky decomposition", 2016.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    check_matrices("cholesky", a, square=True)
    (x,) = promote_inexact("cholesky", a)
    if upper and not symmetrize_input:
        x = adjoint(x)
    factor = solving.cholesky(x, symmetrize_input=symmetrize_input)
    return adjoint(factor) if upper else factor


# ---------------------------------------------------------------- eigenvalues


@fused
def eig(a: ArrayLike) -> EigResult:
    """Return the eigenvalues and right eigenvectors of square matrices.

    Args:
      a: matrices of shape (..., n, n).

    Returns:
      a named tuple: complex ``eigenvalues`` of shape (..., n), in no particular order, and
      ``eigenvectors`` of shape (..., n, n), columns of length 1 of which a vⱼ = λⱼ vⱼ.

    Raises:
      TypeError: ``a`` is no array, or of a dtype without a kernel.
      ValueError: the matrices are not square.

    Eigenvalues are differentiable where they are distinct; eigenvectors are not: their phases
    are arbitrary.  On CPUs only.  LAPACK ``geev``.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.eig(jnp.array([[2.0, 0.0], [0.0, 3.0]])).eigenvalues
    Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    check_matrices("eig", a, square=True)
    values, vectors = general.eig(*promote_inexact("eig", a), compute_left_eigenvectors=False)
    return EigResult(values, vectors)


@fused
def eigvals(a: Any) -> Any:
    """Return the eigenvalues of square matrices, complex and in no particular order.

    Differentiable where they are distinct.  Argument and errors are those of ``eig``.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.eigvals(jnp.array([[2.0, 1.0], [0.0, 3.0]]))
    Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    check_matrices("eigvals", a, square=True)
    (values,) = general.eig(
        *promote_inexact("eigvals", a),
        compute_left_eigenvectors=False,
        compute_right_eigenvectors=False,
    )
    return values


def _lower(name: str, UPLO: str | None) -> bool:
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"{name} got UPLO={UPLO!r}: it is 'L', 'U' or None")
    return UPLO != "U"


@fused(static=("UPLO", "symmetrize_input"))
def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Return the eigenvalues and eigenvectors of Hermitian matrices.

    Args:
      a: matrices of shape (..., n, n).
      UPLO: the triangle that is read, ``"L"`` or ``"U"``, if the input is not symmetrized.
      symmetrize_input: whether to replace ``a`` by the mean of a and aᴴ first.

    Returns:
      a named tuple: real ``eigenvalues`` of shape (..., n), ascending, and orthonormal
      ``eigenvectors`` as columns.

    Raises:
      TypeError: ``a`` is no array, or of a dtype without a kernel.
      ValueError: the matrices are not square, or ``UPLO`` is unknown.

    Where eigenvalues are equal, the derivative of eigenvectors is infinite or NaN, that of the
    eigenvalues one of several; their symmetric functions (sums) are differentiable there.
    LAPACK ``syevd`` and ``heevd``.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    Array([1., 2.], dtype=float32)
    """
    check_matrices("eigh", a, square=True)
    lower = _lower("eigh", UPLO)
    (x,) = promote_inexact("eigh", a)
    vectors, values = spectral.eigh(x, lower=lower, symmetrize_input=symmetrize_input)
    return EighResult(values, vectors)


@fused(static=("UPLO", "symmetrize_input"))
def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:
    """Return the eigenvalues of Hermitian matrices, ascending; arguments are those of ``eigh``.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.eigvalsh(jnp.array([[0.0, 1.0], [1.0, 0.0]]))
    Array([-1.,  1.], dtype=float32)
    """
    check_matrices("eigvalsh", a, square=True)
    lower = _lower("eigvalsh", UPLO)
    (x,) = promote_inexact("eigvalsh", a)
    return spectral.eigh(x, lower=lower, symmetrize_input=symmetrize_input)[1]


# ---------------------------------------------------------------- qr, svd


@fused(static=("mode",))
def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """Return the factors of a = q r, q with orthonormal columns and r upper triangular.

    Args:
      a: matrices of shape (..., m, n); k is the least of m and n.
      mode: ``"reduced"``: q is m x k and r k x n; ``"complete"``: m x m and m x n; ``"r"``: r
        alone, k x n; ``"raw"``: the reflectors of which q is made, transposed, and their factors,
        as LAPACK's ``geqrf`` gives them.

    Returns:
      a named tuple (Q, R), or one array for ``"r"``.

    Raises:
      TypeError: ``a`` is no array, or of a dtype without a kernel.
      ValueError: there are not two axes, or the mode is unknown.

    Differentiable where the first k columns are independent; not in mode ``"raw"``, nor
    ``"complete"`` where m > n.  LAPACK ``geqrf``.  Source of the derivative: S. Walter and
    L. Lehmann, "Algorithmic differentiation of linear algebra functions with application in optimum
    experimental design", 2010.

    >>> import jxkernel.numpy as jnp
    >>> q, r = jnp.linalg.qr(jnp.ones((3, 2)))
    >>> q.shape, r.shape
    ((3, 2), (2, 2))
    """
    check_matrices("qr", a)
    (x,) = promote_inexact("qr", a)
    if mode == "raw":
        form, factors = orthogonal.geqrf(x)
        return QRResult(matrix_transpose(form), factors)
    if mode not in ("reduced", "complete", "r", "full"):
        raise ValueError(f"qr got mode={mode!r}: it is 'reduced', 'complete', 'r' or 'raw'")
    q, r = orthogonal.qr(x, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


@fused(static=("full_matrices", "compute_uv", "hermitian", "subset_by_index"), normalized=True)
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Return the singular value decomposition a = u diag(s) vᴴ.

    Args:
      a: matrices of shape (..., m, n); k is the least of m and n.
      full_matrices: whether u is m x m and vᴴ n x n; otherwise m x k and k x n.
      compute_uv: whether to return u and vᴴ.
      hermitian: whether the matrices are Hermitian, for which ``eigh`` serves.
      subset_by_index: the range (start, end) of singular values to return; needs
        ``full_matrices=False`` if u and vᴴ are returned.

    Returns:
      a named tuple (U, S, Vh) with S real, not negative and descending, of shape (..., k); S
      alone without ``compute_uv``.

    Raises:
      TypeError: ``a`` is no array, or of a dtype without a kernel.
      ValueError: there are not two axes, or the range does not fit.

    Singular values are differentiable where they are distinct and not 0; the derivative of u and
    v is infinite or NaN elsewhere, and does not exist for columns that ``full_matrices`` adds.
    LAPACK ``gesdd``.  Source of the derivative: J. Townsend, "Differentiating the singular value
    decomposition", 2016.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.svd(jnp.array([[0.0, 2.0], [1.0, 0.0]])).S
    Array([2., 1.], dtype=float32)
    """
    check_matrices("svd", a, square=hermitian)
    (x,) = promote_inexact("svd", a)
    if hermitian:
        return _svd_of_hermitian(x, compute_uv, subset_by_index)
    found = spectral.svd(
        x,
        full_matrices=full_matrices and compute_uv,
        compute_uv=compute_uv,
        subset_by_index=subset_by_index,
    )
    return SVDResult(*found) if compute_uv else found


def _svd_of_hermitian(x: Any, compute_uv: bool, subset: tuple[int, int] | None) -> Any:
    """With x = v diag(λ) vᴴ: s = |λ|, and u is v with the columns of negative λ negated."""
    n = np.shape(x)[-1]
    spectral.check_subset("svd", subset, n)
    vectors, values = spectral.eigh(x)
    sizes = abs(values)
    order = argsort(-sizes, axis=-1)[..., slice(*subset) if subset else slice(None)]
    s = take_along_axis(sizes, order, -1)
    if not compute_uv:
        return s
    u = take_along_axis(vectors, order[..., None, :], -1)
    signs = take_along_axis(values, order, -1) < 0
    negated = cast(1 - 2 * cast(signs, np.dtype(np.int32)), vectors.dtype)
    return SVDResult(u, s, adjoint(u * conj(negated)[..., None, :]))


@fused
def svdvals(x: Any, /) -> Any:
    """Return the singular values of matrices, descending; see ``svd``.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.svdvals(jnp.array([[0.0, 2.0], [1.0, 0.0]]))
    Array([2., 1.], dtype=float32)
    """
    check_matrices("svdvals", x, argument="x")
    return spectral.svd(*promote_inexact("svdvals", x), full_matrices=False, compute_uv=False)
