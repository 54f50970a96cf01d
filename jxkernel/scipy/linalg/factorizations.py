"""Factorisations as SciPy names them: LU, QR, singular values, Schur, Hessenberg, polar.

``overwrite_a``, ``check_finite`` and ``lwork`` are accepted for the sake of SciPy's signatures
and change nothing.
"""

from typing import Any

import numpy as np

from jxkernel.api.control_flow.looping import fori_loop
from jxkernel.api.vectorize import vmap
from jxkernel.errors import ShapeMismatchError
from jxkernel.numpy.creation import zeros
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.joining import concatenate, stack
from jxkernel.numpy.linalg.operands import (
    adjoint,
    broadcast_stacks,
    check_matrices,
    epsilon,
    from_lists,
    matmul,
)
from jxkernel.numpy.linalg.polar import polar_by_values, qdwh
from jxkernel.numpy.mathematics import conj
from jxkernel.numpy.promotion import argument_aval, cast, promote_inexact
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import reshape
from jxkernel.primitives.elementwise.exponential import sqrt
from jxkernel.primitives.indexing.dynamic_slicing import dynamic_slice, dynamic_update_slice
from jxkernel.primitives.linalg import eig as general
from jxkernel.primitives.linalg import eigh as spectral
from jxkernel.primitives.linalg import qr as orthogonal
from jxkernel.primitives.linalg import tridiagonal
from jxkernel.primitives.linalg.lu import lu as factorized
from jxkernel.primitives.linalg.matrix import identity_like, lower_part, on_diagonal, upper_part
from jxkernel.runtime import ArrayLike

__all__ = ["hessenberg", "lu", "polar", "qr", "qr_multiply", "rsf2csf", "schur", "svd"]


@fused(static=("permute_l", "overwrite_a", "check_finite"))
def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, ...]:
    """Return the factors of a = p l u: a permutation, unit lower and upper triangular.

    Args:
      a: matrices of shape (..., m, n); k is the least of m and n.
      permute_l: whether to return p l in place of p and l.
      overwrite_a: changes nothing.
      check_finite: changes nothing.

    Returns:
      p of shape (..., m, m), l of shape (..., m, k), and u of shape (..., k, n).

    Raises:
      TypeError: ``a`` is no array, or of a dtype without a kernel.
      ValueError: there are not two axes.

    Differentiable where the leading square part is invertible.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import lu
    >>> lu(jnp.array([[0.0, 2.0], [1.0, 0.0]]))[0]
    Array([[0., 1.],
           [1., 0.]], dtype=float32)
    """
    a = from_lists(a)
    check_matrices("lu", a)
    (x,) = promote_inexact("lu", a)
    m, n = np.shape(x)[-2:]
    k = min(m, n)
    factors, _, order = factorized(x)
    lower = lower_part(factors[..., :k])
    lower = where(on_diagonal(lower), np.ones((), x.dtype), lower)
    upper = upper_part(factors[..., :k, :])
    real = np.zeros((), x.dtype).real.dtype
    p = cast(order[..., None, :] == np.arange(m, dtype=np.int32)[:, None], real)
    return (matmul(cast(p, x.dtype), lower), upper) if permute_l else (p, lower, upper)


@fused(static=("overwrite_a", "lwork", "mode", "pivoting", "check_finite"))
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """Return the factors of a = q r, or of a[:, p] = q r.

    Args:
      a: matrices of shape (..., m, n); k is the least of m and n.
      overwrite_a: changes nothing.
      lwork: changes nothing.
      mode: ``"full"``: q is m x m and r m x n; ``"economic"``: m x k and k x n; ``"r"``: r alone,
        m x n, as a tuple of one.
      pivoting: whether columns are exchanged so that the diagonal of r does not grow.
      check_finite: changes nothing.

    Returns:
      q, r, and with ``pivoting`` the order p of the columns as int32.

    Raises:
      TypeError: ``a`` is no array, or of a dtype without a kernel.
      ValueError: there are not two axes, or the mode is unknown.

    Differentiable as ``jxkernel.numpy.linalg.qr``.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import qr
    >>> qr(jnp.array([[1.0, 2.0]]), mode="economic", pivoting=True)[2]
    Array([1, 0], dtype=int32)
    """
    if mode not in ("full", "economic", "r"):
        raise ValueError(f"qr got mode={mode!r}: it is 'full', 'economic' or 'r'")
    a = from_lists(a)
    check_matrices("qr", a)
    (x,) = promote_inexact("qr", a)
    found = orthogonal.qr(x, pivoting=pivoting, full_matrices=mode != "economic")
    return found[1:] if mode == "r" else found


@fused(static=("mode", "pivoting", "conjugate", "overwrite_a", "overwrite_c"))
def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Any, ...]:
    """Return c q or q c, where a = q r, and r.

    Args:
      a: matrices of shape (..., m, n); k is the least of m and n, and q is m x k.
      c: matrices, or a vector: (..., m) for ``"right"``, (..., k, p) or (k,) for ``"left"``.
      mode: ``"right"`` for c q, ``"left"`` for q c.
      pivoting: whether columns of ``a`` are exchanged; see ``qr``.
      conjugate: whether q is conjugated.
      overwrite_a: changes nothing.
      overwrite_c: changes nothing.

    Returns:
      the product, r of shape (..., k, n), and with ``pivoting`` the order of the columns.

    Raises:
      TypeError: an operand is no array, or of a dtype without a kernel.
      ValueError: the mode is unknown.
      ShapeMismatchError: the sizes differ.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import qr_multiply
    >>> qr_multiply(jnp.eye(2), jnp.ones((3, 2)))[0].shape
    (3, 2)
    """
    if mode not in ("left", "right"):
        raise ValueError(f"qr_multiply got mode={mode!r}: it is 'left' or 'right'")
    a, c = from_lists(a), from_lists(c)
    check_matrices("qr_multiply", a)
    vector = argument_aval("qr_multiply", c, 1).ndim == 1
    x, y = promote_inexact("qr_multiply", a, c)
    if vector:
        y = y[:, None] if mode == "left" else y[None]
    m, n = np.shape(x)[-2:]
    size, wanted = (np.shape(y)[-1], m) if mode == "right" else (np.shape(y)[-2], min(m, n))
    if size != wanted:
        raise ShapeMismatchError(
            "qr_multiply", [np.shape(a), np.shape(c)], f"c has size {wanted} where q meets it"
        )
    q, *rest = orthogonal.qr(x, pivoting=pivoting, full_matrices=False)
    q, y = broadcast_stacks("qr_multiply", (conj(q) if conjugate else q, y), (2, 2))
    product = matmul(y, q) if mode == "right" else matmul(q, y)
    if vector:
        product = product[..., 0] if mode == "left" else product[..., 0, :]
    return (product, *rest)


@fused(static=("full_matrices", "compute_uv", "overwrite_a", "check_finite", "lapack_driver"))
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Return the singular value decomposition a = u diag(s) vᴴ.

    Args:
      a: matrices of shape (..., m, n).
      full_matrices: as for ``jxkernel.numpy.linalg.svd``.
      compute_uv: whether to return u and vᴴ, or s alone.
      overwrite_a: changes nothing.
      check_finite: changes nothing.
      lapack_driver: ``"gesdd"`` (divide and conquer) or ``"gesvd"`` (QR iteration).

    Raises:
      TypeError: ``a`` is no array, or of a dtype without a kernel.
      ValueError: there are not two axes, or the driver is unknown.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import svd
    >>> svd(jnp.array([[0.0, 2.0], [1.0, 0.0]]), compute_uv=False)
    Array([2., 1.], dtype=float32)
    """
    drivers = {"gesdd": spectral.SvdAlgorithm.DEFAULT, "gesvd": spectral.SvdAlgorithm.QR}
    if lapack_driver not in drivers:
        raise ValueError(f"svd got lapack_driver={lapack_driver!r}: it is 'gesdd' or 'gesvd'")
    a = from_lists(a)
    check_matrices("svd", a)
    (x,) = promote_inexact("svd", a)
    return spectral.svd(
        x,
        full_matrices=full_matrices and compute_uv,
        compute_uv=compute_uv,
        algorithm=drivers[lapack_driver],
    )


# ---------------------------------------------------------------- schur


@fused(static=("output",))
def schur(a: ArrayLike, output: str = "real") -> tuple[Any, Any]:
    """Return the Schur form t of square matrices and the unitary z with a = z t zᴴ.

    Args:
      a: matrices of shape (..., n, n).
      output: ``"real"`` for 2 x 2 blocks on the diagonal where a real matrix has complex pairs of
        eigenvalues, ``"complex"`` for a triangular form of any matrix.

    Raises:
      TypeError: ``a`` is no array, or of a dtype without a kernel.
      ValueError: the matrices are not square, or ``output`` is unknown.

    Not differentiable.  On CPUs only.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import schur
    >>> schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))[0]
    Array([[1., 2.],
           [0., 3.]], dtype=float32)
    """
    if output not in ("real", "complex"):
        raise ValueError(f"schur got output={output!r}: it is 'real' or 'complex'")
    check_matrices("schur", a, square=True)
    (x,) = promote_inexact("schur", a)
    if output == "complex":
        x = cast(x, np.promote_types(x.dtype, np.complex64))
    form, vectors = general.schur(x)
    return form, vectors


def _made_triangular(t: Any, z: Any) -> tuple[Any, Any]:
    """Rotate each 2 x 2 block of one matrix into triangular form, from the last to the first."""
    n = np.shape(t)[-1]

    def step(i: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        t, z = state
        m = np.int32(n - 1) - i
        block = dynamic_slice(t, (m - 1, m - 1), (2, 2))
        corner = block[1, 0]
        needed = abs(corner) > epsilon(t.dtype) * (abs(block[0, 0]) + abs(block[1, 1]))
        half = (block[0, 0] - block[1, 1]) / 2
        mu = half + sqrt(half * half + block[0, 1] * corner)
        length = cast(sqrt(abs(mu) ** 2 + abs(corner) ** 2), t.dtype)
        safe = where(needed, length, 1)
        c, s = where(needed, mu / safe, 1), where(needed, corner / safe, 0)
        turn = stack([stack([conj(c), s]), stack([-s, c])])
        rows = matmul(turn, dynamic_slice(t, (m - 1, 0), (2, n)))
        t = dynamic_update_slice(t, rows, (m - 1, 0))
        both = [
            dynamic_update_slice(
                x, matmul(dynamic_slice(x, (0, m - 1), (n, 2)), adjoint(turn)), (0, m - 1)
            )
            for x in (t, z)
        ]
        return both[0], both[1]

    found, vectors = fori_loop(0, n - 1, step, (t, z))
    return upper_part(found), vectors


@fused(static=("check_finite",))
def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """Return the complex (triangular) Schur form that a real one amounts to.

    Args:
      T: real Schur forms of shape (..., n, n).
      Z: their unitary matrices.
      check_finite: changes nothing.

    Returns:
      complex T and Z, the product Z T Zᴴ of which is that of the real ones.

    Raises:
      TypeError: an operand is no array, or of a dtype without a kernel.
      ValueError: the matrices are not square.
      ShapeMismatchError: the shapes differ.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import rsf2csf
    >>> rsf2csf(jnp.array([[0.0, -1.0], [1.0, 0.0]]), jnp.eye(2))[0].dtype
    dtype('complex64')
    """
    T, Z = from_lists(T), from_lists(Z)
    check_matrices("rsf2csf", T, square=True, argument="T")
    check_matrices("rsf2csf", Z, square=True, argument="Z")
    if np.shape(T) != np.shape(Z):
        raise ShapeMismatchError("rsf2csf", [np.shape(T), np.shape(Z)], "T and Z are alike")
    t, z = promote_inexact("rsf2csf", T, Z)
    kind, weak = np.promote_types(t.dtype, np.complex64), argument_aval("rsf2csf", t).weak_type
    shape = np.shape(t)
    if not np.size(t) or shape[-1] == 1:
        return cast(t, kind, weak), cast(z, kind, weak)
    flat = [reshape(cast(x, kind), (-1, *shape[-2:])) for x in (t, z)]
    found = [cast(reshape(x, shape), kind, weak) for x in vmap(_made_triangular)(*flat)]
    return found[0], found[1]


# ---------------------------------------------------------------- hessenberg, polar


@fused(static=("calc_q", "overwrite_a", "check_finite"))
def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Return the Hessenberg form h of square matrices, and the unitary q with a = q h qᴴ.

    Args:
      a: matrices of shape (..., n, n).
      calc_q: whether to return q.
      overwrite_a: changes nothing.
      check_finite: changes nothing.

    Returns:
      h, zero below the first subdiagonal, or (h, q).

    Raises:
      TypeError: ``a`` is no array, or of a dtype without a kernel.
      ValueError: the matrices are not square.

    Not differentiable.  On CPUs only.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import hessenberg
    >>> bool(hessenberg(jnp.ones((3, 3)))[2, 0] == 0)
    True
    """
    check_matrices("hessenberg", a, square=True)
    (x,) = promote_inexact("hessenberg", a)
    n = np.shape(x)[-1]
    form, taus = tridiagonal.hessenberg(x)
    h = upper_part(form, -1)
    if not calc_q:
        return h
    if n < 2:
        return h, identity_like(x, n)
    inner = orthogonal.householder_product(form[..., 1:, :-1], taus)
    eye = identity_like(x, n)
    below = concatenate([zeros((*np.shape(x)[:-2], n - 1, 1), x.dtype), inner], axis=-1)
    return h, concatenate([eye[..., :1, :], below], axis=-2)


@fused(static=("side", "method", "eps", "max_iterations"))
def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Any, Any]:
    """Return the polar decomposition a = u p, or a = p u.

    Args:
      a: matrices of shape (..., m, n).
      side: ``"right"`` for a = u p, ``"left"`` for a = p u.
      method: ``"qdwh"``, an iteration for m >= n (``"right"``) or m <= n (``"left"``), or
        ``"svd"``, for any shape.
      eps: at which relative change the iteration ends; the dtype's precision if not given.
      max_iterations: after how many steps it ends in any case.

    Returns:
      u, with orthonormal columns or rows, and p, Hermitian with no negative eigenvalue.

    Raises:
      TypeError: ``a`` is no array, or of a dtype without a kernel.
      ValueError: ``side`` or ``method`` is unknown, or there are not two axes.
      NotImplementedError: the shape is one for ``"svd"`` only.

    Differentiable where the rank is full.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import polar
    >>> polar(jnp.array([[0.0, -2.0], [2.0, 0.0]]), method="svd")[1]
    Array([[2., 0.],
           [0., 2.]], dtype=float32)
    """
    if side not in ("right", "left"):
        raise ValueError(f"polar got side={side!r}: it is 'right' or 'left'")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"polar got method={method!r}: it is 'qdwh' or 'svd'")
    a = from_lists(a)
    check_matrices("polar", a)
    (x,) = promote_inexact("polar", a)
    m, n = np.shape(x)[-2:]
    if method == "svd":
        return polar_by_values(x, left=side == "left")
    if (m < n) if side == "right" else (m > n):
        raise NotImplementedError(
            f"polar(method='qdwh', side={side!r}) got shape {np.shape(a)}: use method='svd'"
        )
    u, p, _, _ = qdwh(x if side == "right" else adjoint(x), eps=eps, max_iterations=max_iterations)
    return (u, p) if side == "right" else (adjoint(u), p)
